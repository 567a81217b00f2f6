"""extprof beside a program that changes what a ruby tells: it neither crashes nor hangs nor grows, and prints nothing that is not
clean.  tests/live/mutate does it for as long as one likes."""
import os
import re
import subprocess
import threading
import time

import harness
from harness import case, check

# Of records and top: what may be recorded while the memory changes.
COMMANDS = (
    ("cpu", ["record", "-m", "cpu", "-F", 997]),
    ("wall", ["record", "-m", "wall", "-F", 997, "--group-by", "thread"]),
    ("offcpu", ["record", "-m", "offcpu"]),
    ("gvl", ["record", "-m", "gvl"]),
    ("gc", ["record", "-m", "gc"]),
    ("alloc", ["record", "-m", "alloc", "--alloc-interval", "16KiB"]),
    ("heap", ["record", "-m", "heap", "--alloc-interval", "16KiB"]),
    ("syscall", ["record", "-m", "syscall", "--syscall", "getppid,openat"]),
    ("event", ["record", "-m", "event", "-e", "context-switches"]),
    ("native", ["record", "-m", "cpu", "-F", 997, "--native"]),
    ("nonblocking", ["record", "-m", "cpu,wall", "-F", 997, "--reader", "nonblocking"]),
    ("stop", ["record", "-m", "cpu,wall", "-F", 997, "--reader", "stop"]),
    ("dump", ["dump"]),
    ("dump-native", ["dump", "--native"]),
    ("dump-stop", ["dump", "--reader", "stop"]),
    ("stat", ["stat"]),
    ("top", ["top", "-b", "-i", 1]),
)
# What another program said, or extprof of itself, that nobody wants to see.
FAULT = re.compile(r"AddressSanitizer|LeakSanitizer|runtime error:|do not agree|stack smashing|free\(\): |malloc\(\): ")
RSS_MAX = 300 << 20
# Until it has begun, and has read names at its end.
LATE = 20


def is_clean(text):
    """Lines of a terminal, without what moves its cursor or turns lines around."""
    return all(c in "\n\t" or (c.isprintable() and not 0x7f <= ord(c) <= 0x9f) for c in text)


def compiled(ctx):
    program = ctx.path("mutate")
    subprocess.run(["cc", "-std=gnu11", "-O1", "-D_GNU_SOURCE", "-I" + os.path.join(harness.TOP, "include"), "-o", program,
                    os.path.join(harness.PROGRAMS, "mutate.c")], check=True)
    return program


class Peak(threading.Thread):
    """The most memory that a process has had, in bytes."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.path, self.peak = "/proc/%d/status" % pid, 0
        self.start()

    def run(self):
        while True:
            try:
                with open(self.path) as f:
                    found = [int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM")]
            except OSError:
                return
            if not found:
                return  # it has ended
            self.peak = max(self.peak, found[0])
            time.sleep(0.02)


class Mutation:
    def __init__(self, ctx, rss=RSS_MAX, late=LATE):
        self.ctx, self.program, self.target = ctx, compiled(ctx), None
        self.changes = self.runs = self.deaths = self.rss = 0
        self.longest, self.rss_max, self.late = 0.0, rss, late
        self.statuses, self.said = {}, {}

    def start_target(self, *options):
        if not self.target or self.target.p.poll() is not None:
            self.target = self.ctx.start([harness.RUBY, "--disable=gems", "-W0", *options, os.path.join(harness.PROGRAMS, "faults_target.rb")],
                                         stderr=subprocess.DEVNULL)
            self.target.expect("ready", 60)
        return self.target.pid

    def run(self, name, command, seconds, seed):
        pid = self.start_target(*(["--yjit", "--yjit-call-threshold=2"] if seed % 2 else []))
        mutator = self.ctx.start([self.program, str(pid), str(seconds + 3), str(seed)], stderr=subprocess.DEVNULL)
        until = time.monotonic() + seconds
        while True:
            self.one(name, command, seconds, pid, seed)
            if command[0] != "dump" or time.monotonic() > until or self.target.p.poll() is not None:
                break
        mutator.wait(30)
        said = mutator.communicate(10)[0].split()
        self.changes += int(said[0]) if said else 0
        self.deaths += self.target.p.poll() is not None

    def one(self, name, command, seconds, pid, seed):
        out = self.ctx.path("out.folded")
        options = {"record": ["-q", "-d", seconds, "-o", out], "stat": ["-d", seconds], "top": ["--count", int(seconds)], "dump": []}[command[0]]
        began = time.monotonic()
        reader = self.ctx.extprof_start(*command, *options, "-p", pid)
        peak = Peak(reader.pid)
        try:
            said = "".join(reader.communicate(seconds + self.late))
        except harness.Failed:
            raise harness.Failed("%s, seed %d: it did not end within %d s" % (name, seed, seconds + self.late))
        took = time.monotonic() - began - (seconds if command[0] != "dump" else 0)
        status = reader.p.returncode
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if status:
            self.said.setdefault(status, "%s: %s" % (name, " ".join(said.split())[-80:]))
        check(status >= 0 and status != harness.USAGE and not FAULT.search(said), "%s, seed %d: status %d, %s", name, seed, status, said[-2000:])
        if os.path.exists(out):
            with open(out, encoding="utf-8", errors="surrogateescape") as f:
                said += f.read()
            os.unlink(out)
        check(is_clean(said), "%s, seed %d: %r", name, seed, next((line for line in said.splitlines() if not is_clean(line)), ""))
        peak.join(5)
        self.rss = max(self.rss, peak.peak)
        check(peak.peak < self.rss_max, "%s, seed %d: %d MB", name, seed, peak.peak >> 20)
        self.longest = max(self.longest, took)
        self.runs += 1

    def text(self):
        return "%s changes, %d runs, none crashed; %d targets did; %.1f s beyond -d, %d MB at most; statuses %s" % (
            "{:,}".format(self.changes), self.runs, self.deaths, self.longest, self.rss >> 20,
            ", ".join("%d: %d times%s" % (s, n, " (%s)" % self.said[s] if s in self.said else "") for s, n in sorted(self.statuses.items())))


@case(timeout=240, patient=True)
def each_mode(ctx):
    """A second and a half in each mode; the seeds are others each time."""
    mutation = Mutation(ctx)
    seed = int(time.time())
    for i, (name, command) in enumerate(COMMANDS):
        mutation.run(name, command, 1.5, seed + i)
    check(mutation.changes > 1000 * len(COMMANDS), "only %d changes", mutation.changes)
    return mutation.text()
