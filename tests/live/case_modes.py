"""Each mode and each command, briefly, with a program whose amounts are known: what tests/kernels/run tries on other
kernels. The groups of the modes are exact where these cases are coarse."""
import json
import os
import signal

import harness
from harness import case, check

MODES = "cpu,wall,offcpu,gvl,gc,alloc,syscall,event"


class Seen:
    """The stacks of a folded file with several modes: amounts by mode and what is in the stack."""

    def __init__(self, profile):
        self.rows = []
        for s in profile.stacks:
            labels = s.labels()
            self.rows.append((labels[0].strip("[]").split(", "), labels[1:], s.count))

    def sum(self, mode, method, last=""):
        return sum(n for (name, *_), labels, n in self.rows
                   if name == mode and method in labels and any(label.startswith(last) for label in labels))


def start(ctx):
    ruby = ctx.program("modes.rb")
    ruby.expect("ready")
    return ruby


def done(ruby):
    ruby.tell("go")
    ruby.expect("done", 60)


@case(timeout=60)
def together(ctx):
    """All modes in one recording, with --fd and --holder."""
    ruby = start(ctx)
    reader = ctx.extprof_start("-p", ruby.pid, "-m", MODES, "-r", "499", "--fd", "--holder", "--syscall", "openat",
                               "-e", "context-switches", "-c", "1", "--alloc-interval", "16k", "-o", ctx.path("out.folded"))
    ctx.attached(reader, 60)
    done(ruby)
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader).ok()
    check(profile.sums.lost <= 0.02 * profile.sums.taken, "%s", profile.sums.text)
    seen, said = Seen(profile), []

    def least(what, got, wanted):
        check(got >= wanted, "%s: %d, not %d at least:\n%s", what, got, wanted, profile.out[:1500])
        said.append("%s %d" % (what, got))

    # us of times, bytes, and counts. burns runs three times.
    least("cpu of burns", seen.sum("cpu", "Object#burns"), 10)
    # Naps are about as long as a period of 99 Hz: shorter ones add up, right within a period.
    least("wall of naps", seen.sum("wall", "Object#naps", "[sleep"), 200000 - 1000000 // 99)
    least("offcpu of naps", seen.sum("offcpu", "Object#naps", "[sleep"), 200000)
    least("gvl of contends", seen.sum("gvl", "Object#burns", "[gvl"), 100000)
    least("gc of collects", seen.sum("gc", "Object#collects"), 1)
    got = seen.sum("alloc", "Object#allocates")
    check(0.7 * 4e6 < got < 1.5 * 4e6, "alloc: %d bytes of 4,000,000", got)
    check(seen.sum("syscall", "Object#opens", "[openat") == 20, "openat: %d of 20", seen.sum("syscall", "Object#opens"))
    least("context switches of naps", seen.sum("event", "Object#naps"), 20)
    pipe = sum(n for (mode, *_), labels, n in seen.rows
               if mode == "offcpu" and "Object#reads" in labels and any("pipe" in label for label in labels))
    least("a pipe in reads", pipe, 90000)
    holder = sum(n for (mode, *_), labels, n in seen.rows
                 if mode == "offcpu" and "Object#locks" in labels and any("held by" in label for label in labels))
    least("who holds the Mutex", holder, 90000)
    return ", ".join(said)


@case(timeout=60)
def stat(ctx):
    ruby = start(ctx)
    reader = ctx.extprof_start("stat", "-p", ruby.pid, "--json")
    ctx.attached(reader, 60)
    done(ruby)
    reader.signal(signal.SIGINT)
    out, err = reader.communicate()
    check(reader.p.returncode == 0, "status %d: %s", reader.p.returncode, err[-500:])
    total = json.loads(out.splitlines()[-1])
    check(total["gc_cycles"]["all"] >= 5, "collections: %s", total["gc_cycles"])
    # 100,000 objects of 40 bytes: 7.6 samples, by chance none in 1 of 2,000 runs.
    of, mean = total["allocations"], 100_000 * 40 / total["allocations"]["interval_bytes"]
    check(0 < of["samples"] < mean + 5 * mean ** 0.5, "%s", of)
    check(total["threads"]["states"]["sleep"]["count"] >= 20, "%s", total["threads"]["states"]["sleep"])
    check(total["missing"] == {}, "missing: %s", total["missing"])
    return "%d collections, %d objects" % (total["gc_cycles"]["all"], total["allocations"]["objects"])


@case(timeout=60)
def top(ctx):
    ruby = start(ctx)
    reader = ctx.extprof_start("top", "-p", ruby.pid, "-r", "499", "-b", "--count", "4")
    ctx.attached(reader, 60)
    done(ruby)
    out, err = reader.communicate()
    check(reader.p.returncode == 0 and "Object#burns" in out, "status %d: %s%s", reader.p.returncode, out, err)
    return "%d lines" % len(out.splitlines())


@case(timeout=60, bpf=False, patient=True)
def dump(ctx):
    ruby = start(ctx)
    out, err = ctx.extprof_start("dump", "-p", ruby.pid).communicate()
    check("<main>" in out and "IO#gets" in out + err or "Kernel#gets" in out, "%s%s", out, err)
    return out.splitlines()[0]


@case(timeout=60, patient=True)
def verified_instructions(ctx):
    """What the kernel's verifier follows before a recording begins: no loop once for each of its turns."""
    ruby = start(ctx)
    said = []
    for options, most, all_of_them in ((["-m", "cpu"], 30000, 40000), (["-m", "cpu", "-n"], 60000, 70000), (["-m", "wall", "-n"], 65000, 130000),
                                       (["-m", "cpu,wall,alloc,gc,syscall", "--fd", "--holder", "--waker"], 55000, 300000)):
        reader = ctx.extprof_start("-p", ruby.pid, *options, "-o", ctx.path("out.folded"))
        ctx.attached(reader, 60)
        counts = []
        for number in os.listdir("/proc/%d/fdinfo" % reader.pid):
            try:
                with open("/proc/%d/fdinfo/%s" % (reader.pid, number)) as f:
                    counts += [int(line.split()[1]) for line in f if line.startswith("verified_insns:")]
            except OSError:
                pass  # a file that it reads and closes
        if not counts:
            return harness.Counted(0, 0, 1, "this kernel does not tell it")
        check(max(counts) <= most and sum(counts) <= all_of_them, "%s: %d of one program, %d of all", " ".join(options), max(counts), sum(counts))
        said.append("%s: %d of %d" % (" ".join(options), max(counts), sum(counts)))
        reader.signal(signal.SIGINT)
        reader.communicate()
    return "; ".join(said)
