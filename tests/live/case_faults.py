"""What can happen to a process while it is recorded, in all modes at once; tests/live/faults_by_mode has each mode by itself.
extprof ends, its sums are right, and a process that goes on is as it was."""
import os
import re
import signal
import time

import case_fakes
import folded
import harness
import native
import ptrace
from case_wall import sums_of
from harness import case, check

# Options of each mode, and what a process has to do for a sample of it.
MODES = {
    "cpu": (),
    "wall": (),
    "offcpu": (),
    "gvl": (),
    "gc": (),
    "alloc": ("--alloc-interval", "16KiB"),
    "syscall": ("--syscall", "getppid,openat"),
    "event": ("-e", "context-switches"),
}
OF_STATES = {"wall", "offcpu", "gvl"}
ALL = tuple(MODES)
HEAD = re.compile(r"^\[(\w+), (\w+)\]$")

HOLD = """
#include <fcntl.h>
#include <unistd.h>
int hold(const char *fifo)
{
	int pid = vfork();
	if (!pid) {
		open(fifo, O_RDONLY);
		_exit(0);
	}
	return pid;
}"""


def unchanged(pid):
    """What a process must be as before: who traces it, and its signals."""
    with open("/proc/%d/status" % pid) as f:
        return [line for line in f if line.startswith(("TracerPid", "Sig", "NoNewPrivs", "Seccomp", "Uid"))
                and not line.startswith("SigQ")]


def sums(profile, modes):
    """Of each mode; they are right."""
    found = [folded.Sums(line) for line in profile.out.splitlines() if line.startswith("samples taken ")]
    check(len(found) == len(modes), "%d lines of sums for %d modes:\n%s", len(found), len(modes), profile.out)
    for s in found:
        check(s.balanced, s.text)
    check("do not agree" not in profile.out, profile.out[-600:])
    return found


class Run:
    """A program, and a recording of it in some modes."""

    def __init__(self, ctx, modes, *args, prefix=(), seconds=None):
        self.ctx, self.modes, self.path = ctx, modes, ctx.path("out.folded")
        self.program = ctx.start([*prefix, harness.RUBY, "--disable=gems", "-W0",
                                  os.path.join(harness.PROGRAMS, "faults_target.rb"), *args])
        self.program.expect("ready", 120)
        self.pid = self.program.pid
        self.reader = None

    def begin(self, *options, pid=None):
        self.before = unchanged(pid or self.pid)
        more = [o for m in self.modes for o in MODES[m]]
        self.from_ = time.monotonic()
        self.reader = self.ctx.extprof_start("-p", pid or self.pid, "-m", ",".join(self.modes), "-F", 997, *more, *options, "--rows", "3",
                                             "-o", self.path)
        harness.prefer(self.reader.pid)
        if not options:
            self.ctx.attached(self.reader, 60)
        return self

    def stop(self):
        self.reader.signal(signal.SIGINT)
        return self.end()

    def end(self, seen=True, timeout=60):
        """It ends, and its sums are right. seen: there is something of each mode."""
        profile = self.ctx.profile_of(self.reader, timeout, self.path).ok()
        self.sums = sums(profile, self.modes)
        if OF_STATES & set(self.modes):
            sums_of(profile)
        found = set()
        with open(profile.path, encoding="utf-8") as f:
            for line in f:
                check(line.rstrip("\n").isprintable(), "%r", line)
                head = HEAD.match(line.split(";")[0])
                found.add(head.group(1) if head else self.modes[0])
                check(int(line.rpartition(" ")[2]) >= 0, "%r", line)
        if seen:
            check(found == set(self.modes), "there is nothing of %s", set(self.modes) - found)
        self.profile = profile
        return profile

    def went_on(self, pid=None):
        """The program has not noticed anything."""
        now = unchanged(pid or self.pid)
        check(now == self.before, "it has changed: %s", sorted(set(now) ^ set(self.before)))
        self.program.tell("end")
        self.program.expect("right", 60)
        check(self.program.wait() == 0, "status %d", self.program.p.returncode)
        return self

    def text(self):
        return "taken %s, lost %d" % ("+".join(str(s.taken) for s in self.sums), sum(s.lost for s in self.sums))


def killed(ctx, modes):
    """SIGKILL while it is recorded: the recording ends by itself."""
    run = Run(ctx, modes).begin()
    harness.worked(run.pid, 0.5)
    run.program.signal(signal.SIGKILL)
    sent = time.monotonic()
    run.end()
    took = time.monotonic() - sent
    check(took < 10, "extprof ended %.1f s after the process", took)
    return "%.1f s; %s" % (took, run.text())


def executed(ctx, modes):
    """It executes another ruby, which is recorded in its place and goes on as if nothing were there."""
    run = Run(ctx, modes).begin()
    harness.worked(run.pid, 0.3)
    run.program.tell("exec")
    run.program.expect("ready", 60)
    harness.worked(run.pid, 0.7)
    run.stop()
    run.went_on()
    return run.text()


def stopped(ctx, modes):
    """SIGSTOP for half a second, from before the begin to the middle, and from the middle to after the end."""
    run = Run(ctx, modes)
    run.program.signal(signal.SIGSTOP)
    harness.until(lambda: harness.state(run.pid) == "T", "it does not stop")
    run.begin()
    time.sleep(0.2)
    run.program.signal(signal.SIGCONT)
    harness.worked(run.pid, 0.5)
    run.program.signal(signal.SIGSTOP)
    harness.until(lambda: harness.state(run.pid) == "T", "it does not stop")
    run.stop()
    check(harness.state(run.pid) == "T", "it was woken")
    run.program.signal(signal.SIGCONT)
    run.went_on()
    return run.text()


def uninterruptible(ctx, modes):
    """Its main thread has a child by vfork that does not end: it is in the state D from before the begin to after the end,
    and keeps the GVL, so that nothing else happens."""
    fifo, library = ctx.path("fifo"), ctx.path("hold.so")
    os.mkfifo(fifo)
    native.run(native.tool("CC"), "-shared", "-fPIC", "-O1", "-o", library, ctx.write("hold.c", HOLD))
    run = Run(ctx, modes)
    run.program.tell("hold %s %s" % (fifo, library))
    harness.until(lambda: harness.state(run.pid) == "D", "it is not in the state D")
    run.begin()
    time.sleep(0.4)
    check(harness.state(run.pid) == "D", "it is not in the state D any more")
    run.reader.signal(signal.SIGINT)
    profile = run.ctx.profile_of(run.reader, 60, run.path)
    # Where nothing runs, some modes have no sample, and say so.
    check(profile.status == 0, "status %d: %s", profile.status, profile.err)
    held = sums(profile, modes)
    os.close(os.open(fifo, os.O_WRONLY))
    run.program.expect("held")
    run.begin()
    harness.worked(run.pid, 0.4)
    run.stop()
    run.went_on()
    return "held: taken %s; after: %s" % ("+".join(str(s.taken) for s in held), run.text())


def cgroup():
    """Where there is a cgroup of version 2, or None."""
    with open("/proc/mounts") as f:
        return next((line.split()[1] for line in f if line.split()[2] == "cgroup2"), None)


def frozen(ctx, modes):
    """Its cgroup is frozen for half a second, and again from before the end to after it."""
    if not cgroup():
        return harness.Counted(0, 0, 1, "there is no cgroup of version 2")
    run = Run(ctx, modes)
    group = os.path.join(cgroup(), "extprof-test-%d" % run.pid)

    def write(path, text):
        with open(path, "w") as f:
            f.write(str(text))

    def freeze(on):
        write(os.path.join(group, "cgroup.freeze"), int(on))
        with open(os.path.join(group, "cgroup.events")) as f:
            harness.until(lambda: f.seek(0) == 0 and "frozen %d" % on in f.read(), "it is not frozen: %d" % on)
    try:
        os.mkdir(group)
        write(os.path.join(group, "cgroup.procs"), run.pid)
    except OSError as e:
        return harness.Counted(0, 0, 1, "no cgroup can be made here: %s" % e)
    try:
        run.begin()
        harness.worked(run.pid, 0.2)
        freeze(True)
        time.sleep(0.5)
        freeze(False)
        harness.worked(run.pid, 0.3)
        freeze(True)
        run.stop()
        freeze(False)
        run.went_on()
    finally:
        write(os.path.join(group, "cgroup.freeze"), 0)
        run.program.kill()
        harness.until(lambda: not open(os.path.join(group, "cgroup.procs")).read(), "it is still in its cgroup")
        os.rmdir(group)
    return run.text()


def debugged(ctx, modes):
    """A debugger has it: it stops it, lets it go on, and stays. extprof neither waits for it nor disturbs it."""
    run = Run(ctx, modes)
    ptrace.ptrace(ptrace.PTRACE_SEIZE, run.pid)
    run.begin()
    for _ in range(5):
        ptrace.ptrace(ptrace.PTRACE_INTERRUPT, run.pid)
        _, status = os.waitpid(run.pid, ptrace.WALL)
        check(os.WIFSTOPPED(status), "the debugger sees %#x", status)
        check(harness.state(run.pid) == "t", "it is %s", harness.state(run.pid))
        time.sleep(0.05)
        ptrace.ptrace(ptrace.PTRACE_CONT, run.pid)
        time.sleep(0.1)
    run.stop()
    ptrace.ptrace(ptrace.PTRACE_INTERRUPT, run.pid)
    os.waitpid(run.pid, ptrace.WALL)
    ptrace.ptrace(ptrace.PTRACE_DETACH, run.pid)
    run.before = [line for line in run.before if not line.startswith("TracerPid")] + ["TracerPid:\t0\n"]
    run.before.sort()
    now = unchanged(run.pid)
    check(sorted(now) == run.before, "it has changed: %s", sorted(set(now) ^ set(run.before)))
    run.before = now
    run.went_on()
    return run.text()


def in_a_pid_namespace(ctx, modes):
    """The process has other ids than extprof knows it by."""
    run = Run(ctx, modes, prefix=("unshare", "-p", "-f", "--mount-proc", "--kill-child"))
    pid, = harness.children(run.pid)
    run.begin(pid=pid)
    harness.worked(pid, 0.7)
    run.stop()
    run.went_on(pid)
    return run.text()


def ten_thousand_threads(ctx, modes):
    """10,000 threads that sleep beside those that work."""
    run = Run(ctx, modes, "threads", "10000").begin()
    harness.worked(run.pid, 0.8)
    run.stop()
    run.went_on()
    if OF_STATES & set(modes):
        rows = sums_of(run.profile)
        n = int(re.search(r"of the lives of (\d+) threads", run.profile.out).group(1))
        check(n >= 10000, "%d threads are in the account", n)
        for mode in {"wall", "offcpu"} & set(modes):
            # What they slept lies where they sleep, but for threads whose stack was lost, and counted.
            with open(run.path, encoding="utf-8") as f:
                slept = sum(int(line.rpartition(" ")[2]) for line in f if "block (2 levels) in <main>;Kernel#sleep;[sleep]" in line
                            and (len(modes) == 1 or line.startswith("[%s, us]" % mode))) / 1e6
            check(0.98 * rows["all"]["sleep"] < slept < rows["all"]["sleep"], "%s: %.1f s of %s", mode, slept, rows["all"])
    return run.text()


def ractors(ctx, modes):
    """64 ractors: half of them wait for ever, half of them compute and sleep."""
    run = Run(ctx, modes, "ractors", "64").begin()
    harness.worked(run.pid, 0.8)
    run.stop()
    run.went_on()
    return run.text()


HOSTILE = ("tables", "hostile", "bad-geometry", "bad-ec", "bad-frames", "half-frames", "nameless", "deep", "idle")


def hostile(ctx, modes, kinds=HOSTILE):
    """Processes whose memory makes no sense, or changes all the time, in one recording: a clean end in bounded time and
    memory."""
    case_fakes.build(ctx)
    fakes = [ctx.start([os.path.join(case_fakes.FAKES, "fake_target"), kind, "60"]) for kind in kinds]
    for fake in fakes:
        case_fakes.begun(fake)
    more = [o for m in modes for o in MODES[m]]
    with open(ctx.path("sums"), "wb") as out:
        reader = ctx.extprof_start("-p", ",".join(str(f.pid) for f in fakes), "-m", ",".join(modes), *more, "-d", "0.5", "-o",
                                   ctx.path("out.folded"), stdout=out)
        harness.prefer(reader.pid)
        begin = time.monotonic()
        status, most = harness.wait_for_peak(reader.pid)
        took = time.monotonic() - begin
    reader.p.returncode = os.waitstatus_to_exitcode(status)
    err = reader.p.stderr.read().decode("utf-8", "replace")
    # What has no probe, or nothing but lost samples, has no profile: it says so.
    check(reader.p.returncode >= 0 and took < 60 and most < 1 << 30, "status %d, %.1f s, %d MB: %s", reader.p.returncode, took,
          most >> 20, err)
    with open(ctx.path("sums"), encoding="utf-8") as f:
        text = f.read()
    for line in [*text.splitlines(), *err.splitlines()]:
        check(line.isprintable(), "%r", line)
    found = sums(harness.Profile(reader.p.returncode, text, err, None), modes) if text else []
    check(found or err.startswith("extprof: "), "status %d: %s", reader.p.returncode, err)
    check(reader.p.returncode == 0 or err.startswith("extprof: "), "status %d: %s", reader.p.returncode, err)
    for kind, fake in zip(kinds, fakes):
        check(fake.p.poll() is None, "%s: the process ended", kind)
    return "status %d, %.1f s, %d MB, taken %s" % (reader.p.returncode, took, most >> 20, "+".join(str(s.taken) for s in found))


def hostile_alone(ctx, modes):
    """Each of them by itself."""
    return "; ".join("%s: %s" % (kind, hostile(ctx, modes, (kind,))) for kind in HOSTILE)


# A row is a fault, and how long it may take.
FAULTS = [(killed, 60), (executed, 60), (stopped, 60), (uninterruptible, 60), (frozen, 60), (debugged, 60), (in_a_pid_namespace, 60),
          (ten_thousand_threads, 120), (ractors, 60), (hostile, 90)]
# Takes a minute in each mode.
BY_HAND = [(hostile_alone, 300)]


def register(fault, timeout):
    def in_all_modes(ctx):
        return fault(ctx, ALL)
    in_all_modes.__name__, in_all_modes.__module__ = fault.__name__, __name__
    case(timeout)(in_all_modes)


for fault, timeout in FAULTS:
    register(fault, timeout)
