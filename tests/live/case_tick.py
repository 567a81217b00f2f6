"""--timer=tick: samples by the kernel's own tick are as right and as many as those by the clock."""
import os
import re
import time
from collections import Counter

import harness
from case_accounting import as_many, recorded
from case_errors import fails
from case_graph import YJIT
from case_lines import lines
from case_proportions import proportions
from case_threads import threads
from harness import case, check

TICK = "--timer=tick"
HZ = round(1 / time.clock_getres(6))  # CLOCK_MONOTONIC_COARSE; below, by CONFIG_HZ
WRITE = 7  # the line in faults.rb


@case(timeout=60)
def cpu_time(ctx):
    """N samples at R Hz are N / R seconds of CPU time, within 3 % and the ticks that were missed.
    When others want the CPU, the scheduler takes it away at ticks, so the ticks are no fair sample. The count
    may be off by the share that others had. There are never more samples than ticks."""
    ruby = ctx.program("steady.rb")
    ruby.expect("ready")
    harness.prefer(ruby.pid)
    said = []
    for rate, seconds in ((99, 3), (HZ // 2, 2), (HZ, 2)):
        work, profile = recorded(ctx, ruby, seconds, rate, TICK)
        sums, expected = profile.sums, work.expected(rate)
        written = sum(s.count for s in profile.stacks)
        check(sums.whole == sums.taken == written, "%d samples in the file, %s", written, sums.text)
        check("at %d Hz by the tick for" % rate in profile.out, "the summary does not say so: %s", profile.out)
        check(work.away < 0.4, "others had %.0f %% of the CPU: this proves nothing", 100 * work.away)
        # Missed ticks are noticed only if the tick that becomes a sample comes late.
        gaps = work.rest[1] / 1e9
        check(sums.missed <= rate * (work.wall - work.cpu / 1e9) + HZ * gaps + 0.05 * expected + 5,
              "%d missed of %.0f in %.3f s, of which it ran %.3f, %.3f of them with gaps", sums.missed, expected,
              work.wall, work.cpu / 1e9, gaps)
        said.append(as_many(sums, rate, work, 0.03 + work.away, most=rate * work.wall + 4, absent=rate * gaps) +
                    ", gaps %.0f ms" % (1000 * gaps))
    return "; ".join(said)


@case(timeout=60)
def shares(ctx):
    return proportions(ctx, (), HZ, 6, TICK)


@case(timeout=60)
def shares_at_99(ctx):
    return proportions(ctx, (), 99, 6, TICK, c_share=30)


@case(timeout=60)
def lines_yjit(ctx):
    return lines(ctx, YJIT, TICK, rate=HZ, seconds=5)


@case(timeout=60)
def lines_yjit_in_the_kernel(ctx):
    """When the tick interrupts the kernel, the line is that of the instruction for which the thread is in the
    kernel: here a write that faults."""
    ruby = ctx.program("faults.rb", flags=YJIT)
    ruby.expect("ready")
    work, profile = recorded(ctx, ruby, 5, HZ, TICK)
    faults, (plain,) = work.cpu, work.rest
    counted, wrong = Counter(), []
    for s in profile.stacks:
        f = s.frames[-1]
        if f.label != "Thing#write":
            continue
        if f.line in (WRITE, WRITE + 1) and not f.approximate and f.path.endswith("faults.rb"):
            counted[f.line - WRITE] += s.count
        else:
            wrong.append("%d times %s" % (s.count, s.text))
    kernel, total = 1 - plain / faults, sum(counted.values())
    check(kernel > 0.8, "of the writes' time only %.0f %% are faults", 100 * kernel)
    check(total > 100 and not wrong, "%s exact lines, not exact:\n%s", counted, "\n".join(wrong))
    # An interrupt that had to wait for the end of the fault comes at the first instruction of the next line.
    check(counted[0] > 0.8 * total, "%d of %d in the line of the write", counted[0], total)
    return "%d samples of writes that are in the kernel for %.0f %%: %d in their line, %d in the next" % (
        total, 100 * kernel, counted[0], counted[1])


@case(timeout=60)
def thread_names(ctx):
    return threads(ctx, YJIT, TICK, rate=HZ)


@case(timeout=60)
def command(ctx):
    """A program from its start to its end, and its exit status."""
    profile = ctx.extprof("-F", HZ, TICK, "-o", ctx.path("out.folded"), "--", harness.RUBY, "--disable=gems",
                          "-e", """
def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
def work = (1000.times { |i| i } while cpu < 1)
work
exit 5""")
    check(profile.status == 5, "status %d: %s", profile.status, profile.err)
    sums = profile.sums
    check(sums.balanced and sums.lost == 0, sums.text)
    n = sum(s.count for s in profile.stacks if "Object#work" in s.labels())
    check(n > 20 and n > 0.8 * sums.taken, "%d samples in the method of %s", n, sums.text)
    return "%d of %d samples in its method" % (n, sums.taken)


@case(timeout=30)
def asleep(ctx):
    ruby = ctx.ruby("-e", "$stdout.sync = true\nputs 'ready'\nsleep")
    ruby.expect("ready")
    profile = ctx.extprof("-p", ruby.pid, "-d", 1, "-F", HZ, TICK)
    check(profile.status == 0, "status %d: %s", profile.status, profile.err)
    check("used no CPU time" in profile.err, "it does not say why: %s", profile.err)
    check(profile.sums.taken == 0 and profile.sums.missed == 0, profile.sums.text)
    return profile.err.strip()


@case(timeout=30)
def refused(ctx):
    """Refused: a rate above that of the ticks, with advice, and an unknown timer."""
    ruby = ctx.ruby("-e", "$stdout.sync = true\nputs 'ready'\nsleep")
    ruby.expect("ready")
    for rate in (HZ + 1, 10000):
        profile = fails(ctx, harness.USAGE, "-p", ruby.pid, "-F", rate, TICK,
                        says=["tick, %d per second" % HZ, "--timer=clock", "at %d or slower" % HZ])
    fails(ctx, harness.USAGE, "-p", ruby.pid, "--timer=tock", says=["tock", "clock or tick"])
    return profile.err.splitlines()[0]


@case(timeout=60)
def unprivileged(ctx):
    """The tick is found by kernel addresses, which not every user may see."""
    if re.match("0*[1-9a-f]", os.popen("setpriv --bounding-set=-syslog,-sys_admin --inh-caps=-syslog,"
                                       "-sys_admin head -c 16 /proc/kallsyms").read() or "0"):
        check(open("/proc/sys/kernel/kptr_restrict").read() == "0\n" and
              int(open("/proc/sys/kernel/perf_event_paranoid").read()) <= 1,
              "the kernel shows addresses to who may not see them")
        return "not tried: this kernel is set to show addresses to all (perf_event_paranoid)"
    ruby = ctx.ruby("-e", "$stdout.sync = true\nputs 'ready'\nsleep")
    ruby.expect("ready")
    p = ctx.start(["setpriv", "--bounding-set=-syslog,-sys_admin", "--inh-caps=-syslog,-sys_admin",
                   harness.EXTPROF, "-p", ruby.pid, "-d", "1", TICK], stderr=-1)
    out, err = p.communicate(30)
    check(p.p.returncode == harness.PERMISSION and "CAP_SYSLOG" in err, "status %d: %s", p.p.returncode, err)
    return err.splitlines()[0]


@case(timeout=60)
def hidden_addresses(ctx):
    """The kernel may hide these addresses from root too. Here extprof sees another /proc/kallsyms."""
    ruby = ctx.ruby("-e", "$stdout.sync = true\nputs 'ready'\nsleep")
    ruby.expect("ready")
    said = []
    for restrict, hint in ((2, "kernel.kptr_restrict=1"), (1, "CAP_SYSLOG")):
        names = ctx.write("kallsyms", "0000000000000000 t tick_nohz_handler\n")
        number = ctx.write("kptr_restrict", "%d\n" % restrict)
        p = ctx.start(["unshare", "--mount", "--propagation=private", "sh", "-c",
                       "mount --bind $1 /proc/kallsyms && mount --bind $2 /proc/sys/kernel/kptr_restrict && "
                       "shift 2 && exec \"$@\"", "sh", names, number,
                       harness.EXTPROF, "-p", ruby.pid, "-d", "1", TICK], stderr=-1)
        err = p.communicate(30)[1]
        check(p.p.returncode == harness.PERMISSION and hint in err and "--timer=clock" in err,
              "status %d: %s", p.p.returncode, err)
        said.append(err.splitlines()[-1].strip())
    return "; ".join(said)
