"""Each sample belongs to the thread that it was taken in, whoever has the GVL."""
import re
from collections import Counter

import harness
from case_graph import YJIT
from case_proportions import within
from harness import case, check

MINE = re.compile(r"^(?:block in )?Object#t(\d)_")
SECONDS = 3


def named(profile, most=0.03):
    """The stacks with a Ruby thread. The others must have no Ruby frames, and be rare: of the VM's
    timer thread, and of native threads that begin, wait for their next Ruby thread, or end. One that
    was interrupted where its slot is filled or emptied may be unknown: one sample in thousands."""
    samples = rest = unknown = 0
    stacks = []
    for s in profile.stacks:
        check(s.thread, "no thread in: %s", s.text)
        check(not s.no_thread or s.native, "Ruby code without a Ruby thread: %d times: %s", s.count, s.text)
        samples += s.count
        if s.no_thread:
            rest += s.count
            unknown += s.count if s.no_thread == "unknown" else 0
        else:
            stacks.append(s)
    check(rest <= most * samples, "%d of %d samples without a Ruby thread", rest, samples)
    check(unknown <= 1 + samples // 2000, "%d of %d samples in unknown threads", unknown, samples)
    return stacks


def without(profile):
    return "%d in no Ruby thread" % sum(s.count for s in profile.stacks if s.no_thread)


def threads(ctx, flags, *arguments, rate=8000, **options):
    """With M:N threads a thread has no native thread of its own: only the name tells. What has
    Ruby frames has the name of its thread, without exception."""
    own = not options
    ruby = ctx.program("threads.rb", flags=flags, **options)
    tids, names = {}, []
    while True:
        line = ruby.line()
        if line == "ready":
            break
        tid, name = line.split(" ", 1)
        tids[int(tid)] = name
        names.append(name)
    rate = harness.rate(rate)
    reader = ctx.extprof_start("-p", ruby.pid, "-F", rate, "-t", *arguments, "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    ruby.tell(str(SECONDS))
    truth = {"worker %d" % i: int(ruby.line(SECONDS + 20)) for i in range(len(names))}
    ruby.expect("done")
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    counted, foreign, samples = Counter(), [], 0
    for s in named(profile):
        samples += s.count
        whose = {m.group(1) for m in map(MINE.match, s.labels()) if m}
        name = s.thread[0] if s.thread[0] in names else None
        if name:
            counted[name] += s.count
        # The main thread runs no method of a worker's.
        allowed = {name[-1]} if name else set()
        if whose - allowed or own and tids.get(s.thread[1]) != name:
            foreign.append("%d times: %s" % (s.count, s.text))
    check(not foreign, "%d stacks in the wrong thread:\n%s", len(foreign), "\n".join(foreign[:5]))
    if not own:
        # Nor does the clock of a native thread tell what one of its threads used.
        check(len(counted) == 7, "threads seen: %s", counted)
        return "%d samples, 0 in a wrong thread, 0 unnamed, %s: %s" % (samples, without(profile),
                                                                       sorted(counted.values()))
    total, cpu = sum(counted.values()), sum(truth.values())
    check(total > 0.7 * rate * cpu / 1e9, "%d samples at %d Hz of %.2f s of CPU time", total, rate, cpu / 1e9)
    worst = max(abs(within(counted[name], total, ns / cpu, name, profile.sums.missed))
                for name, ns in truth.items())
    shares = ", ".join("%.1f/%.1f" % (100 * counted[n] / total, 100 * truth[n] / cpu) for n in sorted(truth))
    return "%d samples, 0 in a wrong thread; shown/true %%: %s; worst %.1f sigma" % (samples, shares, worst)


@case(timeout=60)
def interpreter(ctx):
    return threads(ctx, ())


@case(timeout=60)
def yjit(ctx):
    return threads(ctx, YJIT)


@case(timeout=60)
def many_to_many(ctx):
    return threads(ctx, (), env={"RUBY_MN_THREADS": "1"})


def fibers(ctx, **options):
    """Fibers that are gone, and their slots another thread's, before anybody can look them up."""
    ruby = ctx.program("fibers.rb", **options)
    ruby.expect("ready")
    profile = ctx.profile(ruby.pid, "-t", seconds=3, rate=harness.rate(8000))
    counted, wrong = Counter(), []
    for s in named(profile):
        whose = {m.group(1) for m in map(MINE.match, s.labels()) if m}
        counted[s.thread[0]] += s.count if whose else 0
        if whose and whose != {s.thread[0].replace("worker ", "")}:
            wrong.append("%d times: %s" % (s.count, s.text))
    check(not wrong, "%d stacks in the wrong thread:\n%s", len(wrong), "\n".join(wrong[:5]))
    check(len(counted) >= 4 and sum(counted.values()) > 1000, "threads seen: %s", counted)
    check(profile.sums.lost == 0, profile.sums.text)
    return "%d samples in fibers, 0 in a wrong thread, 0 unnamed, %s" % (sum(counted.values()),
                                                                         without(profile))


@case(timeout=60)
def short_fibers(ctx):
    return fibers(ctx)


@case(timeout=60)
def short_fibers_many_to_many(ctx):
    return fibers(ctx, env={"RUBY_MN_THREADS": "1"})


def names(ctx, *args):
    """{method: {names of the threads that it is seen in}}"""
    ruby = ctx.program("thread_names.rb", *args)
    ruby.expect("ready")
    reader = ctx.extprof_start("-p", ruby.pid, "-F", harness.rate(5000), "-t", "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    ruby.tell("go")
    ruby.expect("done")
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    seen = {}
    # Two thousand native threads begin and end here.
    for s in named(profile, 0.2 if args else 0.03):
        for m in filter(None, (re.match(r"^Object#(in_\w+)$", x) for x in s.labels())):
            seen.setdefault(m.group(1), set()).add(s.thread[0])
    return seen


@case(timeout=60)
def name(ctx):
    """The last one that the thread had, also when it is dead and its slot has been given away."""
    seen = names(ctx)
    for method, name in (("in_main", "main"), ("in_unnamed", r"#\d+"), ("in_child", r"#\d+"),
                         ("in_renamed", "new name"), ("in_ractor", "ractor 2 main")):
        check(len(seen[method]) == 1 and re.fullmatch(name, *seen[method]), "%s in threads %s", method, seen)
    check(seen["in_named"] == {"named", "died"}, "%s", seen)
    return ", ".join(sorted(n for s in seen.values() for n in s))


@case(timeout=60)
def name_of_short_ones(ctx):
    """Threads that are gone before their names are read have a number, not another one's name."""
    short = {m: n for m, n in names(ctx, "short").items() if m.startswith("in_short_")}
    right = [m for m, n in short.items() if n == {m[3:].replace("_", " ")}]
    gone = [m for m, n in short.items() if len(n) == 1 and re.fullmatch(r"#\d+ \(gone\)", *n)]
    check(len(gone) + len(right) == len(short) > 150, "names: %s", short)
    return "%d threads: %d named, %d gone" % (len(short), len(right), len(gone))


@case(timeout=60)
def ractors(ctx):
    """They run at the same time; each has samples of its own only."""
    ruby = ctx.program("ractors.rb")
    ruby.expect("ready")
    profile = ctx.profile(ruby.pid, "-t", seconds=2, rate=harness.rate(5000))
    by_name = {}
    for s in named(profile):
        whose = {m.group(1) for m in (re.match(r"^(?:block in )?Object#r(\d)_", x) for x in s.labels()) if m}
        check(len(whose) <= 1, "frames of two ractors: %s", s.text)
        for w in whose:
            by_name.setdefault(s.thread[0], Counter())[w] += s.count
    # The main one is 1.
    check({n: set(c) for n, c in by_name.items()} == {"ractor %d main" % (i + 2): {str(i)} for i in range(3)},
          "ractors seen: %s", by_name)
    seen = {w: n for c in by_name.values() for w, n in c.items()}
    check(profile.sums.lost == 0, profile.sums.text)
    return "samples of three ractors: %s" % seen
