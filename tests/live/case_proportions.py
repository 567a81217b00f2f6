"""Shares of CPU time that match what the program measures of itself."""
import harness
from case_graph import YJIT
from harness import case, check

# A share of N samples differs from the true one by less than this many standard deviations of a
# binomial: 5 are exceeded once in 1.7 million. (Periodic samples of random pieces scatter less.)
SIGMAS = 5


def within(samples, total, share, what, missed):
    """Check a count against its true share. Returns by how many deviations it is off. Ticks are missed when
    the CPU was away, and all or none of them may belong to this count: 50 ms of a stopped virtual CPU
    are CPU time of the thread that ran on it, without a sample."""
    ticks = total + missed
    sigma = (ticks * share * (1 - share)) ** 0.5
    expected = ticks * share
    nearest = min(max(samples, expected - missed), expected)
    off = (samples - nearest) / max(sigma, 1e-9)
    check(abs(off) <= SIGMAS, "%s: %d of %d samples and up to %d missed ticks are %.2f %%, truth is %.2f %%: "
          "%.1f sigma", what, samples, total, missed, 100 * samples / total, 100 * share, off)
    return off


def truth_of(ruby, seconds):
    """{name: ns}, as the program says."""
    truth = {}
    while True:
        line = ruby.line(timeout=20 * seconds + 30)
        if line == "done":
            return truth
        name, ns = line.split()
        truth[name] = int(ns)


def timed(ctx, ruby, rate, seconds, *options):
    """Sample a program that works so long when it is told to, and then says how long each of its parts took: ({part: ns},
    profile)."""
    ruby.expect("ready")
    reader = ctx.extprof_start("-p", ruby.pid, "-F", rate, *options)
    harness.prefer(ruby.pid)
    harness.prefer(reader.pid)
    ctx.attached(reader)
    ruby.tell(str(seconds))
    truth = truth_of(ruby, seconds)
    reader.signal(2)
    return truth, ctx.profile_of(reader).ok()


def enough(total, missed, rate, cpu):
    """So many samples as that CPU time, in ns, has, but for chance."""
    check(total + missed > 0.7 * rate * cpu / 1e9, "%d samples and %d missed at %d Hz of %.2f s of CPU time", total, missed,
          rate, cpu / 1e9)


def proportions(ctx, flags, rate, seconds, *options, c_share=4, program="proportions.rb"):
    """c_share: how many of 80 turns are the call in C of 8 ms. A sample is of the innermost method that has a truth."""
    ruby = ctx.program(program, c_share, flags=flags)
    truth, profile = timed(ctx, ruby, rate, seconds, *options, "-o", ctx.path("out.folded"))
    truth = {"Object#" + name: ns for name, ns in truth.items()}
    counted = dict.fromkeys(truth, 0)
    for s in profile.stacks:
        for label in reversed(s.labels()):
            if label in counted:
                counted[label] += s.count
                break
    total, cpu, missed = sum(counted.values()), sum(truth.values()), profile.sums.missed
    enough(total, missed, rate, cpu)
    worst = 0
    for name, ns in truth.items():
        off = within(counted[name], total, ns / cpu, name, missed)
        worst = max(worst, abs(off))
    shares = ", ".join("%.1f/%.1f" % (100 * counted[n] / total, 100 * truth[n] / cpu) for n in truth)
    return "%d samples, %d missed, shown/true %%: %s; worst %.1f sigma of %d allowed" % (
        total, missed, shares, worst, SIGMAS)


@case(timeout=60)
def interpreter(ctx):
    return proportions(ctx, (), harness.rate(5000), 3)


@case(timeout=60)
def yjit(ctx):
    return proportions(ctx, YJIT, harness.rate(5000), 3)


@case(timeout=60)
def slow_rate(ctx):
    """As people use it: at 99 Hz, with a C call that lasts longer than a tick for a third of it."""
    return proportions(ctx, (), 99, 5, c_share=30)


@case(timeout=60)
def fast_rate(ctx):
    return proportions(ctx, (), harness.rate(10000), 2, c_share=30)


@case(timeout=60)
def natives(ctx):
    """A native call by Fiddle is charged to itself, not to what runs next; the block of String#scan is not scan."""
    return proportions(ctx, (), harness.rate(5000), 2, program="natives.rb")
