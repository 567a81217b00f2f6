"""Two recordings, or two times of one: a program that changes its shares, which it measures itself."""
import json
import os
import re
import time

import case_rotate
import harness
from case_graph import browse
from case_rotate import clock, near, used
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


def record(ctx, name, fast, slow, program=PROGRAM, folder=None):
    """(the recording, {method: its share}), as the program has measured them."""
    path = ctx.path(name + ".extprof")
    script = ctx.write("shares.rb", program)
    if folder:
        os.rename(script, os.path.join(folder, "shares.rb"))
        script = "shares.rb"
    ruby = ctx.ruby(script, str(fast), str(slow), cwd=folder)
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
def views_of_both_sides(ctx):
    """--focus, --hide and --collapse: both sides as report shows them, by the program's clocks, and in all outputs."""
    before, truth = record(ctx, "before", 60, 20)
    after, changed = record(ctx, "after", 20, 60)
    of = lambda shares: shares["fast"] / (shares["fast"] + shares["slow"])
    focus = ("--focus", "Object#fast,Object#slow")
    d = compare(ctx, before, after, *focus)
    row = {r["method"]: r for r in d["methods"]}["Object#fast"]["self"]
    wanted = of(changed) - of(truth)
    check(row["decided"] and abs(row["change"] - wanted) < row["noise"] + 0.02, "%s, not %.3f", row, wanted)
    check("Object#turn" not in {r["method"] for r in d["methods"]}, "what is above the focus is there: %s", d["methods"])
    for options in (focus, ("--hide", "Object#fast"), ("--focus", "app", "--hide", "shares.rb"), ("--collapse", "gems,recursion"), ("--hide", "*")):
        d, whole = compare(ctx, before, after, *options), compare(ctx, before, after)
        for side, path in (("before", before), ("after", after)):
            lines = ctx.extprof("report", path, *options, "-f", "folded", "--unit", "ns").ok().out.splitlines()
            there = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
            check(d[side]["amount"] == there, "%s %s: %d, report has %d", options, side, d[side]["amount"], there)
            check(d[side]["amount"] + d[side]["left_out"] == whole[side]["amount"], "%s %s: %s of %s", options, side, d[side], whole[side])
            rows = json.loads(ctx.extprof("report", path, *options, "-f", "json", "--unit", "ns", "--rows", 200).ok().out)["modes"][0]["methods"]["rows"]
            rows, compared = {r["name"]: (r["self"], r["total"]) for r in rows}, {r["method"]: r for r in d["methods"]}
            for name in set(rows) & {"Object#fast", "Object#slow", "Object#turn"}:
                got = tuple(compared[name][part][side]["amount"] for part in ("self", "total"))
                check(got == rows[name], "%s %s %s: %s, report has %s", options, side, name, got, rows[name])
    # What is hidden is in its caller.
    hidden = {r["method"]: r for r in compare(ctx, before, after, "--hide", "Object#fast")["methods"]}
    check("Object#fast" not in hidden and hidden["Object#turn"]["self"]["decided"], "%s", hidden)
    check(abs(hidden["Object#turn"]["self"]["change"] - (changed["fast"] - truth["fast"])) < 0.05, "%s", hidden["Object#turn"])
    same = compare(ctx, before, before, *focus)
    check(same["decided"] == {"methods_self": 0, "methods_total": 0, "lines_self": 0}, "A and A: %s", same["decided"])
    text = ctx.extprof("diff", before, after, *focus).ok().out
    check(len(re.findall(r"of all are left out by --focus", text.replace("\n", " "))) == 2, "%s", text)
    graph = ctx.path("focus.svg")
    ctx.extprof("diff", before, after, *focus, "-o", graph).ok()
    with open(graph, encoding="utf-8") as f:
        drawn = f.read()
    check("left out by --focus" in drawn and "Object#fast" in drawn and "Object#turn" not in drawn, "the graph")
    for options, status, said in ((("--hide", "app"), harness.USAGE, "not gem:NAME"), (("--collapse", "gem"), harness.USAGE, "not gems or recursion"),
                                  (("--focus", "Nobody#here"), 74, "no stack goes through what --focus names"),
                                  (("--app", "/nothing/here", "--focus", "app"), 74, "no stack goes through")):
        run = ctx.extprof("diff", before, after, *options)
        check(run.status == status and said in run.err, "%s: %d: %s", options, run.status, run.err)
    return "fast of both %+.1f (measured %+.1f)" % (100 * row["change"], 100 * wanted)


@case(timeout=120)
def outputs(ctx):
    """Text on 80 columns and in colours, the flame graph of both in a browser, and what is refused."""
    before, _ = record(ctx, "before", 60, 20)
    after, _ = record(ctx, "after", 20, 60)
    run = ctx.extprof("diff", before, after)
    check(run.status == 0 and "Methods by the change" in run.out and "\033" not in run.out, "%d: %s", run.status, run.out)
    check(re.search(r"^  .* Object#slow ", run.out, re.M), "slow is not decided:\n%s", run.out)
    narrow = ctx.extprof("diff", before, after, env={**os.environ, "COLUMNS": "80"}).ok().out.splitlines()
    check("The application's methods by" in run.out and all(len(line) <= 80 for line in narrow), "%s", [line for line in narrow if len(line) > 80])
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


# A program that tells its work by its own clocks.  When it is told to, alpha and beta change places.
PHASES = """
STDOUT.sync = true
CPU = Process::CLOCK_THREAD_CPUTIME_ID
""" + case_rotate.SPANS + """
log, ends, times = [], false, { alpha: 0.06, beta: 0.02 }
Thread.new { while (line = gets); line.chomp == "end" ? ends = true : times = { alpha: 0.02, beta: 0.06 }; end }
puts "ready"
until ends
  times.each { |method, s| log << span(method, s) }
  sleep 0.01
end
puts log, "over"
sleep
"""
SECOND = 10**9


class History:
    """A folder of recordings in which the program changes its shares, and what the program says of it."""

    def __init__(self, ctx):
        self.ctx, self.folder = ctx, ctx.path("day")
        os.mkdir(self.folder)
        ruby = ctx.ruby(ctx.write("phases.rb", PHASES))
        ruby.expect("ready")
        reader = case_rotate.begin(ctx, ruby.pid, "-m", "cpu,wall", "-F", "499", "--rotate", "1s", name="day/app")
        case_rotate.until_files(ctx, 5, "day/app")
        ruby.tell("change")
        case_rotate.until_files(ctx, 10, "day/app")
        case_rotate.end(reader)
        self.spans, self.paths = case_rotate.log_of(ruby), case_rotate.files_of(ctx, "day/app")
        self.walls = [case_rotate.number(ctx, p, "SELECT value FROM meta WHERE key='started_unix_ns'") - case_rotate.span_of(ctx, p)[0]
                      for p in self.paths]
        # Whole seconds of the clock, in both phases.
        self.begin = int((case_rotate.span_of(ctx, self.paths[0])[0] + self.walls[0]) // 1e9)
        self.times = [(self.begin + 1, self.begin + 3), (self.begin + 6, self.begin + 8)]

    def sum(self, mode, method, since, until):
        """What SQL has of the method between two seconds of the clock, in ns; method None: of all."""
        where = "AND stack_text(stack)||';' LIKE '%%Object#%s;%%'" % method if method else ""
        return sum(int(case_rotate.sql(self.ctx, p, "SELECT coalesce(sum(value), 0) FROM samples WHERE mode='%s' AND time_ns>=%d AND "
                                       "time_ns<=%d %s" % (mode, since * SECOND - wall, until * SECOND - wall, where))[0][0])
                   for p, wall in zip(self.paths, self.walls))

    def truth(self, mode, method, since, until):
        """The same by the clocks of the program."""
        spans = self.spans if mode == "cpu" else [(m, a, b, b - a) for m, a, b, _ in self.spans]
        return used(spans, method, since * SECOND - self.walls[0], until * SECOND - self.walls[0])

    def compare(self, *options, of=None, env=None):
        run = self.ctx.extprof("diff", *(of or [self.folder]), "-f", "json", *map(str, options), env=env)
        check(run.status == 0, "%s: %d: %s", options, run.status, run.err)
        return json.loads(run.out)


def utc(at):
    return clock("UTC", at, "%Y-%m-%dT%H:%M:%SZ")


@case(timeout=120, waits=True)
def two_times_of_one_history(ctx):
    """--with: two times of the same folder have what SQL has of each, to the ns, and what the program's clocks say."""
    h = History(ctx)
    first, second = h.times
    said = []
    for mode in ("cpu", "wall"):
        d = h.compare("-m", mode, "--idle", "--since", utc(second[0]), "--until", utc(second[1]), "--with", utc(first[0]))
        rows = {r["method"]: r for r in d["methods"]}
        for side, (since, until) in (("before", first), ("after", second)):
            check((d[side]["since_ns"], d[side]["until_ns"]) == (since * SECOND, until * SECOND), "%s: %s", side, d[side])
            check(d[side]["amount"] == h.sum(mode, None, since, until), "%s: %s, not what SQL has", side, d[side])
            check(1.6 < d[side]["seconds"] <= 2, "%s: %s", side, d[side])
            for method in ("alpha", "beta"):
                got = rows["Object#" + method]["total"][side]["amount"]
                check(got == h.sum(mode, method, since, until), "%s %s %s: %d, SQL %d", mode, side, method, got,
                      h.sum(mode, method, since, until))
                # Between two files there is no sample.
                near("%s %s %s" % (mode, side, method), got, h.truth(mode, method, since, until), 0.12, 3e7)
                said.append("%s %s %s %.2f s of %.2f s" % (mode, side, method, got / 1e9, h.truth(mode, method, since, until) / 1e9))
        change = {m: rows["Object#" + m]["total"] for m in ("alpha", "beta")}
        check(change["alpha"]["change"] < -0.1 and change["beta"]["change"] > 0.1, "%s: %s", mode, change)
        # A wait of seconds is one sample: the noise of wall is large.
        check(mode == "wall" or change["alpha"]["decided"] and change["beta"]["decided"], "%s: %s", mode, change)
    same = ["-m", "cpu", "--since", utc(second[0]), "--until", utc(second[1])]
    d = h.compare(*same, "--with", utc(first[0]))
    # The same time in other words: so long before, the time of the day in a zone, files instead of the folder, the other
    # way round, the end as it is without --until.
    for zone in ("Asia/Kolkata", "America/New_York"):
        check(h.compare(*same, "--with", clock(zone, first[0]), env={"TZ": zone}) == d, "a time of the day in %s", zone)
    check(h.compare(*same, "--with", "-%ds" % (second[0] - first[0])) == d, "so long before")
    other = h.compare("-m", "cpu", "--since", utc(first[0]), "--until", utc(first[1]), "--with", utc(second[0]))
    check(other == d, "the other way round")
    files = h.compare(*same, "--with", utc(first[0]), of=h.paths)
    check([files[s].pop("file") for s in ("before", "after")] == 2 * ["%s and %d more" % (h.paths[0], len(h.paths) - 1)], "names")
    check([d[s].pop("file") for s in ("before", "after")] == 2 * [h.folder], "the name of the folder")
    check(files == d, "files instead of their folder")
    # The last file can be over before its first sample.
    last = max(int(case_rotate.sql(ctx, p, "SELECT coalesce(max(time_ns), 0) FROM samples")[0][0]) + int(wall) for p, wall in zip(h.paths, h.walls))
    tail = h.compare("-m", "cpu", "--since", "-1s", "--with", "-4s")
    for side, until in (("before", last - 4 * SECOND), ("after", last)):
        check(abs(tail[side]["until_ns"] - until) < 1000 and tail[side]["until_ns"] - tail[side]["since_ns"] == SECOND, "%s: %s, not %d",
              side, tail[side], until)
    after = h.compare("-m", "cpu", "--since", "500ms", "--until", "1500ms", "--with", "2")
    check(after["after"]["since_ns"] - after["before"]["since_ns"] == 3 * SECOND // 2, "after the begin: %s", after)
    return "; ".join(said)


@case(timeout=120, patient=True)
def what_two_times_are_not(ctx):
    """Overlaps, times without data, two recordings, words that are no time; filters, formats, one file, and folders as two sides."""
    h = History(ctx)
    first, second = h.times
    span = ["-m", "cpu", "--since", utc(second[0]), "--until", utc(second[1])]
    for wrong, status, text in (
            ([h.folder, *span, "--with", utc(second[0] - 1)], 64, "the two times overlap"),
            ([h.folder, *span, "--with", utc(second[0])], 64, "the two times overlap"),
            ([h.folder, *span, "--with", "-1d"], 74, "has nothing of that time, "),
            ([h.folder, *span, "--with", "yesterday"], 64, "-1h before --since"),
            ([h.folder, "-m", "cpu", "--with", "-1d"], 64, "say which"),
            ([h.folder, "--since", "2001-01-01", "--until", "2001-01-02", "--with", utc(first[0])], 74, "has nothing of that time, "),
            ([h.folder, "--since", "2100-01-01", "--with", utc(first[0])], 74, "has nothing of that time, "),
            ([*h.paths[:2], *span, "--with", utc(first[0])], 64, "two recordings are before and after"),
            ([h.folder, *span[2:], "--with", utc(first[0])], 64, "choose one with --mode"),
            ([h.folder, *span, "--with", utc(first[0]), "--filter", "thread=nobody"], 74, "there are no such samples"),
            ([h.folder, *span], 64, "it takes two recordings"),
            (h.paths[:3], 64, "it takes two recordings")):
        run = ctx.extprof("diff", *wrong)
        check(run.status == status and text in run.err and not run.out, "%s: %d: %s", wrong, run.status, run.err)
    one = h.compare(*span, "--with", utc(first[0]), "--filter", "method=Object#alpha", "--metric", "samples")
    check(one["metric"] == "samples" and "Object#beta" not in {r["method"] for r in one["methods"]}, "%s", one)
    run = ctx.extprof("diff", h.folder, *span, "--with", utc(first[0]), env={"TZ": "UTC"})
    for side, (since, until) in (("before", first), ("after", second)):
        wanted = "%-7s %s, %s to %s" % (side, h.folder, clock("UTC", since, "%Y-%m-%d %H:%M:%S"), clock("UTC", until))
        check(wanted in run.out, "%s is not in\n%s", wanted, run.out)
    graph = ctx.path("change.svg")
    check(ctx.extprof("diff", h.folder, *span, "--with", utc(first[0]), "-o", graph).status == 0, "a graph")
    with open(graph, encoding="utf-8") as f:
        check("hsl(214,85%" in f.read(), "colours")
    # Two times of one file.
    path = ctx.path("one.extprof")
    ruby = ctx.ruby(ctx.write("again.rb", PHASES))
    ruby.expect("ready")
    reader = case_rotate.begin(ctx, ruby.pid, "-F", "499", name="one")
    time.sleep(2)
    ruby.tell("change")
    time.sleep(2.5)
    case_rotate.end(reader)
    d = h.compare("--since", "0.3", "--until", "1.3", "--with", "2.7", of=[path])
    rows = {r["method"]: r["total"] for r in d["methods"]}
    check(rows["Object#alpha"]["decided"] and rows["Object#alpha"]["change"] < 0 < rows["Object#beta"]["change"], "one file: %s", rows)
    # Both sides are folders: each of all its files. The last file can be over before the program has the CPU.
    both = h.compare("-m", "cpu", of=[h.folder, h.folder])
    check(both["before"]["amount"] == both["after"]["amount"] == sum(
        int(case_rotate.sql(ctx, p, "SELECT coalesce(sum(value), 0) FROM samples WHERE mode='cpu'")[0][0]) for p in h.paths), "folders: %s", both["before"])
    check(not any(both["decided"].values()), "folders: %s", both["decided"])
    return "12 that are refused"


# The main thread joins another one, which works and waits by turns.
JOINS = """
def work(s) = (t = Process.clock_gettime(1) + s; 1 while Process.clock_gettime(1) < t)
puts "ready"
STDOUT.flush
Thread.new { loop { work(0.01); sleep 0.01 } }.join
"""


@case(timeout=60, waits=True)
def idle_by_the_length_of_each_side(ctx):
    """The rest of the main thread is the rest in both, though one recording is three times as long: else it would be all that differs.
    Both are of one process, and of two."""
    amounts = []
    for processes in (1, 2):
        paths = []
        for i, seconds in enumerate((1.5, 4.5)):
            if i < processes:
                ruby = ctx.ruby(ctx.write("joins.rb", JOINS))
                ruby.expect("ready")
            paths.append(ctx.path("%d-%s.extprof" % (processes, seconds)))
            run = ctx.extprof("record", "-q", "-p", ruby.pid, "-m", "wall", "-d", seconds, "-o", paths[-1])
            check(run.status == 0, "%d: %s", run.status, run.err)
        for before, after in (paths, paths[::-1]):
            d = compare(ctx, before, after)
            check(not [r for r in d["methods"] if r["method"] == "Thread#join"], "the main thread is no rest: %s", d["methods"][:3])
            for side, path in (("before", before), ("after", after)):
                alone = json.loads(ctx.extprof("report", path, "-f", "json").out)["modes"][0]
                check(d[side]["amount"] == alone["amount"], "%s: %d in the comparison, %d alone", side, d[side]["amount"], alone["amount"])
                rows = {}
                for r in alone["methods"]["rows"]:
                    rows[r["name"]] = rows.get(r["name"], 0) + r["self"]
                got = {r["method"]: r["self"][side]["amount"] for r in d["methods"] if r["self"][side]["amount"]}
                check(got == {name: n for name, n in rows.items() if n}, "%s: %s in the comparison, %s alone", side, got, rows)
            for output in ("text", "flamegraph"):
                check(ctx.extprof("diff", before, after, "-f", output).status == 0, "%s", output)
            amounts.append("%.2f and %.2f s" % (d["before"]["amount"] / 1e9, d["after"]["amount"] / 1e9))
        ruby.kill()
    return "; ".join(amounts)


GEM = """%s
module Fast
  def self.a(n) = (i = 0; i += 1 while i < n)
end
"""


# A third of the work is in a file that the other version does not use.
GEM_WITH_A_FILE_MORE = """


require_relative "more"
module Fast
  def self.a(n) = (i = 0; i += 1 while i < n * 2 / 3; more(n / 3))
end
"""


@case(timeout=120)
def gems_and_growth(ctx):
    """A gem is compared whatever its version, the application has a table of its own, and --fail-above is by the program's clocks."""
    paths, truth = [], []
    for version, n in (("1.0.0", 20), ("1.1.0", 60)):
        folder = ctx.path("gems/fast-" + version + "/lib")
        os.makedirs(folder)
        with open(os.path.join(folder, "fast.rb"), "w", encoding="utf-8") as f:
            f.write(GEM % ("\n" * (n - 20)) if n == 20 else GEM_WITH_A_FILE_MORE)
        with open(os.path.join(folder, "more.rb"), "w", encoding="utf-8") as f:
            f.write("module Fast\n  def self.more(n) = (i = 0; i += 1 while i < n)\nend\n")
        work = PROGRAM.replace("def fast(n) = (i = 0; i += 1 while i < n)", "require %r\ndef fast(n) = Fast.a(n)" % os.path.join(folder, "fast.rb"))
        path, shares = record(ctx, "gem-" + version, n, 60, program=work)
        paths.append(path)
        truth.append(shares["fast"])
    d = compare(ctx, *paths)
    row = {r["owner"]: r for r in d["owners"]}["gem fast"]
    check((row["version_before"], row["version_after"]) == ("1.0.0", "1.1.0"), "%s", row)
    grown = truth[1] - truth[0]
    check(row["self"]["decided"] and abs(row["self"]["change"] - grown) < row["self"]["noise"] + 0.02, "%s, not %.3f", row, grown)
    methods = {r["method"] for r in d["application"]}
    check({"Object#fast", "Object#slow"} <= methods and "Fast.a" not in methods, "the application: %s", methods)
    # It is one method, though its file has another path and other lines.
    same = [r for r in d["methods"] if r["method"].startswith("Fast.a")]
    check(len(same) == 1 and same[0]["self"]["before"]["amount"] and same[0]["self"]["after"]["amount"], "the gem's method: %s", same)
    check(sum(r["self"]["before"]["amount"] for r in d["owners"]) == d["before"]["amount"], "owners: %s", d["owners"])
    text = ctx.extprof("diff", *paths).out
    check(re.search(r"^  .*  gem fast 1\.0\.0 to 1\.1\.0$", text, re.M), "%s", text)
    for width in (90, 110):
        longest = max(ctx.extprof("diff", *paths, env=dict(os.environ, COLUMNS=str(width))).ok().out.splitlines(), key=len)
        check(len(longest) <= width, "more than %d columns: %s", width, longest)
    more = [r for r in d["methods"] if r["method"].startswith("Fast.more")]
    check(len(more) == 1 and not more[0]["self"]["before"]["amount"] and more[0]["self"]["after"]["amount"], "the file of one version: %s", more)
    # As one frame it has the name of both versions, with what is in that file.
    collapsed = compare(ctx, *paths, "--collapse", "gems")["methods"]
    check(len({r["method"] for r in collapsed}) == len(collapsed), "methods twice: %s", [r["method"] for r in collapsed])
    one = [r for r in collapsed if "gem fast" in r["method"]]
    # The noise is a sum of parts in another order.
    same = [{**r["self"], "noise": round(r["self"]["noise"], 6)} for r in (*one, row)]
    check([r["method"] for r in one] == ["[gem fast 1.0.0 to 1.1.0]"] and same[0] == same[1], "collapsed: %s, not %s", one, row)
    for limit, files, status in ((100 * grown - 6, paths, 1), (100 * grown + 6, paths, 0), (1, [paths[0]] * 2, 0), (1, paths[::-1], 1)):
        run = ctx.extprof("diff", *files, "--fail-above", "%.1f%%" % limit, "-o", ctx.path("grown.json"))
        check(run.status == status, "--fail-above %.1f: %d: %s", limit, run.status, run.err)
        check(("--fail-above" in run.err) == (status == 1), "%s", run.err)
    for wrong in ("5", "0%", "101%", "x%", ""):
        check(ctx.extprof("diff", *paths, "--fail-above", wrong).status == harness.USAGE, "--fail-above %s", wrong)
    return "gem fast %+.1f (measured %+.1f)" % (100 * row["self"]["change"], 100 * grown)


@case(timeout=120)
def releases_of_one_application(ctx):
    """Each release is in a directory of its own, as deployments make them, and works there: methods are the same, the changed one is found."""
    paths, truth = [], []
    for release, n in (("releases/20261128093000", 20), ("releases/20261129101500", 60), ("elsewhere/app", 60)):
        folder = ctx.path(release)
        os.makedirs(os.path.join(folder, "lib"))
        with open(os.path.join(folder, "lib/fast.rb"), "w", encoding="utf-8") as f:
            f.write(GEM % ("\n" * (n - 20)))
        work = PROGRAM.replace("def fast(n) = (i = 0; i += 1 while i < n)", "require %r\ndef fast(n) = Fast.a(n)" % os.path.join(folder, "lib/fast.rb"))
        path, shares = record(ctx, os.path.basename(release), n, 60, program=work, folder=folder)
        paths.append(path)
        truth.append(shares["fast"])
    said = []
    for before, after in ((0, 1), (1, 2), (2, 0)):
        d = compare(ctx, paths[before], paths[after])
        same = [r for r in d["methods"] if r["method"].startswith("Fast.a")]
        check(len(same) == 1, "the method: %s", same)
        wanted = truth[after] - truth[before]
        check(abs(same[0]["self"]["change"] - wanted) < same[0]["self"]["noise"] + 0.02, "%s, not %.3f", same, wanted)
        check(len({r["method"] for r in d["methods"]}) == len(d["methods"]), "methods twice: %s", [r["method"] for r in d["methods"]])
        said.append("%+.1f (measured %+.1f)" % (100 * same[0]["self"]["change"], 100 * wanted))
    # Filters are asked with the path that each has.
    one = ctx.extprof("diff", paths[0], paths[1], "--filter", "file=*/releases/20261129101500/lib/*", "-f", "json")
    check(one.status == 74, "a file of one release: %d %s", one.status, one.out)
    both = compare(ctx, paths[0], paths[1], "--filter", "file=*/releases/*/lib/fast.rb")
    check(both["before"]["amount"] and both["after"]["amount"], "both: %s", both)
    return "; ".join(said)
