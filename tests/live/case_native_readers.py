"""--native without eBPF: the reader that stops a thread for the read knows its registers, the one that does not stop it knows
those of a thread that waits."""
import harness
from case_graph import YJIT
from case_native import CHAIN, PINGS, Truth, below, change_places, compare, end, extension, is_marked, watch
from case_native_waits import Program, TRUTH
from case_native_waits import compare as compare_waits
from harness import case, check

STOP = ("--reader", "stop")
RATE = 499


@case(timeout=90, bpf=False)
def chain_by_stop(ctx):
    return compare(ctx, "chain", CHAIN, args=STOP, rate=RATE)


@case(timeout=90, bpf=False)
def five_deep_by_stop(ctx):
    return compare(ctx, "pings", PINGS, args=STOP, rate=RATE)


@case(timeout=90, bpf=False)
def five_deep_by_stop_yjit(ctx):
    return compare(ctx, "pings", PINGS, ruby=YJIT, args=STOP, rate=RATE)


@case(timeout=90, bpf=False)
def who_runs_is_not_known(ctx):
    """A thread that has a CPU has no registers for a reader that does not stop it: no stack has functions, and each says so."""
    stacks = below(Truth(ctx).profile("chain", 1.5, RATE, "--reader", "nonblocking"), "chain")
    total = sum(n for _, n in stacks)
    check(total > 50, "only %d samples", total)
    check(all("[native functions left out]" in labels and not set(labels) & set(CHAIN[1:]) for labels, _ in stacks), "%s", stacks[:3])
    return "%d samples without functions" % total


def waits_by(ctx, reader, *whats):
    profile, waited = Program(ctx).profile(whats, "-m", "offcpu", "--reader", reader, "-F", harness.rate(RATE), seconds=1)
    return ", ".join(compare_waits(profile, "Object#" + what, TRUTH[what], waited[what], least=0.9, near=0.12)
                     for what in whats) + ", 0 wrong"


@case(timeout=90, bpf=False)
def waits_by_nonblocking(ctx):
    return waits_by(ctx, "nonblocking", "holds", "locks", "polls")


@case(timeout=90, bpf=False)
def waits_by_stop(ctx):
    return waits_by(ctx, "stop", "holds", "locks", "polls")


@case(timeout=120, bpf=False)
def libraries_at_one_place(ctx):
    return change_places(ctx, *STOP, rate=RATE, least=10)


FORKS = """
require ARGV[0]
$stdout.sync = true
def child = Truth.chain(100)
puts "ready"
gets
fork { t = Process.clock_gettime(Process::CLOCK_MONOTONIC); child while Process.clock_gettime(Process::CLOCK_MONOTONIC) - t < 1.5 }
Process.wait
puts "done"
"""


@case(timeout=90, bpf=False)
def children(ctx):
    """A child has the mappings of its parent from its first step."""
    p = ctx.ruby(ctx.write("forks.rb", FORKS), extension(ctx))
    p.expect("ready")
    out = ctx.path("out.folded")
    reader, said = watch(ctx, p.pid, "-s", *STOP, "-F", harness.rate(RATE), "-o", out)
    p.tell("go")
    p.expect("done")
    stacks = below(end(reader, said, out), "child")
    total = sum(n for _, n in stacks)
    wrong = [s for s in stacks if not is_marked(s[0]) and s[0] != CHAIN[:len(s[0])] and not s[0][-1].startswith("[")]
    whole = sum(n for labels, n in stacks if labels == CHAIN)
    check(total > 50, "only %d samples", total)
    check(not wrong, "%s", wrong[:2])
    check(whole >= 0.85 * total, "%d of %d have all functions: %s", whole, total, [s for s in stacks if s[0] != CHAIN][:3])
    return "%d of %d with all functions, 0 wrong" % (whole, total)
