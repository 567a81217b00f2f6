"""Triggers: what is around them is kept and nothing else, and they fire when the program's own clocks say so."""
import json
import os
import re
import signal
import time

import case_daemon
import case_serve
import chromium
import harness
from case_rotate import end, files_of, number, sql, verify
from harness import case, check

# It does what it is told, and says what that was by its own clocks: CLOCK_MONOTONIC in ns.
PROGRAM = """
STDOUT.sync = true
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def burn(s) = (t = now + s * 1e9; 1 while now < t)
def both(s) = 2.times.map { Thread.new { burn(s) } }.each(&:join)
def request(id, s) = Fiber.new { Fiber.with_labels(request: id) { burn(s / 2); sleep(s / 2) } }.resume
def collect = (from = now; GC.start; now - from)
$keep = nil
commands = Queue.new
Thread.new { while (line = gets); commands << line.split; end }
puts "ready"
loop do
  what, *args = commands.pop(timeout: 0.05)
  from, more = now, nil
  case what
  when nil then burn(0.005)
  when "both" then both(args[0].to_f)
  when "burn" then burn(args[0].to_f)
  when "naps" then 3.times { sleep(args[0].to_f) }
  when "pair" then 2.times.map { Thread.new { sleep(args[0].to_f) } }.each(&:join)
  when "rest" then sleep(args[0].to_f)
  when "collect" then more = collect
  when "grow" then $keep = Array.new(args[0].to_i) { [nil] }
  when "shrink" then $keep = nil
  when "request" then request(args[0], args[1].to_f)
  when "memory" then $keep = "x" * args[0].to_i
  when "child" then Process.wait(fork { trap(:TERM, "DEFAULT"); burn(0.5); args[0] == "kill" ? Process.kill(:TERM, $$) : exit!(args[0].to_i); sleep })
  end
  puts [what, from, now, more].compact.join(" ") if what
end
"""


def begin(ctx, *options, program=PROGRAM, name="app"):
    ruby = ctx.ruby(ctx.write("told.rb", program))
    ruby.expect("ready")
    reader = ctx.extprof_start("record", "-v", "-p", ruby.pid, "-o", ctx.path(name + ".extprof"), *options)
    reader.says("it is measured")
    return ruby, reader


def do(ruby, *what):
    """Begin, end and what else it says, in ns."""
    ruby.tell(" ".join(str(w) for w in what))
    return [int(n) for n in ruby.line(60).split()[1:]]


def fired(ctx):
    """Time and text of each, of all files that are there."""
    return sorted((int(time_ns), text) for path in files_of(ctx) for time_ns, text in sql(
        ctx, path, "SELECT time_ns, t.text FROM events e JOIN strings k ON k.id=e.kind JOIN strings t ON t.id=e.text WHERE k.text='trigger'"))


def spans_of(ctx):
    """Begin and end of each file, in ns."""
    spans = []
    for path in files_of(ctx):
        since = number(ctx, path, "SELECT value FROM meta WHERE key='started_monotonic_ns'")
        spans.append((since, since + number(ctx, path, "SELECT value FROM meta WHERE key='mode.1.duration'") * 1e9))
    return spans


def covers(ctx, since, until, around):
    """The files have that time without a hole, and at most what files of that length need."""
    spans = [s for s in spans_of(ctx) if s[1] > since and s[0] < until]
    # The time can end between two files, where nothing is recorded: some ms, and more on a busy machine.
    check(spans and spans[0][0] <= since and spans[-1][1] >= until - 1e8, "%s to %s is not covered: %s", since, until, spans)
    for a, b in zip(spans, spans[1:]):
        check(b[0] - a[1] < 0.5e9, "a hole of %.3f s", (b[0] - a[1]) / 1e9)
    return spans


MANY = """
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
STDOUT.sync = true
puts "ready"
gets
t = now + 3
8.times.map { Thread.new { nil while now < t } }.each(&:join)
puts "done"
gets
"""


@case(timeout=90, waits=True)
def holders_are_parts_of_a_wait(ctx):
    """Seven of eight threads wait for the GVL, each for the six others in turn: the wait has its whole length with --holder, too."""
    for options in ((), ("--holder",)):
        ruby, reader = begin(ctx, "-m", "cpu,gvl", "--trigger", "gvl>400%", "--around", "1s", "-F", "199", *options, program=MANY,
                             name="app" + "".join(options))
        ruby.tell("go")
        ruby.expect("done")
        reader.says("(gvl>400%)")
        said = end(reader)
        check(re.search(r"\d triggers? fired", said), "%s: %s", options, said[-600:])
        ruby.kill()
    return "gvl>400% of 700 %"


@case(timeout=180, waits=True)
def keeps_what_is_around(ctx):
    """Threads wait for the GVL: less than the limit, then more.  The files have 2 s on both sides of the second, and others go."""
    ruby, reader = begin(ctx, "-m", "cpu,gvl", "--trigger", "gvl>50%", "--around", "2s", "-F", "199")
    began = time.monotonic_ns()
    do(ruby, "both", 0.12)
    time.sleep(9)
    since, until = do(ruby, "both", 1.5)
    time.sleep(9)
    said = end(reader)
    ended = time.monotonic_ns()
    events = fired(ctx)
    check(len(events) == 1, "it has fired %d times: %s", len(events), events)
    at, text = events[0]
    check(since < at <= until + 0.2e9, "it fired %.3f s after the begin of %.3f s", (at - since) / 1e9, (until - since) / 1e9)
    check(re.search(r"^process %d .*: \d+ %% within a second \(gvl>50%%\)$" % ruby.pid, text), "%s", text)
    # 50.3 % is shown as 50 %.
    check(int(re.search(r"(\d+) %", text)[1]) >= 50, "%s", text)
    spans = covers(ctx, at - 2e9, at + 2e9, 2e9)
    # One that ended shortly before the time that is kept can be there, too.
    check(len(files_of(ctx)) - len(spans) <= 1, "files besides: %s, it fired at %d", spans_of(ctx), at)
    kept = spans[-1][1] - spans[0][0]
    check(kept < 12e9 and ended - began > 19e9, "%.1f s of %.1f s are kept", kept / 1e9, (ended - began) / 1e9)
    verify(ctx, files_of(ctx))
    check(re.search(r"trigger: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ " + re.escape(text), said) and "1 trigger fired: %d files " % len(files_of(ctx)) in said, "%s", said[-600:])
    report = ctx.extprof("report", *files_of(ctx), "-m", "gvl")
    check(report.status == 0 and "Z " + text in report.out, "report: %d: %s", report.status, report.out[:600])
    left = [f for f in os.listdir(ctx.directory) if f.endswith(("-wal", "-shm"))]
    check(not left, "files are left: %s", left)
    return "%s; %.1f s in %d files of %.1f s" % (text[-40:], kept / 1e9, len(files_of(ctx)), (ended - began) / 1e9)


@case(timeout=120, waits=True)
def waits_count_when_they_were(ctx):
    """One thread never waits for more than all of a second, however its waits end; two do, and fire each time."""
    ruby, reader = begin(ctx, "-m", "wall", "--trigger", "sleep>130%", "--around", "1s")
    do(ruby, "naps", 0.9)
    pairs = []
    for _ in range(2):
        time.sleep(1.5)
        pairs.append(do(ruby, "pair", 1.2))
    time.sleep(1.5)
    end(reader)
    events = fired(ctx)
    check(len(events) == 2, "%s, pairs %s", events, pairs)
    for (at, text), (since, until) in zip(events, pairs):
        check(since + 0.65e9 < at <= until + 0.2e9 and 130 < int(re.search(r"(\d+) %", text)[1]) <= 205, "%s at %.3f s", text, (at - since) / 1e9)
    return "; ".join(text[-40:] for _, text in events)


@case(timeout=120, waits=True)
def idle_at_the_end(ctx):
    """The last file has no sample: files are counted right, and where nothing has fired nothing is left."""
    ruby, reader = begin(ctx, "--trigger", "exit", "--around", "1s")
    do(ruby, "burn", 1.5)
    ruby.tell("rest 60")
    time.sleep(4)
    said = end(reader, status=1)
    check("no trigger fired: nothing is kept" in said and not files_of(ctx), "%s: %s", files_of(ctx), said[-300:])
    ruby, reader = begin(ctx, "--trigger", "exit", "--around", "1s")
    time.sleep(1)
    reader.signal(signal.SIGUSR1)
    time.sleep(0.3)
    ruby.tell("rest 60")
    time.sleep(5)
    said = end(reader)
    count = len(files_of(ctx))
    check(count and re.search(r"1 trigger fired: %d files? " % count, said), "%s: %s", files_of(ctx), said[-300:])
    verify(ctx, files_of(ctx))
    return said.strip().splitlines()[-1][-60:]


@case(timeout=180)
def pauses_of_the_collector(ctx):
    """Of pauses that the program measures, those above the limit fire, each."""
    ruby, reader = begin(ctx, "-m", "cpu,gc", "--trigger", "pause>1h", "--around", "1s")
    # What runs beside makes some of them longer.
    do(ruby, "grow", 1_500_000)
    long = min(do(ruby, "collect")[2] for _ in range(4))
    do(ruby, "shrink")
    short = min(do(ruby, "collect")[2] for _ in range(4))
    end(reader, status=1)
    check(not files_of(ctx), "it has not fired, and files are there: %s", files_of(ctx))
    check(long > 5 * short, "pauses of %.1f and %.1f ms", long / 1e6, short / 1e6)
    limit = (long * short) ** 0.5
    reader = ctx.extprof_start("record", "-v", "-p", ruby.pid, "-o", ctx.path("app.extprof"), "-m", "cpu,gc", "--trigger",
                               "pause>%dms" % (limit / 1e6), "--around", "1s")
    reader.says("it is measured")
    told = []
    for big in (False, True, False, True, True, False):
        do(ruby, "grow", 1_500_000) if big else do(ruby, "shrink")
        do(ruby, "collect")
        time.sleep(1.2)
        told.append(do(ruby, "collect"))
        time.sleep(1.2)
    end(reader)
    events = fired(ctx)
    # What is near the limit decides nothing: the program's time has more than the pause, twice that at most.
    told = [t for t in told if t[2] < 0.9 * limit or t[2] > 2 * limit]
    check({t[2] > limit for t in told} == {True, False}, "the program has %s, limit %d", told, limit)
    # Its growth collects, too.
    near = [[e for e in events if t[0] <= e[0] <= t[1]] for t in told]
    check([len(n) for n in near] == [int(t[2] > limit) for t in told], "%s of %s, limit %d", events, told, limit)
    for t, n in zip(told, near):
        if n:
            ms = float(re.search(r"for ([\d.]+) ms", n[0][1])[1])
            check(0.5 * t[2] < ms * 1e6 <= 1.01 * t[2], "%s, and the program has %.1f ms", n[0][1], t[2] / 1e6)
            covers(ctx, n[0][0] - 1e9, n[0][0] + 1e9, 1e9)
    return "limit %.0f ms: %s" % (limit / 1e6, " ".join("%.0f" % (t[2] / 1e6) for t in told))


@case(timeout=180, waits=True)
def slow_requests(ctx):
    """Of requests those that last longer fire, with their label, and are kept from their begin on."""
    ruby, reader = begin(ctx, "-m", "wall", "--trigger", "label:request>400ms", "--around", "1s", "-F", "199")
    slow, quick = [], []
    # These last longer together, and each of them does not.
    for _ in range(6):
        do(ruby, "request", "same", 0.2)
    for i in range(16):
        is_slow = i % 5 == 3
        (slow if is_slow else quick).append(("r%d" % i, *do(ruby, "request", "r%d" % i, 0.9 if is_slow else 0.1)[:2]))
        time.sleep(0.3)
    time.sleep(1)
    end(reader)
    events = fired(ctx)
    names = [re.search(r"request=(r\d+) for ([\d.]+) s", text).groups() for _, text in events]
    check([n for n, _ in names] == [s[0] for s in slow], "%s fired, and these are slow: %s", names, slow)
    for (at, _), (_, seconds), (_, since, until) in zip(events, names, slow):
        # A sample stands for the time since the one before: a request begins with its first one, so up to an interval early.
        check(since + 0.4e9 - 1e9 / 199 < at <= until + 0.1e9, "at %.3f s of %.3f s", (at - since) / 1e9, (until - since) / 1e9)
        check(0.4 < float(seconds) <= (until - since) / 1e9 + 0.02, "%s s of %.3f s", seconds, (until - since) / 1e9)
        covers(ctx, since, at + 1e9, 1e9)
    return "%d of %d requests: %s" % (len(slow), len(slow) + len(quick), ", ".join("%s %s s" % n for n in names))


@case(timeout=180, waits=True)
def memory(ctx):
    """It fires when the process gets above, once, and again when it was below meanwhile."""
    ruby, reader = begin(ctx, "--trigger", "rss>200MB", "--around", "1s")
    times = []
    time.sleep(2)
    for _ in range(2):
        times.append(do(ruby, "memory", 300 << 20))
        time.sleep(3.5)
        do(ruby, "memory", 10)
        do(ruby, "collect")
        time.sleep(2)
    end(reader)
    events = fired(ctx)
    check(len(events) == 2, "%s", events)
    for (at, text), (since, until) in zip(events, times):
        check(since <= at <= until + 1.5e9, "%.3f s after it", (at - since) / 1e9)
        # It may be seen while the memory is being written.
        check(190 < float(re.search(r"has ([\d.]+) MiB", text)[1]) < 400, "%s", text)
    return "; ".join(text[-40:] for _, text in events)


@case(timeout=120, patient=True)
def ends(ctx):
    """Of children that end, the one that is killed and the one with status 3 fire, that with status 0 does not."""
    ruby, reader = begin(ctx, "-s", "--trigger", "exit", "--around", "1s")
    spans = []
    for how in (0, "kill", 3):
        spans.append(do(ruby, "child", how))
        time.sleep(1.5)
    end(reader)
    events = fired(ctx)
    check([re.search(r"has ended: (.*) \(exit\)", text)[1] for _, text in events] == ["SIGTERM", "exit 3"], "%s", events)
    for (at, _), (since, until) in zip(events, spans[1:]):
        check(since < at < until, "%.3f s after the begin of a child of %.3f s", (at - since) / 1e9, (until - since) / 1e9)
    return "%s" % [text[-30:] for _, text in events]


@case(timeout=120, waits=True)
def by_hand_and_the_newest(ctx):
    """SIGUSR1 fires; --keep leaves the newest files that are kept."""
    ruby, reader = begin(ctx, "--trigger", "exit", "--around", "1s", "--keep", "4")
    asked = []
    for _ in range(3):
        time.sleep(3.5)
        asked.append(time.monotonic_ns())
        reader.signal(signal.SIGUSR1)
    time.sleep(2.5)
    said = end(reader)
    check(said.count("Z SIGUSR1") >= 3, "%s", said[-500:])
    check(len(files_of(ctx)) <= 4, "%d files are kept", len(files_of(ctx)))
    events = fired(ctx)
    check(events and abs(events[-1][0] - asked[-1]) < 0.5e9, "%s, asked at %s", events, asked)
    covers(ctx, asked[-1] - 1e9, asked[-1] + 1e9, 1e9)
    check(all(since > asked[0] for since, _ in spans_of(ctx)), "the oldest are there: %s", spans_of(ctx))
    return "%d files, %s" % (len(files_of(ctx)), said.strip().splitlines()[-1])


@case(timeout=120)
def above_a_cpu(ctx):
    """The CPU time of a second, by samples."""
    ruby, reader = begin(ctx, "--trigger", "cpu>35%", "--around", "1s", "-F", "199")
    harness.prefer(ruby.pid)
    do(ruby, "burn", 0.1)
    time.sleep(2)
    # It burns by the clock: where others have the CPU it gets too little of that, and is told again.  It fires once in 10 s.
    turns = []
    while len(turns) < 3 and not (turns and turns[-1][2] > 0.6):
        before = harness.cpu_used(ruby.pid)
        since, until = do(ruby, "burn", 1.5)
        turns.append((since, until, 1e9 * (harness.cpu_used(ruby.pid) - before) / (until - since)))
        time.sleep(1.5)
    check(turns[-1][2] > 0.6, "others had the CPU: this proves nothing: %s", turns)
    end(reader)
    events = fired(ctx)
    # The most of a second is at most one and a half of the share of 1.5 s.
    own = [t for t in turns for at, _ in events if t[0] + 0.15e9 < at <= t[1] and t[2] > 0.23]
    check(len(events) == len(own) == 1, "%s, from, until and share: %s", events, turns)
    return events[0][1][-40:]


@case(timeout=120, patient=True)
def marks_in_files_that_all_stay(ctx):
    """With --rotate nothing is removed. A process that fires again within 10 s is told once, another one is another."""
    ruby, reader = begin(ctx, "-s", "-m", "cpu,gc", "--trigger", "exit,pause>1ms", "--rotate", "1s", "-F", "199")
    began = time.monotonic_ns()
    pauses = [do(ruby, "grow", 1_500_000)[0], do(ruby, "collect")[1]]
    do(ruby, "collect")
    children = [do(ruby, "child", 3) for _ in range(2)]
    asked = time.monotonic_ns()
    reader.signal(signal.SIGUSR1)
    time.sleep(max(0, 11 - (time.monotonic_ns() - pauses[1]) / 1e9))
    again = do(ruby, "collect")
    asked_at_end = time.monotonic_ns()
    time.sleep(1.5)
    said = end(reader)
    events = fired(ctx)
    own = [at for at, text in events if text.endswith("(pause>1ms)") and "process %d " % ruby.pid in text]
    check(len(own) == 2 and pauses[0] < own[0] <= pauses[1] and again[0] < own[1] <= again[1], "%s, it paused at %s and %s", events, pauses, again)
    ends = [at for at, text in events if "has ended: exit 3 (exit)" in text]
    check(len(ends) == 2 and all(since < at < until + 0.2e9 for at, (since, until) in zip(ends, children)), "%s, %s", events, children)
    check([abs(at - asked) < 0.5e9 for at, text in events if text == "SIGUSR1"] == [True], "%s, asked at %d", events, asked)
    covers(ctx, began, asked_at_end, 1e9)
    check("%d triggers fired: %d files " % (len(events), len(files_of(ctx))) in said and len(files_of(ctx)) >= 6, "%s: %s", files_of(ctx), said[-400:])
    verify(ctx, files_of(ctx))
    return said.strip().splitlines()[-1]


@case(timeout=120, patient=True)
def a_daemon_marks_them(ctx):
    """In the log, in SQL over all files, for Prometheus, for Firefox and on the page, at the program's time; beside stuck>TIME."""
    prom = ctx.path("marks.prom")
    daemon = case_daemon.start(ctx, "--name", "daemon_marks.rb", "--rotate", "2s", "-F", "99", "--metrics", prom, "--trigger", "stuck>1h",
                               "--trigger", "exit,pause>1ms")
    ruby = ctx.ruby(ctx.write("daemon_marks.rb", PROGRAM))
    ruby.expect("ready")
    harness.until(lambda: case_daemon.files(ctx), "nothing is recorded", timeout=60)
    do(ruby, "burn", 2)
    collected = [do(ruby, "grow", 1_500_000)[0], do(ruby, "collect")[1]]
    child = do(ruby, "child", 3)
    asked = time.time()
    daemon.signal(signal.SIGUSR1)
    do(ruby, "burn", 3)
    err = case_daemon.end(daemon)
    rows = [dict(zip(("at", "pid", "text", "unix_ns", "time_ns"), r)) for r in sql(
        ctx, ctx.path("history"), "SELECT at, coalesce(pid, 0), text, unix_ns, time_ns FROM triggers ORDER BY time_ns")]
    for r in rows:
        r.update({key: int(r[key]) for key in ("pid", "unix_ns", "time_ns")})
    kinds = {what: [r for r in rows if r["text"].endswith(what)] for what in ("(exit)", "(pause>1ms)", "SIGUSR1")}
    check({k: len(v) for k, v in kinds.items()} == {"(exit)": 1, "(pause>1ms)": 1, "SIGUSR1": 1} and len(rows) == 3, "%s", rows)
    at = {k: v[0] for k, v in kinds.items()}
    check(child[0] < at["(exit)"]["time_ns"] < child[1] + 0.2e9, "%s: %s", at, child)
    check(collected[0] < at["(pause>1ms)"]["time_ns"] <= collected[1] and at["(pause>1ms)"]["pid"] == ruby.pid, "%s: %s", at, collected)
    check(abs(at["SIGUSR1"]["unix_ns"] / 1e9 - asked) < 0.5 and at["SIGUSR1"]["at"] in (case_daemon.at(asked), case_daemon.at(asked + 0.5)),
          "%s, asked at %.3f", at, asked)
    # A report of a part of the time tells the first one of that part.
    began = number(ctx, case_daemon.files(ctx)[0], "SELECT value FROM meta WHERE key='started_monotonic_ns'")
    parts = 0
    for before, event in zip([began, *(r["time_ns"] for r in rows)], rows):
        if event["time_ns"] - before < 20e6:
            continue
        span = ["--since", "%.3fs" % ((event["time_ns"] - began) / 1e9 - 0.01)]
        told = re.findall(r"^trigger: (.*)", ctx.extprof("report", ctx.path("history"), "-m", "cpu", *span).out, re.M)
        # Each file has its first one: they are told one after the other.
        check(len(told) == 1 and told[0].startswith("%s %s" % (event["at"], event["text"])), "%s: %s, not %s", span, told, event)
        parts += 1
    check(parts >= 2, "%d parts", parts)
    # Two can fire in one step: the log has the last of them, and how many there were.
    told = re.findall(r"^extprof: trigger: (.*?)(?:, and (\d+) before it)?$", err, re.M)
    check(sum(1 + int(n or 0) for _, n in told) == 3 and {t for t, _ in told} <= {"%s %s" % (r["at"], r["text"]) for r in rows}, "%s: %s", told, rows)
    with open(prom, encoding="utf-8") as f:
        check("\nextprof_triggers_total 3\n" in f.read(), "the counter")
    path = next(p for p in case_daemon.files(ctx) if ["SIGUSR1"] in sql(ctx, p, "SELECT text FROM triggers"))
    profile = json.loads(ctx.extprof("report", path, "-f", "firefox").out)
    strings = profile["shared"]["stringArray"]
    marked = [strings[d["reason"]] if isinstance(d["reason"], int) else d["reason"] for t in profile["threads"] for d in t["markers"]["data"]
              if d and d["type"] == "trigger"]
    check("SIGUSR1" in marked, "markers: %s", marked)
    server = case_serve.Server(ctx, ctx.path("history"))
    page = case_serve.data_of(server.ok("?mode=cpu"))
    rows.reverse()
    check([t["text"] for t in page["triggers"]] == [r["text"] for r in rows] and
          all(abs(int(t["at"]) - r["unix_ns"]) < 1e6 for t, r in zip(page["triggers"], rows)), "%s, not %s", page["triggers"], rows)
    seen = page_of_triggers(ctx, server, [r["text"] for r in rows])
    server.end()
    return "%s; %s" % (", ".join(r["text"][-24:] for r in rows), seen)


def page_of_triggers(ctx, server, texts):
    if not chromium.find():
        return "NOT looked at: there is no browser here"
    with chromium.Browser(ctx.directory) as browser:
        browser.open(server.url + "?mode=cpu")
        shown = browser.run('Array.from(document.querySelectorAll("#triggers tr")).slice(1).map(r => r.cells[1].textContent)')
        check(shown == texts, "%s are shown, not %s", shown, texts)
        href = browser.run('document.querySelector("#triggers a").href')
        browser.open(href)
        near = browser.run('Array.from(document.querySelectorAll("#triggers tr")).slice(1).map(r => r.cells[1].textContent)')
        check(texts[0] in near, "behind the link of %s: %s", texts[0], near)
    return "seen in a browser"


@case(timeout=60)
def options(ctx):
    """What does not fit says so."""
    wrong = ((["--trigger", "gvl>50%"], "add it, as in -m cpu,gvl"), (["--trigger", "pause>100ms"], "-m cpu,gc"),
             (["--trigger", "label:x>1s"], "-m wall"), (["-m", "wall", "--trigger", "label:>1s"], "the key of the label"),
             (["--trigger", "nonsense>1"], "no mode of this recording and no state"), (["--trigger", "cpu>50"], "a share of a second"),
             (["--trigger", "cpu"], "a trigger is one of"), (["--trigger", "rss>many"], "a size"), (["--trigger", ","], "a trigger is one of"),
             (["--trigger", "exit", "--rotate", "1h", "--around", "5s"], "use one of them"), (["--around", "5s"], "--around is for --trigger"),
             (["--trigger", "exit", "-o", "a.svg"], "a recording alone"),
             (["--trigger", ",".join(["exit"] * 17)], "at most 16"), (["--trigger", "exit", "--keep", "2"], "--keep: one moment has"),
             (["-m", "offcpu", "--trigger", "label:x>1s"], "runs and waits"), (["-m", "wall", "--state", "io", "--trigger", "label:x>1s"], "runs and waits"),
             (["-m", "wall", "--trigger", "label:x>1h", "--around", "1s"], "a longer --around"))
    for arguments, text in wrong:
        run = ctx.extprof("record", "-p", os.getpid(), *arguments)
        check(run.status == harness.USAGE and text in run.err, "%s: %d: %s", arguments, run.status, run.err)
    ruby = ctx.ruby("-e", "puts :ready; $stdout.flush; sleep")
    ruby.expect("ready")
    run = ctx.extprof("record", "-p", ruby.pid, "--reader", "nonblocking", "--trigger", "exit", "-o", ctx.path("app.extprof"))
    check(run.status == harness.USAGE and "only the reader ebpf" in run.err, "%d: %s", run.status, run.err)
    check(not os.path.exists(ctx.path("app.extprof")) and not files_of(ctx), "files are left: %s", files_of(ctx))
    run = ctx.extprof("-p", os.getpid(), "--trigger", "exit")
    check(run.status == harness.USAGE and "for a recording" in run.err, "%d: %s", run.status, run.err)
    return "%d are told" % (len(wrong) + 2)
