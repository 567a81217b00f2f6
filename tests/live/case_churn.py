"""Code comes and goes faster than anybody can read it: names may be missing, never wrong."""
import re
import time

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


def retired(ruby):
    ruby.tell("?")
    return int(ruby.line().split()[1])


@case(timeout=60)
def names_are_kept_for_a_reader_only(ctx):
    ruby = ctx.program("retired.rb")
    ruby.expect("ready")
    time.sleep(1)
    alone = retired(ruby)
    ctx.profile(ruby.pid, seconds=7, rate=99)
    watched = retired(ruby)
    # What extprof asked for has ended after half a minute, and the rest is given up as more comes.
    deadline = time.monotonic() + 50
    while retired(ruby) > 1100 and time.monotonic() < deadline:
        time.sleep(0.5)
    after = retired(ruby)
    check(alone <= 1100, "%d are kept, though nobody looks", alone)
    check(watched > 3000, "only %d are kept, though extprof looks", watched)
    check(after <= 1100, "%d are kept long after extprof ended", after)
    return "%d alone, %d watched, %d after" % (alone, watched, after)
