"""Waits: how long, why, and with which stack. The programs say what their own clocks say."""
import os
import re
import signal
import subprocess
import time
from collections import Counter

import harness
from harness import case, check

STATE = re.compile(r"^\[(runnable|gvl|io|sleep|mutex|queue|condvar|join|process|ractor|native|page fault|stopped|parked)(?: .*)?\]$")


class Waits:
    """Times in ns by thread, state, and what is in the stack."""

    def __init__(self, profile):
        self.rows = []
        for s in profile.stacks:
            labels = s.labels()
            m = STATE.match(labels[-1]) if labels else None
            self.rows.append((s.thread[0] if s.thread else None, m.group(1) if m else "running",
                              labels[-1] if labels else "", labels, s.count * 1000))

    def sum(self, thread=None, state=None, method=None):
        return sum(ns for t, st, _, labels, ns in self.rows
                   if thread in (None, t) and (state is None or st in state.split("|"))
                   and (method is None or method in labels))

    def by_state(self, thread=None):
        c = Counter()
        for t, state, _, _, ns in self.rows:
            if thread in (None, t):
                c[state] += ns
        return c


def table(out):
    """The account: {thread: {state: s}}, with "life", and "all" for the sums."""
    lines = out.split("What each thread did\n", 1)[1].splitlines()
    names = re.findall(r"page fault|\S+", lines[0])
    rows = {}
    for line in lines[1:]:
        if not re.match(r" +[\d.]+ (?:us|ms|s)\b", line):
            break
        cells = re.findall(r"(?:([\d.]+) (us|ms|s)|(-))(?= |$)", line)[:len(names) - 1]
        name = line.split("  ")[-1]
        m = re.match(r"\[(native |parked fibers of )?thread (.*?)(?: \(\d+\))?\](?:, ended)?$", name)
        if m and m.group(1) == "parked fibers of ":
            name, m = m.group(1) + m.group(2), None
        # A native thread that Ruby threads share can have the name of one of them.
        if m and m.group(1) and m.group(2) in rows:
            continue
        rows[m.group(2) if m else name] = {
            n: 0 if dash else float(x) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]
            for n, (x, unit, dash) in zip(names, cells)}
    return rows


def near(got, truth, share, what, slack=0):
    check(abs(got - truth) <= share * truth + slack, "%s: %.3f ms, truth %.3f ms (%+.2f %%)", what, got / 1e6,
          truth / 1e6, 100 * (got - truth) / truth if truth else 0)
    return "%s %+.2f %%" % (what, 100 * (got - truth) / truth if truth else 0)


def begin_of(ctx, path):
    """When a recording began, by the clock of time.monotonic()."""
    run = ctx.extprof("sql", "-H", path, "SELECT value FROM meta WHERE key='started_monotonic_ns'").ok()
    return int(run.out) / 1e9


def sums_of(profile):
    """The states of each thread make up its life, as printed: the digits of the table allow no more."""
    rows = table(profile.out)
    for name, row in rows.items():
        states = sum(v for k, v in row.items() if k not in ("life", "idle"))
        check(abs(states - row["life"]) <= 0.001 * row["life"] + 0.0005 * len(row), "%s: %s", name, row)
    m = re.search(r"states make up ([\d.]+) % of the lives of (\d+) threads", profile.out)
    check(m and abs(float(m.group(1)) - 100) <= 0.1, "states make up %s", m and m.group(0))
    check(profile.sums.balanced, profile.sums.text)
    return rows


def recorded(ctx, kind, *options, mode="offcpu", seconds=2, begin=lambda reader, ruby: None, env=None):
    """(waits, profile, {thread: [wall, cpu, more]})"""
    ruby = ctx.program("waits.rb", kind, seconds, env=env)
    ruby.expect("ready")
    reader = ctx.extprof_start("-p", ruby.pid, "-m", mode, "--idle", "-t", *options, "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    ruby.tell("go")
    ruby.expect("begun")
    begin(reader, ruby)
    said = {}
    while True:
        line = ruby.line(60)
        if line == "done":
            break
        name, *numbers = line.split()
        said[name] = [int(x) for x in numbers]
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader).ok()
    return Waits(profile), profile, said


def said_until(ruby, end, timeout=30):
    """What the program says before that word: {first word of a line: the rest}."""
    said = {}
    while True:
        name, _, rest = ruby.line(timeout).partition(" ")
        if name == end:
            return said
        said[name] = rest


@case(timeout=60)
def three(ctx):
    """One thread burns, one waits for it in Queue#pop, one joins it: a third of the time each, with the reason."""
    waits, profile, said = recorded(ctx, "three", mode="wall", seconds=2)
    rows = sums_of(profile)
    text = [near(waits.sum("popper", "queue", "Object#pops"), said["popper"][0] - said["popper"][1], 0.06, "queue"),
            near(waits.sum("joiner", "join", "Object#joins"), said["joiner"][0] - said["joiner"][1], 0.06, "join")]
    # What runs is sampled; the account is not. The thread's CPU clock has the work of the scheduler's switches too.
    near(rows["burner"]["running"] * 1e9, said["burner"][1], 0.03, "running", 2e6)
    text.append(near(waits.sum("burner", "running", "Object#burn"), said["burner"][1], 0.1, "burn by samples", 3e7))
    return ", ".join(text)


@case(timeout=60)
def napper(ctx):
    """It sleeps 5 ms beside a thread that burns, and waits for the GVL nearly all the time."""
    waits, profile, said = recorded(ctx, "napper", mode="gvl,offcpu", seconds=3)
    sums_of(profile)
    total, used, late = said["napper"]
    ns = Counter()
    with open(profile.path, encoding="utf-8") as f:
        for line in f:
            if "Object#naps" in line:
                ns[line.split(";")[0][1:-1].split(",")[0], STATE.match(
                    line.rpartition(" ")[0].split(";")[-1]).group(1)] += int(line.rpartition(" ")[2]) * 1000
    check({mode for mode, _ in ns} == {"gvl", "offcpu"} and ns["gvl", "gvl"] == ns["offcpu", "gvl"], "modes: %s", ns)
    check(late / total > 0.8, "the program itself was late for %.1f %% only", 100 * late / total)
    # Late is what follows the 5 ms: waiting for the GVL, then for a CPU, and some work.
    return near(ns["gvl", "gvl"] + ns["offcpu", "runnable"], late, 0.02, "%.1f %% of its time for the GVL, waits" % (100 * ns["gvl", "gvl"] / total))


@case(timeout=60)
def lengths(ctx):
    """2000 waits of 200 us and one of 3 s are both right within 1 %. The program's clocks bound the truth: its wall
    clock around each nap has some work in it, and its CPU clock has the work of the switches as well. On a slow machine
    this work is more than a tenth, so that the answer has a bound of its own. It was 1.09 of the
    least alone, and up to 1.12 beside other cases."""
    waits, profile, said = recorded(ctx, "lengths", seconds=3)
    sums_of(profile)
    least = {n: v[0] - v[1] for n, v in said.items()}
    got, most = waits.sum("short", None, "Object#naps"), said["short"][2]
    check(0.99 * least["short"] <= got <= min(1.01 * most, 1.15 * least["short"]), "2000 of 200 us: %.3f ms, %.3f to %.3f ms",
          got / 1e6, least["short"] / 1e6, most / 1e6)
    return ", ".join(["2000 waits: %.1f ms of %.1f to %.1f" % (got / 1e6, least["short"] / 1e6, most / 1e6),
                      near(waits.sum("long", None, "Object#naps"), least["long"], 0.01, "one of 3 s"),
                      near(waits.sum("long", "sleep", "Object#naps"), 3e9, 0.01, "of that sleep")])


@case(timeout=60)
def lengths_by_rate(ctx):
    """The same with one stack for each 1 ms of short waits: they stand for each other."""
    waits, profile, said = recorded(ctx, "lengths", "--waits", "rate", "-F", 1000, seconds=3)
    rows = sums_of(profile)
    off = {n: v[0] - v[1] for n, v in said.items()}
    check(profile.sums.taken < 1500, "%d samples", profile.sums.taken)
    # One sample more or less, of each of the states.
    text = near(waits.sum("short", "sleep", "Object#naps"), rows["short"]["sleep"] * 1e9, 0.01, "2000 of 200 us", 1e6)
    near(waits.sum("long", None, "Object#naps"), off["long"], 0.01, "one of 3 s")
    return "%s with %d samples" % (text, profile.sums.taken)


@case(timeout=60)
def sleepers(ctx):
    """16 threads, 50 naps each: each thread's own time is right."""
    waits, profile, said = recorded(ctx, "sleepers")
    sums_of(profile)
    worst = 0
    for name, (total, used) in said.items():
        got, truth = waits.sum(name, None, "Object#naps"), total - used
        near(got, truth, 0.01, name)
        worst = max(worst, abs(got - truth) / truth)
    return "16 threads, each within %.2f %%" % (100 * worst)


@case(timeout=60)
def reasons(ctx):
    """Mutex, ConditionVariable, a pipe, another process: each wait has its reason and its method."""
    waits, profile, said = recorded(ctx, "reasons", seconds=1)
    sums_of(profile)
    text = []
    for name, state, method in (("holder", "sleep", "Object#naps"), ("locker", "mutex", "Object#locks"),
                                ("reader", "io", "Object#reads"), ("waiter", "condvar", None),
                                ("parent", "process", "Object#waits_for")):
        got, all_of_it = waits.sum(name, state, method), said[name][0] - said[name][1]
        check(abs(got - all_of_it) < 0.1 * all_of_it, "%s: %s of %d", name, waits.by_state(name), all_of_it)
        text.append("%s %.0f %%" % (state, 100 * got / all_of_it))
    kinds = {innermost for name, state, innermost, _, _ in waits.rows if name == "reader" and state == "io"}
    check(any(k.endswith(" pipe]") for k in kinds), "the reader reads %s", kinds)
    return ", ".join(text)


@case(timeout=60)
def before_and_beyond(ctx):
    """Threads that are blocked when the recording begins, and when it ends, have all of it, with their stack."""
    ruby = ctx.program("waits.rb", "forever")
    ruby.expect("ready")
    ruby.tell("go")
    ruby.expect("begun")
    harness.at_rest(ruby.pid, "popper", "reader", "napper")
    profile = ctx.extprof("-p", ruby.pid, "-m", "offcpu", "--idle", "-t", "-d", 2, "-o", ctx.path("out.folded")).ok()
    rows, waits = sums_of(profile), Waits(profile)
    for name, state, method in (("popper", "queue", "Object#pops"), ("reader", "io", "Object#reads"),
                                ("napper", "sleep", "Object#naps")):
        near(waits.sum(name, state, method), 2e9, 0.01, name)
        near(rows[name]["life"] * 1e9, 2e9, 0.01, name)
    check(profile.sums.lost == 0, profile.sums.text)
    return "%d samples for %d threads; %s" % (profile.sums.taken, len(rows) - 1, profile.sums.text)


@case(timeout=60)
def children(ctx):
    """A child that sleeps, and its parent that waits for it."""
    waits, profile, said = recorded(ctx, "fork", "-s", "--group-by", "thread", seconds=1)
    sums_of(profile)
    near(waits.sum("parent", "process", "Object#waits_for"), said["parent"][0] - said["parent"][1], 0.05, "parent")
    child = waits.sum(None, "sleep", "Object#naps")
    return near(child, 1e9, 0.02, "child slept") + "; " + profile.sums.text


@case(timeout=60)
def stopped(ctx):
    """SIGSTOP for 0.5 s: that is no sleep of the program's."""
    ruby = ctx.program("waits.rb", "napper", 2)
    ruby.expect("ready")
    reader = ctx.extprof_start("-p", ruby.pid, "-m", "offcpu", "--idle", "-t", "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    ruby.tell("go")
    ruby.expect("begun")
    ruby.signal(signal.SIGSTOP)
    harness.until(lambda: harness.state(ruby.pid) == "T", "the program is not stopped")
    from_ = time.monotonic()
    time.sleep(0.5)
    ruby.signal(signal.SIGCONT)
    took = time.monotonic() - from_
    ruby.expect_done = [ruby.line(30) for _ in range(2)]
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader).ok()
    rows = sums_of(profile)
    near(rows["burner"]["stopped"], took, 0.05, "burner", 0.01)
    return "burner was stopped for %.3f s, truth %.3f s" % (rows["burner"]["stopped"], took)


@case(timeout=60)
def killed(ctx):
    """The program is killed while it waits: its threads have what they waited until then."""
    ruby = ctx.program("waits.rb", "forever")
    ruby.expect("ready")
    ruby.tell("go")
    ruby.expect("begun")
    path = ctx.path("out.extprof")
    reader = ctx.extprof_start("-p", ruby.pid, "-m", "offcpu", "--idle", "-t", "-o", ctx.path("out.folded"), "-o", path)
    ctx.attached(reader)
    time.sleep(0.5)
    sent = time.monotonic()
    ruby.signal(signal.SIGKILL)
    ruby.wait()
    ended = time.monotonic()
    profile = ctx.profile_of(reader).ok()
    rows, waits = sums_of(profile), Waits(profile)
    got, begun = waits.sum("popper", "queue", "Object#pops") / 1e9, begin_of(ctx, path)
    check(sent - begun - 0.03 < got < ended - begun + 0.03, "popper waited %.3f s, of %.3f to %.3f", got, sent - begun, ended - begun)
    check(len(rows) >= 4, "rows: %s", list(rows))
    return "%d threads, popper %.3f s of %.3f s; %s" % (len(rows) - 1, got, sent - begun, profile.sums.text)


@case(timeout=60)
def executes(ctx):
    """Another thread than the first one executes a program: the lives of all end there."""
    ruby = ctx.program("waits.rb", "exec", 1)
    ruby.expect("ready")
    ruby.tell("go")
    ruby.expect("begun")
    path = ctx.path("out.extprof")
    reader = ctx.extprof_start("-p", ruby.pid, "-m", "offcpu", "--idle", "-t", "-d", 3, "-o", ctx.path("out.folded"), "-o", path)
    ctx.attached(reader)
    time.sleep(0.5)
    told = time.monotonic()
    ruby.tell("execute")
    harness.until(lambda: open("/proc/%d/comm" % ruby.pid).read().strip() == "sleep", "it did not execute sleep")
    seen = time.monotonic()
    profile = ctx.profile_of(reader).ok()
    rows, begun = sums_of(profile), begin_of(ctx, path)
    check("napper" in rows and told - begun - 0.03 < rows["napper"]["life"] < seen - begun + 0.03, "napper: %s, of %.3f to %.3f s",
          rows.get("napper"), told - begun, seen - begun)
    return "napper lived %.3f s of %.3f s; %s" % (rows["napper"]["life"], told - begun, profile.sums.text)


@case(timeout=60)
def pingpong(ctx):
    """Two threads that wake each other as fast as they can: no wait is lost without its reason."""
    stolen = harness.stolen()
    waits, profile, said = recorded(ctx, "pingpong", seconds=2)
    stolen = harness.stolen() - stolen
    rows = sums_of(profile)
    turns = said["ping"][2]
    check(turns > 5000, "only %d turns", turns)
    for name in ("ping", "pong"):
        # The CPU clock has the work of the switches, too, which is a large part of this. So it tells the least. It does
        # not have what the hypervisor took from the CPU meanwhile, which the account has as running.
        row, least = rows[name], said[name][0] - said[name][1] - stolen * 1e9
        off = sum(v for k, v in row.items() if k not in ("life", "running")) * 1e9
        check(0.99 * least <= off <= row["life"] * 1e9, "%s: %s, at least %.3f ms", name, row, least / 1e6)
        # What is lost has no stack; the account has it. Else both are the same.
        if not profile.sums.lost:
            near(waits.sum(name), off, 0.005, name, 1e6)
    lost = profile.sums.lost / profile.sums.taken
    return "%d turns/s; %s; lost %.2f %%" % (turns / 2, profile.sums.text, 100 * lost)


@case(timeout=60)
def with_cpu(ctx):
    """-m cpu,offcpu: what runs and what waits, each in its own units."""
    waits, profile, said = recorded(ctx, "three", "-F", 997, mode="cpu,offcpu", seconds=2)
    sums_of(profile)
    ns, samples = Counter(), 0
    with open(profile.path, encoding="utf-8") as f:
        for line in f:
            mode, _, rest = line.partition(";")
            stack, _, count = rest.rpartition(" ")
            if mode == "[cpu, samples]" and "Object#burn" in stack:
                samples += int(count)
            elif mode == "[offcpu, us]" and "[thread popper" in stack and "Object#pops" in stack:
                ns["popper"] += int(count) * 1000
    near(samples / 997 * 1e9, said["burner"][1], 0.05, "burner by samples", 2e7)
    return near(ns["popper"], said["popper"][0] - said["popper"][1], 0.06, "popper")


@case(timeout=60)
def states_are_chosen(ctx):
    """--state shows some of them; the table has all."""
    waits, profile, said = recorded(ctx, "three", "--state", "queue,join", mode="wall", seconds=1)
    check(set(waits.by_state()) == {"queue", "join"}, "states: %s", waits.by_state())
    check(table(profile.out)["burner"]["running"] > 0, "the table lacks what runs")
    bad = ctx.extprof("-p", 1, "-m", "wall", "--state", "gvl,nothing")
    check(bad.status == harness.USAGE and "nothing" in bad.err, "status %d: %s", bad.status, bad.err)
    bad = ctx.extprof("-p", 1, "-m", "cpu", "--state", "gvl")
    check(bad.status == harness.USAGE and "--state" in bad.err, "status %d: %s", bad.status, bad.err)
    return "%s" % dict(waits.by_state())


@case(timeout=60)
def snapshots(ctx):
    """SIGUSR1 writes what there is; the account of the whole goes on, without the pause."""
    ruby = ctx.program("waits.rb", "forever")
    ruby.expect("ready")
    ruby.tell("go")
    ruby.expect("begun")
    path = ctx.path("out.folded")
    reader = ctx.extprof_start("-p", ruby.pid, "-m", "offcpu", "--idle", "-t", "-d", 3, "-o", path)
    ctx.attached(reader)
    time.sleep(1)
    reader.signal(signal.SIGUSR1)
    harness.until(lambda: subprocess.run(["test", "-s", path]).returncode == 0, "there is no snapshot")
    with open(path, encoding="utf-8") as f:
        half = sum(int(line.rpartition(" ")[2]) for line in f if "Object#pops" in line)
    profile = ctx.profile_of(reader).ok()
    rows, waits = sums_of(profile), Waits(profile)
    check(0.9e6 < half < 2e6, "%d us after a second", half)
    got = waits.sum("popper", "queue", "Object#pops") / 1e9
    check(abs(got - rows["popper"]["life"]) < 0.01 * got and got > 2.5, "popper %.3f s of %s", got, rows["popper"])
    return "%.3f s in the snapshot, %.3f s at the end" % (half / 1e6, got)


def told(profile, state, method=""):
    """{thread: {frame: ns}} of the frames below states that begin so, in that method. Of a holder, which is two frames:
    "where it was / which thread"."""
    found = {}
    for s in profile.stacks:
        m = re.search(r";\[%s(?: [^]]*)?\];\[(.*)\]$" % state.rstrip(), s.text)
        if m and method in s.text:
            found.setdefault(s.thread[0], Counter())[m.group(1).replace("];[", " / ")] += s.count * 1000
    return found


def files_of(profile):
    return told(profile, "io ")


@case(timeout=60)
def files(ctx):
    """--fd names the file that input waits on: sockets by their peer, also those that are closed at once; pipes, files of
    the file system, terminals. The program says which they are, and how long it waited."""
    ruby = ctx.program("files.rb", ctx.directory)
    truth = said_until(ruby, "ready")
    reader = ctx.extprof_start("-p", ruby.pid, "-m", "offcpu", "--idle", "-t", "--fd", "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    ruby.tell("go")
    waited = {name: int(ns) for name, ns in said_until(ruby, "done", 60).items()}
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader).ok()
    sums_of(profile)
    found, worst = files_of(profile), 0
    for name, what in truth.items():
        got = found.get(name, {})
        check(set(got) <= {what} and got, "%s waits for %s, truth %s", name, dict(got), what)
        # Its clock has waits for the GVL and for a CPU as well.
        check(0.8 * waited[name] < got[what] < 1.01 * waited[name], "%s: %.1f of %.1f ms", name, got[what] / 1e6,
              waited[name] / 1e6)
        worst = max(worst, 1 - got[what] / waited[name])
    check("By what was waited for" in profile.out, "the summary has no table of files")
    # Those that wait when the recording ends, and did before it began.
    ruby.tell("wait")
    ruby.expect("waiting")
    profile = ctx.extprof("-p", ruby.pid, "-m", "offcpu", "--idle", "-t", "--fd", "-d", 0.5, "-o", ctx.path("end.folded")).ok()
    found = files_of(profile)
    for name, what in truth.items():
        if name not in ("acceptor", "brief"):
            check(set(found.get(name, {})) == {what}, "at the end %s waits for %s", name, found.get(name))
    return "%d kinds of files, each with more than %.1f %% of its time" % (len(truth), 100 - 100 * worst)


@case(timeout=60)
def files_need_a_mode(ctx):
    """--fd alone means mode wall; with a mode that has no waits it is an error. Kinds of files need no option."""
    bad = ctx.extprof("-p", 1, "-m", "cpu", "--fd")
    check(bad.status == harness.USAGE and "--fd" in bad.err, "status %d: %s", bad.status, bad.err)
    ruby = ctx.program("files.rb", ctx.directory)
    while ruby.line() != "ready":
        pass
    reader = ctx.extprof_start("-p", ruby.pid, "-m", "offcpu", "--idle", "-t", "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    ruby.tell("go")
    while ruby.line(60) != "done":
        pass
    reader.signal(signal.SIGINT)
    waits = Waits(ctx.profile_of(reader).ok())
    kinds = {name: {i.rstrip("]").rpartition(" ")[2] for t, state, i, _, _ in waits.rows if t == name and state == "io"}
             for name in ("tcp", "unix", "pipe", "fifo", "terminal")}
    check(kinds == {"tcp": {"socket"}, "unix": {"socket"}, "pipe": {"pipe"}, "fifo": {"pipe"}, "terminal": {"terminal"}},
          "%s", kinds)
    return "%s" % kinds


@case(timeout=60)
def holders(ctx):
    """--holder: who has the GVL, the Mutex, or is joined. napper sleeps beside burner, which alone computes; then two
    threads compute, and each waits for the other; locker waits for a Mutex that holder has."""
    waits, profile, said = recorded(ctx, "napper", "--holder", mode="gvl", seconds=2)
    sums_of(profile)
    found, text = told(profile, "gvl")["napper"], []
    right = sum(ns for what, ns in found.items() if re.search(r" / thread burner \(\d+\)$", what))
    # Threads that begin have the GVL as well.
    check(right >= 0.97 * sum(found.values()), "napper waits for %s", dict(found))
    burns = sum(ns for what, ns in found.items()
                if re.match(r"GVL held by (Process\.clock_gettime in )?Object#(burn|wall), waits\.rb:\d+ / ", what))
    check(burns >= 0.95 * sum(found.values()), "napper waits for %s", dict(found))
    text.append("napper %.1f %%" % (100 * right / sum(found.values())))
    waits, profile, said = recorded(ctx, "burners", "--holder", mode="gvl", seconds=2)
    for name, other in (("one", "other"), ("other", "one")):
        found = told(profile, "gvl")[name]
        right = sum(ns for what, ns in found.items() if re.search(r" / thread %s \(\d+\)$" % other, what))
        check(right >= 0.9 * sum(found.values()), "%s waits for %s", name, dict(found))
        text.append("%s %.1f %%" % (name, 100 * right / sum(found.values())))
    waits, profile, said = recorded(ctx, "reasons", "--holder", seconds=1)
    found = told(profile, "mutex")["locker"]
    right = sum(ns for what, ns in found.items()
                if re.match(r"lock held by Kernel#sleep in Object#naps, waits\.rb:\d+ / thread holder \(\d+\)$", what))
    check(right >= 0.97 * sum(found.values()) and right > 0.8e9, "locker waits for %s", dict(found))
    waits, profile, said = recorded(ctx, "three", "--holder", seconds=2)
    found = told(profile, "join")["joiner"]
    right = sum(ns for what, ns in found.items() if re.match(r"joins thread burner \(\d+\)", what))
    check(right >= 0.97 * sum(found.values()) and right > 0.8e9, "joiner waits for %s", dict(found))
    return ", ".join(text) + "; locker and joiner right"


# The GVL is kept by Ruby code for 20 ms, then for 180 ms by a C function that sleeps.
HOLDS = """
require "fiddle"
HOLD = Fiddle::Function.new(Fiddle.dlopen(nil)["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true)
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
def in_ruby = (e = now + 0.02; 1 while now < e)
def in_c = HOLD.call(180_000)
napper = Thread.new { Thread.current.name = "napper"; loop { sleep 0.005 } }
sleep 0.1
15.times { in_ruby; in_c }
napper.kill
napper.join
"""


@case(timeout=60)
def holder_goes_on_with_another_method(ctx):
    """A wait for the GVL is shared out among the methods that kept it: napper waits for Ruby code, and then until the C
    function returns."""
    out = ctx.path("out.folded")
    profile = ctx.extprof("record", "-m", "gvl", "--holder", "-t", "-o", out, "--", harness.RUBY, "--disable=gems",
                          ctx.write("holds.rb", HOLDS)).ok()
    found = told(profile, "gvl")["napper"]
    all_of_it = sum(found.values())
    in_c = sum(ns for what, ns in found.items()
               if re.match(r"GVL held by Fiddle::Function#call in Object#in_c, holds\.rb:6 / thread main \(\d+\)$", what))
    check(all_of_it > 2e9, "napper waited %.2f s", all_of_it / 1e9)
    # 180 of 200 ms.
    near(in_c, 0.9 * all_of_it, 0.05, "the C function")
    return "%.1f %% of %.2f s below the C function" % (100 * in_c / all_of_it, all_of_it / 1e9)


@case(timeout=60)
def holders_before_and_beyond(ctx):
    """Of a wait that began before the recording and does not end in it, Ruby itself says who holds the Mutex."""
    ruby = ctx.program("waits.rb", "held")
    ruby.expect("ready")
    ruby.tell("go")
    ruby.expect("begun")
    profile = ctx.extprof("-p", ruby.pid, "-m", "offcpu", "--idle", "--holder", "-t", "-d", 1, "-o", ctx.path("out.folded")).ok()
    locked, joined = told(profile, "mutex").get("locker"), told(profile, "join").get("joiner")
    check(len(locked) == 1 and re.match(r"lock held by a method that is not known / thread holder \(\d+\)$", *locked),
          "locker waits for %s", locked)
    check(len(joined) == 1 and re.match(r"joins thread holder \(\d+\)$", *joined), "joiner waits for %s", joined)
    near(sum(locked.values()), 1e9, 0.05, "locker")
    return "%s; %s" % (dict(locked), dict(joined))


@case(timeout=60)
def wakers(ctx):
    """--waker: who ended a wait, a thread and its method, another process or a timer."""
    waits, profile, said = recorded(ctx, "wakers", "--waker", seconds=1)
    sums_of(profile)
    text = []
    for name, state, method, who in (
            ("consumer", "queue", "pops",
             r"thread producer \(\d+\) in Thread::Queue#(push|<<) in block \(2 levels\) in <main>, waits\.rb:\d+"),
            ("locker", "mutex", "locks",
             r"thread unlocker \(\d+\) in Thread::Mutex#unlock in block in <main>, waits\.rb:\d+"),
            ("joiner", "join", "joins", r"thread producer \(\d+\).*"),
            ("napper", "sleep", "naps", "a timer"),
            ("reader", "io", "reads", r"process sh \(%s\)" % said["writer"][0])):
        found = told(profile, state, ";Object#" + method)[name]
        right = sum(ns for what, ns in found.items() if re.match("woken by %s$" % who, what))
        # A thread can be slow to begin.
        check(right >= 0.98 * sum(found.values()) and right > 0.7e9, "%s: %s", name, dict(found))
        text.append("%s %.1f %%" % (name, 100 * right / sum(found.values())))
    return ", ".join(text)


@case(timeout=60)
def shared_native_threads(ctx):
    """Threads that share native threads (M:N): the scheduler sees none of their waits. Each says how long it lived, and
    how long it waited; what it says includes the wait for the GVL."""
    waits, profile, said = recorded(ctx, "shared", mode="wall", seconds=2, env={"RUBY_MN_THREADS": "1"})
    rows, worst = sums_of(profile), 0
    for name, (life, _, waited) in said.items():
        state, method = {"popper": ("queue", "pops"), "joiner": ("join", "joins")}.get(name, ("sleep", "naps"))
        stacks = waits.sum(name, state, "Object#" + method)
        # It waits for the begin in a queue, too.
        near(rows[name]["life"] * 1e9, life, 0.01, name + "'s life", 150e6)
        if name.startswith(("short", "busy")):
            # What it says includes the wait for the GVL and for a CPU. The begin of each is told to a step of the clock.
            times, least = {"short": (40, 0.05), "busy": (33, 0.04)}[name[:-1]]
            least *= times
            check(0.98 * least < rows[name]["sleep"] < 1.02 * waited / 1e9 + times * 0.004, "%s: %s, truth %.3f to %.3f s", name,
                  rows[name], least, waited / 1e9)
            check(stacks > 0.85e9 * rows[name]["sleep"], "%s: the stacks have %.3f s of %s", name, stacks / 1e9, rows[name])
            continue
        got = waits.sum(name, state + "|gvl", "Object#" + method)
        # The end of a wait is told exactly, its begin to a step of the clock. When it has the GVL it needs a CPU, too.
        near(got, waited, 0.01, name, 100e6)
        worst = max(worst, abs(got - waited) / waited)
    return "%d threads, the long waits are right within %.2f %%" % (len(said), 100 * worst)


def parked(ctx, *options):
    ruby = ctx.program("scheduler.rb", 2)
    ruby.expect("ready")
    verbose = ("-v",) if options else ()
    reader = ctx.extprof_start("-p", ruby.pid, "-m", "wall", "--idle", "-t", *verbose, *options, "-o", ctx.path("out.folded"))
    if options:
        reader.says("it is measured")
    else:
        ctx.attached(reader)
    ruby.tell("go")
    said = {name: int(ns) for name, ns in said_until(ruby, "done", 60).items()}
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader).ok()
    rows = sums_of(profile)
    fibers = [s for s in profile.stacks if "[parked fibers of thread loop]" in s.text]
    check(all(s.text.endswith(";[parked]") and "Scheduler#turn" not in s.text for s in fibers), "%s",
          [s.text for s in fibers])
    text, found = [], Counter()
    for s in fibers:
        found[next((m for m in ("naps", "reads", "pops") if "Object#" + m in s.text), "other")] += s.count * 1000
    # They are found up to 50 ms late, and the event loop can be late to resume one.
    for method, names in (("naps", ("napper", "short")), ("reads", ("reader",)), ("pops", ("popper",))):
        truth = sum(said[n] for n in names)
        text.append(near(found[method], truth, 0.02, method, 200e6 * len(names)))
    # The others are what computes now and then, and is parked in between.
    check(0.5e9 < found["other"] < 2.6e9, "%s", found)
    check(abs(rows["parked fibers of loop"]["parked"] - sum(found.values()) / 1e9) < 0.05, "%s", rows)
    check(rows["loop"]["parked"] == 0 and rows["loop"]["io"] > 0.5, "%s", rows["loop"])
    loop = [s for s in profile.stacks if s.text.startswith("[thread loop") and "[io" in s.text]
    check(loop and all("Scheduler#turn" in s.text for s in loop), "%s", [s.text for s in loop])
    return ", ".join(text)


ENDS = """
now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) }
since = []
fibers = 300.times.map { Fiber.new { Fiber.yield }.tap { |f| f.resume; since << now[] } }
sleep 2
puts "parked %d" % since.sum { now[] - _1 }
"""


@case(timeout=60)
def parked_fibers_of_who_ends(ctx):
    """A process ends with 300 parked fibers, and the recording goes on: they have their time, and no sample is lost by that."""
    profile = ctx.extprof("-m", "offcpu", "--idle", "-o", ctx.path("out.folded"), "--", "sh", "-c", '"$0" --disable=gems -e "$1"; sleep 1',
                          harness.RUBY, ENDS).ok()
    truth = int(re.search(r"^parked (\d+)$", profile.out, re.M).group(1))
    found = sum(s.count for s in profile.stacks if s.text.endswith(";[parked]")) * 1000
    check(profile.sums.balanced and "do not agree" not in profile.out + profile.err, "%s %s", profile.sums.text, profile.err)
    check(not profile.sums.lost, "%s", profile.sums.text)
    # They are found at the first look at them.
    check(0.8 * truth < found < 1.05 * truth, "parked for %.1f s of %.1f", found / 1e9, truth / 1e9)
    return "%.1f s of %.1f" % (found / 1e9, truth / 1e9)


@case(timeout=60)
def parked_fibers(ctx):
    """Fibers that wait under a scheduler: each has its own stack, which is not that of the event loop, in the account
    of the parked fibers of its thread. The thread's own account is that of the loop."""
    return parked(ctx)


@case(timeout=60, bpf=False)
def parked_fibers_from_outside(ctx):
    """The same without BPF."""
    return parked(ctx, "--reader", "nonblocking")


@case(timeout=60)
def fibers_in_two_waits_of_one_depth(ctx):
    """40 fibers wait in two methods in turns, of which the innermost frames are the same, for 50 and 150 ms. Each has its
    time by the fibers' own clocks, so no wait is taken for the one before, and no short one is overlooked for a long one."""
    ruby = ctx.program("fibers_alternate.rb", 4)
    ruby.expect("ready")
    reader = ctx.extprof_start("-p", ruby.pid, "-m", "wall", "--idle", "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    ruby.tell("go")
    said = {name: int(ns) for name, ns in said_until(ruby, "done", 60).items()}
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader).ok()
    found = Counter()
    for s in profile.stacks:
        if s.text.endswith(";[parked]"):
            found[next((m for m in ("shorter", "longer") if "Object#" + m in s.text), "other")] += s.count * 1000
    # A look is at all fibers at once, so its error is that of all of them.
    return ", ".join(near(found[m], said[m], 0.1, m) for m in ("shorter", "longer"))


@case(timeout=60)
def fibers_that_wait_for_nothing(ctx):
    """Of fibers that have ended after Fiber#transfer, that were never resumed and that have yielded, the last ones wait."""
    ruby = ctx.ruby("-e", """
      ended, fresh = Array.new(5) { Fiber.new { 1 } }.each(&:transfer), Array.new(3) { Fiber.new { 1 } }
      parked = Array.new(2) { Fiber.new { Fiber.yield } }.each(&:resume)
      puts "ready"
      $stdout.flush
      i = 0
      loop { i += 1 }""")
    ruby.expect("ready")
    profile = ctx.profile(ruby.pid, "-m", "wall", seconds=2).ok()
    found = Counter()
    for s in profile.stacks:
        if s.text.endswith(";[parked]"):
            found["Fiber.yield" in s.text] += s.count
    check(not found[False], "%s", [s.text for s in profile.stacks])
    return near(found[True] * 1000, 2 * 2e9, 0.05, "two fibers")


@case(timeout=60)
def in_a_namespace(ctx):
    """extprof in a pid namespace of its own, where the kernel's tids are not those that it sees: threads that were
    there before, those that are made, and a thread that executes another program. And from outside."""
    script = ctx.write("inside.sh", """
mkfifo "$D/in"; "$RUBY" --disable=gems "$P/waits.rb" forever <"$D/in" >"$D/out" & ruby=$!
exec 3>"$D/in"; echo go >&3
until grep -q begun "$D/out"; do sleep 0.05; done
"$EXTPROF" record -p $ruby -m offcpu -t --waker -d 1 -o "$D/before.folded" || exit
kill $ruby; wait $ruby; echo MADE
"$EXTPROF" record -m wall -t -o "$D/made.folded" -- "$RUBY" --disable=gems -e 'def naps = sleep(0.5)
t = Array.new(3) { |i| Thread.new { naps }.tap { _1.name = "made#{i}" } }
t.each(&:join); Thread.new { exec("sleep", "0.6") }.tap { _1.name = "executor" }.join'
""")
    reader = ctx.start(["unshare", "-p", "-f", "--mount-proc", "sh", script], stderr=subprocess.PIPE, env={
        "D": ctx.directory, "P": harness.PROGRAMS, "RUBY": harness.RUBY, "EXTPROF": harness.EXTPROF})
    out, err = reader.communicate(50)
    if reader.p.returncode == 1 and "unshare" in err:
        return harness.Counted(0, 0, 1, "cannot make a pid namespace here: " + err.strip())
    check(reader.p.returncode == 0, "status %d: %s", reader.p.returncode, err)
    said, made = out.split("MADE\n")
    before = harness.Profile(0, said, err, ctx.path("before.folded"))
    rows, waits, text = sums_of(before), Waits(before), []
    for name, state, method in (("popper", "queue", "Object#pops"), ("reader", "io", "Object#reads"),
                                ("napper", "sleep", "Object#naps")):
        check(0.95 < rows[name]["life"] < 2, "%s: %s", name, rows[name])
        # The frame of who ended it is the last one.
        got = sum(s.count for s in before.stacks if s.thread[0] == name and method in s.text and "[" + state in s.text)
        text.append(near(got * 1000, rows[name]["life"] * 1e9, 0.01, name))
    rows, waits = sums_of(harness.Profile(0, made, err, "")), Waits(harness.Profile(0, made, err, ctx.path("made.folded")))
    for i in range(3):
        name = "made%d" % i
        text.append(near(waits.sum(name, "sleep", "Object#naps"), 0.5e9, 0.02, name, 50e6))
        check(rows[name]["life"] < 2, "%s: %s", name, rows[name])
    # The thread that executed another program has ended with that, mostly before its name was read.
    executors = [row for name, row in rows.items() if name in ("executor", "sleep") or name.endswith(" (gone)")]
    check(len(executors) == 1 and executors[0]["life"] < 0.5, "%s", rows)
    # From outside.
    inner = ctx.start(["unshare", "-p", "-f", "--kill-child", harness.RUBY, "--disable=gems",
                       os.path.join(harness.PROGRAMS, "waits.rb"), "forever"])
    inner.expect("ready")
    inner.tell("go")
    inner.expect("begun")
    with open("/proc/%d/task/%d/children" % (inner.pid, inner.pid)) as f:
        pid = int(f.read())
    profile = ctx.extprof("-p", pid, "-m", "offcpu", "--idle", "-t", "-d", 1, "-o", ctx.path("out.folded")).ok()
    rows, waits = sums_of(profile), Waits(profile)
    text.append(near(waits.sum("popper", "queue", "Object#pops"), rows["popper"]["life"] * 1e9, 0.01, "from outside"))
    check(0.95 < rows["popper"]["life"] < 2, "%s", rows)
    return ", ".join(text)
