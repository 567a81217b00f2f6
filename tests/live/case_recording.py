"""Recordings in files: what is reported of one is what was shown live, and others can read it."""
import difflib
import json
import os
import pprint
import re
import shutil
import signal
import sqlite3
import struct
import sys
import zlib
from collections import Counter

import harness
import otlp
import pprof
from harness import case, check

PROGRAM = """
lock = Mutex.new
def left(n) = n < 2 ? n : left(n - 1) + left(n - 2)
def right = 400.times.map { |i| "s#{i}" }
Thread.new { Thread.current.name = "worker 1"; loop { lock.synchronize { left(14) }; sleep 0.002 } }
Thread.new { Thread.current.name = "worker 2"; loop { right; sleep 0.001 } }
GC.stress = false
STDOUT.sync = true
puts "ready"
loop { lock.synchronize { left(16) }; GC.start if rand(50) == 0 }
"""
FORMATS = ["folded", "speedscope.json", "pb.gz", "otlp", "summary"]


def read(path):
    with open(path, "rb") as f:
        return f.read()


def content(path):
    """What a file says. Tables of frames are in the order in which the profile met them, which says nothing."""
    if path.endswith(".otlp"):
        return otlp.content(otlp.decode(read(path)))
    if path.endswith(".json"):
        document = json.loads(read(path))
        frames = [json.dumps(f) for f in document["shared"].pop("frames")]
        # A recording has the order of time, and so a profile for each thread: what each stack has is the same.
        stacks = Counter()
        for p in document.pop("profiles"):
            opened, at = [], 0
            for e in p["events"]:
                if e["at"] > at:
                    stacks[p["unit"], tuple(opened)] += e["at"] - at
                at = e["at"]
                if e["type"] == "O":
                    opened.append(frames[e["frame"]])
                else:
                    check(opened.pop() == frames[e["frame"]], "another frame is closed")
            check(not opened and at == p["endValue"], "%s: %d of %d", p["name"], at, p["endValue"])
        document["stacks"] = sorted(map(list, stacks.items()))
        for mode in document["extprof"]["modes"].values():
            del mode["order"]
        return document
    if path.endswith(".gz"):
        return pprof.content(read(path))
    return read(path)


def difference(live, again):
    """The first difference of two contents, for a message."""
    lines = [pprint.pformat(c, width=200).splitlines() for c in (live, again)]
    return "\n".join(list(difflib.unified_diff(*lines, "live", "again", n=1, lineterm=""))[:40])


def record(ctx, *options):
    """A recording of some seconds, and what extprof printed."""
    ruby = ctx.ruby(ctx.write("recorded.rb", PROGRAM))
    ruby.expect("ready")
    run = ctx.extprof("record", "-p", ruby.pid, "-d", "2", *options)
    check(run.status == 0, "status %d: %s", run.status, run.err)
    ruby.kill()
    return run


def sql(ctx, path, statement):
    run = ctx.extprof("sql", "-H", path, statement)
    check(run.status == 0, "%s: status %d: %s", statement, run.status, run.err)
    return [line.split("\t") for line in run.out.splitlines()]


def of_mode(ctx, mode):
    same = []
    for suffix in FORMATS:
        name = "%s.%s" % (mode.replace(",", "-"), suffix)
        recording, live, again = ctx.path(name + ".extprof"), ctx.path("live-" + name), ctx.path("again-" + name)
        if suffix == "summary":
            shown = record(ctx, "-m", mode, "-o", recording).out
            report = ctx.extprof("report", recording)
            check(report.status == 0 and report.out == shown, "%s: the summary differs:\n%s\n----\n%s", mode, shown, report.out)
            continue
        record(ctx, "-q", "-m", mode, "-o", recording, "-o", live)
        report = ctx.extprof("report", recording, "-o", again)
        check(report.status == 0, "%s: status %d: %s", name, report.status, report.err)
        check(content(live) == content(again), "%s: the file that was written live differs from that of the recording: %s", name,
              difference(content(live), content(again)))
        check(ctx.extprof("verify", recording).status == 0, "%s is not right", recording)
        same.append("%s %d B" % (suffix, len(read(live))))
    return "the same: " + ", ".join(same)


@case(timeout=120, patient=True)
def gives_the_live_report_of_cpu(ctx):
    return of_mode(ctx, "cpu")


@case(timeout=120, patient=True)
def gives_the_live_report_of_wall(ctx):
    return of_mode(ctx, "wall")


@case(timeout=120, patient=True)
def gives_the_live_report_of_several_modes(ctx):
    return of_mode(ctx, "cpu,wall,alloc,gc")


@case(timeout=60)
def sql_has_the_sums_of_the_summary(ctx):
    """Views and samples add up to what was shown; so do the plain tables, read by another program and decoded by its
    own code."""
    path = ctx.path("sums.extprof")
    # SQL has idle threads too.
    run = record(ctx, "-m", "wall", "--idle", "-o", path, "-o", ctx.path("sums.folded"))
    with open(ctx.path("sums.folded"), encoding="utf-8") as f:
        lines = [line.rpartition(" ") for line in f.read().splitlines()]
    samples = [int(row[0]) for row in sql(ctx, path, "SELECT value FROM samples")]
    # Folded amounts are us, each stack rounded.
    check(abs(sum(int(n) for _, _, n in lines) - sum(samples) / 1000) <= len(lines), "%d us in folded, %d ns in SQL",
          sum(int(n) for _, _, n in lines), sum(samples))
    total = {m: int(n) for m, n in sql(ctx, path, "SELECT method, total FROM top_methods WHERE mode='wall'")}
    wanted = sum(int(n) for stack, _, n in lines if "Object#left" in stack.split(";"))
    check(abs(total["Object#left"] - wanted * 1000) <= 1000 * len(lines), "left: %d ns in SQL, %d us in folded",
          total["Object#left"], wanted)
    waits = sql(ctx, path, "SELECT sum(ns) FROM lock_waits")
    states = {s: int(n) for s, n in sql(ctx, path, "SELECT state, sum(ns) FROM states_by_thread GROUP BY 1")}
    check(int(waits[0][0]) == sum(n for s, n in states.items() if s in ("gvl", "mutex", "queue", "condvar", "join", "ractor")),
          "lock waits %s, states %s", waits, states)
    # Lines, with the C methods that they call, as the report counts them.
    shown = json.loads(ctx.extprof("report", path, "--idle", "-f", "json", "--rows", "1000").out)["modes"][0]["lines"]["rows"]
    by_line = {}
    for row in shown:
        by_line[row["path"], row["line"]] = by_line.get((row["path"], row["line"]), 0) + row["self"]
    lined = {(p, int(n)): int(s) for p, n, s in sql(ctx, path, "SELECT path, line, self FROM top_lines WHERE mode='wall'")}
    check(lined == {k: v for k, v in by_line.items() if v} and lined, "lines: %s in SQL, %s in the report", lined, by_line)
    check(sql(ctx, path, "SELECT count(*) FROM lock_waits WHERE line IS NULL AND state != 'gvl'") == [["0"]], "a lock without its line")
    idle = {row[0] for row in sql(ctx, path, "SELECT thread_name FROM idle_threads")}
    check("worker 1" not in idle, "idle: %s", idle)
    pools = {p: (int(n), int(i)) for p, n, i in sql(ctx, path, "SELECT pool, threads, idle FROM idle_pool")}
    check(pools == {"worker": (2, len(idle & {"worker 1", "worker 2"}))}, "pools: %s; idle: %s", pools, idle)
    check(sql(ctx, path, "SELECT count(*) FROM samples WHERE time_ns < 0")[0] == ["0"], "times")
    decoded = blocks_of(path)
    check(sorted(v for _, v in decoded) == sorted(samples), "another decoder finds %d samples, SQL %d", len(decoded), len(samples))
    refused = ctx.extprof("sql", path, "DELETE FROM blocks")
    check(refused.status == harness.USAGE and "readonly" in refused.err, "%d: %s", refused.status, refused.err)
    return "%d samples; %s" % (len(samples), run.err.splitlines()[-1])


def blocks_of(path):
    """[(time, value)] of a recording, by the description in docs/recording.md alone."""
    return [row[:2] for row in samples_of(path)]


def traces_of(path):
    """[(time, value, trace, span)] in the same way; "" for none."""
    return [row[:4] for row in samples_of(path)]


# How many columns a block has, by its format; which one has the traces and which one the marks.
BLOCK_FORMATS = {2: (11, None, None), 3: (13, 12, None), 4: (12, None, 11), 5: (14, 12, 13)}


def samples_of(path):
    """[(time, value, trace, span, marks)] in the same way."""
    found = []
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    for count, data in db.execute("SELECT samples, data FROM blocks"):
        form, length, crc = struct.unpack_from("<BII", data)
        raw = zlib.decompress(data[9:])
        check(form in BLOCK_FORMATS and len(raw) == length and zlib.crc32(raw) == crc, "a block that is not as described")
        column_count, traces, marked = BLOCK_FORMATS[form]
        n, period, base = struct.unpack_from("<IQQ", raw)
        lengths = struct.unpack_from("<%dI" % column_count, raw, 20)
        check(n == count, "%d samples, %d in the row", n, count)
        at, columns = 20 + 4 * len(lengths), []
        for size in lengths:
            columns.append(raw[at:at + size])
            at += size
        numbers = [list(varints(c)) for c in columns]
        contexts = [("", "")] + [(columns[11][j:j + 16].hex(), columns[11][j + 16:j + 24].hex())
                                 for j in range(0, len(columns[11]) if traces else 0, 24)]
        zigzag = lambda x: x >> 1 ^ -(x & 1)
        runs = numbers[0][1::2]
        i, last = 0, Counter()
        for run in runs:
            time, marks = base, 0
            for _ in range(run):
                time += numbers[1][i] * period + zigzag(numbers[2][i])
                key = columns[3][i], columns[4][i]
                if numbers[8][i]:
                    last[key] = numbers[8][i] - 1
                if marked and numbers[marked][i]:
                    marks = numbers[marked][i] - 1
                found.append((time, last[key], *contexts[numbers[traces][i] if traces else 0], marks))
                i += 1
        check(i == n, "%d samples of threads, not %d", i, n)
    db.close()
    return found


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


@case(timeout=90, patient=True)
def killed_while_recording(ctx):
    """What was recorded until some seconds before a kill is there, with its names, and the rest is said to be missing."""
    path = ctx.path("killed.extprof")
    ruby = ctx.ruby(ctx.write("recorded.rb", PROGRAM))
    ruby.expect("ready")
    reader = ctx.extprof_start("record", "-p", ruby.pid, "-F", "199", "-o", path)
    ctx.attached(reader)
    harness.until(lambda: count_blocks(path) >= 2, "no blocks come", timeout=40)
    reader.signal(signal.SIGKILL)
    reader.wait()
    report = ctx.extprof("report", path, "-f", "folded")
    check(report.status == 0 and "did not end" in report.err, "%d: %s", report.status, report.err)
    total = sum(int(line.rpartition(" ")[2]) for line in report.out.splitlines())
    check("Object#left" in report.out and total > 0, "%s", report.out[:300])
    head = ctx.extprof("report", path).ok().out
    check(re.search(r"^ruby 3\.\S+, on-CPU at 199 Hz by the clock for \d+\.\d s \(the recording did not end\)", head, re.M), "%s", head[:400])
    check(total == int(sql(ctx, path, "SELECT count(*) FROM samples")[0][0]), "%d samples in folded", total)
    check(ctx.extprof("verify", path).status == 0, "it is not right")
    # The file alone, as somebody would copy it who does not know of the other one.
    alone = ctx.extprof("verify", shutil.copy(path, ctx.path("alone.extprof")))
    check(alone.status == 74 and "-wal" in alone.err, "%d: %s", alone.status, alone.err)
    return "%d samples in %d blocks" % (total, count_blocks(path))


@case(timeout=120, patient=True)
def processes_of_one_that_was_killed(ctx):
    """Each process has its samples in the table, although nobody wrote the account."""
    path = ctx.path("killed.extprof")
    ruby = ctx.ruby("-e", "def turn = 1000.times { }\n3.times { |i| fork { loop { turn; sleep 0.002 * i } } }\nputs 'ready'\n$stdout.flush\nsleep")
    ruby.expect("ready")
    reader = ctx.extprof_start("record", "-p", ruby.pid, "-s", "-m", "cpu,wall", "-F", "199", "-o", path)
    ctx.attached(reader)
    harness.until(lambda: count_blocks(path) >= 2, "no blocks come", timeout=40)
    reader.signal(signal.SIGKILL)
    reader.wait()
    for mode in ("cpu", "wall"):
        out = ctx.extprof("report", path, "-m", mode, "--group-by", "process").ok().out
        table = out[out.index("\nProcesses\n"):]
        rows = {int(pid): (int(n), cpu) for pid, n, cpu in re.findall(r"^ +(\d+) +(\d+) +\S+ +(\S+) ", table, re.M)}
        truth = dict((int(pid), int(n)) for pid, n in sql(ctx, path, "SELECT pid, count(*) FROM samples WHERE mode='%s' GROUP BY 1" % mode))
        check({pid: n for pid, (n, _) in rows.items() if n} == truth and len(truth) >= 3, "%s, not %s", rows, truth)
        check(re.search(r"^ +all +%d " % sum(truth.values()), table, re.M), "%s, not %d", table[-300:], sum(truth.values()))
        check({cpu for _, cpu in rows.values()} == {"-"}, "CPU time that nobody knows: %s", rows)
    return "%d samples of %d processes" % (sum(truth.values()), len(truth))


def count_blocks(path):
    try:
        db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        try:
            return db.execute("SELECT count(*) FROM blocks").fetchone()[0]
        finally:
            db.close()
    except sqlite3.Error:
        return 0


@case(timeout=60)
def files_that_are_wrong(ctx):
    """Nothing is written over, nothing is left of a recording without samples, and what is no recording says so."""
    path = ctx.path("there.extprof")
    ctx.write("there.extprof", "mine")
    ruby = ctx.ruby("-e", "puts 1; $stdout.flush; sleep")
    ruby.expect("1")
    run = ctx.extprof("record", "-p", ruby.pid, "-d", "1", "-o", path)
    check(run.status == harness.OUTPUT and "exists already" in run.err and read(path) == b"mine", "%d: %s", run.status, run.err)
    run = ctx.extprof("report", path)
    check(run.status == 74 and "no recording" in run.err, "%d: %s", run.status, run.err)
    run = ctx.extprof("report", ctx.path("none.extprof"))
    check(run.status == 74 and "No such file" in run.err, "%d: %s", run.status, run.err)
    idle = ctx.path("idle.extprof")
    run = ctx.extprof("record", "-p", ruby.pid, "-d", "1", "-o", idle)
    check(run.status == 1 and not os.path.exists(idle), "%d: %s", run.status, run.err)
    run = ctx.extprof("record", "-p", ruby.pid, "-d", "1", "-o", idle, "-o", path + "2.extprof")
    check(run.status == harness.USAGE, "%d: %s", run.status, run.err)
    return "refused with their reasons"


@case(timeout=90)
def without_a_name(ctx):
    """`record` without -o writes a new file into the current folder and prints the summary; extprof -p does not."""
    ruby = ctx.ruby(ctx.write("recorded.rb", PROGRAM))
    ruby.expect("ready")
    folder = ctx.path("here")
    os.mkdir(folder)
    found = set()
    for _ in range(3):
        run = ctx.extprof("record", "-p", ruby.pid, "-d", "0.5", cwd=folder)
        check(run.status == 0 and "samples taken" in run.out and "samples recorded in extprof-%d-" % ruby.pid in run.err,
              "%d: %s %s", run.status, run.out[-300:], run.err)
        new = set(os.listdir(folder)) - found
        check(len(new) == 1, "files: %s", new)
        name = new.pop()
        check(re.fullmatch(r"extprof-%d-\d{8}-\d{6}(-\d+)?\.extprof" % ruby.pid, name), "%s", name)
        check(ctx.extprof("verify", os.path.join(folder, name)).status == 0, "%s is not right", name)
        found.add(name)
    run = ctx.extprof("-p", ruby.pid, "-d", "0.5", cwd=folder)
    check(run.status == 0 and set(os.listdir(folder)) == found, "extprof -p writes %s", set(os.listdir(folder)) - found)
    run = ctx.extprof("record", "-q", "-p", ruby.pid, "-d", "0.5", "-o", ctx.path("x.folded"), cwd=folder)
    check(run.status == 0 and set(os.listdir(folder)) == found, "with -o: %s", set(os.listdir(folder)) - found)
    idle = ctx.ruby("-e", "puts 1; $stdout.flush; sleep")
    idle.expect("1")
    run = ctx.extprof("record", "-p", idle.pid, "-d", "0.5", cwd=folder)
    check(run.status == 1 and set(os.listdir(folder)) == found, "nothing recorded: %d: %s", run.status, set(os.listdir(folder)) - found)
    # Several are checked, also those behind one that is not right.
    paths = [os.path.join(folder, name) for name in sorted(found)]
    with open(paths[0], "rb") as f:
        content = f.read()
    damaged = ctx.path("damaged.extprof")
    with open(damaged, "wb") as f:
        f.write(content[:len(content) // 2])
    run = ctx.extprof("verify", paths[0], damaged, *paths[1:])
    check(run.status == 74 and damaged in run.err, "%d: %s", run.status, run.err)
    check([line.split(": all right: ")[0] for line in run.out.splitlines()] == paths, "%s", run.out)
    check(ctx.extprof("verify").status == 64, "no recording")
    return "3 files, %s" % sorted(found)[0]


@case(timeout=60)
def parts_of_a_recording(ctx):
    """--since, --until, --filter, --mode and --group-by choose samples, and the parts add up to the whole."""
    path = ctx.path("parts.extprof")
    record(ctx, "-m", "cpu,wall", "-o", path)

    def total(*options):
        run = ctx.extprof("report", path, "-f", "folded", "--unit", "ns", *options)
        if run.status == 74 and "no such samples" in run.err:
            return 0
        check(run.status == 0, "%s: %d: %s", options, run.status, run.err)
        return sum(int(line.rpartition(" ")[2]) for line in run.out.splitlines())

    both, cpu, wall = total(), total("-m", "cpu"), total("-m", "wall")
    check(cpu and wall and both == cpu + wall, "%d, %d and %d", both, cpu, wall)
    check(total("--until", "1") + total("--since", "1") >= both, "parts of the time")
    check(0 < total("--until", "1") < both, "the first second")
    threads = [total("--filter", "thread=" + t) for t in ("worker 1", "worker 2")]
    check(all(threads), "threads %s", threads)
    check(total("--filter", "thread=worker ?") == sum(threads), "a pattern of threads")
    check(total("-m", "wall", "--filter", "state=running") <= wall, "states")
    run = ctx.extprof("report", path, "-m", "cpu", "-f", "folded", "--group-by", "thread", "--filter", "method=Object#left")
    check(run.status == 0 and not any("worker 2" in line for line in run.out.splitlines()), "%d: %s %s", run.status,
          run.out[:300], run.err)
    for wrong in (["-o", ctx.path("x.unknown")], ["--filter", "x"], ["-m", "alloc"], ["--group-by", "label:none"], ["-f", "nothing"]):
        run = ctx.extprof("report", path, *wrong)
        check(run.status == harness.USAGE and run.err, "%s: %d: %s", wrong, run.status, run.err)
    return "%d ns of cpu, %d of wall" % (cpu, wall)


LABELS = """
def work_a = 20_000.times { |i| i * i }
def work_b = 60_000.times { |i| i * i }
def work_none = 20_000.times { |i| i * i }
puts "ready"; $stdout.flush
loop do
  Fiber.with_labels(request: "GET /a", tenant: 7) { work_a }
  Fiber.with_labels(tenant: 7) { Fiber.with_labels(request: "GET /b", tenant: nil) { work_b } }
  work_none
end
"""


@case(timeout=60)
def labels_that_nobody_asked_for(ctx):
    """A recording without --group-by has the labels of each sample: the method says which they are."""
    path = ctx.path("labels.extprof")
    ruby = ctx.ruby(ctx.write("labels.rb", LABELS))
    ruby.expect("ready")
    run = ctx.extprof("record", "-q", "-p", ruby.pid, "-d", "2", "-o", path)
    check(run.status == 0, "status %d: %s", run.status, run.err)
    ruby.kill()

    def stacks(*options):
        report = ctx.extprof("report", path, "-f", "folded", *options)
        check(report.status == 0, "%s: %d: %s", options, report.status, report.err)
        return [(line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2])) for line in report.out.splitlines()]

    outer = {"a": ["[request=GET /a]", "[tenant=7]"], "b": ["[request=GET /b]", "[no tenant]"], "none": ["[no request]", "[no tenant]"]}
    counted = Counter()
    for frames, count in stacks("--group-by", "label:request,label:tenant"):
        for name in (f[len("Object#work_"):] for f in frames if f.startswith("Object#work_")):
            check(frames[:2] == outer[name], "work_%s under %s", name, frames[:2])
            counted[name] += count
    check(set(counted) == set(outer), "%s", counted)
    for pattern, name in (("label:request=GET /a", "a"), ("label:request=*b", "b"), ("label:tenant=7", "a")):
        found = stacks("--filter", pattern)
        check(all("Object#work_" + n not in f for f, _ in found for n in outer if n != name), "%s: %s", pattern, found[:3])
        check(sum(c for f, c in found if "Object#work_" + name in f) == counted[name], "%s: %s", pattern, found[:3])
    rows = sql(ctx, path, "SELECT count(*) FROM samples WHERE label(labels, 'request') = 'GET /b' AND label(labels, 'tenant') IS NULL")
    check(int(rows[0][0]) >= counted["b"], "SQL: %s", rows)
    return ", ".join("%s: %d" % c for c in counted.items())


@case(timeout=60)
def other_programs_with_sqlite(ctx):
    """The sqlite3 program has the table of samples by the extension."""
    if not shutil.which("sqlite3"):
        return harness.Counted(0, 0, 1, "there is no sqlite3 program")
    # build/bin/extprof is a link into the folder of the build; an installed one has lib beside bin.
    folder = os.path.dirname(os.path.realpath(harness.EXTPROF))
    places = [os.path.join(folder, "extprof-sqlite.so"), os.path.join(folder, "..", "lib", "extprof-sqlite.so")]
    extension = next((place for place in places if os.path.exists(place)), None)
    check(extension, "no extprof-sqlite.so in %s", places)
    path = ctx.path("others.extprof")
    record(ctx, "-o", path)
    statement = "SELECT count(*), sum(count) FROM samples"
    ours = sql(ctx, path, statement)[0]
    other = ctx.start(["sqlite3", path, ".load %s" % extension[:-3], statement, "SELECT count(*) FROM top_methods"])
    out, err = other.communicate()
    lines = (out.decode() if isinstance(out, bytes) else out).splitlines()
    check(lines and lines[0].split("|") == ours and int(lines[1]) > 3, "%s %s, not %s", lines, err, ours)
    return "%s samples" % ours[0]


# Puts the file `b` in the place of `a`, and `a` in that of `b`, as soon as there is an `a`.
SWAP = """
import ctypes, sys
libc = ctypes.CDLL(None)
a, b = (x.encode() for x in sys.argv[1:])
print('begun', flush=True)
while libc.renameat2(-100, a, -100, b, 2):
    pass
"""


@case(timeout=120, patient=True)
def replaced_while_it_is_made(ctx):
    """Who may write to the folder puts another database of root's, or a link to it, in the place of the new file."""
    ruby = ctx.ruby("-e", "puts 'ready'; $stdout.flush; loop { 100.times.sum }")
    ruby.expect("ready")
    of_root, theirs = ctx.path("of-root.db"), ctx.path("theirs")
    with sqlite3.connect(of_root) as db:
        db.execute("CREATE TABLE accounts(name)")
    db.close()
    before = read(of_root)
    os.mkdir(theirs)
    refused, made = 0, 0
    for i in range(24):
        name, other = os.path.join(theirs, "app-%d.extprof" % i), os.path.join(theirs, "other-%d" % i)
        (os.link if i % 2 else os.symlink)(of_root, other)
        swaps = ctx.start([sys.executable, "-c", SWAP, name, other])
        swaps.expect("begun")
        run = ctx.extprof("record", "-p", ruby.pid, "-d", "0.05", "-q", "-o", name, "--reader", "nonblocking")
        swaps.kill()
        check(read(of_root) == before, "another database was written to by run %d: %s", i, run.err)
        check(run.status in (0, harness.OUTPUT), "status %d: %s", run.status, run.err)
        refused += run.status == harness.OUTPUT
        made += not run.status
    check(refused, "no file was replaced in time")
    return "%d of %d were refused" % (refused, refused + made)


@case(timeout=60)
def several_files_of_one_report(ctx):
    """report, diff and annotate write each -o, as record does: what one alone has.  Wrong ones are refused before anything is written."""
    path = ctx.path("a.extprof")
    record(ctx, "-m", "cpu", "-o", path)
    commands = (("report", [path], ("svg", "folded", "pb.gz", "json")), ("diff", [path, path], ("svg", "json", "txt")),
                ("annotate", [path, "Object#left"], ("html", "txt")))
    for command, arguments, suffixes in commands:
        files = ["%s.%s" % (ctx.path("all-" + command), suffix) for suffix in suffixes]
        run = ctx.extprof(command, *arguments, *(word for f in files for word in ("-o", f)))
        check(run.status == 0 and not run.out, "%s: %d %s", command, run.status, run.err)
        for f in files:
            alone = f.replace("all-", "one-")
            check(ctx.extprof(command, *arguments, "-o", alone).status == 0, "%s", alone)
            check(read(f) == read(alone), "%s is not what it is alone", f)
        for wrong in (["-o", files[0] + "x.svg", "-o", files[0] + "x.nothing"], ["-o", files[0] + "x.svg", "-o", files[0] + "x.svg"],
                      ["-o", files[0] + "x.svg", "-o", files[0] + "y.svg", "--format", "flamegraph" if command != "annotate" else "html"]):
            run = ctx.extprof(command, *arguments, *wrong)
            check(run.status == harness.USAGE and not os.path.exists(files[0] + "x.svg"), "%s %s: %d %s", command, wrong, run.status, run.err)
    return ", ".join("%s %d" % (c, len(s)) for c, _, s in commands)
