"""Requests of a recording against a program that times them."""
import json
import os
import signal

import case_rotate
import harness
from harness import case, check


def record(ctx, kind, *options, name=None):
    """(the recording, [(name, tid, before, first, last, after)]) by the program's own clock, in ns."""
    path = ctx.path((name or kind) + ".extprof")
    ruby = ctx.program("requests.rb", kind)
    ruby.expect("ready")
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-m", "wall", "--waits", "each", "-F", harness.rate(499), *options, "-o", path)
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
    check(ctx.extprof("report", path, "--slowest", "2").ok().out == text, "without --requests it is another text")
    # The parts of a row are its duration, whatever has a column of its own.
    for width in (80, 120, 200):
        text = ctx.extprof("report", path, "--requests", "--rows", "40", env=dict(os.environ, COLUMNS=str(width))).ok().out
        table = text.splitlines()[1:42]
        check(max(map(len, table)) <= width, "wider than %d columns: %s", width, max(table, key=len))
        parts = table[0].partition("+ up to")[2].partition("thread" if width >= 100 else "labels")[0].split()
        check(parts[0] == "run" and parts[-1] == "other" and len(parts) >= 3, "%s", table[0])
        for line, row in zip(table[1:], sorted(rows, key=lambda r: r["begin_s"])):
            shown = list(map(float, line.split()[3:3 + len(parts)]))
            check(abs(sum(shown) - sum(row["parts"].values()) / 1e6) <= 0.06 * len(parts), "%s is not %s", line, row)
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
def of_fibers_that_wait_in_one_place(ctx):
    """A fiber that is parked at one line for one request after the other, of other labels and of the same."""
    path, truth = record(ctx, "parked")
    rows = requests(ctx, path)
    # They are those of a thread's parked fibers: it has no tid.
    widest = compare(ctx, path, [(name, None, *times) for name, _, *times in truth], [dict(r, tid=None) for r in rows])
    check(len(truth) == 16, "%d requests", len(truth))
    # What they stand for is the time that they were parked, by looks at random moments.
    parked = {name: sum(r["parts"]["parked"] for r in rows if r["labels"]["request"].startswith(name)) / 1e9 for name in ("job", "same")}
    known = {name: sum(last - first for n, _, _, first, last, _ in truth if n.startswith(name)) / 1e9 for name in parked}
    check(all(abs(parked[n] / known[n] - 1) < 0.15 for n in known), "parked %s s, not %s", parked, known)
    # From the first look at it to the last one, which can be late.
    seen, all_of_it = sum(r["duration"] for r in rows), sum(last - first for _, _, _, first, last, _ in truth)
    check(0.6 * all_of_it < seen <= all_of_it, "seen for %.3f s of %.3f", seen / 1e9, all_of_it / 1e9)
    return "%d requests; parked %.2f and %.2f s of %.2f and %.2f; the widest gap is %.1f ms" % (len(truth), *parked.values(), *known.values(), widest / 1e6)


@case(timeout=120)
def with_labels_inside(ctx):
    """A label that is set within a request makes another set: --request-label joins them."""
    path, truth = record(ctx, "nested")
    widest = compare(ctx, path, truth, requests(ctx, path, "--request-label", "request"))
    all_sets = requests(ctx, path)
    check(len(all_sets) == 3 * len(truth), "%d sets of %d requests", len(all_sets), len(truth))
    return "%d requests; the widest gap is %.1f ms" % (len(truth), widest / 1e6)


@case(timeout=120)
def one_after_the_other(ctx):
    """Requests of equal labels with nothing between them are not joined, as their marks differ; labels that come and go in
    one do not split it. Without waits, and the same in a file of another name."""
    path, truth = record(ctx, "next")
    widest = compare(ctx, path, truth, requests(ctx, path, "--request-label", "request"))
    check(len(truth) == 18, "%d requests", len(truth))
    # The samples of those chosen are told from those of their neighbours by their marks alone.
    slow = requests(ctx, path, "--request-label", "request", "--slowest", "3")
    longest = sorted((r["duration"] for r in requests(ctx, path, "--request-label", "request")), reverse=True)[:3]
    check([r["duration"] for r in slow] == longest, "%s, not %s", [r["duration"] for r in slow], longest)
    stacks, parts = folded(ctx, path, "--request-label", "request", "--slowest", "3"), sum(sum(r["parts"].values()) for r in slow)
    check(stacks == parts, "stacks of the slowest have %d ns, not %d", stacks, parts)
    # The label around them is one piece of work.
    check(len(requests(ctx, path, "--request-label", "app")) == 1, "the label around them")
    inner = requests(ctx, path, "--request-label", "step")
    check(len(inner) == 12, "%d labels within", len(inner))
    # With labels of groups, of which one comes and goes within a request, and without a sample for each wait.
    grouped, known = record(ctx, "next", "--group-by", "label:step,process", "--waits", "rate", name="grouped")
    compare(ctx, grouped, known, requests(ctx, grouped, "--request-label", "request"))
    for label, count in (("request", 18), ("step", 12), ("app", 1)):
        rows = requests(ctx, grouped, "--request-label", label)
        check(len(rows) == count, "with groups: %d of %s, not %d", len(rows), label, count)
    return "%d requests; the widest gap is %.1f ms" % (len(truth), widest / 1e6)


def percentile(values, percent):
    return sorted(values)[-(-len(values) * percent // 100) - 1]


def served(ruby):
    """{endpoint: [(id, before, first, last, after, cpu)]} by the program's clocks, in ns."""
    truth = {}
    while (line := ruby.line(timeout=120)) != "done":
        name, number, *times = line.split()
        truth.setdefault(name, []).append((number, *map(int, times)))
    return truth


def by_label(ctx, path, *options):
    run = ctx.extprof("report", path, "--requests-by", "controller", "-f", "json", *options)
    check(run.status == 0, "%s: %d: %s", options, run.status, run.err)
    return json.loads(run.out)


# What an endpoint is made of, of its own wall time.
ENDPOINTS = {"sleep": ("sleep", "runnable"), "cpu": ("run", "runnable"), "lock": ("lock", "sleep", "runnable"), "gvl": ("gvl", "run", "runnable", "sleep")}


def compare_values(document, truth, whole, more):
    """Percentiles are between what was seen and what can have been, and no more apart than `more`; parts are what was waited for."""
    rows = {v["value"]: v for v in document["values"]}
    check(set(rows) == set(truth), "values %s", sorted(rows, key=str))
    found, worst = {}, 0
    for name, times in truth.items():
        asked, times = len(times), [t for t in times if t[0] in whole]
        row, most = rows[name], [after - before for _, before, _, _, after, _ in times]
        least = [last - first for _, _, first, last, _, _ in times]
        check(row["count"] == len(times) and row["count"] + row["cut"] == asked and row["cut"] <= 2, "%s: %d and %d of %d", name, row["count"],
              row["cut"], asked)
        for key, percent in (("p50", 50), ("p95", 95), ("p99", 99), ("max", 100)):
            low, high = row["seen"][key], row["up_to"][key]
            check(low <= percentile(most, percent) + 1000 and percentile(least, percent) <= high + 1000, "%s: %s is %d to %d ns, not %d to %d",
                  name, key, percentile(least, percent), percentile(most, percent), low, high)
            error = max(percentile(least, percent) - low, low - percentile(most, percent))
            check(error <= more, "%s: %s is %.2f ms, and %.2f was seen", name, key, percentile(least, percent) / 1e6, low / 1e6)
            worst = max(worst, error)
        parts, mean = row["all"]["parts"], row["all"]["mean"]
        check(abs(sum(parts.values()) - mean) <= 0.1 * mean + 1e6, "%s: parts are %s of %.2f ms", name, parts, mean / 1e6)
        share = sum(parts[p] for p in ENDPOINTS[name]) / mean
        check(share >= 0.9, "%s: %s are %.2f of it: %s", name, ENDPOINTS[name], share, parts)
        cpu = sum(t[5] for t in times) / len(times)
        check(abs(parts["run"] - cpu) <= 0.15 * cpu + 1.5e6, "%s: runs for %.2f ms, %.2f by its clock", name, parts["run"] / 1e6, cpu / 1e6)
        slow = row["slow"]
        check(slow["mean"] >= row["seen"]["p95"] and slow["count"] >= max(1, len(times) // 20), "%s: slow %s", name, slow)
        found[name] = parts
    # Those that wait for one another do so for half of the time that they do not wait for a CPU, and the others do not.
    for name, part in (("lock", "lock"), ("gvl", "gvl")):
        for value, parts in found.items():
            share = parts[part] / (rows[value]["all"]["mean"] - parts["runnable"])
            check(0.15 <= share <= 0.6 if value == name else share <= 0.05 or value == "lock", "%s of %s: %.2f", part, value, share)
    return worst


@case(timeout=180)
def by_label_are_those_of_the_program(ctx):
    """Percentiles and parts of four endpoints, by the program's own clocks; in one file, in many, and in SQL."""
    path = ctx.path("served.extprof")
    ruby = ctx.program("endpoints.rb", "100")
    ruby.expect("ready")
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-m", "wall", "--waits", "each", "-F", harness.rate(997), "-o", path)
    ctx.attached(reader)
    ruby.tell("go")
    truth = served(ruby)
    reader.signal(signal.SIGINT)
    check(reader.wait() == 0, "the recording failed")
    document = by_label(ctx, path, "--request-label", "id")
    # Of the first one of a thread it is not known whether it had begun before.
    whole = {r["labels"]["id"] for r in requests(ctx, path, "--request-label", "id") if r["whole"]}
    worst = compare_values(document, truth, whole, 4000000)
    order = [v["seen"]["p95"] for v in document["values"]]
    check(order == sorted(order, reverse=True), "order %s", order)
    # The other forms have the same numbers.
    table = ctx.extprof("report", path, "--requests-by", "controller", "--request-label", "id", "-f", "table").ok().out
    lines = [line.split("\t") for line in table.splitlines() if not line.startswith("#")]
    column = lines[0].index("p95")
    check([int(line[column]) for line in lines[1:]] == [round(p / 1000) for p in order], "%s", table)
    text = ctx.extprof("report", path, "--requests-by", "controller", "--request-label", "id").ok().out
    check("Requests by controller" in text and "samples taken" in text and "from p95 on" in text, "%s", text[:800])
    sql = ctx.extprof("sql", "-H", path, "SELECT sum(requests), max(max_ns) FROM requests_by_labels").ok().out.split()
    sets = [r["duration"] for r in requests(ctx, path) if r["whole"]]
    check(int(sql[0]) == len(sets) and int(sql[1]) == max(sets), "SQL %s, and %d sets of %d at most", sql, len(sets), max(sets))
    only = by_label(ctx, path, "--request-label", "id", "--filter", "label:controller=lock")
    check([v["value"] for v in only["values"]] == ["lock"], "%s", only["values"])
    slower = by_label(ctx, path, "--request-label", "id", "--slower-than", "20ms")
    check(slower["count"] == sum(r["whole"] for r in requests(ctx, path, "--request-label", "id", "--slower-than", "20ms")), "slower: %d", slower["count"])
    wrong = ctx.extprof("report", path, "--requests-by", "none")
    check(wrong.status == harness.USAGE and "no sample of the recording has the label" in wrong.err, "%d: %s", wrong.status, wrong.err)
    return "%d requests of %d endpoints; p50, p95, p99 and the longest are %.2f ms off at most" % (document["count"], len(truth), worst / 1e6)


@case(timeout=180)
def by_label_over_files(ctx):
    """A request that goes over the border of two files is not counted, and said so; all others are once."""
    ruby = ctx.program("endpoints.rb", "60")
    ruby.expect("ready")
    reader = case_rotate.begin(ctx, ruby.pid, "-q", "-m", "wall", "--waits", "each", "-F", harness.rate(499), "--rotate", "1s", name="served")
    ruby.tell("go")
    truth = served(ruby)
    case_rotate.end(reader)
    paths = case_rotate.files_of(ctx, "served")
    # What is between the last sample of a file and the begin of the next one is in none.
    borders = [(started(ctx, p), number(ctx, p, "SELECT max(last_ns) FROM blocks")) for p in paths]
    # The first samples are taken while it begins.
    widest = [(min(begin, number(ctx, p, "SELECT min(first_ns) FROM blocks")), end) for p, (begin, end) in zip(paths, borders)]
    document = json.loads(ctx.extprof("report", *paths, "--requests-by", "controller", "--request-label", "id", "-f", "json").ok().out)
    # A file without requests has no such label.
    parts = [r for p in paths if number(ctx, p, "SELECT count(*) FROM requests") for r in requests(ctx, p, "--request-label", "id")]
    rows = [r["labels"]["id"] for r in parts if r["whole"]]
    cut = [r["labels"]["id"] for r in parts if not r["whole"]]
    check(len(rows) == len(set(rows)), "counted twice: %s", [r for r in rows if rows.count(r) > 1])
    check(document["count"] == len(rows), "%d, and %d rows", document["count"], len(rows))
    inside = {number for times in truth.values() for number, before, _, _, after, _ in times
              if any(begin < before and after < end for begin, end in borders)}
    everything = {t[0] for times in truth.values() for t in times}
    # The labels were set before the one clock, and taken away after the other one.
    touching = {number for times in truth.values() for number, _, first, last, _, _ in times
                if any(begin < first and last < end for begin, end in widest)}
    check(set(rows) <= touching, "not whole: %s", set(rows) - touching)
    check(document["cut"] == len(cut), "%d parts, and %d rows", document["cut"], len(cut))
    # The first and the last one of a thread in a file: it is not known whether nothing was before and after it.
    check(inside - set(rows) <= set(cut), "neither counted nor said: %s", sorted(inside - set(rows) - set(cut)))
    check(not set(rows) & set(cut), "both: %s", set(rows) & set(cut))
    check(len(cut) <= 4 * len(paths), "%d parts in %d files", len(cut), len(paths))
    text = ctx.extprof("report", *paths, "--requests-by", "controller", "--request-label", "id").ok().out
    check("%d parts of requests are not counted" % document["cut"] in text, "%s", text[:1500])
    return "%d files: %d of %d requests, %d parts not counted" % (len(paths), len(rows), len(everything), document["cut"])
