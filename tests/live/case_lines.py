"""The line that runs: its share of the time is what the program measures, or it is marked."""
import harness
from case_graph import YJIT
from case_proportions import enough, timed, within
from harness import case, check


def lines(ctx, flags, *options, rate=5000, seconds=2, program="lines.rb", least=0.98):
    """`least`: what share of the lines must be exact."""
    rate = harness.rate(rate)
    truth, profile = timed(ctx, ctx.program(program, flags=flags), rate, seconds, "-l", *options, "-o", ctx.path("out.folded"))
    truth = {int(line): ns for line, ns in truth.items()}
    counted, marked, other = dict.fromkeys(truth, 0), 0, 0
    for s in profile.stacks:
        f = next((f for f in reversed(s.frames) if f.path.endswith(program)), None)
        # Of the called functions only the calls by these lines count.
        if not f or f is not s.frames[-1] and f.line not in counted:
            continue
        if f.approximate or not f.line:
            marked += s.count
        elif f.line in counted:
            counted[f.line] += s.count
        else:
            other += s.count
    exact, cpu, missed = sum(counted.values()), sum(truth.values()), profile.sums.missed
    enough(exact + marked, missed, rate, cpu)
    check(other < 0.02 * (exact + marked), "%d of %d samples on other lines", other, exact + marked)
    if not flags:
        check(marked == 0, "%d lines are marked as approximate in the interpreter", marked)
    share = exact / (exact + marked)
    check(share > least, "only %.1f %% of %d lines are exact", 100 * share, exact + marked)
    worst = max(abs(within(counted[n], exact, ns / cpu, "line %d" % n, missed))
                for n, ns in truth.items())
    shares = ", ".join("%.1f/%.1f" % (100 * counted[n] / exact, 100 * truth[n] / cpu) for n in truth)
    return "%d samples, %.1f %% exact, shown/true %%: %s; worst %.1f sigma" % (
        exact + marked, 100 * share, shares, worst)


@case(timeout=60)
def interpreter(ctx):
    return lines(ctx, ())


@case(timeout=60)
def yjit(ctx):
    return lines(ctx, YJIT)


@case(timeout=60)
def calls_interpreter(ctx):
    return lines(ctx, (), program="calls.rb", seconds=3)


@case(timeout=60)
def calls_yjit(ctx):
    """In functions in C that compiled code calls without a frame: the line of the call."""
    return lines(ctx, YJIT, program="calls.rb", seconds=3, least=0.995)
