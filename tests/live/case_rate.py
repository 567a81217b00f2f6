"""What a rate costs the machine: extprof refuses one that would leave it no time."""
import ctypes
import fcntl
import os
import re
import struct
import time

import harness
import seccomp
from case_lifecycle import busy
from harness import case, check

SAFE = 10000  # taken as it is
SAMPLE = 3  # us, as extprof says
ENABLE, DISABLE = 0x2400, 0x2401


def cpu_clock(hz):
    """A perf event for this process, disabled."""
    # PERF_TYPE_SOFTWARE, PERF_ATTR_SIZE_VER0, PERF_COUNT_SW_CPU_CLOCK, period, ..., disabled
    attr = struct.pack("<IIQQQQQ16x", 1, 64, 0, 10**9 // hz, 0, 0, 1)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(seccomp.PERF_EVENT_OPEN, attr, 0, -1, -1, 8)
    check(fd >= 0, "no perf event: %s", os.strerror(ctypes.get_errno()))
    return fd


def turns(seconds):
    """Turns of a loop per second."""
    n, clock = 0, time.perf_counter
    start = now = clock()
    while now < start + seconds:
        now = clock()
        n += 1
    return n / (now - start)


def upper_quartile(numbers):
    return sorted(numbers)[len(numbers) * 3 // 4]


def interrupt():
    """What one interrupt takes, in us. extprof measures it in another way; here it is by how much a program is
    slower with interrupts. In turns of 1 ms: the best quarter is left out, and disturbed turns are below it."""
    hz, without, with_them = 5000, [], []
    fd = cpu_clock(hz)
    try:
        for _ in range(400):
            without.append(turns(0.001))
            fcntl.ioctl(fd, ENABLE)
            with_them.append(turns(0.001))
            fcntl.ioctl(fd, DISABLE)
    finally:
        os.close(fd)
    return 1e6 / hz * (1 - upper_quartile(with_them) / upper_quartile(without))


@case(timeout=60)
def too_fast(ctx):
    """extprof says what an interrupt takes here, which is true, and names a rate that it then accepts."""
    ruby = busy(ctx)
    fastest = harness.rate(100000)
    before = interrupt()
    profile = ctx.extprof("-p", ruby.pid, "-F", fastest, "-d", "50ms")
    if profile.status == 0:
        # Half of the CPU, and what the two measurements may differ by.
        check(before < 2 * (5e5 / fastest - SAMPLE) + 1, "an interrupt takes %.1f us, and %d Hz are taken",
              before, fastest)
        return "an interrupt takes %.1f us: %d Hz are taken, and nothing can be refused" % (before, fastest)
    check(profile.status == harness.USAGE and profile.out == "" and "more than half of each CPU" in profile.err,
          "status %d: %s%s", profile.status, profile.out, profile.err)
    said = float(re.search(r"one interrupt of a timer takes ([\d.]+) us", profile.err).group(1))
    named = int(re.search(r"sample at (\d+) or slower", profile.err).group(1))
    after = interrupt()
    check(min(before, after) / 2 - 1 < said < 2 * max(before, after) + 1,
          "%.1f us by extprof, %.1f and %.1f us by the work of a program", said, before, after)
    check(SAFE <= named <= max(SAFE, 5e5 / (said + SAMPLE)), "%d Hz with interrupts of %.1f us", named, said)
    sums = ctx.extprof("-p", ruby.pid, "-F", named, "-d", "0.5").ok().sums
    check(sums.balanced and sums.taken + sums.missed > 100, sums.text)
    return "%d Hz refused: an interrupt takes %.1f us (%.1f and %.1f by the work of a program); " \
        "at %d Hz %d samples, %d missed" % (fastest, said, before, after, named, sums.taken, sums.missed)


@case(timeout=30)
def nothing_left_behind(ctx):
    """A rate that is refused leaves the output as it was, and does not run the command."""
    fastest, kept = harness.rate(100000), ctx.write("kept.folded", "as it was\n")
    profile = ctx.extprof("record", "-F", fastest, "-o", kept, "--", "touch", ctx.path("ran"))
    # Then touch was run, which is no ruby, and may have ended before it was looked at.
    if profile.status in (harness.NOT_RUBY, harness.NO_PROCESS):
        return "%d Hz are taken here" % fastest
    check(profile.status == harness.USAGE, "status %d: %s", profile.status, profile.err)
    check(not os.path.exists(ctx.path("ran")), "the command ran")
    with open(kept) as f:
        check(f.read() == "as it was\n", "the output was changed")
    left = set(os.listdir(ctx.directory)) - {"kept.folded", "stderr"}
    check(not left, "files left: %s", left)
    return profile.err.splitlines()[-1]
