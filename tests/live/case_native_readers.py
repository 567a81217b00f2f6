"""--native without eBPF: the reader that stops a thread for the read knows its registers, the one that does not stop it knows
those of a thread that waits."""
import glob
import time

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


MANY = """
require "fiddle"
int, long = Fiddle::TYPE_INT, Fiddle::TYPE_LONG
map = Fiddle::Function.new(Fiddle::Handle::DEFAULT["mmap"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, int, int, int, long], Fiddle::TYPE_VOIDP)
50_000.times { |i| map.call(nil, 4096, i.odd? ? 1 : 3, 0x22, -1, 0) }
def work = (1..1000).sum { |i| i ^ 5 }
$stdout.puts "ready"
$stdout.flush
work while true
"""


def cpu_of(pid):
    """Seconds, of all threads."""
    total = 0
    for path in glob.glob("/proc/%d/task/*/schedstat" % pid):
        with open(path, encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


@case(timeout=90, bpf=False)
def many_mappings(ctx):
    """A process with so many mappings that to compare them takes longer than a period. It costs extprof a bounded share of a CPU."""
    p = ctx.ruby(ctx.write("many.rb", MANY))
    p.expect("ready")
    out = ctx.path("out.folded")
    reader, said = watch(ctx, p.pid, *STOP, "-F", harness.rate(RATE), "-o", out)
    before = cpu_of(reader.p.pid)
    time.sleep(3)
    share = (cpu_of(reader.p.pid) - before) / 3
    profile = end(reader, said, out)
    stacks = [s for s in profile.stacks if "Object#work" in s.labels()]
    left_out = sum(s.count for s in stacks if "[native functions left out]" in s.labels())
    total = sum(s.count for s in stacks)
    # Each takes some 30 ms: with functions there were 56.
    check(total > 120 and left_out > 0.5 * total, "%d of %d without functions", left_out, total)
    check(share < 0.3, "extprof had %.0f %% of a CPU", 100 * share)
    return "%.0f %% of a CPU; %d of %d without functions" % (100 * share, left_out, total)
