"""Two recordings: a program that changes its shares, which it measures itself."""
import json
import re

import harness
from case_graph import browse
from harness import case, check

PROGRAM = """
def fast(n) = (i = 0; i += 1 while i < n)
def slow(n) = (i = 0; i += 1 while i < n)
def other(n) = (n / 40).times { |i| "s#{i}" }
def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
WORK = { fast: ARGV[0].to_i, slow: ARGV[1].to_i, other: 20 }
SPENT = Hash.new(0)
STDOUT.sync = true
def turn(name, n)
  before = now
  send(name, n)
  SPENT[name] += now - before
end
puts "ready"
STDIN.gets
finish = now + 3_000_000_000
while now < finish
  WORK.each { |name, n| turn(name, n * 1000) }
end
SPENT.each { |name, ns| puts "#{name} #{ns}" }
puts "done"
STDIN.gets
"""


def record(ctx, name, fast, slow):
    """(the recording, {method: its share}), as the program has measured them."""
    path = ctx.path(name + ".extprof")
    ruby = ctx.ruby(ctx.write("shares.rb", PROGRAM), str(fast), str(slow))
    ruby.expect("ready")
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-F", harness.rate(2000), "-o", path)
    ctx.attached(reader)
    ruby.tell("go")
    spent = {}
    line = ruby.line(60)
    while line.strip() != "done":
        method, ns = line.split()
        spent[method] = int(ns)
        line = ruby.line(60)
    reader.signal(2)
    reader.wait()
    ruby.kill()
    return path, {m: ns / sum(spent.values()) for m, ns in spent.items()}


def compare(ctx, before, after, *options):
    run = ctx.extprof("diff", before, after, "-f", "json", *options)
    check(run.status == 0, "%d: %s", run.status, run.err)
    return json.loads(run.out)


@case(timeout=120)
def shares_that_have_changed(ctx):
    """fast and slow change places: both are decided, other is not; the change is the one that the program measured."""
    before, truth = record(ctx, "before", 60, 20)
    after, changed = record(ctx, "after", 20, 60)
    d = compare(ctx, before, after)
    rows = {r["method"]: r for r in d["methods"]}
    said = []
    for method in ("fast", "slow"):
        row = rows["Object#" + method]["self"]
        wanted = changed[method] - truth[method]
        check(row["decided"], "%s: %s", method, row)
        check(abs(row["change"] - wanted) < row["noise"] + 0.02, "%s: %s, not %.3f", method, row, wanted)
        said.append("%s %+.1f (measured %+.1f, noise %.1f)" % (method, 100 * row["change"], 100 * wanted, 100 * row["noise"]))
    check(rows["Object#fast"]["self"]["change"] < -0.1 and rows["Object#slow"]["self"]["change"] > 0.1, "%s", said)
    same = compare(ctx, before, before)
    check(same["decided"] == {"methods_self": 0, "methods_total": 0, "lines_self": 0}, "A and A: %s", same["decided"])
    check(all(r["self"]["change"] == 0 for r in same["methods"]), "A and A")
    lines = {r["line"] for r in d["lines"] if r["self"]["decided"] and r["path"].endswith("shares.rb")}
    check({2, 3} <= lines | {r["line"] for r in d["lines"]} and lines & {2, 3}, "lines %s", lines)
    one = compare(ctx, before, after, "--filter", "method=Object#slow", "--metric", "samples")
    check(one["metric"] == "samples" and "Object#fast" not in {r["method"] for r in one["methods"]}, "%s", one)
    return "; ".join(said)


@case(timeout=120)
def outputs(ctx):
    """Text on 80 columns and in colours, the flame graph of both in a browser, and what is refused."""
    before, _ = record(ctx, "before", 60, 20)
    after, _ = record(ctx, "after", 20, 60)
    run = ctx.extprof("diff", before, after)
    check(run.status == 0 and "Methods by the change" in run.out and "\033" not in run.out, "%d: %s", run.status, run.out)
    check(re.search(r"^  .* Object#slow ", run.out, re.M), "slow is not decided:\n%s", run.out)
    graph = ctx.path("change.svg")
    run = ctx.extprof("diff", before, after, "-o", graph)
    check(run.status == 0 and not run.out, "%d: %s", run.status, run.err)
    with open(graph, encoding="utf-8") as f:
        text = f.read()
    check("hsl(214,85%" in text and "hsl(8,85%" in text and "before and after" in text, "colours")
    dom = browse(ctx, graph)
    if dom:
        check('data-shown="' in dom and re.search(r"Object#slow [^<]*before [0-9.]+ %, after [0-9.]+ % \(\+", dom), "in the browser")
        fills = {m.group(1).split(",")[0] for m in re.finditer(r'fill="hsl\(([^)]*)\)"', dom)}
        check({"8", "214"} <= fills, "colours in the browser: %s", fills)
    for wrong, status in ((["diff", before], harness.USAGE), (["diff", before, after, "-m", "wall"], harness.USAGE),
                          (["diff", before, after, "--metric", "none"], harness.USAGE),
                          (["diff", before, after, "--filter", "thread=nobody"], 74),
                          (["diff", before, graph], 74), (["diff", before, after, "-o", "/none/x.svg"], harness.OUTPUT)):
        run = ctx.extprof(*wrong)
        check(run.status == status and run.err, "%s: %d: %s", wrong, run.status, run.err)
    return "text, JSON and %s" % ("a graph that a browser has drawn" if dom else "a graph; NOT opened: there is no browser here")
