"""--native in the modes wall, offcpu and gvl: the functions of an extension that wait, below the method that called them.
In which functions the program waits is known at every point, and how long by its own clock."""
import os

import harness
from case_graph import YJIT
from case_native import end, extension, is_marked, watch
from case_wall import STATE
from harness import case, check

SOURCE = os.path.join(harness.PROGRAMS, "native_waits.c")
# What libc calls the functions that wait, as far as it has names for them.
LIBC = {"[libc.so.6]", "poll", "ppoll", "clock_nanosleep", "nanosleep", "syscall", "pthread_cond_wait", "pthread_cond_timedwait",
        "pthread_mutex_lock", "clock_gettime", "__vdso_clock_gettime", "[[vdso]]"}
HOLD = ["Waits.hold", "ext_hold", "hold_1", "hold_2", "hold"]
POLL = ["Waits.poll", "ext_poll", "poll_body", "poll_1", "poll_here"]
TRUTH = {
    "holds": HOLD,
    "locks": ["Waits.futex", "ext_futex", "futex_1", "futex_here"],
    "polls": POLL,
    "agains": ["Waits.again", "ext_again", "call_onward", "Waits.onward"] * 3 + ["Waits.again", "ext_again", "hold_1", "hold_2", "hold"],
    "sorts": ["Array#sort", "block in Object#sorts"] + HOLD,
}
OURS = set(sum(TRUTH.values(), ["Waits.contend", "ext_contend", "nothing"])) - {"Array#sort"}


class Program:
    def __init__(self, ctx, *args, ruby=()):
        self.ctx = ctx
        self.p = ctx.program("native_waits.rb", extension(ctx, source=SOURCE), *args, flags=ruby)
        self.p.expect("ready")

    def profile(self, whats, *args, seconds=0.5):
        """The profile while it does these things, and how long it waited in each by its own clock, in us."""
        out = self.ctx.path("out.folded")
        reader, said = watch(self.ctx, self.p.pid, *args, "-o", out)
        waited = {}
        for what in whats:
            self.p.tell("%s %f" % (what, seconds))
            waited[what] = int(self.p.line()) / 1000
        return end(reader, said, out), waited


def below(profile, method):
    """Stacks below a method: lists of labels, and us."""
    return [(s.labels()[s.labels().index(method) + 1:] + ([s.gc] if s.gc else []), s.count)
            for s in profile.stacks if method in s.labels()]


def parts(labels):
    """(functions and methods, state or None) of a stack; those of the VM are left out."""
    for i, label in enumerate(labels):
        if STATE.match(label) or label.startswith("[woken by"):
            return [l for l in labels[:i] if l != "[vm]"], label
    return [l for l in labels if l != "[vm]"], None


def without_qsort(code):
    """The functions of libc's qsort_r() are its own matter."""
    inner = code.index("block in Object#sorts") if "block in Object#sorts" in code else len(code)
    return [l for i, l in enumerate(code) if i > inner or l not in ("qsort_r", "[libc.so.6]")]


def is_right(code, state, truth):
    """Is it on the way to the place where it waits, or in libc's functions from there? A collection, the compiler and the
    dynamic linker are where they are. Where it has a CPU, or could have one, it can be in any function that the VM calls."""
    for i, label in enumerate(code):
        if label.startswith(("[GC", "[ld-linux")) or label == "[YJIT compile]":
            code = code[:i]
            break
    common = 0
    while common < min(len(code), len(truth)) and code[common] == truth[common]:
        common += 1
    if state in (None, "[runnable]"):
        return not OURS.intersection(code[common:])
    return all(label in LIBC for label in code[common:])


def compare(profile, method, truth, waited, least=0.95, near=0.08):
    """All stacks below the method are right, and so long as the program's clock says they are in the function that waits: that
    clock has what the function runs besides."""
    stacks = [(*parts(labels), n) for labels, n in below(profile, method)]
    if method == "Object#sorts":
        stacks = [(without_qsort(code), state, n) for code, state, n in stacks]
    total = sum(n for _, _, n in stacks)
    marked = sum(n for code, _, n in stacks if is_marked(code))
    wrong = [(code, state, n) for code, state, n in stacks if not is_marked(code) and not is_right(code, state, truth)]
    whole = sum(n for code, _, n in stacks if code[:len(truth)] == truth)
    check(total > 100000, "only %d us are below %s", total, method)
    check(not wrong, "%s: %d of %d us are in wrong stacks: %s; the truth is %s", method, sum(s[2] for s in wrong), total,
          wrong and wrong[0], truth)
    check(marked <= 0.005 * total, "%s: %d of %d us are not whole: %s", method, marked, total, [s for s in stacks if is_marked(s[0])][:2])
    check(whole >= least * total, "%s: %d of %d us have all functions: %s", method, whole, total,
          sorted((s for s in stacks if s[0][:len(truth)] != truth), key=lambda s: -s[2])[:2])
    check(abs(whole - waited) <= near * waited, "%s: %d us are in %s, by the program's clock %d", method, whole, truth[-1], waited)
    return "%s %.1f of %.1f ms" % (method, whole / 1000, waited / 1000)


def compare_all(ctx, *args, ruby=(), **limits):
    profile, waited = Program(ctx, ruby=ruby).profile(TRUTH, *args)
    return ", ".join(compare(profile, "Object#" + what, truth, waited[what], **limits) for what, truth in TRUTH.items()) + ", 0 wrong"


@case(timeout=90)
def offcpu(ctx):
    return compare_all(ctx, "-m", "offcpu")


@case(timeout=90)
def offcpu_yjit(ctx):
    return compare_all(ctx, "-m", "offcpu", ruby=YJIT)


@case(timeout=90)
def at_the_end_of_calls(ctx):
    """As kernels before 6.16 do it, and --waker."""
    return compare_all(ctx, "-m", "offcpu", "--waker")


@case(timeout=90)
def wall(ctx):
    """Running and waiting. One stack stands for 1 ms of them: the sum is as near as that."""
    return compare_all(ctx, "-m", "wall", "-F", harness.rate(1000), least=0.9, near=0.1)


@case(timeout=90)
def gvl(ctx):
    """Behind a function that has run without the GVL, the thread waits for it in the function that has called that."""
    profile, waited = Program(ctx).profile(["contends"], "-m", "gvl", seconds=2)
    return compare(profile, "Object#contends", ["Waits.contend", "ext_contend"], waited["contends"], near=0.1) + ", 0 wrong"


@case(timeout=90)
def threads(ctx):
    """A thread of its own, and one of a ractor, which shares native threads with others."""
    profile, waited = Program(ctx).profile(["in_thread", "in_ractor"], "-m", "offcpu", seconds=1)
    return ", ".join(compare(profile, "block in Object#" + what, HOLD, us) for what, us in waited.items()) + ", 0 wrong"


@case(timeout=90)
def fibers(ctx):
    """Two fibers that wait by turns: the functions of one are never below the method of the other."""
    profile, waited = Program(ctx).profile(["switches"], "-m", "offcpu", seconds=1.5)
    told, total = [], 0
    for method, truth, others in (("Object#here", ["Waits.resumes", "ext_resumes", "hold_here"], {"hold_there", "yielder", "ext_yields"}),
                                  ("Object#there", ["Waits.yields", "ext_yields", "hold_there"], {"hold_here", "resumer", "ext_resumes"})):
        stacks = [(parts(labels)[0], n) for labels, n in below(profile, method)]
        wrong = [(code, n) for code, n in stacks if others & set(code)]
        whole = sum(n for code, n in stacks if code[:3] == truth)
        check(not wrong, "%s: %d us are in wrong stacks: %s", method, sum(n for _, n in wrong), wrong and wrong[0])
        told.append("%s %.1f ms" % (truth[-1], whole / 1000))
        total += whole
    check(abs(total - waited["switches"]) <= 0.08 * waited["switches"], "%d us are in the two, by the program's clock %d", total,
          waited["switches"])
    return "%s, together %.1f of %.1f ms, 0 wrong" % (", ".join(told), total / 1000, waited["switches"] / 1000)


@case(timeout=90)
def at_the_end(ctx):
    """The stack of a wait that is not over when the recording ends is read from outside, with its functions. A thread that rests
    is left out with and without them."""
    p = Program(ctx, "rest")
    profile, _ = p.profile(["holds"], "-m", "offcpu", "-t", "--idle")
    rest = [s for s in profile.stacks if s.thread and s.thread[0] == "rest"]
    check(rest and all(is_right(*parts(s.labels()[s.labels().index("Waits.poll"):]), POLL) and
                       set(POLL) <= set(s.labels()) and not is_marked(s.labels()) for s in rest), "the thread that waits all the time: %s",
          [s.text for s in rest])
    shown = []
    for args in ((), ("--native",)):
        r = ctx.extprof("-p", p.p.pid, "-d", "1.5", "-m", "offcpu", "-t", *args, "-o", ctx.path("idle.folded")).ok()
        shown.append({s.thread for s in r.stacks if s.thread})
    check(shown[0] == shown[1], "these threads are shown: %s; with --native: %s", *shown)
    names = {name for name, _ in shown[0]}
    check("rest" in names and "pool" not in names, "the thread of the pool rests, and the other one does not: %s", names)
    return "%s; shown are %s" % (rest[0].labels()[-6:], sorted(names))
