"""Mode gc: pauses by the probe and samples, against what the program and its collector measure."""
import os
import re
import signal
import time

import case_probes
import harness
from case_hostile import build
from case_probes import NOBODY, YJIT, Target
from harness import Counted, case, check, state, until

UNITS = {"us": 1e3, "ms": 1e6, "s": 1e9}
TIME = r"([\d.]+) (us|ms|s)"


class Program(Target):
    """A ruby that runs gc.rb."""

    def __init__(self, ctx, *flags, keep=100000):
        case_probes.Tracer.build()
        self.p = ctx.program("gc.rb", flags=flags, env={"KEEP": str(keep)})
        self.p.expect("ready", 60)
        self.pid = self.p.pid
        self.find()
        # gc_phase, gc_tid, gc_count
        self.phase_address = self.section + case_probes.Tracer.offsets["gc_count"] - 8

    def stop_in_a_pause(self):
        """Stop the process while it collects."""
        for _ in range(2000):
            until(lambda: self.word(self.phase_address, 8) & 0xffffffff, "no collection began")
            os.kill(self.pid, signal.SIGSTOP)
            until(lambda: state(self.pid) == "T", "the process does not stop")
            if self.word(self.phase_address, 8) & 0xffffffff:
                return
            os.kill(self.pid, signal.SIGCONT)
            time.sleep(0.001)
        check(False, "it could not be stopped in a collection")


class Pauses:
    """The table of pauses in a summary: rows {name: (number, total, longest)} in ns."""

    def __init__(self, text):
        self.rows = {}
        table = text[text.index("Pauses for garbage collection"):]
        for line in table.splitlines()[2:]:
            m = re.match(r" *(\d+) +%s +%s( +%s +%s)?  +(\S.*)" % ((TIME,) * 4), line)
            if not m:
                break
            n, total, total_unit, longest, longest_unit = m.group(1, 2, 3, 4, 5)
            self.rows[m.group(11)] = (int(n), float(total) * UNITS[total_unit], float(longest) * UNITS[longest_unit])
            if m.group(6):
                self.p50, self.p99 = (float(m.group(i)) * UNITS[m.group(i + 1)] for i in (7, 9))
        m = re.search(r"waited %s for a CPU and ran for %s; that is %s by samples" % ((TIME,) * 3), table)
        self.waited, self.ran, self.samples = (float(m.group(i)) * UNITS[m.group(i + 1)] for i in (1, 3, 5))
        m = re.search(r"may have begun before the recording: (\d+)", table)
        self.begun_before = int(m.group(1)) if m else 0
        m = re.search(r"had not ended with the recording: (\d+)", table)
        self.not_ended = int(m.group(1)) if m else 0
        check("pauses lost" not in table, "%s", table)
        self.all = self.rows["all"]


def record(ctx, pid, *options, rate=999):
    reader = ctx.extprof_start("-p", pid, "-m", "gc", "-F", rate, *options, "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    return reader


def stop(ctx, reader, lossless=True):
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader).ok()
    check(profile.sums.balanced and not (lossless and profile.sums.lost), "%s", profile.sums.text)
    return profile


def numbers(lines):
    return [int(n) for n in lines[0].split()]


def exact(ctx, *flags):
    """GC.start in a loop: each one is a pause, within the time that the program measures around them."""
    program, n = Program(ctx, *flags), 50
    reader = record(ctx, program.pid)
    check(program.semaphores() == {**NOBODY, "gc": 1}, "while it records: %s", program.semaphores())
    ctx.check_links(reader)
    count, wall, total, used = numbers(program.do("collect %d" % n))
    pauses = Pauses(stop(ctx, reader).out)
    check(count == n and pauses.all[0] == n, "%d pauses, GC.count grew by %d", pauses.all[0], count)
    check(program.semaphores() == NOBODY, "after the end: %s", program.semaphores())
    check(pauses.begun_before == 0 and pauses.not_ended == 0, "%d began before, %d did not end", pauses.begun_before,
          pauses.not_ended)
    check(0.9 * wall < pauses.all[1] < 1.001 * wall, "the pauses have %d ns, the loop took %d", pauses.all[1], wall)
    parts = {name: pauses.rows[name] for name in ("mark", "sweep", "other")}
    check(all(part[0] == n for part in parts.values()), "%s", parts)
    check(abs(sum(part[1] for part in parts.values()) - pauses.all[1]) < 0.005 * pauses.all[1], "%s are not %d", parts,
          pauses.all[1])
    # The collector measures by the CPU time of the process, from the beginning of a phase to its end.
    busy = parts["mark"][1] + parts["sweep"][1]
    check(total < 1.005 * busy, "marking and sweeping took %d ns by the probe, %d by GC.total_time", busy, total)
    check(pauses.ran < 1.05 * used, "they ran for %d ns, the thread used %d", pauses.ran, used)
    check(pauses.ran > 0.97 * total, "they ran for %d ns, the collector measured %d", pauses.ran, total)
    check(pauses.all[1] / n <= 1.01 * pauses.all[2] and pauses.p50 <= pauses.p99 <= 1.01 * pauses.all[2], "%s", vars(pauses))
    return "%d pauses of %.0f ms, the loop %.0f ms; ran %.0f ms, GC.total_time %.0f ms" % (
        n, pauses.all[1] / 1e6, wall / 1e6, pauses.ran / 1e6, total / 1e6)


@case(timeout=60, alone=True)
def counts(ctx):
    return exact(ctx)


@case(timeout=60, alone=True)
def counts_yjit(ctx):
    return exact(ctx, *YJIT)


@case(timeout=60, alone=True)
def counts_by_perf_events(ctx):
    ctx.without_one_link()
    return exact(ctx)


@case(timeout=120, alone=True)
def many_files(ctx):
    """258 processes run 258 files, and have 3 pauses each. extprof attaches to all of them and leaves them in a second."""
    files = 258
    target = ctx.start([build(ctx.directory, "fake_copies"), ctx.directory, files])
    target.expect("ready")

    def tell(pauses):
        target.tell(str(pauses))
        return int(target.line())

    args = ("-p", target.pid, "-s", "-m", "gc", "-o", ctx.path("out.folded"))
    def record(*more):
        """A recording with 3 pauses of each: seconds until all were attached to, and until it had ended after that."""
        began = time.monotonic()
        reader = ctx.extprof_start(*args, *more)
        until(lambda: tell(0) == files, "not all are attached to", 30)
        attached = time.monotonic()
        # The file of their parent is one more.
        multi = harness.links(reader.pid).count("uprobe_multi")
        check(multi in ((files, files + 1) if ctx.one_link else (0,)), "%d files have %d links of that kind", files, multi)
        check(tell(3) == files, "a semaphore is down")
        if not more:
            reader.signal(signal.SIGINT)
        profile = ctx.profile_of(reader, 90).ok()
        ended = time.monotonic()
        check(Pauses(profile.out).all[0] == 3 * files and profile.sums.balanced and not profile.sums.lost, "%s", profile.out[-900:])
        check(tell(0) == 0, "%d semaphores are up after the end", tell(0))
        return attached - began, ended - attached

    before, after = record()
    _, with_duration = record("-d", 3)
    check(not ctx.one_link or (before < 5 and after < 3 and with_duration < 6),
          "attached after %.1f s, ended after %.1f s, after %.1f s with -d 3", before, after, with_duration)
    reader = ctx.extprof_start(*args)
    until(lambda: tell(0) == files, "not all are attached to again", 30)
    reader.signal(signal.SIGKILL)
    reader.wait(60)
    check(tell(0) == 0, "%d semaphores are up after kill -9", tell(0))
    return "%d pauses of %d files; attached after %.1f s, ended after %.1f s; -d 3 took %.1f s" % (3 * files, files, before, after,
                                                                                                   before + with_duration)


@case(timeout=60)
def samples_and_probe(ctx):
    """Their times agree, and with what the collector measures, in a program that collects when it has to."""
    program, rate, seconds = Program(ctx), 2000, 6
    reader = record(ctx, program.pid, "-F", rate)
    count, wall, total, used = numbers(program.do("work %d" % seconds))
    profile = stop(ctx, reader)
    pauses = Pauses(profile.out)
    # A pause has a random number of samples, which differs by less than one from its length in periods: the
    # sum of so many differs by the root of that. And what waits for its tick when the CPU is away.
    period = 1e9 / rate
    sigma = (pauses.ran / period + pauses.all[0] / 4) ** 0.5 * period
    missed = profile.sums.missed * period
    check(abs(pauses.ran - pauses.samples) < 5 * sigma + missed, "%.1f ms by the probe, %.1f ms by samples, sigma %.1f ms",
          pauses.ran / 1e6, pauses.samples / 1e6, sigma / 1e6)
    check(pauses.ran > 0.97 * total, "they ran for %d ns, the collector measured %d", pauses.ran, total)
    check(pauses.all[0] >= count, "%d pauses, %d collections", pauses.all[0], count)
    gc = sum(s.count for s in profile.stacks)
    check(all("[GC" in s.text for s in profile.stacks), "a stack without a phase")
    return "%d pauses of %d collections: %.1f %% of CPU time by the probe, %.1f %% by %d samples, %.1f %% by GC.total_time" % (
        pauses.all[0], count, 100 * pauses.ran / used, 100 * pauses.samples / used, gc, 100 * total / used)


@case(timeout=60)
def threads(ctx):
    """Whose thread it was."""
    program = Program(ctx)
    reader = record(ctx, program.pid)
    program.do("threads 20 35")
    pauses = Pauses(stop(ctx, reader).out)
    found = {m.group(1): row[0] for name, row in pauses.rows.items() if (m := re.match(r"\[thread (.*) \(\d+\)\]", name))}
    check(found == {"collector 0": 20, "collector 1": 35}, "%s", found)
    return "%s" % found


@case(timeout=60)
def began_before(ctx):
    """A process that is stopped in a collection when the recording begins: that pause is counted apart."""
    program = Program(ctx, keep=1000000)
    program.p.tell("collect 30")
    program.stop_in_a_pause()
    reader = record(ctx, program.pid)
    os.kill(program.pid, signal.SIGCONT)
    before = program.word(program.phase_address + 8, 8)
    count, *_ = numbers([program.p.line(60)])
    program.p.expect("done")
    last = program.word(program.phase_address + 8, 8)
    pauses = Pauses(stop(ctx, reader).out)
    check(pauses.begun_before == 1, "%d began before", pauses.begun_before)
    check(pauses.all[0] == last - before, "%d pauses, of 30 the last %d began after the recording", pauses.all[0], last - before)
    return "1 of %d apart, %d counted" % (count, pauses.all[0])


@case(timeout=60, alone=True)
def did_not_end(ctx):
    """The same at the end of the recording."""
    program = Program(ctx, keep=1000000)
    reader = record(ctx, program.pid)
    before = program.word(program.phase_address + 8, 8)
    program.p.tell("collect 50")
    until(lambda: program.word(program.phase_address + 8, 8) >= before + 5, "there were no 5 collections")
    program.stop_in_a_pause()
    during = program.word(program.phase_address + 8, 8)
    pauses = Pauses(stop(ctx, reader).out)
    os.kill(program.pid, signal.SIGCONT)
    program.p.line(60)
    check(pauses.not_ended == 1, "%d did not end", pauses.not_ended)
    check(pauses.all[0] == during - before - 1, "%d pauses, %d began", pauses.all[0], during - before)
    check(program.semaphores() == NOBODY, "after the end: %s", program.semaphores())
    return "%d pauses and one that had not ended" % pauses.all[0]


@case(timeout=60)
def children(ctx):
    program = Program(ctx)
    reader = record(ctx, program.pid, "-s")
    program.do("fork 12")
    program.do("collect 5")
    program.do("fork 7")
    # A sample of what runs just after fork can be lost (docs/processes.md). A pause is not.
    profile = stop(ctx, reader, lossless=False)
    pauses = Pauses(profile.out)
    # They are no samples of a process.
    rows = re.findall(r"^ +(?:\d+|all) +(\d+) +[\d.]+ +[\d.]+ ", profile.out[profile.out.index("\nProcesses"):], re.M)
    check(len(rows) == 4 and sum(map(int, rows[:3])) == int(rows[3]) == profile.sums.taken, "%s of %s", rows, profile.sums.text)
    # A thread that ended with its process before its name was read has a number.
    by_thread = sorted(row[0] for name, row in pauses.rows.items() if name.startswith("[thread "))
    check(pauses.all[0] == 24 and by_thread == [5, 7, 12], "%s", pauses.rows)
    return "12 and 7 in children, 5 in their parent"


@case(timeout=60)
def compaction(ctx):
    program = Program(ctx)
    reader = record(ctx, program.pid)
    for _ in range(3):
        program.do("compact")
    pauses = Pauses(stop(ctx, reader).out)
    check(pauses.rows.get("compact", (0,))[0] == 3, "%s", pauses.rows)
    return "3 pauses with a phase of %.1f ms" % (pauses.rows["compact"][1] / 1e6)


@case(timeout=60)
def reasons(ctx):
    """Why collections began, and whether they marked all."""
    program = Program(ctx)
    reader = record(ctx, program.pid)
    program.do("collect 20")
    # The collector marks all nevertheless if it finds that this is due.
    minor, major = numbers(program.do("minor 30"))
    check(minor > 3, "%d and %d", minor, major)
    pauses = Pauses(stop(ctx, reader).out)
    told = {name: row[0] for name, row in pauses.rows.items() if name.startswith(("major", "minor", "reason"))}
    check(told == {"major, GC.start": 20 + major, "minor, GC.start": minor}, "%s", told)
    reader = record(ctx, program.pid)
    count = int(program.do("malloc 300")[0])
    program.do("work 0.5")
    more = Pauses(stop(ctx, reader).out)
    check("reason not told" not in more.rows, "%s", more.rows)
    by_malloc = sum(row[0] for name, row in more.rows.items() if name.endswith(", malloc"))
    by_slots = sum(row[0] for name, row in more.rows.items() if name.endswith(", no free slot"))
    check(by_malloc >= count > 3 and by_slots > 3, "%d collections for malloc: %s", count, more.rows)
    return "%s; %d by malloc of %d collections, %d for slots" % (told, by_malloc, count, by_slots)


@case(timeout=60)
def with_cpu(ctx):
    """With mode cpu in one recording: the table belongs to mode gc."""
    program = Program(ctx)
    reader = ctx.extprof_start("-p", program.pid, "-m", "cpu,gc", "-F", 999, "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    program.do("collect 10")
    out = stop(ctx, reader).out
    check(out.count("Pauses for garbage collection") == 1, "%s", out)
    check(out.index("== gc:") < out.index("Pauses for garbage collection"), "%s", out)
    check(Pauses(out).all[0] == 10, "%s", Pauses(out).all)
    return "10 pauses"


@case(timeout=60)
def command_from_its_first_line(ctx):
    """Each collection that a command begins with has its pause, also below a shell that executes it."""
    # The command takes some ms of CPU time: at 99 Hz it can end without a sample, which is status 1.
    command = [harness.RUBY, "--disable=gems", "-e", "20.times { GC.start }"]
    for argv in (command, ["sh", "-c", 'exec "$@"', "sh", *command]):
        for _ in range(3):
            out = ctx.extprof("record", "-m", "gc", "-F", "5000", "-f", "summary", "-o", "-", "--", *argv).ok().out
            got = Pauses(out).rows["major, GC.start"][0]
            check(got == 20, "%d pauses of 20", got)
    return "20 of 20 pauses, 6 times"
