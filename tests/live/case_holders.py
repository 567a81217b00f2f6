"""Holders of the GVL and of locks, summed by method and line. The programs say what their own clocks say."""
import json
import os
import re

import harness
from harness import case, check

PROGRAM = "holders.rb"
PATH = os.path.join(harness.PROGRAMS, PROGRAM)


def lines_of_program():
    """{what a line ends with: its number}"""
    with open(PATH) as f:
        return {m.group(1): n for n, text in enumerate(f, 1) for m in [re.search(r"# (\w+)$", text)] if m}


def recorded(ctx, kind, *options, mode="gvl", seconds=4, ruby=()):
    """(path of the recording, {line: ns by the program's own clock})"""
    path = ctx.path("out.extprof")
    reader = ctx.extprof_start("record", "-m", mode, "--holder", *options, "-o", path, "--", harness.RUBY, "--disable=gems", *ruby,
                               PATH, kind, seconds)
    # Also the program, which begins later: how many wait is to be the same in each line, and not more where it lost its CPU.
    harness.prefer(reader.pid)
    run = ctx.profile_of(reader)
    check(run.status == 0, "status %d: %s", run.status, run.err)
    said = [line.split() for line in run.out.splitlines()]
    return path, {a[0]: int(a[1]) for a in said if len(a) == 2 and a[1].isdigit()}


def report(ctx, path, *options):
    """The first mode of the report, as JSON."""
    return json.loads(ctx.extprof("report", path, "-f", "json", "--rows", "1000", *options).out)["modes"][0]


def shares(rows, what):
    """{line: share} of the rows that begin so."""
    found = {}
    for row in rows:
        if row["name"].startswith("[%s held by " % what) and row["path"].endswith("/" + PROGRAM):
            found[row["line"]] = found.get(row["line"], 0) + row["share"]
    return found


def compare(rows, took, slack):
    """The shares of the lines, of what the program held in them. A look each ms: 4 s have 4,000 of them, so that a share of
    30 % is right within 0.7 % in two of three runs."""
    numbers, found, said = lines_of_program(), shares(rows, "GVL"), []
    of_lines = sum(found.get(numbers[way], 0) for way in took)
    check(of_lines >= 0.93, "these lines have %.1f %%: %s", 100 * of_lines, rows)
    for way, ns in took.items():
        truth, got = ns / sum(took.values()), found.get(numbers[way], 0) / of_lines
        check(abs(got - truth) <= slack, "%s: %.1f %%, truth %.1f %%: %s", way, 100 * got, 100 * truth, rows)
        said.append("%s %.1f %% (%.1f)" % (way, 100 * got, 100 * truth))
    return ", ".join(said)


def exact(rows):
    """The rows as they were if each line were known: where YJIT has left none, a row has the method alone or a line that is marked, and
    there are more of these the more often the thread loses its CPU.  They go to the line which their method has most of: that has
    at least four fifths of a method that only computes."""
    methods, made = {}, []
    for row in rows:
        found = re.match(r"\[GVL held by (Object#\w+), holders\.rb(:~?\d+)?\]$", row["name"])
        if found:
            methods.setdefault(found.group(1), []).append(row)
        else:
            made.append(row)
    for method, of in methods.items():
        line, total = max(of, key=lambda row: row["share"]), sum(row["share"] for row in of)
        if method == "Object#counts":
            check(line["share"] >= 0.8 * total, "the lines of %s: %s", method, of)
        made.append({**line, "share": total})
    return made


def lines(ctx, *ruby):
    path, took = recorded(ctx, "lines", ruby=ruby)
    of = report(ctx, path)
    rows, numbers = of["holders"]["rows"], lines_of_program()
    said = compare(exact(rows) if ruby else rows, took, 0.03)
    # 30 threads wait for the same line: that is one row.
    names = [row["name"] for row in rows]
    check(names.count("[GVL held by Array#sort in Object#sorts, holders.rb:%d]" % numbers["sorts"]) == 1, "%s", names)
    check(not any("thread" in name and "not known" not in name for name in names), "%s", names)
    # No row is a block in C: it is a part of the method that was called with it.
    check(not any("block in C" in name for name in names), "%s", names)
    blocks = sum(row["share"] for row in rows if row["line"] == numbers["slices"])
    each = sum(row["share"] for row in rows if row["line"] == numbers["slices"] and
               re.match(r"\[GVL held by (Array#each|Enumerable#\w+|Enumerator#each) in Object#slices,", row["name"]))
    check(each >= 0.8 * blocks > 0, "%.3f of %.3f: %s", each, blocks, rows)
    # The rows make up the whole.
    total = sum(row["total"] for row in rows)
    check(abs(total - of["amount"]) <= len(rows) + 1e-6 * of["amount"], "%d of %d", total, of["amount"])
    return path, said, of


@case(timeout=90)
def by_line(ctx):
    """A loop in Ruby has the GVL 70 % of the time, a method in C 20 %, and a block in C 10 %, while 30 threads wait for it."""
    path, said, of = lines(ctx)
    # Threads are shown when they are asked for, and the sums stay the same.
    summary = ctx.extprof("report", path).out
    check("By who held what was waited for" in summary and "By thread that held it" not in summary, "%s", summary)
    threads = ctx.extprof("report", path, "--group-by", "thread").out
    share = re.search(r"By thread that held it\n.*\n +[\d.]+ m?s +([\d.]+) %  \[thread main ", threads)
    check(share and float(share.group(1)) >= 95, "%s", threads)
    again = report(ctx, path, "--group-by", "thread")
    check(again["holders"]["rows"] == of["holders"]["rows"], "%s", again["holders"]["rows"])
    check(ctx.extprof("verify", path).status == 0, "the recording is not right")
    # The same in SQL.
    number = lines_of_program()["sorts"]
    sql = ctx.extprof("sql", path, "SELECT sum(ns) FROM lock_holders WHERE mode = 'gvl' AND line = %d" % number).out
    rows = sum(row["total"] for row in of["holders"]["rows"] if row["line"] == number)
    check(str(rows) in sql, "%d: %s", rows, sql)
    # The file for the Firefox Profiler has a wait for each share, one before the other.
    check(ctx.extprof("report", path, "-o", ctx.path("out.firefox.json")).status == 0, "no file for the Firefox Profiler")
    with open(ctx.path("out.firefox.json")) as f:
        threads = json.load(f)["threads"]
    waited = 0
    for markers in (t["markers"] for t in threads):
        waits = sorted((markers["startTime"][i], markers["endTime"][i]) for i, data in enumerate(markers["data"])
                       if data and "GVL held by" in data.get("holder", ""))
        check(all(a[1] <= b[0] + 0.001 for a, b in zip(waits, waits[1:])), "waits of one thread at the same time: %s", waits)
        waited += sum(end - begin for begin, end in waits)
    check(abs(waited * 1e6 - of["amount"]) <= 1e-3 * of["amount"], "Firefox has %.1f of %.1f ms", waited, of["amount"] / 1e6)
    return said


@case(timeout=90)
def by_line_yjit(ctx):
    """The same with YJIT, which leaves the place of a method in C and that of its own code to be found."""
    return lines(ctx, "--yjit")[1]


@case(timeout=90)
def by_line_fibers(ctx):
    """Two fibers of one thread have the GVL in turns."""
    path, took = recorded(ctx, "fibers")
    return compare(report(ctx, path)["holders"]["rows"], took, 0.03)


@case(timeout=90)
def by_line_locks(ctx):
    """20 threads wait for a Mutex, and 10 for a Monitor, whose owners sleep in one line each. Each of the threads waits
    all the time, but for its own turns."""
    path, _ = recorded(ctx, "locks", "--idle", mode="offcpu")
    of = report(ctx, path, "--idle")
    numbers, rows = lines_of_program(), of["holders"]["rows"]
    locked = {row["line"]: row for row in rows if row["name"].startswith("[lock held by ")}
    got = {}
    for what, method, threads in (("lock", "Kernel#sleep in block", 20), ("monitor", "Kernel#sleep in block", 10)):
        row = locked.get(numbers[what])
        check(row and row["name"].startswith("[lock held by %s " % method), "%s: %s", what, rows)
        got[what] = row["total"] / 1e9 / (threads - 1)
        # 4 s, and at the end the threads have one more turn each, one after the other.
        check(3.6 <= got[what] <= 4.4, "%s: %.2f s for each thread that waits: %s", what, got[what], rows)
    return ", ".join("%s: %.2f s for each of its threads" % x for x in got.items())
