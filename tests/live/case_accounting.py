"""The sums: every sample is accounted for, and there are as many as CPU time was used."""
import os
import re
import time

import harness
from harness import case, check

TRUNCATED = re.compile(r"^\[truncated: (\d+) frames more\]$")


def recorded(ctx, ruby, seconds, rate, *options):
    """Let a program work while extprof looks: (its answer and the time that took, the profile)."""
    reader = ctx.extprof_start("-p", ruby.pid, "-F", rate, "-l", *options, "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    start = time.monotonic()
    ruby.tell(str(seconds))
    answer = [int(x) for x in ruby.line(20 * seconds + 30).split()] + [time.monotonic() - start]
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    check(profile.sums.balanced, profile.sums.text)
    return answer, profile


# For how long the kernel lets one of several busy threads run.
SLICE = 0.004


def away(cpu, wall):
    """Which share of the time the program did not have a CPU."""
    return max(0, 1 - cpu / 1e9 / wall)


def as_many(sums, rate, cpu, wall, share, most=float("inf")):
    """There are as many samples as CPU time was used, within this share of them, what was missed
    and 5 sigma of the slices that others had; and not more than `most`."""
    expected = rate * cpu / 1e9
    sigma = (expected * away(cpu, wall) * max(1, rate * SLICE)) ** 0.5
    # One tick more or less at each end, on each CPU that it ran on.
    slack = share * expected + 4 + 5 * sigma
    check(expected - sums.missed - slack <= sums.taken <= min(expected + slack, most),
          "%d Hz: %d samples for %.3f s of CPU time in %.3f s, %.1f expected +- %.1f, %d ticks missed",
          rate, sums.taken, cpu / 1e9, wall, expected, slack, sums.missed)
    return "%d Hz: %d of %.1f (%+.2f %%), missed %d, had %.0f %% of a CPU" % (
        rate, sums.taken, expected, 100 * (sums.taken - expected) / expected, sums.missed,
        100 * (1 - away(cpu, wall)))


@case(timeout=60)
def cpu_time(ctx):
    """N samples at R Hz are N / R seconds of CPU time: 0.5 %, and the ticks that were missed. When
    others want the CPU, which ticks fall into our slices of it is chance: 5 sigma."""
    ruby = ctx.program("steady.rb")
    ruby.expect("ready")
    said = []
    for rate in (99, 1000, harness.rate(10000)):
        seconds = 4 if rate < 1000 else 2
        (cpu, _, wall), profile = recorded(ctx, ruby, seconds, rate)
        sums = profile.sums
        written = sum(s.count for s in profile.stacks)
        check(written == sums.whole + sums.truncated, "%d samples in the file, %s", written, sums.text)
        said.append(as_many(sums, rate, cpu, wall, 0.005))
    return "; ".join(said)


@case(timeout=60)
def missed_ticks(ctx):
    """Ticks that are missed are the program's: faster than the machine can, all of them make up the
    CPU time; and where it sleeps there are none, whatever other CPUs do."""
    ruby = ctx.program("steady.rb")
    ruby.expect("ready")
    rate = harness.rate(100000)
    idle = ctx.profile(ruby.pid, seconds=1, rate=rate).sums
    check(idle.missed <= idle.taken, "asleep: missed %d; %s", idle.missed, idle.text)
    (cpu, _, _), profile = recorded(ctx, ruby, 1, rate)
    sums, expected = profile.sums, rate * cpu / 1e9
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (6, 2):
        check(not sums.missed, "missed %d, which this kernel does not tell", sums.missed)
        return "%d Hz: asleep %d; this kernel does not tell what is missed" % (rate, idle.taken)
    check(sums.taken + sums.missed > 0.97 * expected and sums.taken < 1.03 * expected,
          "%d samples and %d missed, %d expected", sums.taken, sums.missed, expected)
    return "%d Hz: asleep %d and missed %d; busy %d and missed %d, %.0f expected" % (
        rate, idle.taken, idle.missed, sums.taken, sums.missed, expected)


def deep(ctx, depth, flags=()):
    ruby = ctx.program("deep.rb", depth, flags=flags, env={"RUBY_THREAD_VM_STACK_SIZE": "16777216"})
    frames = int(ruby.line())
    check(frames == depth + 2, "the program has %d frames", frames)
    # A sample of 10,000 frames has 64 KiB: at 1,000 Hz a busy machine does not keep up.
    profile = ctx.profile(ruby.pid, seconds=1, rate=500)
    sums, samples = profile.sums, 0
    for s in profile.stacks:
        if s.native:
            continue
        samples += s.count
        shown = len(s.frames)
        missing = int(TRUNCATED.match(s.truncated).group(1)) if s.truncated else 0
        # The bottom of each stack is one more frame, which is no code.
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
    (cpu, gc_time, _), profile = recorded(ctx, ruby, 3, rate)
    total = sum(s.count for s in profile.stacks)
    phases = {}
    for s in profile.stacks:
        if s.gc:
            phases[s.gc] = phases.get(s.gc, 0) + s.count
            check("Object#work_gc" in s.labels(), "GC without its caller: %s", s.text)
    shown, truth = sum(phases.values()) / total, gc_time / cpu
    check(truth > 0.1, "the program spent only %.1f %% in GC", 100 * truth)
    # GC.total_time does not count entering and leaving.
    check(abs(shown - truth) < 0.03, "%.1f %% of samples, %.1f %% of the time: %s", 100 * shown, 100 * truth,
          phases)
    check(phases.get("[GC mark]") and phases.get("[GC sweep]"), "phases: %s", phases)
    check("in GC: %d samples" % sum(phases.values()) in profile.out, "another number in the summary")
    return "%.1f %% of %d samples, truth %.1f %%; %s" % (
        100 * shown, total, 100 * truth, ", ".join("%s %d" % x for x in sorted(phases.items())))
