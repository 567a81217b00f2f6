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


@case(timeout=120, waits=True)
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


@case(timeout=90, patient=True)
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


# 200 methods, one after the other, each for some ms. What it says is how much CPU time that took. It begins when extprof has
# attached to it: on busy CPUs that takes some tenths of a second, which are not sampled.
INNOCENT = """200.times { |i| eval "def innocent_#{i}(n); x = 0; n.times { |k| x += k }; x; end" }
cpu = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
sleep 1.5
from, till, i = cpu.(), Process.clock_gettime(Process::CLOCK_MONOTONIC) + 3, 0
send("innocent_#{((i += 1) / 20) % 200}", 2000) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
puts cpu.() - from"""


def named_beside(ctx, program, *, of_user, count, ms, options=()):
    """The samples of an innocent program beside hostile ones: those with the names of its methods, all of them, and how many are
    due by its CPU time; how much longer than -d extprof took; and what it says."""
    hostile = ctx.start([program, count, ms], **of_user)
    for _ in range(count):
        hostile.expect("ready")
    out = ctx.path("out.folded")
    reader = ctx.extprof_start("record", "-a", "-d", 8, "-F", 199, "-o", out, *options)
    # It may never wait, but it has timers as soon as it records.
    harness.until(lambda: harness.timers(reader.pid), "it has no timers", timeout=30)
    began = time.monotonic()
    time.sleep(1)
    innocent = ctx.ruby("-e", INNOCENT)
    cpu = float(innocent.communicate(30)[0])
    profile = ctx.profile_of(reader, 60, out).ok()
    late = time.monotonic() - began - 8
    said = profile.out + profile.err
    hostile.kill()
    with open(out, encoding="utf-8") as f:
        # Without those of its beginning, if extprof was attached by then.
        stacks = [line for line in f if ("[-e (%d)]" % innocent.pid in line or "innocent_" in line) and "Kernel#eval" not in line]
    of_all, named = (sum(int(line.split()[-1]) for line in stacks if text in line) for text in ("", "innocent_"))
    check("do not agree" not in said, "%s", said[-600:])
    return named, of_all, cpu * 199, late, said


@case(timeout=240)
def stacks_that_are_always_new(ctx):
    """Whoever has ever new ids in stacks as deep as can be costs others neither their names nor their samples: one process, of
    the same user and of another one, and many. Beside one extprof ends in time."""
    directory = tempfile.mkdtemp(prefix="extprof-test-", dir="/tmp")
    results = []
    try:
        os.chmod(directory, 0o755)
        program = build(directory, "fake_endless")
        for what, user, count, ms in (("one of the same user", {}, 1, 5), ("one of another user", AS_NOBODY, 1, 5),
                                      ("8 of another user", AS_NOBODY, 8, 1)):
            named, of_all, due, late, said = named_beside(ctx, program, of_user=user, count=count, ms=ms)
            results.append("%s: %d of %d samples have names, %.0f are due, %.1f s late" % (what, named, of_all, due, late))
            print(results[-1], said[-900:])
            check(named >= 0.95 * of_all and of_all >= 0.9 * due, "%s: %s", results[-1], said[-900:])
            # Eight leave extprof little of two CPUs: how late it ends then is told, and has no bound.
            check(late < 5 or count > 1, "%s", results[-1])
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return "; ".join(results)


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
