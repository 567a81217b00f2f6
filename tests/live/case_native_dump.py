"""extprof dump --native: the functions of an extension in each thread's stack, joined with its Ruby frames.  The extension is
stuck, or runs, in functions that are known; a debugger says the same of a process that stands still."""
import os
import random
import shutil
import signal
import subprocess
import time

import harness
import native
from binaries import Binary
from case_dump import Signalled, dump, gcore, threads, traced, whole
from case_errors import NOBODY
from case_graph import YJIT
from case_native import CHAIN, FLAGS, PINGS, SWAPPED, StuckLibrary, extension, is_marked, is_part, names_of
from case_native import Truth as Spinner
from harness import case, check
from ptrace import PTRACE_SEIZE, ptrace

SOURCE = os.path.join(harness.PROGRAMS, "native_stuck.c")
READ = ["Stuck.read", "ext_read", "read_1", "read_2", "read_here"]
PONGS = ["Stuck.ping", "ext_ping", "call_pong", "Stuck.pong"] * 5 + ["Stuck.ping", "ext_ping"]
SPIN = ["spin_1", "spin_2", "spin_here"]
# What the main thread does: all that is below <main>, its system call, and whether it has to be stopped for it.
TRUTH = {
    "reads": (["Object#reads"] + READ, "read", False),
    "framed": (["Object#framed", "Stuck.framed", "ext_framed", "framed"], "read", True),
    "spins": (["Object#spins", "Stuck.spin", "ext_spin"] + SPIN, None, True),
    "pings": (["Object#pings"] + PONGS + READ[2:], "read", False),
    "pings_and_spins": (["Object#pings_and_spins"] + PONGS + SPIN, None, True),
    "sorts": (["Object#sorts", "Stuck.sorted", "ext_sorted", "compare", "block in Object#sorts"] + READ, "read", False),
}
CONDS = ["block in <main>", "Object#conds", "Stuck.cond", "ext_cond", "cond_body", "cond_1", "cond_here"]
SLEEPS = ["block in <main>", "Kernel#sleep"]
CALLS = {"0": "read", "1": "write", "7": "poll", "219": "restart_syscall", "232": "epoll_wait"}


def call_of(pid):
    """The name of the system call that the process's first thread waits in; None: it runs."""
    with open("/proc/%d/syscall" % pid) as f:
        return CALLS.get(f.read().split()[0])


def stuck(ctx, what, ruby=()):
    p = ctx.program("native_stuck.rb", extension(ctx, source=SOURCE), what, flags=ruby)
    p.expect("ready")
    call = TRUTH[what][1] if what in TRUTH else what[:4] if what == "polls" else "epoll_wait"
    harness.until(lambda: is_at(p.pid, what, call), "it is not in %s" % what)
    return p


def is_at(pid, what, call):
    if call:
        return call_of(pid) == call
    # Its threads wait, and it alone uses the CPU: it is in its loop when it has used more than all that came before.
    with open("/proc/%d/task/%d/schedstat" % (pid, pid)) as f:
        begun = PASSED.setdefault(pid, int(f.read().split()[0]))
    with open("/proc/%d/task/%d/schedstat" % (pid, pid)) as f:
        return int(f.read().split()[0]) - begun > 50_000_000


PASSED = {}


def is_libc(frame):
    return os.path.basename(frame.get("module", "")) in ("libc.so.6", "[vdso]")


def functions(thread):
    """Names of the current stack, outermost first, without functions of libc and of the VM."""
    frames = thread["fibers"][0]["frames"]
    return [f["name"] for f in reversed(frames) if not is_libc(f) and f["name"] != "[vm]"]


def check_native(frames):
    for f in frames:
        if f["kind"] == "native" and not f["name"].startswith("["):
            check(f.get("module", "").startswith("/") and f.get("address", 0) > 0, "frame: %s", f)


def check_main(d, what, proofs):
    truth, call, _ = TRUTH[what]
    found = threads(whole(d))
    main = found["main"]
    check(functions(main) == ["<main>"] + truth, "%s: %s, and the truth is %s", what, functions(main), truth)
    check(main["fibers"][0]["proof"] in proofs, "%s: proof %s", what, main["fibers"][0]["proof"])
    check("native_lost" not in main["fibers"][0], "%s: %s", what, main["fibers"][0].get("native_lost"))
    check_native(main["fibers"][0]["frames"])
    check(functions(found["conds"]) == CONDS, "conds: %s", functions(found["conds"]))
    check("pthread_cond_wait" in [f["name"] for f in found["conds"]["fibers"][0]["frames"]], "conds: %s", found["conds"])
    check(functions(found["sleeps"]) == SLEEPS, "sleeps: %s", functions(found["sleeps"]))
    for name in ("conds", "sleeps"):
        check(found[name]["fibers"][0]["proof"] in ("off-cpu",) + proofs, "%s: %s", name, found[name])
    return main


def all_stacks(ctx, ruby=()):
    told = []
    for what, (_, call, stops) in TRUTH.items():
        p = stuck(ctx, what, ruby)
        # A thread that waits is stopped only if rbp is needed.
        (d,) = dump(ctx, "-p", p.pid, "--native")
        check_main(d, what, ("stopped", "off-cpu"))
        told.append("%s %d stopped" % (what, d.get("thread_stops", 0)))
        if not ruby:
            check(bool(d.get("thread_stops", 0)) == stops, "%s: %s stops", what, d.get("thread_stops"))
        (d,) = dump(ctx, "-p", p.pid, "-n", "--reader", "stop")
        check_main(d, what, ("stopped",))
        # The call that it was in goes on.
        if call:
            harness.until(lambda: call_of(p.pid) == call, "it is not in %s any more" % call)
        check(not traced(p.pid), "left: %s", traced(p.pid))
        # The text has the same, and the file of a function.
        text = ctx.extprof("dump", "-p", p.pid, "-n").ok().out
        main = text[text.index("thread main"):].split("\n\n")[0]
        check("    ext_%s  native_stuck.so\n" % TRUTH[what][0][2][4:] in main, "no function of the extension in:\n%s", main)
        p.kill()
    return ", ".join(told) + "; 0 wrong"


@case(timeout=120, bpf=False)
def stacks(ctx):
    return all_stacks(ctx)


@case(timeout=120, bpf=False)
def stacks_yjit(ctx):
    return all_stacks(ctx, YJIT)


@case(timeout=60, bpf=False)
def not_ended_by_a_stop(ctx):
    """A call that a stop would end: the thread is not stopped, and its stack says what is missing.  The call goes on."""
    p = stuck(ctx, "epolls")
    for d in dump(ctx, "-p", p.pid, "-n", "--interval", "1ms", "--count", 20):
        main = threads(whole(d))["main"]
        names = functions(main)
        check("thread_stops" not in d, "it was stopped: %s", d.get("thread_stops"))
        check(names[:3] == ["<main>", "Object#epolls", "Stuck.epoll"] and names[-1] == "epoll_framed" and
              "[truncated: a native function's frame pointer is lost]" in names, "main: %s", names)
    check(call_of(p.pid) == "epoll_wait", "its call has ended")
    return "20 dumps, 0 stops"


@case(timeout=60, bpf=False)
def not_cut_short_by_a_stop(ctx):
    """A write that has moved a part of its bytes would return after a stop: the thread is not stopped, and all is written."""
    fifo = ctx.path("fifo")
    os.mkfifo(fifo)
    end = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    p = ctx.program("native_stuck.rb", extension(ctx, source=SOURCE), "writes", fifo)
    p.expect("ready")
    harness.until(lambda: call_of(p.pid) == "write", "it does not write")
    for d in dump(ctx, "-p", p.pid, "-n", "--interval", "1ms", "--count", 20):
        names = functions(threads(whole(d))["main"])
        check("thread_stops" not in d, "it was stopped: %s", d.get("thread_stops"))
        check(names[:3] == ["<main>", "Object#writes", "Stuck.written"] and names[-1] == "written" and
              "[truncated: a native function's frame pointer is lost]" in names, "main: %s", names)
    check(call_of(p.pid) == "write", "its call has ended")
    os.set_blocking(end, True)
    left = 1 << 20
    while left:
        piece = os.read(end, left)
        check(piece, "%d bytes are missing", left)
        left -= len(piece)
    p.expect("written")
    os.close(end)
    return "20 dumps, 0 stops"


@case(timeout=60, bpf=False)
def waits_with_a_limit(ctx):
    """A wait with a limit goes on after a stop as another call: the next dump stops it again, and says which one it was."""
    p = stuck(ctx, "polls")
    for n in range(3):
        (d,) = dump(ctx, "-p", p.pid, "-n")
        main = threads(whole(d))["main"]
        check(functions(main) == ["<main>", "Object#polls", "Stuck.polled", "ext_polled", "polled"], "main: %s", functions(main))
        check(d.get("thread_stops") == 1, "%s stops", d.get("thread_stops"))
        check(main["call"]["name"] == "poll" and main["call"]["fd"] >= 0, "call: %s", main["call"])
        harness.until(lambda: call_of(p.pid) == "restart_syscall", "it is in %s" % call_of(p.pid))
    return "3 stops"


@case(timeout=60, bpf=False)
def waits_of_ruby_with_a_limit(ctx):
    """The same of Ruby's own waits, after all threads were stopped."""
    ruby = ctx.ruby("-e", """
def named(name, &block) = Thread.new { Thread.current.name = name; block.call }
r, = IO.pipe
sleeper = named("sleep") { sleep 1000 }
list = [sleeper, named("join") { sleeper.join(1000) }, named("select") { IO.select([r], nil, nil, 1000) },
        named("queue") { Queue.new.pop(timeout: 1000) }]
Thread.pass until list.all?(&:stop?)
sleep 0.2
$stdout.puts "ready"; $stdout.flush
sleep 1000""")
    ruby.expect("ready")

    def look():
        (d,) = dump(ctx, "-p", ruby.pid)
        return {n: (t["call"]["name"], t["call"].get("fd"), t["wait"]["kind"], t["wait"].get("limit")) for n, t in threads(whole(d)).items()}

    before = look()
    check(before["join"][3] == "time", "join: %s", before)
    for _ in range(2):
        dump(ctx, "-p", ruby.pid, "--reader", "stop")
        harness.until(lambda: call_in(ruby.pid) == 219, "it goes on as it was")
        after = look()
        check(after == before, "before: %s, after: %s", before, after)
    return str({n: w[0] for n, w in after.items()})


def call_in(pid):
    with open("/proc/%d/syscall" % pid) as f:
        word = f.read().split()[0]
    return int(word) if word != "running" else None


@case(timeout=60, bpf=False)
def plain_dumps_have_none(ctx):
    p = stuck(ctx, "reads")
    (d,) = dump(ctx, "-p", p.pid)
    check(functions(threads(whole(d))["main"]) == ["<main>", "Object#reads", "Stuck.read"], "main: %s", d)


DESCRIBED = """
def described(frame, exact):
    if frame.type() == gdb.NORMAL_FRAME:  # the others are of functions that have no frame: inlined, or left by a jump
        return "%x:%s" % (frame.pc(), gdb.solib_name(frame.pc()) or "")
"""


def bases(pid):
    """{path of a file: where its beginning is mapped}"""
    found = {}
    with open("/proc/%d/maps" % pid) as f:
        for line in f:
            parts = line.split()
            if len(parts) > 5 and int(parts[2], 16) == 0:
                found.setdefault(parts[5], int(parts[0].split("-")[0], 16))
    return found


def code_of(pid):
    """(path, begin, end, what is to be taken off an address) of the program's own code"""
    path = os.path.realpath("/proc/%d/exe" % pid)
    with open(path, "rb") as f:
        placed = f.read(17)[16] == 2  # ET_EXEC: addresses are as in the file
    with open("/proc/%d/maps" % pid) as f:
        ranges = [[int(x, 16) for x in line.split()[0].split("-")] for line in f if line.split()[5:] == [path]]
    return path, min(r[0] for r in ranges), max(r[1] for r in ranges), 0 if placed else min(r[0] for r in ranges)


def by_gdb(debugger, pid, program=False):
    """{tid: [(file, address in it)]} of all frames in libraries, innermost first, up to those that called the VM at first. With
    `program` of all frames that are in a file, up to main()."""
    said = debugger.stacks(pid)
    base, own = bases(pid), code_of(pid) if program else None
    stacks = {}
    for tid, frames in said:
        pairs = [f.split(":", 1) for f in frames]
        list_ = []
        last_vm = len(pairs) if program else max([i for i, (_, path) in enumerate(pairs) if not path], default=0)
        for i, (pc, path) in enumerate(pairs[:last_vm]):
            path = os.path.realpath(path) if path else ""
            if program and not path and own[1] <= int(pc, 16) < own[2]:
                list_.append((os.path.basename(own[0]), int(pc, 16) - own[3] - (i > 0)))
            elif path in base and os.path.basename(path) != "[vdso]":
                list_.append((os.path.basename(path), int(pc, 16) - base[path] - (i > 0)))
        stacks[tid] = list_
    return stacks


def by_extprof(d):
    """The same of a dump."""
    return {t["tid"]: [(os.path.basename(f["module"]), f["address"]) for f in t["fibers"][0]["frames"]
                       if f["kind"] == "native" and f.get("module", "").startswith("/")] for t in d["threads"]}


# In the function by which the loader finds another one, at its first call.
OTHER_RULES = "[truncated: a native function with other unwind rules]"


def in_the_loader(d, tid, ours):
    frames = next(t for t in d["threads"] if t["tid"] == tid)["fibers"][0]["frames"]
    return any(f["name"] == OTHER_RULES for f in frames) and all(module.startswith("ld-linux") for module, _ in ours)


def is_left_out(d, tid):
    """extprof has had no time for the functions of that thread, and says so."""
    frames = next(t for t in d["threads"] if t["tid"] == tid)["fibers"][0]["frames"]
    return any("left out" in f["name"] for f in frames)


def compare_with_gdb(ctx, debugger, p, rounds):
    compared = frames = left_out = 0
    for _ in range(rounds):
        p.signal(signal.SIGSTOP)
        harness.until(lambda: harness.state(p.pid) == "T", "it has not stopped")
        (d,) = dump(ctx, "-p", p.pid, "-n")
        said = by_gdb(debugger, p.pid)
        p.signal(signal.SIGCONT)
        for tid, ours in by_extprof(whole(d)).items():
            theirs = said.get(tid)
            if is_left_out(d, tid):
                left_out += 1
                continue
            theirs = theirs[:len(ours)] if theirs and in_the_loader(d, tid, ours) else theirs
            check(ours == theirs, "thread %d: extprof %s, gdb %s: %s", tid, ours, theirs, d["threads"])
            compared += 1
            frames += len(ours)
    check(frames > compared and compared >= 3 * left_out, "only %d native functions in %d stacks, %d have none", frames, compared, left_out)
    return "%d stacks with %d functions of libraries, each as by gdb, %d without" % (compared, frames, left_out)


@case(timeout=360, bpf=False, patient=True)
def same_as_gdb(ctx):
    """The process stands still: a debugger and extprof look at the same stacks."""
    if not shutil.which("gdb"):
        return harness.Counted(0, 0, 1, "there is no gdb")
    told, debugger = [], native.GdbStacks(ctx, DESCRIBED, 400)
    for ruby in ((), YJIT):
        p = Spinner(ctx, ruby=ruby).p
        p.tell("pings 600")
        told.append(compare_with_gdb(ctx, debugger, p, 24))
        p.kill()
        for what in ("reads", "sorts"):
            p = stuck(ctx, what, ruby)
            told.append(compare_with_gdb(ctx, debugger, p, 2))
            p.kill()
    return "; ".join(told)


@case(timeout=120, bpf=False, patient=True)
def all_functions_as_gdb(ctx):
    """With --native-vm: also each function of the VM, in their order, as a debugger sees the stack of a process that stands still."""
    if not shutil.which("gdb"):
        return harness.Counted(0, 0, 1, "there is no gdb")
    p = Spinner(ctx, ruby=()).p
    p.tell("pings 600")
    compared = frames = of_vm = 0
    debugger = native.GdbStacks(ctx, DESCRIBED, 400)
    for _ in range(12):
        time.sleep(0.05)
        p.signal(signal.SIGSTOP)
        harness.until(lambda: harness.state(p.pid) == "T", "it has not stopped")
        (d,) = dump(ctx, "-p", p.pid, "-n", "--native-vm")
        said = by_gdb(debugger, p.pid, program=True)
        p.signal(signal.SIGCONT)
        for tid, ours in by_extprof(whole(d)).items():
            theirs = said.get(tid) or []
            if not any(name == "ruby" for name, _ in ours):
                continue
            n = min(len(ours), len(theirs))
            # The debugger ends at main(), and extprof at what called it.
            check(ours[:n] == theirs[:n] and len(theirs) >= len(ours) - 3, "thread %d: extprof %s, gdb %s", tid, ours, theirs)
            compared += 1
            frames += n
            of_vm += sum(name == "ruby" for name, _ in ours[:n])
        names = functions({"fibers": [threads(whole(d))["main"]["fibers"][0]]})
        check("vm_exec" in " ".join(names) and names.index("main") < names.index("<main>"), "%s", names)
    check(compared >= 12 and of_vm > 20 * compared, "%d stacks, %d functions, %d of the VM", compared, frames, of_vm)
    return "%d stacks with %d functions, %d of them the VM's, each as by gdb" % (compared, frames, of_vm)


def spinning(ctx, what, truth, count, args, ruby=()):
    p = Spinner(ctx, ruby=ruby).p
    p.tell("%s 600" % what)
    marked, full, lost, stops, wrong = 0, 0, 0, [], []
    for d in dump(ctx, "-p", p.pid, "-n", "--interval", "5ms", "--count", count, *args, timeout=90):
        fiber = threads(whole(d))["main"]["fibers"][0]
        names = functions({"fibers": [fiber]})
        stops.append(d.get("longest_thread_stop_ns", 0))
        lost += "native_lost" in fiber
        if "Object#" + what not in names or "native_lost" in fiber:
            continue
        names = names[names.index("Object#" + what) + 1:]
        if any("[truncated:" in n or "left out]" in n for n in names):
            marked += 1
        elif not is_part(names, truth):
            wrong.append(names)
        full += names == truth
    check(not wrong, "%d of %d are wrong: %s", len(wrong), count, wrong[:2])
    check(full > 0.8 * count, "%d of %d have all functions, %d are marked", full, count, marked)
    check(lost + marked <= 0.01 * count, "%d of %d without native functions, %d marked", lost, count, marked)
    check(not traced(p.pid), "left: %s", traced(p.pid))
    p.kill()
    stops.sort()
    return "%s: %d dumps, 0 wrong, %d with all functions, %d marked%s" % (
        what, count, full, marked, "; stopped for %.0f us (median), %.0f (99 %%)" % (stops[count // 2] / 1e3, stops[count * 99 // 100] / 1e3)
        if stops[-1] else "")


@case(timeout=120, bpf=False)
def of_a_spinning_program(ctx):
    return ", ".join(spinning(ctx, what, truth, 400, args) for what, truth, args in (
        ("pings", PINGS, ()), ("pings", PINGS, ("--reader", "stop")), ("chain", CHAIN, ())))


@case(timeout=120, bpf=False)
def of_a_spinning_program_yjit(ctx):
    return spinning(ctx, "pings", PINGS, 400, (), YJIT)


@case(timeout=120, bpf=False)
def libraries_at_one_place(ctx):
    """Two libraries by turns at one place: the functions of one are never below the method that calls the other."""
    paths = [ctx.path("liba.so"), ctx.path("libb.so")]
    for path, flags in zip(paths, ([], ["-DSECOND"])):
        native.run(native.tool("CC"), *FLAGS, *flags, "-o", path, SWAPPED)
    p = ctx.program("library_swap.rb", *paths)
    p.expect("ready")
    p.tell("swap 60 0.004")
    seen, whole_, lost = 0, 0, 0
    for d in dump(ctx, "-p", p.pid, "-n", "--interval", "3ms", "--count", 600):
        main = threads(whole(d))["main"]
        names = functions(main)
        if "native_lost" in main["fibers"][0]:
            check(main["fibers"][0]["native_lost"] == "code was mapped while it was read", "lost: %s", main)
            lost += 1
            continue
        for method, prefix in (("Object#in_a", "a_"), ("Object#in_b", "b_")):
            if method not in names or "Fiddle::Function#call" not in names:
                continue
            truth = ["entry", prefix + "outer", prefix + "inner", prefix + "burn"]
            found = names_of(names)
            check(found in ([truth[i:] for i in range(5)] if is_marked(names) else [truth[:i] for i in range(5)]), "%s: %s", method, names)
            seen += 1
            whole_ += found == truth
    check(seen > 100 and whole_ > 50 and lost > 0, "%d in the libraries, %d whole, %d lost", seen, whole_, lost)
    return "%d in the libraries, %d with all functions, 0 wrong; %d left out since a library was loaded" % (seen, whole_, lost)


@case(timeout=120, bpf=False)
def fibers(ctx):
    """Two fibers that switch all the time, each from C: the functions of one are never below the method of the other."""
    p = Spinner(ctx).p
    p.tell("switches 600")
    found = {"resumer": 0, "yielder": 0}
    for d in dump(ctx, "-p", p.pid, "-n", "--interval", "2ms", "--count", 500):
        for f in threads(whole(d))["main"]["fibers"]:
            names = functions({"fibers": [f]})
            for method, own, other in (("Object#here", "resumer", {"yielder", "ext_yields"}), ("Object#there", "yielder", {"resumer", "ext_resumes"})):
                if method in names:
                    check(not other & set(names), "%s: %s", method, names)
                    found[own] += own in names
    check(min(found.values()) > 20, "found: %s", found)
    return "%s, 0 wrong" % found


@case(timeout=60, bpf=False)
def ractors(ctx):
    """Threads that share native threads: one that runs has native functions, one that waits without a native thread says so."""
    ruby = ctx.ruby("-e", """
waiting = Ractor.new { Ractor.receive }
busy = Ractor.new { loop { [3, 1, 2].sort { |a, b| i = 0; i += 1 while i < 1_000_000; a <=> b } } }
sleep 0.2
$stdout.puts "ready"; $stdout.flush
sleep""")
    ruby.expect("ready")
    sorts = 0
    for d in dump(ctx, "-p", ruby.pid, "-n", "--interval", "1ms", "--count", 50):
        by_ractor = {t["ractor"]: t["fibers"][0] for t in whole(d)["threads"] if t["main"]}
        check(by_ractor[2].get("native_lost") == "the thread has no native thread now", "waiting: %s", by_ractor[2])
        names = [f["name"] for f in by_ractor[3]["frames"]]
        if "block (3 levels) in <main>" in names and "qsort_r" in names:
            check(names.index("block (3 levels) in <main>") < names.index("qsort_r") < names.index("Array#sort"), "busy: %s", names)
            sorts += 1
    check(sorts > 25, "%d of 50 are in the block", sorts)
    text = ctx.extprof("dump", "-p", ruby.pid, "-n").ok().out
    check("    [native functions left out: the thread has no native thread now]\n" in text, "text:\n%s", text)
    return "%d of 50 in a block below qsort_r" % sorts


@case(timeout=90, bpf=False)
def signals_are_not_lost(ctx):
    """A running thread that gets signals all the time is stopped 500 times."""
    stops = []
    with Signalled(ctx) as ruby:
        for d in dump(ctx, "-p", ruby.pid, "-n", "--interval", "1ms", "--count", 500):
            stops.append(whole(d).get("longest_thread_stop_ns", 0) / 1e6)
    stops = sorted(s for s in stops if s)
    check(len(stops) > 400, "%d of 500 were stopped", len(stops))
    return "%d signals during %d stops of %.2f ms (median), %.2f (99 %%), %.2f (longest)" % (
        ruby.count, len(stops), stops[len(stops) // 2], stops[len(stops) * 99 // 100], stops[-1])


@case(timeout=90, bpf=False)
def killed_while_it_stops(ctx):
    """After SIGKILL at any moment nothing stays stopped."""
    p = Spinner(ctx).p
    p.tell("pings 600")
    caught = 0
    for _ in range(30):
        reader = ctx.extprof_start("dump", "--json", "-p", p.pid, "-n", "--interval", "1ms", stdout=subprocess.DEVNULL)
        time.sleep(0.05 + random.random() / 50)
        for _ in range(200):
            if traced(p.pid):
                caught += 1
                break
        reader.signal(signal.SIGKILL)
        reader.wait()
        check(not traced(p.pid), "left: %s", traced(p.pid))
    check(caught, "it was never seen stopped")
    return "30 kills, %d of them while it was traced" % caught


@case(timeout=60, bpf=False)
def a_debugger_is_there(ctx):
    """The thread runs and has a debugger: its Ruby frames are shown, and why there are no others."""
    p = stuck(ctx, "spins")
    # A debugger that lets it run: gdb would stop it at first.
    ptrace(PTRACE_SEIZE, p.pid)
    (d,) = dump(ctx, "-p", p.pid, "-n")
    fiber = threads(whole(d))["main"]["fibers"][0]
    check(fiber.get("native_lost") == "the thread runs, and a debugger has it" and functions({"fibers": [fiber]}) ==
          ["<main>", "Object#spins", "Stuck.spin"], "main: %s", fiber)
    # One that waits needs no stop.
    check(functions(threads(d)["conds"]) == CONDS, "conds: %s", threads(d)["conds"])
    return "its Ruby frames and the reason"


@case(timeout=60, bpf=False)
def own_user_suffices(ctx):
    """A user dumps a program of their own."""
    if os.getuid():
        return harness.Counted(0, 0, 1, "needs root, to become another user")
    extension_ = extension(ctx, source=SOURCE)
    for path in (ctx.directory, extension_):
        os.chmod(path, 0o755)
    p = ctx.program("native_stuck.rb", extension_, "spins", user=NOBODY, group=NOBODY, extra_groups=[])
    p.expect("ready")
    harness.until(lambda: is_at(p.pid, "spins", None), "it does not spin")
    (d,) = dump(ctx, "-p", p.pid, "-n", user=NOBODY, group=NOBODY, extra_groups=[])
    check_main(d, "spins", ("stopped",))


@case(timeout=60, bpf=False)
def many_that_run(ctx):
    """40 threads that want the CPU at once, without the GVL: each is right, or says why it was not stopped, in bounded time."""
    p = ctx.program("native_stuck.rb", extension(ctx, source=SOURCE), "many")
    p.expect("ready")
    p.expect("many")
    begin = time.monotonic()
    (d,) = dump(ctx, "-p", p.pid, "-n")
    took = time.monotonic() - begin
    found = [t for t in whole(d)["threads"] if t.get("name") == "spins"]
    check(len(found) == 40, "%d threads", len(found))
    lost = [t["fibers"][0]["native_lost"] for t in found if "native_lost" in t["fibers"][0]]
    # A thread that gets no CPU for 0.2 s does not stop: 40 want two CPUs.
    check(set(lost) <= {"other threads took the time", "the thread does not stop now"}, "lost: %s", lost)
    for t in found:
        if "native_lost" not in t["fibers"][0]:
            check(functions(t) == ["block (2 levels) in Object#many", "Stuck.spin_without", "ext_spin_without", "spin_body"] + SPIN,
                  "%s", functions(t))
    # How many get a CPU in time is for the scheduler; that time is 5 s.
    check("other threads took the time" not in lost or took >= 5, "given up after %.1f s", took)
    check(len(lost) < 40 and took < 10 * harness.PATIENCE, "%d lost, %.1f s", len(lost), took)
    harness.until(lambda: not traced(p.pid), "threads stay stopped")
    return "%.2f s, %d stops of %.2f ms at most, %d without native functions" % (
        took, d.get("thread_stops", 0), d.get("longest_thread_stop_ns", 0) / 1e6, len(lost))


@case(timeout=120, bpf=False)
def file_that_does_not_answer(ctx):
    """A library on a file system that does not answer costs its own rules and names, and the dump ends in time."""
    with StuckLibrary(ctx, 20) as stuck:
        if not stuck.program:
            return "not tested: " + stuck.said
        began = time.monotonic()
        (d,) = dump(ctx, "-p", stuck.program.pid, "-n")
        took = time.monotonic() - began
    names = functions(threads(whole(d))["main"])
    check("Object#hold" in names and not names_of(names), "main: %s", names)
    check(took < 10 * harness.PATIENCE, "it took %.1f s", took)
    return "after %.1f s: %s" % (took, names[-2:])


def of_core(ctx, core, *args):
    """The dump of a core file with native functions."""
    (d,) = dump(ctx, "--core", core, "-n", *args)
    return whole(d)


@case(timeout=180, bpf=False, patient=True)
def core_by_gcore(ctx):
    """A core file has the same functions at the same addresses as the process had."""
    if not shutil.which("gcore"):
        return harness.Counted(0, 0, 1, "there is no gcore")
    functions_ = 0
    for ruby in ((), YJIT):
        for what in ("sorts", "framed", "pings_and_spins"):
            p = stuck(ctx, what, ruby)
            (live,) = dump(ctx, "-p", p.pid, "-n")
            core = gcore(ctx, p.pid)
            d = of_core(ctx, core)
            check_main(d, what, ("core",))
            for name in ("main", "conds", "sleeps"):
                ours, lives = (by_extprof({"threads": [threads(x)[name]]}).popitem()[1] for x in (d, live))
                # One that runs is at another instruction of its loop.
                spins = name == "main" and what == "pings_and_spins"
                check(ours[spins:] == lives[spins:], "%s: %s, not %s", name, ours, lives)
                functions_ += len(ours)
            p.kill()
            os.unlink(core)
    return "6 core files, %d functions at the same addresses" % functions_


@case(timeout=120, bpf=False)
def core_by_the_kernel(ctx):
    """A process that crashes."""
    with open("/proc/sys/kernel/core_pattern") as f:
        pattern = f.read().strip()
    if pattern.startswith("|") or "/" in pattern:
        return harness.Counted(0, 0, 1, "core files go to %s here" % pattern)
    import resource
    unlimited = lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    p = ctx.program("native_stuck.rb", extension(ctx, source=SOURCE), "sorts", cwd=ctx.directory, preexec_fn=unlimited)
    p.expect("ready")
    harness.until(lambda: is_at(p.pid, "sorts", "read"), "it does not read")
    p.signal(signal.SIGTRAP)
    p.wait(60)
    (core,) = [ctx.path(f) for f in os.listdir(ctx.directory) if f.startswith("core")]
    check_main(of_core(ctx, core), "sorts", ("core",))
    os.unlink(core)


@case(timeout=120, bpf=False)
def core_with_other_files(ctx):
    """A library that is not there any more, or is another one now, has no functions: none are made up."""
    if not shutil.which("gcore"):
        return harness.Counted(0, 0, 1, "there is no gcore")
    p = stuck(ctx, "reads")
    core = gcore(ctx, p.pid)
    p.kill()
    library = ctx.path("native_stuck.so")
    for change in ("gone", "another"):
        if change == "gone":
            os.unlink(library)
        else:
            native.run(native.tool("CC"), *FLAGS, "-o", library, SWAPPED)
        names = functions(threads(of_core(ctx, core))["main"])
        check(names[:3] == ["<main>", "Object#reads", "Stuck.read"] and names[3:] == [
              "[truncated: a native function without unwind rules]", "[native code in no file]"], "%s: %s", change, names)
    os.unlink(core)
    return "gone, and another one"


@case(timeout=120, bpf=False)
def core_with_a_named_program(ctx):
    """Where the program is not at its place any more: without it the last functions are there, with --exe all."""
    if not shutil.which("gcore"):
        return harness.Counted(0, 0, 1, "there is no gcore")
    binary = Binary(ctx)
    p = ctx.start([binary.ruby, "--disable=gems", "-W0", os.path.join(harness.PROGRAMS, "native_stuck.rb"),
                   extension(ctx, source=SOURCE), "sorts"], env=binary.env)
    p.expect("ready")
    harness.until(lambda: is_at(p.pid, "sorts", "read"), "it does not read")
    core = gcore(ctx, p.pid)
    p.kill()
    moved = ctx.path("moved")
    os.rename(binary.changed, moved)
    names = functions(threads(of_core(ctx, core))["main"])
    ruby = ["<main>", "Object#sorts", "Stuck.sorted", "block in Object#sorts", "Stuck.read"]
    check(names[:5] == ruby and any("[truncated:" in n for n in names) and names[-4:] == READ[1:], "without: %s", names)
    check_main(of_core(ctx, core, "--exe", moved), "sorts", ("core",))
    os.unlink(core)
