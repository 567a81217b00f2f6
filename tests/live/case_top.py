"""extprof top: text for scripts, and its screen, driven by tmux as a user would."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import harness
from harness import case, check

# heavy, light and 計算する have 3/5, 1/5 and 1/5 of the CPU time by their own count. No loop of theirs can be longer. A turn takes 1 to
# 2 ms, each another time: turns that are as long as the interval of the samples would always be met at the same place.
PROGRAM = """\
# encoding: utf-8
class Worker
  def heavy(n) = (i = 0; i += 1 while i < n; i)
  def light(n) = (i = 0; i += 1 while i < n; i)
  def 計算する(n) = (i = 0; i += 1 while i < n; i)

  def run(x = 1)
    loop do
      heavy(60 * n = 500 + (x = x * 75 % 65_537) % 500)
      light(20 * n)
      計算する(20 * n)
    end
  end
end
Thread.new { Queue.new.pop }.name = "ワーカー"
$stdout.puts "ready"
$stdout.flush
Worker.new.run
"""
SHARES = {"Worker#heavy": 60, "Worker#light": 20, "Worker#計算する": 20}


def worker(ctx):
    p = ctx.ruby(ctx.write("worker.rb", PROGRAM))
    p.expect("ready", 60)
    return p


class Window:
    """What --batch prints of one mode in one window."""

    def __init__(self, lines):
        self.head, self.sums, self.choice, self.titles, *rows = lines
        self.mode = re.match(r"extprof top - (\w+)  ", self.head).group(1)
        self.samples, self.lost = (int(re.search(r"%s (\d+)" % name, self.sums).group(1)) for name in ("samples", "lost"))
        # "SELF % SELF TOTAL % TOTAL NAME PLACE"
        self.rows = {}
        for row in rows:
            m = re.match(r" *([\d.]+) % +(\S+(?: \w+)?) +([\d.]+) % +(\S+(?: \w+)?)  (.*?)(?:  +(\S+))? *$", row)
            check(m, "no row: %r", row)
            self.rows[m.group(5).strip().split("  ")[0]] = (float(m.group(1)), float(m.group(3)))


def windows(text):
    return [Window(part.split("\n")) for part in text.strip("\n").split("\n\n")]


def sigmas(p, n):
    """Five standard deviations of a share p of n samples, in percent."""
    return 5 * 100 * (p / 100 * (1 - p / 100) / max(n, 1)) ** 0.5


@case(timeout=120)
def shares(ctx):
    """The program knows its shares, and a recording of the same time sees what top sees."""
    p = worker(ctx)
    record = ctx.extprof_start("record", "-p", str(p.pid), "-r", "499", "-d", "6", "-o", ctx.path("out.folded"), "-q")
    out, err = ctx.extprof_start("top", "-p", str(p.pid), "-m", "cpu", "-r", "499", "-b", "--count", "6", "--cumulative").communicate()
    record.communicate()
    got = windows(out)
    check(len(got) == 6, "%d windows: %s", len(got), err)
    last = got[-1]
    check(last.samples > 200 and not last.lost, "%s", last.sums)
    check([w.samples for w in got] == sorted(w.samples for w in got), "the sums do not grow")
    stacks = harness.folded.parse(open(ctx.path("out.folded"), encoding="utf-8").read())
    total = sum(s.count for s in stacks)
    for name, share in SHARES.items():
        self_share = last.rows[name][0]
        recorded = 100 * sum(s.count for s in stacks if s.frames[-1].label == name) / total
        check(abs(self_share - share) < sigmas(share, last.samples) + 1, "%s: %.1f %%, not %d", name, self_share, share)
        check(abs(self_share - recorded) < 1.5 * sigmas(share, min(total, last.samples)) + 1, "%s: top %.1f %%, recording %.1f %%",
              name, self_share, recorded)
    check(last.rows["Worker#run"][1] > 99, "%s", last.rows)
    return "%d samples, heavy %.1f %%" % (last.samples, last.rows["Worker#heavy"][0])


@case(timeout=120)
def views(ctx):
    """--focus, --hide and --collapse in each window, with the program's shares: of the rest, and in the caller."""
    p = worker(ctx)
    top = lambda *options: windows(ctx.extprof("top", "-p", str(p.pid), "-m", "cpu", "-r", "499", "-b", "--count", "1", "-i", "4", *options).ok().out)[0]
    w = top("--focus", "Worker#heavy,Worker#light")
    left = float(re.search(r"  left out ([\d.]+) %", w.sums).group(1))
    check(abs(left - 20) < sigmas(20, w.samples) + 1, "left out %.1f %%, not 20", left)
    check(set(w.rows) == {"Worker#heavy", "Worker#light"}, "%s", w.rows)
    check(abs(w.rows["Worker#heavy"][0] - 75) < sigmas(75, 0.8 * w.samples) + 1, "heavy has %.1f %% of the rest, not 75", w.rows["Worker#heavy"][0])
    w = top("--hide", "Worker#heavy,method:Worker#light")
    check("left out" not in w.sums and not set(w.rows) & {"Worker#heavy", "Worker#light"}, "%s %s", w.sums, w.rows)
    caller = next((name for name in w.rows if name.startswith("block in Worker#run")), None)
    check(caller and abs(w.rows[caller][0] - 80) < sigmas(80, w.samples) + 1, "its caller has not 80 %%: %s", w.rows)
    w = top("--focus", "app", "--app", "/nothing/here")
    check(not w.rows and "  left out 100.0 %" in w.sums, "another application: %s %s", w.sums, w.rows)
    w = top("--focus", "app")
    check(w.rows["Worker#run"][1] > 99, "the application: %s", w.rows)
    q = ctx.ruby(ctx.write("deep.rb", "def down(n)\n  return down(n - 1) if n > 0\n  i = 0\n  i += 1 while i < 20_000\nend\nputs 'ready'; STDOUT.flush\n"
                             "loop { down(20) }\n"))
    q.expect("ready", 60)
    for options, calls in (((), True), (("--collapse", "recursion"), False)):
        run = ctx.extprof("top", "-p", str(q.pid), "-m", "cpu", "-b", "--count", "1", "-i", "1", "--view", "line", *options).ok()
        shares = {m.group(3): (float(m.group(1)), float(m.group(2))) for m in
                  re.finditer(r"^ *([\d.]+) %.* ([\d.]+) % +\S+ \S+ +Object#down +\S*deep\.rb:(\d)$", run.out, re.M)}
        check(shares["4"][0] > 80, "%s: %s", options, run.out)
        # The line that calls itself is not the innermost one.
        check(shares.get("2", (0, 0))[1] > 90 if calls else shares.get("2", (0, 0))[1] < 20, "%s: %s", options, run.out)
    for options, said in ((("--hide", "app"), "not gem:NAME"), (("--collapse", "gem"), "not gems or recursion"), (("--focus", ""), "not app, gem:NAME")):
        run = ctx.extprof("top", "-p", str(p.pid), "-b", "--count", "1", *options)
        check(run.status == harness.USAGE and said in run.err.replace("\n", " "), "%s: %d %s", options, run.status, run.err)
    return "left out %.1f %%" % left


# Two methods of one line each. What `sorts` takes is in C alone, and a third of it in a block that C calls, on another line.
C_LINES = """\
WORDS = Array.new(20_000) { |i| ((i * 7919) % 20_011).to_s }
def sorts = WORDS.sort.reverse.uniq
def counts = (i = 0; i += 1 while i < 60_000; i)
def times = 2_000.times {
  WORDS.first(50).sum(&:size) }
def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

took = [0, 0, 0]
trap(:TERM) do
  puts took.join(" ")
  $stdout.flush
  exit!
end
puts "ready"
$stdout.flush
loop do
  %i[sorts counts times].each_with_index do |name, i|
    at = cpu
    send(name)
    took[i] += cpu - at
  end
end
"""


@case(timeout=120)
def lines_have_c(ctx):
    """Time in C methods is in the line that called them: shares of lines by the program's own clock, and by record."""
    p = ctx.ruby(ctx.write("c_lines.rb", C_LINES))
    p.expect("ready", 60)
    record = ctx.extprof_start("record", "-p", str(p.pid), "-m", "cpu", "-r", "499", "-d", "6", "-f", "json", "-o", ctx.path("out.json"), "-q")
    out, err = ctx.extprof_start("top", "-p", str(p.pid), "-m", "cpu", "-r", "499", "-b", "--count", "6", "--cumulative",
                                 "--view=line").communicate()
    record.communicate()
    p.signal(signal.SIGTERM)
    took = list(map(int, p.line(60).split()))
    last = windows(out)[-1]
    check(last.samples > 200 and not last.lost, "%s %s", last.sums, err)
    rows = {}
    for row in out.strip("\n").split("\n\n")[-1].split("\n")[4:]:
        m = re.match(r" *([\d.]+) % +\S+(?: \w+)? +([\d.]+) % .*c_lines\.rb:~?(\d+)$", row)
        check(m, "a row without a line: %r", row)
        check(int(m.group(3)) not in rows, "line %s has two rows:\n%s", m.group(3), out)
        rows[int(m.group(3))] = float(m.group(1)), float(m.group(2))
    # Integer#times itself is of the line that calls it.
    seen = [rows[2][0], rows[3][0], rows[4][0] + rows[5][0]]
    known = [100 * t / sum(took) for t in took]
    for name, a, b in zip(("sorts", "counts", "times"), seen, known):
        check(abs(a - b) < sigmas(b, last.samples) + 1, "%s: %.1f %%, not %.1f %%", name, a, b)
    with open(ctx.path("out.json")) as f:
        recorded = {r["line"]: 100 * r["self_share"] for r in json.load(f)["modes"][0]["lines"]["rows"] if "c_lines.rb" in r["path"]}
    for line in (2, 3, 5):
        check(abs(rows[line][0] - recorded[line]) < 1.5 * sigmas(recorded[line], last.samples) + 1, "line %d: top %.1f %%, record %.1f %%",
              line, rows[line][0], recorded[line])
    return "shares of three methods %s, known %s" % tuple("/".join("%.1f" % x for x in of) for of in (seen, known))


# What `tallies` takes is in the block in C of Enumerable#tally, which Array#each calls.
BLOCKS = """\
NUMBERS = Array.new(60_000) { |i| i * 7919 % 101 }
def tallies = NUMBERS.tally
def counts = (i = 0; i += 1 while i < 60_000; i)
def yields = yield(1)
def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
def counted(_) = counts

took = [0, 0]
trap(:TERM) do
  puts took.join(" ")
  $stdout.flush
  exit!
end
puts "ready"
$stdout.flush
loop do
  at = cpu
  tallies
  took[0] += cpu - at
  at = cpu
  yields(&method(:counted))
  took[1] += cpu - at
end
"""


@case(timeout=120)
def blocks_in_c(ctx):
    """Their time is in the method that called them, in top and in record."""
    p = ctx.ruby(ctx.write("blocks.rb", BLOCKS))
    p.expect("ready", 60)
    record = ctx.extprof_start("record", "-p", str(p.pid), "-m", "cpu", "-r", "499", "-d", "6", "-o", ctx.path("out.json"),
                               "-o", ctx.path("blocks.extprof"), "-q")
    out, err = ctx.extprof_start("top", "-p", str(p.pid), "-m", "cpu", "-r", "499", "-b", "--count", "6", "--cumulative").communicate()
    record.communicate()
    p.signal(signal.SIGTERM)
    took = list(map(int, p.line(60).split()))
    last = windows(out)[-1]
    check(last.samples > 200 and not last.lost, "%s %s", last.sums, err)
    known = 100 * took[0] / sum(took)
    with open(ctx.path("out.json")) as f:
        recorded = {r["name"]: (100 * r["self_share"], 100 * r["total_share"]) for r in json.load(f)["modes"][0]["methods"]["rows"]}
    shown = ctx.extprof("report", ctx.path("blocks.extprof"), "--top", "100")
    tables = [t for t in shown.out.split("\n\n") if t.startswith("By time in the method")]
    check(len(tables) == 2 and all("Array#each" in t and "[block in C]" not in t for t in tables), "%s", shown.out)
    stacks = ctx.extprof("report", ctx.path("blocks.extprof"), "-f", "folded").out
    check("Enumerable#tally;Array#each;[block in C]" in stacks and "Object#yields;[block in C];Object#counted" in stacks, "%s", stacks)
    for rows, of in (last.rows, "top"), (recorded, "record"):
        check("[block in C]" not in rows, "%s has the row", of)
        # Enumerable#tally itself begins and ends.
        check(abs(rows["Array#each"][0] - known) < sigmas(known, last.samples) + 2, "%s: Array#each %s %%, not %.1f %%", of,
              rows["Array#each"], known)
        check(abs(rows["Object#yields"][1] - (100 - known)) < sigmas(known, last.samples) + 1, "%s: Object#yields %s %%, not %.1f %%",
              of, rows["Object#yields"], 100 - known)
        check(rows["Object#yields"][0] < 3, "%s: Object#yields itself %s %%", of, rows["Object#yields"])
    return "Array#each %.1f %% in top, %.1f %% in record, known %.1f %%" % (last.rows["Array#each"][0], recorded["Array#each"][0], known)


@case(timeout=120)
def windows_are_apart(ctx):
    """Each window has its own samples only, and a thread that waits for hours waits in each of them."""
    p = worker(ctx)
    out, _ = ctx.extprof_start("top", "-p", str(p.pid), "-m", "wall,cpu", "--idle", "-i", "500ms", "-b", "--count", "4", "-t",
                               "--rows=100").communicate()
    walls = [w for w in windows(out) if w.mode == "wall"]
    check(len(walls) == 4, "%s", out[:2000])
    pops = re.findall(r"% +(\d+) ms +ワーカー \(\d+\) +Thread::Queue#pop", out)
    check(len(pops) == 4, "%s", out[:2000])
    # A window that ends late is longer. Its length is shown in steps of 100 ms.
    lengths = [1000 * float(re.search(r"  last ([\d.]+) s  ", w.head).group(1)) for w in walls]
    check(all(0.8 * length - 60 < int(ms) < 1.2 * length + 60 for ms, length in zip(pops, lengths)), "waits of %s ms in windows of %s", pops, lengths)
    check(all("GVL -" not in w.sums for w in walls), "%s", walls[0].sums)
    return "waits of %s ms" % ", ".join(pops)


@case(timeout=60)
def titles_of_workers(ctx):
    """Processes of one name are told apart by their titles, as the workers of a server have them."""
    code = "Process.setproctitle('shop: cluster worker %d: 42 [app]'); STDOUT.puts :ready; STDOUT.flush; loop { 1 + 1 }"
    workers = [ctx.ruby(ctx.write("worker%d.rb" % i, code % i)) for i in range(2)]
    for w in workers:
        w.expect("ready")
    pids = [a for w in workers for a in ("-p", str(w.pid))]
    out = ctx.extprof("top", "-b", "--count", "1", "-i", "1", "--view", "process", *pids).ok().out
    for i, w in enumerate(workers):
        check(re.search(r"  %d shop: cluster worker %d: 42 \[app\]" % (w.pid, i), out), "%d: %s", w.pid, out)
    return "two titles"


@case(timeout=60)
def ends(ctx):
    """The end of the program, of a command, and no terminal."""
    p = worker(ctx)
    top = ctx.extprof_start("top", "-p", str(p.pid))
    _, err = top.communicate()
    check(top.p.returncode == harness.OUTPUT and "--batch" in err, "%d: %s", top.p.returncode, err)
    top = ctx.extprof_start("top", "-p", str(p.pid), "-b", "-i", "200ms")
    top.line()
    p.kill()
    out, err = top.communicate()
    check(top.p.returncode == 0 and "the process ended" in out, "%d: %s %s", top.p.returncode, out[-500:], err)
    narrow = ctx.extprof("top", "-p", str(worker(ctx).pid), "-b", "--count", "1", "-i", "200ms", env={"COLUMNS": "40"}).ok().out
    check(narrow and max(map(len, narrow.splitlines())) <= 40, "more than 40 columns: %s", narrow)
    top = ctx.extprof_start("top", "-b", "-i", "1h", "--", harness.RUBY, "-e", "t = Process.clock_gettime(1) + 1; nil while Process.clock_gettime(1) < t; exit 7")
    out, err = top.communicate()
    check(top.p.returncode == 7 and "the process ended" in out, "%d: %s", top.p.returncode, err)
    top = ctx.extprof_start("top", "-p", "4194304", "-b")
    top.communicate()
    check(top.p.returncode in (harness.USAGE, harness.NO_PROCESS), "%d", top.p.returncode)
    return "status of the command, of no terminal, of no process"


@case(timeout=120)
def come_and_go(ctx):
    """Children that come and go with -s are in the window in which they run, and extprof does not grow."""
    script = ctx.write("forks.rb", "$stdout.puts 'ready'; $stdout.flush\nloop { Process.wait(fork { "
                       "t = Process.clock_gettime(2) + 0.01; nil while Process.clock_gettime(2) < t }) }\n")
    p = ctx.ruby(script)
    p.expect("ready", 60)
    top = ctx.extprof_start("top", "-p", str(p.pid), "-s", "-m", "cpu", "-i", "500ms", "-b", "--count", "30", "--view=process",
                            stderr=subprocess.DEVNULL)
    sizes, heads = [], 0
    while heads < 28:
        if top.line().startswith("extprof top"):
            heads += 1
            with open("/proc/%d/statm" % top.pid) as f:
                sizes.append(int(f.read().split()[1]) * 4)
    top.communicate()
    early, late = max(sizes[6:12]), max(sizes[-6:])
    check(late < early * 1.3 + 2048, "memory grew from %d to %d KiB", early, late)
    return "%d windows, %d to %d KiB" % (heads, early, late)


# Three threads compute all the time: two of them wait for the GVL at each moment. A part of the CPU time is the collector's.
HEAD = """\
GC.measure_total_time = true
def work = (Array.new(1000) { +"" }; i = 0; i += 1 while i < 10_000)
cpu, gc = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID), GC.total_time
trap(:TERM) do
  cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - cpu
  puts "gc %.4f" % ((GC.total_time - gc) / 1e9 / cpu)
  $stdout.flush
  exit!
end
3.times { Thread.new { loop { work } } }
$stdout.puts "ready"
$stdout.flush
sleep
"""


def cpu_time(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@case(timeout=120, waits=True)
def head(ctx):
    """The figures of the head are those of the kernel's account, of the GVL and of ruby's own account of its collector."""
    p = ctx.ruby(ctx.write("head.rb", HEAD))
    p.expect("ready", 60)
    top = ctx.extprof_start("top", "-p", str(p.pid), "-m", "cpu,gvl", "-r", "499", "-b", "--count", "9", "--rows=1")
    heads, read = [], []
    while len(heads) < 9:
        if top.line().startswith("extprof top - cpu"):
            heads.append(top.line())
            read.append((time.monotonic(), cpu_time(p.pid)))
    top.communicate()
    on_cpu = 100 * (read[-1][1] - read[0][1]) / (read[-1][0] - read[0][0])
    seen = {name: sum(float(re.search(name + r" ([\d.]+) %", text).group(1)) for text in heads[1:]) / 8
            for name in ("on-CPU", "GVL", "GC", "extprof")}
    samples = sum(int(re.search(r"samples (\d+)", text).group(1)) for text in heads[1:])
    p.signal(signal.SIGTERM)
    gc = 100 * float(p.line(60).split()[-1])
    check(abs(seen["on-CPU"] - on_cpu) < 2, "on-CPU %.1f %%, /proc says %.1f %%", seen["on-CPU"], on_cpu)
    # A thread that has just passed the GVL on may have to wait for a CPU before it waits for the GVL again.
    check(170 < seen["GVL"] <= 201, "GVL %.1f %%, not 200", seen["GVL"])
    # The start of ruby and the time between the windows belong to ruby's figure alone.
    check(abs(seen["GC"] - gc) < sigmas(gc, samples) + 0.1 * gc, "GC %.1f %%, ruby says %.1f %%", seen["GC"], gc)
    check(gc > 3, "the collector had %.1f %% only", gc)
    check(0 < seen["extprof"] < 50, "extprof %.1f %%", seen["extprof"])
    return "on-CPU %.1f of %.1f, GVL %.1f of 200, GC %.1f of %.1f %%" % (seen["on-CPU"], on_cpu, seen["GVL"], seen["GC"], gc)


def cells(text):
    """Rows of a view of threads or processes as (titles -> text), by name."""
    titles, *rows = text.split("\n")[3:]
    numbers = [(m.group(0), m.end()) for m in re.finditer(r"TOTAL %|\S+", titles) if m.group(0) not in ("THREAD", "PROCESS")]
    names = numbers[-1][1] + 2
    found = {}
    for row in rows:
        begin, cell = 0, {}
        for title, end in numbers:
            cell[title] = row[begin:end].strip()
            begin = end
        found[re.split(r"  +", row[names:].strip())[0]] = cell
    return found


UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "%": 0.01, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def amount(text):
    if text in ("-", "0"):
        return 0
    number, unit = text.split()
    return float(number) * UNITS[unit]


# One thread computes, one sleeps 50 ms again and again, one waits for a queue, and the main thread for them.
DOING = """\
worker = Thread.new { i = 0; i += 1 while true }
worker.name = "worker"
naps = 0
napper = Thread.new { loop { sleep 0.05; naps += 1 } }
napper.name = "napper"
waits = Thread.new { Queue.new.pop }
waits.name = "waits"
Thread.pass until [worker, napper, waits].all?(&:native_thread_id)
$stdout.puts [worker, napper, waits].map(&:native_thread_id).join(" ")
$stdout.flush
Thread.new do
  while $stdin.gets
    $stdout.puts naps
    $stdout.flush
  end
end
worker.join
"""


def ran(pid, tid):
    with open("/proc/%d/task/%d/schedstat" % (pid, tid)) as f:
        return int(f.read().split()[0]) / 1e9


@case(timeout=120)
def threads_have_states(ctx):
    """The view of threads has the states of each: what /proc says that it ran, and what the program does."""
    p = ctx.ruby(ctx.write("doing.rb", DOING))
    tids = dict(zip(("worker", "napper", "waits"), map(int, p.line(60).split())))
    top = ctx.extprof_start("top", "-p", str(p.pid), "-m", "wall", "--idle", "-b", "--count", "5", "--cumulative", "--view=thread")
    text, read = [], []
    while len(read) < 5:
        text.append(top.line())
        if text[-1].startswith("extprof top"):
            read.append({name: ran(p.pid, tid) for name, tid in tids.items()})
            p.tell("naps")
            read[-1]["naps"] = int(p.line())
    out, err = top.communicate()
    parts = ("\n".join(text) + "\n" + out).strip("\n").split("\n\n")
    check(len(parts) == 5, "%d windows: %s", len(parts), err)
    first, last = ({re.sub(r" \(\d+\)$", "", name): cell for name, cell in cells(part).items()} for part in (parts[0], parts[-1]))
    passed = [float(re.search(r"  all ([\d.]+) s", part).group(1)) for part in (parts[0], parts[-1])]
    span = passed[1] - passed[0]
    grown = {name: {title: amount(last[name][title]) - amount(first[name].get(title, "-")) for title in last[name] if title != "TOTAL %"}
             for name in ("main", *tids)}
    for name in tids:
        known = read[-1][name] - read[0][name]
        check(abs(grown[name]["RUNNING"] - known) < 0.03 * span, "%s ran %.3f s, /proc says %.3f s", name, grown[name]["RUNNING"], known)
    check(abs(grown["waits"]["QUEUE"] - span) < 0.03 * span, "%.3f s in the queue, of %.1f s", grown["waits"]["QUEUE"], span)
    check(abs(grown["main"]["JOIN"] - span) < 0.03 * span, "%.3f s in join, of %.1f s", grown["main"]["JOIN"], span)
    # Between the head and the answer there are some naps.
    naps = 0.05 * (read[-1]["naps"] - read[0]["naps"])
    check(abs(grown["napper"]["SLEEP"] - naps) < 0.05 * naps + 0.2, "%.3f s asleep, in naps of %.3f s", grown["napper"]["SLEEP"], naps)
    check(grown["napper"]["GVL"] > 0.1 * span, "%.3f s for the GVL, of %.1f s", grown["napper"]["GVL"], span)
    for name, states in grown.items():
        whole = sum(seconds for title, seconds in states.items() if title not in ("TOTAL", "IDLE"))
        check(abs(whole - span) < 0.04 * span, "the states of %s are %.3f s, of %.1f s", name, whole, span)
    return "of %.1f s: worker ran %.2f, napper slept %.2f of %.2f, queue %.2f" % (
        span, grown["worker"]["RUNNING"], grown["napper"]["SLEEP"], naps, grown["waits"]["QUEUE"])


# What rests: a timer that waits for a condition variable, as that of Timeout, a reaper, a pool between its jobs, and the main
# thread. What waits: jobs, a thread that is stuck in a queue, and one that reads. The program adds up what its jobs took.
RESTS = """\
jobs, took = Queue.new, Queue.new
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
def job = sleep(0.2)
threads = [Thread.new { loop { sleep 60 } }]
threads << Thread.new { m, c = Mutex.new, ConditionVariable.new; loop { m.synchronize { c.wait(m, 30) } } }
2.times { threads << Thread.new { loop { jobs.pop.call } } }
threads << Thread.new { Queue.new.pop } << Thread.new { IO.pipe[0].read(1) }
%w[reaper timer pool-0 pool-1 stuck reads].each_with_index { |name, i| threads[i].name = name }
Thread.new do
  while $stdin.gets
    jobs << -> { from = now; job; took << now - from }
  end
end.name = "feeder"
trap(:TERM) { puts took.size.times.sum { took.pop }; $stdout.flush; exit! }
puts "ready"
$stdout.flush
threads[0].join
"""


@case(timeout=120)
def threads_that_rest(ctx):
    """Timers, reapers and pools between jobs are apart in windows of a second: what is left is what the program's clock says."""
    p = ctx.ruby(ctx.write("rests.rb", RESTS))
    p.expect("ready", 60)
    top = ctx.extprof_start("top", "-p", str(p.pid), "-m", "wall", "-b", "--count", "12", "--view=thread", "--waits", "each")
    text, windows_seen = [], 0
    while windows_seen < 12:
        text.append(top.line())
        windows_seen += text[-1].startswith("extprof top")
        if text[-1].startswith("extprof top") and windows_seen in (6, 7, 8, 9):
            p.tell("job")
    out, err = top.communicate()
    parts = ("\n".join(text) + "\n" + out).strip("\n").split("\n\n")
    check(len(parts) == 12, "%d windows: %s", len(parts), err)
    p.signal(signal.SIGTERM)
    took = float(p.line(60))
    seen = [{re.sub(r" \(\d+\)$", "", name): cell for name, cell in cells(part).items()} for part in parts]
    waited = lambda name, cell: amount(cell[name]["TOTAL"]) if name in cell else 0
    # A second does not show that a reaper rests: from the sixth window on it is known, and so is who went on to jobs.
    late = seen[6:]
    for name in ("reaper", "timer", "main"):
        for cell in late:
            check(waited(name, cell) == 0 and amount(cell[name]["IDLE"]) > 0.9, "%s: %s", name, cell.get(name))
    for name in ("stuck", "reads"):
        for cell in seen:
            check(waited(name, cell) > 0.9 and cell[name].get("IDLE", "-") == "-", "%s waits: %s", name, cell[name])
    jobs = sum(waited(name, cell) for cell in late for name in ("pool-0", "pool-1"))
    check(0.75 < took < 1.2 and abs(jobs - took) < 0.06, "jobs of %.3f s, and the pool waited %.3f s", took, jobs)
    idle = sum(amount(cell[name]["IDLE"]) for cell in late for name in ("pool-0", "pool-1") if name in cell)
    span = sum(float(re.search(r"  last ([\d.]+) s", part).group(1)) for part in parts[6:])
    check(abs(idle + jobs - 2 * span) < 0.05 * span, "the pool rests %.2f s and works %.2f s, of 2 * %.2f s", idle, jobs, span)
    # Of the process it is the sum; with --idle they are as all others.
    q = ctx.ruby(ctx.write("rests.rb", RESTS))
    q.expect("ready", 60)
    run = ctx.extprof("top", "-p", str(q.pid), "-m", "wall", "-b", "--count", "1", "-i", "6", "--view=process").ok()
    row = next(iter(cells(run.out.strip("\n")).values()))
    # reaper, timer, two of the pool, and main; and the VM's own thread, if it has one.
    check(4.8 * 6 < amount(row["IDLE"]) < 6.3 * 6, "%s", run.out)
    run = ctx.extprof("top", "-p", str(q.pid), "-m", "wall", "-b", "--count", "1", "-i", "6", "--view=thread", "--idle").ok()
    shown = cells(run.out.strip("\n"))
    check("IDLE" not in run.out and all(amount(next(c for n, c in shown.items() if n.startswith(name))["TOTAL"]) > 5.5
                                        for name in ("reaper", "timer", "pool-0", "stuck")), "%s", run.out)
    return "jobs %.3f s of %.3f s" % (jobs, took)


@case(timeout=120)
def processes_have_memory(ctx):
    """The view of processes: CPU time and memory as /proc has them, GVL and GC as the head of a process alone has them."""
    busy = ctx.ruby(ctx.write("busy.rb", "$kept = Array.new(1_000_000) { +'0123456789' * 5 }\n" + HEAD))
    dull = "GC.start; GC.disable; $stdout.puts 'ready', GC.stat(:heap_live_slots); $stdout.flush\ni = 0; i += 1 while true\n"
    calm = ctx.ruby(ctx.write("calm.rb", dull))
    busy.expect("ready", 60)
    calm.expect("ready", 60)
    slots = int(calm.line(60))
    top = ctx.extprof_start("top", "-p", str(busy.pid), "-p", str(calm.pid), "-m", "cpu,gvl", "-r", "499", "-b", "--count", "5",
                            "--view=process", "--cumulative")
    text, read = [], []
    while len(read) < 5:
        text.append(top.line())
        if text[-1].startswith("extprof top - cpu"):
            read.append((time.monotonic(), [cpu_time(p.pid) for p in (busy, calm)]))
    with open("/proc/%d/statm" % busy.pid) as f:
        resident = int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    out, err = top.communicate()
    parts = ("\n".join(text) + "\n" + out).strip("\n").split("\n\n")
    check(len(parts) == 10, "%d parts: %s", len(parts), err)
    of, used, passed = {}, {}, []
    for part in (parts[0], parts[-2]):
        passed.append(float(re.search(r"  all ([\d.]+) s", part).group(1)))
        rows = cells(part)
        of = {name: next(cell for key, cell in rows.items() if key.split()[0] == str(p.pid)) for name, p in (("busy", busy), ("calm", calm))}
        for name in of:
            used.setdefault(name, []).append(amount(of[name]["CPU"]) * passed[-1])
    for i, name in enumerate(("busy", "calm")):
        known = (read[-1][1][i] - read[0][1][i]) / (read[-1][0] - read[0][0])
        seen = (used[name][1] - used[name][0]) / (passed[1] - passed[0])
        check(abs(seen - known) < 0.03, "%s: CPU %.1f %%, /proc says %.1f %%", name, 100 * seen, 100 * known)
    head = parts[-2].split("\n")[1]
    check(abs(amount(of["busy"]["RSS"]) - resident) < 0.15 * resident, "RSS %s, /proc says %d", of["busy"]["RSS"], resident)
    check(amount(of["calm"]["RSS"]) < resident / 3, "RSS %s", of["calm"]["RSS"])
    # A program that makes no objects has what it had, but for some that it says it with; the other one keeps a million.
    check(abs(int(of["calm"]["SLOTS"]) - slots) < 300, "SLOTS %s, the program says %d", of["calm"]["SLOTS"], slots)
    check(1_000_000 < int(of["busy"]["SLOTS"]) < 4_000_000, "SLOTS %s", of["busy"]["SLOTS"])
    gvl = float(re.search(r"GVL ([\d.]+) %", head).group(1)) / 100
    # The other process has one thread, and so no wait: the head is of the first alone.
    check(abs(amount(of["busy"]["GVL"]) - gvl) < 0.002 and gvl > 1, "GVL %s, the head says %.1f %%", of["busy"]["GVL"], 100 * gvl)
    check(of["calm"]["GVL"] == of["calm"]["GC"] == "0.0 %", "%s", of["calm"])
    gc, cpu = amount(of["busy"]["GC"]), [amount(of[name]["TOTAL"]) for name in ("busy", "calm")]
    whole = float(re.search(r"GC ([\d.]+) %", head).group(1)) / 100
    check(abs(gc * cpu[0] / sum(cpu) - whole) < 0.005 and gc > 0.03, "GC %.1f %% of the process, %.1f %% of both", 100 * gc, 100 * whole)
    return "CPU %s, GVL %s, GC %s, RSS %s of %d MiB" % (*(of["busy"][x] for x in ("CPU", "GVL", "GC", "RSS")), resident >> 20)


MAKES = """at = Process.clock_gettime(Process::CLOCK_MONOTONIC)
$stdout.puts "ready"
$stdout.flush
100_000.times do |turn|
  500.times { Object.new }
  at += 0.01
  left = at - Process.clock_gettime(Process::CLOCK_MONOTONIC)
  sleep left if left > 0
  next unless turn % 100 == 99
  $stdout.puts "%f %d" % [Process.clock_gettime(Process::CLOCK_MONOTONIC), GC.stat(:total_allocated_objects)]
  $stdout.flush
  fork { 1000.times { 50.times { Object.new }; sleep 0.01 } } if turn == 199
end
"""


@case(timeout=60, patient=True)
def processes_make_objects(ctx):
    """How many objects each process makes: as GC.stat counts; a child that has its parent's number makes its own, and who makes none
    has 0."""
    busy = ctx.ruby("--disable=gems", ctx.write("makes.rb", MAKES))
    calm = ctx.ruby("--disable=gems", "-e", "$stdout.puts 'ready'; $stdout.flush\ni = 0; i += 1 while true")
    busy.expect("ready")
    calm.expect("ready")
    top = ctx.extprof_start("top", "-p", str(busy.pid), "-p", str(calm.pid), "-s", "-m", "cpu", "-F", "997", "-b", "--count", "7", "--view=process")
    out, err = top.communicate()
    said = [busy.line() for _ in range(6)][2:]
    busy.kill()
    (from_, before), (until, after) = (map(float, line.split()) for line in (said[0], said[-1]))
    rate = (after - before) / (until - from_)
    parts, seen = out.strip("\n").split("\n\n"), {}
    check(len(parts) == 7, "%d parts: %s", len(parts), err)
    check("OBJECTS/S" not in parts[0], "there is nothing to compare with: %s", parts[0])
    for part in parts[1:]:
        for key, row in cells(part).items():
            seen.setdefault(key.split()[0], []).append(row["OBJECTS/S"])
    made = [int(x) for x in seen[str(busy.pid)]]
    check(len(made) == 6 and all(abs(m - rate) < 0.05 * rate for m in made), "%s a second, %.0f by its own count", made, rate)
    check(set(seen[str(calm.pid)]) == {"0"}, "the calm one: %s", seen[str(calm.pid)])
    child = [x for pid, x in seen.items() if pid not in (str(busy.pid), str(calm.pid))]
    check(len(child) == 1 and all(x == "-" or 2500 < int(x) <= 5200 for x in child[0][:-1]) and len(child[0]) > 3, "the child: %s", child)
    return "%s a second of %.0f; the child %s" % (seen[str(busy.pid)][-1], rate, child[0][-2])


# -- the screen ----------------------------------------------------------------------------------------------------

class Screen:
    """A terminal in tmux with a shell, in which top runs."""

    def __init__(self, ctx):
        check(shutil.which("tmux"), "there is no tmux")
        self.ctx, self.socket = ctx, ctx.path("tmux")
        self.settings = 0
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "110", "-y", "24", "-s", "t",
                  "env -u PROMPT_COMMAND PS1='> ' bash --norc --noprofile")

    def tmux(self, *args):
        return subprocess.run(["tmux", "-S", self.socket, *args], stdout=subprocess.PIPE, check=True, text=True,
                              env=harness.environment()).stdout

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "t", *keys)

    def text(self):
        return self.tmux("capture-pane", "-p", "-t", "t")

    def wait(self, pattern, timeout=20):
        end = time.monotonic() + timeout
        while True:
            text = self.text()
            if re.search(pattern, text, re.M):
                return text
            check(time.monotonic() < end, "never was on the screen: %s\n%s", pattern, text)
            time.sleep(0.1)

    def start(self, *args):
        """Also the settings of the terminal before and after."""
        self.settings += 1
        n = self.settings
        self.keys("clear; stty -g >%s; %s; echo status $?; stty -g >%s; echo over%d" %
                  (self.ctx.path("before"), " ".join([harness.EXTPROF, "top", *args]), self.ctx.path("after"), n), "Enter")

    def check_clean(self, status=r"\d+"):
        """top is gone, and has left the terminal as it was."""
        text = self.wait(r"^status %s$(.|\n)*^over%d$" % (status, self.settings))
        with open(self.ctx.path("before")) as before, open(self.ctx.path("after")) as after:
            check(before.read() == after.read(), "the settings of the terminal have changed")
        check(self.tmux("display-message", "-p", "-t", "t", "#{alternate_on} #{cursor_flag}").split() == ["0", "1"],
              "the screen or the cursor is not that of the shell")
        return text

    def pid(self):
        shell = self.tmux("display-message", "-p", "-t", "t", "#{pane_pid}").strip()
        out = subprocess.run(["pgrep", "-P", shell, "extprof"], stdout=subprocess.PIPE, text=True).stdout.split()
        check(len(out) == 1, "processes of the shell: %s", out)
        return int(out[0])

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], stderr=subprocess.DEVNULL)


@case(timeout=180)
def screen(ctx):
    """All keys, in tmux."""
    p, s = worker(ctx), Screen(ctx)
    try:
        s.start("-p", str(p.pid), "-r", "499")
        text = s.wait(r"Worker#heavy +\S+worker.rb:3$")
        rows = [line for line in text.splitlines() if re.search(r"worker\.rb:\d", line)]
        # A wide letter takes two columns.
        width = lambda t: sum(2 if ord(c) > 0x2e80 else 1 for c in t)
        places = {width(re.match(r"(.* )\S+$", line).group(1)) for line in rows}
        check(len(places) == 1 and any("計算する" in line for line in rows), "the places begin at %s:\n%s", places, text)
        s.keys("m")
        s.wait(r"top - wall")
        s.keys("3")
        s.wait(r"% .*\[queue\]")
        s.keys("4")
        s.wait(r"ワーカー \(\d+\) +%d worker.rb" % p.pid)
        s.keys("m", "1", "t")
        s.wait(r"main \(\d+\) +Worker#heavy")
        s.keys("t", "/", "LIGHT")
        text = s.wait(r"filter: LIGHT_")
        check("Worker#light" in text and "Worker#heavy" not in text, "%s", text)
        s.keys("Enter")
        s.wait(r"filter: LIGHT \(Esc")
        s.keys("Escape")
        s.wait(r"Worker#heavy")
        s.keys("s", "s")
        names = re.findall(r"%  +[\d.]+ \w* +[\d.]+ % .{11}  (\S+)", s.wait(r"sorted by name"))
        check(names == sorted(names), "%s", names)
        s.keys("s", "h")
        s.wait(r"^\+, -  +longer")
        s.keys("h", "+")
        s.wait(r"interval 2 s")
        s.keys("-", "-")
        s.wait(r"interval 0.5 s")
        s.keys("c")
        s.wait(r"since the reset")
        s.keys("p")
        first = s.wait(r"PAUSED")
        time.sleep(1.5)
        check(s.text() == first, "a paused screen changes:\n%s\n%s", first, s.text())
        s.keys("p", "r")
        s.wait(r"all 0\.[5-9] s|all 1\.\d s")
        for columns, titles in (80, r"SELF % +SELF TOTAL %  METHOD +PLACE"), (60, r"SELF % TOTAL %  METHOD +PLACE"), (40, r"SELF %  METHOD"):
            s.tmux("resize-window", "-t", "t", "-x", str(columns), "-y", "12")
            text = s.wait(titles + r"$(.|\n)*^ *[\d.]+ % .*Worker#heavy\b(.|\n)*Worker#light")
            check(all(width(line) <= columns for line in text.splitlines()), "wider than %d:\n%s", columns, text)
            # In a narrow line numbers go, and the names stay.
            check("Worker#計算する" in text, "no names at %d:\n%s", columns, text)
        s.tmux("resize-window", "-t", "t", "-x", "30", "-y", "12")
        s.wait(r"at least 40x8")
        s.tmux("resize-window", "-t", "t", "-x", "110", "-y", "6")
        s.wait(r"at least 40x8")
        s.tmux("resize-window", "-t", "t", "-x", "110", "-y", "24")
        s.wait(r"Worker#heavy")
        s.keys("q")
        s.check_clean("0")
    finally:
        s.close()
    return "wide letters line up; 20 keys; five sizes"


@case(timeout=180, patient=True)
def leaves_the_terminal_clean(ctx):
    """However it ends: Ctrl-C, signals, the end of the program, an error, Ctrl-Z in between."""
    p, s = worker(ctx), Screen(ctx)
    try:
        for end in ("C-c", "TERM", "HUP"):
            s.start("-p", str(p.pid))
            s.wait(r"Worker#heavy")
            if end == "C-c":
                s.keys(end)
            else:
                subprocess.run(["kill", "-" + end, str(s.pid())], check=True)
            s.check_clean()
        s.start("-p", "4194303")
        s.check_clean(str(harness.NO_PROCESS))
        s.keys("stty -g >%s; %s top -p %d" % (ctx.path("before"), harness.EXTPROF, p.pid), "Enter")
        s.wait(r"Worker#heavy")
        s.keys("C-z")
        s.wait(r"Stopped")
        s.keys("clear; stty -g | cmp - %s && echo same; fg >/dev/null; stty -g >%s" % (ctx.path("before"), ctx.path("after")), "Enter")
        s.wait(r"Worker#heavy")
        s.keys("q")
        s.wait(r"^same$")
        s.start("-p", str(p.pid), "-i", "200ms")
        s.wait(r"Worker#heavy")
        p.kill()
        s.wait(r"the process ended - ")
        s.keys("q")
        s.check_clean("0")
        # The output of a command would spoil the screen.
        s.start("--", harness.RUBY, "-e", "'loop { puts :spoiled; sleep 0.01 }'")
        text = s.wait(r"Kernel#sleep|Kernel#loop")
        check("spoiled" not in re.sub(r".*-e.*", "", text), "%s", text)
        s.keys("q")
        s.check_clean("0")
    finally:
        s.close()
    return "Ctrl-C, TERM, HUP, an error, Ctrl-Z, the end of the program, a command"
