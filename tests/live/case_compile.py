"""What the JIT compiles has a frame of its own, with the share of the time that YJIT says, and exact lines."""
import harness
from harness import case, check


@case(timeout=60)
def share(ctx):
    ruby = ctx.program("compiles.rb", flags=("--yjit", "--yjit-call-threshold=5"))
    ruby.expect("ready")
    rate = harness.rate(2000)
    reader = ctx.extprof_start("-p", ruby.pid, "-F", rate, "-l", "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    ruby.tell("2")
    compiled, elapsed, methods = map(int, ruby.line(50).split())
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    compiling = [s for s in profile.stacks if s.compiles]
    count, total = sum(s.count for s in compiling), sum(s.count for s in profile.stacks)
    check(total > 1000, "%d samples", total)
    # The method that is compiled is below, with a line of its own.
    lines, marked = set(), 0
    for s in compiling:
        under = s.frames[-1]
        marked += s.count * under.approximate
        if under.label.startswith("Object#compiled_"):
            number = int(under.label.split("_")[1])
            check(1000 * number < under.line <= 1000 * number + 12, "%s at line %d", under.label, under.line)
            lines.add(under.line % 1000)
    check(marked == 0, "%d of %d lines are marked", marked, count)
    check(len(lines) > 4, "lines %s only", sorted(lines))
    true = compiled / elapsed
    check(true > 0.2, "YJIT compiled in only %.1f %% of the time", 100 * true)
    # Both are shares of time that passed: what other programs take is in both.
    check(abs(count / total - true) < 0.05, "%.1f %% of the samples, %.1f %% of the time", 100 * count / total, 100 * true)
    return "%d methods: compiling is %.1f %% of %d samples, YJIT says %.1f %%; %d lines" % (
        methods, 100 * count / total, total, 100 * true, len(lines))
