"""Processes that mean harm, or only are unusual: what they can do to extprof, and to the profiles of others."""
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import harness
from case_errors import NOBODY
from fuse import Held
from harness import case, check

HERE = os.path.dirname(os.path.abspath(__file__))
AS_NOBODY = {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def build(directory, source):
    """A program of fakes/, where everybody may run it."""
    path = os.path.join(directory, source)
    subprocess.run(["cc", "-std=gnu11", "-O1", "-D_GNU_SOURCE", "-pthread", "-I" + os.path.join(harness.TOP, "tests/unit"),
                    "-I" + os.path.join(harness.TOP, "include"), "-o", path, os.path.join(HERE, "fakes", source + ".c"),
                    os.path.join(harness.TOP, "tests/unit/fake.c")], check=True)
    return path


def ends(ctx, args, limit):
    """How long extprof took, which has to end by itself; and what it said."""
    began = time.monotonic()
    reader = ctx.extprof_start(*args)
    try:
        out, err = reader.communicate(limit)
    except harness.Failed:
        with open("/proc/%d/stack" % reader.pid) as f:
            raise harness.Failed("extprof %s does not end: %s" % (" ".join(map(str, args)), f.read()))
    check(reader.p.returncode >= 0, "extprof %s: signal %d", " ".join(map(str, args)), -reader.p.returncode)
    return time.monotonic() - began, out + err


COMMANDS = (["record", "-d", 1, "-q"], ["record", "-d", 1, "-q", "-m", "wall"], ["stat", "-d", 1],
            ["top", "-b", "--count", 1, "-i", 1], ["record", "-d", 1, "-q", "--reader", "nonblocking"],
            ["record", "-d", 1, "-q", "--reader", "stop"], ["dump"], ["dump", "--reader", "stop"])


def unanswered(ctx, what):
    check(os.geteuid() == 0, "this needs root, to mount a file system")
    directory = tempfile.mkdtemp(prefix="extprof-test-", dir="/tmp")
    longest = 0
    try:
        os.chmod(directory, 0o755)
        program = build(directory, "fake_unanswered")
        for n, command in enumerate(COMMANDS):
            with Held(os.path.join(directory, "held%d" % n), NOBODY) as fs:
                target = ctx.start([program, fs.page, what], **AS_NOBODY)
                target.expect("ready")
                fs.hold()
                took, said = ends(ctx, [*command, "-p", target.pid], 20)
                longest = max(longest, took)
                # Its threads go on: none is stopped, or waits.
                check(harness.state(target.pid) == "R", "%s: the target is in state %s", command,
                      harness.state(target.pid))
                target.kill()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return "%d commands ended, after %.1f s at most" % (len(COMMANDS), longest)


@case(timeout=240)
def records_that_never_come(ctx):
    return unanswered(ctx, "records")


@case(timeout=240)
def section_that_never_comes(ctx):
    return unanswered(ctx, "section")


@case(timeout=120)
def threads_that_never_come(ctx):
    return unanswered(ctx, "threads")


@case(timeout=60)
def others_are_read_meanwhile(ctx):
    """The process that does not answer costs no other process its names."""
    directory = tempfile.mkdtemp(prefix="extprof-test-", dir="/tmp")
    try:
        os.chmod(directory, 0o755)
        program = build(directory, "fake_unanswered")
        with Held(os.path.join(directory, "held"), NOBODY) as fs:
            bad = ctx.start([program, fs.page, "records"], **AS_NOBODY)
            bad.expect("ready")
            fs.hold()
            good = ctx.ruby("-e", "def innocent = 1000.times { }\n$stdout.puts :ready; $stdout.flush\nloop { innocent }")
            good.expect("ready")
            p = ctx.extprof("record", "-p", bad.pid, "-p", good.pid, "-d", 3, "-F", 199, "-q", "-o", ctx.path("out.folded")).ok()
            with open(p.path, encoding="utf-8") as f:
                stacks = f.read().splitlines()
            named = sum(int(line.split()[-1]) for line in stacks if "innocent" in line)
            silent = sum(int(line.split()[-1]) for line in stacks if "does not answer" in line)
            bad.kill()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    check(named > 0 and silent > 0, "%d with the name of the good one, %d that say that memory does not answer", named, silent)
    return "%d samples with names, %d without, which is said" % (named, silent)


@case(timeout=60)
def user_in_many_groups(ctx):
    """/proc/PID/status has a line of all groups, and what is looked for comes after it."""
    check(os.geteuid() == 0, "this needs root, to be in many groups")
    target = ctx.ruby("-e", "Thread.new { Thread.current.name = 'burn'; loop { } }\n$stdout.puts :ready; $stdout.flush; sleep",
                      extra_groups=[1000000000 + 7 * i for i in range(300)])
    target.expect("ready")
    with open("/proc/%d/status" % target.pid) as f:
        check(len(f.read()) > 4096, "its groups are too few for this test")
    got = ctx.extprof("record", "-p", target.pid, "-d", 2, "--reader", "nonblocking", "-m", "cpu,wall", "-t").ok()
    life = [line for line in (got.out + got.err).splitlines() if line.strip().startswith("life")]
    check(any("sleep" in line for line in life), "the main thread, which sleeps, has no such state: %s", life)
    return "%d threads with their states" % len(life)


WORKERS = """p = %d.times.map { fork { sleep } }
at_exit { p.each { |x| Process.kill(:KILL, x) } }
trap(:TERM) { exit }
$stdout.puts :ready; $stdout.flush
loop { 1000.times { } }"""


def limited(soft, hard):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@case(timeout=90)
def more_processes_than_files(ctx):
    """The limit of open files is raised; what has no room under the hard one is told. A command keeps its own limit."""
    target = ctx.ruby("-e", WORKERS % 60)
    target.expect("ready")
    args = ("record", "-p", target.pid, "-s", "-d", 2, "--reader", "nonblocking", "-m", "cpu,wall")
    roomy = ctx.extprof(*args, preexec_fn=limited(100, 4096)).ok()
    check("not attached to" not in roomy.out + roomy.err, "with room: %s", roomy.err[-300:])
    tight = ctx.extprof(*args, preexec_fn=limited(100, 100))
    check("as many open files as it may have" in tight.out + tight.err and
          (tight.status or "not attached to" in tight.out + tight.err), "without room: status %d, %s", tight.status,
          (tight.out + tight.err)[-600:])
    none = ctx.extprof("record", "-p", os.getpid(), "-d", 1, preexec_fn=limited(6, 6))
    check(none.status and "open files" in none.err and "no such process" not in none.err, "6 files: %s", none.err)
    own = ctx.extprof("record", "-q", "-o", ctx.path("own.folded"), "--", "sh", "-c", "ulimit -n; ulimit -Hn >&2",
                      preexec_fn=limited(123, 4096))
    check(own.out.split() == ["123"] and "4096" in own.err.split(), "a command has other limits: %s %s", own.out, own.err)
    target.signal(signal.SIGTERM)
    return "61 processes with a soft limit of 100 files; under a hard one of 100 that is said"


@case(timeout=120)
def memory_of_many(ctx):
    """What is kept has a bound for all processes together: 12 of them have 64 MB each that is to be kept."""
    hostile = ctx.start([build(ctx.directory, "fake_greedy"), 12])
    hostile.expect("ready")
    reader = ctx.extprof_start("record", "-p", hostile.pid, "-s", "-l", "-d", 12, "-q", "-o", ctx.path("out.folded"))
    peak = 0
    while reader.p.poll() is None:
        with open("/proc/%d/status" % reader.pid) as f:
            peak = max([peak] + [int(line.split()[1]) >> 10 for line in f if line.startswith("VmHWM")])
        time.sleep(0.2)
    ctx.profile_of(reader, 60, ctx.path("out.folded")).ok()
    hostile.kill()
    check(20 < peak < 400, "extprof has had %d MB", peak)
    return "%d MB at most" % peak
