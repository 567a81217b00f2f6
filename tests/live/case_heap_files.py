"""Mode heap in several files: each has what lives at its end, and as one they are what lives at the end of the last."""
import json
import math
import os
import signal
import time

import case_rotate
import harness
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
def work(base, count)
  made = 0
  log, ends = [], false
  Thread.new { gets; ends = true }
  from = now
  until ends
    10.times { leak; cache; garbage }
    made += 10
    log << [now, made]
    GC.start if made % 500 == 0
    sleep 0.01
  end
  log
end
if $0 == __FILE__
  puts "ready"
  gets
  # The first sample is of the interval that the VM had before.
  200.times { garbage }
  base = Array.new(4000) { |i| sleep 0.005 if i % 100 == 99; base() }
  log = work(base, 4000)
  puts log.map { _1.join(" ") }, "over"
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


def totals(ctx, path, *args):
    """Of pprof."""
    import pprof
    out = ctx.path("out.pb.gz")
    ctx.extprof("report", *path, "-m", "heap", *args, "-o", out).ok()
    return pprof, out


@case(timeout=150)
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
        # A second or two have 1,000 to 2,000 objects; what a file has not seen is some of them.
        near("cache in " + path, got["cache"], min(objects, 2000), 100)
        near("base in " + path, got["base"], 4000, 20)
        # The collector comes each time that 5,000 of them were made.
        check(got["garbage"] < 6000 * SLOT, "garbage in %s: %d", path, got["garbage"])
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
    leaked = rows["Object#leak"]["after"]["amount"] - rows["Object#leak"]["before"]["amount"]
    near("leaked between", leaked, seen(log, spans[1:]), 60)
    summary = ctx.extprof("report", *paths).ok().out
    check("sampled objects" in summary, "%s", summary)
    return "%d files, leak %s MB, as one %.2f MB; at most %.1f standard deviations off; %s" % (
        len(paths), ["%.2f" % (s["leak"] / 1e6) for s in single], folded(ctx, *paths)["leak"] / 1e6, worst,
        [line.split("no sample was taken for ")[1] for line in said.splitlines() if "no sample was taken for" in line][:2])
