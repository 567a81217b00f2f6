"""Several recordings as one profile: known programs, and the sums of each recording by itself."""
import gzip
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time

import case_firefox
import harness
import otlp
import pprof
from case_requests import folded as ns_of_requests
from case_requests import record as record_requests
from case_requests import requests
from harness import case, check

PROGRAM = """
def only_in_%(name)s(n) = n < 2 ? n : only_in_%(name)s(n - 1) + only_in_%(name)s(n - 2)
def alone_%(name)s = only_in_%(name)s(12)
STDOUT.sync = true
puts "ready"
loop { alone_%(name)s; GC.start if rand(2000) == 0 }
"""
# Some formats are compared with the others elsewhere; here each is read by itself.
METHOD = "Object#only_in_%s"


def record(ctx, name, file, *options, seconds="1"):
    ruby = ctx.ruby(ctx.write(name + ".rb", PROGRAM % {"name": name}))
    ruby.expect("ready")
    path = ctx.path(file)
    ctx.extprof("record", "-q", "-p", ruby.pid, "-d", seconds, "-F", harness.rate(499), *options, "-o", path).ok()
    ruby.kill()
    return path


def report(ctx, files, *options):
    run = ctx.extprof("report", *files, *options)
    check(run.status == 0, "%s: status %d: %s", options, run.status, run.err)
    return run.out


def write(ctx, files, name, *options):
    report(ctx, files, "-m", "cpu", *options, "-o", ctx.path(name))
    with open(ctx.path(name), "rb") as f:
        return f.read()


def pprof_samples(data):
    """The sum of the first value of all samples."""
    return sum(pprof.packed(pprof.parts(sample)[2])[0] for sample in pprof.parts(gzip.decompress(data))[2])


def totals(ctx, files, *options):
    """The samples in each format, with each format read by itself."""
    rate = harness.rate(499)
    found = {}
    text = write(ctx, files, "a.folded", "--unit", "samples", *options).decode()
    found["folded"] = sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())
    document = json.loads(write(ctx, files, "a.json", "-f", "json", *options))
    (mode,) = document["modes"]
    # In ns, so many for each sample.
    found["json"] = round(mode["amount"] * rate / 1e9)
    if not options:
        found["json account"] = mode["samples"]["whole"] + mode["samples"]["truncated"]
        account = re.search(r"samples taken (\d+) = whole (\d+) \+ truncated (\d+).* \+ lost (\d+)", report(ctx, files, "-m", "cpu"))
        taken, whole, truncated, lost = map(int, account.groups())
        check(taken == whole + truncated + lost, "%s", account.group())
        found["summary"] = whole + truncated
    document = json.loads(write(ctx, files, "a.speedscope.json", *options))
    found["speedscope"] = round(sum(p["endValue"] - p["startValue"] for p in document["profiles"]) * rate / 1e9)
    found["pprof"] = pprof_samples(write(ctx, files, "a.pb.gz", *options))
    runs = re.findall(r"^\[\d+,(\d+),(\d+)[,\]]", write(ctx, files, "a.svg", "--unit", "samples", *options).decode(), re.M)
    found["flamegraph"] = sum(int(own) + int(hidden) for own, hidden in runs)
    text = write(ctx, files, "callgrind.out", "-f", "callgrind", "--unit", "samples", *options).decode()
    found["callgrind"] = int(re.search(r"^(?:summary|totals): (\d+)", text, re.M).group(1))
    text = write(ctx, files, "a.jsonl", "--unit", "ns", *options).decode()
    found["jsonl"] = round(sum(json.loads(line)["amount"] for line in text.splitlines()) * rate / 1e9)
    firefox = case_firefox.File(json.loads(write(ctx, files, "a.firefox.json", *options)))
    found["firefox"] = round(sum(firefox.sums("").values()) * rate / 1e9)
    sent = otlp.decode(write(ctx, files, "a.otlp", *options))
    found["otlp"] = round(sum(value for *_, (kind, unit), _, _, _, value in otlp.samples(sent) if unit == "nanoseconds") * rate / 1e9)
    text = write(ctx, files, "a.tsv", "-f", "table", "--unit", "samples", *options).decode()
    found["table"] = int(re.search(r"(\d+) samples", text).group(1)) if re.search(r"(\d+) samples", text) else None
    return found


def sql(ctx, path, statement):
    return int(ctx.extprof("sql", "-H", path, statement).ok().out or 0)


@case(timeout=120)
def have_the_sums_of_each(ctx):
    """All formats, filters and groups: to the last sample."""
    files = [record(ctx, "a", "a.extprof", "-m", "cpu,gc"), record(ctx, "b", "b.extprof", "-m", "cpu,gc"),
             record(ctx, "a", "a2.extprof", "-m", "cpu,gc")]
    truth = [sql(ctx, f, "SELECT count(*) FROM samples WHERE mode='cpu'") for f in files]
    check(all(truth), "samples: %s", truth)
    single = [totals(ctx, [f]) for f in files]
    for samples, got in zip(truth, single):
        check(set(got.values()) == {samples}, "%s of %d", got, samples)
    got = totals(ctx, files)
    check(set(got.values()) == {sum(truth)}, "%s of %s", got, truth)
    for name, expected in (("a", [True, False, True]), ("b", [False, True, False])):
        options = ("--filter", "method=" + METHOD % name)
        of_each = [ctx.extprof("report", f, "-m", "cpu", "-f", "folded", "--unit", "samples", *options) for f in files]
        check([run.status == 0 for run in of_each] == expected, "%s: %s", options, [run.err for run in of_each])
        count = sum(int(line.rsplit(" ", 1)[1]) for run in of_each for line in run.out.splitlines())
        got = totals(ctx, files, *options)
        check(set(got.values()) == {count}, "%s: %s of %d", options, got, count)
    groups = {}
    for line in report(ctx, files, "-m", "cpu", "-f", "folded", "--unit", "samples", "--group-by", "recording").splitlines():
        stack, count = line.rsplit(" ", 1)
        file, _, rest = stack[len("[recording="):].partition("]")
        groups[file] = groups.get(file, 0) + int(count)
        check(METHOD % ("a" if "b.extprof" in file else "b") not in rest, "%s in %s", rest, file)
    check(groups == dict(zip(files, truth)), "%s, not %s", groups, truth)
    # The other mode, and the account of each.
    got = [sql(ctx, f, "SELECT coalesce(sum(value), 0) FROM samples WHERE mode='gc'") for f in files]
    text = report(ctx, files, "-m", "gc", "-f", "folded", "--unit", "ns")
    check(sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines()) == sum(got), "gc: %s", got)
    recordings = json.loads(report(ctx, files, "-m", "cpu", "-f", "json"))["recordings"]
    check([r["name"] for r in recordings] == files and [r["samples"]["whole"] for r in recordings] == truth, "%s", recordings)
    if shutil.which("go"):
        write(ctx, files, "a.pb.gz")
        run = subprocess.run(["go", "tool", "pprof", "-sample_index=0", "-top", ctx.path("a.pb.gz")], capture_output=True, text=True, timeout=60,
                             env={**harness.environment(), "HOME": ctx.directory, "PPROF_TMPDIR": ctx.directory})
        check(run.returncode == 0 and re.search(r"of %d total" % sum(truth), run.stdout), "pprof: %s", run.stdout[:400])
    return "%s = %d samples in %d formats" % (" + ".join(map(str, truth)), sum(truth), len(single[0]))


@case(timeout=90)
def have_one_time(ctx):
    """--since and --until are after the begin of the first one, and samples of each are placed by the clock on the wall."""
    files = [record(ctx, "a", "a.extprof"), record(ctx, "b", "b.extprof")]
    begun = [(sql(ctx, f, "SELECT value FROM meta WHERE key='started_unix_ns'"),
              sql(ctx, f, "SELECT value FROM meta WHERE key='started_monotonic_ns'")) for f in files]
    first = min(wall for wall, _ in begun)
    check(abs(first / 1e9 - time.time()) < 120, "it began at %d", first)
    for since, until in ((500, None), (None, 700), (300, (begun[1][0] - first) // 1000000 + 500)):
        options = [word for name, value in (("--since", since), ("--until", until)) if value for word in (name, "%dms" % value)]
        expected = 0
        for file, (wall, monotonic) in zip(files, begun):
            later = wall - first
            low = monotonic + since * 1000000 - later if since and since * 1000000 > later else 0
            high = monotonic + until * 1000000 - later if until and until * 1000000 > later else -1 if until else 1 << 62
            expected += sql(ctx, file, "SELECT count(*) FROM samples WHERE time_ns >= %d AND time_ns <= %d" % (low, high))
        got = report(ctx, reversed(files), "-f", "folded", "--unit", "samples", *options)
        got = sum(int(line.rsplit(" ", 1)[1]) for line in got.splitlines())
        check(got == expected and got, "%s: %d samples, not %d", options, got, expected)
    return "the second began %.1f s later" % ((begun[1][0] - first) / 1e9)


@case(timeout=120)
def have_the_requests_of_each(ctx):
    paths = []
    for i in range(2):
        path, _ = record_requests(ctx, "threads")
        paths.append(ctx.path("requests-%d.extprof" % i))
        os.rename(path, paths[-1])
    single = [requests(ctx, path) for path in paths]
    run = ctx.extprof("report", *paths, "--requests", "-f", "json", "--rows", "1000").ok()
    together = json.loads(run.out)["requests"]
    check([r["begin_s"] for r in together] == sorted(r["begin_s"] for r in together), "they are not in order")
    walls = [sql(ctx, path, "SELECT value FROM meta WHERE key='started_unix_ns'") for path in paths]
    for path, rows, wall in zip(paths, single, walls):
        later = (wall - min(walls)) / 1e9
        got = [r for r in together if r["recording"] == path]
        check(len(got) == len(rows), "%s: %d requests, not %d", path, len(got), len(rows))
        for x, y in zip(sorted(got, key=lambda r: r["begin_s"]), sorted(rows, key=lambda r: r["begin_s"])):
            check(abs(x["begin_s"] - y["begin_s"] - later) < 1e-5, "%s began %.6f s after %s", x, later, y)
            check(all(x[key] == y[key] for key in y if key != "begin_s"), "%s is not %s", x, y)
    check(len(together) == sum(map(len, single)), "%d requests", len(together))
    for options in (("--slower-than", "60ms"), ("--slowest", "3")):
        sums = [ns_of_requests(ctx, path, *options) for path in paths]
        got = report(ctx, paths, "-f", "folded", "--unit", "ns", *options)
        got = sum(int(line.rpartition(" ")[2]) for line in got.splitlines())
        check(got == sum(sums), "%s: %d ns, not %s", options, got, sums)
    text = report(ctx, paths, "--requests", "--slowest", "2")
    check("Requests: 4 of %d" % len(together) in text and "2 recordings" in text, "%s", text[:400])
    return "%s requests" % " + ".join(str(len(rows)) for rows in single)


@case(timeout=90, waits=True)
def that_do_not_fit(ctx):
    """What differs is an error that says which file, and nothing is written."""
    good = record(ctx, "a", "a.extprof", seconds="300ms")
    other = {"rate": record(ctx, "b", "rate.extprof", "-F", harness.rate(99), seconds="300ms"),
             "no mode cpu": record(ctx, "b", "mode.extprof", "-m", "wall", seconds="300ms"),
             "mode gc": record(ctx, "b", "more.extprof", "-m", "cpu,gc", seconds="300ms")}
    out = ctx.path("out.folded")
    for why, path in other.items():
        run = ctx.extprof("report", good, path, "-o", out, *["--unit", "samples"] * (why == "rate"))
        check(run.status == harness.USAGE and why in run.err and path in run.err, "%s: %d: %s", why, run.status, run.err)
    # Times of two rates have a sum.
    both = sum(int(line.rpartition(" ")[2]) for line in report(ctx, [good, other["rate"]], "-f", "folded", "--unit", "ns").splitlines())
    each = sum(int(ctx.extprof("sql", "-H", path, "SELECT sum(value) FROM samples").ok().out) for path in (good, other["rate"]))
    check(both == each, "%d ns, and %d of each", both, each)
    # Of samples there is none: pprof's first value is the only one.
    data = write(ctx, [good, other["rate"]], "rates.pb.gz")
    types = len(pprof.parts(gzip.decompress(data))[1])
    check(types == 1 and pprof_samples(data) == each, "pprof: %d types, %d ns, and %d of each", types, pprof_samples(data), each)
    # It fits if it is left out.
    report(ctx, [good, other["mode gc"]], "-m", "cpu")
    copy = ctx.path("copy.extprof")
    shutil.copy(good, copy)
    os.symlink(good, ctx.path("link.extprof"))
    for path in (good, copy, ctx.path("link.extprof")):
        run = ctx.extprof("report", good, path, "-o", out)
        check(run.status == harness.USAGE and "are the same recording" in run.err and path in run.err, "%d: %s", run.status, run.err)
    run = ctx.extprof("report", good, ctx.path("none.extprof"), "-o", out)
    check(run.status == 74 and "none.extprof" in run.err, "%d: %s", run.status, run.err)
    with open(copy, "r+b") as f:
        f.truncate(os.path.getsize(copy) // 2)
    run = ctx.extprof("report", other["mode gc"], copy, "-m", "cpu", "-o", out)
    check(run.status == 74 and "copy.extprof" in run.err, "%d: %s", run.status, run.err)
    check(not os.path.exists(out), "something was written")
    run = ctx.extprof("record", "--group-by", "recording", "--", "true")
    check(run.status == harness.USAGE and "extprof report" in run.err, "%d: %s", run.status, run.err)
    # One that was killed is a part like the others.
    ruby = ctx.ruby(ctx.write("b.rb", PROGRAM % {"name": "b"}))
    ruby.expect("ready")
    killed = ctx.path("killed.extprof")
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-F", harness.rate(499), "-o", killed)
    ctx.attached(reader)
    time.sleep(6)
    reader.signal(signal.SIGKILL)
    reader.wait()
    run = ctx.extprof("report", good, killed, "-f", "folded", "--unit", "samples").ok()
    check("killed.extprof" in run.err, "nothing is said of it: %s", run.err)
    got = sum(int(line.rsplit(" ", 1)[1]) for line in run.out.splitlines())
    expected = sum(sql(ctx, f, "SELECT count(*) FROM samples") for f in (good, killed))
    check(got == expected, "%d samples, not %d", got, expected)
    return "%d refusals" % (len(other) + 5)


@case(timeout=90)
def of_two_machines(ctx):
    """Processes of two machines that have one pid and one command are two; --group-by host, --filter host=."""
    files, alone = [], {}
    for host in ("web1", "web2"):
        ruby = ctx.ruby(ctx.write("same.rb", PROGRAM % {"name": host}))
        ruby.expect("ready")
        files.append(ctx.path(host + ".extprof"))
        p = ctx.start(["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', host, harness.EXTPROF, "record", "-q", "-p", str(ruby.pid),
                       "-d", "1", "-F", str(harness.rate(499)), "-o", files[-1]])
        check(p.wait() == 0, "the recording of %s failed", host)
        ruby.kill()
        alone[host] = sum(int(line.rsplit(" ", 1)[1]) for line in report(ctx, files[-1:], "-f", "folded", "--unit", "samples").splitlines())
    # As if the two had one pid.
    for path in files:
        db = sqlite3.connect(path)
        db.execute("UPDATE processes SET pid=4242")
        db.execute("UPDATE frames SET number=4242 WHERE id IN (SELECT frame FROM processes)")
        db.commit()
        db.close()
    check(ctx.extprof("verify", files[0]).status == 0, "it is not right any more")
    for options in ((), ("--group-by", "host,process"), ("--group-by", "host")):
        found = {}
        for line in report(ctx, files, "-f", "folded", "--unit", "samples", *options).splitlines():
            stack, number = line.rsplit(" ", 1)
            first = stack.split(";")[:2]
            check("process" not in " ".join(options) and options or first[1].startswith("[process 4242"), "%s: %s", options, stack)
            check("only_in_%s" % first[0][6:10] in stack or "only_in" not in stack, "%s: %s", options, stack)
            found[first[0]] = found.get(first[0], 0) + int(number)
        check(found == {"[host=%s]" % h: n for h, n in alone.items()}, "%s: %s, not %s", options, found, alone)
    # In the Firefox Profiler the processes have tracks of their own, with the name of the machine.
    file = case_firefox.File(json.loads(write(ctx, files, "hosts.firefox.json")))
    by = {}
    for t in file.document["threads"]:
        for _, stack, _ in file.samples(t):
            by.setdefault((t["processName"].split(": ")[0], t["pid"]), set()).update(f[-4:] for f in stack or () if "only_in_" in f)
            check(not any("[host=" in f for f in stack or ()), "a frame says the machine: %s", stack)
    check({name: found for (name, _), found in by.items()} == {h: {h} for h in alone} and len({pid for _, pid in by}) == 2, "Firefox: %s", by)
    merged = report(ctx, files, "-f", "folded", "--group-by", "process")
    check(len({line.split(";")[0] for line in merged.splitlines()}) == 1, "--group-by process: %s", merged[:300])
    for host, number in alone.items():
        text = report(ctx, files, "--filter", "host=" + host, "-f", "folded", "--unit", "samples", "--group-by", "none")
        check(sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines()) == number, "--filter host=%s", host)
    # One that does not say its machine can be of the same one.
    db = sqlite3.connect(files[1])
    db.execute("DELETE FROM meta WHERE key LIKE 'mode.%.host'")
    db.commit()
    db.close()
    check("[host=" not in report(ctx, files, "-f", "folded"), "one machine is known, and the reports have several")
    tree = report(ctx, files, "-f", "tree")
    check("[host=" not in tree, "workers of all machines are one tree: %s", tree[:400])
    wrong = ctx.extprof("record", "-d", "1", "--group-by", "host", "--", harness.RUBY, "-e", "1")
    check(wrong.status == harness.USAGE and "one machine" in wrong.err, "%d: %s", wrong.status, wrong.err)
    return "%s samples" % alone
