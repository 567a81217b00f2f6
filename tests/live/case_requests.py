"""Requests of a recording against a program that times them."""
import json
import signal

import harness
from harness import case, check


def record(ctx, kind):
    """(the recording, [(name, tid, before, first, last, after)]) by the program's own clock, in ns."""
    path = ctx.path(kind + ".extprof")
    ruby = ctx.program("requests.rb", kind)
    ruby.expect("ready")
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-m", "wall", "--waits", "each", "-F", harness.rate(499), "-o", path)
    ctx.attached(reader)
    ruby.tell("go")
    truth = []
    while (line := ruby.line(timeout=60)) != "done":
        name, *numbers = line.split()
        truth.append((name, *map(int, numbers)))
    reader.signal(signal.SIGINT)
    check(reader.wait() == 0, "the recording failed")
    return path, truth


def requests(ctx, path, *options):
    """(all, rows) as JSON has them, with times of the clock."""
    run = ctx.extprof("report", path, "--requests", "-f", "json", "--rows", "1000", *options)
    check(run.status == 0, "%s: %d: %s", options, run.status, run.err)
    document = json.loads(run.out)
    check(document["count"] == len(document["requests"]) and document["other"] == 0, "%s", document["count"])
    return document["requests"]


def started(ctx, path):
    return int(ctx.extprof("sql", "-H", path, "SELECT value FROM meta WHERE key='started_monotonic_ns'").out)


def compare(ctx, path, truth, rows):
    """Each request is one row, and the row says when it was for certain and when it can have been."""
    zero, widest = started(ctx, path), 0
    check(len(rows) == len(truth), "%d requests, and %d rows", len(truth), len(rows))
    key = lambda name, tid: (name, tid)
    groups = {}
    for name, tid, *times in truth:
        groups.setdefault(key(name, tid), ([], []))[0].append(times)
    for r in rows:
        groups.setdefault(key(r["labels"]["request"], r["tid"]), ([], []))[1].append(r)
    for name, (times, found) in groups.items():
        check(len(times) == len(found), "%s: %d requests, and %d rows", name, len(times), len(found))
        for (before, first, last, after), r in zip(sorted(times), sorted(found, key=lambda r: r["begin_s"])):
            begin = round(r["begin_s"] * 1e9) + zero
            end = begin + r["duration"]
            # A number of seconds has the ns to some ten.
            check(before - 1000 <= begin and end <= after + 1000, "%s was seen from %d to %d, and was from %d to %d", name, begin, end,
                  before, after)
            check(begin - r["before"] <= first + 1000 and last - 1000 <= end + r["after"],
                  "%s: from %d - %d to %d + %d, and was from %d to %d", name, begin, r["before"], end, r["after"], first, last)
            widest = max(widest, r["before"] + r["after"] if r["whole"] else 0)
    return widest


def folded(ctx, path, *options):
    run = ctx.extprof("report", path, "-f", "folded", "--unit", "ns", *options)
    check(run.status == 0, "%s: %d: %s", options, run.status, run.err)
    return sum(int(line.rpartition(" ")[2]) for line in run.out.splitlines())


def number(ctx, path, statement):
    run = ctx.extprof("sql", "-H", path, statement)
    check(run.status == 0, "%s: %d: %s", statement, run.status, run.err)
    return int(run.out)


@case(timeout=120)
def of_threads(ctx):
    """None is split, none is joined with the next one of the same labels; outputs have the samples of those chosen."""
    path, truth = record(ctx, "threads")
    rows = requests(ctx, path)
    widest = compare(ctx, path, truth, rows)
    # The parts of a request are what it waited for.
    for name, part, share in (("sleep", "sleep", 0.5), ("twice", "sleep", 0.5)):
        for r in (r for r in rows if r["labels"]["request"] == name and r["duration"]):
            check(r["parts"][part] >= share * r["duration"], "%s: %s", name, r)
    locks = [r["parts"]["lock"] + r["parts"]["sleep"] for r in rows if r["labels"]["request"] == "lock"]
    check(all(locks), "lock: %s", locks)
    labelled = number(ctx, path, "SELECT sum(value) FROM samples WHERE labels IS NOT NULL")
    check(folded(ctx, path, "--slowest", "1000") == labelled, "all requests have %d ns, not %d", labelled,
          folded(ctx, path, "--slowest", "1000"))
    slow = requests(ctx, path, "--slowest", "3")
    longest = sorted((r["duration"] for r in rows), reverse=True)[:3]
    check([r["duration"] for r in slow] == longest, "%s, not %s", [r["duration"] for r in slow], longest)
    check(folded(ctx, path, "--slowest", "3") == sum(sum(r["parts"].values()) for r in slow), "stacks of the slowest")
    limit = sorted(r["duration"] for r in rows)[len(rows) // 2] // 1000000
    above = requests(ctx, path, "--slower-than", "%dms" % limit)
    check(len(above) == sum(r["duration"] >= limit * 1000000 for r in rows), "%d above %d ms", len(above), limit)
    only = requests(ctx, path, "--filter", "label:request=lock")
    check(len(only) == 8 and {r["labels"]["request"] for r in only} == {"lock"}, "%d of lock", len(only))
    text = ctx.extprof("report", path, "--requests", "--slowest", "2").ok().out
    check("Requests: 2 of 40" in text and "samples taken" in text, "%s", text[:600])
    rows_of_sql = number(ctx, path, "SELECT count(*) FROM requests WHERE whole OR NOT whole")
    check(rows_of_sql == len(rows), "%d rows in SQL", rows_of_sql)
    check(number(ctx, path, "SELECT sum(duration_ns) FROM requests") == sum(r["duration"] for r in rows), "durations in SQL")
    wrong = ctx.extprof("report", path, "--requests", "--request-label", "none")
    check(wrong.status == harness.USAGE and "label" in wrong.err, "%d: %s", wrong.status, wrong.err)
    wrong = ctx.extprof("report", path, "--requests", "-f", "pprof")
    check(wrong.status == harness.USAGE and "no format of requests" in wrong.err, "%d: %s", wrong.status, wrong.err)
    return "%d requests; the widest gap is %.1f ms" % (len(rows), widest / 1e6)


@case(timeout=120)
def of_fibers(ctx):
    """Fibers of one thread that have the same labels at the same time."""
    path, truth = record(ctx, "fibers")
    widest = compare(ctx, path, truth, requests(ctx, path))
    return "%d requests; the widest gap is %.1f ms" % (len(truth), widest / 1e6)


@case(timeout=120)
def with_labels_inside(ctx):
    """A label that is set within a request makes another set: --request-label joins them."""
    path, truth = record(ctx, "nested")
    widest = compare(ctx, path, truth, requests(ctx, path, "--request-label", "request"))
    all_sets = requests(ctx, path)
    check(len(all_sets) == 3 * len(truth), "%d sets of %d requests", len(all_sets), len(truth))
    return "%d requests; the widest gap is %.1f ms" % (len(truth), widest / 1e6)
