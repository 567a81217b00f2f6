"""Formats for other people's readers, of two threads with known work. That the formats agree with each other
is a unit test."""
import json
import os
import re
import shutil
import subprocess
from collections import Counter

import harness
import npm
from case_groups import compare, truth_of
from harness import Counted, case, check

SECONDS = 3
METHODS = {"Left#work": "left", "Right#work": "right"}


def record(ctx, path, *options):
    """(the profile, {thread: tid}, {thread: ns}, pid, rate)"""
    ruby = ctx.program("two_threads.rb")
    tids = {}
    while True:
        line = ruby.line()
        if line == "ready":
            break
        name, tid = line.split()
        tids[name] = int(tid)
    rate = harness.rate(2000)
    reader = ctx.extprof_start("-p", ruby.pid, "-F", rate, *options, "-o", path)
    harness.prefer(ruby.pid)
    harness.prefer(reader.pid)
    ctx.attached(reader)
    ruby.tell(str(SECONDS))
    truth = truth_of(ruby, SECONDS)
    reader.signal(2)
    profile = ctx.profile_of(reader, path=path).ok()
    check(profile.sums.lost == 0, profile.sums.text)
    return profile, tids, truth, ruby.pid, rate


def lines_of(thread):
    with open(os.path.join(harness.PROGRAMS, "two_threads.rb"), encoding="utf-8") as f:
        return {n for n, line in enumerate(f, 1) if line.rstrip().endswith("# " + thread)}


def pprof(ctx, *args):
    run = subprocess.run(["go", "tool", "pprof", *args, ctx.path("out.pprof")], capture_output=True, timeout=60,
                         env={**harness.environment(), "HOME": ctx.directory, "PPROF_TMPDIR": ctx.directory})
    check(run.returncode == 0 and not run.stderr, "pprof %s: status %d: %s", args[0], run.returncode, run.stderr[-300:])
    return run.stdout.decode("utf-8")


@case(timeout=60)
def pprof_of_two_threads(ctx):
    """go tool pprof shows the totals, the lines, and the labels of process and thread."""
    if not shutil.which("go"):
        return Counted(0, 0, 1, "there is no go, which has `go tool pprof`")
    profile, tids, truth, pid, rate = record(ctx, ctx.path("out.pprof"))
    kept = profile.sums.whole + profile.sums.truncated
    check(profile.sums.text in pprof(ctx, "-comments"), "the account is not in the comments")
    raw = pprof(ctx, "-raw")
    locations = dict(re.findall(r"^ +(\d+): 0x0 M=1 (.*) s=\d+\(.*\)$", raw.partition("\nLocations\n")[2], re.M))
    counted, lines, total, labels = Counter(), Counter(), 0, Counter()
    period = 10**9 // rate
    for m in re.finditer(r"^ +(\d+) +(\d+): ((?:\d+ )+)\n((?: {16}.*\n)*)", raw, re.M):
        samples, frames = int(m.group(1)), [locations[i] for i in m.group(3).split()]
        label = dict(re.findall(r"(\w+):\[(.*?)\](?=[ \n])", m.group(4)))
        total += samples
        for item in label.items():
            labels[item] += samples
        check(int(m.group(2)) == samples * period, "%s ns of %d samples", m.group(2), samples)
        check(label["pid"] == str(pid) and label["process"] == "two_threads.rb", "labels: %s", label)
        mine = {METHODS[f.split()[0]] for f in frames if f.split()[0] in METHODS}
        if mine:
            thread = mine.pop()
            check(not mine and label["thread"] == thread and label["tid"] == str(tids[thread]),
                  "%d times %s with the labels %s", samples, frames, label)
        if label["thread"] in tids and "native" not in label["thread"]:
            counted[label["thread"]] += samples
        leaf = re.match(r"(\S+#work) \S+two_threads\.rb:(\d+)$", frames[0])
        if leaf:
            lines[METHODS[leaf.group(1)], int(leaf.group(2))] += samples
    check(total == kept, "%d samples in the file, %d in the account", total, kept)
    for (thread, line), n in lines.items():
        check(line in lines_of(thread), "%d samples in line %d of %s: %s", n, line, thread, lines_of(thread))
    check({t for t, _ in lines} == set(tids), "lines of %s", set(lines))
    # pprof's own sums of the same.
    head = pprof(ctx, "-top", "-sample_index=samples", "-unit=count")
    check(int(re.search(r"of (\d+) total", head).group(1)) == kept, "-top: %s", head[:300])
    tags, key = {}, None
    for line in pprof(ctx, "-tags", "-sample_index=samples", "-unit=count").split("\n"):
        m = re.match(r"^ (\w+): Total|^ +(\d+)(?:\.0)? \(.*?%\): (.*)$", line)
        if m:
            key = m.group(1) or key
            if m.group(2):
                tags[key, m.group(3)] = int(m.group(2))
    check(tags == dict(labels), "-tags: %s, not %s", tags, labels)
    return "%d samples; %s; lines %s" % (total, compare(counted, truth, profile, rate), dict(lines))


@case(timeout=60)
def speedscope_of_two_threads(ctx):
    """One profile for each thread; its weights add up to the account, and its lines are those of the methods."""
    path = ctx.path("out.speedscope.json")
    profile, tids, truth, _, rate = record(ctx, path, "-t", "-l")
    kept = profile.sums.whole + profile.sums.truncated
    period = 10**9 // rate
    with open(path, encoding="utf-8") as f:
        document = json.load(f)
    check(document["extprof"]["modes"]["cpu"]["account"] == profile.sums.text, "account: %s", document["extprof"])
    check(sum(p["endValue"] for p in document["profiles"]) == kept * period, "weights of %s, %d samples of %d ns",
          [p["endValue"] for p in document["profiles"]], kept, period)
    frames = document["shared"]["frames"]
    counted = Counter()
    names = {"%s (%d)" % item: item[0] for item in tids.items()}
    for p in document["profiles"]:
        counted[names.get(p["name"])] += p["endValue"] // period
        seen = [frames[e["frame"]] for e in p["events"] if e["type"] == "O"]
        for f in (f for f in seen if f["name"] in METHODS):
            thread = METHODS[f["name"]]
            check(names.get(p["name"]) == thread, "%s in the profile of %s", f, p["name"])
            check(f["file"].endswith("/two_threads.rb") and f["line"] in lines_of(thread), "%s", f)
    del counted[None]
    check(set(counted) == set(tids), "profiles: %s", [p["name"] for p in document["profiles"]])
    return "%d profiles; %s" % (len(document["profiles"]), compare(counted, truth, profile, rate))


PHASES = """
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
def early(seconds) = (t = now; nil while now - t < seconds)
def late(seconds) = (t = now; nil while now - t < seconds)
puts "ready"
$stdout.flush
$stdin.gets
other = Thread.new { Thread.current.name = "other"; sleep 0.3; late(0.3); early(0.3) }
early(0.3); late(0.6); early(0.9)
other.join
puts "done"
$stdout.flush
$stdin.gets
"""


def runs_of(document, profile):
    """[(method, weight)] of a profile, in its order."""
    frames, opened, at, runs = document["shared"]["frames"], [], 0, []
    for event in profile["events"]:
        name = next((frames[f]["name"] for f in opened if frames[f]["name"] in ("Object#early", "Object#late")), None)
        check(event["at"] >= at, "times go back")
        if name and event["at"] > at:
            if runs and runs[-1][0] == name:
                runs[-1][1] += event["at"] - at
            else:
                runs.append([name, event["at"] - at])
        at = event["at"]
        if event["type"] == "O":
            opened.append(event["frame"])
        else:
            check(opened.pop() == event["frame"], "another frame is closed")
    check(not opened and at == profile["endValue"], "%s: frames are open, or %d is not %d", profile["name"], at, profile["endValue"])
    return runs


@case(timeout=60)
def speedscope_in_the_order_of_time(ctx):
    """Samples of a recording: each thread has its own profile, in which phases of known length follow one another."""
    path, out = ctx.path("a.extprof"), ctx.path("a.speedscope.json")
    ruby = ctx.ruby(ctx.write("phases.rb", PHASES))
    ruby.expect("ready")
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-m", "wall", "--waits", "each", "-F", harness.rate(997), "-o", path)
    ctx.attached(reader)
    ruby.tell("go")
    ruby.expect("done")
    reader.signal(2)
    check(reader.wait() == 0, "the recording failed")
    ctx.extprof("report", path, "--idle", "-o", out).ok()
    with open(out, encoding="utf-8") as f:
        document = json.load(f)
    check(document["extprof"]["modes"]["wall"]["order"] == "time", "%s", document["extprof"])
    said = []
    for thread, wanted in (("main", [("Object#early", 0.3), ("Object#late", 0.6), ("Object#early", 0.9)]),
                           ("other", [("Object#late", 0.3), ("Object#early", 0.3)])):
        (profile,) = [p for p in document["profiles"] if p["name"].startswith(thread + " ")]
        runs = runs_of(document, profile)
        check([name for name, _ in runs] == [name for name, _ in wanted], "%s: %s", thread, runs)
        # The last part of a phase can be a wait for the GVL, which ends in the next one.
        check(all(abs(ns / 1e9 - seconds) < 0.12 for (_, ns), (_, seconds) in zip(runs, wanted)), "%s: %s, not %s", thread, runs, wanted)
        said.append("%s %s" % (thread, ", ".join("%.2f" % (ns / 1e9) for _, ns in runs)))
    # What has no order in time: stacks that stand for others, and a live profile.
    ctx.extprof("report", path, "--invert", "-o", out).ok()
    with open(out, encoding="utf-8") as f:
        check(json.load(f)["extprof"]["modes"]["wall"]["order"] == "alphabet", "--invert has an order of time")
    return "; ".join(said)


FLAMEGRAPH_PL = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"


@case(timeout=60)
def folded_for_flamegraph_pl(ctx):
    """Brendan Gregg's flamegraph.pl shows each method with the samples that it has, and all samples."""
    if not os.path.exists(FLAMEGRAPH_PL):
        return Counted(0, 0, 1, "there is no flamegraph.pl: Debian's libdevel-nytprof-perl has it")
    profile, _, _, _, _ = record(ctx, ctx.path("out.folded"))
    run = subprocess.run(["perl", FLAMEGRAPH_PL, ctx.path("out.folded")], capture_output=True, timeout=60, universal_newlines=True)
    check(run.returncode == 0, "status %d: %s", run.returncode, run.stderr[-300:])
    shown = Counter()
    for name, samples in re.findall(r"<title>(.*?) \(([\d,]+) samples?, [\d.]+%\)</title>", run.stdout):
        shown[name] += int(samples.replace(",", ""))
    kept, wanted = profile.sums.whole + profile.sums.truncated, Counter()
    with open(ctx.path("out.folded"), encoding="utf-8") as f:
        for line in f:
            stack, _, number = line.rstrip("\n").rpartition(" ")
            for name in METHODS:
                wanted[name] += int(number) if name in stack.split(";") else 0
    every = re.search(r"<title>all \(([\d,]+) samples, 100%\)</title>", run.stdout)
    check(every and int(every[1].replace(",", "")) == kept, "%s, not %d samples", every and every[0], kept)
    check(all(shown[name] == wanted[name] > 0 for name in METHODS), "%s, not %s", {n: shown[n] for n in METHODS}, wanted)
    return "%d samples, %s" % (kept, dict(wanted))


DUCKDB = "@duckdb/node-api@1.5.6-r.1"
# What docs/fleet.md says, by DuckDB's package for Node.
TO_PARQUET = """
import { DuckDBInstance } from "@duckdb/node-api";
const db = await (await DuckDBInstance.create(":memory:")).connect();
for (const [day, service] of [["2026-11-28", "shop"], ["2026-11-29", "shop"], ["2026-11-29", "jobs"]])
  await db.run(`COPY (SELECT *, DATE '${day}' AS day, '${service}' AS service FROM read_json('${day}-${service}.jsonl'))
                TO 'profiles' (FORMAT parquet, PARTITION_BY (day, service), APPEND)`);
const ask = async (sql) => console.log(JSON.stringify((await db.runAndReadAll(sql)).getRowsJson()));
const FROM = "FROM read_parquet('profiles/*/*/*.parquet', hive_partitioning = true)";
await ask(`SELECT day::VARCHAR, service, mode, sum(amount)::BIGINT::VARCHAR ${FROM} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`);
await ask(`SELECT name, sum(amount)::BIGINT::VARCHAR FROM (SELECT amount, unnest(list_distinct(list_transform(stack, f -> f.name))) AS name
           ${FROM} WHERE mode = 'cpu' AND service = 'shop' AND day = DATE '2026-11-29') GROUP BY 1`);
"""


@case(timeout=300)
def parquet_by_duckdb(ctx):
    """DuckDB makes Parquet of JSON lines, partitioned by day and service: sums and totals of methods are those of extprof, to the ns."""
    folder, why_not = npm.folder_of("npm-duckdb", [DUCKDB], ["@duckdb/node-api/package.json"], "DUCKDB_NPM")
    if why_not:
        return Counted(0, 0, 1, why_not)
    path, wanted = ctx.path("a.extprof"), []
    record(ctx, path, "-m", "cpu,wall")
    for day, service, modes in (("2026-11-28", "shop", "cpu"), ("2026-11-29", "jobs", "wall"), ("2026-11-29", "shop", "cpu,wall")):
        ctx.extprof("report", path, "--idle", "-m", modes, "-f", "jsonl", "-o", ctx.path("%s-%s.jsonl" % (day, service))).ok()
        for mode in sorted(modes.split(",")):
            wanted.append([day, service, mode, ctx.extprof("sql", "-H", path, "SELECT sum(value) FROM samples WHERE mode='%s'" % mode).ok().out.strip()])
    os.symlink(os.path.join(folder, "node_modules"), ctx.path("node_modules"))
    with open(ctx.path("ask.mjs"), "w", encoding="utf-8") as f:
        f.write(TO_PARQUET)
    run = subprocess.run(["node", "ask.mjs"], cwd=ctx.directory, capture_output=True, text=True, timeout=120)
    check(run.returncode == 0, "node: %s", run.stderr[-800:])
    sums, methods = map(json.loads, run.stdout.splitlines())
    check(sums == sorted(wanted), "%s, not %s", sums, wanted)
    top = {m: str(n) for m, n in ((line.split("\t")) for line in ctx.extprof("sql", "-H", path, "SELECT method, total FROM top_methods WHERE mode='cpu'").ok().out.splitlines())}
    got = dict(methods)
    check(all(got[name] == top[name] for name in METHODS), "%s, not %s", {n: got[n] for n in METHODS}, top)
    files = [f for _, _, names in os.walk(ctx.path("profiles")) for f in names]
    return "%d files, %s" % (len(files), sums)
