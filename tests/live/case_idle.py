"""Idle threads are shown apart: a program whose clocks say how long each thread of its pool was in a job."""
import gzip
import json
import os
import re
import signal
import time
from collections import Counter

import case_real
import case_servers
import harness
from case_wall import sums_of
from harness import case, check

KINDS = ("naps", "locks", "reads", "waits", "pops", "polls", "selects", "computes")
POOL = tuple("pool %d" % i for i in range(3)) + tuple("while %d" % i for i in range(2))
STUCK = ("stuck queue", "stuck mutex", "stuck socket", "stuck poll", "holder")
# What a thread does between two jobs, and while it begins and ends one: us for each job.
BESIDE = 1500


def by_thread(profile):
    """us by thread, and by thread and method."""
    threads, methods = Counter(), Counter()
    for s in profile.stacks:
        if not s.thread:
            continue
        threads[s.thread[0]] += s.count
        for label in set(s.labels()):
            methods[s.thread[0], label] += s.count
    return threads, methods


def idle_of(path):
    """What JSON says of the first mode."""
    with open(path, encoding="utf-8") as f:
        return json.load(f)["modes"][0]


def recorded(ctx, *options, rounds=300):
    """(profile, JSON, {thread: {kind: us}}, JSON of the report of its recording, how many jobs each thread had)"""
    ruby = ctx.program("idle.rb", rounds)
    # A thread that is woken and waits for a CPU is not idle, and its job has not begun.
    harness.prefer(ruby.pid)
    labels = ruby.line().split()[1] == "true"
    outside = "--reader" in options
    reader = ctx.extprof_start(*(["record", "-v"] if outside else []), "-p", ruby.pid, "-m", "wall", "--group-by", "thread", "--rows", 200, "-F", harness.rate(499), *options, "-o", ctx.path("out.folded"), "-o",
                               ctx.path("out.json"), "-o", ctx.path("out.extprof"))
    if outside:
        # It has no timers, and misses what begins and ends while it has no CPU.
        reader.says("it is measured")
        harness.prefer(reader.pid)
    else:
        ctx.attached(reader)
    ruby.tell("go")
    truth = {}
    while (line := ruby.line(60)) != "done":
        thread, kind, ns = line.split()
        truth.setdefault(thread.replace("-", " "), Counter())[kind] += int(ns) / 1e3
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader).ok()
    ruby.tell("end")
    return profile, idle_of(ctx.path("out.json")), truth, labels


def near(what, got, truth, share, slack):
    check(abs(got - truth) <= share * truth + slack, "%s: %.1f ms, truth %.1f ms (allowed %.1f %% and %.1f ms)", what, got / 1e3,
          truth / 1e3, 100 * share, slack / 1e3)


def check_pool(profile, truth, jobs, share, slack):
    """What of a thread is not idle is what its jobs took; and each kind of job is whole."""
    threads, methods = by_thread(profile)
    rows = sums_of(profile)
    worst = 0
    check(set(POOL) <= set(threads), "%s", threads)
    for name in POOL:
        took, life = sum(truth[name].values()), rows[name]["life"] * 1e6
        near("%s, not idle" % name, threads[name], took, share, slack + BESIDE * jobs / len(POOL))
        near("%s, idle" % name, rows[name]["idle"] * 1e6, life - took, share, slack + BESIDE * jobs / len(POOL))
        worst = max(worst, abs(threads[name] - took) / took)
    for kind in KINDS:
        took = sum(t[kind] for t in truth.values())
        got = sum(n for (_, method), n in methods.items() if method == "Object#" + kind)
        near("jobs that %s" % kind, got, took, share, slack + BESIDE / 3 * jobs / len(KINDS))
    return worst


def check_others(profile, labels, took):
    """Threads that rest are not there, those that are stuck are, all the time."""
    threads, _ = by_thread(profile)
    rows = sums_of(profile)
    for name in ("acceptor", "timer", "Timeout stdlib thread"):
        # It also waits for the GVL and a CPU; and native threads have its name while they begin.
        check(rows[name]["idle"] > 0.9 * rows[name]["life"] and threads[name] < 0.1e6 * rows[name]["life"], "%s: %s, %d us", name,
              rows[name], threads[name])
    for name in STUCK + (("labelled",) if labels else ()):
        check(rows[name]["idle"] == 0 and threads[name] > 0.97e6 * rows[name]["life"], "%s: %s, %d us", name, rows[name], threads[name])
    requests = [n for name, n in threads.items() if name == "request"]
    check(sum(requests) > 0.95 * took, "threads of requests: %s us, they slept %d us at least", requests, took)


def in_formats(ctx, options, sum_of, says):
    """Each format that has a place for it says what is left out."""
    paths = ["idle.svg", "idle.html", "idle.speedscope.json", "idle.callgrind", "idle.pb.gz"]
    for path in paths:
        ctx.extprof("report", ctx.path("out.extprof"), *options, "-o", ctx.path(path)).ok()
        with open(ctx.path(path), "rb") as f:
            data = f.read()
        # The strings of pprof, compressed or not, are as they are.
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode(errors="replace")
        check(re.search(re.escape(sum_of) + r" \([^)]*\), " + says, text), "%s: %s %s", path, sum_of, says)
        check("pool * (3) in Thread::Queue#pop" in text, "%s does not say which threads", path)
    with open(ctx.path(paths[2])) as f:
        check(sum_of in json.load(f)["name"], "speedscope shows its title")


@case(timeout=120)
def pool(ctx):
    """Jobs that sleep, wait for a lock, a socket, a condition variable or a queue, poll and select: none of it is idle,
    and all that the threads of the pool wait for jobs is."""
    profile, said, truth, labels = recorded(ctx, "--waits", "each")
    worst = check_pool(profile, truth, 300, 0.02, 20e3)
    check_others(profile, labels, 37 * 30e3)
    rows = {r["thread"]: r for r in said["idle"]["rows"]}
    check(not said["idle"]["shown"] and rows["pool *"]["threads"] == 3 and rows["while *"]["threads"] == 2 and
          rows["pool *"]["method"] == "Thread::Queue#pop" and rows["pool *"]["state"] == "queue", "%s", said["idle"])
    check(rows["main"]["method"] == "Thread#join" and rows["acceptor"]["method"] == "TCPServer#accept", "%s", rows)
    # The first screen says it.
    m = re.search(r"^idle: (\d+) threads, ([\d.]+) % of all \(.*?\), left out without --idle: .*pool \* \(3\) in Thread::Queue#pop.*$",
                  profile.out, re.M)
    check(m and int(m.group(1)) == said["idle"]["threads"], "%s", profile.out[:1500])
    check(abs(float(m.group(2)) - 100 * said["idle"]["share_of_all"]) < 0.1, "%s, %s", m.group(0), said["idle"])
    # All of it is what there was: sums of both.
    table = sums_of(profile)
    near("idle and not idle", said["idle"]["amount"] / 1e3 + said["amount"] / 1e3, table["all"]["life"] * 1e6, 0.01, 20e3)
    # The recording says the same, and --idle brings it back.
    ctx.extprof("report", ctx.path("out.extprof"), "-o", ctx.path("again.json")).ok()
    again = idle_of(ctx.path("again.json"))
    near("idle in the recording", again["idle"]["amount"] / 1e3, said["idle"]["amount"] / 1e3, 0.001, 1e3)
    check(again["idle"]["threads"] == said["idle"]["threads"], "%s\n%s", again["idle"], said["idle"])
    ctx.extprof("report", ctx.path("out.extprof"), "--idle", "-o", ctx.path("idle.json")).ok()
    shown = idle_of(ctx.path("idle.json"))
    check(shown["idle"]["shown"] and shown["idle"]["amount"] == again["idle"]["amount"] and
          shown["amount"] == again["amount"] + again["idle"]["amount"], "%d shown, %d and %d", shown["amount"], again["amount"],
          again["idle"]["amount"])
    table = ctx.extprof("report", ctx.path("out.extprof"), "-f", "table").out
    check(re.search(r"^# idle: \d+ threads, .*pool \* \(3\) in Thread::Queue#pop", table, re.M), "%s", table[:600])
    for options, says in (((), "left out without --idle"), (("--idle",), "shown as others")):
        in_formats(ctx, options, "idle: %d threads, %s %% of all" % (again["idle"]["threads"], m.group(2)), says)
    # Of a comparison with itself nothing is idle either.
    for options, there in (((), False), (("--idle",), True)):
        diff = ctx.extprof("diff", *options, "--rows", "1000", "-f", "json", ctx.path("out.extprof"),
                           ctx.path("out.extprof")).ok().out
        rows = json.loads(diff)["lines"]
        # All have changed by nothing: the larger ones come first.
        shares = [r["self"]["before"]["share"] for r in rows]
        check(shares == sorted(shares, reverse=True), "%s", shares)
        lines = [r for r in rows if r["path"].endswith("idle.rb") and "SERVER.accept" in source()[r["line"] - 1] and
                 r["self"]["before"]["share"] > 0.02]
        check(bool(lines) == there, "diff %s: %s of %s", options, lines, shares)
    return "the jobs of a thread by its own clock and by extprof: %.1f %% apart at most; %.0f %% of all is idle" % (
        100 * worst, 100 * said["idle"]["share_of_all"])


def source():
    with open(os.path.join(harness.PROGRAMS, "idle.rb"), encoding="utf-8") as f:
        return f.read().splitlines()


@case(timeout=120, bpf=False)
def from_outside(ctx):
    """The same with samples of the waits, read from outside."""
    profile, said, truth, labels = recorded(ctx, "--reader", "nonblocking", rounds=280)
    check_others(profile, labels, 34 * 30e3)
    threads, _ = by_thread(profile)
    n = sum(sum(t.values()) for t in truth.values())
    got = sum(threads[name] for name in POOL)
    # A job of 30 ms is 15 samples; the reader itself is late beside others.
    near("jobs of the pool", got, n, 0.1, 100e3)
    return "jobs of %.1f s, by extprof %.1f s; %.0f %% of all is idle" % (n / 1e6, got / 1e6, 100 * said["idle"]["share_of_all"])


@case(timeout=60)
def live(ctx):
    """top has them apart in each window, and --idle brings them back."""
    ruby = ctx.program("idle.rb", 1)
    check(ruby.line().startswith("ready"), "it is not ready")
    for options, there in ((("--idle",), True), ((), False)):
        out, err = ctx.extprof_start("top", "-p", ruby.pid, "-m", "wall", "-t", "-i", "2s", "--count", "2", "-b", "--rows=60", *options).communicate()
        check(out.count("top - wall") == 2 or out.count("wall") >= 2, "%s %s", out[:500], err)
        found = len(re.findall(r"pool \d \(\d+\) +Thread::Queue#pop", out)), len(re.findall(r"stuck mutex \(\d+\)", out))
        check((found[0] >= 6) == there and found[1] >= 2 and (there or not found[0]), "%s: %s\n%s", options, found, out[:3000])
    # A window says how much was left out.
    check(re.search(r"idle +[\d.]+ %", out), "%s", out[:800])
    return "windows of top"


@case(timeout=120)
def nothing_else(ctx):
    """A program that only sleeps is shown."""
    ruby = ctx.ruby("-e", "puts 'ready'; $stdout.flush; Thread.new { loop { sleep 1 } }; sleep")
    ruby.expect("ready")
    profile = ctx.extprof("-p", ruby.pid, "-m", "wall", "--state", "sleep", "-d", "6", "-o", ctx.path("out.folded")).ok()
    check(profile.stacks and ", shown as others: " in profile.out, "%s", profile.out[:800])
    check(sum(s.count for s in profile.stacks) > 11e6, "%s", profile.out[:800])
    return "shown"


@case(timeout=300)
def puma(ctx):
    """Three clients of eight threads of puma: what is not idle is its requests, by the clocks of the application."""
    backend = case_real.Backend()
    ruby, port = case_real.server(ctx, backend, os.path.join(case_real.gems(), "bin", "puma"), "-C", "puma.rb", "shop.ru")
    harness.until(lambda: case_real.answers(port), "the server does not answer", 30)
    case_real.load(port, 3, 5)
    case_real.get(port, "/measured")
    reader = ctx.extprof_start("-p", ruby.pid, "-m", "wall", "--group-by", "thread", "--rows", 200, "--waits", "each", "-F", harness.rate(499), "-o",
                               ctx.path("out.folded"), "-o", ctx.path("out.json"), "-o", ctx.path("out.extprof"))
    ctx.attached(reader)
    time.sleep(0.5)
    case_real.load(port, 3, 60)
    truth = case_real.Truth(case_real.get(port, "/measured").splitlines())
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader).ok()
    rows, said = sums_of(profile), idle_of(ctx.path("out.json"))
    threads, _ = by_thread(profile)
    pool = [name for name in rows if re.match(r"puma srv tp \d", name)]
    check(len(pool) == 8, "%s", list(rows))
    took = sum(truth.of[name][1] for name in ("fetch", "render")) / 1e3
    got, idle, life = sum(threads[n] for n in pool), sum(rows[n]["idle"] for n in pool) * 1e6, sum(rows[n]["life"] for n in pool) * 1e6
    # A request is more than what the application measures: puma reads and writes.
    check(took <= got * 1.01 and got <= took * 1.15 + 180 * 3e3, "requests took %.1f ms, not idle are %.1f ms", took / 1e3, got / 1e3)
    near("idle and not idle of the pool", idle + got, life, 0.01, 50e3)
    where = {r["thread"]: r for r in said["idle"]["rows"]}
    check(where["puma srv tp *"]["threads"] == 8, "%s", where)
    for name in ("puma reactor", "puma srv", "main"):
        check(name in where and rows[name]["idle"] > 0.9 * rows[name]["life"] - 0.1, "%s: %s\n%s", name, rows.get(name), where)
    return "requests %.2f s by the application, %.2f s not idle, %.2f s idle; %s" % (
        took / 1e6, got / 1e6, idle / 1e6, re.search(r"^idle: .*$", profile.out, re.M).group(0)[:160])
