"""Recordings in several files: each is right for its time, and together they are what one recording is."""
import collections
import datetime
import glob
import json
import os
import re
import resource
import signal
import time
import zoneinfo

import case_recording
import harness
from harness import case, check

# Methods that use as much of the clock CPU as they are told, and a line for each piece of work: CLOCK_MONOTONIC and CPU time.
SPANS = """
def now(clock) = Process.clock_gettime(clock)
def alpha(s) = (t = now(CPU) + s; 1 while now(CPU) < t)
def beta(s) = (t = now(CPU) + s; 1 while now(CPU) < t)
def span(method, s)
  from, cpu = now(Process::CLOCK_MONOTONIC), now(CPU)
  send(method, s)
  [method, from, now(Process::CLOCK_MONOTONIC), now(CPU) - cpu].join(" ")
end
"""
# A program that tells its work by its own clocks.
PROGRAM = """
STDOUT.sync = true
CPU = Process::CLOCK_PROCESS_CPUTIME_ID
""" + SPANS + """
Thread.new { Thread.current.name = "waits"; Queue.new.pop }
log, ends, hides, told = [], false, false, false
reader = Thread.new { while (line = gets); case line.chomp when "end" then ends = true; when "hide" then hides = !hides; end; end }
puts "ready"
until ends
  puts(told = hides) if told != hides
  hides ? (def hidden(s) = beta(s); hidden(0.02)) : (log << span(:alpha, 0.06) << span(:beta, 0.03))
  sleep 0.02
  GC.start if log.size % 10 == 0
end
puts log, "over"
sleep
"""
# It makes a system call now and then, and tells when: CLOCK_MONOTONIC before and after it, in ns.
CALLS = """
STDOUT.sync = true
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def call = File.open("/etc/hostname", &:close)
ends, log = false, []
Thread.new { gets; ends = true }
puts "ready"
until ends
  from = now
  call
  log << from << now
  sleep 0.002
end
puts log.join(" ")
sleep
"""
CHILDREN = """
STDOUT.sync = true
CPU = Process::CLOCK_PROCESS_CPUTIME_ID
def now(clock) = Process.clock_gettime(clock)
def child(s) = (t = now(CPU) + s; 1 while now(CPU) < t)
puts "ready"
gets
12.times { wait = fork { child(0.2); exit!(0) }; sleep 0.1; Process.wait(wait) }
puts "over"
sleep
"""
# Calls so near to the begin or end of a file, ns, can be on both sides.  There is one each 2 ms.
BORDER = 300_000
# What one step of the engine and the account of a small program bring at most.
SIZE_MORE = 128 << 10


def files_of(ctx, name="app"):
    return sorted(glob.glob(glob.escape(ctx.path(name)) + "-????????-??????-???Z.extprof"))


def sql(ctx, path, statement):
    run = ctx.extprof("sql", "-H", path, statement)
    check(run.status == 0, "%s: %s: status %d: %s", path, statement, run.status, run.err)
    return [line.split("\t") for line in run.out.splitlines()]


def number(ctx, path, statement):
    return float(sql(ctx, path, statement)[0][0])


def begin(ctx, pid, *options, name="app"):
    reader = ctx.extprof_start("record", *([] if "-q" in options else ["-v"]), "-p", pid, "-o", ctx.path(name + ".extprof"), *options)
    if "-q" not in options:
        reader.says("it is measured")
    return reader


def end(reader, status=0):
    reader.signal(signal.SIGTERM)
    out, err = reader.communicate()
    check(reader.p.returncode == status, "status %d: %s", reader.p.returncode, err[-500:])
    return err


def log_of(ruby):
    ruby.tell("end")
    spans = []
    while (line := ruby.line(60)) != "over":
        method, since, until, cpu = line.split()
        spans.append((method, float(since) * 1e9, float(until) * 1e9, float(cpu) * 1e9))
    return spans


def span_of(ctx, path):
    since = number(ctx, path, "SELECT value FROM meta WHERE key='started_monotonic_ns'")
    return since, since + number(ctx, path, "SELECT value FROM meta WHERE key='mode.1.duration'") * 1e9


def sampled(ctx, path, method, mode="cpu"):
    return number(ctx, path, "SELECT coalesce(sum(value), 0) FROM samples WHERE mode='%s' AND stack_text(stack) LIKE '%%Object#%s;%%'"
                  % (mode, method))


def used(spans, method, since, until):
    """CPU time of the method in that time, by the program's clocks."""
    return sum(cpu * max(0, min(until, b) - max(since, a)) / (b - a) for m, a, b, cpu in spans if m == method)


def verify(ctx, paths):
    run = ctx.extprof("verify", *paths)
    check(run.status == 0, "%s are not right: %s", paths, run.err)
    check([line.split(": all right: ")[0] for line in run.out.splitlines()] == list(paths), "%s: %s", paths, run.out)


def samples_of(ctx, *paths):
    run = ctx.extprof("report", *paths, "-m", "cpu", "--unit", "samples", "-f", "folded")
    # The last file can be over before its first sample.
    if run.status == 74 and "has no such samples" in run.err and all(sql(ctx, p, "SELECT count(*) FROM samples WHERE mode='cpu'") == [["0"]] for p in paths):
        return 0
    check(run.status == 0, "report: status %d: %s", run.status, run.err)
    return sum(int(line.rpartition(" ")[2]) for line in run.out.splitlines())


def near(what, got, wanted, share, more=0):
    check(abs(got - wanted) <= share * wanted + more, "%s: %.4g, not %.4g", what, got, wanted)


def until_files(ctx, count, name="app"):
    harness.until(lambda: len(files_of(ctx, name)) >= count, "there are not %d files" % count, timeout=90)


@case(timeout=90)
def requests_asked_in_sql(ctx):
    """Requests over several files, asked as one: those of each file, and a long one that goes on in the next file is whole in none."""
    ruby = ctx.ruby(ctx.write("served.rb", """
def spin(s) = (t = Process.clock_gettime(Process::CLOCK_MONOTONIC) + s; 1 while Process.clock_gettime(Process::CLOCK_MONOTONIC) < t)
def serve(name) = Fiber.new { Fiber.with_labels("request" => name) { yield } }.resume
STDOUT.sync = true
Thread.new { loop { serve("long") { spin 0.7; sleep 1 } } }
puts "ready"
loop { serve("short") { spin 0.03; sleep 0.03 } }
"""))
    ruby.expect("ready")
    folder = ctx.path("history")
    os.mkdir(folder)
    many = begin(ctx, ruby.pid, "-m", "cpu,wall", "--waits", "each", "-F", "199", "--rotate", "1s", name="history/app")
    until_files(ctx, 5, name="history/app")
    end(many)
    rows = "SELECT request, count(*), sum(whole), sum(duration_ns) FROM requests GROUP BY 1"
    each = collections.Counter()
    for path in files_of(ctx, "history/app"):
        for request, *numbers in sql(ctx, path, rows):
            for i, n in enumerate(numbers):
                each[request, i] += int(n)
    got = {(request, i): int(n) for request, *numbers in sql(ctx, folder, rows) for i, n in enumerate(numbers)}
    check(got == dict(each), "%s, and each file by itself %s", got, dict(each))
    check(got["request=long", 1] == 0 < got["request=long", 0] and got["request=short", 1] > 10, "%s", got)
    by = sql(ctx, folder, "SELECT request, requests, p50_ns, p95_ns, max_ns FROM requests_by_labels")
    told = json.loads(ctx.extprof("report", folder, "--requests-by", "request", "-f", "json").ok().out)
    counted = [["request=" + v["value"], *map(str, (v["count"], *(v["seen"][k] for k in ("p50", "p95", "max"))))] for v in told["values"] if v["count"]]
    check(by == counted and len(by) == 1, "%s, the report has %s", by, counted)
    return "%d short ones of %d are whole" % (got["request=short", 1], got["request=short", 0])


@case(timeout=120, waits=True)
def sums_are_those_of_one(ctx):
    """Beside a recording in one file; each file has its own time, no sample is in two, and all add up to the program's clock."""
    ruby = ctx.ruby(ctx.write("spans.rb", PROGRAM))
    ruby.expect("ready")
    options = ["-m", "cpu,wall,gc", "-F", "499"]
    one, many = begin(ctx, ruby.pid, *options, name="one"), begin(ctx, ruby.pid, *options, "--rotate", "1s")
    until_files(ctx, 6)
    said = end(many)
    end(one)
    spans, paths, whole = log_of(ruby), files_of(ctx), ctx.path("one.extprof")
    check("files %s-*.extprof; 0 older" % ctx.path("app") in said, "it says: %s", said[-300:])
    verify(ctx, paths)
    times = [span_of(ctx, p) for p in paths]
    check(all(a[1] <= b[0] for a, b in zip(times, times[1:])), "the files' times overlap: %s", times)
    sums = {"alpha": 0, "beta": 0}
    waits = 0
    # The timers start one after the other, before the time of a file begins.
    ends = [times[0][0] - 1e8] + [b for _, b in times]
    for path, (since, until), before in zip(paths, times, ends):
        outside = sql(ctx, path, "SELECT count(*) FROM samples WHERE mode='cpu' AND (time_ns<%d OR time_ns>%d)" % (before, until))
        check(outside == [["0"]], "%s samples of %s are not of its time", outside, path)
        for method in sums:
            got = sampled(ctx, path, method)
            sums[method] += got
            near("%s in %s" % (method, path), got, used(spans, method, since, until), 0.2, 3e7)
        wait = number(ctx, path, "SELECT sum(ns) FROM thread_accounts a JOIN thread_states ON account=a.id JOIN strings n ON "
                      "n.id=a.name WHERE n.text LIKE '%waits%'")
        near("the thread that waits, in " + path, wait, until - since, 0.05, 2e7)
        waits += wait
    since, until = times[0][0], times[-1][1]
    gaps = until - since - sum(b - a for a, b in times)
    for method, got in sums.items():
        near(method + " in all files", got, used(spans, method, since, until), 0.1)
        near(method + " in one file", sampled(ctx, whole, method), used(spans, method, *span_of(ctx, whole)), 0.1)
    check(samples_of(ctx, *paths) == sum(samples_of(ctx, p) for p in paths), "the report of all has not the samples of each")
    lost = [sql(ctx, p, "SELECT reason, samples FROM accounts WHERE process=0 AND mode=0 AND reason LIKE 'lost %'") for p in paths]
    # A wait at the end of a file can be over while its stack is read: then nothing is known of where it was.
    check(all(l == [] or (len(l) == 1 and l[0][0] == "lost no-stack" and int(l[0][1]) <= 2) for l in lost) and sum(map(len, lost)) <= 2,
          "samples are lost: %s", lost)
    held = [float(ms) for ms in re.findall(r"no sample was taken for ([0-9.]+) ms", said)]
    check(len(held) == len(paths) - 1, "it tells of %d changes, and there are %d files", len(held), len(paths))
    return "%d files, alpha %.2f s beta %.2f s by samples, wait %.2f s of %.2f s; %.1f ms between two files" % (
        len(paths), sums["alpha"] / 1e9, sums["beta"] / 1e9, waits / 1e9, (until - since) / 1e9, gaps / 1e6 / (len(paths) - 1))


@case(timeout=90)
def all_asked_in_sql(ctx):
    """Files of a folder, asked as one: the sums and waits of each, the samples of a time as the report has them, and the program's clock."""
    ruby = ctx.ruby(ctx.write("spans.rb", PROGRAM))
    ruby.expect("ready")
    folder = ctx.path("history")
    os.mkdir(folder)
    many = begin(ctx, ruby.pid, "-m", "cpu,wall,gc,alloc", "-F", "499", "--rotate", "1s", name="history/app")
    until_files(ctx, 5, name="history/app")
    end(many)
    spans, paths = log_of(ruby), files_of(ctx, "history/app")
    sums = "SELECT mode, coalesce(method, ''), coalesce(thread_name, ''), sum(value), sum(count), count(*) FROM samples GROUP BY 1, 2, 3"
    each = collections.Counter()
    for path in paths:
        for mode, method, thread, *numbers in sql(ctx, path, sums):
            for i, number_of_it in enumerate(numbers):
                each[mode, method, thread, i] += int(number_of_it)
    got = {(mode, method, thread, i): int(n) for mode, method, thread, *numbers in sql(ctx, folder, sums) for i, n in enumerate(numbers)}
    check(got == dict(each) and len(got) > 20, "%s, and each file by itself %s", set(got.items()) - set(each.items()), set(each.items()) - set(got.items()))
    for table in ("pauses", "events", "accounts", "thread_states", "figures"):
        amount = "SELECT coalesce(sum(%s), 0) FROM %s" % ({"accounts": "samples", "thread_states": "ns"}.get(table, "1"), table)
        check(sql(ctx, folder, amount)[0][0] == str(sum(int(sql(ctx, p, amount)[0][0]) for p in paths)), "table %s", table)
    since, until = (span_of(ctx, paths[1])[0] - span_of(ctx, paths[0])[0]) / 1e9 + 0.2, (span_of(ctx, paths[2])[1] - span_of(ctx, paths[0])[0]) / 1e9 - 0.2
    times = ["--since", "%.3f" % since, "--until", "%.3f" % until]
    run = ctx.extprof("sql", "-H", *times, folder, "SELECT count(*), max(seconds) - min(seconds) <= %.3f FROM samples WHERE mode='cpu'" % (
        until - since)).ok().out.split()
    counted = sum(int(line.rpartition(" ")[2]) for line in ctx.extprof("report", folder, *times, "-m", "cpu", "-f", "folded", "--unit",
                                                                      "samples").ok().out.splitlines())
    check(run == [str(counted), "1"] and counted > 100, "%s, the report has %d", run, counted)
    whole = int(sql(ctx, folder, "SELECT self FROM top_methods WHERE mode='cpu' AND method LIKE '%alpha%'")[0][0])
    from_, to = span_of(ctx, paths[0])[0], span_of(ctx, paths[-1])[1]
    near("alpha", sum(int(r[0]) for r in sql(ctx, folder, "SELECT total FROM top_methods WHERE mode='cpu' AND method LIKE '%alpha%'")),
         used(spans, "alpha", from_, to), 0.15, 5e7)
    return "%d files, %d sums, %d samples of a time; alpha itself %.2f s" % (len(paths), len(got), counted, whole / 1e9)


@case(timeout=90)
def calls_are_in_the_file_of_their_time(ctx):
    """Probes stay where they are between two files: each call that begins and ends in the time of a file is in it, and no other."""
    ruby = ctx.ruby(ctx.write("calls.rb", CALLS))
    ruby.expect("ready")
    reader = begin(ctx, ruby.pid, "-m", "syscall,event", "--syscall", "openat", "--event", "libc.so.6:open64", "--rotate", "500ms")
    until_files(ctx, 8)
    said = end(reader)
    ruby.tell("end")
    times = list(map(int, ruby.line(60).split()))
    calls, paths, counted = list(zip(times[::2], times[1::2])), files_of(ctx), {"syscall": 0, "event": 0}
    outside = []
    verify(ctx, paths)
    for path in paths:
        since, until = span_of(ctx, path)
        # The kernel knows the program before the first file begins.
        unknown = sql(ctx, path, "SELECT process, samples FROM accounts WHERE reason='unfollowed' AND samples > 0")
        check(not unknown, "%s begins before the program is known: %s", path, unknown)
        # Between the moment that it takes for a border and the border itself extprof can lose its CPU for longer than
        # BORDER: then one call is on the other side, in each mode.
        inside = sum(since + BORDER < a and b < until - BORDER for a, b in calls)
        touches = sum(since - BORDER < b and a < until + BORDER for a, b in calls)
        for mode in counted:
            got = number(ctx, path, "SELECT count(*) FROM samples WHERE mode='%s' AND stack_text(stack) LIKE '%%Object#call;%%'" % mode)
            off = max(inside - got, got - touches, 0)
            if off:
                outside.append("%s has %d of mode %s, %d calls were in its time, %d touch it: %s" % (
                    path, got, mode, inside, touches, sql(ctx, path, "SELECT * FROM accounts")))
            check(off <= 1 and len(outside) <= len(counted), "%s", "; ".join(outside))
            counted[mode] += got
    check(min(counted.values()) > 300, "%s", counted)
    held = sorted(float(ms) for ms in re.findall(r"no sample was taken for ([0-9.]+) ms", said))
    return "%d files, %s, %d at another side; %.1f ms between two files" % (len(paths), counted, len(outside), held[len(held) // 2])


@case(timeout=90, waits=True)
def trend_of_a_method(ctx):
    """A row for each file, with what SQL has of it and what the program's clocks say; the change is told where the program changed."""
    ruby = ctx.ruby(ctx.write("spans.rb", PROGRAM))
    ruby.expect("ready")
    reader = begin(ctx, ruby.pid, "-m", "cpu", "-F", "999", "--rotate", "1s")
    until_files(ctx, 4)
    changed = time.monotonic_ns()
    ruby.tell("hide")
    ruby.expect("true")
    until_files(ctx, 8)
    end(reader)
    spans, paths = log_of(ruby), files_of(ctx)
    run = ctx.extprof("report", os.path.dirname(paths[0]), "--trend", "Object#alph?", "-f", "json")
    check(run.status == 0, "report: status %d: %s", run.status, run.err)
    rows = json.loads(run.out)["recordings"]
    check([os.path.basename(r["recording"]) for r in rows] == [os.path.basename(p) for p in paths], "rows: %s", rows)
    decided = []
    for path, row in zip(paths, rows):
        since, until = span_of(ctx, path)
        got = number(ctx, path, "SELECT coalesce(sum(value), 0) FROM samples WHERE mode='cpu' AND stack_text(stack) || ';' LIKE "
                     "'%Object#alpha;%'")
        check(row["of_it"] == got, "%s has %d, SQL %d", path, row["of_it"], got)
        check(row["all"] == number(ctx, path, "SELECT coalesce(sum(value), 0) FROM samples WHERE mode='cpu'"), "%s: all is %d", path, row["all"])
        near("alpha in " + path, row["of_it"], used(spans, "alpha", since, until), 0.1, 3e7)
        decided += [until > changed] if row["decided"] else []
        if until < changed - 1e8:
            check(0.5 < row["share"] < 0.8, "%s: a share of %.3f, not of 2/3", path, row["share"])
        if since > changed + 2e8:
            check(row["share"] == 0, "%s: a share of %.3f after the end", path, row["share"])
    # What lies on both sides of the change can differ from both.
    check(decided and all(decided) and len(decided) <= 2, "changes are told at %s: %s", decided, rows)
    text = ctx.extprof("report", *paths, "--trend", "Object#alpha").out.splitlines()
    check(len(text) == 3 + len(paths) and text[2].split()[0][:2] == "20", "%s", text)
    typo = ctx.extprof("report", *paths, "--trend", "Object#alhpa")
    check(typo.status == 74 and "no stack of the recordings has a method of that name" in typo.err and not typo.out, "%s", typo.err)
    # A recording of another mode in the folder is a row, not the end.
    other = ctx.path("other.extprof")
    ctx.extprof("record", "-m", "wall", "-o", other, "--", harness.RUBY, "--disable=gems", "-e", "sleep 0.3").ok()
    mixed = ctx.extprof("report", *paths, other, "--trend", "Object#alpha", "-m", "cpu", "-f", "json").ok()
    got = json.loads(mixed.out)["recordings"]
    check([r["recording"] for r in got if r["all"] is None] == [other], "%s", got)
    check([r for r in got if r["recording"] != other] == rows, "%s, not %s", got, rows)
    text = ctx.extprof("report", *paths, other, "--trend", "Object#alpha", "-m", "cpu").ok().out.splitlines()
    check([line for line in text if line.endswith("without this mode")] == [text[-2]], "%s", text)
    none = ctx.extprof("report", *paths, "--trend", "Object#alpha", "-m", "gc")
    check(none.status != 0 and 'mode "gc" was not recorded' in none.err, "%s", none.err)
    return "shares %s" % ["%.2f" % r["share"] for r in rows]


def clock(zone, at, form="%H:%M:%S"):
    """A time, s since 1970, as the clock of a zone shows it."""
    return datetime.datetime.fromtimestamp(at, zoneinfo.ZoneInfo(zone)).strftime(form)


def folded_of(run):
    """Samples by method of the program."""
    return folded_text(run.out)


def folded_text(text):
    sums = {}
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        for method in ("alpha", "beta"):
            sums[method] = sums.get(method, 0) + int(count) * ("Object#%s" % method in stack)
    return sums


@case(timeout=120, patient=True)
def a_folder_and_times_of_the_clock(ctx):
    """Of a folder what was between two times of the clock, in two zones: the samples that SQL counts, and the program's clocks."""
    ruby = ctx.ruby(ctx.write("spans.rb", PROGRAM))
    ruby.expect("ready")
    folder = ctx.path("day")
    os.mkdir(folder)
    reader = begin(ctx, ruby.pid, "-F", "499", "--rotate", "1s", name="day/app")
    until_files(ctx, 6, "day/app")
    running = ctx.extprof("report", folder, "-f", "folded")
    check(running.status == 0 and sum(folded_of(running).values()) > 0, "while it is written: status %d: %s", running.status, running.err)
    end(reader)
    spans, paths = log_of(ruby), files_of(ctx, "day/app")
    walls = [number(ctx, p, "SELECT value FROM meta WHERE key='started_unix_ns'") - span_of(ctx, p)[0] for p in paths]
    whole = span_of(ctx, paths[0])[0], span_of(ctx, paths[-1])[1]
    # Whole seconds of the clock.
    since = int((whole[0] + walls[0]) // 1e9) + 2
    until = since + 2
    from_to = [(since * 10**9 - wall, until * 10**9 - wall) for wall in walls]
    counted = {"alpha": 0, "beta": 0}
    for path, (a, b) in zip(paths, from_to):
        for method in counted:
            counted[method] += number(ctx, path, "SELECT count(*) FROM samples WHERE time_ns>=%d AND time_ns<=%d AND "
                                      "stack_text(stack)||';' LIKE '%%Object#%s;%%'" % (a, b, method))
    seen = set()
    for zone in ("Asia/Kolkata", "America/New_York"):
        for form in ("%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"):
            run = ctx.extprof("report", folder, "-f", "folded", "--since", clock(zone, since, form), "--until", clock(zone, until, form),
                              "--unit", "samples", env={"TZ": zone})
            check(run.status == 0, "status %d: %s", run.status, run.err)
            got = folded_of(run)
            check(got == counted, "%s: %s, and SQL counts %s", clock(zone, since, form), got, counted)
            seen.add(clock(zone, since, form))
    check(len(seen) == 6, "times of two zones are the same: %s", seen)
    for method, samples in counted.items():
        near("CPU time of " + method, samples / 499 * 1e9, used(spans, method, *from_to[0]), 0.1, 2e7)
    parts = [folded_of(ctx.extprof("report", folder, "-f", "folded", "--unit", "samples", *options).ok()) for options in (
        ["--until", clock("UTC", since, "%Y-%m-%dT%H:%M:%SZ")], ["--since", clock("UTC", since, "%Y-%m-%dT%H:%M:%SZ")], [])]
    for method in counted:
        check(parts[0][method] + parts[1][method] == parts[2][method] > parts[0][method] > 0, "%s before, after, all: %s", method, parts)
    # So long after the begin of the first of them, not of those that are opened.
    after = folded_of(ctx.extprof("report", folder, "-f", "folded", "--unit", "samples", "--since", "2500ms").ok())
    first = [whole[0] + 2.5e9 + walls[0] - wall for wall in walls]
    expected = sum(number(ctx, p, "SELECT count(*) FROM samples WHERE time_ns>=%d AND stack_text(stack)||';' LIKE '%%Object#alpha;%%'" % a)
                   for p, a in zip(paths, first))
    check(after["alpha"] == expected, "2.5 s after the begin: %s, not %s", after["alpha"], expected)
    # A recording goes on behind its last sample.
    end_at = max(max(span_of(ctx, p)[1], number(ctx, p, "SELECT coalesce(max(time_ns), 0) FROM samples")) + wall for p, wall in zip(paths, walls))
    expected = sum(number(ctx, p, "SELECT count(*) FROM samples WHERE time_ns>=%d AND stack_text(stack)||';' LIKE '%%Object#beta;%%'"
                          % (end_at - 2.5e9 - wall)) for p, wall in zip(paths, walls))
    before = folded_of(ctx.extprof("report", folder, "-f", "folded", "--unit", "samples", "--since", "-2500ms").ok())
    check(before["beta"] == expected, "2.5 s before the end: %s, not %s", before["beta"], expected)
    # Both sides of a comparison can be a folder.
    compared = ctx.extprof("diff", paths[1], folder, "-f", "json", "--since", clock("UTC", since - 3600, "%Y-%m-%dT%H:%M:%SZ"))
    check(compared.status == 0, "status %d: %s", compared.status, compared.err)
    for side, files in (("before", paths[1:2]), ("after", paths)):
        every = sum(number(ctx, p, "SELECT coalesce(sum(value), 0) FROM samples") for p in files)
        check(json.loads(compared.out)[side]["amount"] == every, "%s: %s, not %d", side, json.loads(compared.out)[side], every)
    annotated = ctx.extprof("annotate", folder, "Object#alpha")
    check(annotated.status == 64 and "takes one recording" in annotated.err, "status %d: %s", annotated.status, annotated.err)
    none = ctx.extprof("report", folder, "--since", "2001-01-01 10:00", "--until", "2001-01-01 11:00")
    check(none.status == 74 and "has nothing of that time" in none.err, "status %d: %s", none.status, none.err)
    wrong = ctx.extprof("report", folder, "--since", clock("UTC", until, "%Y-%m-%dT%H:%M:%SZ"), "--until", clock("UTC", since, "%Y-%m-%dT%H:%M:%SZ"))
    check(wrong.status == 64 and "is not after --since" in wrong.err, "status %d: %s", wrong.status, wrong.err)
    os.utime(ctx.write("day/bad\033[31m.extprof", "no recording"), (0, 0))
    ctx.write("day/begun.extprof", "")
    bad = ctx.extprof("report", folder, "-f", "folded", "--unit", "samples")
    check(bad.status == 74 and "is left out" in bad.err and "\033" not in bad.err and "begun" not in bad.err and folded_of(bad) == parts[2], "status %d: %s",
          bad.status, bad.err)
    os.mkdir(ctx.path("empty"))
    empty = ctx.extprof("report", ctx.path("empty"))
    check(empty.status == 74 and "no recording" in empty.err, "status %d: %s", empty.status, empty.err)
    return "alpha %d beta %d samples of 2 s in %d files, %.2f s and %.2f s by the program's clocks" % (
        counted["alpha"], counted["beta"], len(paths), used(spans, "alpha", *from_to[0]) / 1e9, used(spans, "beta", *from_to[0]) / 1e9)


@case(timeout=120)
def keeps_the_newest(ctx):
    """N files stay, and nothing that this run has not made goes: neither what has such a name, nor what took one's place."""
    ruby = ctx.ruby(ctx.write("spans.rb", PROGRAM))
    ruby.expect("ready")
    older = ctx.write("app-20200101-000000-000Z.extprof", "mine")
    reader = begin(ctx, ruby.pid, "--rotate", "300ms", "--keep", "3")
    until_files(ctx, 4)
    first = files_of(ctx)[1]
    other = ctx.write("other", "not a recording")
    os.rename(other, first)
    harness.until(lambda: files_of(ctx)[2:3] and files_of(ctx)[1] == first and number_of(files_of(ctx)[2], reader) >= 6,
                  "it does not go on", timeout=60)
    said = end(reader)
    paths = files_of(ctx)
    check(paths[0] == older and open(older).read() == "mine", "a file of another run is gone: %s", paths)
    check(paths[1] == first and open(first).read() == "not a recording", "what took the place of a file is gone: %s", paths)
    check(len(paths) == 5, "%d files stay, not 3: %s", len(paths) - 2, paths)
    verify(ctx, paths[2:])
    made, removed = re.search(r"recorded in (\d+) files.*; (\d+) older", said).groups()
    check(int(made) - 3 - 1 == int(removed), "%s made, %s removed", made, removed)
    left = [f for f in os.listdir(ctx.directory) if f.endswith(("-wal", "-shm"))]
    check(not left, "files are left: %s", left)
    return "%s files made, %s removed, 3 and two others stay" % (made, removed)


NUMBERS = {}


def number_of(path, reader):
    """How many files were the oldest one of ours so far."""
    NUMBERS.setdefault(reader.pid, set()).add(path)
    return len(NUMBERS[reader.pid])


LABELLED = """
def alpha = 2000.times { |i| i * i }
def beta = 2000.times { |i| i * i }
threads = [["GET /long", :alpha, 1000], ["POST /short", :beta, 0.02]].map do |name, method, s|
  Thread.new do
    loop do
      Fiber.with_labels(request: name) { t = Process.clock_gettime(1) + s; send(method) while Process.clock_gettime(1) < t }
    end
  end
end
puts "ready"; $stdout.flush
threads.each(&:join)
"""


@case(timeout=120)
def labels_and_sources(ctx):
    """A request that began files ago has its label in each file, and each file has the source of what it saw."""
    program = ctx.write("labelled.rb", LABELLED)
    ruby = ctx.ruby(program)
    ruby.expect("ready")
    reader = begin(ctx, ruby.pid, "-F", "499", "--sources", "--rotate", "700ms")
    until_files(ctx, 5)
    end(reader)
    paths = files_of(ctx)[:-1]
    verify(ctx, paths)
    for path in paths:
        run = ctx.extprof("report", path, "--group-by", "label:request", "-f", "folded").ok()
        methods = {"[request=GET /long]": ("#alpha", 0), "[request=POST /short]": ("#beta", 0)}
        wrong = 0
        for line in run.out.splitlines():
            stack, _, count = line.rpartition(" ")
            group = stack.split(";")[0]
            for label, (method, had) in methods.items():
                if method in stack:
                    wrong += group != label
                    methods[label] = (method, had + int(count) * (group == label))
        check(not wrong and all(had > 20 for _, had in methods.values()), "%s: %d wrong, %s", path, wrong, methods)
        text = sql(ctx, path, "SELECT count(*) FROM sources")
        check(text != [["0"]], "%s has no source", path)
        run = ctx.extprof("annotate", path, program)
        check(run.status == 0 and "def alpha" in run.out, "annotate %s: status %d: %s", path, run.status, run.err)
    return "%d files" % len(paths)


@case(timeout=120)
def begins_late(ctx):
    """With --delay the first file begins after it, and a time is of what is recorded."""
    ruby = ctx.ruby(ctx.write("spans.rb", PROGRAM))
    ruby.expect("ready")
    began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    ctx.extprof("record", "-q", "-p", ruby.pid, "-F", "499", "--delay", "1", "-d", "2.2", "--rotate", "1s",
                "-o", ctx.path("app.extprof")).ok()
    ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    spans, paths = log_of(ruby), files_of(ctx)
    check(len(paths) == 3, "%s", paths)
    verify(ctx, paths)
    times = [span_of(ctx, p) for p in paths]
    check(times[0][0] - began > 1e9, "the first file begins %.2f s after the command", (times[0][0] - began) / 1e9)
    whole = sum(until - since for since, until in times)
    # extprof can be late on a busy machine, at the end, too.
    check(2.15e9 < whole <= ended - began - 1e9, "all files have recorded %.2f s of %.2f s", whole / 1e9, (ended - began) / 1e9)
    for path, (since, until) in zip(paths, times):
        near("alpha in " + path, sampled(ctx, path, "alpha"), used(spans, "alpha", since, until), 0.2, 3e7)
    return "%.2f s in %d files" % (whole / 1e9, len(paths))


@case(timeout=120, patient=True)
def killed(ctx):
    """kill -9: files before are whole, the last one is as that of any recording."""
    ruby = ctx.ruby(ctx.write("spans.rb", PROGRAM))
    ruby.expect("ready")
    reader = begin(ctx, ruby.pid, "--rotate", "7s")
    until_files(ctx, 2)
    last = files_of(ctx)[1]
    harness.until(lambda: case_recording.count_blocks(last) >= 1, "no block comes", timeout=60)
    reader.signal(signal.SIGKILL)
    reader.wait()
    paths = files_of(ctx)
    verify(ctx, paths)
    run = ctx.extprof("report", paths[0], "-f", "folded")
    check(run.status == 0 and "did not end" not in run.err, "the first file: %d: %s", run.status, run.err)
    run = ctx.extprof("report", paths[1], "-f", "folded")
    check(run.status == 0 and "did not end" in run.err and "Object#alpha" in run.out, "the last file: %d: %s", run.status, run.err)
    return "%d and %d samples" % (samples_of(ctx, paths[0]), samples_of(ctx, paths[1]))


@case(timeout=120, waits=True)
def pauses(ctx):
    """A pause over the time of several files: none is made meanwhile, and nothing of it is in any."""
    ruby = ctx.ruby(ctx.write("spans.rb", PROGRAM))
    ruby.expect("ready")
    reader = begin(ctx, ruby.pid, "-m", "cpu,wall", "-F", "499", "--rotate", "800ms")
    until_files(ctx, 3)
    reader.signal(signal.SIGUSR2)
    reader.says("paused; SIGUSR2 goes on")
    ruby.tell("hide")
    ruby.expect("true")
    before = files_of(ctx)
    time.sleep(2)
    check(files_of(ctx) == before, "files were made in the pause")
    ruby.tell("hide")
    ruby.expect("false")
    reader.signal(signal.SIGUSR2)
    until_files(ctx, len(before) + 2)
    end(reader)
    spans, paths = log_of(ruby), files_of(ctx)
    verify(ctx, paths)
    paused = [p for p in paths if sql(ctx, p, "SELECT 1 FROM events e JOIN strings s ON s.id=e.kind WHERE s.text='paused'")]
    check(paused == [before[-1]], "the pause is in %s, not in %s", paused, before[-1])
    got = sum(sampled(ctx, p, "alpha") for p in paths)
    hidden = sum(sampled(ctx, p, "hidden") for p in paths)
    check(hidden == 0, "%d ns of the pause are sampled", hidden)
    pause = sql(ctx, before[-1], "SELECT time_ns, number FROM events e JOIN strings s ON s.id=e.kind WHERE s.text='paused'")[0]
    since, until = int(pause[0]), int(pause[0]) + int(pause[1])
    # Between two files nothing is sampled: for long on a busy machine.  The duration of a file is without its pause.
    wanted = 0
    for p in paths:
        begins, ends = span_of(ctx, p)
        ends += until - since if p == before[-1] else 0
        wanted += used(spans, "alpha", begins, ends) - (used(spans, "alpha", since, until) if p == before[-1] else 0)
    near("alpha", got, wanted, 0.1)
    return "%d files, paused for %.1f s, alpha %.2f s of %.2f s" % (len(paths), (until - since) / 1e9, got / 1e9, wanted / 1e9)


@case(timeout=120)
def children(ctx):
    """Processes that begin and end in different files: their CPU time is all there."""
    ruby = ctx.ruby(ctx.write("children.rb", CHILDREN))
    ruby.expect("ready")
    reader = begin(ctx, ruby.pid, "-s", "-F", "499", "--rotate", "500ms")
    ruby.tell("go")
    check(ruby.line(60) == "over", "it did not end")
    time.sleep(0.3)
    end(reader)
    paths = files_of(ctx)
    check(len(paths) >= 3, "%d files", len(paths))
    verify(ctx, paths)
    got = sum(sampled(ctx, p, "child") for p in paths)
    near("CPU time of the children by samples", got, 12 * 0.2e9, 0.1)
    kernel = sum(number(ctx, p, "SELECT coalesce(sum(cpu_ns), 0) FROM processes WHERE parent>0") for p in paths)
    near("their CPU time by the kernel", kernel, 12 * 0.2e9, 0.15)
    both = len({row[0] for p in paths for row in sql(ctx, p, "SELECT pid FROM processes WHERE parent>0 AND cpu_ns>0")})
    check(both == 12, "%d children have CPU time, not 12", both)
    return "12 children in %d files: %.2f s by samples, %.2f s by the kernel" % (len(paths), got / 1e9, kernel / 1e9)


@case(timeout=150, patient=True)
def by_size(ctx):
    """Each file but the last has the size, and not much more."""
    ruby = ctx.ruby(ctx.write("spans.rb", PROGRAM))
    ruby.expect("ready")
    reader = begin(ctx, ruby.pid, "-m", "cpu,wall", "-F", "8000", "--waits", "each", "--rotate", "256KB")
    until_files(ctx, 4)
    end(reader)
    paths = files_of(ctx)
    verify(ctx, paths)
    sizes = [os.path.getsize(p) for p in paths]
    check(all((256 << 10) * 0.6 <= s <= (256 << 10) + SIZE_MORE for s in sizes[:-1]), "files of %s bytes", sizes)
    return "%s bytes" % sizes


def resident(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))


@case(timeout=300, patient=True)
def memory_is_that_of_one(ctx):
    """Some hundred files: extprof has no more memory at the end than when it had made some."""
    ruby = ctx.ruby(ctx.write("spans.rb", PROGRAM))
    ruby.expect("ready")
    reader = begin(ctx, ruby.pid, "-q", "-m", "cpu,wall", "--rotate", "100ms")
    until_files(ctx, 60)
    before = resident(reader.pid)
    harness.until(lambda: len(files_of(ctx)) >= 360, "there are not 360 files", timeout=200)
    after = resident(reader.pid)
    end(reader)
    paths = files_of(ctx)
    verify(ctx, paths[::60])
    check(after < before + 4096, "RSS %d KiB after 60 files, %d KiB after %d", before, after, len(paths))
    return "RSS %.1f MB after 60 files, %.1f MB after %d" % (before / 1024, after / 1024, len(paths))


def measured(ctx, *args):
    """extprof with 16 files at most: its output, and the peak of its memory in KiB."""
    out = ctx.path("measured.folded")
    reader = ctx.extprof_start(*args, "-f", "folded", "-o", out, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16)))
    peak = 0
    while reader.p.poll() is None:
        try:
            with open("/proc/%d/status" % reader.pid) as f:
                found = re.search(r"VmHWM:\s+(\d+)", f.read())
        except ProcessLookupError:
            found = None
        peak = int(found.group(1)) if found else peak
        time.sleep(0.002)
    out_text, err = reader.communicate()
    check(reader.p.returncode == 0, "status %d: %s", reader.p.returncode, err[-500:])
    with open(out) as f:
        return f.read(), peak


@case(timeout=300, patient=True)
def two_hundred_are_the_sum_of_each(ctx):
    """More files than may be open: SQL counts each by itself; the memory is that of a few."""
    ruby = ctx.ruby(ctx.write("spans.rb", PROGRAM))
    ruby.expect("ready")
    folder = ctx.path("day")
    os.mkdir(folder)
    reader = begin(ctx, ruby.pid, "-q", "-F", "499", "-m", "cpu,wall", "--rotate", "100ms", name="day/app")
    harness.until(lambda: len(files_of(ctx, "day/app")) >= 201, "there are not 201 files", timeout=200)
    end(reader)
    paths = [p for p in files_of(ctx, "day/app") if number(ctx, p, "SELECT count(*) FROM samples")]
    check(len(paths) >= 200, "%d files have samples", len(paths))
    total, counted = collections.Counter(), {}
    for path in paths:
        own = {m: number(ctx, path, "SELECT coalesce(sum(count), 0) FROM samples WHERE mode='cpu' AND stack_text(stack)||';' LIKE "
                         "'%%Object#%s;%%'" % m) for m in ("alpha", "beta")}
        counted[path] = own
        total.update(own)
    got, peak = measured(ctx, "report", folder, "-m", "cpu", "--unit", "samples")
    got = folded_text(got)
    check(got == dict(total), "%s, and the sums of SQL are %s", got, dict(total))
    names, some = measured(ctx, "report", *paths[:20], "-m", "cpu", "--unit", "samples")
    check(folded_text(names) == {m: sum(counted[p][m] for p in paths[:20]) for m in ("alpha", "beta")}, "20 files: %s", names)
    # A frame, a process and a thread that go on have one place, in however many files they are.
    check(peak < some + 8192, "peak of %d KiB for %d files, of %d KiB for 20", peak, len(paths), some)
    report = json.loads(ctx.extprof("report", folder, "-m", "cpu", "-f", "json").ok().out)
    check(len(report["recordings"]) == len(paths), "%d rows of recordings", len(report["recordings"]))
    summary = ctx.extprof("report", folder, "-m", "cpu").ok().out
    # Each file's CPU time of the process, and the process once.
    seconds = sum(number(ctx, p, "SELECT cpu_ns FROM processes WHERE pid=%d" % ruby.pid) for p in paths) / 1e9
    check(re.search(r"CPU s.*\n.*\n", summary) is not None and "more)" in summary, "%s", summary[-1500:])
    row = next((line for line in summary.splitlines() if re.match(r"\s+all\s", line)), "")
    check(abs(float(row.split()[2]) - seconds) <= 0.02, "all have %s, and the files %.2f s", row, seconds)
    traced = ctx.extprof("report", folder, "--requests", "-f", "json").ok()
    check(json.loads(traced.out)["all"] == 0, "%s", traced.out)
    firefox = ctx.extprof("report", folder, "-f", "firefox", "-o", ctx.path("all.firefox.json"))
    check(firefox.status == 0, "firefox: %d: %s", firefox.status, firefox.err)
    with open(ctx.path("all.firefox.json")) as f:
        moments = sum(len(t["samples"]["stack"]) for t in json.load(f)["threads"])
    check(moments > 0, "no moments")
    return "%d files, %d samples of alpha and beta; peak of %.1f MB, %.1f MB for 20 files" % (
        len(paths), sum(total.values()), peak / 1024, some / 1024)


@case(timeout=120, patient=True)
def full_disk(ctx):
    """No room for the next file is an error, and those before are whole."""
    ruby = ctx.ruby(ctx.write("spans.rb", PROGRAM))
    ruby.expect("ready")
    small, out = ctx.path("small"), ctx.path("out")
    os.mkdir(small)
    os.mkdir(out)
    script = ("mount -t tmpfs -o size=600k none '%s' || exit 99; '%s' record -p %d -d 60 --rotate 1s -o '%s/app.extprof'; s=$?; "
              "cp '%s'/* '%s'; exit $s" % (small, harness.EXTPROF, ruby.pid, small, small, out))
    run = ctx.profile_of(ctx.start(["unshare", "-m", "sh", "-c", script], stderr=-1), timeout=90)
    check(run.status == harness.OUTPUT, "status %d: %s", run.status, run.err)
    check("the recording cannot be written" in run.err or "cannot make" in run.err, "it says: %s", run.err)
    paths = sorted(glob.glob(out + "/*.extprof"))
    whole = [p for p in paths if sql(ctx, p, "SELECT 1 FROM meta WHERE key='ended'")]
    check(len(whole) >= 2 and whole == paths[:len(whole)] and len(paths) - len(whole) <= 1, "%d of %d files are whole", len(whole), len(paths))
    verify(ctx, whole)
    return "%d files are whole; %s" % (len(whole), run.err.strip().splitlines()[0][:100])


@case(timeout=120, patient=True)
def small_disks(ctx):
    """Wherever there is no room, that is the reason: for the file, what is beside it, and the memory that their users share.  SQLite
    tells some of it as an error of the disk, which ends a daemon."""
    ruby = ctx.ruby("-e", "puts 'ready'; $stdout.flush; loop { 10.times { |i| i.to_s } }")
    ruby.expect("ready")
    small = ctx.path("small")
    os.mkdir(small)
    script = ("for size in $(seq 8 4 180); do mount -t tmpfs -o size=${size}k none '%s' || exit 99; echo \"of $size\" >&2; "
              "'%s' record -q -p %d -d 0.2 -F 999 -o '%s/app.extprof'; echo \"status $?\" >&2; umount '%s'; done"
              % (small, harness.EXTPROF, ruby.pid, small, small))
    run = ctx.profile_of(ctx.start(["unshare", "-m", "sh", "-c", script], stderr=-1), timeout=90)
    parts = re.findall(r"^of (\d+)\n(.*?)^status (\d+)$", run.err, re.M | re.S)
    check(len(parts) == 44, "%d: %s", len(parts), run.err[-500:])
    wrong = [p for p in parts if p[2] != "0" and (int(p[2]) != harness.OUTPUT or "No space left on device" not in p[1])]
    check(not wrong, "%s", wrong[:3])
    full = [int(size) for size, _, status in parts if status != "0"]
    check(4 < len(full) < 44 and full == [int(p[0]) for p in parts[:len(full)]], "no room in %s KiB", full)
    return "there is room from %d KiB on" % (full[-1] + 4)


@case(timeout=60)
def options(ctx):
    """What does not fit says so."""
    for arguments, text in ((["--keep", "3"], "--keep is for --rotate"), (["--rotate", "1M"], "no time of at least"),
                            (["--rotate", "1KB"], "no time of at least"), (["--rotate", "10ms"], "no time of at least"),
                            (["--rotate", "1h", "-o", "a.svg"], "a recording alone")):
        run = ctx.extprof("record", "-p", os.getpid(), *arguments)
        check(run.status == harness.USAGE and text in run.err, "%s: %d: %s", arguments, run.status, run.err)
    return "5 are told"
