"""The line that runs: its share of the time is what the program measures, or it is marked."""
import harness
from case_graph import YJIT
from case_proportions import within
from harness import case, check


def lines(ctx, flags, *options, rate=5000, seconds=2):
    ruby = ctx.program("lines.rb", flags=flags)
    ruby.expect("ready")
    rate = harness.rate(rate)
    reader = ctx.extprof_start("-p", ruby.pid, "-F", rate, "-l", *options, "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    ruby.tell(str(seconds))
    truth = {}
    while True:
        said = ruby.line(60)
        if said == "done":
            break
        line, ns = map(int, said.split())
        truth[line] = ns
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    counted, marked, other = dict.fromkeys(truth, 0), 0, 0
    for s in profile.stacks:
        f = s.frames[-1]
        if not f.path.endswith("lines.rb"):
            continue
        if f.approximate or not f.line:
            marked += s.count
        elif f.line in counted:
            counted[f.line] += s.count
        else:
            other += s.count
    exact, cpu = sum(counted.values()), sum(truth.values())
    check(exact + marked > 0.7 * rate * cpu / 1e9, "%d samples", exact + marked)
    check(other < 0.02 * (exact + marked), "%d of %d samples on other lines", other, exact + marked)
    if not flags:
        check(marked == 0, "%d lines are marked as approximate in the interpreter", marked)
    share = exact / (exact + marked)
    # These are loops in compiled code, which the log of it covers.
    check(share > 0.9, "only %.1f %% of %d lines are exact", 100 * share, exact + marked)
    worst = max(abs(within(counted[n], exact, ns / cpu, "line %d" % n, profile.sums.missed))
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
