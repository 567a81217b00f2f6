"""--native at 10 kHz, of a program that runs all functions of native_truth.c by turns: each stack is in the order of its calls, and
nearly all are whole.  By hand with a million samples:

    EXTPROF_TESTS_NATIVE_SAMPLES=1000000 tests/live/run native_truth-every-function

And beside a debugger, at moments of chance, and beside perf, for so many seconds of CPU time:

    EXTPROF_TESTS_STOPS=400 tests/live/run native_truth-stops-as-gdb
    EXTPROF_TESTS_PERF_SECONDS=40 tests/live/run native_truth-shares-as-perf
"""
import os
import random
import re
import shutil
import signal
import subprocess
import time

import harness
import native
from case_graph import YJIT
from case_native import CHAIN, PINGS, Truth, end, is_marked, watch
from case_native_dump import bases, code_of, dump, whole
from harness import Counted, case, check

PERF_SECONDS = float(os.environ.get("EXTPROF_TESTS_PERF_SECONDS", "4"))
STOPS = int(os.environ.get("EXTPROF_TESTS_STOPS", "20"))
SAMPLES = int(os.environ.get("EXTPROF_TESTS_NATIVE_SAMPLES", "12000"))
RATE = 10000
# One function of libc or of libffi, or several: most have no name.
LIBRARY = None
JUMPS = ["Truth.jumps", "ext_jumps"]
NOGVL = ["Truth.nogvl", "ext_nogvl", "without"]
SORTS = ["Truth.sorted", "ext_sorted", LIBRARY, "compare", "block in Object#sorts"]
# Below each Ruby method: the ways that a stack can go.
WAYS = {
    "Object#chain": [CHAIN],
    "Object#shares": [["Truth.shares", "ext_shares", f, "burn"] for f in ("heavy", "light")],
    "Object#pings": [PINGS],
    "Object#direct": [["Truth.direct", "ext_direct"] + CHAIN],
    "Object#sorts": [SORTS + CHAIN, SORTS + ["Integer#<=>"]],
    "Object#jumps": [JUMPS + ["ensured", "raises", "burn"], JUMPS + ["ensured", "cleanup", "burn"], JUMPS + ["after_jump", "burn"]],
    "Object#frames": [["Truth.frames", "ext_frames", "variable", "aligned", "burn"]],
    "Object#signals": [["Truth.signal", "ext_signal", "interrupted", LIBRARY, "handler", "burn"], ["Truth.signal", "ext_signal", LIBRARY]],
    "Object#here": [["Truth.resumes", "ext_resumes", "resumer"]],
    "Object#there": [["Truth.yields", "ext_yields", "yielder"]],
    "block (2 levels) in Object#in_ractor": [CHAIN],
    "Object#blocks": [["Truth.blocks", "ext_blocks", "Truth.each", "[block in C]", "in_block", "burn"]],
    "Object#nogvls": [NOGVL + ["burn"], NOGVL + ["again"] + CHAIN],
    "Object#foreigns": [["Truth.foreign", "ext_foreign", "joins", LIBRARY]],
    "Object#closures": [["Truth.closure", "ext_closure", LIBRARY, "callback", "with_gvl_callback", "Closure#call"] + CHAIN,
                        ["Fiddle::Closure#to_i", "to_i"]],
    "[thread of C]": [[LIBRARY, "foreign", "burn"]],
}
OWN = re.compile(r"ext_|chain_\d|(heavy|light|burn|call_pong|compare|raises|cleanup|ensured|after_jump|aligned|variable|handler|interrupted"
                 r"|resumer|yielder|in_block|again|without|foreign|joins|callback|with_gvl_callback)$")


def names_of_libraries():
    """What extprof shows for functions of libc, of the loader and of libffi."""
    found = {"[vdso]", "clock_gettime"}
    with open("/proc/self/maps") as f:
        libc = next(line.split()[5] for line in f if os.path.basename(line.rstrip()).startswith("libc.so"))
    folder = os.path.dirname(libc)
    for name in os.listdir(folder):
        if name.startswith(("libc.so", "ld-linux", "libffi.so", "libm.so")):
            found.add("[%s]" % name)
            said = subprocess.run(["nm", "-D", os.path.join(folder, name)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            found |= {line.split()[-1].split("@")[0] for line in said.splitlines() if line.split()[-2] in "tTwWiI"}
    return found - {"signal"}


class Judge:
    """Whether a stack is one that the program can have had, and how many were."""

    def __init__(self):
        self.libraries = names_of_libraries()
        self.rows = {}  # of each method: samples, whole, wrong, by reason of what is not whole
        self.wrong, self.full = [], 0

    def add(self, stack):
        labels = stack.labels() + ([stack.gc] if stack.gc else [])
        at = max((i for i, l in enumerate(labels) if l in WAYS), default=None)
        # chain is called by others, too.
        if at is not None and labels[at] == "Object#chain" and "Object#in_thread" in " ".join(labels[:at]):
            method = "a thread of Ruby"
        else:
            method = labels[at] if at is not None else "[thread of C]" if "foreign" in labels else "around"
        row = self.rows.setdefault(method, {"samples": 0, "whole": 0, "wrong": 0, "full": 0})
        row["samples"] += stack.count
        below = labels[at + 1:] if at is not None else labels
        ways = WAYS[labels[at]] if at is not None else WAYS.get(method)
        if is_marked(labels):
            right = self.add_marked(row, stack, labels, below, ways)
        else:
            row["whole"] += stack.count
            if ways:
                found = {self.reaches(self.cut(below, ways), way) for way in ways}
                right = found != {None}
                row["full"] += stack.count * ("full" in found)
            else:
                right = not any(OWN.match(l) for l in labels)
        if not right:
            self.add_wrong(row, stack, labels)

    def add_marked(self, row, stack, labels, below, ways):
        """Count why it is not whole.  Is what there is in order?"""
        reason = next(l for l in labels if "[truncated:" in l or "left out]" in l)
        row[reason] = row.get(reason, 0) + stack.count
        return not ways or any(self.is_in_order(below, way) for way in ways)

    def add_wrong(self, row, stack, labels):
        row["wrong"] += stack.count
        self.wrong.append((labels, stack.count))

    def cut(self, labels, ways):
        """Without what the VM and the libraries do by themselves at the end of a stack: that is where it is."""
        known = {l for way in ways for l in way}
        for i, label in enumerate(labels):
            by_itself = label == "[vm]" and i + 1 < len(labels) and labels[i + 1] not in known
            if label.startswith(("[GC", "[ld-linux")) or label == "[YJIT compile]" or by_itself:
                labels = labels[:i]
                break
        labels = [l for l in labels if l != "[vm]"]
        # The entry by which a function calls one of another library has no name.
        if labels and labels[-1] in ("[native_truth.so]", "[fiddle.so]"):
            labels = labels[:-1]
        return labels

    def reaches(self, labels, way):
        """"full", "part", or None: it does not go this way."""
        i = 0
        for step in way:
            if i == len(labels):
                return "part"
            if step is LIBRARY and labels[i] in self.libraries:
                while i < len(labels) and labels[i] in self.libraries:
                    i += 1
            elif step is not LIBRARY and labels[i] == step:
                i += 1
            else:
                return "part" if all(l in self.libraries for l in labels[i:]) else None
        return "full" if i == len(labels) else "part" if all(l in self.libraries for l in labels[i:]) else None

    def is_in_order(self, labels, way):
        """Of a stack with a part left out: what is there is there in the order of the calls."""
        rest = iter([s for s in way if s is not LIBRARY])
        return all(l in rest for l in labels if l in way or OWN.match(l))

    def table(self):
        lines = ["%-40s %8s %8s %6s %8s" % ("method", "samples", "whole", "wrong", "whole %")]
        for method, row in sorted(self.rows.items()):
            lines.append("%-40s %8d %8d %6d %8.2f" % (method, row["samples"], row["whole"], row["wrong"], 100 * row["whole"] / row["samples"]))
            lines += ["    %8d %s" % (n, reason) for reason, n in row.items() if reason.startswith("[")]
        return "\n".join(lines)

    def sum(self, what, methods=None):
        return sum(row[what] for method, row in self.rows.items() if not methods or method in methods)


def recorded(ctx, judge, samples, flags, ruby):
    t = Truth(ctx, *flags, ruby=ruby)
    t.p.tell("closure_of_chain 0.001")
    t.p.line()
    out = ctx.path("out.folded")
    reader, said = watch(ctx, t.p.pid, "-F", harness.rate(RATE), "-o", out)
    # A sample stands for 0.1 ms of CPU time.
    clock = harness.cpu_clock(t.p.pid)
    until = time.clock_gettime(clock) + 1.03 * samples / RATE
    while time.clock_gettime(clock) < until:
        t.p.tell("all 1")
        t.p.line()
    profile = end(reader, said, out)
    for stack in profile.stacks:
        judge.add(stack)
    t.p.kill()
    return profile


SWITCHES = ("Object#here", "Object#there")


@case(timeout=90 + SAMPLES // 500)
def every_function(ctx):
    """0 wrong orders, and 99.5 % whole.  A fiber switches its stack before its Ruby frames, so of those that do nothing else fewer are."""
    judge = Judge()
    variants = (((), ()), ((), YJIT), (("-fcf-protection=full",), ()), (("-O1", "-fno-omit-frame-pointer"), YJIT))
    if SAMPLES < 100000:
        variants = variants[1:3]
    for flags, ruby in variants:
        recorded(ctx, judge, SAMPLES / len(variants), flags, ruby)
    total, whole = judge.sum("samples"), judge.sum("whole")
    switching, whole_switching = judge.sum("samples", SWITCHES), judge.sum("whole", SWITCHES)
    folder = os.path.join(harness.BUILD, "live-tables")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "native_truth.txt"), "w", encoding="utf-8") as f:
        f.write(judge.table() + "\n")
    check(not judge.wrong, "%d of %d are wrong: %s", sum(n for _, n in judge.wrong), total, judge.wrong[:2])
    missing = [m for m in WAYS if judge.rows.get(m, {}).get("full", 0) < 10]
    check(not missing and total > 0.8 * SAMPLES, "of %d samples none is whole of %s:\n%s", total, missing, judge.table())
    check(whole - whole_switching >= 0.995 * (total - switching), "%d of %d are whole:\n%s", whole - whole_switching, total - switching,
          judge.table())
    check(whole_switching >= 0.93 * switching, "switching, %d of %d are whole:\n%s", whole_switching, switching, judge.table())
    return "%d samples: 0 wrong, %.2f %% whole; without those that switch fibers %.2f %%" % (
        total, 100 * whole / total, 100 * (whole - whole_switching) / (total - switching))


DESCRIBED = """
def described(frame, exact):
    if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):  # the others are of inlined functions, or left by a jump
        return "%x:%d:%s:%s" % (frame.pc(), exact, gdb.solib_name(frame.pc()) or "", frame.name() or "")
"""


class Debugger:
    def __init__(self, ctx):
        self.gdb = native.GdbStacks(ctx, DESCRIBED, 500)

    def stacks(self, pid):
        """{tid: [(file, address in it, name of the function)]}, innermost first, up to main(), of code that is in a file."""
        base, (own, begin, end_, off), stacks = bases(pid), code_of(pid), {}
        for tid, frames in self.gdb.stacks(pid):
            stack = stacks[tid] = []
            for pc, exact, path, name in (f.split(":", 3) for f in frames):
                pc, path = int(pc, 16), os.path.realpath(path) if path else ""
                if begin <= pc < end_:
                    stack.append((os.path.basename(own), pc - off - (exact == "0"), name))
                elif path in base:
                    stack.append((os.path.basename(path), pc - base[path] - (exact == "0"), name))
                # Else it is code of YJIT.
        return stacks


def plain(name):
    """Without what the compiler has put behind it, and without the names of Rust's modules and types: debug information has types
    that the symbol does not have."""
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    return re.sub(r"\.(part|cold|isra|constprop|lto_priv).*", "", name).rpartition("::")[2]


def compare_stop(ctx, debugger, p, told):
    p.signal(signal.SIGSTOP)
    harness.until(lambda: harness.state(p.pid) == "T", "it has not stopped")
    (d,) = dump(ctx, "-p", p.pid, "-n", "--native-vm")
    theirs_of = debugger.stacks(p.pid)
    p.signal(signal.SIGCONT)
    for t in whole(d)["threads"]:
        frames = t["fibers"][0]["frames"] if t.get("fibers") else []
        ours = [(os.path.basename(f["module"]), f["address"], f["name"]) for f in frames
                if f["kind"] == "native" and f.get("module", "").startswith("/")]
        theirs = theirs_of.get(t.get("tid"), [])
        # extprof has had no time for all of its functions, and says so.
        left_out = any("left out" in f["name"] for f in frames)
        told["left out"] += left_out
        if not ours or not theirs:
            continue
        n = min(len(ours), len(theirs))
        check([x[:2] for x in ours[:n]] == [x[:2] for x in theirs[:n]], "extprof %s, gdb %s", ours, theirs)
        # The C library has several names for a function, and the debugger also those of its debug information.
        named = [(x[2], y[2]) for x, y in zip(ours, theirs) if x[0] in ("ruby", "native_truth.so")
                 and not y[2].endswith("@plt")]
        check(all(plain(x) == plain(y) for x, y in named), "names: %s", [x for x in named if plain(x[0]) != plain(x[1])])
        check(not is_marked([f["name"] for f in frames]) or len(ours) >= n, "%s", frames)
        told["stacks"] += 1
        told["functions"] += n
        told["named"] += len(named)
        # It ends at main() or at the thread's first function, and extprof at what called these.
        told["to the end"] += left_out or (len(theirs) >= len(ours) - 3 and not is_marked([f["name"] for f in frames]))
        told["deepest"] = max(told["deepest"], n)


@case(timeout=60 + 8 * STOPS, bpf=False, patient=True)
def stops_as_gdb(ctx):
    """All functions by turns, stopped at moments of chance: a debugger sees the same functions at the same addresses, and calls those
    of the program and of the extension the same."""
    if not shutil.which("gdb"):
        return Counted(0, 0, 1, "there is no gdb")
    debugger, said = Debugger(ctx), []
    for ruby in ((), YJIT):
        told = dict.fromkeys(("stacks", "functions", "named", "to the end", "deepest", "left out"), 0)
        t = Truth(ctx, ruby=ruby)
        t.p.tell("closure_of_chain 0.001")
        t.p.line()
        t.p.tell("all 100000")
        for _ in range(STOPS // 2):
            time.sleep(random.random() / 10)
            compare_stop(ctx, debugger, t.p, told)
        t.p.kill()
        check(told["stacks"] + told["left out"] >= STOPS // 2 and told["stacks"] >= 3 * told["left out"], "%s", told)
        check(told["functions"] > 8 * told["stacks"], "%s", told)
        # The debugger has no rules for code of YJIT, and guesses.
        check(told["to the end"] >= (0.9 if not ruby else 0.6) * told["stacks"], "%s", told)
        said.append("%s%d stacks, %d functions, %d to the end" % ("YJIT: " if ruby else "", told["stacks"], told["functions"], told["to the end"]))
    return "; ".join(said) + "; each as by gdb"


PERF_RATE = 997


def perf():
    """The path of a perf that works here, or None. Debian has it in the package linux-perf, by the version of its kernel."""
    found = shutil.which("perf")
    if not found:
        return None
    run = subprocess.run([found, "stat", "-e", "cpu-clock", "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return None if run.returncode else found


def stacks_of_perf(data):
    """[names of the functions of a sample]"""
    said = subprocess.run(["perf", "script", "--no-inline", "-F", "ip,sym", "-i", data], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, errors="replace", check=True, timeout=60 + 20 * PERF_SECONDS)
    return [[line.split(None, 1)[1] for line in sample.splitlines() if len(line.split(None, 1)) > 1]
            for sample in said.stdout.split("\n\n") if sample.strip()]


@case(timeout=int(90 + 40 * PERF_SECONDS))
def shares_as_perf(ctx):
    """perf and extprof look at the same work: each function has the same share of it, by itself and with what it calls.  It is done
    in one thread: perf has a timer for each, which begins anew, so it sees nothing of those that live for less than a ms."""
    if not perf():
        return Counted(0, 0, 1, "there is no perf that works with this kernel")
    t = Truth(ctx)
    t.p.tell("closure_of_chain 0.001")
    t.p.line()
    out, data = ctx.path("out.folded"), ctx.path("perf.data")
    reader, said = watch(ctx, t.p.pid, "-F", PERF_RATE, "--native-vm", "-o", out)
    other = ctx.start(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", str(PERF_RATE), "--call-graph", "dwarf,16384", "-p", str(t.p.pid),
                       "-o", data], stdin=subprocess.DEVNULL)
    harness.until(lambda: harness.timers(other.pid), "perf has not begun")
    clock = harness.cpu_clock(t.p.pid)
    until = time.clock_gettime(clock) + PERF_SECONDS
    while time.clock_gettime(clock) < until:
        t.p.tell("all_in_main 0.5")
        t.p.line()
    other.signal(signal.SIGINT)
    other.wait(60)
    profile = end(reader, said, out)
    ours, theirs = {}, {}
    n = of_stacks(ours, ((s.labels(), s.count) for s in profile.stacks))
    m = of_stacks(theirs, ((list(reversed(names)), 1) for names in stacks_of_perf(data)))
    check(min(n, m) > 200 * PERF_SECONDS, "%d samples, and %d of perf", n, m)
    worst, compared, lines = 0, 0, []
    for key in sorted(set(ours) | set(theirs)):
        a, b = ours.get(key, 0) / n, theirs.get(key, 0) / m
        if max(a, b) < 0.01:
            continue
        error = (max(a, b) * (1 / n + 1 / m)) ** 0.5
        lines.append("%-8s %-20s %6.2f %% %6.2f %%   %.1f standard errors" % (*key, 100 * a, 100 * b, abs(a - b) / error))
        worst, compared = max(worst, abs(a - b)), compared + 1
        check(abs(a - b) < 5 * error + 0.005, "%s: %.2f %%, by perf %.2f %%", key, 100 * a, 100 * b)
    folder = os.path.join(harness.BUILD, "live-tables")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "native_perf.txt"), "w", encoding="utf-8") as f:
        f.write("%d and %d samples\n%s\n" % (n, m, "\n".join(lines)))
    check(compared > 30, "only %d shares were compared", compared)
    return "%d samples, perf %d: %d shares, %.2f points apart at most" % (n, m, compared, 100 * worst)


def of_stacks(sums, stacks):
    """Adds up samples by (how, function) of the extension's functions; their number."""
    total = 0
    for labels, count in stacks:
        own = [l for l in labels if OWN.match(l)]
        if not own:
            continue
        total += count
        for name in set(own):
            sums["with all", name] = sums.get(("with all", name), 0) + count
        if OWN.match(labels[-1]):
            sums["itself", labels[-1] + " of " + own[-2] if len(own) > 1 else labels[-1]] = sums.get(
                ("itself", labels[-1] + " of " + own[-2] if len(own) > 1 else labels[-1]), 0) + count
    return total
