"""Code comes and goes faster than anybody can read it: names may be missing, never wrong."""
import re

import harness
from case_graph import YJIT
from harness import case, check

NUMBERED = re.compile(r"[uU](\d+)")


def churn(ctx, what, flags=(), *args):
    ruby = ctx.program("churn.rb", what, *args, flags=flags)
    ruby.expect("ready")
    profile = ctx.profile(ruby.pid, seconds=3, rate=harness.rate(10000))
    check(ruby.p.poll() is None, "the program ended")
    wrong, named, missing, newest = [], 0, 0, 0
    for s in profile.stacks:
        for f in s.frames:
            if f.label in ("[retired]", "[unreadable record]", "[unknown frame]"):
                missing += s.count
            in_path = re.match(r"^/u(\d+)\.rb$", f.path)
            in_label = NUMBERED.findall(f.label)
            if not in_path:
                if in_label and f.path:
                    wrong.append("%d times: %s" % (s.count, s.text))
                continue
            number = int(in_path.group(1))
            newest = max(newest, number)
            named += s.count
            right = not f.line or number <= f.line <= number + 3
            if not right or any(int(n) != number for n in in_label):
                wrong.append("%d times: %s" % (s.count, s.text))
    check(not wrong, "%d stacks with a wrong name:\n%s", len(wrong), "\n".join(wrong[:5]))
    check(named > 500, "only %d frames of such code", named)
    check(missing <= 0.02 * named, "%d of %d frames have no name: %s", missing, named + missing,
          profile.sums.text)
    check(not profile.sums.lost, profile.sums.text)
    return "%d frames named, %d not, of code that was made %d times" % (named, missing, newest)


@case(timeout=40)
def methods(ctx):
    return churn(ctx, "method")


@case(timeout=40)
def redefined_methods(ctx):
    return churn(ctx, "redefined")


@case(timeout=40)
def blocks_yjit(ctx):
    return churn(ctx, "block", YJIT)


@case(timeout=40)
def classes_compacted(ctx):
    return churn(ctx, "class", (), "compact")


@case(timeout=40)
def defined_methods_yjit(ctx):
    return churn(ctx, "define_method", YJIT, "compact")
