"""The USDT probes of the patched ruby, by a tracer that is libbpf's and not extprof's."""
import math
import os
import re
import signal
import struct
import subprocess
import time
from collections import Counter, defaultdict

import native
from binaries import Binary
from harness import Failed, case, check
from native import run

SEMAPHORES = ("alloc", "ec", "thread", "gc", "malloc")
SEMAPHORE_OF = {"alloc": "alloc", "ec_new": "ec", "ec_free": "ec", "thread_state": "thread", "gc_phase": "gc",
                "malloc": "malloc"}
PROBES = tuple(SEMAPHORE_OF)
T_STRUCT = 9
CREATED, RUNNING, READY, BLOCKED, SLEEPING, DEAD = range(1, 7)
NONE, ENTER, MARK, SWEEP, COMPACT = range(5)
INTERVAL = 512 << 10
YJIT = ("--yjit", "--yjit-call-threshold=2")


class Tracer:
    """The program in tracer/, and what it says."""
    path = None

    @classmethod
    def build(cls):
        if cls.path:
            return
        path = native.build("tracer")
        layout = subprocess.run([path, "layout"], stdout=subprocess.PIPE, universal_newlines=True).stdout
        cls.offsets = {name: int(n) for name, n in (line.split() for line in layout.splitlines())}
        cls.path = path

    def __init__(self, ctx, pid, file, section, *probes):
        Tracer.build()
        self.p = ctx.start([Tracer.path, pid, file, "%x" % section, *(probes or PROBES)])
        self.p.expect("attached")

    def stop(self):
        """[(probe, pid, tid, arguments, name)]"""
        out, _ = self.p.communicate()
        check(self.p.p.returncode == 0, "the tracer ended with status %d", self.p.p.returncode)
        lines = out.splitlines()
        check(lines[-2:] == ["lost 0", "end"], "the tracer ended with %r", lines[-2:])
        hits = []
        for line in lines[:-2]:
            numbers, bar, name = line.partition(" | ")
            probe, pid, tid, *args = numbers.split(" ")
            hits.append((probe, int(pid), int(tid), tuple(map(int, args)), name if bar else None))
        return hits


class Target:
    """A ruby that runs probes.rb, and where its interface is."""

    def __init__(self, ctx, *flags, ruby=None, **options):
        Tracer.build()
        self.p = ctx.program("probes.rb", ruby=ruby, flags=flags, **options)
        self.p.expect("ready")
        self.pid = self.p.pid
        self.find()

    def find(self, pid=None):
        pid = pid or self.pid
        maps = []
        with open("/proc/%d/maps" % pid) as f:
            for line in f:
                m = re.match(r"(\w+)-(\w+) \S+ (\w+) \S+ \d+ +(/\S.*)", line)
                if m:
                    maps.append((int(m[1], 16), int(m[2], 16), int(m[3], 16), m[4]))
        exe = os.readlink("/proc/%d/exe" % pid)
        self.file = next((path for *_, path in maps if "/libruby" in path), exe)
        offset = section_in_file(self.file)
        for start, end, at, path in maps:
            if path == self.file and at <= offset < at + end - start:
                self.section = start + offset - at
        self.address = {name: self.word(self.section + Tracer.offsets[name + "_semaphore"], 8) for name in SEMAPHORES}

    def word(self, address, size, pid=None):
        with open("/proc/%d/mem" % (pid or self.pid), "rb", buffering=0) as f:
            data = os.pread(f.fileno(), size, address)
        return struct.unpack({2: "<H", 8: "<Q"}[size], data)[0]

    def semaphores(self, pid=None):
        return {name: self.word(self.address[name], 2, pid) for name in SEMAPHORES}

    def wait_for(self, wanted, seconds=10, pid=None):
        end = time.monotonic() + seconds
        while self.semaphores(pid) != wanted:
            check(time.monotonic() < end, "semaphores after %d s: %s, not %s", seconds, self.semaphores(pid), wanted)
            time.sleep(0.005)

    def interval(self, bytes):
        with open("/proc/%d/mem" % self.pid, "r+b", buffering=0) as f:
            os.pwrite(f.fileno(), struct.pack("<Q", bytes), self.section + Tracer.offsets["alloc_interval"])

    def trace(self, ctx, *probes):
        return Tracer(ctx, self.pid, self.file, self.section, *probes)

    def do(self, command, timeout=60):
        """What the program says about it."""
        self.p.tell(command)
        lines = []
        while True:
            line = self.p.line(timeout)
            if line == "done":
                return lines
            lines.append(line)


def section_in_file(path):
    with open(path, "rb") as f:
        header = f.read(64)
        shoff, = struct.unpack_from("<Q", header, 40)
        size, n, names = struct.unpack_from("<HHH", header, 58)
        f.seek(shoff)
        sections = f.read(size * n)
        f.seek(struct.unpack_from("<Q", sections, names * size + 24)[0])
        strings = f.read(struct.unpack_from("<Q", sections, names * size + 32)[0])
    for i in range(n):
        name, _, _, _, offset = struct.unpack_from("<IIQQQ", sections, i * size)
        if strings[name:strings.index(b"\0", name)] == b"rb_debug_ext":
            return offset
    raise Failed("%s has no section rb_debug_ext" % path)


NOBODY = dict.fromkeys(SEMAPHORES, 0)


@case(timeout=60, alone=True)
def semaphores(ctx):
    """A semaphore is up while somebody traces, however the tracer ends. The kernel adds 1 for a probe, however
    many tracers it has."""
    target = Target(ctx)
    all_probes = {"alloc": 1, "ec": 2, "thread": 1, "gc": 1, "malloc": 1}
    check(target.semaphores() == NOBODY, "before: %s", target.semaphores())
    first = target.trace(ctx, "ec_new", "alloc")
    target.wait_for({**NOBODY, "alloc": 1, "ec": 1})
    second = target.trace(ctx)
    target.wait_for(all_probes)
    target.do("fibers 10")
    hits = first.stop()
    target.wait_for(all_probes)
    check(sum(h[0] == "ec_new" for h in hits) == 10, "%s", Counter(h[0] for h in hits))
    target.do("fibers 10")
    hits = second.stop()
    target.wait_for(NOBODY)
    check(sum(h[0] == "ec_new" for h in hits) == 20, "%s", Counter(h[0] for h in hits))
    killed = target.trace(ctx)
    target.wait_for(all_probes)
    target.do("alloc 10000000")
    started = time.monotonic()
    killed.p.signal(signal.SIGKILL)
    target.wait_for(NOBODY)
    took = time.monotonic() - started
    target.do("alloc 10000000")
    check(target.semaphores() == NOBODY, "after: %s", target.semaphores())
    return "up and down, with one tracer and two; down %.0f ms after kill -9" % (took * 1000)


@case(timeout=60, alone=True)
def contexts(ctx):
    """Each fiber and thread is announced once, and once more at its end."""
    target = Target(ctx)
    tracer = target.trace(ctx, "ec_new", "ec_free")
    target.do("fibers 300")
    target.do("threads 100")
    hits = tracer.stop()
    new = [h for h in hits if h[0] == "ec_new"]
    free = [h for h in hits if h[0] == "ec_free"]
    check(len(new) == 400, "%d contexts, 300 fibers and 100 threads", len(new))
    check(len({h[3][1] for h in new}) == 400, "serials are not unique")
    check(sorted(h[3] for h in new) == sorted(h[3] for h in free), "%d began, %d ended", len(new), len(free))
    by_thread = Counter(h[3][2] for h in new)
    check(sorted(by_thread.values()) == [1] * 100 + [300], "contexts of each thread: %s", by_thread.most_common(3))
    return "300 fibers and 100 threads: %d ec_new, %d ec_free" % (len(new), len(free))


@case(timeout=60, alone=True)
def states(ctx):
    """A thread that sleeps, reads from a pipe and ends."""
    target = Target(ctx)
    tracer = target.trace(ctx, "thread_state")
    target.do("states")
    hits = tracer.stop()
    main = next(h for h in hits if h[2] == target.pid)[3][0]
    mine = [h for h in hits if h[3][0] != main]
    check(len({h[3][0] for h in mine}) == 1, "%s", mine)
    names = "none created running ready blocked sleeping dead".split()
    for a, b in zip(mine, mine[1:]):
        check(a[3][2] == b[3][1], "from %s to %s", names[a[3][2]], names[b[3][1]])
    sequence = [h[3][2] for h in mine]
    # Thread.pass waits for the lock again only if somebody else does
    wanted = [CREATED, READY, RUNNING, SLEEPING, READY, RUNNING, BLOCKED, READY, RUNNING, DEAD]
    passed = wanted[:-1] + [READY, RUNNING, DEAD]
    check(sequence in (wanted, passed), "%s", [names[s] for s in sequence])
    tid = next(h[2] for h in mine if h[3][2] == RUNNING)
    for h in mine:
        if h[3][2] in (RUNNING, BLOCKED, SLEEPING, DEAD):
            check(h[2] == tid and h[3][3] == tid, "%s in native thread %d", h, tid)
    check(mine[0][2] == target.pid, "created in %d", mine[0][2])
    # The main thread's are a chain as well.
    chain = [h[3] for h in hits if h[3][0] == main]
    check(all(a[2] == b[1] for a, b in zip(chain, chain[1:])), "main: %s", chain)
    return " ".join(names[s] for s in sequence)


@case(timeout=60, alone=True)
def collections(ctx):
    target = Target(ctx)
    target.do("gc 1")
    tracer = target.trace(ctx, "gc_phase")
    count, = target.do("gc 25")
    hits = tracer.stop()
    phases = [h[3][0] for h in hits]
    check(phases == [ENTER, MARK, ENTER, SWEEP, ENTER, NONE] * int(count), "%s collections: %s", count, phases)
    counts = sorted({h[3][2] for h in hits})
    check(len(counts) == int(count) and counts[-1] - counts[0] == int(count) - 1, "counts %s", counts)
    check({h[3][1] for h in hits} == {target.pid}, "tids %s", {h[3][1] for h in hits})
    return "GC.count grew by %s: %d changes of phase" % (count, len(hits))


def allocation(ctx, flags, interval, bytes):
    target = Target(ctx, *flags)
    if interval != INTERVAL:
        target.interval(interval)
    tracer = target.trace(ctx, "alloc")
    truth = [tuple(map(int, line.split())) for line in target.do("alloc %d" % bytes)]
    hits = tracer.stop()
    sums, samples, objects = defaultdict(int), Counter(), defaultdict(float)
    for _, _, tid, (_, size, weight, *since_1_1), name in hits:
        check(tid == target.pid, "in thread %d", tid)
        if since_1_1 and "Slot" in name:
            kind, address = since_1_1
            check(kind == T_STRUCT and address % 8 == 0 and address, "%s: type %d at %x", name, kind, address)
        sums[size, name] += weight
        samples[size, name] += 1
        objects[size, name] += weight / size
    worst, text = 0, []
    for (size, n), name in zip(truth, ["Slot%d" % size for size, _ in truth[:-1]] + ["#<anonymous subclass of Slot40>"]):
        p = -math.expm1(-size / interval)
        sigma = math.sqrt(n * (1 - p) / p) * size
        got = sums[size, name]
        # Sampling begins one page late at most.
        z = (got - n * size) / sigma
        check(abs(z) < 5, "%s: weights add up to %d bytes of %d, %.1f sigma; %d samples", name, got, n * size, z,
              samples[size, name])
        check(abs(objects[size, name] * size - got) <= 1e-6 * got, "%s: %f objects", name, objects[size, name])
        worst = max(worst, abs(z))
        text.append("%.3f" % (got / (n * size)))
    strange = Counter(name for _, _, _, _, name in hits if "Slot" not in name)
    check("?" not in strange, "samples without a name: %s", strange)
    check(sum(strange.values()) < 0.05 * len(hits) + 10, "other classes: %s", strange)
    return "%d samples of 6 x %d MB, shown/true %s, worst %.1f sigma" % (
        len(hits), bytes >> 20, " ".join(text), worst)


@case(timeout=120, alone=True)
def alloc(ctx):
    return allocation(ctx, (), INTERVAL, 150 << 20)


@case(timeout=120, alone=True)
def alloc_yjit(ctx):
    return allocation(ctx, YJIT, INTERVAL, 150 << 20)


@case(timeout=120, alone=True)
def alloc_interval(ctx):
    """A tracer may ask for more samples."""
    return allocation(ctx, (), 8 << 10, 20 << 20)


@case(timeout=60, alone=True)
def children(ctx):
    """A tracer of a process does not trace its children, and their semaphores say so."""
    target = Target(ctx)
    tracer = target.trace(ctx, "alloc", "ec_new", "gc_phase")
    target.wait_for({**NOBODY, "alloc": 1, "ec": 1, "gc": 1})
    target.p.tell("fork 40000000")
    lines = sorted([target.p.line(), target.p.line()])
    check(lines[1] == "done" and lines[0].startswith("child "), "%s", lines)
    child = int(lines[0].split()[1])
    inherited = target.semaphores(child)
    target.p.tell("go")
    lines = sorted([target.p.line(), target.p.line()])
    check(lines == ["done", "worked"], "%s", lines)
    target.wait_for(NOBODY, pid=child)
    check(target.semaphores() == {**NOBODY, "alloc": 1, "ec": 1, "gc": 1}, "the parent's: %s", target.semaphores())
    target.do("fibers 5")
    hits = tracer.stop()
    check({h[1] for h in hits} == {target.pid}, "hits in %s", {h[1] for h in hits})
    return "in the child: %s, then all 0" % ", ".join("%s %d" % i for i in inherited.items() if i[1])


def copy(ctx):
    """(a copy of the ruby, what it takes to run that)"""
    binary = Binary(ctx)
    env = dict(binary.env)
    if binary.changed != binary.ruby:
        env["LD_PRELOAD"] = binary.changed  # an rpath would be stronger than LD_LIBRARY_PATH
    return binary, {"ruby": binary.ruby, "env": env}


@case(timeout=60, alone=True)
def stripped(ctx):
    """strip leaves the notes, and what they refer to."""
    binary, options = copy(ctx)
    before = os.path.getsize(binary.changed)
    run("strip", binary.changed)
    target = Target(ctx, **options)
    check(target.file == binary.changed, "runs %s", target.file)
    tracer = target.trace(ctx)
    target.do("fibers 50")
    target.do("gc 3")
    hits = Counter(h[0] for h in tracer.stop())
    check(hits["ec_new"] == 50 and hits["gc_phase"] >= 18, "%s", hits)
    return "%d MB became %d; 50 of 50 fibers" % (before >> 20, os.path.getsize(binary.changed) >> 20)


@case(timeout=60, alone=True)
def before_it_starts(ctx):
    """A tracer of the file gets the processes that run it later."""
    target = Target(ctx)
    binary, options = copy(ctx)
    tracer = Tracer(ctx, -1, binary.changed, 0, "ec_new", "gc_phase")
    check(target.semaphores() == NOBODY, "another file's: %s", target.semaphores())
    pids = []
    for _ in range(2):
        other = Target(ctx, **options)
        other.wait_for({**NOBODY, "ec": 1, "gc": 1})
        other.do("fibers 20")
        pids.append(other.pid)
    hits = tracer.stop()
    counts = Counter(h[1] for h in hits if h[0] == "ec_new")
    # And the main thread of each.
    check(counts == dict.fromkeys(pids, 21), "contexts: %s", counts)
    return "two processes, 21 contexts in each from their start on"
