"""The checker itself: it takes what its model can produce, and notices damage."""
import os
import random
import re
import subprocess
import sys

import case_graph  # noqa: F401  (fills the lists of edges and shapes)
import graphgen
import harness
from case_proportions import within
from harness import Failed, case, check
from model import PASS, Block, C, Call, Closure, Env, Frame, Param, Yield

STACKS = 3000


def possible_stack(model, rnd):
    """A random way through the model, outermost frame first."""
    frames, steps, env = [], model.roots, None
    while steps:
        step = rnd.choice(steps)
        if isinstance(step, (Yield, Param)):
            given = env.home.block if isinstance(step, Yield) else env.home.params.get(step.name)
            if given is None:
                break
            step, env = (given.code, given.env) if isinstance(given.code, C) else (given, env)
        if isinstance(step, C):
            frames.append(Frame(step.label))
            if not step.then:
                break
            steps = step.then
            continue
        if isinstance(step, Call):
            def give(value):
                return env.home.block if value is PASS else value and Closure(value, env)
            env = Env(step.code, give(step.block), {k: give(v) for k, v in step.params.items()})
        else:
            env = Env(step.code, outer=env if isinstance(step, Block) else step.env)
        lines = sorted(env.code.sites)
        leaf = not lines or len(frames) > 60 or rnd.random() < 0.1
        line = rnd.choice(sorted(env.code.lines) if leaf else lines)
        frames.append(Frame(env.code.label, env.code.path, line))
        if leaf:
            break
        steps = env.code.sites[line]
    return frames


def drop(frames, rnd, _):
    at = rnd.randrange(len(frames))
    return frames[:at] + frames[at + 1:]


def shift_line(frames, rnd, _):
    at = rnd.choice([i for i, f in enumerate(frames[:-1]) if f.path] or [None])
    if at is None:
        return None
    f = frames[at]
    return frames[:at] + [Frame(f.label, f.path, f.line + rnd.choice([-1, 1]))] + frames[at + 1:]


def torn(frames, rnd, other):
    """The outer frames of one stack, the inner ones of another: what a torn read gives."""
    return frames[:rnd.randrange(1, len(frames))] + other[rnd.randrange(1, len(other)):]


def wrong_name(frames, rnd, other):
    at, f = rnd.randrange(len(frames)), rnd.choice(other)
    g = frames[at]
    return frames[:at] + [Frame(f.label, g.path, g.line)] + frames[at + 1:]


def stale_leaf(frames, _, other):
    """The innermost frame of another stack instead of its own."""
    return frames[:-1] + [other[-1]]


@case(timeout=60, bpf=False)
def notices(ctx):
    model = graphgen.Gen(11, ctx.path("graph.rb")).model()
    rnd = random.Random(2)
    stacks = [s for s in (possible_stack(model, rnd) for _ in range(STACKS)) if len(s) > 3]
    for s in stacks:
        mismatch = model.check(s)
        check(not mismatch, "a possible stack is called impossible: %s", ";".join(map(str, s)))
    said = []
    for damage in (drop, shift_line, torn, wrong_name, stale_leaf):
        done = noticed = 0
        for s in stacks:
            damaged = damage(s, rnd, rnd.choice(stacks))
            # Without its innermost frame a stack is still possible, and so is one that did not change.
            whole = damaged and list(map(str, damaged)) != list(map(str, s))[:len(damaged)]
            if whole:
                done += 1
                noticed += model.check(damaged) is not None
        share = noticed / done
        said.append("%s %.1f %%" % (damage.__name__.replace("_", " "), 100 * share))
        # The rest are stacks that are possible, too: recursion, two calls of the same method.
        check(share > 0.9, "%s: only %d of %d are noticed", damage.__name__, noticed, done)
    return "%d possible stacks; noticed: %s" % (len(stacks), ", ".join(said))


@case(timeout=10, bpf=False)
def shares(ctx):
    """A fifth of 32,000 ticks: right counts pass, also where the CPU was away; others do not."""
    def passes(samples, total, missed):
        try:
            within(samples, total, 0.2, "share", missed)
            return True
        except Failed:
            return False

    for samples, total, missed in ((6400, 32000, 0), (6700, 32000, 0), (6100, 32000, 0),
                                   (5900, 31500, 500), (6400, 31500, 500), (6150, 31500, 500)):
        check(passes(samples, total, missed), "%d of %d, %d missed", samples, total, missed)
    for samples, total, missed in ((6800, 32000, 0), (6000, 32000, 0), (5900, 31500, 0),
                                   (5500, 31500, 500), (6800, 31500, 500)):
        check(not passes(samples, total, missed), "%d of %d, %d missed passes", samples, total, missed)
    return "5 of 5 wrong shares noticed"


# Cases of a run of its own: two of each kind run beside each other.
CASES = """
import os, signal, sys, time
sys.path.insert(0, %r)
import harness, runner
from harness import case, check

@case(timeout=20, bpf=False)
def first(ctx):
    ctx.start(["sleep", "60"])
    open(%r, "w").close()
    return "first"

@case(timeout=20, bpf=False, patient=True)
def waits(ctx):
    # It began before the end of first, which kills only its own.
    own = ctx.start(["sleep", "60"])
    harness.until(lambda: os.path.exists(%r), "first has not run")
    time.sleep(0.3)
    check(own.p.poll() is None, "what it started is gone")
    return "waited"

@case(timeout=20, bpf=False, patient=True)
def fails(ctx):
    check(False, "it fails")

@case(timeout=1, bpf=False, patient=True)
def hangs(ctx):
    time.sleep(60)

@case(timeout=20, bpf=False, patient=True)
def last(ctx):
    if sys.argv[1:] == ["dies"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return harness.Counted(2, 0, 1, "several")

sys.exit(runner.main([]))
"""


@case(timeout=60, bpf=False)
def patient_cases(ctx):
    """They run beside the others. What fails, hangs, or ends their process is a failure of its own case."""
    mark = ctx.path("mark")
    script = ctx.write("cases.py", CASES % (os.path.dirname(os.path.abspath(harness.__file__)), mark, mark))
    for argument, sums, last in (("", "4 passed, 2 failed, 1 skipped", "ok"), ("dies", "2 passed, 3 failed", "FAIL")):
        p = subprocess.run([sys.executable, "-B", script, *argument.split()], stdout=subprocess.PIPE, text=True, timeout=50,
                           env={**os.environ, "BUILD": ctx.directory, "RUBY": "/bin/true", "EXTPROF": "/bin/true",
                                "EXTPROF_TESTS_AGAIN": "0"})
        marks = dict(reversed(line.split()[:2]) for line in p.stdout.splitlines() if re.match(r"(ok|FAIL) ", line))
        got = {name.rpartition("-")[2]: mark for name, mark in marks.items()}
        check(got == {"first": "ok", "waits": "ok", "fails": "FAIL", "hangs": "FAIL", "last": last}, "%s", p.stdout)
        check(p.stdout.splitlines()[-1] == sums and p.returncode == 1, "status %d: %s", p.returncode, p.stdout)
        os.remove(mark)
    return "2 runs of 5 cases"


UNSTEADY = """
import os, sys
sys.path.insert(0, %r)
import harness, runner
from harness import case, check

@case(timeout=20, bpf=False)
def steady(ctx):
    return "steady"

@case(timeout=20, bpf=False)
def once(ctx):
    if not os.path.exists(%r):
        open(%r, "w").close()
        check(False, "the first run fails")
    return harness.Counted(3, 0, 0, "the second passes")

@case(timeout=20, bpf=False)
def always(ctx):
    check(False, "each run fails")

sys.exit(runner.main([]))
"""


@case(timeout=60, bpf=False)
def second_runs(ctx):
    """So many as are permitted run a second time, which counts. The first result is told beside it."""
    mark = ctx.path("mark")
    script = ctx.write("cases.py", UNSTEADY % (os.path.dirname(os.path.abspath(harness.__file__)), mark, mark))
    for again, sums, told in (("0", "1 passed, 2 failed", 0), ("1", "1 passed, 2 failed", 0), ("2", "4 passed, 1 failed", 1)):
        p = subprocess.run([sys.executable, "-B", script], stdout=subprocess.PIPE, text=True, timeout=50,
                           env={**os.environ, "BUILD": ctx.directory, "RUBY": "/bin/true", "EXTPROF": "/bin/true",
                                "EXTPROF_TESTS_AGAIN": again})
        check(p.stdout.splitlines()[-1] == sums and p.returncode == 1, "status %d: %s", p.returncode, p.stdout)
        check(p.stdout.count("UNSTEADY") == told and p.stdout.count("the first run fails") == 1 + told, "%s", p.stdout)
        os.remove(mark)
    return "3 runs of 3 cases"
