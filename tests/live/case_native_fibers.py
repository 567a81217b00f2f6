"""The function that switches fibers, at each of its instructions.  A debugger steps through it, and so knows what is right: before
the stack pointer is switched, what its caller had in its registers; after that, with what the resumed fiber goes on."""
import shutil
import signal

import harness
import native
from case_native import Truth, is_marked
from case_native_dump import code_of, dump, whole
from harness import Counted, case, check

# Fiber#resume, Fiber.yield, a fiber that is new and one that ends, by turns.
SWITCHES = """
def here(fiber) = fiber.resume
def there = Fiber.yield
fiber = Fiber.new { there while true }
$stdout.puts "ready"
$stdout.flush
while true
  here(fiber)
  here(Fiber.new { 1 })
end
"""
HERE, NEW = "coroutine_transfer", "fiber_entry"
OTHER = "[truncated: the native stack of another fiber]"
NO_RULES = "[truncated: a native function without unwind rules]"

GDB = """
import gdb, sys
gdb.execute("set confirm off")
gdb.execute("set pagination off")
HERE = "coroutine_transfer"

def value(frame, name):
    if name[0] == "v":
        return int(frame.read_register(name)["d"]["u"][0])
    # Of aarch64's return addresses without a signature.
    return int(frame.read_register(name)) & (1 << (48 if name in ("pc", "x30") else 64)) - 1

# Those that a function leaves as they were.
def registers(frame):
    arm = frame.architecture().name() == "aarch64"
    names = ["x%d" % i for i in range(19, 30)] + ["v%d" % i for i in range(8, 16)] if arm else ["rbx", "rbp", "r12", "r13", "r14", "r15"]
    return {n: value(frame, n) for n in ["pc", "sp"] + names}

# Not those of functions that have no frame: inlined, or left by a jump.
def older(frame):
    frame = frame.older()
    while frame and frame.type() != gdb.NORMAL_FRAME:
        frame = frame.older()
    return frame

# By the calling convention: nothing has been done yet.
def at_the_call():
    frame = gdb.newest_frame()
    kept = registers(frame)
    if "x19" in kept:
        kept["pc"] = value(frame, "x30")
    else:
        kept["pc"] = int.from_bytes(bytes(gdb.selected_inferior().read_memory(kept["sp"], 8)), "little")
        kept["sp"] += 8
    return kept

def mark(wrong, offset, found, truth):
    for name in truth:
        if found[name] != truth[name]:
            wrong.append("at +%d: %s is %x, not %x" % (offset, name, found[name], truth[name]))

# Once through it: how many instructions before the switch and after it, to whom it returns, what is wrong.
def step_through():
    before, start, sp = at_the_call(), gdb.newest_frame().pc(), value(gdb.newest_frame(), "sp")
    steps, wrong, returns = [], [], False
    while not returns:
        frame = gdb.newest_frame()
        pc = frame.pc()
        steps.append((pc - start, abs(value(frame, "sp") - sp) > 4096, registers(older(frame))))
        returns = frame.architecture().disassemble(pc)[0]["asm"].startswith("ret")
        gdb.execute("stepi", to_string=True)
    after = registers(gdb.newest_frame())
    for offset, switched, found in steps:
        mark(wrong, offset, found, after if switched else before)
    switched = sum(s for _, s, _ in steps)
    print("STEPS", len(steps) - switched, switched, gdb.newest_frame().name(), "; ".join(wrong), sep="\\t")

# Stands still there when it is let go.
def stop_after(steps):
    start, sp = gdb.newest_frame().pc(), value(gdb.newest_frame(), "sp")
    for _ in range(steps):
        gdb.execute("stepi", to_string=True)
    frame, found = gdb.newest_frame(), []
    print("AT", frame.pc() - start, int(abs(value(frame, "sp") - sp) > 4096), sep="\\t")
    while frame and len(found) < 500:
        found.append("%x:%s" % (frame.pc(), frame.name()))
        try:
            frame = older(frame)
        except gdb.error:
            break
    print("STACK", *found, sep="\\t")
    gdb.execute("queue-signal SIGSTOP")

for line in sys.stdin:
    pid, what, number = line.split()
    gdb.execute("attach " + pid, to_string=True)
    place = gdb.Breakpoint("*" + HERE)
    for i in range(int(number) if what == "through" else 1):
        gdb.execute("continue", to_string=True)
        if what == "through":
            step_through()
    if what == "stop":
        place.enabled = False
        stop_after(int(number))
    place.delete()
    gdb.execute("detach", to_string=True)
    print("END", flush=True)
"""


class Debugger:
    def __init__(self, ctx, pid):
        self.pid = pid
        self.gdb = native.Gdb(ctx, "steps.py", GDB)

    def __call__(self, what, number):
        """[fields of a line]"""
        said = self.gdb.ask("%d %s %d" % (self.pid, what, number))
        return [line.split("\t") for line in said if line.startswith(("STEPS\t", "AT\t", "STACK\t"))]


def switching(ctx, flags=()):
    p = ctx.ruby(*flags, "-e", SWITCHES)
    p.expect("ready")
    return p


@case(timeout=90, bpf=False)
def each_instruction(ctx):
    """The caller and the registers that it keeps, by the rules of the file, which the debugger reads."""
    if not shutil.which("gdb"):
        return Counted(0, 0, 1, "there is no gdb")
    p = switching(ctx)
    said = Debugger(ctx, p.pid)("through", 12)
    check(len(said) == 12, "%s", said)
    for _, before, after, returns, wrong in said:
        check(not wrong, "%s", wrong)
        check(int(before) > 8 and int(after) > 8, "%s instructions before the switch, %s after it", before, after)
    to = [returns for _, _, _, returns, _ in said]
    check(set(to) == {NEW, "fiber_setcontext"}, "it returns to %s", to)
    return "%d switches, %d of them to new fibers, with %d instructions: each is right" % (
        len(to), to.count(NEW), sum(int(b) + int(a) for _, b, a, _, _ in said))


def compare_stop(ctx, debugger, p, steps, told):
    """The process stands still at an instruction of the function; extprof looks at it."""
    (_, offset, switched), (_, *stack) = debugger("stop", steps)
    harness.until(lambda: harness.state(p.pid) == "T", "it has not stopped")
    (d,) = dump(ctx, "-p", p.pid, "-n", "--native-vm")
    program, begin, end_, off = code_of(p.pid)
    p.signal(signal.SIGCONT)
    frames = next(t for t in whole(d)["threads"] if t["tid"] == p.pid)["fibers"][0]["frames"]
    labels = [f["name"] for f in frames]
    theirs = [(int(pc, 16), name) for pc, name in (f.split(":", 1) for f in stack)]
    place = "at +%s, %s the switch: %s; gdb %s" % (offset, "after" if switched == "1" else "before", labels, theirs)
    ours = [(f["address"], f["name"]) for f in frames if f["kind"] == "native" and f.get("module") == program]
    if switched == "1":
        told["after"] += 1
        # The Ruby frames are those of the other fiber still, so they have no functions.  A new fiber has no caller but 0.
        check(not ours and (OTHER in labels or theirs[2:] == [(0, "None")] and is_marked(labels)), "%s", place)
    else:
        told["before"] += 1
        theirs = [(pc - off - (i > 0), name) for i, (pc, name) in enumerate(theirs) if begin <= pc < end_]
        theirs = theirs[:next((i for i, (_, name) in enumerate(theirs) if name == "main"), len(theirs)) + 1]
        check(not is_marked(labels), "%s", place)
        check(ours[0][1] == theirs[0][1] == HERE, "%s", place)
        check([a for a, _ in ours[:len(theirs)]] == [a for a, _ in theirs], "%s", place)
        told["functions"] += len(theirs)


@case(timeout=180, bpf=False)
def each_instruction_of_a_dump(ctx):
    """extprof follows the stack from each instruction before the switch, as the debugger does."""
    if not shutil.which("gdb"):
        return Counted(0, 0, 1, "there is no gdb")
    p = switching(ctx)
    debugger, told = Debugger(ctx, p.pid), dict.fromkeys(("before", "after", "functions"), 0)
    instructions = sum(map(int, debugger("through", 1)[0][1:3]))
    for _ in range(2):
        for steps in range(instructions):
            compare_stop(ctx, debugger, p, steps, told)
    check(told["before"] > instructions // 2 and told["after"] > instructions // 2, "%s", told)
    return "%d instructions: %d stops before the switch, with %d functions, each as by gdb; %d after it" % (
        instructions, told["before"], told["functions"], told["after"])


@case(timeout=90)
def no_stack_ends_there(ctx):
    """Samples of two fibers that do nothing but switch, from C: those in the function are whole, or after the switch of the stack."""
    t = Truth(ctx)
    profile = t.profile("switches", 3, 5000, "--native-vm")
    total = ended = there = 0
    wrong, after = [], 0
    for s in profile.stacks:
        labels = s.labels()
        total += s.count
        ended += s.count * (NO_RULES in labels)
        after += s.count * (OTHER in labels)
        if labels[-1] == HERE and not is_marked(labels):
            there += s.count
            own = [l for l in labels if l in ("Object#here", "resumer", "Object#there", "yielder")]
            wrong += [labels] * (own[-2:] not in (["Object#here", "resumer"], ["Object#there", "yielder"]))
    check(not ended, "%d of %d stacks end in a function without rules", ended, total)
    check(there > total / 1000, "only %d of %d samples are in it", there, total)
    check(not wrong, "%d of %d are below another method: %s", len(wrong), there, wrong[:1])
    return "%d samples: %d in it with whole stacks, %d after the switch, 0 end there" % (total, there, after)
