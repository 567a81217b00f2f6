"""The sums: every sample is accounted for, and there are as many as CPU time was used."""
import os
import re
import time

import harness
import native
from harness import case, check

TRUNCATED = re.compile(r"^\[truncated: (\d+) frames more\]$")

# For how long the kernel lets one of several busy threads run.
SLICE = 0.004


class Work:
    """What a program says of its work; the first number is its CPU time. wall: the seconds that it took."""

    def __init__(self, said, wall, steal):
        self.cpu, *self.rest = said
        self.wall = wall
        # The kernel tells it in whole ticks of a clock.
        self.stolen = steal + 1 / os.sysconf("SC_CLK_TCK") if steal else 0

    @property
    def away(self):
        """The share of the time in which the program did not have a CPU."""
        return max(0, 1 - self.cpu / 1e9 / self.wall)

    def expected(self, rate):
        return rate * self.cpu / 1e9

    def chance(self, rate):
        """When others want the CPU, chance decides which ticks fall into our slices: 5 sigma."""
        return 5 * (self.expected(rate) * self.away * max(1, rate * SLICE)) ** 0.5


def recorded(ctx, ruby, seconds, rate, *options):
    """Let a program work while extprof looks: (its work, the profile)."""
    reader = ctx.extprof_start("-p", ruby.pid, "-F", rate, "-l", *options, "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    steal, start = harness.stolen(), time.monotonic()
    ruby.tell(str(seconds))
    said = [int(x) for x in ruby.line(20 * seconds + 30).split()]
    work = Work(said, time.monotonic() - start, harness.stolen() - steal)
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    check(profile.sums.balanced, profile.sums.text)
    return work, profile


def as_many(sums, rate, work, share, most=float("inf"), absent=0):
    """The samples stand for the CPU time that was used. They may be off by `share`, by the ticks that were
    missed and by chance, and there are not more than `most`. `absent` missed ticks are known in another way.
    A tick in stolen time, which is not CPU time, may be a sample."""
    expected = work.expected(rate)
    # One tick more or less at each end, on each CPU that the program ran on.
    slack = share * expected + 4 + work.chance(rate)
    check(expected - max(sums.missed, absent) - slack <= sums.taken <=
          min(expected + slack + rate * work.stolen, most),
          "%d Hz: %d samples for %.3f s of CPU time in %.3f s, %.1f expected +- %.1f, %d ticks missed, %.3f s "
          "stolen", rate, sums.taken, work.cpu / 1e9, work.wall, expected, slack, sums.missed, work.stolen)
    return "%d Hz: %d of %.1f (%+.2f %%), missed %d, had %.0f %% of a CPU, %.2f s stolen" % (
        rate, sums.taken, expected, 100 * (sums.taken - expected) / expected, sums.missed,
        100 * (1 - work.away), work.stolen)


@case(timeout=60)
def cpu_time(ctx):
    """N samples at R Hz are N / R seconds of CPU time: 0.5 %, and the ticks that were missed. When
    others want the CPU, chance decides which ticks fall into our slices of it: 5 sigma."""
    ruby = ctx.program("steady.rb")
    ruby.expect("ready")
    said = []
    # These rates are not in step with what others do 100, 250, 300 or 1000 times a second. A neighbour that
    # wakes up each ms would have the CPU at all ticks of 1000 Hz or at none; the count would be off by half.
    for rate in (99, 1117, harness.rate(9887)):
        seconds = 4 if rate < 1000 else 2
        work, profile = recorded(ctx, ruby, seconds, rate)
        sums = profile.sums
        written = sum(s.count for s in profile.stacks)
        check(written == sums.whole + sums.truncated, "%d samples in the file, %s", written, sums.text)
        said.append(as_many(sums, rate, work, 0.005))
    return "; ".join(said)


@case(timeout=60)
def missed_ticks(ctx):
    """Missed ticks are counted for the program that has the CPU: taken and missed together make up its CPU
    time. While it sleeps none are counted, whatever its CPU does. Here that CPU has its interrupts disabled
    for 2 ms, 50 times a second. A very high rate would miss ticks too, but could hang a slow machine."""
    ruby = ctx.program("steady.rb")
    ruby.expect("ready")
    cpu = max(os.sched_getaffinity(0))
    os.sched_setaffinity(ruby.pid, {cpu})
    rate = harness.rate(5000)
    tells = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (6, 2)
    if tells:
        spinner = ctx.start([native.build("spinner"), cpu, 20000, 2000, ruby.pid])
        spinner.expect("spinning")
    asleep = ctx.extprof("-p", ruby.pid, "-d", 1, "-F", rate, "-o", ctx.path("asleep.folded"))
    idle = asleep.sums
    check(asleep.status == (0 if idle.taken else 1), "status %d: %s", asleep.status, asleep.err)
    check(idle.missed <= idle.taken, "asleep: missed %d; %s", idle.missed, idle.text)
    work, profile = recorded(ctx, ruby, 1, rate)
    sums, expected = profile.sums, work.expected(rate)
    if not tells:
        check(not sums.missed, "missed %d, which this kernel does not tell", sums.missed)
        return "%d Hz: asleep %d; this kernel does not tell what is missed" % (rate, idle.taken)
    spins, spun = map(int, spinner.communicate()[0].split())
    # Of the ticks that come due meanwhile one is taken at the end, and one may be due a moment later.
    least = spun / 1e9 * rate - 2 * spins
    check(spins > 20 and sums.missed >= least > 0, "%d missed, %.0f at least in %d times %.2f ms", sums.missed,
          least, spins, spun / 1e6 / max(spins, 1))
    check(sums.taken + sums.missed > 0.97 * expected and sums.taken < 1.03 * expected + rate * work.stolen,
          "%d samples and %d missed, %d expected", sums.taken, sums.missed, expected)
    return "%d Hz: asleep %d and missed %d; busy %d and missed %d (at least %.0f), %.0f expected" % (
        rate, idle.taken, idle.missed, sums.taken, sums.missed, least, expected)


def deep(ctx, depth, flags=()):
    ruby = ctx.program("deep.rb", depth, flags=flags, env={"RUBY_THREAD_VM_STACK_SIZE": "16777216"})
    frames = int(ruby.line())
    check(frames == depth + 2, "the program has %d frames", frames)
    # A sample of 10,000 frames has 33 KB, and the ring room for 31: the reader may be away for 0.3 s.
    profile = ctx.profile(ruby.pid, seconds=5, rate=100)
    sums, samples = profile.sums, 0
    for s in profile.stacks:
        if s.native:
            continue
        samples += s.count
        shown = len(s.frames)
        missing = int(TRUNCATED.match(s.truncated).group(1)) if s.truncated else 0
        # Each stack has one more frame at its bottom, which is no code.
        total = shown + missing - (1 if s.truncated else 0)
        check(total == frames, "%d frames shown, %d said to be more, of %d: %s", shown, missing, frames,
              s.text[:120])
        labels = s.labels()
        check(labels[-1] == "Object#bottom" and set(labels[1:-1]) == {"Object#down"} and
              labels[0] == ("Object#down" if s.truncated else "<main>"), "wrong stack: %s", s.text[:300])
    check(samples > 100, "only %d samples", samples)
    truncated = sum(s.count for s in profile.stacks if s.truncated)
    check(sums.balanced and sums.truncated == truncated and not sums.lost, "%d are truncated; %s", truncated,
          sums.text)
    return "%d frames, %d samples: %d whole, %d truncated" % (frames, samples, sums.whole, sums.truncated)


@case(timeout=30)
def depth_1000(ctx):
    text = deep(ctx, 1000)
    check(text.endswith(" 0 truncated"), "1000 frames must be whole: %s", text)
    return text


@case(timeout=30)
def depth_10000(ctx):
    return deep(ctx, 10000)


@case(timeout=30)
def depth_10000_yjit(ctx):
    return deep(ctx, 10000, ("--yjit", "--yjit-call-threshold=1"))


@case(timeout=60)
def gc(ctx):
    """The share of samples in GC is the share of CPU time that GC itself counts."""
    ruby = ctx.program("steady.rb", "gc")
    ruby.expect("ready")
    rate = harness.rate(5000)
    work, profile = recorded(ctx, ruby, 3, rate)
    total = sum(s.count for s in profile.stacks)
    phases = {}
    for s in profile.stacks:
        if s.gc:
            phases[s.gc] = phases.get(s.gc, 0) + s.count
            check("Object#work_gc" in s.labels(), "GC without its caller: %s", s.text)
    shown, truth = sum(phases.values()) / total, work.rest[0] / work.cpu
    check(truth > 0.1, "the program spent only %.1f %% in GC", 100 * truth)
    # GC.total_time does not count entering and leaving GC. All missed ticks may have been in GC, or none.
    check(abs(shown - truth) < 0.03 + profile.sums.missed / total, "%.1f %% of samples, %.1f %% of the time, "
          "%d missed: %s", 100 * shown, 100 * truth, profile.sums.missed, phases)
    check(phases.get("[GC mark]") and phases.get("[GC sweep]"), "phases: %s", phases)
    check("in GC: %d samples" % sum(phases.values()) in profile.out, "another number in the summary")
    return "%.1f %% of %d samples, truth %.1f %%, missed %d; %s" % (
        100 * shown, total, 100 * truth, profile.sums.missed, ", ".join("%s %d" % x for x in sorted(phases.items())))
