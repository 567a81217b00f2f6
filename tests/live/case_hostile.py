"""Processes that mean harm, or only are unusual: what they can do to extprof, and to the profiles of others."""
import os

from harness import case, check


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
