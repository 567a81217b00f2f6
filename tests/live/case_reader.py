"""record without BPF: --reader nonblocking and --reader stop, against what programs know of themselves."""
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

import folded
import harness
from case_dump import NOBODY, Signalled, traced
from binaries import Binary
from harness import case, check
from ptrace import PTRACE_SEIZE, ptrace

READERS = ("nonblocking", "stop")
# Looks of the full form: EXTPROF_TESTS_LOOKS=1000000.
LOOKS = int(os.environ.get("EXTPROF_TESTS_LOOKS", "20000"))

# Two branches, thrown between as fast as possible.
BRANCHES = """
def leaf_a = nil
def leaf_b = nil
def hot_a = leaf_a
def hot_b = leaf_b
$stdout.puts "ready"; $stdout.flush
loop { hot_a; hot_b }"""

# Burns CPU in two methods and measures each by the clock of its thread.
SHARES = """
def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
def burn_a = 400_000.times { }
def burn_b = 130_000.times { }
$stdout.puts "ready"; $stdout.flush
$stdin.gets
a = b = 0.0
loop do
  break if $stdin.wait_readable(0)
  t = cpu; burn_a; u = cpu; burn_b; v = cpu
  a += u - t; b += v - u
end
$stdout.puts [a, b].join(" "); $stdout.flush
$stdin.gets"""

# A thread each that sleeps, waits for a queue, for a pipe, for a thread; and one that computes.
WAITS = """
require "io/wait"
def named(name, &block) = Thread.new { Thread.current.name = name; block.call }
r, w = IO.pipe
queue = Queue.new
popper = named("popper") { queue.pop }
named("reader") { r.read }
naps = 0
named("napper") { loop { sleep 0.05; naps += 1 } }
named("joiner") { popper.join }
$stdout.puts "ready"; $stdout.flush
$stdin.gets
loop do
  if $stdin.wait_readable(0)
    break unless $stdin.gets
    $stdout.puts naps; $stdout.flush
  end
  1_000_000.times { }
end"""

FAMILY = """
def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
def spent(s)
  1000.times { } while cpu < s
end
r, w = IO.pipe
2.times { |i| fork { spent(0.8 + i * 0.4); w.puts "#{$$} #{cpu}" } }
w.close
Process.waitall
$stdout.puts r.read
$stdout.flush
exec ARGV[0], "--disable=gems", "-e", "def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
def after_exec = 1000.times { }
sleep 0.3
t = cpu
after_exec while cpu < t + 0.6
puts cpu - t"
"""


def sums(text):
    m = folded.SUMS.search(text)
    check(m, "no sums: %s", text[-600:])
    return int(m.group(1)), int(m.group(2)), m.group(5)


def record(ctx, *args, status=0, timeout=90, **options):
    got = ctx.extprof("record", *args, timeout=timeout, **options)
    check(got.status == status, "status %d: %s", got.status, got.err[-600:])
    return got


@case(timeout=240, bpf=False)
def never_a_cross_pair(ctx):
    """In the interpreter and in YJIT's code. The full form is run by hand."""
    said = []
    for flags in ((), ("--yjit",)):
        for reader in READERS:
            ruby = ctx.ruby(*flags, "-e", BRANCHES)
            ruby.expect("ready")
            taken = whole = torn = 0
            while taken < LOOKS / 4:
                got = record(ctx, "--reader", reader, "-p", ruby.pid, "-r", "10k", "-d", "2s", "-o", ctx.path("b.folded"))
                n, w, rest = sums(got.out)
                taken, whole = taken + n, whole + w
                torn += int((re.search(r"torn: (\d+)", rest) or [0, 0])[1])
                for stack in folded.parse(open(ctx.path("b.folded")).read()):
                    labels = stack.labels()
                    for hot, leaf in (("hot_a", "leaf_b"), ("hot_b", "leaf_a")):
                        check(not ("Object#" + hot in labels and "Object#" + leaf in labels), "a cross pair: %s", stack.text)
                    check(not labels[-1].startswith("Object#leaf") or labels[-2].startswith("Object#hot"),
                          "an impossible stack: %s", stack.text)
            check(whole > 0.7 * taken, "%s: whole %d of %d", reader, whole, taken)
            said.append("%s%s: %d whole, %d torn of %d" % (reader, " ".join(flags), whole, torn, taken))
            ruby.kill()
    return "; ".join(said)


@case(timeout=120, bpf=False)
def shares(ctx):
    """The share of a method in the CPU time, and the CPU time itself."""
    said = []
    for reader in READERS:
        ruby = ctx.ruby("-rio/wait", "-e", SHARES)
        ruby.expect("ready")
        extprof = ctx.extprof_start("record", "-v", "--reader", reader, "-p", str(ruby.pid), "-r", "499", "-o",
                                    ctx.path("s.folded"))
        extprof.says("it is measured")
        ruby.tell("go")
        time.sleep(5)
        ruby.tell("stop")
        a, b = map(float, ruby.line().split())
        extprof.signal(signal.SIGINT)
        got = ctx.profile_of(extprof, 30, ctx.path("s.folded"))
        check(got.status == 0, "status %d: %s", got.status, got.err)
        found = {"burn_a": 0, "burn_b": 0}
        for stack in got.stacks:
            for name in found:
                if "Object#" + name in stack.labels():
                    found[name] += stack.count
        total = found["burn_a"] + found["burn_b"]
        share, truth = found["burn_a"] / total, a / (a + b)
        # Samples of one thread, one for each period of its CPU time: the error is at most that of a coin.
        error = (truth * (1 - truth) / total) ** 0.5
        check(abs(share - truth) < 4 * error, "%s: %.4f, the truth is %.4f, sigma %.4f", reader, share, truth, error)
        seconds = total / 499
        check(abs(seconds - a - b) < 0.03 * (a + b) + 0.02, "%s: %.3f s of %.3f", reader, seconds, a + b)
        said.append("%s: %.1f %% (truth %.1f), %.2f s of %.2f" % (reader, 100 * share, 100 * truth, seconds, a + b))
    return "; ".join(said)


UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1}


def states(text):
    """{thread: {state: seconds}} of the table."""
    table = text[text.index("What each thread did"):].splitlines()[1:]
    names = re.split(r"\s{2,}", table[0].strip())
    found = {}
    for line in table[1:]:
        cells = re.findall(r"(?:[\d.]+ (?:us|ms|s)|-)(?= )", line)
        m = re.search(r"\[thread (\w+)", line)
        if len(cells) == len(names) - 1 and m:
            found[m.group(1)] = {n: 0 if c == "-" else float(c.split()[0]) * UNITS[c.split()[1]]
                                 for n, c in zip(names, cells)}
    return found


def took_of(text):
    return float(re.search(r"read from outside.* for ([\d.]+) s", text).group(1))


@case(timeout=90, bpf=False)
def waits(ctx):
    """Each thread is in the state that it is in, and its states make up its life."""
    said = []
    for reader in READERS:
        ruby = ctx.ruby("-e", WAITS)
        ruby.expect("ready")
        ruby.tell("go")
        harness.at_rest(ruby.pid, "popper", "reader", "joiner")
        ruby.tell("count")
        before, since = int(ruby.line()), time.monotonic()
        got = record(ctx, "--reader", reader, "-m", "wall", "--idle", "-t", "-p", ruby.pid, "-r", "199", "-d", "4s",
                     "-o", ctx.path("w.folded"))
        ruby.tell("count")
        naps, span = int(ruby.line()) - before, time.monotonic() - since
        table = states(got.out)
        m = re.search(r"states make up ([\d.]+) % of the lives", got.out)
        check(m and abs(float(m.group(1)) - 100) < 0.1, "%s", got.out[:2000])
        check({"main", "napper", "popper", "reader", "joiner"} <= set(table), "rows are missing: %s", got.out)
        for name, state in (("popper", "queue"), ("reader", "io"), ("joiner", "join")):
            row = table[name]
            check(row[state] > 0.999 * row["life"], "%s: %s", name, row)
        main, napper = table["main"], table["napper"]
        # It waits for the GVL while napper has it, which has to wait for a CPU itself.
        check(main["gvl"] < napper["running"] + napper["runnable"] + napper.get("stopped", 0) + 0.02 * main["life"], "main: %s, napper: %s",
              main, napper)
        # Where the reader loses its CPU while it has main stopped, main is stopped for as long.
        check(main["running"] + main["runnable"] + main["gvl"] + main.get("stopped", 0) > 0.97 * main["life"], "main: %s", main)
        # It naps for 50 ms, and waits for the GVL then.  Its first and last naps may be in part outside.
        check(napper["sleep"] + napper["gvl"] + napper["runnable"] > 0.98 * napper["life"] and napper["gvl"] > 0.1,
              "napper: %s", napper)
        # The end of a nap is known by a period of 5 ms at most.
        took = took_of(got.out)
        check(abs(napper["sleep"] / took - 0.05 * naps / span) < 0.12 * napper["sleep"] / took,
              "napper: %d naps, %s", naps, napper)
        labels = {s.thread[0]: s.labels() for s in folded.parse(open(ctx.path("w.folded")).read()) if s.thread}
        check(any("Thread::Queue#pop" in x for x in labels["popper"]), "%s", labels)
        check(any("IO#read" in x for x in labels["reader"]), "%s", labels)
        said.append("%s: napper sleeps %.0f %%, waits for the GVL %.0f %%" % (
            reader, 100 * napper["sleep"] / napper["life"], 100 * napper["gvl"] / napper["life"]))
    return "; ".join(said)


@case(timeout=60, bpf=False)
def family(ctx):
    """Forked children and what the parent executes, each with its CPU time."""
    program = ctx.write("family.rb", FAMILY)
    got = record(ctx, "--reader", "nonblocking", "-r", "199", "-o", ctx.path("f.folded"), "--",
                 harness.RUBY, "--disable=gems", program, harness.RUBY)
    out = got.out
    spent = float(re.search(r"^([\d.]+)$", out, re.M).group(1))
    truth = {int(pid): float(s) for pid, s in re.findall(r"^(\d+) ([\d.]+)$", out, re.M)}
    check(len(truth) == 2, "%s", out)
    rows = {int(pid): float(s) for pid, s in re.findall(r"^ +(\d+) +\d+ +([\d.]+) ", out, re.M)}
    for pid, cpu in truth.items():
        check(abs(rows[pid] - cpu) < 0.05 * cpu + 0.06, "process %d: %.2f s of %.2f", pid, rows[pid], cpu)
    after = sum(s.count for s in folded.parse(open(ctx.path("f.folded")).read()) 
                if any(label in ("Object#after_exec", "Object#cpu -e") for label in s.labels()))
    check(abs(after / 199 - spent) < 0.06, "after exec: %.2f s of %.2f", after / 199, spent)
    return "%s" % {pid: "%.2f of %.2f s" % (rows[pid], cpu) for pid, cpu in truth.items()}


@case(timeout=60, bpf=False)
def modes(ctx):
    """What it does not have is refused; several modes go together."""
    ruby = ctx.ruby("-e", "2.times { Thread.new { loop { sleep 0.01 } } }; puts :ready; $stdout.flush; "
                    "loop { Array.new(100) { +'x' } }")
    ruby.expect("ready")
    for mode in ("alloc", "syscall", "cpu,alloc"):
        got = record(ctx, "--reader", "stop", "-m", mode, "-p", ruby.pid, "-d", "1s", status=harness.USAGE)
        check("needs eBPF" in got.err and "cpu, wall, offcpu, gvl and gc" in got.err, "%s", got.err)
    for option in ("--fd", "--holder"):
        got = record(ctx, "--reader", "stop", "-m", "wall", option, "-p", ruby.pid, "-d", "1s", status=harness.USAGE)
        check("need eBPF" in got.err, "%s", got.err)
    got = record(ctx, "--reader", "fast", "-p", ruby.pid, status=harness.USAGE)
    check("auto, ebpf, nonblocking or stop" in got.err or "nonblocking" in got.err, "%s", got.err)
    got = record(ctx, "--nonblocking", "-m", "cpu,wall,offcpu,gvl,gc", "-p", ruby.pid, "-r", "499", "-d", "2s", "-o",
                 ctx.path("m.folded"))
    counts = dict.fromkeys(("cpu", "wall", "offcpu", "gvl", "gc"), 0)
    for s in folded.parse(open(ctx.path("m.folded")).read()):
        mode = re.match(r"\[(\w+),", s.frames[0].label)
        check(mode and mode.group(1) in counts, "%s", s.text)
        counts[mode.group(1)] += s.count
        check(mode.group(1) not in ("gvl", "gc") or ";[gvl" in s.text or ";[GC" in s.text, "%s", s.text)
    check(min(counts.values()) > 0 and counts["gc"] > 20, "%s", counts)
    # Without the probe nothing is known of pauses, which is not the same as none.
    check("Pauses for garbage collection" not in got.out, "%s", got.out)
    return "%s" % counts


@case(timeout=90, bpf=False)
def own_user_suffices(ctx):
    """A user without any capability: BPF is refused, and the profile comes from outside."""
    check(os.geteuid() == 0, "this needs root, to become somebody else")
    directory = tempfile.mkdtemp(prefix="extprof-test-", dir="/tmp")
    try:
        # Recordings are written into it.
        os.chmod(directory, 0o777)
        binary = Binary(ctx, directory)
        reader = os.path.join(directory, "extprof")
        shutil.copy(harness.EXTPROF, reader)
        os.chmod(reader, 0o755)
        nobody = dict(user=NOBODY, group=NOBODY, extra_groups=[], cwd=directory)
        own = ctx.start([binary.ruby, "--disable=gems", "-W0", "-e", BRANCHES], env=binary.env, **nobody)
        own.expect("ready")
        for args in ((), ("--reader", "nonblocking"), ("--reader", "stop")):
            p = ctx.start([reader, "record", "-p", str(own.pid), "-d", "1s", *args], stderr=subprocess.PIPE, **nobody)
            out, err = p.communicate(30)
            check(p.p.returncode == 0 and "Object#hot_a" in out, "%s: status %d: %s", args, p.p.returncode, err)
            check(("no permission to load a BPF program" in err and "--reader nonblocking" in err) == (not args), "%s", err)
        p = ctx.start([reader, "record", "-p", str(own.pid), "-d", "1s", "--reader", "ebpf"], stderr=subprocess.PIPE, **nobody)
        said = p.communicate(30)[1]
        check(p.p.returncode == harness.PERMISSION, "--reader ebpf: status %d: %s", p.p.returncode, said)
        p = ctx.start([reader, "record", "-p", str(own.pid), "-d", "1s", "-m", "alloc"], stderr=subprocess.PIPE, **nobody)
        said = p.communicate(30)[1]
        check(p.p.returncode == harness.PERMISSION, "mode alloc: status %d: %s", p.p.returncode, said)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return "three ways; ebpf and mode alloc are refused"


@case(timeout=90, bpf=False)
def signals_are_not_lost(ctx):
    with Signalled(ctx) as ruby:
        got = record(ctx, "--reader", "stop", "-p", ruby.pid, "-r", "999", "-d", "3s", "-o", ctx.path("x.folded"))
    return "%d signals during %d samples" % (ruby.count, sums(got.out)[0])


@case(timeout=90, bpf=False)
def killed_while_it_stops(ctx):
    """After SIGKILL at any moment nothing stays stopped."""
    ruby = ctx.ruby("-e", BRANCHES)
    ruby.expect("ready")
    caught = 0
    for _ in range(25):
        reader = ctx.extprof_start("record", "-p", str(ruby.pid), "--reader", "stop", "-r", "10k", "-o", ctx.path("k.folded"),
                                   stdout=subprocess.DEVNULL)
        time.sleep(0.1 + random.random() / 20)
        for _ in range(500):
            if traced(ruby.pid):
                caught += 1
                break
        reader.signal(signal.SIGKILL)
        reader.wait()
        left = traced(ruby.pid)
        check(not left, "left: %s", left)
    check(caught, "it was never seen stopped")
    return "25 kills, %d of them while it was traced" % caught


@case(timeout=90, bpf=False)
def one_that_stops_late_goes_on(ctx):
    """A thread that gets no CPU does not stop in time. It is let go when it stops at last."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2 or os.geteuid():
        return harness.Counted(0, 0, 1, "this needs two CPUs and root")
    ruby = ctx.ruby("-e", BRANCHES)
    ruby.expect("ready")
    os.sched_setaffinity(ruby.pid, {cpus[-1]})
    reader = ctx.extprof_start("record", "--reader", "stop", "-p", str(ruby.pid), "-r", "999", "-o", ctx.path("l.folded"))
    os.sched_setaffinity(reader.pid, set(cpus[:-1]))
    harness.until(lambda: traced(ruby.pid), "it was never stopped")

    def used():
        return time.clock_gettime(harness.cpu_clock(ruby.pid))

    def favour(pid, nice):
        """Where each session is a group of the scheduler's, that has a weight too."""
        try:
            with open("/proc/%d/autogroup" % pid, "w", encoding="ascii") as f:
                f.write(str(nice))
        except OSError:
            pass

    starved = 0
    for _ in range(5):
        # Next to nothing is left for it beside this.
        burner = ctx.start(["nice", "-n", "-20", "sh", "-c", "while :; do :; done"])
        os.sched_setaffinity(burner.pid, {cpus[-1]})
        favour(burner.pid, -20)
        favour(ruby.pid, 19)
        os.sched_setscheduler(ruby.pid, os.SCHED_IDLE, os.sched_param(0))
        time.sleep(0.5)
        starved += bool(traced(ruby.pid))
        burner.kill()
        os.sched_setscheduler(ruby.pid, os.SCHED_OTHER, os.sched_param(0))
        favour(ruby.pid, 0)
        before = used()
        harness.until(lambda: used() - before > 0.1, "it does not go on")
    reader.signal(signal.SIGINT)
    out, err = reader.communicate()
    check(reader.p.returncode == 0 and not traced(ruby.pid), "status %d: %s", reader.p.returncode, err)
    return "it had been told to stop %d of 5 times while it had no CPU" % starved


@case(timeout=60, bpf=False)
def a_debugger_is_there(ctx):
    ruby = ctx.ruby("-e", BRANCHES)
    ruby.expect("ready")
    ptrace(PTRACE_SEIZE, ruby.pid)
    got = record(ctx, "--reader", "stop", "-p", ruby.pid, "-d", "1s", status=harness.PERMISSION)
    check("traced by process %d" % os.getpid() in got.err, "%s", got.err)
    got = record(ctx, "--reader", "nonblocking", "-p", ruby.pid, "-d", "1s")
    check("Object#hot_a" in got.out, "%s", got.out)
    return "stop refuses, nonblocking reads"
