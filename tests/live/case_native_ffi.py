"""--native with the gem ffi: a library that is called by libffi, and that calls Ruby by closures of libffi.  Closures are code in
no file.  In a thread that Ruby knows the block is below what called it; one that Ruby does not know waits for a thread that ffi
makes.  Which functions call which is known at every point, and how much CPU time each kind of work took by its own clock.

    EXTPROF_TESTS_FFI_SECONDS=60 tests/live/run native_ffi-calls-and-callbacks
"""
import glob
import os
import subprocess

import case_servers
import harness
import native
from case_graph import YJIT
from case_native import end, is_marked, watch
from case_native_truth import LIBRARY, Judge
from case_wall import STATE
from harness import case, check

GEMS = {"ffi": "1.17.4"}
SECONDS = float(os.environ.get("EXTPROF_TESTS_FFI_SECONDS", "3"))
WORK = ["Lib.work", LIBRARY, "lib_work", "burn"]
ANSWER = ["block in Object#callback", "Object#answers"] + WORK
DOWN = ["Lib.calls", LIBRARY, "lib_calls", "calls_1", LIBRARY, "block in Object#downs"]
# Below each method, and in threads without one of these.
WAYS = {
    "Object#plain": [WORK],
    "Object#calls": [["Lib.calls", LIBRARY, "lib_calls", "calls_1", LIBRARY] + ANSWER],
    "Object#blockings": [["Lib.blocking", LIBRARY, "lib_calls", "calls_1", LIBRARY] + ANSWER],
    "Object#threads": [["Lib.thread", LIBRARY, "lib_thread", LIBRARY]],
    "Object#sorts": [["Lib.qsort", LIBRARY, "block in Object#sorts"] + WORK,
                     ["Lib.qsort", LIBRARY, "block in Object#sorts", "FFI::AbstractMemory#read_int32", LIBRARY],
                     ["Lib.qsort", LIBRARY, "block in Object#sorts", "Integer#<=>"],
                     ["Enumerable#map", "Range#each", "[block in C]", "block in Object#sorts"],
                     ["FFI::AbstractMemory#write_array_of_int32", LIBRARY]],
    "Object#deep": [(["Object#down"] + DOWN) * 5 + ["Object#answers"] + WORK],
    "a thread of C": [[LIBRARY, "foreign", "lib_work", "burn"], [LIBRARY, "foreign", LIBRARY]],
    "a thread for a callback": [[LIBRARY] + ANSWER],
}
# What tells of the last two.
OF_THREADS = {"foreign": "a thread of C", "Object#answers": "a thread for a callback"}
KINDS = ("plain", "calls", "blockings", "threads", "sorts", "deep")
OWN = {"burn", "lib_work", "calls_1", "lib_calls", "lib_thread", "foreign", "Object#answers", "Object#down"}
STOP = ("--reader", "stop")


class FfiJudge(Judge):
    def __init__(self, home):
        super().__init__()
        (gem,) = glob.glob(os.path.join(home, "gems", "ffi-%s*" % GEMS["ffi"]))
        for path in glob.glob(os.path.join(gem, "lib", "**", "ffi_c.so"), recursive=True):
            said = subprocess.run(["nm", "-D", "--defined-only", path], stdout=subprocess.PIPE, text=True, check=True).stdout
            self.libraries |= {line.split()[-1] for line in said.splitlines()}
        # The entry by which a function calls one of another library has no name.
        self.libraries |= {"[ffi_c.so]", "[native_ffi.so]", "__vdso_clock_gettime"}

    def add(self, stack):
        labels = [l for l in stack.labels() if l != "[vm]"] + ([stack.gc] if stack.gc else [])
        at = min((i for i, l in enumerate(labels) if l in WAYS), default=None)
        method = labels[at] if at is not None else next((OF_THREADS[l] for l in labels if l in OF_THREADS), "around")
        row = self.rows.setdefault(method, {"samples": 0, "whole": 0, "wrong": 0, "full": 0, "burn": 0})
        row["samples"] += stack.count
        row["burn"] += stack.count * ("burn" in labels)
        below = labels if at is None else labels[at + 1:]
        ways = WAYS.get(method)
        if is_marked(labels):
            right = self.add_marked(row, stack, labels, below, ways)
        else:
            row["whole"] += stack.count
            # The collector, the compiler and the dynamic linker are where they are.
            stop = next((i for i, l in enumerate(below) if l.startswith(("[GC", "[ld-linux")) or l == "[YJIT compile]"), len(below))
            found = {self.reaches(below[:stop], way) for way in ways or ()}
            row["full"] += stack.count * ("full" in found)
            right = found != {None} if ways else not OWN & set(labels)
            # What calls main() is not shown.
            right = right and "<main>" not in labels[1:]
        if not right:
            self.add_wrong(row, stack, labels)

    def is_in_order(self, labels, way):
        rest = iter([s for s in way if s is not LIBRARY])
        return all(l in rest for l in labels if l in way or l in OWN)


class Program:
    def __init__(self, ctx, turns=3000, ruby=()):
        self.ctx, self.home = ctx, case_servers.gems(GEMS)
        library = ctx.path("native_ffi.so")
        native.run(native.tool("CC"), "-O2", "-fomit-frame-pointer", "-fPIC", "-shared", "-pthread", "-o", library,
                   os.path.join(harness.PROGRAMS, "native_ffi.c"))
        self.p = ctx.start([harness.RUBY, "-W0", *ruby, os.path.join(harness.PROGRAMS, "native_ffi.rb"), library, turns],
                           env={"GEM_HOME": self.home, "GEM_PATH": self.home})
        self.p.expect("ready")

    def profile(self, kinds, seconds, *args):
        """The profile, and {kind: ns of CPU time}."""
        out = self.ctx.path("out.folded")
        reader, said = watch(self.ctx, self.p.pid, *args, "-o", out)
        self.p.tell("%s %f" % (" ".join(kinds), seconds))
        took = {k: int(ns) for k, ns in (word.split("=") for word in self.p.line(60 + SECONDS).split())}
        return end(reader, said, out), took


def compare(ctx, name, *args, ruby=(), turns=3000, least=0.99, clocks=True):
    program = Program(ctx, turns, ruby)
    judge = FfiJudge(program.home)
    profile, took = program.profile(KINDS, SECONDS, *args)
    for stack in profile.stacks:
        judge.add(stack)
    total, whole = judge.sum("samples"), judge.sum("whole")
    check(not judge.wrong, "%d of %d are wrong: %s", sum(n for _, n in judge.wrong), total, judge.wrong[:2])
    # The method that has made a thread waits.
    missing = [m for m in WAYS if judge.rows.get(m, {}).get("full", 0) < 5 and m != "Object#threads"]
    check(total > 300 and not missing, "of %d samples none is whole of %s:\n%s", total, missing, judge.table())
    # Threads begin and end all the time here: in their first and last instructions there is no stack to follow.
    check(whole - judge.sum("whole", ["around"]) >= least * (total - judge.sum("samples", ["around"])), "%d of %d are whole:\n%s",
          whole, total, judge.table())
    said = []
    if clocks:
        burnt = {"plain": "Object#plain", "calls": "Object#calls", "blockings": "Object#blockings", "threads": "a thread for a callback",
                 "sorts": "Object#sorts", "deep": "Object#deep", "foreign": "a thread of C"}
        samples = sum(judge.rows[m]["burn"] for m in burnt.values())
        for kind, method in burnt.items():
            ours, share = judge.rows[method]["burn"] / samples, took[kind] / sum(took[k] for k in burnt)
            check(abs(ours - share) < 5 * (share / samples) ** 0.5 + 0.01, "%s: %.1f %%, by its clock %.1f %%:\n%s", kind, 100 * ours,
                  100 * share, judge.table())
            said.append("%s %.1f of %.1f %%" % (kind, 100 * ours, 100 * share))
    folder = os.path.join(harness.BUILD, "live-tables")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "native_ffi-%s.txt" % name), "w", encoding="utf-8") as f:
        f.write("%s\n%s\n" % (judge.table(), "\n".join(said)))
    return "%d samples: 0 wrong, %.2f %% whole; %s" % (total, 100 * whole / total, ", ".join(said) or "with callbacks in threads of C")


@case(timeout=int(120 + SECONDS))
def calls_and_callbacks(ctx):
    return compare(ctx, "ebpf", "-F", harness.rate(5000))


@case(timeout=int(120 + SECONDS))
def calls_and_callbacks_yjit(ctx):
    return compare(ctx, "yjit", "-F", harness.rate(5000), ruby=YJIT)


@case(timeout=120)
def waits(ctx):
    """A block that a library calls waits, so long as its own clock says, below the functions that called it.  A thread of C waits for
    the thread that has its callback, and the method that has made it for this one."""
    program = Program(ctx)
    judge = FfiJudge(program.home)
    profile, took = program.profile(("sleeps", "threads"), 2, "-m", "offcpu")
    slept = ["Lib.calls", LIBRARY, "lib_calls", "calls_1", LIBRARY, "block in Object#waiter", "Object#waits", "Kernel#sleep"]
    asks = [LIBRARY, "foreign", LIBRARY]
    us, marked, total, asked = 0, 0, 0, 0
    for stack in profile.stacks:
        labels = [l for l in stack.labels() if l != "[vm]" and not STATE.match(l)]
        total += stack.count
        if is_marked(labels):
            marked += stack.count
        elif "Object#sleeps" in labels:
            below = labels[labels.index("Object#sleeps") + 1:]
            check(judge.reaches(below, slept + [LIBRARY]) or "[runnable]" in stack.text, "%s", stack.text)
            us += stack.count * ("Kernel#sleep" in below)
        elif "foreign" in labels:
            found = judge.reaches(labels, asks)
            check(found or "[runnable]" in stack.text, "%s", stack.text)
            asked += stack.count * (found == "full")
        else:
            check(not {"foreign", "calls_1"} & set(labels), "%s", stack.text)
    check(abs(us - took["waited"] / 1000) < 0.08 * took["waited"] / 1000, "%d us, by its clock %d", us, took["waited"] / 1000)
    check(asked > 50000 and marked < 0.02 * total, "of %d us the thread of C waited %d for callbacks, %d are marked", total, asked, marked)
    return "%.1f of %.1f ms in the block, %.1f ms for callbacks, 0 wrong, %.2f %% marked" % (
        us / 1000, took["waited"] / 1e6, asked / 1000, 100 * marked / total)


@case(timeout=120, bpf=False)
def by_stop(ctx):
    """It asks from time to time which threads there are: of those that live for some ms it sees a part.  New threads have mapped
    their stacks: where it takes too long to compare all mappings, native functions are left out for some ms."""
    return compare(ctx, "stop", *STOP, "-F", harness.rate(499), turns=300000, least=0.6, clocks=False)
