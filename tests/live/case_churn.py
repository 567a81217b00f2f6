"""Code comes and goes faster than anybody can read it: names may be missing, never wrong."""
import re
import time

import harness
import second_reader
from case_graph import YJIT
from harness import case, check, worked

RETIRED = 1  # rb_debug_ext_record::flags
NUMBERED = re.compile(r"[uU](\d+)")


def churn(ctx, what, flags=(), *args):
    ruby = ctx.program("churn.rb", what, *args, flags=flags)
    ruby.expect("ready")
    reader = ctx.extprof_start("-p", ruby.pid, "-F", harness.rate(10000), "-l", "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    # CPU seconds of the program, so that other load on the machine does not matter.
    worked(ruby.pid, 3, timeout=30)
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
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


@case(timeout=60, waits=True)
def names_are_kept_for_a_reader_only(ctx):
    ruby = ctx.program("retired.rb")
    ruby.expect("ready")
    worked(ruby.pid, 0.5)
    alone = retired(ruby)
    ctx.profile(ruby.pid, seconds=7, rate=99)
    watched = retired(ruby)
    # What extprof asked for has ended after half a minute, and the rest is given up as more comes.
    deadline = time.monotonic() + 50
    while retired(ruby) > 600 and time.monotonic() < deadline:
        time.sleep(0.5)
    after = retired(ruby)
    check(alone <= 600, "%d are kept, though nobody looks", alone)
    check(watched > 3000, "only %d are kept, though extprof looks", watched)
    check(after <= 600, "%d are kept long after extprof ended", after)
    return "%d alone, %d watched, %d after" % (alone, watched, after)


@case(timeout=110, bpf=False, waits=True)
def names_expire_after_a_minute(ctx):
    """What is gone is readable for as long as the header says, and after that never has another name."""
    ruby = ctx.program("expiring.rb")
    ruby.expect("ready")
    reader = second_reader.load()
    target = reader.Ruby(reader.Process(ruby.pid))

    def read():
        """{id: name and place} of those that are asked for."""
        target.cache = {}
        return {i: (target.name(i), target.code(i)[5], target.code(i)[9]) for i in was}

    was = {frame[0]: None for ec, *_ in target.ecs() for frame in target.frames(ec)[0] if frame[0] > 1}
    was = {i: what for i, what in read().items() if what[1].startswith("/expiring/")}
    right = sorted(("#<anonymous subclass of Object>#m%d" % i, "/expiring/%d.rb" % i, i + 1) for i in range(100))
    check(sorted(was.values()) == right, "of 100 methods %d: %s", len(was), sorted(was.values())[:3])

    start = time.monotonic()
    ruby.tell("drop")
    ruby.expect("dropped")
    latest = time.monotonic() + target.grace_seconds
    target.cache = {}
    kept = [target.name(i) for i in was if not target.record(i)[10] & RETIRED]
    check(not kept, "%d are still there: %s", len(kept), kept[:3])
    rounds = 0
    while True:
        now, at = read(), time.monotonic() - start
        if at >= target.grace_seconds:
            break
        check(now == was, "after %.1f s: %s", at, [now[i] for i in now if now[i] != was[i]][:3])
        if at >= target.grace_seconds - 8:
            # Records expire only when more code retires. The number that may be kept is not reached.
            if not rounds:
                ruby.tell("drop others")
            rounds += 1
        time.sleep(0.5)
    check(rounds >= 3, "looked only %d times while others were dropped", rounds)
    time.sleep(max(latest + 1 - time.monotonic(), 0))
    for word, done in ("drop more", "churned"), ("make", "made"):
        ruby.tell(word)
        ruby.expect(done)
        now = {what[:2] for what in read().values()}
        check(now == {("?", "")}, "%s: expired ids have names: %s", done, sorted(now)[:3])
    return "100 names right for %d s, and gone after it" % target.grace_seconds
