"""Each sample belongs to the thread that it was taken in, whoever has the GVL."""
import re
from collections import Counter

import harness
from case_graph import YJIT
from case_proportions import within
from harness import case, check

MINE = re.compile(r"^(?:block in )?Object#t(\d)_")
SECONDS = 3


def threads(ctx, flags, **options):
    """With M:N threads a thread has no native thread of its own: only the name tells."""
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
    rate = harness.rate(8000)
    reader = ctx.extprof_start("-p", ruby.pid, "-F", rate, "-t", "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    ruby.tell(str(SECONDS))
    truth = {"worker %d" % i: int(ruby.line(SECONDS + 20)) for i in range(len(names))}
    ruby.expect("done")
    reader.signal(2)
    out, err = reader.communicate()
    profile = harness.Profile(reader.p.returncode, out, err, ctx.path("out.folded")).ok()
    counted, foreign, samples, unnamed = Counter(), [], 0, 0
    for s in profile.stacks:
        check(s.thread, "no thread in: %s", s.text)
        samples += s.count
        whose = {m.group(1) for m in map(MINE.match, s.labels()) if m}
        name = tids.get(s.thread[1]) if own else s.thread[0] if s.thread[0] in names else None
        if not own and whose and not name:
            # Known: extprof looks the Ruby thread up after the sample, by the EC's slot. When a
            # short-lived fiber has given that back, only the native thread's name is left.
            unnamed += s.count
            continue
        if name and s.thread[0] == name:
            counted[name] += s.count
        # The main thread and Ruby's timer thread run no method of a worker's.
        allowed = {name[-1]} if name else set()
        if whose - allowed or name and s.thread[0] != name:
            foreign.append("%d times: %s" % (s.count, s.text))
    check(not foreign, "%d stacks in the wrong thread:\n%s", len(foreign), "\n".join(foreign[:5]))
    if not own:
        # Nor does the clock of a native thread tell what one of its threads used.
        check(len(counted) >= 6, "threads seen: %s", counted)
        check(unnamed <= 0.05 * samples, "%d of %d samples without their Ruby thread's name", unnamed, samples)
        return "%d samples, 0 in a wrong thread, %d unnamed: %s" % (samples, unnamed, sorted(counted.values()))
    total, cpu = sum(counted.values()), sum(truth.values())
    check(total > 0.7 * rate * cpu / 1e9, "%d samples at %d Hz of %.2f s of CPU time", total, rate, cpu / 1e9)
    worst = max(abs(within(counted[name], total, ns / cpu, name)) for name, ns in truth.items())
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


@case(timeout=60)
def ractors(ctx):
    """They run at the same time; each native thread shows one of them."""
    ruby = ctx.program("ractors.rb")
    ruby.expect("ready")
    profile = ctx.profile(ruby.pid, "-t", seconds=2, rate=harness.rate(5000))
    by_tid = {}
    for s in profile.stacks:
        whose = {m.group(1) for m in (re.match(r"^(?:block in )?Object#r(\d)_", x) for x in s.labels()) if m}
        check(len(whose) <= 1, "frames of two ractors: %s", s.text)
        for w in whose:
            by_tid.setdefault(s.thread[1], Counter())[w] += s.count
    check(all(len(c) == 1 for c in by_tid.values()), "a native thread with two ractors: %s", by_tid)
    seen = {w: n for c in by_tid.values() for w, n in c.items()}
    check(set(seen) == {"0", "1", "2"}, "ractors seen: %s", by_tid)
    check(profile.sums.lost == 0, profile.sums.text)
    return "samples of three ractors: %s" % seen
