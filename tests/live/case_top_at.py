"""extprof top --at: the screen of a moment that is over, by what programs know of it, and by the live one of that time."""
import contextlib
import datetime
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time

import case_daemon
import case_rotate
import case_top
import harness
from case_rotate import number, sql
from harness import case, check

# One thread computes and sleeps in turn, one sleeps once for long, one waits for ever.  What they did is known in ns since 1970.
PHASES = """
STDOUT.sync = true
def now = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
def alpha(s) = (t = now + s * 1e9; 1 while now < t)
def beta(s) = sleep(s)
def long(s) = sleep(s)
def hang = Queue.new.pop
log = []
def span(log, name, s) = (from = now; send(name, s); log << [name, from, now].join(" "))
Thread.new { loop { span(log, :alpha, 0.7); span(log, :beta, 1.1) } }.name = "phases"
Thread.new { long(60) }.name = "long"
Thread.new { hang }.name = "hang"
puts "ready"
gets
puts log, "over"
sleep
"""


def clock(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def at(ctx, second, *options, folder="history"):
    return ctx.extprof("top", "--at", second if isinstance(second, str) else clock(second), *options, ctx.path(folder))


def end_shown(text):
    """Of the window, s since 1970; the date is that of its begin."""
    day, time_of_day = re.search(r"(\d{4}-\d\d-\d\d) \S+ to (?:\d{4}\S+ )?(\d\d:\d\d:\d\d(?:\.\d+)?)  ", text).groups()
    return datetime.datetime.fromisoformat("%s %s" % (day, time_of_day if "." in time_of_day else time_of_day + ".000")).timestamp()


def end_of(ctx, path):
    return begin_of(ctx, path) + float(sql(ctx, path, "SELECT value FROM meta WHERE key='mode.1.duration'")[0][0])


def begin_of(ctx, path):
    return number(ctx, path, "SELECT value FROM meta WHERE key='started_unix_ns'") / 1e9


def parts(out):
    return out.strip("\n").split("\n\n")


def amounts(part):
    """Method -> seconds of self and total."""
    found = {}
    for row in part.split("\n")[4:]:
        m = re.match(r" *[\d.]+ % +(\S+(?: \w+)?) +[\d.]+ % +(\S+(?: \w+)?)  (.*?)(?:  +(\S+))? *$", row)
        check(m, "no row: %r", row)
        found[m.group(3).strip().split("  ")[0]] = (case_top.amount(m.group(1)), case_top.amount(m.group(2)))
    return found


def overlap(spans, name, since, until):
    return sum(max(0, min(b / 1e9, until) - max(a / 1e9, since)) for n, a, b in spans if n == name)


@case(timeout=180, waits=True)
def what_it_did_then(ctx):
    """Each of ten seconds: how long two methods lasted by the program's clock, and waits that began before and ended later."""
    daemon = case_daemon.start(ctx, "--rotate", "5s", "--name", "at_what_it_did_then.rb", "-F", "199", "-m", "cpu,wall")
    ruby = ctx.ruby(ctx.write("at_what_it_did_then.rb", PHASES))
    ruby.expect("ready")
    harness.until(lambda: len(case_daemon.files(ctx)) >= 4, "there are not 4 files", timeout=60)
    case_daemon.end(daemon)
    ruby.tell("end")
    spans = []
    while (line := ruby.line()) != "over":
        name, *times = line.split()
        spans.append((name, *map(int, times)))
    begin = int(begin_of(ctx, case_daemon.files(ctx)[0])) + 2
    run = at(ctx, begin + 1, "-i", "1", "--count", "10", "-m", "wall", "--idle", "--rows", "100").ok()
    threads = at(ctx, begin + 1, "-i", "1", "--count", "10", "-m", "wall", "--idle", "--view", "thread").ok()
    got, rows = parts(run.out), parts(threads.out)
    check(len(got) == len(rows) == 10, "%d and %d windows: %s", len(got), len(rows), run.err)
    worst = 0
    for i, part in enumerate(got):
        since, until = begin + i, begin + i + 1
        head = part.split("\n")[0]
        shown = datetime.datetime.fromtimestamp(until).strftime("%H:%M:%S")
        check("top - wall  1 process  " in head and " to %s  " % shown in head and "at 199 Hz" in head, "head: %s, not %s", head, shown)
        recorded = float(re.search(r"  ([\d.]+) of 1 s recorded", head).group(1))
        check(recorded > 0.9, "%s", head)
        of = amounts(part)
        for name, more in (("alpha", 0.06), ("beta", 0.03), ("long", 0.02)):
            known = overlap(spans, name, since, until) if name != "long" else 1
            seen = of.get("Object#" + name, (0, 0))[1]
            # Between two files nothing is recorded, and for up to 0.28 s nothing was read (docs/recording.md): a wait lacks some of it.
            missing = 0.3 if recorded < 0.995 else 0
            check(known - missing - more <= seen <= known + more, "%s in second %d: %.3f s, its clock says %.3f s, %.2f s recorded",
                  name, i, seen, known, recorded)
            worst = max(worst, abs(seen - known) if recorded > 0.99 else 0)
        cells = {re.sub(r" \(\d+\)$", "", name): cell for name, cell in case_top.cells(rows[i]).items()}
        missing = 0.3 if recorded < 0.995 else 0
        for name, state in (("hang", "QUEUE"), ("long", "SLEEP")):
            check(1 - missing - 0.02 < case_top.amount(cells[name][state]) < 1.02, "%s: %s of %.2f s", name, cells[name], recorded)
    # A window over two files has the sum, and one process.
    whole = parts(at(ctx, begin + 10, "-i", "10", "-m", "wall", "--idle", "--rows", "100").ok().out)[0]
    check("top - wall  1 process  " in whole, "%s", whole.split("\n")[0])
    for name in ("alpha", "beta"):
        known, seen = overlap(spans, name, begin, begin + 10), amounts(whole)["Object#" + name][1]
        check(abs(seen - known) < 0.05 * known + 0.2, "%s: %.3f s of %.3f s", name, seen, known)
    return "ten seconds, at most %.0f ms off; ten as one" % (1e3 * worst)


@case(timeout=120)
def as_the_live_one(ctx):
    """Live top and the history of the same times: the same shares, states of threads, CPU time and GVL."""
    p = ctx.ruby(ctx.write("at_doing.rb", case_top.DOING))
    p.line(60)
    daemon = case_daemon.start(ctx, "--name", "at_doing.rb", "-F", "499", "-m", "cpu,wall", "--waits", "each")
    top = ctx.extprof_start("top", "-p", str(p.pid), "-m", "cpu,wall", "--idle", "-r", "499", "-b", "--count", "3", "-i", "3", "--view=thread")
    lines, ends = [], []
    while len(ends) < 3:
        lines.append(top.line())
        if lines[-1].startswith("extprof top - wall"):
            ends.append(time.time())
    out, err = top.communicate()
    live = [w for w in parts("\n".join(lines) + "\n" + out) if w.startswith("extprof top - wall")]
    time.sleep(1)
    case_daemon.end(daemon)
    begin = begin_of(ctx, case_daemon.files(ctx)[0])
    for i, (window, end) in enumerate(zip(live, ends)):
        got = parts(at(ctx, "%.3f" % (end - begin), "-i", "3", "-m", "wall", "--idle", "--view", "thread").ok().out)[0]
        a, b = ({re.sub(r" \(\d+\)$", "", n): c for n, c in case_top.cells(w).items()} for w in (window, got))
        check(set(a) == set(b), "threads: %s and %s", sorted(a), sorted(b))
        for name in ("main", "worker", "napper", "waits"):
            for state in ("RUNNING", "GVL", "SLEEP", "QUEUE", "JOIN"):
                x, y = (case_top.amount(c[name].get(state, "-")) for c in (a, b))
                check(abs(x - y) < 0.2, "window %d: %s was %s for %.3f s live, %.3f s in the history\n%s\n%s", i, name, state, x, y, window, got)
        seen = [[float(re.search(r"%s ([\d.]+) %%" % what, w).group(1)) for what in ("on-CPU", "GVL")] for w in (window, got)]
        check(abs(seen[0][0] - seen[1][0]) < 6 and abs(seen[0][1] - seen[1][1]) < 6, "on-CPU and GVL: %s live, %s", *seen)
    return "on-CPU and GVL %s live, %s in the history" % tuple(seen)


GROWS = """
STDOUT.sync = true
def now = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
def rss = File.read("/proc/self/statm").split[1].to_i * 4096
def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
def burn(s) = (t = cpu + s; 1 while cpu < t)
GC.disable
kept, log = [], []
child = fork { burn(60) }
Thread.new { gets; Process.kill(:KILL, child); Process.wait(child); log << ["over", now]; gets; puts log.map { |l| l.join(" ") }, "end"; exit! }
puts "ready"
loop do
  from, used = now, Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  kept << "x" * 30_000_000
  kept << Array.new(40_000) { Object.new }
  GC.stat(:heap_live_slots).then { |slots| log << ["at", now, rss, slots] }
  burn(0.4)
  sleep 1.6
  log << ["used", from, now, Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - used]
end
"""


@case(timeout=120)
def processes(ctx):
    """CPU time, memory and slots of a process that grows, as it says them itself; and one that ended in between."""
    daemon = case_daemon.start(ctx, "--name", "at_grows.rb", "-F", "997", "-m", "cpu,wall")
    ruby = ctx.ruby(ctx.write("at_grows.rb", GROWS))
    ruby.expect("ready")
    time.sleep(8)
    ruby.tell("kill")
    time.sleep(6)
    case_daemon.end(daemon)
    ruby.tell("end")
    log = []
    while (line := ruby.line()) != "end":
        log.append(line.split())
    over = next(int(line[1]) / 1e9 for line in log if line[0] == "over")
    begin, told = begin_of(ctx, case_daemon.files(ctx)[0]), []
    # Each holds for two seconds: one is looked at in its middle.
    known = [(int(x[1]) / 1e9, int(x[2]), int(x[3])) for x in log if x[0] == "at"]
    seen = {}
    for moment, resident, slots in known[2:6]:
        rows = case_top.cells(parts(at(ctx, "%.3f" % (moment + 1.5 - begin), "-m", "cpu", "-i", "2", "--view", "process").ok().out)[0])
        of = next(cell for name, cell in rows.items() if name.startswith(str(ruby.pid)))
        check(abs(case_top.amount(of["RSS"]) - resident) < 0.05 * resident, "RSS %s, it had %d", of["RSS"], resident)
        check(abs(int(of["SLOTS"]) - slots) < 0.02 * slots + 1000, "SLOTS %s, it had %d", of["SLOTS"], slots)
        told.append(of["RSS"])
    for line in (x for x in log if x[0] == "used"):
        since, until, cpu = int(line[1]) / 1e9, int(line[2]) / 1e9, float(line[3])
        if since < begin + 1 or until > over + 4:
            continue
        rows = case_top.cells(parts(at(ctx, "%.3f" % (until - begin), "-m", "cpu", "-i", "%.3f" % (until - since), "--view", "process").ok().out)[0])
        of = next(cell for name, cell in rows.items() if name.startswith(str(ruby.pid)))
        got = case_top.amount(of["CPU"]) * (until - since)
        # The error of its samples.
        check(abs(got - cpu) < 5 * (cpu / 997) ** 0.5 + 0.01, "CPU %.3f s, its clock says %.3f s", got, cpu)
        seen[round(until - begin)] = "%.2f of %.2f s" % (got, cpu)
    check(seen, "no span is in the history: %s", log)
    before, after = (parts(at(ctx, "%.3f" % (over + d - begin), "-m", "cpu", "-i", "1", "--view", "process").ok().out)[0] for d in (-0.5, 2.5))
    # The parent waits for the child, and has a row if it was sampled in that second.
    ended = [name for name in case_top.cells(before) if not name.startswith(str(ruby.pid))]
    check("cpu  2 processes" in before and len(ended) == 1, "before: %s", before)
    check("cpu  1 process " in after and len(case_top.cells(after)) <= 1 and ended[0] not in case_top.cells(after), "after: %s", after)
    # Of the time in which it ended, no memory is known of it.
    ending = case_top.cells(parts(at(ctx, "%.3f" % (over + 0.3 - begin), "-m", "cpu", "-i", "1", "--view", "process").ok().out)[0])
    child = [c for name, c in ending.items() if not name.startswith(str(ruby.pid))]
    check(len(child) == 1 and child[0]["RSS"] == child[0]["SLOTS"] == "-", "it has ended: %s", ending)
    one = at(ctx, "%.3f" % (over - 0.5 - begin), "-m", "cpu", "-p", str(ruby.pid), "--view", "process").ok()
    check(len(case_top.cells(parts(one.out)[0])) <= 1, "of one: %s", one.out)
    return "RSS %s; CPU %s" % (" ".join(told), ", ".join(seen.values()))


@case(timeout=120, waits=True)
def what_there_is(ctx):
    """A time at which nothing was recorded: it says what there is.  Times are said in several ways, of a folder and of a file."""
    # It computes in each second: a sleep is shorter than the windows.
    ruby = ctx.ruby(ctx.write("at_what_there_is.rb", PHASES.replace("0.7", "0.3").replace("1.1", "0.4")))
    ruby.expect("ready")
    ends = []
    for i in range(2):
        daemon = case_daemon.start(ctx, "--name", "at_what_there_is.rb", "-F", "99")
        time.sleep(6)
        case_daemon.end(daemon)
        ends.append(time.time())
        if not i:
            time.sleep(9)
    first, second = case_daemon.files(ctx)
    begins = [begin_of(ctx, p) for p in (first, second)]
    gap = int((ends[0] + begins[1]) / 2)
    none = at(ctx, gap)
    check(none.status == 74 and not none.out, "status %d: %s", none.status, none.out)
    local = [datetime.datetime.fromtimestamp(t).strftime("%Y-%m-%d %H:%M:%S") for t in begins]
    check("nothing was recorded from " in none.err and all("%s to " % t in none.err for t in local), "it says %s, and not %s", none.err, local)
    for moment, what in ((clock(begins[0] - 3600), "an hour before"), ("2001-01-01", "long ago"), (clock(time.time() + 3600), "to come")):
        run = at(ctx, moment)
        check(run.status == 74 and "nothing was recorded" in run.err, "%s: %d %s", what, run.status, run.err)
    moment = int(begins[0]) + 4
    same = [at(ctx, m).ok().out for m in (clock(moment), datetime.datetime.fromtimestamp(moment).strftime("%Y-%m-%d %H:%M:%S"))]
    same.append(ctx.extprof("top", "--at", clock(moment), first).ok().out)
    check(len(set(same)) == 1 and "Object#" in same[0], "they differ: %s", same)
    late = datetime.datetime.fromtimestamp(int(begins[1]) + 4).strftime("%H:%M:%S")
    check(at(ctx, late).ok().out == at(ctx, int(begins[1]) + 4).ok().out, "a time of the day")
    before = at(ctx, "-5s").ok().out
    check("Object#" in before and abs(end_shown(before) - (end_of(ctx, second) - 5)) < 0.01, "5 s before the end: %s", before.split("\n")[0])
    # Over the time between the two: an interval of which there is nothing says so, and others have theirs.
    many = at(ctx, int(end_of(ctx, first)) - 1, "-i", "1", "--count", "14", "-m", "cpu").ok().out.strip("\n").split("\n\n")
    empty = [i for i, part in enumerate(many) if "nothing was recorded" in part]
    check(len(many) == 14 and 5 <= len(empty) <= 10 and empty == list(range(empty[0], empty[-1] + 1)) and 0 < empty[0] and empty[-1] < 13,
          "nothing is in %s of %d", empty, len(many))
    check(all(len(many[i].split("\n")) == 1 and " to " in many[i] for i in empty) and "Object#" in many[-1] and "Object#" in many[0],
          "%s", "\n\n".join(many))
    empty = at(ctx, gap, "-i", "1", "--count", "2", "-m", "cpu")
    check(empty.status == 74 and empty.out.count("nothing was recorded") == 2 and "there is" in empty.err, "%d %s %s", empty.status, empty.out, empty.err)
    refused = [(["-m", "syscall"], 64, "was not recorded"), (["-r", "99"], 64, "leave out --rate"), (["-a"], 64, "leave out --all"),
               (["-p", "1,2"], 64, "-p PID"), (["-i", "1ms"], 64, "--interval")]
    for options, status, text in refused:
        run = at(ctx, clock(moment), *options)
        check(run.status == status and text in run.err, "%s: %d %s", options, run.status, run.err)
    wrong = ctx.extprof("top", "--at", "yesterday", ctx.path("history"))
    check(wrong.status == 64, "status %d: %s", wrong.status, wrong.err)
    missing = ctx.extprof("top", "--at", "03:00", ctx.path("nowhere"))
    check(missing.status in (73, 74) and "nowhere" in missing.err, "%d %s", missing.status, missing.err)
    # As `report` takes it: the recordings first.
    for name in (ctx.path("history"), first):
        other = ctx.extprof("top", name, "--at", clock(moment))
        check(other.status == 64 and "options come first" in other.err, "%d %s", other.status, other.err)
    # A window that is partly recorded says so.
    part = at(ctx, int(ends[0]) + 2, "-i", "5").ok().out.split("\n")[0]
    recorded = float(re.search(r"  ([\d.]+) of 5 s recorded", part).group(1))
    check(0.5 < recorded < 4, "%s", part)
    return none.err.strip()[-120:]


@case(timeout=120, waits=True)
def steps_in_time(ctx):
    """On a screen: back and forth by the interval, over a time without a recording, at both ends; other intervals and views."""
    ruby, s = ctx.ruby(ctx.write("at_steps_in_time.rb", PHASES)), case_top.Screen(ctx)
    try:
        ruby.expect("ready")
        for i in range(2):
            daemon = case_daemon.start(ctx, "--name", "at_steps_in_time.rb", "-F", "99")
            time.sleep(6)
            case_daemon.end(daemon)
            time.sleep(0 if i else 9)
        first, second = case_daemon.files(ctx)
        moment = int(begin_of(ctx, second)) + 3
        shown = lambda t: datetime.datetime.fromtimestamp(t).strftime("%H:%M:%S")
        s.start("--at", clock(moment), ctx.path("history"))
        s.wait(r"to %s  1 of 1 s recorded" % shown(moment))
        s.keys("]")
        s.wait(r"to %s  " % shown(moment + 1))
        s.keys("Left", "[")
        s.wait(r"to %s  " % shown(moment - 1))
        text = at(ctx, moment - 1, "-m", "cpu").ok().out
        rows = re.findall(r"Object#\w+", text)
        check(all(r in s.text() for r in rows), "%s is not on the screen\n%s", rows, s.text())
        s.keys("m", "4")
        s.wait(r"top - wall(.|\n)*hang \(\d+\)")
        s.keys("+")
        s.wait(r"of 2 s recorded")
        s.keys("-", "c", "r", "p")
        s.wait(r"of 1 s recorded(.|\n)*from the recording$")
        # Into the first recording, over the time between, and back: one key each, and what it shows next.
        end, begin = end_of(ctx, first), begin_of(ctx, second)

        def press(key):
            before = end_shown(s.text())
            s.keys(key)
            harness.until(lambda: end_shown(s.text()) != before, "%s shows %s as before" % (key, s.text().split("\n")[0]), timeout=20)
            return end_shown(s.text()) - before

        steps = []
        while end_shown(s.text()) > begin:
            steps.append(press("["))
            check(len(steps) < 6, "steps: %s", steps)
        check(all(abs(step + 1) < 0.002 for step in steps[:-1]) and steps[-1] < -5, "steps back: %s", steps)
        check(abs(end_shown(s.text()) - end) < 0.01, "the jump is to %.3f, the first one ends at %.3f", end_shown(s.text()), end)
        s.wait(r"  (1|0\.9\d*) of 1 s recorded")
        steps = [press("]")]
        check(steps[0] > 5 and begin < end_shown(s.text()) <= begin + 1.01, "%s forward, to %.3f of %.3f", steps, end_shown(s.text()), begin)
        check(abs(press("]") - 1) < 0.002, "one on")
        while end_shown(s.text()) > begin:
            press("Left")
        for _ in range(12):
            s.keys("Left")
        s.wait(r"nothing was recorded before")
        check(begin_of(ctx, first) < end_shown(s.text()) < begin_of(ctx, first) + 1.01, "the first one: %s", s.text())
        for _ in range(30):
            s.keys("Right")
        s.wait(r"nothing was recorded after that")
        check(end_of(ctx, second) - 1.01 < end_shown(s.text()) < end_of(ctx, second) + 1.01, "the last one: %s", s.text())
        s.keys("q")
        s.check_clean("0")
        s.start("--at", clock(moment), "--count", "3", ctx.path("history"))
        check("--batch" in s.check_clean("64"), "it says %s", s.text())
        s.start("--at", "2001-01-01", ctx.path("history"))
        s.wait(r"nothing was recorded")
        s.check_clean("74")
    finally:
        s.close()
    return "steps of 1 and 2 s, over a gap, to both ends"


@case(timeout=120)
def threads_that_rest(ctx):
    """Timers, reapers and pools between jobs are apart in windows of a second, as in live ones: what is left is what the clock says."""
    p = ctx.ruby(ctx.write("at_rests.rb", case_top.RESTS))
    p.expect("ready", 60)
    daemon = case_daemon.start(ctx, "--name", "at_rests.rb", "-m", "wall", "--waits", "each", "--rotate", "5s")
    top = ctx.extprof_start("top", "-p", str(p.pid), "-m", "wall", "-b", "--count", "16", "--view=thread", "--waits", "each")
    text, ends = [], []
    while len(ends) < 16:
        text.append(top.line())
        if text[-1].startswith("extprof top"):
            ends.append(time.time())
            if len(ends) in (10, 11, 12, 13):
                p.tell("job")
    out, err = top.communicate()
    time.sleep(1)
    p.signal(signal.SIGTERM)
    took = float(p.line(60))
    case_daemon.end(daemon)
    begin = begin_of(ctx, case_daemon.files(ctx)[0])
    check(len(case_daemon.files(ctx)) > 2, "of one file")
    live = parts("\n".join(text) + "\n" + out)[9:]
    got = parts(at(ctx, "%.3f" % (ends[9] - begin), "-i", "1", "--count", "7", "--view", "thread").ok().out)
    check(len(live) == len(got) == 7, "%d and %d windows: %s", len(live), len(got), err)
    worked = []
    for windows in (live, got):
        seen = [{re.sub(r" \(\d+\)$", "", name): cell for name, cell in case_top.cells(w).items()} for w in windows]
        waited = lambda name, cell: case_top.amount(cell[name]["TOTAL"]) if name in cell else 0
        for cell in seen:
            for name in ("reaper", "timer", "main"):
                check(waited(name, cell) == 0 and case_top.amount(cell[name]["IDLE"]) > 0.8, "%s: %s", name, cell.get(name))
            for name in ("stuck", "reads"):
                check(waited(name, cell) > 0.8 and cell[name].get("IDLE", "-") == "-", "%s waits: %s", name, cell[name])
        worked.append(sum(waited(name, cell) for cell in seen for name in ("pool-0", "pool-1")))
    check(0.75 < took < 1.2 and all(abs(w - took) < 0.08 for w in worked), "jobs of %.3f s, the pool waited %s", took, worked)
    # The first second of all has nothing before it: nobody knows yet who rests.
    first = case_top.cells(parts(at(ctx, "%.3f" % (0.001 + 1), "-i", "1", "--view", "thread").ok().out)[0])
    check(any(name.startswith("reaper") and case_top.amount(cell["TOTAL"]) > 0.5 for name, cell in first.items()), "the first: %s", first)
    return "jobs %.3f s: %.3f s live, %.3f s in the history" % (took, *worked)


BURNS = """
STDOUT.sync = true
def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
def work(s) = (t = cpu + s; 1 while cpu < t)
puts "ready"
$stdin.gets
used = cpu
until $stdin.wait_readable(0)
  work(ARGV[0].to_f)
  sleep ARGV[1].to_f
end
$stdin.gets
puts cpu - used
sleep
"""


@case(timeout=120, waits=True)
def two_at_one_time(ctx):
    """Recordings of one time: it counts once, and CPU times are as programs know them.  Those of two machines have their own processes."""
    script = ctx.write("at_burns.rb", "require 'io/wait'\n" + BURNS)
    rubies = [ctx.ruby(script, *work) for work in (("0.1", "0.1"), ("0.02", "0.1"))]
    for p in rubies:
        p.expect("ready", 60)
    paths = [ctx.path(name) for name in ("a.extprof", "b.extprof")]
    readers = [case_rotate.begin(ctx, p.pid, "-F", "499", "-m", modes, name=name)
               for p, modes, name in zip(rubies, ("cpu,wall", "cpu"), "ab")]
    began = time.time()
    for p in rubies:
        p.tell("go")
    time.sleep(6)
    for p in rubies:
        p.tell("end")
    used, ended = [float(p.line(60)) for p in rubies], time.time()
    time.sleep(0.5)
    for r in readers:
        r.signal(signal.SIGINT)
        r.communicate()
    span = ended - began
    when = ["--at", "%.3f" % (ended - begin_of(ctx, paths[0])), "-i", "%.3f" % span, "-b", "--view", "process"]
    run = ctx.extprof("top", *when, *paths).ok().out
    cpu, wall = parts(run)
    head = re.search(r"  (\d+) processes  .*  ([\d.]+) of ([\d.]+) s recorded", cpu)
    check(head and head.group(1) == "2" and abs(float(head.group(2)) - span) < 0.05, "%s", cpu)
    on_cpu = float(re.search(r"on-CPU ([\d.]+) %", cpu).group(1)) / 100 * span
    check(abs(on_cpu - sum(used)) < 0.1 * sum(used) + 0.1, "on-CPU %.2f s, the clocks say %s", on_cpu, used)
    rows = case_top.cells(cpu)
    for p, known in zip(rubies, used):
        of = next(cell for name, cell in rows.items() if name.startswith("%d " % p.pid))
        check(abs(case_top.amount(of["CPU"]) * span - known) < 0.1 * known + 0.1, "CPU %s of %.2f s, its clock says %.2f s", of["CPU"], span, known)
    # One of them has no mode wall: it is shown of the other one.
    check("top - wall" in wall and list(case_top.cells(wall))[0].startswith("%d " % rubies[0].pid), "%s", wall)
    lacks = ctx.extprof("top", *when, "-m", "cpu,alloc", *paths).ok().out
    check(len(parts(lacks)) == 1 and "mode alloc was not recorded then" in lacks, "%s", lacks)
    # The same process number on two machines: a copy that says so has the same again.
    other = ctx.path("c.extprof")
    shutil.copy(paths[0], other)
    with contextlib.closing(sqlite3.connect(other)) as db, db:
        db.execute("UPDATE meta SET value='web-2' WHERE key LIKE 'mode.%.host'")
        db.execute("UPDATE meta SET value=value+1 WHERE key='started_unix_ns'")
    alone, both = (parts(ctx.extprof("top", *when, "--idle", *given).ok().out)[0] for given in ([paths[0]], [paths[0], other]))
    row, = case_top.cells(alone).values()
    got = case_top.cells(both)
    check(" 2 processes " in both and len(got) == 2 and sum(name.endswith(" on web-2") for name in got) == 1, "%s", both)
    check(all(cell["CPU"] == row["CPU"] and cell["TOTAL"] == row["TOTAL"] for cell in got.values()), "%s, alone %s", got, row)
    shares = [float(re.search(r"on-CPU ([\d.]+) %", part).group(1)) for part in (alone, both)]
    check(abs(shares[1] - 2 * shares[0]) < 0.21, "on-CPU %s", shares)
    # So have their threads: each its own row, and its states.
    threads = [line for line in ctx.extprof("top", *when[:-1], "thread", "-m", "wall", "--idle", paths[0], other).ok().out.split("\n")
               if re.search(r"  main \(\d+\) ", line)]
    check(len(threads) == 2 and len({re.split(r"  main", line)[0] for line in threads}) == 1 and
          sum(line.endswith(" on web-2") for line in threads) == 1, "%s", threads)
    return "CPU %s s by the clock, on-CPU %.2f s" % (used, on_cpu)


SLEEPS_LATE = """
STDOUT.sync = true
def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
puts "ready"
gets
t = cpu + 1; 1 while cpu < t
puts "sleeps"
sleep
"""


@case(timeout=120, patient=True)
def what_is_not_known(ctx):
    """A recording whose program sleeps at its end is there to its end; without cpu and wall CPU time is not known."""
    ruby = ctx.ruby(ctx.write("at_late.rb", SLEEPS_LATE))
    ruby.expect("ready", 60)
    path, second = ctx.path("late.extprof"), ctx.path("offcpu.extprof")
    reader = case_rotate.begin(ctx, ruby.pid, "-m", "cpu", name="late")
    ruby.tell("go")
    ruby.expect("sleeps", 60)
    time.sleep(5)
    reader.signal(signal.SIGINT)
    reader.communicate()
    late = ctx.extprof("top", "-b", "--at", "-1s", "-i", "1", path).ok().out
    check("  1 of 1 s recorded" in late and "on-CPU 0.0 %" in late and "samples 0 " in late, "%s", late)
    check(abs(end_shown(late) - (end_of(ctx, path) - 1)) < 0.01, "%s", late)
    ctx.extprof("record", "-q", "-p", str(ruby.pid), "-m", "offcpu", "-d", "3", "-o", second).ok()
    for view in ("process", "thread"):
        text = ctx.extprof("top", "-b", "--at", "-1s", "-i", "1", "--idle", "--view", view, second).ok().out
        check("\non-CPU -  " in text, "%s", text)
        if view == "process":
            row, = case_top.cells(parts(text)[0]).values()
            check(row["CPU"] == "-", "CPU %s", row)
    return "5 s without a sample; on-CPU -"
