"""Fake targets: programs that publish the interface, whose stacks are known and whose tables can be
broken in ways that no real ruby shows. Each case is a section of fakes/fakes.sh; the last one opens
a flame graph in a browser (fakes/browser.sh)."""
import fcntl
import os
import re
import signal

import harness
import native
from harness import case, check

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fakes")
FAKES = os.path.join(harness.BUILD, "fakes")
TOTAL = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")


def build(ctx):
    """Build the fake targets, and extprof once more. make does nothing when they are up to date. The limit of the case
    that comes first does not count it."""
    tools = ["%s=%s" % (name, native.tool(name)) for name in ("CC", "CLANG", "BPFTOOL")]
    left = signal.alarm(0)
    with open(FAKES + ".lock", "w") as lock:  # patient cases build them too
        fcntl.flock(lock, fcntl.LOCK_EX)
        p = ctx.start(["make", "-s", "-j%d" % len(os.sched_getaffinity(0)), "-C", HERE, "BUILD=" + FAKES, *tools])
        status = p.wait(600)
    signal.alarm(left)
    check(status == 0, "make -C tests/live/fakes failed: it needs a clang for BPF (CLANG) and bpftool (BPFTOOL)")


def begun(fake):
    """Wait until a fake_target does what its mode says: it computes, or rests."""
    harness.until(lambda: "fake_target" in os.readlink("/proc/%d/exe" % fake.pid), "it is not there")
    harness.until(lambda: harness.cpu_used(fake.pid) > 0.05 or harness.state(fake.pid) == "S", "it does nothing")


def script(ctx, name, *args):
    """Run one script. Each of its assertions counts here, and what it complains about is shown."""
    build(ctx)
    p = ctx.start(["sh", os.path.join(HERE, name), harness.EXTPROF, FAKES, ctx.path(""), *args])
    out, _ = p.communicate(timeout=300)
    lines = out.splitlines()
    total = TOTAL.match(lines[-1]) if lines else None
    check(total, "%s printed no result:\n%s", name, out[-2000:])
    passed, failed, skipped = (int(n or 0) for n in total.groups())
    status = p.wait()
    check(passed + failed + skipped > 0, "%s tested nothing", name)
    check((status == 0) == (failed == 0), "%s ended with status %d: %s", name, status, lines[-1])
    said = [line for line in lines[:-1] if not line.startswith("ok ")]
    return harness.Counted(passed, failed, skipped, "\n".join(["%d assertions" % (passed + failed), *said]))


@case(timeout=120, patient=True)
def stacks(ctx):
    return script(ctx, "fakes.sh", "stacks")


@case(timeout=120, patient=True)
def losses(ctx):
    return script(ctx, "fakes.sh", "losses")


@case(timeout=120)
def flood(ctx):
    return script(ctx, "fakes.sh", "flood")


@case(timeout=60, patient=True)
def hostile(ctx):
    return script(ctx, "fakes.sh", "hostile")


@case(timeout=90, patient=True)
def images(ctx):
    return script(ctx, "fakes.sh", "images")


@case(timeout=120, patient=True)
def namespaces(ctx):
    return script(ctx, "fakes.sh", "namespaces")


@case(timeout=60, patient=True)
def ends(ctx):
    return script(ctx, "fakes.sh", "ends")


@case(timeout=60)
def cpus(ctx):
    return script(ctx, "fakes.sh", "cpus")


@case(timeout=90, patient=True)
def errors(ctx):
    return script(ctx, "fakes.sh", "errors")


@case(timeout=420, patient=True)
def browser(ctx):
    return script(ctx, "browser.sh")
