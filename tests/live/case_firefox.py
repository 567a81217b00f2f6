"""The file for the Firefox Profiler: its sums are those of the other formats, its times those of the program's own clock, and
Mozilla's own reader has both."""
import collections
import gzip
import itertools
import json
import os
import re
import signal
import subprocess
import time

import harness
import npm
from case_requests import record as record_requests
from case_requests import requests
from harness import Counted, case, check

PROGRAM = """
lock = Mutex.new
jobs = Queue.new
def left(n) = n < 2 ? n : left(n - 1) + left(n - 2)
def right = 400.times.map { |i| "s#{i}" }
collections = { main: 0, first: 0, second: 0 }
def collect(collections, who) = (GC.start; collections[who] += 1)
Thread.new { Thread.current.name = "worker 1"
  loop { Fiber.with_labels(request: "GET /#{n = jobs.pop; n % 3}") { lock.synchronize { left(14) }; right; sleep 0.002 }
    collect(collections, :first) if n % 10 == 5 } }
Thread.new { Thread.current.name = "worker 2"; (1..).each { |n| right; left(12); collect(collections, :second) if n % 20 == 0; sleep 0.001 } }
Thread.new { Thread.current.name = "pool"; empty = Queue.new; loop { empty.pop } }
fork { loop { left(14); sleep 0.003 } }
STDOUT.sync = true
puts "ready"
i, wanted = 0, nil
# For each line that it is told it says when each of these threads has collected since, from begin to end.
loop do
  lock.synchronize { left(15) }
  jobs << (i += 1)
  collect(collections, :main) if i % 10 == 0
  wanted = collections.transform_values { |n| n + 2 } if STDIN.wait_readable(0) && STDIN.gets
  (puts "collected"; wanted = nil) if wanted&.all? { |who, n| collections[who] >= n }
  sleep 0.004
end
"""

# By its own clock, CLOCK_MONOTONIC in ns, it says when each began and ended.
PHASES = """
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def burn(ns) = (t = now; nil while now - t < ns)
def first(ns) = burn(ns)
def second(ns) = burn(ns)
def pause = sleep(0.3)
def say(name, from) = puts("#{name} #{from} #{now}")
STDOUT.sync = true
puts "ready"
gets
t = now; first(300_000_000); say "first", t
t = now; pause; say "pause", t
t = now; second(300_000_000); say "second", t
5.times { t = now; GC.start; say "gc", t; sleep 0.01 }
t = now
Thread.new { Thread.current.name = "short"; burn(100_000_000) }.join
say "short", t
puts "done"
sleep
"""


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        return json.loads(f.read())


def report(ctx, path, name, *options):
    """The file of a recording."""
    run = ctx.extprof("report", path, "-f", "firefox", *options, "-o", ctx.path(name))
    check(run.status == 0, "%s: status %d: %s", options, run.status, run.err)
    return load(ctx.path(name))


def record_what_it_says(ctx, ruby, name, *options, settled=lambda: None):
    """(the recording, {name: [(begin, end)]}) of a program that says by its own clock when what it did began and ended. It begins when
    it is told to, and the recording ends after `settled`."""
    path = ctx.path(name)
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, *options, "-o", path)
    ctx.attached(reader)
    ruby.tell("go")
    said = collections.defaultdict(list)
    while (line := ruby.line(timeout=60)) != "done":
        what, begin, end = line.split()
        said[what].append((int(begin), int(end)))
    settled()
    reader.signal(signal.SIGINT)
    check(reader.wait() == 0, "the recording failed")
    return path, said


class File:
    """What it says of stacks."""

    def __init__(self, document, version=60):
        self.document, self.shared = document, document["shared"]
        check(document["meta"]["preprocessedProfileVersion"] == version, "version")
        categories = [c["name"] for c in document["meta"]["categories"]]
        check(len(categories) == len(set(categories)), "two categories have one name: %s", categories)
        strings, frames, functions = self.shared["stringArray"], self.shared["frameTable"], self.shared["funcTable"]
        names = [strings[n] for n in functions["name"]]
        self.frames = [names[n] for n in frames["func"]]
        self.stacks = []
        table = self.shared["stackTable"]
        for prefix, frame in zip(table["prefix"], table["frame"]):
            check(prefix is None or prefix < len(self.stacks), "a stack is before the one that called it")
            self.stacks.append((self.stacks[prefix] if prefix is not None else ()) + (self.frames[frame],))
        for name in ("stackTable", "frameTable", "funcTable", "resourceTable", "sources"):
            check({len(column) for column in self.shared[name].values() if isinstance(column, list)} == {self.shared[name]["length"]},
                  "columns of %s", name)

    def category(self, frame):
        number = self.shared["frameTable"]["category"][frame]
        return None if number is None else self.document["meta"]["categories"][number]

    def samples(self, thread):
        """(time in ns of the clock, stack, weight in ns or bytes or numbers)"""
        s = thread["samples"]
        unit = 1e6 if s["weightType"] == "tracing-ms" else 1
        zero = self.document["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"]
        check(s["time"] == sorted(s["time"]) and len(s["time"]) == s["length"], "times of %s", thread["name"])
        return [(zero + round(time * 1e6), None if stack is None else self.stacks[stack], round(weight * unit))
                for time, stack, weight in zip(s["time"], s["stack"], s["weight"])]

    def sums(self, prefix):
        """(pid, tid, stack) -> amount"""
        sums = collections.Counter()
        for t in self.document["threads"]:
            if not t["name"].startswith(prefix):
                continue
            for _, stack, weight in self.samples(t):
                check(stack or not weight, "a sample without a stack counts in %s", t["name"])
                if weight:
                    sums[t["pid"], t["tid"], stack] += weight
        return sums

    def markers(self, thread):
        """(name, begin, end, data), times as in samples; end None: it was not over."""
        m, zero = thread["markers"], self.document["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"]
        check({len(column) for column in m.values() if isinstance(column, list)} == {m["length"]}, "columns of markers")
        schemas = {s["name"] for s in self.document["meta"]["markerSchema"]}
        for name, begin, end, phase, data in zip(m["name"], m["startTime"], m["endTime"], m["phase"], m["data"]):
            check(data["type"] in schemas and (end is None) == (phase != 1), "%s", data)
            yield (self.shared["stringArray"][name], zero + round(begin * 1e6), end and zero + round(end * 1e6), data)


def sums_of_folded(ctx, path, unit, *options):
    run = ctx.extprof("report", path, "-f", "folded", "--unit", unit, "--group-by", "process,thread", *options).ok()
    sums = collections.Counter()
    for line in run.out.splitlines():
        stack, _, number = line.rpartition(" ")
        process, thread, *frames = stack.split(";")
        pid, tid = re.match(r"\[process (\d+)", process), re.search(r"\((\d+)\)\]$", thread)
        sums[pid[1], int(tid[1]) if tid else 0, tuple(frames) or (thread,)] += int(number)
    return sums


def compare(ctx, path, modes, *options, prefix=True, idle=()):
    document = report(ctx, path, "compared.json", *options, *idle)
    file = File(document)
    for mode, unit in modes:
        wanted = sums_of_folded(ctx, path, unit, *options, *idle, "-m", mode)
        found = file.sums(mode + ": " if prefix else "")
        check(len(wanted) > 2 and wanted == found, "%s %s: %s, not %s", mode, options, list((found - wanted).items())[:3],
              list((wanted - found).items())[:3])
    return file, sum(wanted.values())


@case(timeout=150)
def has_the_sums_of_other_formats(ctx):
    """To the last ns and byte, for each stack of each thread; with filters, in a part of the time, and with what is idle."""
    ruby = ctx.ruby(ctx.write("app.rb", PROGRAM))
    ruby.expect("ready")
    path, both = ctx.path("wall.extprof"), ctx.path("both.extprof")
    ctx.extprof("record", "-q", "-p", ruby.pid, "-s", "-m", "wall", "-d", "2", "-F", harness.rate(199), "-o", path).ok()
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-s", "-m", "cpu,gvl,gc", "-F", harness.rate(199), "-o", both)
    ctx.attached(reader)
    # Three threads collect, however slow the machine is.
    ruby.tell("go")
    time.sleep(1)
    ruby.expect("collected", timeout=60)
    reader.signal(signal.SIGINT)
    check(reader.wait() == 0, "the recording failed")
    wall = [("wall", "ns")]
    for options in ([], ["--filter", "thread=worker*"], ["--since", "0.5", "--until", "1.5"], ["--focus", "method:Object#left"],
                    ["--hide", "method:Object#left"], ["--collapse", "recursion"], ["--filter", "state=sleep"]):
        file, _ = compare(ctx, path, wall, *options, prefix=False)
    file, busy = compare(ctx, path, wall, prefix=False)
    idle, all_of_it = compare(ctx, path, wall, prefix=False, idle=["--idle"])
    check(all_of_it > busy, "nothing is idle")
    check(not any(c and c["name"] == "Idle" for c in map(file.category, range(len(file.frames)))), "idle frames without --idle")
    colors = {c["color"] for c in map(idle.category, range(len(idle.frames))) if c and c["name"] == "Idle"}
    check(colors == {"transparent"}, "idle is %s", colors)
    compare(ctx, both, [("cpu", "ns"), ("gvl", "ns"), ("gc", "ns")])
    compressed = report(ctx, path, "wall.firefox.json.gz")
    check(compressed["threads"] == report(ctx, path, "wall.json")["threads"], "the compressed file is another one")
    names = {(t["processName"], t["name"]) for t in compressed["threads"]}
    check({("app.rb", "main"), ("app.rb", "worker 1"), ("app.rb", "worker 2")} <= names, "%s", names)
    check(len({t["pid"] for t in compressed["threads"]}) == 2, "processes")
    check("account" in json.dumps(compressed["meta"]["extra"]) and "left out without --idle" in json.dumps(compressed["meta"]["extra"]),
          "%s", compressed["meta"]["extra"])
    for wrong, text in ((["--invert"], "leave out"), (["--top", "3"], "leave out"), (["--callers-of", "Object#left"], "leave out")):
        run = ctx.extprof("report", path, "-f", "firefox", *wrong, "-o", ctx.path("wrong.json"))
        check(run.status == harness.USAGE and text in run.err and not os.path.exists(ctx.path("wrong.json")), "%s: %s", wrong, run.err)
    live = ctx.extprof("-p", ruby.pid, "-d", "1", "-f", "firefox", "-o", ctx.path("wrong.json"))
    check(live.status == harness.USAGE and "extprof report" in live.err, "%d: %s", live.status, live.err)
    return "%.3f s busy, %.3f s with what is idle" % (busy / 1e9, all_of_it / 1e9)


@case(timeout=90)
def has_allocations(ctx):
    """Bytes by class and stack, in the table for them, with the threads of another mode."""
    ruby = ctx.ruby(ctx.write("app.rb", PROGRAM))
    ruby.expect("ready")
    path = ctx.path("alloc.extprof")
    ctx.extprof("record", "-q", "-p", ruby.pid, "-m", "cpu,alloc", "-d", "1", "-F", harness.rate(199), "-o", path).ok()
    alone, _ = compare(ctx, path, [("alloc", "bytes")], "-m", "alloc", prefix=False)
    wanted = sums_of_folded(ctx, path, "bytes", "-m", "alloc")
    for file in (alone, File(report(ctx, path, "both.json"))):
        found, classes = collections.Counter(), set()
        for t in file.document["threads"]:
            a = t.get("jsAllocations", {"weight": [], "stack": [], "className": []})
            for weight, stack, name in zip(a["weight"], a["stack"], a["className"]):
                found[t["pid"], t["tid"], file.stacks[stack]] += weight
                check(file.stacks[stack][-1] == name or not name, "%s of %s", name, file.stacks[stack])
                classes.add(name)
        check(found == wanted and "String" in classes, "%s, not %s", sum(found.values()), sum(wanted.values()))
        # How much it was at each time: in steps, each rounded.
        (rate,) = [c["samples"]["count"] for c in file.document["counters"] if c["name"] == "allocated"]
        check(abs(sum(rate) - sum(wanted.values())) <= len(rate) and len(rate) > 50, "the counter has %d bytes in %d steps, not %d", sum(rate), len(rate),
              sum(wanted.values()))
    both = [t["name"] for t in file.document["threads"] if "jsAllocations" in t]
    check(any(name.startswith("cpu: ") for name in both), "no thread has samples and allocations: %s", both)
    return "%d bytes" % sum(wanted.values())


def names_of_tasks(pid):
    names = []
    for tid in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/comm" % (pid, tid), encoding="utf-8") as f:
                names.append(f.read().strip())
        except OSError:
            pass  # it has ended meanwhile
    return names


@case(timeout=90)
def has_the_times_of_the_program(ctx):
    """Samples, waits, collections and lives are between the moments that the program saw before and after."""
    ruby = ctx.ruby(ctx.write("phases.rb", PHASES))
    ruby.expect("ready")
    # The native thread of one that has ended goes a moment later.
    path, said = record_what_it_says(
        ctx, ruby, "phases.extprof", "-m", "wall,gc", "--waits", "each", "-F", harness.rate(499),
        settled=lambda: harness.until(lambda: "short" not in names_of_tasks(ruby.pid), "the thread does not end"))
    file = File(report(ctx, path, "phases.json"))
    threads = {t["name"]: t for t in file.document["threads"]}
    main = file.samples(threads["wall: main"])
    counted = collections.Counter()
    for time, stack, weight in main:
        for name in ("first", "second", "pause"):
            if stack and "Object#" + name in stack:
                begin, end = said[name][0]
                check(begin <= time <= end, "%s at %d, and it was from %d to %d", name, time, begin, end)
                counted[name] += weight
    for name in ("first", "second"):
        begin, end = said[name][0]
        # What runs is sampled: a method that began and ended many times could have more than it took.
        check(0.5 < counted[name] / (end - begin) < 1.25, "%s has %d ns of %d", name, counted[name], end - begin)
    # The sleep is measured: it begins where it began, and nothing of it is after its end.
    begin, end = said["pause"][0]
    asleep = [(time, weight) for time, stack, weight in main if stack and "[sleep]" in stack and "Object#pause" in stack]
    slept = sum(weight for _, weight in asleep)
    check(295_000_000 <= slept <= end - begin and min(asleep)[0] + slept <= end + 1000, "asleep %s from %d to %d", asleep, begin, end)
    markers = [m for t in threads.values() for m in file.markers(t)]
    gc = [m for m in markers if m[0] == "GC pause" and m[3]["marked"] == "all objects" and m[3]["reason"] == "GC.start"]
    for begin, end in said["gc"]:
        within = [m for m in gc if begin <= m[1] and m[2] <= end]
        check(within, "GC.start from %d to %d has no marker: %s", begin, end, gc)
    check(all(any(b <= m[1] and m[2] <= e for b, e in said["gc"]) for m in gc), "a collection that nobody started")
    begin, end = said["short"][0]
    short = threads["wall: short"]
    zero = file.document["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"]
    life = [zero + round(short[key] * 1e6) for key in ("registerTime", "unregisterTime")]
    # Its native thread can end later.
    check(begin <= life[0] <= end and life[1] - life[0] >= 100_000_000, "a thread lived from %s, and was made from %d to %d", life,
          begin, end)
    check([m for m in file.markers(short) if m[0] == "thread" and m[1:3] == tuple(life)], "its life is no marker")
    processes = [m for m in markers if m[0] == "process"]
    check(len(processes) == 1 and processes[0][3]["pid"] == str(ruby.pid), "%s", processes)
    return "sleep %.1f ms, %d collections" % (slept / 1e6, len(gc))


@case(timeout=120)
def has_requests(ctx):
    """Those of the table, by the same times and parts; and each wait for the GVL that SQL has."""
    path, truth = record_requests(ctx, "threads")
    rows = requests(ctx, path)
    file = File(report(ctx, path, "requests.json"))
    found = [(t["tid"], *m) for t in file.document["threads"] for m in file.markers(t) if m[0] == "request"]
    check(len(found) == len(rows) == len(truth), "%d of %d", len(found), len(rows))
    wanted = sorted((r["tid"], r["labels"]["request"], r["duration"], r["samples"], tuple(r["parts"].values())) for r in rows)
    names = list(rows[0]["parts"])
    seen = sorted((tid, data["labels"].partition("=")[2], end - begin if end else 0, data["samples"],
                   tuple(round(data[name] * 1e6) for name in names)) for tid, _, begin, end, data in found)
    check(wanted == seen, "%s, not %s", [s for s in seen if s not in wanted][:3], [w for w in wanted if w not in seen][:3])
    # Each wait for the GVL is a marker, with the stack that waits.
    waits = [m for t in file.document["threads"] for m in file.markers(t) if m[3].get("state") == "gvl"]
    statement = "SELECT count(*) || ' ' || coalesce(sum(value), 0) FROM samples WHERE state='gvl' AND count=1 AND value>0"
    count, ns = map(int, ctx.extprof("sql", "-H", path, statement).ok().out.split())
    check((len(waits), sum(m[2] - m[1] for m in waits)) == (count, ns), "%d waits for the GVL, not %d", len(waits), count)
    check(all("[gvl]" in file.stacks[m[3]["cause"]["stack"]] for m in waits), "stacks of waits")
    slow = File(report(ctx, path, "slow.json", "--slowest", "2"))
    check(sum(m[0] == "request" for t in slow.document["threads"] for m in slow.markers(t)) == 2, "the slowest")
    return "%d requests, %d waits for the GVL" % (len(rows), count)


@case(timeout=150, patient=True)
def of_several_and_of_what_was_cut(ctx):
    """Two recordings are one file by the clock of the day; a pause is a paused range; one that was killed is read."""
    ruby = ctx.ruby(ctx.write("app.rb", PROGRAM))
    ruby.expect("ready")
    paths = [ctx.path(name + ".extprof") for name in ("one", "two")]
    for path in paths:
        ctx.extprof("record", "-q", "-p", ruby.pid, "-m", "cpu", "-d", "1", "-F", harness.rate(199), "-o", path).ok()
    run = ctx.extprof("report", *paths, "-f", "firefox", "-o", ctx.path("both.json"))
    check(run.status == 0, "%s", run.err)
    both, alone = File(load(ctx.path("both.json"))), [File(report(ctx, path, "alone.json")) for path in paths]
    check(both.sums("") == alone[0].sums("") + alone[1].sums(""), "sums of both")
    times = sorted(t for f in alone for thread in f.document["threads"] for t, stack, _ in f.samples(thread) if stack)
    seen = sorted(t for thread in both.document["threads"] for t, stack, _ in both.samples(thread) if stack)
    # The begin of each is known by two clocks, which were not read at once.
    check(len(times) == len(seen) and all(abs(a - b) < 500_000_000 for a, b in zip(times, seen)), "times of both")
    path = ctx.path("paused.extprof")
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-m", "cpu", "-F", harness.rate(199), "-o", path)
    ctx.attached(reader)
    time.sleep(0.5)
    clock = [time.monotonic_ns()]
    reader.signal(signal.SIGUSR2)
    time.sleep(0.6)
    reader.signal(signal.SIGUSR2)
    clock.append(time.monotonic_ns())
    time.sleep(0.5)
    reader.signal(signal.SIGINT)
    check(reader.wait() == 0, "the recording failed")
    paused = File(report(ctx, path, "paused.json"))
    zero = paused.document["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"]
    ranges = {tuple(zero + round(r[key] * 1e6) for key in ("startTime", "endTime"))
              for t in paused.document["threads"] for r in t["pausedRanges"]}
    check(len(ranges) == 1, "%s", ranges)
    (begin, end), = ranges
    check(clock[0] <= begin and end > clock[0] + 300_000_000, "paused from %d to %d, and asked at %s", begin, end, clock)
    check(not any(begin < t < end and stack for thread in paused.document["threads"] for t, stack, _ in paused.samples(thread)),
          "samples in a pause")
    path = ctx.path("killed.extprof")
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-m", "cpu", "-F", harness.rate(199), "-o", path)
    ctx.attached(reader)
    time.sleep(7)
    reader.signal(signal.SIGKILL)
    reader.wait()
    killed, _ = compare(ctx, path, [("cpu", "ns")], prefix=False)
    return "paused %.0f ms; %d threads of a killed one" % ((end - begin) / 1e6, len(killed.document["threads"]))


# It grows by known amounts, and says what the kernel says of it, with the time.  Four threads want the GVL all the time.
GROWS = """
STDOUT.sync = true
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def say = puts("#{now} #{File.read("/proc/self/statm").split[1].to_i * 4096} #{GC.stat(:heap_live_slots)}")
GC.disable
4.times { Thread.new { i = 0; i += 1 while true } }
puts "ready"
gets
t = now
sleep 3
puts t
kept = []
[200, 100].each { |mb| sleep 2.2; say; kept << "x" * (mb << 20) << Array.new(mb * 100) { Object.new }; say }
sleep 2.2
say
puts "done"
sleep
"""
MB = 1 << 20


@case(timeout=240)
def has_counters(ctx):
    """Memory by the program's own account, and how many threads wait for the GVL; Mozilla's reader has both."""
    ruby = ctx.ruby(ctx.write("grows.rb", GROWS))
    ruby.expect("ready")
    path = ctx.path("grows.extprof")
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-m", "wall", "-F", harness.rate(199), "-o", path)
    ctx.attached(reader)
    ruby.tell("go")
    quiet, said = int(ruby.line(60)), []
    while (line := ruby.line(60)) != "done":
        said.append(tuple(map(int, line.split())))
    reader.signal(signal.SIGINT)
    check(reader.wait() == 0, "the recording failed")
    ruby.kill()
    # Version 60 shows each counter of memory as bytes: slots are in the newer one.
    older = File(report(ctx, path, "older.json")).document["counters"]
    check([c["name"] for c in older] == ["resident memory", "waits for the GVL"], "%s", older)
    file = File(report(ctx, path, "grows.json", "--sources"), 64)
    zero = file.document["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"]
    counters = {c["name"]: c for c in file.document["counters"]}
    check(set(counters) == {"resident memory", "live slots", "waits for the GVL"} and all(c["pid"] == str(ruby.pid) for c in counters.values()), "%s", list(counters))
    slots = list(itertools.accumulate(counters["live slots"]["samples"]["count"]))
    for ms, value in zip(counters["live slots"]["samples"]["time"], slots):
        at = zero + ms * 1e6
        for (t, _, live), (until, _, after) in zip(said, said[1:]):
            if t < at < until and after - live < 1000:
                check(live - 300 <= value <= after + 300, "%d live slots at %.0f ms, not %d to %d", value, ms, live, after)
    check(30_000 <= slots[-1] - slots[0] < 32_000, "%d live slots more, not 30,000", slots[-1] - slots[0])
    samples = counters["resident memory"]["samples"]
    values, seen = list(itertools.accumulate(samples["count"])), 0
    check(len(values) == samples["length"] == len(samples["time"]) >= 6, "%d values", len(values))
    for ms, value in zip(samples["time"], values):
        at = zero + ms * 1e6
        for (t, bytes_, _), (until, after, _) in zip(said, said[1:]):
            # Where the program has said the same before and after.
            if t < at < until and after - bytes_ < MB:
                check(abs(value - bytes_) < 2 * MB, "%d MB at %.0f ms, not %d", value // MB, ms, bytes_ // MB)
                seen += 1
    check(seen >= 3 and abs(values[-1] - said[-1][1]) < 2 * MB, "%d values were compared", seen)
    grown = max(values) - values[0]
    check(abs(grown - 300 * MB) < 4 * MB, "it has grown by %.1f MB, not 300", grown / MB)
    waits = counters["waits for the GVL"]["samples"]
    folded = sum(n for (_, _, stack), n in sums_of_folded(ctx, path, "ns").items() if stack[-1] == "[gvl]")
    check(abs(sum(waits["count"]) * 1e6 - folded) < 1e-6 * folded + 1e4, "waits of %.3f ms, and %.3f in the stacks", sum(waits["count"]),
          folded / 1e6)
    # While the main thread sleeps four work, and there is one GVL: three wait.
    asleep = [n for t, n in zip(waits["time"], waits["count"]) if 0.5e9 < zero + t * 1e6 - quiet < 2.9e9]
    average = sum(asleep) / (len(asleep) * (waits["time"][1] - waits["time"][0]))
    check(2.8 < average < 3.2, "%.2f threads wait", average)
    folder, why_not = reader_of_mozilla()
    if why_not:
        return "%.0f MB in %d values, %.2f threads wait; NOT read by Mozilla's reader: %s" % (grown / MB, len(values), average, why_not)
    pq = Pq(ctx, folder)
    try:
        pq.load(ctx.path("grows.json"))
        listed = pq.json("counter", "list")["counters"]
        check([(c["label"], c["pid"], c["unit"]) for c in listed] == [
            ("Memory", str(ruby.pid), "bytes"), ("Live slots", str(ruby.pid), ""), ("waits for the GVL", str(ruby.pid), "")],
              "counters: %s", listed)
        shown = pq.json("counter", "info", "c-0")
        range_ = next(s["value"] for s in shown["stats"] if s["source"] == "count-range")
        check(shown["sampleCount"] == len(values) and abs(range_ - 300 * MB) < 4 * MB, "Mozilla's reader: %s", shown["stats"])
    finally:
        pq.stop()
    return "%.1f MB in %d values, %d compared with the program's; %.2f threads wait; by Mozilla's reader %.1f MB" % (
        grown / MB, len(values), seen, average, range_ / MB)


PACKAGES = ["@firefox-devtools/profiler-cli@0.10.0", "node@24"]


def reader_of_mozilla():
    """Where npm has put Mozilla's reader and the Node that it needs, and why it is not there. FIREFOX_PQ is a folder that has them."""
    return npm.folder_of("npm-firefox", PACKAGES, ["@firefox-devtools/profiler-cli/dist/profiler-cli.js", "node/bin/node"], "FIREFOX_PQ")


class Pq:
    """profiler-cli of Mozilla, in the folder of npm's packages."""

    def __init__(self, ctx, folder):
        modules = os.path.join(folder, "node_modules")
        self.argv = [os.path.join(modules, "node", "bin", "node"),
                     os.path.join(modules, "@firefox-devtools", "profiler-cli", "dist", "profiler-cli.js")]
        self.env = {**os.environ, "PROFILER_CLI_SESSION_DIR": ctx.path("pq")}

    def run(self, *args):
        return subprocess.run([*self.argv, *args], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=60, check=False)

    def load(self, path):
        run = self.run("load", path)
        # It gives up after half a second, while its server still starts.
        for _ in range(20):
            if self.run("status").returncode == 0:
                return
            time.sleep(1)
        check(False, "pq: %s", run.stdout)

    def json(self, *args):
        run = self.run(*args, "--json")
        check(run.returncode == 0, "pq %s: %s", args, run.stdout[-500:])
        return json.loads(run.stdout)

    def stop(self):
        self.run("stop", "--all")


@case(timeout=440)
def has_sources(ctx):
    """The text of each file that the recording has, as it was then; Mozilla's reader shows it beside what each line took."""
    # Letters of more than one byte, what JSON escapes, and no end of the last line.
    text = PROGRAM + '# "\u00e4\u20ac\U0001f48e" \\t </script>\t\nnil'
    script = ctx.write("app.rb", text)
    ruby = ctx.ruby(script)
    ruby.expect("ready")
    path, plain = ctx.path("with.extprof"), ctx.path("without.extprof")
    for to, options in ((path, ["--sources"]), (plain, [])):
        ctx.extprof("record", "-q", "-p", ruby.pid, "-m", "wall", "-d", "2", "-F", harness.rate(199), *options, "-o", to).ok()
    ruby.kill()
    # A later change of the file is not shown.
    ctx.write("app.rb", "another")
    without = File(report(ctx, path, "without.json"))
    check("content" not in without.shared["sources"], "texts without --sources")
    file = File(report(ctx, path, "with.json", "--sources"), 64)
    names = [file.shared["stringArray"][n] for n in file.shared["sources"]["filename"]]
    contents = dict(zip(names, file.shared["sources"]["content"]))
    check(contents[script] == text, "the text of %s: %s", script, contents.get(script))
    check(all(c is None for n, c in contents.items() if n.startswith("<internal:")), "texts of what is no file")
    check(file.sums("") == without.sums(""), "sums with texts are other ones")
    none = File(report(ctx, plain, "none.json", "--sources"), 64)
    check(not any(none.shared["sources"]["content"]), "texts that the recording has not")
    folder, why_not = reader_of_mozilla()
    if why_not:
        return "%d files; NOT read by Mozilla's reader: %s" % (len(contents), why_not)
    pq = Pq(ctx, folder)
    try:
        pq.load(ctx.path("with.json"))
        thread = next(i for i, t in enumerate(file.document["threads"]) if t["name"] == "worker 2")
        pq.run("thread", "select", "t-%d" % thread)
        functions = pq.json("thread", "functions", "--thread", "t-%d" % thread, "--include-idle")["functions"]
        left = next(f for f in functions if f["name"] == "Object#left")
        shown = pq.json("function", "annotate", left["functionHandle"])["srcAnnotation"]
        lines = {line["lineNumber"]: line for line in shown["lines"]}
        wanted = text.split("\n")
        check(lines and all(line["sourceText"] == wanted[n - 1] for n, line in lines.items()), "lines: %s", shown["lines"][:3])
        at = next(i for i, line in enumerate(wanted, 1) if line.startswith("def left"))
        # All that runs of it is in its only line.
        took = lines[at]["selfSamples"]
        check(took > 0 and abs(took - left["selfSamples"]) < 0.05 * left["selfSamples"] + 1, "line %d took %.3f ms of %.3f", at, took,
              left["selfSamples"])
        counters = pq.json("counter", "list")["counters"]
        check({(c["label"], c["graphType"]) for c in counters} >= {("Memory", "line-accumulated")}, "counters: %s", counters)
    finally:
        pq.stop()
    return "%d files, %d lines beside %.1f ms of %s" % (sum(c is not None for c in contents.values()), len(lines), took, left["name"])


@case(timeout=440)
def mozilla_reads_it(ctx):
    """Its reader has the threads, their CPU time, functions with their self time, and markers."""
    folder, why_not = reader_of_mozilla()
    if why_not:
        return Counted(0, 0, 1, why_not)
    ruby = ctx.ruby(ctx.write("app.rb", PROGRAM))
    ruby.expect("ready")
    path = ctx.path("wall.extprof")
    ctx.extprof("record", "-q", "-p", ruby.pid, "-s", "-m", "wall", "-d", "2", "-F", harness.rate(199), "-o", path).ok()
    ruby.kill()
    file = File(report(ctx, path, "wall.json"))
    folded = sums_of_folded(ctx, path, "ns")
    pq = Pq(ctx, folder)
    try:
        pq.load(ctx.path("wall.json"))
        listed = {t["threadIndex"]: t for t in pq.json("thread", "list")["threads"]}
        check(len(listed) == len(file.document["threads"]), "%d threads, not %d", len(listed), len(file.document["threads"]))
        compared = 0
        for i, t in enumerate(file.document["threads"]):
            seen = listed[i]
            check((seen["name"], seen["pid"], seen["tid"], seen["markerCount"]) ==
                  (t["name"], t["pid"], t["tid"], t["markers"]["length"]), "%s", seen)
            ran = sum(t["samples"]["threadCPUDelta"]) / 1e6
            check(abs(seen["cpuMs"] - ran) < 0.001, "%s ran %f ms, not %f", t["name"], seen["cpuMs"], ran)
            if not t["name"].startswith(("worker", "main")):
                continue
            wanted = collections.Counter()
            for (pid, tid, stack), amount in folded.items():
                if (pid, tid) == (t["pid"], t["tid"]):
                    wanted[stack[-1]] += amount
            functions = pq.json("thread", "functions", "--thread", "t-%d" % i, "--include-idle")["functions"]
            found = collections.Counter()
            for f in functions:
                found[f["name"]] += round(f["selfSamples"] * 1e6)
            for name, amount in wanted.items():
                check(abs(found[name] - amount) <= 1000, "%s in %s: %d ns, not %d", name, t["name"], found[name], amount)
            compared += len(wanted)
        worker = next(i for i, t in enumerate(file.document["threads"]) if t["name"] == "worker 1")
        kinds = {k["markerName"]: k["count"] for k in pq.json("thread", "markers", "--thread", "t-%d" % worker)["byType"]}
        mine = collections.Counter(m[0] for m in file.markers(file.document["threads"][worker]))
        check(kinds == dict(mine) and kinds["request"] > 10, "markers: %s, not %s", kinds, mine)
    finally:
        pq.stop()
    return "%d threads, %d functions, %d kinds of markers" % (len(listed), compared, len(kinds))
