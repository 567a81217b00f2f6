"""What cannot work says so on stderr, says what to do, and has an exit status of its own."""
import os
import shutil
import subprocess
import sys
import tempfile

import harness
import native
import seccomp
from binaries import Binary
from case_lifecycle import BUSY
from elf import NOTE_OWNER, SECTION_NAME, SYMBOL_NAME
from harness import case, check

NOBODY = 65534
RUBYSTACK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/rubystack.py")


def fails(ctx, status, *args, says=(), **options):
    """extprof must end with that status and say that, without any output."""
    profile = ctx.extprof(*args, timeout=30, **options)
    check(profile.status == status, "extprof %s: status %d, not %d: %s%s", " ".join(map(str, args)),
          profile.status, status, profile.out[-300:], profile.err[-500:])
    for word in says:
        check(word.lower() in profile.err.lower(), "extprof %s: no word of %r in: %s", " ".join(map(str, args)),
              word, profile.err)
    check(profile.err.strip() and profile.out == "", "output: %r %r", profile.out[-300:], profile.err)
    return profile


@case(timeout=30, bpf=False, patient=True)
def usage(ctx):
    cases = [(), ("--no-such-option", "-p", "1"), ("-p",), ("-p", "x"), ("-p", "-1"), ("-p", "0"),
             ("-p", "1", "-F", "0"), ("-p", "1", "-F", "-5"), ("-p", "1", "-F", "x"),
             ("-p", "1", "-F", "1000000000"), ("-p", "1", "-F", "1.5"), ("-p", "1", "-r", "0x10"),
             ("-p", "1", "-d", "0"), ("-p", "1", "-d", "x"), ("-p", "1", "-d", "-1"),
             ("-p", "1", "-o", "x", "-f", "nothing"), ("-p", "1", "-o", "x"), ("-p", "1", "-o", "x.gif"), ("-p", "1", "--", "ruby"), ("record",),
             ("-p", "1", "-f", "folded")]
    for args in cases:
        fails(ctx, harness.USAGE, *args)
    return "%d ways" % len(cases)


@case(timeout=30, bpf=False, patient=True)
def no_such_process(ctx):
    with open("/proc/sys/kernel/pid_max") as f:
        pid_max = int(f.read())
    fails(ctx, harness.NO_PROCESS, "-p", min(pid_max, 4194304), says=["no such process"])
    zombie = ctx.start(["true"])
    harness.until(lambda: harness.state(zombie.pid) == "Z", "true has not ended")
    fails(ctx, harness.NO_PROCESS, "-p", zombie.pid, says=["ended"])
    ruby = ctx.ruby("-e", "Thread.new { puts Thread.current.native_thread_id; $stdout.flush; sleep }.join")
    tid = int(ruby.line())
    fails(ctx, harness.NO_PROCESS, "-p", tid, says=["thread", str(ruby.pid)])
    return "no process, a zombie, a thread"


@case(timeout=30, bpf=False, patient=True)
def not_a_ruby(ctx):
    sleep = ctx.start(["sleep", "60"])
    harness.until(lambda: os.readlink("/proc/%d/exe" % sleep.pid).endswith("sleep"), "it is not sleep yet")
    fails(ctx, harness.NOT_RUBY, "-p", sleep.pid, says=["not a ruby", "sleep"])
    # In a container there may be no kernel thread to be seen.
    kernel = kernel_thread()
    if kernel:
        fails(ctx, harness.NOT_RUBY, "-p", kernel, says=["not a ruby", "kernel"])
    return "sleep" + (", a kernel thread" if kernel else "")


def kernel_thread():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as f:
                if int(f.read().rpartition(")")[2].split()[6]) & 0x200000:  # PF_KTHREAD
                    return pid
        except OSError:
            continue
    return None


@case(timeout=60, bpf=False, patient=True)
def ruby_without_the_interface(ctx):
    """A stock ruby: made from the tested one, and the machine's own if there is one."""
    binary = Binary(ctx)
    binary.elf().without(NOTE_OWNER, SYMBOL_NAME, SECTION_NAME).save()
    rubies = [binary.ruby] + [p for p in ("/usr/bin/ruby",) if os.path.exists(p)]
    for path in rubies:
        ruby = ctx.start([path, "--disable=gems", "-e", "puts 'ready'; $stdout.flush; sleep"],
                         env=binary.env if path == binary.ruby else None)
        ruby.expect("ready")
        fails(ctx, harness.NO_INTERFACE, "-p", ruby.pid, says=["interface", "build"])
    return ", ".join(map(os.path.basename, rubies))


@case(timeout=90, bpf=False, patient=True)
def little_address_space(ctx):
    """Under ulimit -v a ruby starts without the interface, where it has too little room for both, and extprof says so."""
    seen = []
    for mib in range(40, 97, 4):
        ruby = ctx.start(["prlimit", "--as=%d" % (mib << 20), "--core=0", harness.RUBY, "--disable=gems", "-W0", "-e",
                          "puts 'ready'; $stdout.flush; sleep"])
        try:
            ruby.expect("ready", 5)
        except harness.Failed:
            ruby.kill()
            continue
        seen.append(ctx.extprof("dump", "-p", ruby.pid))
        if seen[-1].status:
            fails(ctx, harness.NO_INTERFACE, "-p", ruby.pid, says=["address space", "ulimit -v"])
            other = subprocess.run([sys.executable, RUBYSTACK, str(ruby.pid)], capture_output=True, text=True, timeout=60)
            check(other.returncode and "ulimit -v" in other.stderr, "rubystack.py: %s", other)
        ruby.kill()
    statuses = [d.status for d in seen]
    check(sorted(set(statuses), reverse=True) == [harness.NO_INTERFACE, 0] and statuses == sorted(statuses, reverse=True),
          "statuses of dump: %s", statuses)
    return "with %d of %d limits there was none" % (statuses.count(harness.NO_INTERFACE), len(seen))


@case(timeout=60, bpf=False, patient=True)
def switched_off(ctx):
    """RUBY_EXTERNAL_DEBUG=0: the ruby runs, and is not to be read. Another value changes nothing."""
    for value, status in (("0", harness.NO_INTERFACE), ("1", 0), ("", 0)):
        ruby = ctx.start([harness.RUBY, "--disable=gems", "-e", "puts 'ready'; $stdout.flush; sleep"],
                         env={"RUBY_EXTERNAL_DEBUG": value})
        ruby.expect("ready")
        if status:
            fails(ctx, status, "-p", ruby.pid, says=["RUBY_EXTERNAL_DEBUG=0"])
            other = subprocess.run([sys.executable, RUBYSTACK, str(ruby.pid)], capture_output=True, text=True, timeout=60)
            check(other.returncode and "RUBY_EXTERNAL_DEBUG=0" in other.stderr, "rubystack.py: %s", other)
        dump = ctx.extprof("dump", "-p", ruby.pid)
        check(dump.status == status, "%r: status %d: %s", value, dump.status, dump.err)
        ruby.kill()


# One mapping of this size fails: that of the tables of threads, ECs and ractors.
REFUSES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *(*real)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
	if (size != strtoul(getenv("REFUSED"), NULL, 10))
		return real(at, size, prot, flags, fd, offset);
	if (write(2, "refused\n", 8) != 8)
		abort();
	errno = ENOMEM;
	return MAP_FAILED;
}
"""


@case(timeout=60, bpf=False, patient=True)
def tables_that_get_no_memory(ctx):
    """Without a table there is no interface: no process says that it can be read and has no threads."""
    refuses = native.library(ctx, REFUSES)
    for size in (3 * 65536 * 8, 1024 * 64):
        path = ctx.path("refused-%d" % size)
        with open(path, "w") as refused:
            ruby = ctx.start([harness.RUBY, "--disable=gems", "-e", "puts 'ready'; $stdout.flush; sleep"], stderr=refused,
                             env={"LD_PRELOAD": refuses, "REFUSED": str(size)})
            ruby.expect("ready")
        with open(path) as refused:
            check("refused" in refused.read(), "no mapping of %d bytes was asked for", size)
        fails(ctx, harness.NO_INTERFACE, "-p", ruby.pid, says=["no memory"])
        other = subprocess.run([sys.executable, RUBYSTACK, str(ruby.pid)], capture_output=True, text=True, timeout=60)
        check(other.returncode and "no memory" in other.stderr, "rubystack.py: %s", other)
        ruby.kill()


@case(timeout=60, bpf=False, patient=True)
def other_versions(ctx):
    binary = Binary(ctx)
    original = binary.changed + ".original"
    shutil.copy(binary.changed, original)
    for change, says in ((lambda e: e.with_version(2, 0), ["version 2"]),
                         (lambda e: e.with_magic(b"NOTMAGIC"), [])):
        shutil.copy(original, binary.changed)
        change(binary.elf()).save()
        ruby = ctx.start([binary.ruby, "--disable=gems", "-e", BUSY + "sleep"], env=binary.env)
        ruby.expect("ready")
        status = harness.VERSION if says else harness.NO_INTERFACE
        fails(ctx, status, "-p", ruby.pid, says=says)
        ruby.kill()
    return "major version 2, another magic"


@case(timeout=60, bpf=False, patient=True)
def output(ctx):
    ruby = ctx.ruby("-e", BUSY + "sleep")
    ruby.expect("ready")
    kept = ctx.write("kept.folded", "as it was\n")
    for path in (ctx.path("nothing/out.folded"), "/proc/self/out.folded", ctx.directory):
        fails(ctx, harness.OUTPUT, "-p", ruby.pid, "-d", "1", "-o", path, "-f", "folded", says=["cannot write", path])
    # When there is no profile, the old file stays.
    fails(ctx, harness.NO_PROCESS, "-p", 4194304, "-o", kept)
    with open(kept) as f:
        check(f.read() == "as it was\n", "the output was changed by a failure")
    left = sorted(os.listdir(ctx.directory))
    check(set(left) <= {"kept.folded", "stderr"}, "files left: %s", left)
    return "no directory, a directory, /proc; an old file stays"


@case(timeout=60, patient=True)
def output_full(ctx):
    """Each write that fails names what it could not write, and why."""
    ruby = ctx.ruby("-e", BUSY + "busy_method while true")
    ruby.expect("ready")
    full = open("/dev/full", "wb")
    said = []
    # A small profile fails when it is flushed, a large one before.
    for name, says, options in (
            ("/dev/full", "/dev/full", ["-f", "folded"]),
            ("/dev/full", "/dev/full", ["-f", "flamegraph"]),
            ("-", "standard output", ["-f", "folded", "-q"]),
            ("-", "standard output", ["-f", "flamegraph", "-q"]),
            (ctx.path("out.folded"), "standard output", [])):
        p = ctx.extprof_start("-p", ruby.pid, "-d", "0.2", "-F", "997", "-o", name, *options, stdout=full)
        err = p.communicate(30)[1]
        check(p.p.returncode == harness.OUTPUT, "%s: status %d: %s", name, p.p.returncode, err)
        check("cannot write" in err and says + ": No space left on device" in err, "%s: %s", name, err)
        said.append(err.strip().removeprefix("extprof: "))
    full.close()
    return "; ".join(sorted(set(said)))


def unprivileged(ctx, directory, *args, status, says):
    reader = os.path.join(directory, "extprof")
    shutil.copy(harness.EXTPROF, reader)
    os.chmod(reader, 0o755)
    p = ctx.start([reader, *args], user=NOBODY, group=NOBODY, extra_groups=[], cwd=directory,
                  stderr=subprocess.PIPE)
    out, err = p.communicate(30)
    check(p.p.returncode == status, "as nobody: status %d, not %d: %s%s", p.p.returncode, status, out, err)
    for word in says:
        check(word in err, "as nobody: no word of %r in: %s", word, err)


@case(timeout=60, patient=True)
def unprivileged_user(ctx):
    check(os.geteuid() == 0, "this needs root, to become somebody else")
    binary_directory = tempfile.mkdtemp(prefix="extprof-test-", dir="/tmp")
    os.chmod(binary_directory, 0o755)
    try:
        binary = Binary(ctx, binary_directory)
        # A process of another user: extprof may not even look at it.
        others = ctx.ruby("-e", BUSY + "sleep")
        others.expect("ready")
        unprivileged(ctx, binary_directory, "-p", str(others.pid), "-d", "1", status=harness.PERMISSION,
                     says=["permission", "CAP_SYS_PTRACE"])
        # A process of the same user: extprof may look at it, but may not use BPF.
        own = ctx.start([binary.ruby, "--disable=gems", "-e", BUSY + "sleep"], env=binary.env, user=NOBODY,
                        group=NOBODY, extra_groups=[], cwd=binary_directory)
        own.expect("ready")
        unprivileged(ctx, binary_directory, "-p", str(own.pid), "-d", "1", "--reader", "ebpf", status=harness.PERMISSION,
                     says=["permission", "CAP_BPF", "CAP_PERFMON"])
        # Without BPF it is read from outside, but for modes that need BPF.
        unprivileged(ctx, binary_directory, "-p", str(own.pid), "-d", "1", status=0,
                     says=["no permission to load a BPF program", "--reader nonblocking"])
        unprivileged(ctx, binary_directory, "-p", str(own.pid), "-d", "1", "-m", "alloc", status=harness.PERMISSION,
                     says=["permission", "CAP_BPF", "CAP_PERFMON"])
    finally:
        shutil.rmtree(binary_directory, ignore_errors=True)
    return "another user's process, its own process"


@case(timeout=60, patient=True)
def forbidden_to_root(ctx):
    """A user who has all capabilities is not told to become root."""
    ruby = ctx.ruby("-e", BUSY + "sleep")
    ruby.expect("ready")
    said = []
    for call, says in ((seccomp.BPF, "load a BPF program"), (seccomp.PERF_EVENT_OPEN, "open perf events")):
        p = ctx.extprof_start("-p", ruby.pid, "-d", "1", "--reader", "ebpf", preexec_fn=lambda: seccomp.forbid(call))
        err = p.communicate(30)[1]
        check(p.p.returncode == harness.PERMISSION, "status %d: %s", p.p.returncode, err)
        check("no permission to " + says in err and "seccomp" in err and "as root" not in err, err)
        said.append(err.splitlines()[0])
        p = ctx.extprof_start("-p", ruby.pid, "-d", "1", preexec_fn=lambda: seccomp.forbid(call))
        err = p.communicate(30)[1]
        check(p.p.returncode == 0 and "no permission to " + says in err and "--reader nonblocking" in err, "status %d: %s",
              p.p.returncode, err)
    return "; ".join(said)


@case(timeout=30, patient=True)
def an_idle_process(ctx):
    """No samples at all is an answer and no error. extprof says why there are none."""
    ruby = ctx.ruby("-e", BUSY + "sleep")
    ruby.expect("ready")
    profile = ctx.extprof("-p", ruby.pid, "-d", 1, "-o", ctx.path("out.folded"))
    check(profile.status in (0, 1), "status %d: %s", profile.status, profile.err)
    check(os.path.exists(profile.path) == (profile.status == 0), "status %d: %s", profile.status, profile.err)
    check(profile.status == 0 or not profile.sums.taken, profile.sums.text)
    check("no CPU time" in profile.err or profile.sums.taken > 0, "it does not say why: %s", profile.err)
    return profile.sums.text


@case(timeout=30, bpf=False, patient=True)
def help_and_version(ctx):
    for option, word in (("--help", "-p"), ("--usage", "--pid"), ("--version", "1.0")):
        profile = ctx.extprof(option)
        check(profile.status == 0 and word in profile.out, "%s: status %d: %s", option, profile.status,
              profile.out)
