"""Whose code: the tables that a profile begins with, against the clocks of an application with gems below it."""
import json
import re

import harness
from case_proportions import enough, timed, within
from harness import case, check

# Of gems: self and total. Of the application: total, and the share of self.
ROW = re.compile(r"^ *(\d+) +[\d.]+ %  +(?:(\d+) +)?([\d.]+) %  (.*)$")


def profiled(ctx, *options, seconds=2):
    """(truth, what extprof said)"""
    rate = harness.rate(5000)
    truth, profile = timed(ctx, ctx.program("application.rb", ctx.directory), rate, seconds, *options)
    enough(profile.sums.whole, profile.sums.missed, rate, sum(truth.values()))
    return truth, profile


def table(out, title):
    """Rows of a table: [(first number, second number or share, rest of the line)]"""
    check("\n%s\n" % title in out, "there is no table %s: %s", title, out[:2000])
    rows = []
    for line in out.split("\n%s\n" % title)[1].splitlines()[1:]:
        m = ROW.match(line)
        if not m:
            break
        rows.append((int(m.group(1)), float(m.group(2) or m.group(3)), re.split(r"  +", m.group(4).strip())))
    return rows


def owners_of(rows):
    return {rest[0]: (own, total) for own, total, rest in rows}


@case(timeout=60)
def first_screen(ctx):
    """Shares of methods, of what they call, and of owners, as the program's clock says."""
    truth, profile = profiled(ctx, "--rows", 90, "-o", ctx.path("a.extprof"))
    out, cpu, missed = profile.out, sum(truth.values()), profile.sums.missed
    methods = {rest[0]: (total, own, rest[1:]) for total, own, rest in table(out, "The application's methods by total")}
    lines = table(out, "The application's lines by total")
    owners = owners_of(table(out, "Gems by time"))
    named = {name: "Shop#" + name for name in truth}
    counted = {name: methods[method][0] for name, method in named.items()}
    # The helper is called by show, too: what is its own is known, and the gem's loop with it.
    total = counted["count"] + counted["book"] + counted["loaded"]
    rest = truth["count"] + truth["book"] + truth["loaded"]
    worst = max(abs(within(counted[n], total, truth[n] / rest, n, missed)) for n in ("count", "book", "loaded"))
    together = owners["gem mustache 1.1.2"][0] + counted["helper"]
    everything = total + together
    worst = max(worst, abs(within(together, everything, (truth["show"] + truth["helper"]) / cpu, "show and helper", missed)))
    worst = max(worst, abs(within(owners["gem ledger 0123456789ab"][0], everything, truth["book"] / cpu, "ledger", missed)))
    # What is evaluated is of the file that evaluates it.
    for name, callee in (("helper", "String#gsub"), ("book", "gem ledger 0123456789ab")):
        said = methods[named[name]][2]
        check(said[-1] == callee, "%s calls %s, not %s", name, said, callee)
    check(len(methods["Shop#count"][2]) == 0, "Shop#count calls nothing: %s", methods["Shop#count"])
    check(methods["Shop#show"][2][-1] in ("String#gsub", "gem mustache 1.1.2"), "show calls %s", methods["Shop#show"][2])
    gsub = next((row for row in lines if row[2][0] == "app/shop.rb:7"), None)
    check(gsub and gsub[2][-1] == "String#gsub" and float(gsub[2][1].split()[0]) > 0.9 * 100 * gsub[0] / profile.sums.whole > 9 * gsub[1], "the line of the helper: %s in %s", gsub, lines)
    check("Mustache" not in str(list(methods)), "a gem's method among the application's: %s", list(methods))
    check(out.index("The application's methods") < out.index("By time in the method itself"), "the application is not first")
    # The recording knows where the program worked.
    again = ctx.extprof("report", ctx.path("a.extprof"), "--rows", 90).ok()
    check(again.out == out, "report differs:\n%s\n----\n%s", again.out, out)
    # So do the outputs for scripts.
    mode = json.loads(ctx.extprof("report", ctx.path("a.extprof"), "--unit", "samples", "-f", "json", "--rows", 90).ok().out)["modes"][0]
    got = sorted((r["name"], r["total"]) for r in mode["application"]["methods"]["rows"])
    # Several blocks of one method have one name: the table says where each is.
    places = {name: re.fullmatch(r"(block .*) \S+\.rb:(\d+)", name) for name in methods}
    check(got == sorted((places[name][1] if places[name] else name, total) for name, (total, _, _) in methods.items()), "JSON has %s, not %s", got, methods)
    shown = sorted(int(m[2]) for m in places.values() if m)
    check(len(shown) >= 3 and shown == sorted(r["line"] for r in mode["application"]["methods"]["rows"] if r["name"].startswith("block ")),
          "lines of blocks: %s", shown)
    got = {r["name"]: (r["self"], r["total"]) for r in mode["gems"]["rows"]}
    check(got == owners, "JSON has %s, not %s", got, owners)
    rows = [line.split("\t") for line in ctx.extprof("report", ctx.path("a.extprof"), "--unit", "samples", "-f", "table").ok().out.splitlines()]
    check({r[5]: (int(r[1]), int(r[3])) for r in rows if r[0] == "gem"} == owners, "the table has not %s", owners)
    # A file is named as for --focus: by the end of its path.
    of = {name: ctx.extprof("report", ctx.path("a.extprof"), "-f", "folded", "--filter", "file=" + name)
          for name in ("*/app/shop.rb", "shop.rb", "app/shop.rb", "hop.rb")}
    check(len({run.ok().out for name, run in of.items() if name != "hop.rb"}) == 1 and "Shop#count" in of["shop.rb"].out, "%s",
          {name: run.out[:200] for name, run in of.items()})
    check(of["hop.rb"].status == 74 and not of["hop.rb"].out, "%s", of["hop.rb"].err)
    out = ctx.extprof("report", ctx.path("a.extprof")).ok().out
    lead = out[:out.index("\nBy ")].count("\n")
    check(lead <= 40, "the leading part has %d lines", lead)
    return "%d samples; worst %.1f sigma; leading part %d lines" % (profile.sums.whole, worst, lead)


def kinds_of(path):
    """{name: kinds} of the labels of a flame graph, {name: hues} of the frames that are drawn, and what its legend says."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    data = lambda name: json.loads(re.search(r'"%s":(\[.*?\])[,}]\s*(?="\w+":|;)' % name, text, re.S).group(1))
    names, kinds, hues = data("kinds"), {}, {}
    for name, _, kind in data("labels"):
        kinds.setdefault(name, set()).add(names[kind])
    for name, hue in re.findall(r'<title>([^<(\u2014]*) [(\u2014][^<]*</title><rect [^>]*fill="hsl\((\d+),', text):
        hues.setdefault(name, set()).add(int(hue))
    return kinds, hues, re.findall(r'<text x="16">([^<]*)</text>', text)


@case(timeout=60)
def flame_graphs(ctx):
    """The application's methods have a colour of their own where there are gems. Without gems, or without an application, there is none."""
    profiled(ctx, "-o", ctx.path("a.extprof"), "-o", ctx.path("a.svg"), seconds=1)
    kinds, hues, legend = kinds_of(ctx.path("a.svg"))
    ours = {name: k for name, k in kinds.items() if re.search(r"Shop#", name)}
    gems = {name: k for name, k in kinds.items() if re.search(r"Mustache|Ledger", name)}
    check(len(ours) >= 4 and all(k == {"application"} for k in ours.values()), "the application: %s of %s", ours, kinds)
    check(gems and all(k == {"Ruby"} for k in gems.values()), "gems: %s of %s", gems, kinds)
    check(kinds["String#gsub"] == {"C method"}, "%s", kinds)
    check(legend[:3] == ["application", "Ruby", "C method"], "the legend says %s", legend)
    drawn = [hues[name] for name in ours if name in hues]
    check(len(drawn) >= 4 and all(76 <= h < 96 for hs in drawn for h in hs), "hues of the application: %s", hues)
    check(all(8 <= h < 36 for name in gems for h in hues.get(name, ())), "hues of gems: %s", hues)
    for options in (("--app", "/nothing/here"), ("--hide", "gem:*")):
        path = ctx.path("b%d.html" % len(options[1]))
        ctx.extprof("report", ctx.path("a.extprof"), *options, "-o", path).ok()
        kinds, _, legend = kinds_of(path)
        check("application" not in legend and not any("application" in k for k in kinds.values()), "%s: %s", options, legend)
    return "%d names of the application, %d of gems" % (len(ours), len(gems))


@case(timeout=60)
def named(ctx):
    """--app: another directory has no application, and a part of it has a part."""
    _, profile = profiled(ctx, "--rows", 90, "-o", ctx.path("a.extprof"), seconds=1)
    total = owners_of(table(profile.out, "Gems by time"))
    run = ctx.extprof("report", ctx.path("a.extprof"), "--app", ctx.directory).ok()
    # The program itself is elsewhere.
    check(owners_of(table(run.out, "Gems by time"))["other code"][1] > 0, "the program is not other code: %s", run.out[:1500])
    check("Shop#count" in run.out.split("Gems by time")[0], "Shop is not the application's: %s", run.out[:1500])
    run = ctx.extprof("report", ctx.path("a.extprof"), "--app", "/nothing/here").ok()
    check("\nno method belongs to the application: nothing ran below /nothing/here (--app DIR " in run.out,
          "it does not say so: %s", run.out[:1500])
    check("The application's" not in run.out and "\nBy time in the method itself\n" in run.out, "the tables: %s", run.out[:1500])
    other = owners_of(table(run.out, "Gems by time"))
    check(other["other code"] == total["the application"], "%s is not %s", other, total)
    for args in (["--app", "not/there"], ["--app", ""]):
        run = ctx.extprof("report", ctx.path("a.extprof"), *args)
        check(run.status == harness.USAGE and "there is no such directory" in run.err, "%s: %d %s", args, run.status, run.err)
    return "the application by its directory"


@case(timeout=60)
def one_file(ctx):
    """A program of one file is the application, whatever its path: also from stdin and -e."""
    text = "i = 0\ni += 1 while i < 20_000_000\n"
    path = ctx.write("prog.rb", text)
    for argv, cwd in (([path], "/"), (["prog.rb"], ctx.directory), (["-e", text], ctx.directory)):
        out = ctx.extprof("record", "--", harness.RUBY, "--disable=gems", *argv, cwd=cwd).ok().out
        rows = table(out, "The application's methods by total")
        check(rows and rows[0][2][0] == "<main>" and rows[0][0] > 3, "%s: %s", argv, out[:1500])
        # A sample of the start of Ruby can be of the standard library.
        check(not re.search(r" %  gem ", out), "%s: gems of a program without them: %s", argv, out[:1500])
    return "by its path, by its name, -e"


def totals(ctx, recording, *options):
    """The samples in each output of a recording."""
    found = {}
    for name in ("a.folded", "a.speedscope.json", "a.svg"):
        ctx.extprof("report", recording, *options, "-o", ctx.path(name)).ok()
    with open(ctx.path("a.folded"), encoding="utf-8") as f:
        stacks = [line.rsplit(" ", 1) for line in f.read().splitlines()]
    found["folded"] = sum(int(n) for _, n in stacks)
    with open(ctx.path("a.speedscope.json"), encoding="utf-8") as f:
        document = json.load(f)
    # In ns: so many for each sample.
    found["speedscope"] = round(sum(p["endValue"] - p["startValue"] for p in document["profiles"]) * harness.rate(5000) / 1e9)
    with open(ctx.path("a.svg"), encoding="utf-8") as f:
        runs = re.findall(r"^\[\d+,(\d+),(\d+)[,\]]", f.read(), re.M)
    found["flamegraph"] = sum(int(own) + int(hidden) for own, hidden in runs)
    out = ctx.extprof("report", recording, *options).ok().out
    return found, stacks, out


@case(timeout=90)
def views(ctx):
    """--focus, --hide, --collapse: the same sums in all outputs, and what a focus leaves out."""
    recording = ctx.path("a.extprof")
    _, profile = profiled(ctx, "-o", recording, "-o", ctx.path("live.folded"), "--collapse", "gems", seconds=1)
    whole, stacks, _ = totals(ctx, recording)
    every = whole["folded"]
    check(set(whole.values()) == {every}, "totals differ: %s", whole)
    # While it is recorded as well as afterwards.
    ctx.extprof("report", recording, "--collapse", "gems", "-o", ctx.path("again.folded")).ok()
    with open(ctx.path("live.folded")) as live, open(ctx.path("again.folded")) as again:
        text = live.read()
        check(text == again.read(), "the view of the recording is not that of the live profile")
    check(";[gem mustache 1.1.2]" in text and "Mustache.render" not in text, "gems are not collapsed: %s", text[:600])
    for options in (("--hide", "gem:*"), ("--hide", "app/shop.rb"), ("--hide", "*"), ("--collapse", "gems,recursion"),
                    ("--hide", "Integer#times", "--collapse", "recursion")):
        got, _, _ = totals(ctx, recording, *options)
        check(set(got.values()) == {every}, "%s: %s of %d", options, got, every)
    through = sum(int(n) for stack, n in stacks if "Shop#helper" in stack.split(";"))
    got, _, out = totals(ctx, recording, "--focus", "Shop#helper")
    check(through and set(got.values()) == {through}, "--focus Shop#helper: %s, not %d", got, through)
    said = re.search(r"^left out by --focus: (\d+) samples", out, re.M)
    check(said and int(said.group(1)) == every - through, "it does not say what it left out: %s", out[-900:])
    gem = sum(int(n) for stack, n in stacks if "Mustache.render" in stack.split(";"))
    got, focused, _ = totals(ctx, recording, "--focus", "gem:mustache")
    check(gem and set(got.values()) == {gem}, "--focus gem:mustache: %s, not %d", got, gem)
    check(all(stack.startswith("Mustache.render") for stack, _ in focused), "stacks are not rooted there: %s", focused[:5])
    for options, first, count in ((("--callees-of", "Shop#helper"), "Shop#helper", through), (("--callers-of", "Shop#helper"), "Shop#helper", through),
                                  (("--callers-of", "Mustache.render"), "Mustache.render", gem)):
        got, shown, _ = totals(ctx, recording, *options)
        check(set(got.values()) == {count} and all(s.split(";")[0] == first for s, _ in shown), "%s: %s, not %d: %s", options, got, count, shown[:3])
        check("callees" in options[0] or all(s.split(";")[-1] == "<main>" for s, _ in shown), "%s: not up to the root: %s", options, shown[:3])
    got, turned, out = totals(ctx, recording, "--invert")
    check(set(got.values()) == {every}, "--invert: %s of %d", got, every)
    check(sorted((";".join(reversed(s.split(";"))), n) for s, n in turned) == sorted(map(tuple, stacks)), "--invert: %s", turned[:3])
    check(out == ctx.extprof("report", recording).ok().out, "--invert changes the tables")
    leaves = {}
    for stack, n in stacks:
        leaves[stack.split(";")[-1]] = leaves.get(stack.split(";")[-1], 0) + int(n)
    most = max(leaves.values())
    got, kept, _ = totals(ctx, recording, "--top", "1")
    check(set(got.values()) == {every} and dict(kept).get("[other methods]") == str(every - most), "--top 1: %s, %s, not %d", got, kept[-3:], every - most)
    # Of a table it is the number of rows; amounts stay.
    all_rows, few = (json.loads(ctx.extprof("report", recording, "-f", "json", *options).ok().out)["modes"][0]["methods"] for options in ((), ("--top", "2")))
    check(few["rows"] == all_rows["rows"][:2] and len(all_rows["rows"]) > 2, "--top 2 of a table: %s, not %s", few["rows"], all_rows["rows"][:2])
    ns = sum(int(line.rsplit(" ", 1)[1]) for line in ctx.extprof("report", recording, "-f", "folded", "--metric", "cpu", "--unit", "ns").ok().out.splitlines())
    check(round(ns * harness.rate(5000) / 1e9) == every, "--metric cpu: %d ns of %d samples", ns, every)
    for options, text in ((("--metric", "waits"), 'no metric "waits"'), (("--metric", "samples", "--unit", "ms"), "cannot be shown in ms"),
                          (("--callers-of", ""), "needs the name"), (("--callers-of", "a", "--callees-of", "b"), "choose one")):
        run = ctx.extprof("report", recording, *options)
        check(run.status == harness.USAGE and text in run.err, "%s: %d %s", options, run.status, run.err)
    run = ctx.extprof("report", recording, "--focus", "Nobody#here")
    check(run.status and "no such samples" in run.err, "%d: %s", run.status, run.err)
    for options, text in ((("--hide", "app"), "not gem:NAME, a METHOD or a FILE"), (("--collapse", "gem"), "not gems or recursion"),
                          (("--focus", ""), "not app, gem:NAME")):
        run = ctx.extprof("report", recording, *options)
        check(run.status == harness.USAGE and text in run.err, "%s: %d %s", options, run.status, run.err)
    return "%d samples, %d through the helper, %d through a gem" % (every, through, gem)
