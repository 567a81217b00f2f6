"""The power of root that extprof keeps: of each command the capabilities that docs/security.md has, no way to more, and for a
command that extprof starts all that it would have without."""
import errno
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import harness
import seccomp
from harness import case, check, until

CAPS = {"chown": 0, "dac_override": 1, "dac_read_search": 2, "fowner": 3, "kill": 5, "setgid": 6, "setuid": 7, "setpcap": 8,
        "sys_ptrace": 19, "sys_admin": 21, "sys_resource": 24, "syslog": 34, "perfmon": 38, "bpf": 39, "checkpoint_restore": 40}
FILES = ("chown", "dac_override", "dac_read_search", "fowner")
PROCESSES = FILES + ("sys_ptrace", "checkpoint_restore", "setuid", "setgid")
KERNEL = PROCESSES + ("bpf", "perfmon", "syslog")
USER, GROUP = 65534, 65534
SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
PROGRAM = 'def hot = 1000.times { }\n$stdout.puts "ready"; $stdout.flush\nloop { hot }'
F_SETPIPE_SZ = 1031


def mask(names):
    return sum(1 << CAPS[n] for n in set(names))


def powers(pid):
    """{what: its values in the threads of the process}, of capabilities and the like."""
    found = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/status" % (pid, tid), errors="replace") as f:
                for line in f:
                    key, _, value = line.partition(":")
                    if key in SETS:
                        found.setdefault(key, set()).add(int(value, 16))
                    elif key in ("NoNewPrivs", "Seccomp", "Uid", "Gid", "Groups"):
                        found.setdefault(key, set()).add(value.strip())
        except OSError:
            pass
    return found


def own():
    return next(iter(powers(os.getpid())["CapPrm"]))


def has_tracefs():
    return any(os.path.isdir("/sys/kernel/%s/events" % d) for d in ("tracing", "debug/tracing"))


def refused(type, pid, cpu):
    """Does perf refuse an event of that type to who has CAP_PERFMON without CAP_SYS_ADMIN?"""
    script = ("import ctypes, struct\n"
              "attr = ctypes.create_string_buffer(struct.pack('IIQQ', %d, 128, 0, 1000000000), 128)\n"
              "libc = ctypes.CDLL(None, use_errno=True)\n"
              "print(libc.syscall(%d, attr, %d, %d, -1, 8), ctypes.get_errno())" % (type, seccomp.PERF_EVENT_OPEN, pid, cpu))
    said = subprocess.run(["setpriv", "--bounding-set=-sys_admin", sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return int(said.split()[0]) < 0 and int(said.split()[1]) in (errno.EACCES, errno.EPERM)


def probes_are_refused():
    with open("/sys/bus/event_source/devices/uprobe/type") as f:
        return refused(int(f.read()), -1, 0)


def kernel(ctx):
    """What programs in the kernel need here: some kernels want CAP_SYS_ADMIN for timers, and for probes without uprobe_multi."""
    return KERNEL + (("sys_admin",) if refused(1, 0, -1) or (not ctx.one_link and probes_are_refused()) else ())


def has_given_up(pid):
    """It can gain nothing any more: that is the last that it gives up.  Or it has ended."""
    return not os.path.exists("/proc/%d" % pid) or powers(pid).get("NoNewPrivs") == {"1"}


def of_process(what, pid, names):
    wanted = mask(names) & own()
    got = powers(pid)
    check(got.get("CapPrm") == {wanted} and got["CapEff"] == {wanted}, "%s: has %s, and is to have %x", what,
          {k: ["%x" % v for v in got.get(k, ())] for k in SETS}, wanted)
    for key in ("CapInh", "CapBnd", "CapAmb"):
        check(got[key] == {0}, "%s: %s is %s", what, key, got[key])
    check(got["NoNewPrivs"] == {"1"}, "%s: no_new_privs is %s", what, got["NoNewPrivs"])


def helpers(pid):
    """Processes that extprof has made, its command left out."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        children = [int(p) for p in f.read().split()]
    found = []
    for child in children:
        try:
            with open("/proc/%d/comm" % child) as f:
                if f.read().startswith("extprof-"):
                    found.append(child)
        except OSError:
            pass
    return found


def of_reader(what, reader, names):
    of_process(what, reader.pid, names)
    for helper in helpers(reader.pid):
        try:
            got = powers(helper)
        except FileNotFoundError:
            # It has ended since.
            continue
        for key in ("CapPrm", "CapEff"):
            check(all(not v & ~mask(names) for v in got.get(key, ())), "%s: a helper has more: %s", what, got)


@case(timeout=180)
def each_mode(ctx):
    """While it records, in each thread, and in its helpers."""
    check(os.geteuid() == 0, "this needs root")
    most = kernel(ctx)
    ruby = ctx.ruby("-e", PROGRAM)
    ruby.expect("ready")
    admin = () if has_tracefs() else ("sys_admin",)
    runs = [(("record", "-q", "-m", mode), most) for mode in ("cpu", "wall", "offcpu", "gvl", "alloc", "gc", "heap", "syscall")]
    runs += [(("record", "-q", "-e", "page-faults"), most + admin), (("record", "-q", "-n"), most),
             (("record", "-q", "--sources"), most), (("record", "-q", "--timer", "tick"), most),
             (("record", "-q", "-m", "gc,alloc,wall", "--holder"), most),
             (("record", "-q", "--reader", "nonblocking"), PROCESSES), (("record", "-q", "--reader", "stop"), PROCESSES),
             (("top", "-b"), most), (("stat",), most), (("stat", "--reader", "nonblocking"), PROCESSES)]
    for args, names in runs:
        reader = ctx.extprof_start(*args, "-p", ruby.pid)
        until(lambda: harness.waits(reader.pid) or reader.p.poll() is not None, "%s does not wait" % (args,), 30)
        check(reader.p.poll() is None, "%s ended: %s", args, reader.p.poll() is not None and reader.communicate())
        of_reader(" ".join(args), reader, names)
        time.sleep(0.1)
        reader.signal(signal.SIGINT)
        out, err = reader.communicate()
        # In 0.1 s there may be nothing to show.
        check(reader.p.returncode in (0, 1, -signal.SIGINT, 130), "%s: status %d: %s", args, reader.p.returncode, err)
    return "%d ways to record, each with what it needs" % len(runs)


@case(timeout=60)
def probes_of_older_kernels(ctx):
    """Without links of the kind uprobe_multi CAP_SYS_ADMIN is kept where perf wants it for probes, and the probes work."""
    ctx.without_one_link()
    ruby = ctx.ruby("-e", "def hot = 1000.times { Object.new }\n$stdout.puts :ready; $stdout.flush\nloop { hot }")
    ruby.expect("ready")
    for mode in ("cpu", "alloc"):
        reader = ctx.extprof_start("-m", mode, "-p", ruby.pid, "-o", ctx.path("out.folded"))
        ctx.attached(reader)
        of_reader("-m " + mode, reader, kernel(ctx))
        harness.worked(ruby.pid, 0.2)
        reader.signal(signal.SIGINT)
        out, err = reader.communicate()
        check(reader.p.returncode == 0 and "hot" in out, "-m %s: status %d: %s", mode, reader.p.returncode, err)
    return "perf wants %s for probes" % ("CAP_SYS_ADMIN" if "sys_admin" in kernel(ctx) else "CAP_PERFMON")


@case(timeout=60)
def daemon_and_dump(ctx):
    ctx.write("none.conf", "")
    ruby = ctx.ruby("-e", PROGRAM)
    ruby.expect("ready")
    reader = ctx.extprof_start("daemon", "--config", ctx.path("none.conf"), ctx.path("history"))
    until(lambda: harness.timers(reader.pid) and harness.waits(reader.pid), "the daemon does not record", 30)
    # Its configuration can change.
    names = kernel(ctx) + (() if has_tracefs() else ("sys_admin",))
    of_reader("daemon", reader, names)
    ctx.write("none.conf", "mode = cpu,wall,event\nevent = sched:sched_process_fork\n")
    reader.signal(signal.SIGHUP)
    reader.says("the configuration was read")
    until(lambda: harness.timers(reader.pid) and harness.waits(reader.pid), "it does not record a tracepoint", 30)
    of_reader("daemon with a tracepoint", reader, names)
    reader.signal(signal.SIGTERM)
    out, err = reader.communicate()
    check(reader.p.returncode == 0 and "permission" not in err, "the daemon: status %d: %s", reader.p.returncode, err)
    reader = ctx.extprof_start("dump", "-p", ruby.pid, "--count", 50, "-i", "100ms")
    until(lambda: all(has_given_up(pid) for pid in [reader.pid, *helpers(reader.pid)]), "dump does not begin")
    of_reader("dump", reader, PROCESSES)
    return "the daemon, also after SIGHUP, and a dump that is repeated"


class Full:
    """A pipe that is full: who writes to it stands still."""

    def __init__(self):
        self.read, self.write = os.pipe()
        fcntl.fcntl(self.write, F_SETPIPE_SZ, 4096)
        os.set_blocking(self.write, False)
        try:
            while True:
                os.write(self.write, b"x" * 4096)
        except BlockingIOError:
            pass
        os.set_blocking(self.write, True)

    def drain(self):
        os.close(self.write)
        data = b""
        while True:
            part = os.read(self.read, 65536)
            if not part:
                os.close(self.read)
                return data.lstrip(b"x").decode("utf-8", "replace")
            data += part


def writes(pid):
    try:
        with open("/proc/%d/syscall" % pid) as f:
            return f.read().split()[0] in ("1", "64", "20", "66")
    except (OSError, IndexError):
        return False


@case(timeout=120)
def of_files(ctx):
    """What only reads recordings, and `doctor`: looked at where they write their output."""
    recording, ruby = ctx.path("one.extprof"), ctx.ruby(ctx.write("program.rb", PROGRAM))
    ruby.expect("ready")
    ctx.extprof("record", "-q", "-d", "0.3", "-p", ruby.pid, "--sources", "-o", recording).ok()
    runs = [(("report", recording), FILES, "hot"), (("report", recording, "-f", "folded", "-o", "-"), FILES, "hot"),
            (("diff", recording, recording), FILES, ""), (("annotate", recording, "Object#hot"), FILES, "hot"),
            (("sql", recording, "select count(*) from samples"), FILES, ""), (("verify", recording), FILES, ""),
            (("doctor",), kernel(ctx), "CAP_BPF"), (("dump", "-p", ruby.pid), PROCESSES, "hot")]
    seen = []
    for args, names, says in runs:
        pipe = Full()
        p = ctx.start([harness.EXTPROF, *args], stdout=pipe.write, stderr=subprocess.PIPE, cwd=ctx.directory)
        until(lambda: writes(p.pid) or p.p.poll() is not None, "%s writes nothing" % (args,), 30)
        if p.p.poll() is None:
            of_process(" ".join(map(str, args)), p.pid, names)
            seen.append(args[0])
        out = pipe.drain()
        _, err = p.communicate()
        check(says in out and args[0] in seen, "%s: status %d: %s%s", args, p.p.returncode, out[-300:], err[-300:])
    p = ctx.start([harness.EXTPROF, "mcp"], stderr=subprocess.PIPE)
    until(lambda: powers(p.pid).get("NoNewPrivs") == {"1"}, "mcp keeps its power")
    of_process("mcp", p.pid, FILES)
    p = ctx.start([harness.EXTPROF, "serve", ctx.directory], stderr=subprocess.PIPE)
    check(p.line().startswith("http://127.0.0.1:"), "serve")
    of_process("serve", p.pid, set())
    return "%s, mcp, serve" % ", ".join(sorted(set(seen)))


def lines_of(text):
    return [line for line in text.splitlines() if re.match("Cap|NoNewPrivs|Seccomp|Uid|Gid|Groups", line)]


@case(timeout=60)
def command_has_all(ctx):
    """A command has the capabilities and privileges that it would have without extprof, as root and as who called sudo."""
    show = ["cat", "/proc/self/status"]
    said = []
    for what, env, before, options in (
            ("root", {}, [], []),
            ("with --keep-root", {"SUDO_UID": str(USER), "SUDO_GID": str(GROUP)}, [], ["--keep-root"]),
            ("after sudo", {"SUDO_UID": str(USER), "SUDO_GID": str(GROUP)},
             ["setpriv", "--reuid=%d" % USER, "--regid=%d" % GROUP, "--init-groups"], [])):
        for command in ("record", "top", "stat"):
            more = {"record": ["-q", "-o", ctx.path("own.folded")], "top": ["-b"], "stat": []}[command]
            got = ctx.extprof(command, *more, *options, "--", *show, env=env)
            wanted = subprocess.run(before + show, stdout=subprocess.PIPE, text=True, check=True).stdout
            check(lines_of(got.out) and lines_of(got.out)[:len(lines_of(wanted))] == lines_of(wanted), "%s, %s: %s, not %s", command,
                  what, lines_of(got.out), lines_of(wanted))
        said.append(what)
    return ", ".join(said)


@case(timeout=60)
def command_gains_privileges(ctx):
    """A set-user-id program that the command is, while extprof traces it, becomes root."""
    directory = tempfile.mkdtemp(prefix="extprof-test-", dir="/var/tmp")
    try:
        os.chmod(directory, 0o755)
        program = shutil.copy("/usr/bin/id", directory)
        os.chmod(program, 0o4755)
        plain = subprocess.run(["setpriv", "--reuid=%d" % USER, "--regid=%d" % GROUP, "--clear-groups", program, "-u"],
                               stdout=subprocess.PIPE, text=True, check=True).stdout
        got = ctx.extprof("record", "-q", "-o", ctx.path("own.folded"), "--", program, "-u",
                          env={"SUDO_UID": str(USER), "SUDO_GID": str(GROUP)})
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    check(plain == "0\n", "set-user-id programs have no effect in /var/tmp here: %s", plain)
    check(got.out.startswith("0\n"), "it has user %s: %s", got.out, got.err)
    return "user 0"


@case(timeout=60)
def command_of_another_user_is_ended(ctx):
    """A signal for extprof is passed on to a command that belongs to who called sudo."""
    reader = ctx.extprof_start("record", "-q", "-o", ctx.path("own.folded"), "--", harness.RUBY, "--disable=gems", "-e",
                               'trap(:TERM) { $stdout.puts "told"; $stdout.flush; exit 3 }\n$stdout.puts Process.uid; $stdout.flush\n'
                               "loop { 100.times { } }", env={"SUDO_UID": str(USER), "SUDO_GID": str(GROUP)}, cwd="/")
    reader.expect(str(USER))
    ctx.attached(reader)
    of_reader("record -- COMMAND", reader, kernel(ctx) + ("kill",))
    reader.signal(signal.SIGTERM)
    reader.expect("told")
    reader.communicate()
    return "SIGTERM has come"


@case(timeout=60)
def container_without_ptrace(ctx):
    """As root in a container, without CAP_SYS_PTRACE: processes that have as much as extprof are read, as before. Nothing is given
    back then."""
    without = ["setpriv", "--bounding-set=-sys_ptrace,-sys_admin,-bpf,-perfmon"]
    ruby = ctx.start(without + [harness.RUBY, "--disable=gems", "-e", PROGRAM])
    ruby.expect("ready")
    for args in (("dump",), ("stat", "-d", "0.3", "--reader", "nonblocking"), ("record", "-q", "-d", "0.3", "--reader", "stop", "-o",
                                                                             ctx.path("own.folded"))):
        p = ctx.start(without + [harness.EXTPROF, *args, "-p", ruby.pid], stderr=subprocess.PIPE)
        out, err = p.communicate()
        check(p.p.returncode == 0, "%s: status %d: %s", args, p.p.returncode, err)
    reader = ctx.start(without + [harness.EXTPROF, "record", "-q", "--reader", "nonblocking", "-o", ctx.path("own.folded"), "-p",
                                  ruby.pid], stderr=subprocess.PIPE)
    until(lambda: harness.waits(reader.pid), "it does not record")
    got = powers(reader.pid)
    left = own() & ~mask(("sys_ptrace", "sys_admin", "bpf", "perfmon"))
    check(got["CapPrm"] == {left} and got["CapBnd"] == {0} and got["NoNewPrivs"] == {"1"}, "%s", got)
    reader.signal(signal.SIGINT)
    reader.communicate()
    return "dump, stat and record of another root"


@case(timeout=90)
def three_capabilities(ctx):
    """CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE alone, of a program of another user; the first two, of one of the same user."""
    directory = tempfile.mkdtemp(prefix="extprof-test-", dir="/tmp")
    modes = [("cpu", "hot"), ("wall", "rests"), ("syscall", "rests")]
    if ctx.one_link or not probes_are_refused():
        modes += [("gc", "hot"), ("alloc", "hot")]
    try:
        os.chmod(directory, 0o777)
        extprof = shutil.copy(harness.EXTPROF, directory)
        for user, names in ((1, "+bpf,+perfmon,+sys_ptrace"), (USER, "+bpf,+perfmon")):
            only = ["setpriv", "--reuid=%d" % USER, "--regid=%d" % GROUP, "--clear-groups", "--bounding-set=-all," + names,
                    "--inh-caps=-all," + names, "--ambient-caps=-all," + names]
            ruby = ctx.start(["setpriv", "--reuid=%d" % user, "--regid=%d" % (1 if user == 1 else GROUP), "--clear-groups", harness.RUBY,
                              "--disable=gems", "-e", "def hot = 1000.times { Object.new }\ndef rests = sleep(0.001)\n"
                              "$stdout.puts :ready; $stdout.flush\nloop { hot; rests }"], cwd="/")
            ruby.expect("ready")
            for mode, method in modes:
                p = ctx.start(only + [extprof, "-d", "0.5", "-m", mode, "-p", ruby.pid, "-o",
                                      os.path.join(directory, "%s-%d.folded" % (mode, user))], stderr=subprocess.PIPE, cwd=directory)
                out, err = p.communicate()
                check(p.p.returncode == 0 and method in out and "read from outside" not in err, "%s: status %d: %s%s", mode,
                      p.p.returncode, out[-300:], err)
            # Files are opened with the rights of the process.
            path = os.path.join(directory, "native-%d.folded" % user)
            p = ctx.start(only + [extprof, "-d", "0.5", "-F", "997", "--native", "-p", ruby.pid, "-o", path], stderr=subprocess.PIPE, cwd=directory)
            out, err = p.communicate()
            with open(path) as f:
                text = f.read()
            refused = "[truncated: no permission to read the file of a native function]" in text
            check(p.p.returncode == 0 and "hot" in text and refused == (user == 1), "native: status %d: %s%s", p.p.returncode, text[-500:], err)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return "modes %s of another user, and of the same user" % ", ".join(mode for mode, _ in modes)
