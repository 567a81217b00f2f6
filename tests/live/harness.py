"""Cases, their processes and their results."""
import os
import select
import signal
import subprocess
import threading
import time

import folded
import seccomp

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD") or os.path.join(TOP, "build")
RUBY = os.environ.get("RUBY") or os.path.join(BUILD, "bin", "ruby")
EXTPROF = os.environ.get("EXTPROF") or os.path.join(BUILD, "bin", "extprof")
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
NO_BPF = os.environ.get("EXTPROF_TESTS_NO_BPF") == "1"
# How many times longer than on a usual machine everything may take: an emulated CPU loads a BPF program in seconds.
PATIENCE = int(os.environ.get("EXTPROF_TESTS_PATIENCE", "1"))

# Exit statuses of extprof(1).
USAGE, NOT_RUBY, NO_PROCESS, NO_INTERFACE = 64, 65, 66, 69
NO_BPF_STATUS, OUTPUT, NOT_READY, VERSION, PERMISSION, COMMAND = 71, 73, 75, 76, 77, 127

CASES = []
# Functions that give lines for the end.
SUMMARY = []


class Failed(Exception):
    pass


class Counted:
    """The result of a case that runs a script with many assertions. Each of them counts."""

    def __init__(self, passed, failed, skipped, text):
        self.passed, self.failed, self.skipped, self.text = passed, failed, skipped, text


class Timeout(BaseException):
    """Not an Exception: no case may swallow it."""


class Case:
    def __init__(self, name, group, run, timeout, bpf, lane, alone):
        self.name, self.group, self.run, self.timeout, self.bpf = name, group, run, timeout, bpf
        self.lane, self.alone = lane, alone


# Cases of a lane run one after the other, beside those of the other lanes.
MAIN, PATIENT, WAITS = "main", "patient", "waits"


def case(timeout, bpf=True, patient=False, waits=False, alone=False):
    """A test: a function of a Context that returns a line about what it measured.
    Its name is group-function; it fails when it raises. It may return Counted instead.
    A patient case measures no time of a CPU: it runs beside the others. One that waits takes little CPU time (a third of
    its time or less, EXTPROF_TESTS_CPU=1 tells), and what it measures stands a busy machine: it runs beside both. They build
    nothing that others build, too. A case that is to be alone has none of these beside it: it checks which probes of the VM
    are in use, and a probe is in use in all processes of a ruby."""
    def register(f):
        group = f.__module__.replace("case_", "")
        name = group + "-" + f.__name__.replace("_", "-")
        CASES.append(Case(name, group, f, timeout, bpf, WAITS if waits else PATIENT if patient else MAIN, alone))
        return f
    return register


def check(condition, text, *values):
    if not condition:
        raise Failed(text % values if values else text)


def environment(extra=None):
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("RUBY", "GEM_", "BUNDLE_")) and k != "COLUMNS"}
    keep.update({"LC_ALL": "C.UTF-8", MARK: MARK_VALUE, **(extra or {})})
    return keep


# What this run started, and what that started, has this in its environment.
MARK, MARK_VALUE = "EXTPROF_LIVE_TEST", "%d-%d" % (os.getpid(), time.time_ns())


def kill_marked():
    """Kill by pid what outlived the process that we started."""
    wanted = ("%s=%s" % (MARK, MARK_VALUE)).encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as f:
                if wanted in f.read().split(b"\0"):
                    os.kill(int(pid), signal.SIGKILL)
        except OSError:
            continue


class Process:
    """A process in a session of its own, which ends with its case at the latest."""

    def __init__(self, argv, env=None, **options):
        self.argv = argv
        options.setdefault("stdin", subprocess.PIPE)
        options.setdefault("stdout", subprocess.PIPE)
        self.p = subprocess.Popen(argv, env=environment(env), start_new_session=True, **options)
        self.pid = self.p.pid
        self.rest = b""
        self.said, self.ended, self.reads, self.more = b"", False, None, threading.Condition()

    def line(self, timeout=30):
        """The next line of stdout, without its newline."""
        timeout *= PATIENCE
        end = time.monotonic() + timeout
        while b"\n" not in self.rest:
            ready = select.select([self.p.stdout], [], [], max(end - time.monotonic(), 0))[0]
            data = os.read(self.p.stdout.fileno(), 65536) if ready else b""
            if not data:
                why = "ended" if ready else "said nothing for %d s" % timeout
                raise Failed("%s %s before it printed a line" % (self.argv[0], why))
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode("utf-8", "backslashreplace")

    def expect(self, text, timeout=30):
        got = self.line(timeout)
        check(got == text, "the program said %r, not %r", got, text)

    def tell(self, text):
        self.p.stdin.write(text.encode() + b"\n")
        self.p.stdin.flush()

    def signal(self, number):
        os.kill(self.pid, number)

    def wait(self, timeout=30):
        """The exit status, negative for a signal."""
        timeout *= PATIENCE
        try:
            return self.p.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Failed("%s did not end within %d s" % (self.argv[0], timeout))

    def says(self, text, timeout=60):
        """Read stderr up to that text; communicate() returns what follows.  The pipe never fills up: a thread reads it."""
        if not self.reads:
            self.reads = threading.Thread(target=self.read_stderr, args=[self.p.stderr], daemon=True)
            self.p.stderr = None
            self.reads.start()
        wanted = text.encode()
        with self.more:
            self.more.wait_for(lambda: wanted in self.said or self.ended, timeout * PATIENCE)
            check(wanted in self.said, "%s did not say %r but: %s", self.argv[0], text, self.said[-500:].decode("utf-8", "replace"))
            self.said = self.said[self.said.index(wanted) + len(wanted):]

    def read_stderr(self, stream):
        with stream:
            while data := os.read(stream.fileno(), 1 << 16):
                with self.more:
                    self.said += data
                    self.more.notify_all()
        with self.more:
            self.ended = True
            self.more.notify_all()

    def communicate(self, timeout=60):
        """(stdout, stderr) as text, at its end."""
        timeout *= PATIENCE
        try:
            out, err = self.p.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Failed("%s did not end within %d s" % (self.argv[0], timeout))
        if self.reads:
            self.reads.join(timeout)
            err = self.said
        return ((self.rest + (out or b"")).decode("utf-8", "backslashreplace"),
                (err or b"").decode("utf-8", "backslashreplace"))

    def kill(self):
        # Until we have waited for the process, nobody else can get its pid or its session.
        if self.p.returncode is None:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
            self.p.wait()
        for stream in (self.p.stdin, self.p.stdout, self.p.stderr):
            if stream:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass


class Profile:
    """What a run of extprof gave."""

    def __init__(self, status, out, err, path):
        self.status, self.out, self.err, self.path = status, out, err, path

    def ok(self):
        check(self.status == 0, "extprof ended with status %d: %s", self.status, self.err.strip()[-500:])
        return self

    @property
    def sums(self):
        return folded.Sums(self.out)

    @property
    def stacks(self):
        with open(self.path, encoding="utf-8") as f:
            return folded.parse(f.read())


class Context:
    def __init__(self, directory):
        self.directory = directory
        self.processes = []
        self.reader_options = {}  # of Popen, for each extprof that is started
        # extprof attaches to all places of a probe by one link, as of Linux 6.6.
        self.one_link = tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 6)

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def start(self, argv, env=None, **options):
        """Unless told otherwise, what it says on stderr goes to a file: see complaints."""
        with open(self.path("stderr"), "ab") as stderr:
            p = Process([str(a) for a in argv], env, **{"stderr": stderr, **options})
        self.processes.append(p)
        return p

    def ruby(self, *args, ruby=None, **options):
        """A ruby without gems: quicker to start, and its stacks are ours."""
        return self.start([ruby or RUBY, "--disable=gems", "-W0", *args], **options)

    def program(self, name, *args, flags=(), **options):
        return self.ruby(*flags, os.path.join(PROGRAMS, name), *args, **options)

    def extprof_start(self, *args, **options):
        options = {"stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **self.reader_options, **options}
        # Without -o a recording is written there.
        if args and args[0] == "record" and "-o" not in args:
            options.setdefault("cwd", self.directory)
        return self.start([EXTPROF, *args], **options)

    def extprof(self, *args, timeout=60, **options):
        """Run it to its end; any status."""
        path = next((args[i + 1] for i, a in enumerate(args) if a == "-o"), None)
        return self.profile_of(self.extprof_start(*args, **options), timeout, path)

    def profile_of(self, reader, timeout=60, path=None):
        """What an extprof that was started gives at its end; any status."""
        out, err = reader.communicate(timeout)
        return Profile(reader.p.returncode, out, err, path or self.path("out.folded"))

    def profile(self, pid, *args, seconds=1, rate=5000, timeout=None):
        """Profile a process for some seconds: lines told apart, folded."""
        return self.extprof("-p", pid, "-d", seconds, "-F", rate, "-l", *args,
                            "-o", self.path("out.folded"), timeout=timeout or seconds + 30).ok()

    def attached(self, p, timeout=15):
        """Wait until an extprof has its timers running."""
        timeout *= PATIENCE
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if p.p.poll() is not None:
                raise Failed("extprof ended with status %d: %s" % (p.p.returncode, p.communicate()[1][-500:]))
            # It starts the timers before it waits for the first time.
            if timers(p.pid) and waits(p.pid):
                return
            time.sleep(0.02)
        raise Failed("extprof has not started its timers after %d s" % timeout)

    def without_one_link(self):
        """extprof attaches to each place of a probe by a perf event, as on older kernels."""
        self.reader_options["preexec_fn"] = seccomp.without_uprobe_multi
        self.one_link = False

    def check_links(self, reader):
        kinds = links(reader.pid)
        check(("uprobe_multi" in kinds) == self.one_link, "the program is attached by %s", kinds)

    def complaints(self):
        """The end of what the case's programs said on stderr."""
        try:
            with open(self.path("stderr"), encoding="utf-8", errors="backslashreplace") as f:
                return f.read()[-600:].rstrip()
        except OSError:
            return ""

    def close(self):
        for p in reversed(self.processes):
            p.kill()
        kill_marked()


def timers(pid):
    """How many perf events the process has open, and BPF programs attached."""
    n = 0
    try:
        for fd in os.listdir("/proc/%d/fd" % pid):
            try:
                n += os.readlink("/proc/%d/fd/%s" % (pid, fd)).endswith(("[perf_event]", "bpf_link"))
            except OSError:
                pass
    except OSError:
        pass
    return n


def links(pid):
    """The kinds of the links that attach BPF programs for the process."""
    kinds = []
    for fd in os.listdir("/proc/%d/fdinfo" % pid):
        try:
            with open("/proc/%d/fdinfo/%s" % (pid, fd)) as f:
                kinds += [line.split()[1] for line in f if line.startswith("link_type:")]
        except OSError:
            pass
    return kinds


def state(pid):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rpartition(")")[2].split()[0]


def children(pid):
    """The processes that its first thread has made, and that have not been waited for."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(child) for child in f.read().split()]


def cpu_clock(pid):
    """The clock of a process's CPU time, as clock_getcpuclockid(3)."""
    return (~pid << 3) | 2


def cpu_used(pid):
    """CPU time of all threads that the process has had, s."""
    return time.clock_gettime(cpu_clock(pid))


def worked(pid, seconds, timeout=20):
    """Wait until the process has used so much more CPU time: a busy machine makes that last longer, and no less is done then."""
    till = cpu_used(pid) + seconds
    until(lambda: cpu_used(pid) >= till, "it has not worked for %.2f s" % seconds, timeout)


def runs_of(pid, names=()):
    """{thread: (its state, how many times it has had a CPU)} of a process, of all threads or of those with these names."""
    found = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/stat" % (pid, tid)) as f, open("/proc/%d/task/%s/schedstat" % (pid, tid)) as runs:
                name, _, rest = f.read().partition("(")[2].rpartition(")")
                if not names or name in names:
                    found[tid, name] = rest.split()[0], runs.read().split()[2]
        except OSError:
            continue
    return found


def at_rest(pid, *names):
    """Wait until the threads of these names, or all, sleep where they stay: between two looks none of them has run."""
    def rests():
        before = runs_of(pid, names)
        time.sleep(0.05)
        return (before == runs_of(pid, names) and all(state == "S" for state, _ in before.values()) and
                {*names} <= {name for _, name in before} and before)
    until(rests, lambda: "the threads do not rest: %s" % runs_of(pid))


def stolen():
    """The seconds in which the hypervisor gave our CPUs to others, if it tells that."""
    with open("/proc/stat") as f:
        return int(f.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def until(reached, otherwise, timeout=15):
    timeout *= PATIENCE
    end = time.monotonic() + timeout
    while not reached():
        if time.monotonic() >= end:
            raise Failed("after %d s %s" % (timeout, otherwise() if callable(otherwise) else otherwise))
        time.sleep(0.005)


def waits(pid):
    """Does the process sleep in epoll_wait? Not in poll, which only looks."""
    try:
        sleeps = state(pid) == "S"
        with open("/proc/%d/syscall" % pid) as f:
            number = f.read().split()[0]
    except OSError:
        return False
    return sleeps and number in (("232", "281", "441") if os.uname().machine == "x86_64" else ("22", "441"))


def prefer(pid):
    """Give the process a CPU before others, where that is permitted: within its session by its priority, and
    against other sessions by the priority of its session's group."""
    try:
        os.setpriority(os.PRIO_PROCESS, pid, -20)
        with open("/proc/%d/autogroup" % pid, "w") as f:
            f.write("-20")
    except OSError:
        pass


def wait_for_peak(pid):
    """Wait for the end of a child: (its wait status, the most memory that it had in use, in bytes). What wait4
    tells would be that of this process too, of which the child was a copy before it executed its program."""
    most = 0
    while True:
        try:
            with open("/proc/%d/status" % pid) as f:
                most = max(most, *(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM:")), 0)
        except OSError:
            pass
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status, most
        time.sleep(0.01)


def rate(wanted):
    """The wanted rate, or the highest that the kernel accepts."""
    try:
        with open("/proc/sys/kernel/perf_event_max_sample_rate") as f:
            return min(wanted, int(f.read()))
    except OSError:
        return wanted
