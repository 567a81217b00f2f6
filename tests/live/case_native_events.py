"""--native in the modes alloc, syscall and event: the functions of an extension that allocate, call the kernel, or are in an
event. How often is known: each event is there once, with all its functions."""
import os

import harness
from case_graph import YJIT
from case_native import end, extension, watch
from case_native_waits import below
from harness import USAGE, case, check

SOURCE = os.path.join(harness.PROGRAMS, "native_events.c")
# Of libc.
LIBC = {"[libc.so.6]", "getppid", "malloc", "mmap", "munmap", "madvise"}
ASKS = ["Events.asks", "ext_asks", "call_onward", "Events.onward"] * 2 + ["Events.asks", "ext_asks", "ask_1", "ask"]


def profile(ctx, what, n, *args, ruby=()):
    """Lists of labels below the method, without the event itself and [vm], and counts. The profile."""
    p = ctx.program("native_events.rb", extension(ctx, source=SOURCE), flags=ruby)
    p.expect("ready")
    out = ctx.path("out.folded")
    reader, said = watch(ctx, p.pid, *args, "-o", out)
    p.tell("%s %d" % (what, n))
    p.line()
    result = end(reader, said, out)
    return [([l for l in labels[:-1] if l != "[vm]"], n) for labels, n in below(result, "Object#" + what)], result


def check_all(stacks, truth, n, more=0):
    """Each of the n events has all functions; a few others may be on the way to them."""
    right = sum(count for labels, count in stacks if labels[:len(truth)] == truth and set(labels[len(truth):]) <= LIBC)
    wrong = [(labels, count) for labels, count in stacks
             if not set(labels) <= LIBC | set(truth) or labels[:len(truth)] != truth[:len(labels)]]
    check(not wrong, "%d are in wrong stacks: %s; the truth is %s", sum(s[1] for s in wrong), wrong and wrong[0], truth)
    check(n <= right <= n + more, "%d have all functions, and there are %d: %s", right, n, stacks[:3])
    return "%d of %d, 0 wrong" % (right, n)


def count(ctx, what, truth, *args, n=2000, more=0, ruby=()):
    stacks, result = profile(ctx, what, n, *args, ruby=ruby)
    check(result.sums.lost == 0, "samples are lost: %s", result.sums.text)
    return check_all(stacks, truth, n, more)


@case(timeout=60)
def calls(ctx):
    """System calls at their beginning, through C, Ruby and C again."""
    return count(ctx, "asks", ASKS, "--syscall", "getppid")


@case(timeout=60)
def calls_with_durations(ctx):
    return count(ctx, "asks", ASKS, "--syscall", "getppid", "--latency", "--unit", "count", ruby=YJIT)


@case(timeout=60)
def tracepoint(ctx):
    return count(ctx, "asks", ASKS, "-e", "syscalls:sys_enter_getppid")


@case(timeout=60)
def page_faults(ctx):
    return count(ctx, "touches", ["Events.touches", "ext_touches", "touch_1", "touch"], "-e", "page-faults", more=20)


@case(timeout=60)
def function(ctx):
    """A function of the extension is the event: it is the innermost one, from its first instruction on."""
    path = ctx.path("native_events.so")
    extension(ctx, source=SOURCE)
    return count(ctx, "passes", ["Events.passes", "ext_passes", "pass_1", "pass", "event_here"], "-e", path + ":event_here")


def shares_of(ctx, what, n, *args):
    stacks, result = profile(ctx, what, n, "-m", "alloc", *args)
    check(result.sums.lost == 0, "samples are lost: %s", result.sums.text)
    return [(labels, n) for labels, n in stacks if labels], sum(n for _, n in stacks)


@case(timeout=60)
def allocations(ctx):
    """Of objects: which functions of the extension allocate them, and their shares."""
    stacks, total = shares_of(ctx, "makes", 100000, "--unit", "count", "--alloc-interval", "2048")
    heads = (["Events.makes", "ext_makes", "heavy", "make"], ["Events.makes", "ext_makes", "light", "make"])
    heavy, light = (sum(n for labels, n in stacks if labels == head) for head in heads)
    wrong = [(labels, n) for labels, n in stacks if labels not in heads]
    check(not wrong, "%d of %d are in wrong stacks: %s", sum(n for _, n in wrong), total, wrong and wrong[0])
    share = 100 * heavy / (heavy + light)
    check(abs(share - 75) < 4, "%.1f %% where 75 %% is right", share)
    check(abs(total - 400000) < 0.05 * 400000, "%d objects, and 400000 were made", total)
    return "%d of 400000 objects, %.1f %% where 75 %% is right, 0 wrong" % (total, share)


@case(timeout=60)
def memory(ctx):
    """Of malloc(), for strings of 10000 bytes; their slots are samples, too."""
    stacks, total = shares_of(ctx, "reserves", 40000, "--unit", "bytes", "--alloc-interval", "65536")
    truth = ["Events.reserves", "ext_reserves", "reserve_1", "reserve"]
    wrong = [(labels, n) for labels, n in stacks if labels != truth]
    check(not wrong, "%d of %d are in wrong stacks: %s", sum(n for _, n in wrong), total, wrong and wrong[0])
    check(abs(total - 400e6) < 0.1 * 400e6, "%d bytes, and 400000000 were reserved", total)
    return "%d of 400000000 bytes, 0 wrong" % total


@case(timeout=60)
def refused(ctx):
    """Counters of the processor come also while the kernel is entered, where it has no registers of the program yet."""
    p = ctx.ruby("-e", 'puts "ready"; $stdout.flush; gets')
    p.expect("ready")
    r = ctx.extprof("-p", p.pid, "-d", "300ms", "-e", "cycles", "--native")
    check(r.status == USAGE and "no registers yet" in r.err, "status %d: %s", r.status, r.err)
    return r.err.splitlines()[0]
