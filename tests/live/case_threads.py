"""Each sample belongs to the thread that it was taken in, whoever has the GVL."""
import os
import re
from collections import Counter

import harness
from case_graph import YJIT
from case_proportions import enough, within
from harness import case, check

MINE = re.compile(r"^(?:block in )?Object#t(\d)_")
SECONDS = 3


COST = []


def thread_cost(ctx, again=False):
    """CPU seconds of a thread that does nothing, on average: the most that was measured, as the machine's speed changes."""
    if again or not COST:
        ruby = ctx.ruby("-e", """
def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
before = cpu
500.times { Thread.new {}.join }
puts (cpu - before) / 500
$stdout.flush""")
        COST.append(float(ruby.line()))
    return max(COST)


class Tasks:
    """What the native threads of a process use from now on."""

    def __init__(self, pid):
        self.directory = "/proc/%d/task/" % pid
        self.before = self.read()
        # The VM's timer thread is there before any other.
        self.timer = min((started, tid) for tid, (_, _, started) in self.before.items() if tid != pid)[1]

    def read(self):
        """{tid: (CPU time in ns, how often it got a CPU, when it began)}"""
        tasks = {}
        for tid in os.listdir(self.directory):
            try:
                with open(self.directory + tid + "/schedstat") as f, open(self.directory + tid + "/stat") as g:
                    ns, _, turns = map(int, f.read().split())
                    tasks[int(tid)] = ns, turns, int(g.read().rpartition(")")[2].split()[19])
            except OSError:
                pass
        return tasks

    def most_of_timer(self, rate):
        """At most so many samples of the timer thread: those of its CPU time, and one more for each time that it
        got the CPU. It wakes up a hundred times a second, which is in step with many rates."""
        now, before = self.read()[self.timer], self.before[self.timer]
        return rate * (now[0] - before[0]) / 1e9 + now[1] - before[1]


def named(ctx, profile, tasks, rate, ended=0, fibers=False, waiting=0):
    """The stacks with a Ruby thread, and words about the others, which must have no Ruby frames.

    The others are of three kinds. The VM's timer thread has as many samples as the kernel's account of it
    allows. Native threads that begin or end have at most twice the time of a thread that does nothing; `ended`
    of them did. Native threads that wait for their next Ruby thread have at most the share `waiting`.
    A thread that is interrupted while its slot is filled or emptied may be unknown. Fibers have slots too."""
    samples = timer = rest = unknown = 0
    stacks = []
    for s in profile.stacks:
        check(s.thread, "no thread in: %s", s.text)
        check(not s.no_thread or s.native, "Ruby code without a Ruby thread: %d times: %s", s.count, s.text)
        samples += s.count
        if not s.no_thread:
            stacks.append(s)
        elif s.thread[1] == tasks.timer:
            timer += s.count
        else:
            rest += s.count
        unknown += s.count if s.no_thread == "unknown" else 0
    most = tasks.most_of_timer(rate)
    check(timer <= most, "%d of %d samples in the timer thread, %.0f at most", timer, samples, most)
    for again in (False, True, True):
        # Twice: beside threads that compute it takes up to 1.7 times as long as alone.
        expected = 2 * ended * rate * thread_cost(ctx, again)
        most_rest = expected + 5 * expected ** 0.5 + 10 + waiting * samples
        if rest <= most_rest:
            break
    check(rest <= most_rest, "%d of %d samples in native threads, %.0f at most for %d of %.0f us that ended", rest,
          samples, most_rest, ended, 1e6 * thread_cost(ctx))
    most_unknown = 1 + (samples // 2000 if fibers else ended // 200)
    check(unknown <= most_unknown, "%d of %d samples in unknown threads, %d at most", unknown, samples,
          most_unknown)
    return stacks, "%d of %.0f in the timer thread, %d of %.0f in others, %d unknown" % (
        timer, most, rest, most_rest, unknown)


def threads(ctx, flags, *arguments, rate=8000, **options):
    """With M:N threads a Ruby thread has no native thread of its own, so only the name tells them apart. Each
    stack with Ruby frames has the name of its thread, without exception."""
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
    harness.prefer(ruby.pid)
    harness.prefer(reader.pid)
    ctx.attached(reader)
    tasks, steal = Tasks(ruby.pid), harness.stolen()
    ruby.tell(str(SECONDS))
    truth = {"worker %d" % i: int(ruby.line(SECONDS + 20)) for i in range(len(names))}
    ruby.expect("done")
    steal = harness.stolen() - steal
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    counted, foreign, samples = Counter(), [], 0
    stacks, others = named(ctx, profile, tasks, rate, ended=7, fibers=True, waiting=0 if own else 0.03)
    for s in stacks:
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
        # The clock of a native thread does not tell what one of its Ruby threads used.
        check(len(counted) == 7, "threads seen: %s", counted)
        return "%d samples, 0 in a wrong thread, 0 unnamed, %s: %s" % (samples, others,
                                                                       sorted(counted.values()))
    total, cpu, missed = sum(counted.values()), sum(truth.values()), profile.sums.missed
    enough(total, missed, rate, cpu)
    worst = max(abs(within(counted[name], total, ns / cpu, name, missed)) for name, ns in truth.items())
    shares = ", ".join("%.1f/%.1f" % (100 * counted[n] / total, 100 * truth[n] / cpu) for n in sorted(truth))
    return "%d samples, %d missed, %.2f s stolen, 0 in a wrong thread; shown/true %%: %s; worst %.1f sigma; " \
        "%s" % (samples, missed, steal, shares, worst, others)


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
    """Fibers end, and other threads get their slots, before extprof can look the fibers up."""
    ruby = ctx.program("fibers.rb", **options)
    ruby.expect("ready")
    rate, tasks = harness.rate(8000), Tasks(ruby.pid)
    profile = ctx.profile(ruby.pid, "-t", seconds=3, rate=rate)
    counted, wrong = Counter(), []
    stacks, others = named(ctx, profile, tasks, rate, fibers=True, waiting=0.03 if options else 0)
    for s in stacks:
        whose = {m.group(1) for m in map(MINE.match, s.labels()) if m}
        counted[s.thread[0]] += s.count if whose else 0
        if whose and whose != {s.thread[0].replace("worker ", "")}:
            wrong.append("%d times: %s" % (s.count, s.text))
    check(not wrong, "%d stacks in the wrong thread:\n%s", len(wrong), "\n".join(wrong[:5]))
    check(len(counted) >= 4 and sum(counted.values()) > 1000, "threads seen: %s", counted)
    check(profile.sums.lost == 0, profile.sums.text)
    return "%d samples in fibers, 0 in a wrong thread, 0 unnamed, %s" % (sum(counted.values()), others)


@case(timeout=60)
def short_fibers(ctx):
    return fibers(ctx)


@case(timeout=60)
def short_fibers_many_to_many(ctx):
    return fibers(ctx, env={"RUBY_MN_THREADS": "1"})


def names(ctx, *args):
    """({method: {names of the threads that it is seen in}}, words about other threads)"""
    ruby = ctx.program("thread_names.rb", *args)
    ruby.expect("ready")
    rate = harness.rate(5000)
    # Not -t, which shows the pattern of so many names.
    reader = ctx.extprof_start("-p", ruby.pid, "-F", rate, "--group-by", "thread", "-o",
                               ctx.path("out.folded"))
    ctx.attached(reader)
    tasks = Tasks(ruby.pid)
    ruby.tell("go")
    ruby.expect("done")
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    seen = {}
    # The ractor's thread too, and ten threads for each one that must be gone.
    stacks, others = named(ctx, profile, tasks, rate, ended=16 + (11 * 200 if args else 0))
    for s in stacks:
        for m in filter(None, (re.match(r"^Object#(in_\w+)$", x) for x in s.labels())):
            seen.setdefault(m.group(1), set()).add(s.thread[0])
    return seen, others


@case(timeout=60)
def name(ctx):
    """The last name that the thread had, also when the thread is dead and its slot has been given away."""
    seen, others = names(ctx)
    for method, name in (("in_main", "main"), ("in_unnamed", r"#\d+"), ("in_child", r"#\d+"),
                         ("in_renamed", "new name"), ("in_ractor", "ractor 2 main")):
        check(len(seen[method]) == 1 and re.fullmatch(name, *seen[method]), "%s in threads %s", method, seen)
    check(seen["in_named"] == {"named", "died"}, "%s", seen)
    return "%s; %s" % (", ".join(sorted(n for s in seen.values() for n in s)), others)


@case(timeout=60)
def name_of_short_ones(ctx):
    """Threads that are gone before their names are read have a number, not another one's name."""
    seen, others = names(ctx, "short")
    short = {m: n for m, n in seen.items() if m.startswith("in_short_")}
    right = [m for m, n in short.items() if n == {m[3:].replace("_", " ")}]
    gone = [m for m, n in short.items() if len(n) == 1 and re.fullmatch(r"#\d+ \(gone\)", *n)]
    check(len(gone) + len(right) == len(short) > 150, "names: %s", short)
    return "%d threads: %d named, %d gone; %s" % (len(short), len(right), len(gone), others)


@case(timeout=60)
def ractors(ctx):
    """Ractors run at the same time. Each has only its own samples."""
    ruby = ctx.program("ractors.rb")
    ruby.expect("ready")
    rate, tasks = harness.rate(5000), Tasks(ruby.pid)
    profile = ctx.profile(ruby.pid, "-t", seconds=2, rate=rate)
    by_name = {}
    stacks, others = named(ctx, profile, tasks, rate)
    for s in stacks:
        whose = {m.group(1) for m in (re.match(r"^(?:block in )?Object#r(\d)_", x) for x in s.labels()) if m}
        check(len(whose) <= 1, "frames of two ractors: %s", s.text)
        for w in whose:
            by_name.setdefault(s.thread[0], Counter())[w] += s.count
    # The main one is 1.
    check({n: set(c) for n, c in by_name.items()} == {"ractor %d main" % (i + 2): {str(i)} for i in range(3)},
          "ractors seen: %s", by_name)
    seen = {w: n for c in by_name.values() for w, n in c.items()}
    check(profile.sums.lost == 0, profile.sums.text)
    return "samples of three ractors: %s; %s" % (seen, others)
