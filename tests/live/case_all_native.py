"""--all-native: processes that run no ruby have samples too, with their native stacks. A program in C says by its own clock how long
it was in each function, alone, beside a ruby, as its child, and before it becomes one."""
import os
import re
import signal
import subprocess
import time

import harness
import native
from case_native import end, started
from harness import NO_INTERFACE, NOT_RUBY, USAGE, case, check

SOURCE = os.path.join(harness.PROGRAMS, "plain.c")
STOCK = "/usr/bin/ruby"
RATE = 1999
OPTIONS = ("-n", "--all-native", "-F", RATE)


def compiled(ctx):
    path = ctx.path("plain")
    native.run(native.tool("CC"), "-O2", "-fomit-frame-pointer", "-o", path, SOURCE)
    return path


def plain(ctx, path=None):
    p = ctx.start([path or compiled(ctx)], stdin=subprocess.PIPE)
    p.expect("ready")
    return p


def asked(p, command):
    p.tell(command)
    return [int(n) for n in p.line().split()]


def watch(ctx, *args):
    """An extprof that has found all there is and read its rules."""
    reader, said = started(ctx, *args, words=["it runs no ruby; its native code is measured"])
    if "-p" in args:
        wanted = files_with_code(str(args[args.index("-p") + 1]).split(","))
        harness.until(lambda: files_read(said) >= wanted, lambda: "the rules of %d files have been read, not of %d" % (files_read(said), wanted))
    else:
        time.sleep(0.3)  # which other processes it reads is not known
    return reader, said


def files_read(said):
    """Of how many files the rules have been read, as it says last."""
    with open(said, encoding="utf-8") as f:
        return max(map(int, re.findall(r"the rules of (\d+) files", f.read())), default=0)


def files_with_code(pids):
    """How many the processes have mapped. The kernel's is one, and has no number."""
    found = set()
    for pid in pids:
        with open("/proc/%s/maps" % pid) as f:
            found |= {tuple(line.split()[3:5]) for line in f if "x" in line.split()[1]}
    return len(found)


def inclusive(profile, function, of=lambda s: True):
    return sum(s.count for s in profile.stacks if function in s.labels() and of(s))


def is_early(s):
    """It was taken before the mappings of its process were read, or the rules of a file: its stack is not whole, and says so."""
    return not s.labels() or any(l == "[native code in no file]" or l.endswith(": not read in time]") for l in s.labels())


def check_shares(profile, truth, what="", of=lambda s: True):
    """one() and two() have the parts that the program says, and all the time that it says, or more: samples have the time that the
    hypervisor takes a CPU away, and the program's clock has not. There is no stack with both of them, or without main()."""
    got = [inclusive(profile, function, of) / RATE for function in ("one", "two")]
    text = "%s%.3f and %.3f s of %.3f and %.3f" % (what, *got, truth[0] / 1e9, truth[1] / 1e9)
    share = truth[0] / sum(truth)
    check(abs(got[0] / max(sum(got), 0.001) - share) < 0.04, "%s", text)
    check(0.93 * sum(truth) / 1e9 - 0.02 < sum(got) < 1.25 * sum(truth) / 1e9 + 0.02, "%s", text)
    for s in profile.stacks:
        labels = s.labels()
        if of(s) and ("one" in labels or "two" in labels):
            check(("one" in labels) != ("two" in labels), "%s", labels)
            if not is_early(s):
                check("main" in labels and labels.index("main") < labels.index("one" if "one" in labels else "two"), "%s", labels)
    return text


def in_process(pid):
    return lambda s: any(re.match(r"\[process %d " % pid, label) for label in s.labels())


@case(timeout=60)
def alone(ctx):
    """A program without a ruby, by its pid."""
    p = plain(ctx)
    reader, said = watch(ctx, "record", "-p", p.pid, *OPTIONS, "-o", ctx.path("out.folded"))
    truth = asked(p, "work 2")
    profile = end(reader, said, ctx.path("out.folded"))
    summary = profile.out + profile.err
    whole = sum(s.count for s in profile.stacks if "main" in s.labels()) / max(1, sum(s.count for s in profile.stacks))
    check(whole >= 0.995, "%.4f of the samples reach main()", whole)
    check("no ruby, on-CPU" in summary, "the summary is %s", summary[-1500:])
    check("application" not in summary, "the summary speaks of an application: %s", summary[-1500:])
    check(re.search(r" one +plain\n", summary), "the summary does not say the file: %s", summary[-1500:])
    return check_shares(profile, truth)


@case(timeout=60)
def beside_a_ruby(ctx):
    """Both have their own stacks, each in its process."""
    p = plain(ctx)
    ruby = ctx.ruby("--disable=gems", "-e", "def spin = 1_000_000.times { }\nputs 'ready'\n$stdout.flush\nspin while true")
    ruby.expect("ready")
    reader, said = watch(ctx, "record", "-p", "%d,%d" % (p.pid, ruby.pid), *OPTIONS, "-o", ctx.path("out.folded"))
    truth = asked(p, "work 1.5")
    profile = end(reader, said, ctx.path("out.folded"))
    of_ruby = [s for s in profile.stacks if in_process(ruby.pid)(s)]
    spun = sum(s.count for s in of_ruby if "Object#spin" in s.labels())
    check(spun > 0.98 * sum(s.count for s in of_ruby) > 500, "%d of %d are in spin", spun, sum(s.count for s in of_ruby))
    check(not any({"one", "two"} & set(s.labels()) for s in of_ruby), "the ruby has functions of the other program")
    return check_shares(profile, truth, of=in_process(p.pid))


@case(timeout=60)
def child_of_a_ruby(ctx):
    """What a ruby starts counts, from its exec on; without --all-native it is told as CPU time that was not profiled."""
    path = compiled(ctx)
    script = "File.write(ARGV[0], `%s work 1`)" % path
    command = ("--", harness.RUBY, "--disable=gems", "-e", script, ctx.path("truth"))
    run = ctx.extprof("record", *OPTIONS, "-o", ctx.path("out.folded"), *command).ok()
    with open(ctx.path("truth"), encoding="utf-8") as f:
        truth = [int(n) for n in f.read().split()]
    profile = harness.Profile(run.status, run.out, run.err, ctx.path("out.folded"))
    text = check_shares(profile, truth)
    early = sum(s.count for s in profile.stacks if is_early(s))
    check(early < 0.25 * RATE, "%d samples were taken before its mappings were read", early)
    run = ctx.extprof("record", "-n", "-F", RATE, "-o", ctx.path("without.folded"), *command)
    check("no ruby to profile" in run.out + run.err or "another program" in run.out + run.err, "without --all-native: %s", run.out + run.err)
    return text


@case(timeout=60)
def names_after_exec(ctx):
    """A child of a shell is a copy of it and executes something at once: it has the name of what it executes. The head knows the
    ruby that a shell starts."""
    path, script = compiled(ctx), ctx.write("x.rb", "100_000.times { } while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < 0.3\n")
    line = "for i in 1 2 3 4 5 6; do %s work 0.1; done > %s; %s --disable=gems %s; true" % (path, ctx.path("truth"), harness.RUBY, script)
    run = ctx.extprof("record", *OPTIONS, "-o", ctx.path("out.folded"), "--", "sh", "-c", line).ok()
    profile = harness.Profile(run.status, run.out, run.err, ctx.path("out.folded"))
    with open(ctx.path("truth"), encoding="utf-8") as f:
        truth = [sum(int(n) for n in column) for column in zip(*(line.split() for line in f))]
    text = check_shares(profile, truth)
    of = {label for s in profile.stacks if {"one", "two"} & set(s.labels()) for label in s.labels() if label.startswith("[process ")}
    check(len(of) == 6 and all(label.endswith(" plain]") for label in of), "%s", of)
    check(re.search(r"^ruby 3\.[0-9.]+, on-CPU", run.out + run.err, re.M), "the head: %s", (run.out + run.err)[:300])
    return text


@case(timeout=60)
def what_is_left_behind(ctx):
    """The recording of a command ends with it, though a program that it has started goes on."""
    began = time.monotonic()
    run = ctx.extprof("record", *OPTIONS, "-o", ctx.path("out.folded"), "--", "sh", "-c", "sleep 40 > /dev/null 2>&1 & %s work 0.3; true" % compiled(ctx)).ok()
    took = time.monotonic() - began
    check(took < 15, "it took %.1f s", took)
    return "%.1f s: %s" % (took, run.out.splitlines()[1] if run.out else "")


@case(timeout=60)
def of_a_command_from_its_begin(ctx):
    """A command that becomes a ruby has all its events, as without --all-native."""
    made = {}
    for options in ((), ("-n", "--all-native")):
        out = ctx.path("out%d.folded" % len(made))
        run = ctx.extprof("record", "-m", "cpu,gc", "-F", 99, *options, "-o", out, "--", "env", harness.RUBY, "--disable=gems", "-e",
                          "5.times { GC.start }; t = 0; t += 1 while t < 20_000_000").ok()
        made[options] = int(re.search(r"^ +(\d+) .*all$", run.out + run.err, re.M).group(1))
    check(len(set(made.values())) == 1 and min(made.values()) >= 5, "pauses: %s", made)
    return "%s pauses" % list(made.values())


@case(timeout=90)
def descriptors(ctx):
    """Forked children leave no descriptor."""
    p = plain(ctx)
    reader, said = watch(ctx, "record", "-p", p.pid, "-s", "-n", "--all-native", "-F", 99, "-o", ctx.path("out.folded"))
    def count():
        """Of the helper processes, that come and go, and of all else."""
        helpers = others = 0
        for fd in os.listdir("/proc/%d/fd" % reader.pid):
            try:
                kind = os.readlink("/proc/%d/fd/%s" % (reader.pid, fd))
            except OSError:
                continue
            if kind.startswith("socket:") or kind == "anon_inode:[pidfd]":
                helpers += 1
            else:
                others += 1
        return helpers, others

    before = count()
    for _ in range(40):
        p.tell("fork 10 0.002")
        while p.line() != "done":
            pass
    # One idle helper of each kind is kept, and others for some seconds. There are those that have ended and were not waited for yet.
    harness.until(lambda: count()[0] <= before[0] + 8 and count()[1] <= before[1] + 3,
                  lambda: "%s descriptors of helpers and of all else, %s before" % (count(), before))
    after = count()
    end(reader, said, ctx.path("out.folded"))
    return "descriptors of helpers and of all else: %s before, %s after 400 children" % (before, after)


@case(timeout=60)
def waits(ctx):
    """How long it waits, and where."""
    p = plain(ctx)
    reader, said = watch(ctx, "record", "-p", p.pid, "-n", "--all-native", "-m", "offcpu", "--idle", "-o", ctx.path("out.folded"))
    truth = asked(p, "rest 0.7")[0] + asked(p, "rest 0.4")[0]
    profile = end(reader, said, ctx.path("out.folded"))
    got = sum(s.count for s in profile.stacks if "rest" in s.labels())
    check(abs(got - truth / 1000) < 0.02 * truth / 1000, "it waited %d us in rest(), %d by its clock", got, truth / 1000)
    check(not any("[gvl]" in s.labels() for s in profile.stacks), "it waited for a GVL")
    return "%.4f s of %.4f" % (got / 1e6, truth / 1e9)


@case(timeout=60)
def system_calls(ctx):
    """Each is counted, in the function that made it."""
    p = plain(ctx)
    reader, said = watch(ctx, "record", "-p", p.pid, "-n", "--all-native", "-m", "syscall", "--syscall", "write",
                         "-o", ctx.path("out.folded"))
    done = asked(p, "write 5000")[0]
    profile = end(reader, said, ctx.path("out.folded"))
    got = inclusive(profile, "scribble")
    check(got == done, "%d calls of %d are in scribble(): %s", got, done, profile.sums.text)
    return "%d calls" % got


@case(timeout=60)
def forks(ctx):
    """Children have samples from their begin on, each in its process."""
    p = plain(ctx)
    reader, said = watch(ctx, "record", "-p", p.pid, "-s", *OPTIONS, "-o", ctx.path("out.folded"))
    p.tell("fork 3 0.6")
    children = [[int(n) for n in p.line().split()] for _ in range(3)]
    p.expect("done")
    profile = end(reader, said, ctx.path("out.folded"))
    return "; ".join(check_shares(profile, c[1:], "child %d: " % c[0], of=in_process(c[0])) for c in children)


@case(timeout=60)
def becomes_a_ruby(ctx):
    """exec in both directions: each program has its own stacks."""
    p = plain(ctx)
    script = ctx.write("next.rb", """def spin = 100_000.times { }
from = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
spin while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - from < 0.7
puts "spun"
$stdout.flush
exec(%r)
""".replace("%r", repr(p.p.args[0])))
    reader, said = watch(ctx, "record", "-p", p.pid, *OPTIONS, "-m", "cpu,wall", "--waits", "each", "-o", ctx.path("out.extprof"))
    first = asked(p, "work 0.5")
    p.tell("exec %s %s" % (harness.RUBY, script))
    p.expect("spun")
    p.expect("ready")
    # Its second life has to be found before it works.
    with open(said, encoding="utf-8") as f:
        harness.until(lambda: f.seek(0) or f.read().count("it runs no ruby") >= 2, "it was not found again")
    time.sleep(0.3)  # the rules of its files are known, and nothing tells when its mappings have been read
    second = asked(p, "work 0.5")
    reader.signal(signal.SIGINT)
    reader.communicate()
    run = ctx.extprof("report", ctx.path("out.extprof"), "-m", "cpu", "-f", "folded", "-o", ctx.path("out.folded")).ok()
    profile = harness.Profile(run.status, run.out, run.err, ctx.path("out.folded"))
    spun = sum(s.count for s in profile.stacks if "Object#spin" in s.labels()) / RATE
    check(0.6 < spun < 0.8, "spin has %.3f s", spun)
    check(not any("Object#spin" in s.labels() and {"one", "two"} & set(s.labels()) for s in profile.stacks), "stacks are mixed")
    # The table of threads: the ruby's main thread is known by its name, though extprof took the process for another program at first.
    run = ctx.extprof("sql", ctx.path("out.extprof"), "SELECT DISTINCT thread_name FROM states_by_thread").ok()
    check("main" in run.out and "#" not in run.out and "gone" not in run.out, "threads: %s", run.out)
    return check_shares(profile, [a + b for a, b in zip(first, second)]) + ", spin %.3f s of 0.7" % spun


@case(timeout=60)
def ruby_without_the_interface(ctx):
    """A ruby that cannot be read has the functions of its interpreter."""
    if not os.path.exists(STOCK):
        return harness.Counted(0, 0, 1, "there is no %s" % STOCK)
    ruby = ctx.ruby("--disable=gems", "-e", "puts 'ready'\n$stdout.flush\nx = 0\nx += 1 while true", ruby=STOCK)
    ruby.expect("ready")
    run = ctx.extprof("record", "-p", ruby.pid, "-d", "1", "-n", "-F", 99)
    check(run.status == NO_INTERFACE and "no external debugging interface" in run.err, "without --all-native: %d %s", run.status, run.err)
    reader, said = watch(ctx, "record", "-p", ruby.pid, *OPTIONS, "-o", ctx.path("out.folded"))
    harness.worked(ruby.pid, 0.8)
    profile = end(reader, said, ctx.path("out.folded"))
    total = sum(s.count for s in profile.stacks if not is_early(s))
    joined = sum(s.count for s in profile.stacks if "ruby_run_node" in s.labels())
    check(total > 0.5 * RATE and joined > 0.97 * total, "%d of %d samples are in ruby_run_node(): %s", joined, total,
          [(s.labels()[:4], s.count) for s in profile.stacks if "ruby_run_node" not in s.labels()])
    return "%d of %d samples are in ruby_run_node()" % (joined, total)


@case(timeout=60)
def whole_machine(ctx):
    """-a: all of them, and nothing of the kernel's own threads; a name chooses."""
    p = plain(ctx)
    ruby = ctx.ruby("--disable=gems", "-e", "puts 'ready'\n$stdout.flush\nloop { }")
    ruby.expect("ready")
    reader, said = watch(ctx, "record", "-a", *OPTIONS, "-o", ctx.path("out.extprof"))
    time.sleep(1)
    truth = asked(p, "work 1")
    reader.signal(signal.SIGINT)
    reader.communicate()
    check(reader.p.returncode == 0, "status %d", reader.p.returncode)
    path = ctx.path("out.folded")
    run = ctx.extprof("report", ctx.path("out.extprof"), "-f", "folded", "--filter", "process=*plain*", "-o", path).ok()
    text = check_shares(harness.Profile(run.status, run.out, run.err, path), truth)
    run = ctx.extprof("sql", ctx.path("out.extprof"), 
                      "SELECT pid, 'ruby ' || text FROM processes JOIN strings s ON s.id = ruby").ok()
    rows = dict(line.split("\t") for line in run.out.splitlines()[1:])
    check(rows.get(str(p.pid)) == "ruby " and rows.get(str(ruby.pid), "").startswith("ruby 3"), "processes: %s", run.out)
    kernel = [n for n in os.listdir("/proc") if n.isdigit() and not os.path.exists("/proc/%s/exe" % n) and harness.state(int(n)) != "Z"]
    check(not set(kernel) & set(rows), "threads of the kernel are processes: %s", set(kernel) & set(rows))
    reader, said = watch(ctx, "record", "-a", "--name", "plain", *OPTIONS, "-o", ctx.path("name.extprof"))
    asked(p, "work 0.3")
    reader.signal(signal.SIGINT)
    reader.communicate()
    rows = ctx.extprof("sql", ctx.path("name.extprof"), "SELECT count(*) AS n FROM processes WHERE pid = %d" % ruby.pid).ok().out
    check(re.search(r"^0$", rows, re.M), "the ruby is in a profile of another name: %s", rows)
    return text


@case(timeout=60)
def formats(ctx):
    """Recordings without a ruby are in all formats, with the same sums."""
    p = plain(ctx)
    reader, said = watch(ctx, "record", "-p", p.pid, *OPTIONS, "-o", ctx.path("out.extprof"))
    asked(p, "work 0.5")
    reader.signal(signal.SIGINT)
    reader.communicate()
    run = ctx.extprof("report", ctx.path("out.extprof"), "-f", "folded").ok()
    total = sum(int(line.rsplit(" ", 1)[1]) for line in run.out.splitlines())
    sizes = []
    for name in ("a.pb.gz", "a.firefox.json", "a.speedscope.json", "a.svg", "a.html", "a.heatmap.html", "a.otlp.json", "a.json", "a.jsonl", "a.callgrind",
                 "a.txt"):
        ctx.extprof("report", ctx.path("out.extprof"), "-o", ctx.path(name)).ok()
        sizes.append("%s %d" % (name, os.path.getsize(ctx.path(name))))
    with open(ctx.path("a.otlp.json"), encoding="utf-8") as f:
        otlp = f.read()
    check("process.runtime.name" not in otlp and "unknown_service:ruby" not in otlp, "OTLP calls it a ruby")
    with open(ctx.path("a.svg"), encoding="utf-8") as f:
        check("no ruby, on-CPU" in f.read(), "the flame graph calls it a ruby")
    summary = ctx.extprof("report", ctx.path("out.extprof")).ok().out
    check("samples taken %d = whole %d" % (total, total) in summary, "%s", summary[-500:])
    return "%d samples: %s" % (total, ", ".join(sizes))


@case(timeout=30)
def live_view(ctx):
    p = plain(ctx)
    top = ctx.extprof_start("top", "-b", "-p", p.pid, "-n", "--all-native", "-i", "1", "--count", "3")
    asked(p, "work 2")
    out, _ = top.communicate()
    check(top.p.returncode == 0 and re.search(r" one *$", out, re.M), "%d %s", top.p.returncode, out[-1500:])
    return "one() is there"


@case(timeout=30)
def refusals(ctx):
    """What cannot be is said."""
    p = plain(ctx)
    run = ctx.extprof("record", "-p", p.pid, "-d", "1", "--all-native")
    check(run.status == USAGE and "--all-native needs --native" in run.err, "without --native: %d %s", run.status, run.err)
    run = ctx.extprof("record", "-p", p.pid, "-d", "1", "-n")
    check(run.status == NOT_RUBY, "%d %s", run.status, run.err)
    check("is not a ruby" in run.err and "--all-native" in run.err, "the advice: %s", run.err)
    run = ctx.extprof("record", "-p", 2, "-d", "1", "-n", "--all-native")
    check(run.status == NOT_RUBY and "a kernel thread" in run.err, "a thread of the kernel: %d %s", run.status, run.err)
    run = ctx.extprof("record", "-p", p.pid, "-d", "1", "-n", "--all-native", "-m", "alloc,gc")
    check(run.status == USAGE and "--all-native is for the modes" in run.err, "a mode of a ruby: %d %s", run.status, run.err)
    return "4 refusals"
