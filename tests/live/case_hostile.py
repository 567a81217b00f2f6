"""Processes that mean harm, or only are unusual: what they can do to extprof, and to the profiles of others."""
import os
import resource
import signal
import subprocess
import time

import harness
from harness import case, check

HERE = os.path.dirname(os.path.abspath(__file__))


def build(directory, source):
    """A program of fakes/."""
    path = os.path.join(directory, source)
    subprocess.run(["cc", "-std=gnu11", "-O1", "-D_GNU_SOURCE", "-pthread", "-I" + os.path.join(harness.TOP, "tests/unit"),
                    "-I" + os.path.join(harness.TOP, "include"), "-o", path, os.path.join(HERE, "fakes", source + ".c"),
                    os.path.join(harness.TOP, "tests/unit/fake.c")], check=True)
    return path


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
