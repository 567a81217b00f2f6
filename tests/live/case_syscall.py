"""Mode syscall: each call is shown once, in the thread that makes it, and takes as long as the program says."""
import os
import re
import shutil
import signal
import subprocess
import sys

import harness
import native
from case_graph import YJIT
from harness import USAGE, case, check

# By hand: EXTPROF_TURNS=100000 tests/live/run syscall
TURNS = int(os.environ.get("EXTPROF_TURNS") or 5000)
LEFT, RIGHT = ["Object#z", "Object#y", "Object#x"], ["Object#c", "Object#b", "Object#a"]




def start(ctx, p, *args):
    reader = ctx.extprof_start("-p", p.pid, *args, "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    return reader


def end(ctx, reader):
    reader.signal(signal.SIGINT)
    return ctx.profile_of(reader, path=ctx.path("out.folded")).ok()


def calls_of(profile, name):
    return [s for s in profile.stacks if s.frames[-1].label == "[%s]" % name]


def has(stack, labels):
    return any(label in labels for label in stack.labels())


def in_order(stack, labels):
    found = stack.labels()
    return labels in [found[i:i + len(labels)] for i in range(len(found))]


def total(stacks):
    return sum(s.count for s in stacks)


def hard_case(ctx, flags, *args):
    # With several arenas, libc's free() opens a file in /proc now and then, in any thread.
    p = ctx.program("syscalls.rb", *args, flags=flags, env={"MALLOC_ARENA_MAX": "1"})
    p.expect("ready")
    reader = start(ctx, p, "--syscall", "openat")
    p.tell(str(TURNS))
    p.expect("done", timeout=120)
    profile = end(ctx, reader)
    sums = profile.sums
    opens = calls_of(profile, "openat")
    check(total(profile.stacks) == total(opens), "other calls than openat are shown")
    for s in opens:
        check(not has(s, RIGHT), "an openat is shown below the thread that only writes: %s", s.text)
        check(in_order(s, LEFT) or s.native, "an openat is not below z, y, x: %s", s.text)
    mine = total(s for s in opens if in_order(s, LEFT))
    check(mine + sums.lost == TURNS, "%d of %d calls of openat are shown, %d are lost", mine, TURNS, sums.lost)
    check(sums.balanced and sums.taken == total(opens) + sums.lost, "the sums are wrong: %s", sums.text)
    return "%d calls, each below z, y, x; %d lost" % (mine, sums.lost)


@case(timeout=300)
def openat_interpreter(ctx):
    return hard_case(ctx, ())


@case(timeout=300)
def openat_with_pid_yjit(ctx):
    return hard_case(ctx, YJIT, "pid")


@case(timeout=300)
def write_and_strace(ctx):
    """strace counts the same calls at the same time."""
    p = ctx.program("syscalls.rb", flags=YJIT)
    p.expect("ready")
    counts = ctx.path("counts")
    strace = None
    if shutil.which("strace"):
        strace = ctx.start(["strace", "-f", "-c", "-U", "name,calls", "-o", counts, "-e", "trace=write", "-p", p.pid],
                           stderr=subprocess.PIPE)
        while b"attached" not in strace.p.stderr.readline():
            check(strace.p.poll() is None, "strace ended")
    reader = start(ctx, p, "--syscall", "write")
    p.tell(str(TURNS // 5))
    p.expect("done", timeout=120)
    profile = end(ctx, reader)
    if strace:
        strace.signal(signal.SIGINT)
        strace.communicate()
    writes = calls_of(profile, "write")
    check(total(profile.stacks) == total(writes), "other calls than write are shown")
    # The VM writes as well, to wake its timer, in any thread: by write only, not in IO#write of the other one.
    for s in writes:
        check(not has(s, LEFT) or "IO#write" not in s.labels(), "IO#write is shown below z, y, x: %s", s.text)
        check("IO#write" not in s.labels() or in_order(s, RIGHT), "IO#write is not below c, b, a: %s", s.text)
    mine = total(s for s in writes if in_order(s, RIGHT) and s.frames[-2].label == "IO#write")
    check(mine + profile.sums.lost >= TURNS // 5, "%d of %d calls of write are shown", mine, TURNS // 5)
    if not strace:
        return "%d calls below c, b, a; there is no strace to compare them with" % mine
    with open(counts) as f:
        theirs = int(re.search(r"^write +(\d+)", f.read(), re.MULTILINE).group(1))
    check(theirs == profile.sums.taken, "strace counted %d writes, extprof %d", theirs, profile.sums.taken)
    return "%d calls below c, b, a; of the process %d, by strace %d" % (mine, profile.sums.taken, theirs)


@case(timeout=120)
def one_in_ten(ctx):
    """-c 10: a call in ten is a sample, and counts as ten. The program makes one kind of call after the other in turns, so a
    choice by their order would show one of them alone."""
    n = 50000
    ruby = ctx.ruby("--disable=gems", "-e", """
require "fiddle"
calls = 2.times.map { Fiddle::Function.new(Fiddle.dlopen(nil)["syscall"], [Fiddle::TYPE_LONG], Fiddle::TYPE_LONG) }
puts "ready"; $stdout.flush
n = $stdin.gets.to_i
n.times { calls[0].call(%d); calls[1].call(%d) }
puts "done"; $stdout.flush; $stdin.gets
""" % ((39, 110) if os.uname().machine == "x86_64" else (172, 173)))
    ruby.expect("ready")
    reader = start(ctx, ruby, "--syscall", "getpid,getppid", "-c", "10")
    ruby.tell(str(n))
    ruby.expect("done", timeout=100)
    profile = end(ctx, reader)
    check("(1 of 10)" in profile.out, "%s", profile.out)
    check(profile.sums.taken * 10 == total(profile.stacks) + 10 * profile.sums.lost, "%s of %s", total(profile.stacks), profile.sums.text)
    for name in ("getpid", "getppid"):
        seen = total(calls_of(profile, name)) + 10 * profile.sums.lost
        check(abs(seen - n) < 5 * 10 * (n / 10) ** 0.5 + 10 * profile.sums.lost, "%s: %d of %d calls", name, seen, n)
    run = ctx.extprof("record", "-p", ruby.pid, "--syscall", "getpid", "-c", "10", "--latency", "-d", "1")
    check(run.status == USAGE and "--latency" in run.err, "%d %s", run.status, run.err)
    return "%d and %d of %d" % (*(total(calls_of(profile, name)) for name in ("getpid", "getppid")), n)


@case(timeout=60)
def latency(ctx):
    p = ctx.program("durations.rb")
    p.expect("ready")
    fifo = ctx.path("fifo")
    os.mkfifo(fifo)
    reader = start(ctx, p, "--latency", "--unit", "ns", "--syscall", "all")
    p.tell(fifo)
    own = int(p.line())
    p.expect("done")
    profile = end(ctx, reader)
    naps = [s for s in profile.stacks if "Object#nap" in s.labels() and s.frames[-1].label in ("[poll]", "[ppoll]")]
    took = total(naps)
    # 20 waits of 50 ms: no shorter, and in all no longer than the program says.
    check(1000000000 <= took <= own, "the waits took %d ns, by the program's own clock %d", took, own)
    check(took >= 0.98 * own, "the waits took only %d of %d ns", took, own)
    check("unfinished: " in profile.out, "the call that did not return is not counted: %s", profile.sums.text)
    check(not any("Object#stuck" in s.labels() and s.frames[-1].label == "[openat]" for s in profile.stacks),
          "the call that did not return is shown with a duration")
    check(profile.sums.balanced, "the sums are wrong: %s", profile.sums.text)
    return "20 waits of 50 ms: %.4f s, by the program %.4f s" % (took / 1e9, own / 1e9)


@case(timeout=60)
def unfinished(ctx):
    """Exactly the one call that does not return is lost."""
    p = ctx.program("durations.rb")
    p.expect("ready")
    fifo = ctx.path("fifo")
    os.mkfifo(fifo)
    reader = start(ctx, p, "--latency", "--syscall", "openat")
    p.tell(fifo)
    p.line()
    p.expect("done")
    sums = end(ctx, reader).sums
    check((sums.taken, sums.lost) == (2, 1) and "unfinished: 1" in sums.text, "the sums are wrong: %s", sums.text)
    return sums.text


@case(timeout=60)
def exec_latency(ctx):
    """The one execve that succeeds has no exit in the program that made it."""
    p = ctx.ruby("-e", """
      $stdout.sync = true
      puts "ready"
      gets
      exec("/does not exist") rescue nil
      exec(%r, "--disable=gems", "-e", "puts 1; $stdout.flush; gets")""" % harness.RUBY)
    p.expect("ready")
    reader = start(ctx, p, "--latency", "--syscall", "execve")
    p.tell("")
    p.expect("1")
    sums = end(ctx, reader).sums
    check((sums.taken, sums.lost) == (2, 1) and "section-changed: 1" in sums.text and sums.balanced, "the sums are wrong: %s", sums.text)
    return sums.text


COMPAT = """
#include <errno.h>
/* getpid of 32-bit code, which is number 20 there; of 64-bit code, 20 is writev. */
int calls(int n)
{
	long result = 0;

	for (int i = 0; i < n; i++)
		__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
	return (int)result;
}
"""


@case(timeout=60)
def compat(ctx):
    """Calls of 32-bit code have numbers of their own: they are told apart."""
    if os.uname().machine != "x86_64":
        return harness.Counted(0, 0, 1, "32-bit calls from 64-bit programs are of x86-64 only")
    library = native.library(ctx, COMPAT)
    tried = subprocess.run([sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1]).calls(1)", library],
                           stderr=subprocess.DEVNULL)
    if tried.returncode == -signal.SIGSEGV:
        return harness.Counted(0, 0, 1, "32-bit calls are switched off here (ia32_emulation): one ends a program with SIGSEGV")
    p = ctx.ruby("-rfiddle", "-e", """
      call = Fiddle::Function.new(Fiddle.dlopen(%r)["calls"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT)
      $stdout.sync = true
      puts "ready"
      3.times do
        gets
        $stdout.syswrite "#{call.call(500)}\n"
      end
      gets""" % library)
    p.expect("ready")
    reader = start(ctx, p, "--syscall", "all")
    p.tell("")
    if int(p.line()) != p.pid:
        return harness.Counted(0, 0, 1, "this kernel takes no calls of 32-bit code")
    profile = end(ctx, reader)
    mine = calls_of(profile, "32-bit syscall 20")
    check(total(mine) + profile.sums.lost == 500, "%d of 500 calls are shown", total(mine))
    check(not calls_of(profile, "writev"), "they are shown as writev")
    reader = start(ctx, p, "--syscall", "writev,20")
    p.tell("")
    p.line()
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader)
    check(profile.status == 1 and "no samples" in profile.err, "a choice of 64-bit calls has those of 32-bit code: status %d: %s",
          profile.status, profile.out + profile.err)
    return "500 calls of 32-bit code are told apart from the 64-bit calls of that number"


@case(timeout=30, bpf=False)
def errors(ctx):
    for args, words in (
            (("--syscall", "opnat"), ['"opnat" is no system call of this machine', "near it: openat"]),
            (("--syscall", "stat64"), ["near it: stat"] if os.uname().machine == "x86_64" else ["near it"]),
            (("--syscall", "openat,,write"), ["names or numbers of system calls are wanted"]),
            (("--syscall", "4711"), ['"4711" is no system call of this machine']),
            (("--latency", "-m", "cpu"), ["--latency is for mode syscall"]),
            (("--syscall", "openat", "-m", "cpu,gc"), ["--syscall is for mode syscall"]),
            (("--syscall", "openat", "--unit", "us"), ["mode syscall counts numbers only"]),
            (("--latency", "--unit", "KiB"), ["mode syscall counts times and numbers"])):
        r = ctx.extprof(*args, "-p", os.getpid())
        check(r.status == USAGE, "%s: status %d: %s", " ".join(args), r.status, r.err)
        for word in words:
            check(word in r.err, "%s does not say %r: %s", " ".join(args), word, r.err)
    return "8 mistakes, each with its message and status %d" % USAGE
