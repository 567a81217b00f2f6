"""Mode heap in several files: each has what lives at its end, and as one they are what lives at the end of the last."""
import json
import math
import os
import re
import signal
import time

import case_daemon
import case_rotate
import harness
import pprof
from case_rotate import begin, end, files_of, number, span_of, sql, until_files, verify
from harness import case, check

INTERVAL = 1 << 10
SIGMAS = 5
# Strings of 600 bytes have slots of 640.
SLOT = 640
# Bytes of what lives at a time by the program's own count: a line that leaks, one that keeps the last 2,000 of what it makes, and
# one that made 4,000 at the begin.  Each line of its log is a time and how many were made by then.
LEAKS = """
STDOUT.sync = true
$kept, $last, $at = [], Array.new(2000), 0
def leak = $kept << "x" * 600
def cache = $last[($at += 1) % 2000] = "y" * 600
def base = "b" * 600
def garbage = 10.times { "g" * 600 }
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def work(until_time = nil)
  made = 0
  log, ends = [], false
  Thread.new { $stdin.gets; ends = true } unless until_time
  until ends || (until_time && now > until_time)
    10.times { leak; cache; garbage }
    made += 10
    log << [now, made]
    GC.start if made % 100 == 0
    sleep 0.01
  end
  log
end
def make_base
  # The first sample is of the interval that the VM had before.
  200.times { garbage }
  $base = Array.new(4000) { |i| sleep 0.005 if i % 100 == 99; base }
end
if $0 == __FILE__
  puts "ready"
  $stdin.gets
  make_base
  puts work.map { _1.join(" ") }, "over"
  sleep
end
"""


def log_of(ruby):
    ruby.tell("end")
    log = []
    while (line := ruby.line(60)) != "over":
        log.append(tuple(map(int, line.split())))
    return log


def made(log, at):
    """How many were made by then."""
    before = [n for t, n in log if t <= at]
    return before[-1] if before else 0


def seen(log, spans):
    """How many were made while it was recorded."""
    return sum(made(log, b) - made(log, a) for a, b in spans)


def near(what, got, objects, more=0.0):
    """Bytes, within the error of sampling.  `more`: objects that are not decided, as they were made when a file began or ended."""
    p = 1 - math.exp(-SLOT / INTERVAL)
    deviation = SLOT * math.sqrt((1 - p) / p * max(objects, 1))
    off = abs(got - objects * SLOT)
    check(off <= SIGMAS * deviation + more * SLOT, "%s: %d bytes, not %d: %.1f standard deviations", what, got, objects * SLOT, off / deviation)
    return off / deviation


def of_methods(run):
    check(run.status == 0, "status %d: %s", run.status, run.err)
    amounts = {"leak": 0, "cache": 0, "base": 0, "garbage": 0}
    for line in run.out.splitlines():
        stack, _, count = line.rpartition(" ")
        for method in amounts:
            amounts[method] += int(count) if "Object#%s;" % method in stack and not ";[VM" in stack else 0
    return amounts


def folded(ctx, *args):
    return of_methods(ctx.extprof("report", *args, "-m", "heap", "-f", "folded"))


def by_sql(ctx, path, method):
    return number(ctx, path, "SELECT coalesce(sum(value), 0) FROM samples WHERE mode='heap' AND stack_text(stack) LIKE '%%Object#%s;%%' "
                  "AND below NOT LIKE '%%VM%%'" % method)


@case(timeout=150, waits=True)
def state_of_each(ctx):
    """A line that leaks, a cache and what was made at the begin: each file has what lived at its end, all as one what lived at the
    last end, and the comparison of two what was leaked between."""
    ruby = ctx.ruby(ctx.write("leaks.rb", LEAKS))
    ruby.expect("ready")
    reader = begin(ctx, ruby.pid, "-m", "heap", "--alloc-interval", "1k", "--rotate", "2s")
    ruby.tell("go")
    until_files(ctx, 7)
    said = end(reader)
    log, paths = log_of(ruby), files_of(ctx)
    check(len(paths) >= 6, "%s", paths)
    verify(ctx, paths)
    spans = [span_of(ctx, p) for p in paths]
    worst, single = 0, []
    for i, path in enumerate(paths):
        got = folded(ctx, path)
        single.append(got)
        objects = seen(log, spans[:i + 1])
        worst = max(worst, near("leak in " + path, got["leak"], objects, 40))
        # With those that have died since the collector came.
        near("cache in " + path, got["cache"], min(objects, 2000) + 50, 100)
        near("base in " + path, got["base"], 4000, 20)
        # The collector comes each time that 1,000 of them were made.
        check(got["garbage"] < 1500 * SLOT, "garbage in %s: %d", path, got["garbage"])
        for method in ("leak", "cache"):
            check(by_sql(ctx, path, method) == got[method], "%s of %s by SQL", method, path)
    check(folded(ctx, *paths) == single[-1], "all as one: %s, not %s", folded(ctx, *paths), single[-1])
    check(folded(ctx, *reversed(paths)) == single[-1], "in another order")
    # What lived at the end of the third.
    border = (spans[2][1] + spans[3][0]) / 2 - spans[0][0]
    check(folded(ctx, *paths, "--until", "%.6f" % (border / 1e9)) == single[2], "until the end of the third")
    # What was made since then and lives at the end.
    since = folded(ctx, *paths, "--since", "%.6f" % (border / 1e9))
    check(since["base"] == 0, "%s", since)
    near("leak since then", since["leak"], seen(log, spans[3:]), 40)
    check(since["leak"] == single[-1]["leak"] - number(ctx, paths[-1], "SELECT sum(value) FROM samples WHERE time_ns<%d AND stack_text(stack) LIKE "
          "'%%Object#leak;%%'" % (border + spans[0][0])), "leak since then: %s", since)
    growth = json.loads(ctx.extprof("diff", paths[0], paths[-1], "-m", "heap", "-f", "json", "--rows", "1000").ok().out)
    rows = {r["method"]: r["total"] for r in growth["methods"]}
    for method in ("leak", "cache", "base"):
        row = rows["Object#" + method]
        check((row["before"]["amount"], row["after"]["amount"]) == (single[0][method], single[-1][method]), "%s: %s", method, row)
    check(rows["Object#leak"]["decided"], "%s", rows["Object#leak"])
    check(rows["Object#base"]["noise"] == 0 and not rows["Object#base"]["decided"], "what is the same: %s", rows["Object#base"])
    leaked = rows["Object#leak"]["after"]["amount"] - rows["Object#leak"]["before"]["amount"]
    near("leaked between", leaked, seen(log, spans[1:]), 60)
    trend = json.loads(ctx.extprof("report", *paths, "--trend", "Object#leak", "-m", "heap", "-f", "json").ok().out)["recordings"]
    whole = [number(ctx, p, "SELECT sum(value) FROM samples WHERE mode='heap' AND stack_text(stack) LIKE '%Object#leak;%'") for p in paths]
    check([r["of_it"] for r in trend] == whole, "trend: %s, not %s", trend, whole)
    check(all(r["decided"] for r in trend[1:-1]), "the leak of each file is beyond the noise: %s", trend)
    # Other formats of all as one.
    out = ctx.path("all.pb.gz")
    ctx.extprof("report", *paths, "-m", "heap", "-o", out).ok()
    with open(out, "rb") as f:
        stacks, about = pprof.content(f.read())
    units = [unit for _, unit in about[0]]
    of_pprof = sum(v[units.index("bytes")] for (stack, _), v in stacks.items() if any(line[0] == "Object#leak" for at in stack for line in at[2])
                   and not str(stack[0]).count("[VM"))
    check(of_pprof == single[-1]["leak"], "pprof: %d of %s, not %d", of_pprof, about[0], single[-1]["leak"])
    ctx.extprof("report", *paths, "-m", "heap", "-o", ctx.path("all.svg")).ok()
    summary = ctx.extprof("report", *paths).ok().out
    check("sampled objects" in summary, "%s", summary)
    return "%d files, leak %s MB, as one %.2f MB; at most %.1f standard deviations off; %s" % (
        len(paths), ["%.2f" % (s["leak"] / 1e6) for s in single], folded(ctx, *paths)["leak"] / 1e6, worst,
        [line.split("no sample was taken for ")[1] for line in said.splitlines() if "no sample was taken for" in line][:2])


def events_of(ctx, path, kind):
    return sql(ctx, path, "SELECT e.time_ns, coalesce(t.text, '') FROM events e JOIN strings k ON k.id=e.kind LEFT JOIN strings t ON t.id=e.text "
               "WHERE k.text='%s'" % kind)


@case(timeout=150, waits=True)
def around_a_trigger(ctx):
    """By the memory of the process, and by hand: the files that stay have what lived at their ends, also of what was made in files
    that are gone. What nobody asked for leaves nothing."""
    ruby = ctx.ruby(ctx.write("leaks.rb", LEAKS))
    ruby.expect("ready")
    reader = begin(ctx, ruby.pid, "-m", "heap", "--alloc-interval", "1k", "--trigger", "rss>100GB", "--around", "1s")
    none = begin(ctx, ruby.pid, "-m", "heap", "--alloc-interval", "1k", "--trigger", "rss>100GB", "--around", "1s", "-d", "8", name="none")
    ruby.tell("go")
    time.sleep(6)
    reader.signal(signal.SIGUSR1)
    fired = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    time.sleep(3)
    end(reader)
    log, paths = log_of(ruby), files_of(ctx)
    none.communicate()
    check(none.p.returncode == 1 and not files_of(ctx, "none"), "status %d, %s", none.p.returncode, files_of(ctx, "none"))
    verify(ctx, paths)
    spans = [span_of(ctx, p) for p in paths]
    check(2 <= len(paths) <= 5 and spans[0][0] > log[0][0] + 2e9 and spans[0][0] < fired - 0.9e9 and spans[-1][1] > fired + 0.9e9,
          "%d files, from %.1f to %.1f s after the trigger", len(paths), (spans[0][0] - fired) / 1e9, (spans[-1][1] - fired) / 1e9)
    told = [e for p in paths for e in events_of(ctx, p, "trigger")]
    check(len(told) == 1 and abs(int(told[0][0]) - fired) < 5e8 and told[0][1] == "SIGUSR1", "%s", told)
    worst = 0
    for path, (_, until) in zip(paths, spans):
        got = folded(ctx, path)
        # Between two files nothing is sampled, and of ten files some are gone.
        worst = max(worst, near("leak in " + path, got["leak"], made(log, until), 400))
        near("base in " + path, got["base"], 4000, 20)
    grown = ctx.ruby("-e", "puts :ready; $stdout.flush; gets; $a = Array.new(400_000) { 'x' * 600 }; puts :made; $stdout.flush; sleep")
    grown.expect("ready")
    reader = begin(ctx, grown.pid, "-m", "heap", "--alloc-interval", "64k", "--trigger", "rss>200MB", "--around", "1s", name="grown")
    time.sleep(1.5)
    grown.tell("go")
    grown.expect("made")
    time.sleep(3)
    end(reader)
    last = files_of(ctx, "grown")[-1]
    told = [e for p in files_of(ctx, "grown") for e in events_of(ctx, p, "trigger")]
    check(len(told) == 1 and "MiB of memory (rss>200MB)" in told[0][1], "%s", told)
    bytes_of = number(ctx, last, "SELECT sum(value) FROM samples WHERE mode='heap' AND ruby_method='block in <main>'")
    check(abs(bytes_of - 400_000 * SLOT) < 0.1 * 400_000 * SLOT, "%d bytes of %d", bytes_of, 400_000 * SLOT)
    return "%d files, at most %.1f standard deviations off; %.0f of %.0f MB" % (len(paths), worst, bytes_of / 1e6, 400_000 * SLOT / 1e6)


# One child leaks for five seconds and ends, another one is made after eight seconds and has what its parent had then.
FAMILY = """
require_relative "leaks"
puts "ready"
$stdin.gets
make_base
GC.start
from = now
first = fork { File.write(ARGV[0], work(from + 5_000_000_000).map { _1.join(" ") }.join("\n")); exit!(0) }
Thread.new { Process.wait(first) }
puts "first #{first}"
log = work(from + 8_000_000_000)
forked = now
second = fork { GC.start; puts "second #{$$}"; sleep }
log += work.map { |t, n| [t, n + log[-1][1]] }
puts "forked #{forked}", log.map { _1.join(" ") }, "over"
sleep
"""


def of_processes(run):
    """{pid: {method: bytes}}"""
    check(run.status == 0, "status %d: %s", run.status, run.err)
    amounts = {}
    for line in run.out.splitlines():
        m = re.match(r"\[process (\d+) .*Object#(leak|cache|base);(.*) (\d+)$", line)
        if m and ";[VM" not in ";" + m.group(3):
            of = amounts.setdefault(int(m.group(1)), {"leak": 0, "cache": 0, "base": 0})
            of[m.group(2)] += int(m.group(4))
    return amounts


def lines_of(text):
    return [tuple(map(int, line.split())) for line in text.splitlines()]


@case(timeout=150, waits=True)
def processes_that_begin_and_end(ctx):
    """A child that ends in the middle is in the files before; one that is forked in the middle has what its parent had then.  All
    files as one have what lived in those that are left."""
    ctx.write("leaks.rb", LEAKS)
    ruby = ctx.ruby(ctx.write("family.rb", FAMILY), ctx.path("first.log"))
    ruby.expect("ready")
    reader = begin(ctx, ruby.pid, "-s", "-m", "heap,cpu", "--alloc-interval", "1k", "--rotate", "2s", "--group-by", "process")
    ruby.tell("go")
    first = int(ruby.line(60).split()[1])
    second = int(ruby.line(60).split()[1])
    until_files(ctx, 7)
    end(reader)
    ruby.tell("end")
    forked = int(ruby.line(60).split()[1])
    log = []
    while (line := ruby.line(60)) != "over":
        log.append(tuple(map(int, line.split())))
    with open(ctx.path("first.log")) as f:
        child = lines_of(f.read())
    paths = files_of(ctx)
    spans = [span_of(ctx, p) for p in paths]
    worst = 0
    report = lambda *args: of_processes(ctx.extprof("report", *args, "-m", "heap", "-f", "folded"))
    for i, path in enumerate(paths):
        got, until = report(path), spans[i][1]
        parts = [(ruby.pid, log, until)]
        if child[0][0] < until < child[-1][0]:
            parts.append((first, child, until))
        elif until > child[-1][0] + 2e8:
            check(first not in got, "a process that has ended is in %s: %s", path, got)
        if until > forked + 2e9:
            parts.append((second, log, forked))
        for pid, of, at in parts:
            objects = seen(of, [(a, min(b, at)) for a, b in spans[:i + 1] if a < at])
            worst = max(worst, near("%d leaks in %s" % (pid, path), got[pid]["leak"], objects, 60))
            near("base of %d in %s" % (pid, path), got[pid]["base"], 4000, 40)
    as_one, last = report(*paths), report(paths[-1])
    check(as_one == last and set(as_one) == {ruby.pid, second}, "all as one: %s, not %s", as_one, last)
    # Without the last files of the child, its end is not known.
    before = [p for p, (_, until) in zip(paths, spans) if until < child[-1][0]]
    check(first in report(*before) and report(*before) == report(before[-1]), "before the end: %s", report(*before))
    rows = sql(ctx, paths[-1], "SELECT p.pid, number FROM events e JOIN processes p ON p.id=e.process JOIN strings k ON k.id=e.kind "
               "WHERE k.text='heap' ORDER BY 1")
    counts = sql(ctx, paths[-1], "SELECT pid, count(*) FROM samples WHERE mode='heap' GROUP BY 1 ORDER BY 1")
    check(rows == counts and [int(r[0]) for r in rows] == sorted({ruby.pid, second}), "%s, not %s", rows, counts)
    # Times of another mode are sums as ever.
    cpu = case_rotate.samples_of(ctx, *paths)
    check(cpu == sum(case_rotate.samples_of(ctx, p) for p in paths) > 0, "mode cpu of all: %d samples", cpu)
    return "%d files; %s; at most %.1f standard deviations off" % (len(paths), as_one, worst)


@case(timeout=150, waits=True)
def killed_and_kept(ctx):
    """--keep leaves the newest; after kill -9 the file that was written has no state, and the one before it tells; a second run
    tells of what it has seen."""
    ruby = ctx.ruby(ctx.write("leaks.rb", LEAKS))
    ruby.expect("ready")
    os.mkdir(ctx.path("run"))
    reader = begin(ctx, ruby.pid, "-m", "heap", "--alloc-interval", "1k", "--rotate", "1500ms", "--keep", "3", name="run/app")
    ruby.tell("go")
    until_files(ctx, 3, "run/app")
    first = files_of(ctx, "run/app")[0]
    harness.until(lambda: first not in files_of(ctx, "run/app"), "the oldest file stays", timeout=60)
    before = files_of(ctx, "run/app")
    check(len(before) in (2, 3), "%s", before)
    time.sleep(0.7)
    reader.signal(signal.SIGKILL)
    reader.wait()
    paths = files_of(ctx, "run/app")
    whole = [p for p in paths if number(ctx, p, "SELECT coalesce(max(value), 0) FROM meta WHERE key='ended'")]
    check(len(whole) in (len(paths) - 1, len(paths)), "%s of %s", whole, paths)
    got = folded(ctx, ctx.path("run"))
    check(got == folded(ctx, whole[-1]) and got["leak"] > 0, "all as one: %s", got)
    again = begin(ctx, ruby.pid, "-m", "heap", "--alloc-interval", "1k", "--rotate", "1s", name="run/zz")
    until_files(ctx, 3, "run/zz")
    end(again)
    more = files_of(ctx, "run/zz")
    both = folded(ctx, ctx.path("run"))
    check(both == folded(ctx, more[-1]), "both runs: %s", both)
    log = log_of(ruby)
    near("leak of the second run", folded(ctx, more[-1])["leak"], seen(log, [span_of(ctx, p) for p in more]), 60)
    return "%d and %d files; leak %.2f and %.2f MB" % (len(paths), len(more), got["leak"] / 1e6, folded(ctx, more[-1])["leak"] / 1e6)


@case(timeout=90)
def ends_with_the_program(ctx):
    """The program ends: nothing lives, and that is said; what lived before its last file is there."""
    path = ctx.write("leaks.rb", LEAKS)
    program = ctx.write("ends.rb", "require %r\nmake_base\nwork(now + 4_500_000_000)\n" % path)
    run = ctx.extprof("record", "-m", "heap", "--alloc-interval", "1k", "--rotate", "1s", "-o", ctx.path("app.extprof"), "--",
                      harness.RUBY, "--disable=gems", program)
    check(run.status == 0, "status %d: %s", run.status, run.err)
    paths = files_of(ctx)
    check(len(paths) >= 4, "%s", paths)
    nothing = ctx.extprof("report", *paths, "-f", "folded")
    check(nothing.status == 74 and "nothing lives" in nothing.err, "%d: %s", nothing.status, nothing.err)
    before = folded(ctx, *paths[:-1])
    check(before["leak"] > 100_000 and before == folded(ctx, paths[-2]), "%s", before)
    return "%d files, %.2f MB before the end" % (len(paths), before["leak"] / 1e6)


CHURNS = """
require_relative "leaks"
puts "ready"
$stdin.gets
make_base
# Each object has a stack of its own, and dies after a while.
def deep(n, bits) = n == 0 ? cache : bits[n] == 1 ? odd(n - 1, bits) : deep(n - 1, bits)
def odd(n, bits) = n == 0 ? cache : bits[n] == 1 ? odd(n - 1, bits) : deep(n - 1, bits)
i = 0
loop { 20.times { deep(16, rand(1 << 17)) }; sleep 0.005; GC.start if (i += 1) % 50 == 0 }
"""


@case(timeout=300, patient=True)
def memory_is_that_of_what_lives(ctx):
    """Some hundred files of objects that live for a second, each with a stack of its own: neither extprof nor a file grows."""
    ctx.write("leaks.rb", LEAKS)
    ruby = ctx.ruby(ctx.write("churns.rb", CHURNS))
    ruby.expect("ready")
    reader = begin(ctx, ruby.pid, "-q", "-m", "heap", "--alloc-interval", "1k", "--rotate", "100ms")
    ruby.tell("go")
    until_files(ctx, 60)
    before = case_rotate.resident(reader.pid)
    harness.until(lambda: len(files_of(ctx)) >= 300, "there are not 300 files", timeout=200)
    after = case_rotate.resident(reader.pid)
    end(reader)
    paths = files_of(ctx)
    sizes = [os.path.getsize(p) for p in paths]
    verify(ctx, paths[::60])
    check(after < before + 8192, "RSS %d KiB after 60 files, %d KiB after %d", before, after, len(paths))
    check(max(sizes[-50:]) < 1.5 * max(sizes[10:60]), "sizes %s, then %s", sizes[10:60], sizes[-50:])
    check(folded(ctx, *paths)["base"] == folded(ctx, paths[-1])["base"], "base")
    return "RSS %.1f MB after 60 files, %.1f MB after %d; %.0f KB a file" % (before / 1024, after / 1024, len(paths), sizes[-2] / 1e3)


# It uses the CPU until it is told to go on.
WORKS_FIRST = """
require_relative "leaks"
works = Thread.new { loop { t = now + 5_000_000; nil while now < t; sleep 0.02 } }
puts "ready"
$stdin.gets
works.kill
make_base
puts work.map { _1.join(" ") }, "over"
sleep
"""


@case(timeout=150)
def of_the_daemon(ctx):
    """A daemon whose configuration names the mode: its folder as one, until a time of the clock, and two times of it compared."""
    config = ctx.write("heap.conf", "mode = cpu,heap\nalloc-interval = 1k\nrotate = 2s\nname = heap_of_the_daemon.rb\n")
    daemon = case_daemon.start(ctx, "--config", config)
    ctx.write("leaks.rb", LEAKS)
    ruby = ctx.ruby(ctx.write("heap_of_the_daemon.rb", WORKS_FIRST))
    ruby.expect("ready")
    # A file that has ended has samples: it has found the program.
    until_files(ctx, 2, "history/extprof")
    ruby.tell("go")
    until_files(ctx, len(case_daemon.files(ctx)) + 6, "history/extprof")
    case_daemon.end(daemon)
    log, paths, folder = log_of(ruby), case_daemon.files(ctx), ctx.path("history")
    verify(ctx, paths)
    spans = [span_of(ctx, p) for p in paths]
    wall = number(ctx, paths[0], "SELECT value FROM meta WHERE key='started_unix_ns'") - spans[0][0]
    as_one = folded(ctx, folder)
    check(as_one == folded(ctx, paths[-1]), "all as one: %s", as_one)
    worst = near("leak of all", as_one["leak"], seen(log, spans), 60)
    near("base of all", as_one["base"], 4000, 40)
    times = [int((log[0][0] + wall) / 1e9) + 3, int((log[-1][0] + wall) / 1e9) - 3]
    truths = []
    for at in times:
        until = at * 1e9 - wall
        truths.append(seen(log, [(a, min(b, until)) for a, b in spans if a < until]))
        got = folded(ctx, folder, "--until", case_daemon.at(at))
        worst = max(worst, near("leak until %d" % at, got["leak"], truths[-1], 60))
    check(times[0] + 2 < times[1] and truths[0] > 0, "%s", times)
    run = ctx.extprof("diff", folder, "-m", "heap", "--since", case_daemon.at(times[1] - 1), "--until", case_daemon.at(times[1]), "--with",
                      case_daemon.at(times[0] - 1), "-f", "json", "--rows", "1000").ok()
    row = {r["method"]: r["total"] for r in json.loads(run.out)["methods"]}["Object#leak"]
    for side, truth in zip(("before", "after"), truths):
        near("leak " + side, row[side]["amount"], truth, 60)
    check(row["decided"], "%s", row)
    near("leaked between", row["after"]["amount"] - row["before"]["amount"], truths[1] - truths[0], 80)
    return "%d files, as one %.2f MB, between two times %.2f MB; at most %.1f standard deviations off" % (
        len(paths), as_one["leak"] / 1e6, (row["after"]["amount"] - row["before"]["amount"]) / 1e6, worst)
