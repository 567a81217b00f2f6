"""What a recording of several processes shows, beside what these processes say of themselves."""
import glob
import os
import re
import threading
import time

import folded
import harness
from case_accounting import Work
from harness import check

# Not in step with what others do 100, 250 or 1000 times a second.
RATE = 1117
TRUTH = os.path.join(harness.PROGRAMS, "truth.rb")

ROW = re.compile(r"^ *(\d+) +(\d+) +([\d.]+) +([\d.]+) +(-|-?[\d.]+) +(\d+) +(\d+) +(\d+) +(-?[\d.]+|-) +(-?[\d.]+|-)"
                 r"  (\S+(?: \S+)?) +(.*)$")
ALL = re.compile(r"^ *all +(\d+) +([\d.]+) +([\d.]+) +(-|-?[\d.]+) +(\d+) +(\d+) +(\d+)$")
UNFOLLOWED = re.compile(r"^ *(\d+|all|\d+ more) +([\d.]+)(?:  (.{22})  (.*))?$")
NOT_ATTACHED = "ruby not yet attached"
GROUP = re.compile(r"^\[process (\d+)(?: (.*))?\]$")


class Row:
    """Of the table of processes."""

    def __init__(self, m):
        self.pid, self.samples = int(m.group(1)), int(m.group(2))
        self.cpu = float(m.group(4))
        self.whole, self.truncated, self.lost = (int(m.group(i)) for i in (6, 7, 8))
        self.ended, self.command = m.group(11).strip(), m.group(12)


def section(output, title):
    """The lines of a table of the summary, without its heads."""
    lines = output.splitlines()
    if title not in lines:
        return []
    rest = lines[lines.index(title) + 2:]
    return rest[:rest.index("")] if "" in rest else rest


class Delay(threading.Thread):
    """For how long a process, ready to run, has waited for a CPU: what extprof does late on a busy machine is late by this at most."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.waited = pid, {}
        self.start()

    def run(self):
        while paths := glob.glob("/proc/%d/task/*/schedstat" % self.pid):
            for path in paths:
                try:
                    with open(path) as f:
                        self.waited[path] = int(f.read().split()[1]) / 1e9
                except OSError:
                    continue
            time.sleep(0.01)

    def seconds(self):
        return sum(list(self.waited.values()))


class Family:
    def __init__(self, profile, truth, steal, delay=None):
        self.profile, self.steal = profile, steal
        # By how much extprof was late at most, s: it did not have a CPU.
        self.late = delay.seconds() if delay else 0
        self.works, self.told = [], {}
        used, executed = {}, {}  # CPU s of a process, as it said last, and before it executed what it runs
        with open(truth, encoding="utf-8") as f:
            for line in f:
                kind, pid, name, ns, *rest = line.split()
                pid, seconds = int(pid), int(ns) / 1e9
                if kind == "work":
                    work = Work([int(ns)], int(rest[0]) / 1e9, steal)
                    # CPU s that its program had used in this process before it; some do not say that.
                    work.before = int(rest[1]) / 1e9 - executed.get(pid, 0) if len(rest) > 1 else None
                    used[pid] = int(rest[1]) / 1e9 + seconds if len(rest) > 1 else 0
                    self.works.append((pid, name, work))
                elif kind == "loaded":
                    executed[pid] = used.get(pid, 0)
                else:
                    self.told[kind, pid] = seconds
        self.rows, self.all = [], None
        for line in section(profile.out, "Processes"):
            m = ROW.match(line)
            if m:
                self.rows.append(Row(m))
            self.all = ALL.match(line) or self.all
        # (pid, "N more" or "all", CPU s, why, command)
        self.unfollowed = []
        for line in section(profile.out, "CPU time that was not profiled"):
            m = UNFOLLOWED.match(line)
            if m:
                pid = int(m.group(1)) if m.group(1).isdigit() else m.group(1)
                self.unfollowed.append((pid, float(m.group(2)), (m.group(3) or "").strip(), m.group(4) or ""))
        self.stacks = []
        # With one process alone there are neither a table nor groups.
        only = int(re.search(r"^process (\d+) ", profile.out, re.M).group(1))
        for s in profile.stacks:
            m = GROUP.match(s.text.split(";")[0])
            if m:
                s = folded.Stack(s.text.partition(";")[2] or "[no ruby code]", s.count)
                s.pid = int(m.group(1))
            else:
                s.pid = only
            self.stacks.append(s)
        self.check_sums()

    def check_sums(self):
        """Each sample is in one bucket: in each row, in the sum of the rows, and in the file."""
        sums = self.profile.sums
        check(sums.balanced, "%s", sums.text)
        for row in self.rows:
            check(row.samples == row.whole + row.truncated + row.lost, "process %d: %d samples, but %d + %d + %d",
                  row.pid, row.samples, row.whole, row.truncated, row.lost)
        if self.all:
            check(int(self.all.group(1)) == sums.taken, "the table has %s samples in all: %s", self.all.group(1),
                  sums.text)
        written = sum(s.count for s in self.stacks)
        check(written == sums.whole + sums.truncated, "%d samples in the file; %s", written, sums.text)

    def row(self, pid):
        found = [r for r in self.rows if r.pid == pid]
        check(found, "process %d is not in the table:\n%s", pid, self.profile.out[:3000])
        return found[-1]

    def pids(self, name):
        return [pid for pid, n, _ in self.works if n == name]

    def samples(self, pid, name):
        return sum(s.count for s in self.stacks if s.pid == pid and any(
            re.split("[#.]", label)[-1] == name for label in s.labels()))

    def unprofiled(self, pid):
        """(CPU s, why) as the summary says; (0, "") if it does not."""
        return next(((cpu, why) for p, cpu, why, _ in self.unfollowed if p == pid), (0.0, ""))

    def unattached(self, pid, works):
        """CPU s of these works that the process used before its ruby was attached, as the summary says: on a busy machine
        a program can begin to work before that. It is said in steps of 10 ms."""
        late, why = self.unprofiled(pid)
        if why != NOT_ATTACHED:
            return 0
        return sum(min(max(0, late + 0.005 - w.before), w.cpu / 1e9) for w in works if w.before is not None)

    def compare(self, works, lost=0.0, only=None, unnamed=None):
        """Each piece of work has the samples of its CPU time, in the process that did it: 2 % and what was missed,
        chance where others had the CPU, what is told as not yet attached, and `lost`, the share that may be lost and is
        counted. Each frame has its name, but as of named(). Returns a line."""
        check(len(self.works) == works, "%d pieces of work were told, not %d: %s", len(self.works), works,
              [w[:2] for w in self.works])
        worst, sums = 0, self.profile.sums
        check(sums.lost <= lost * sums.taken, "%s", sums.text)
        summed = {}
        for pid, name, work in self.works:
            summed.setdefault((pid, name), []).append(work)
        for (pid, name), done in summed.items():
            if only and name not in only:
                continue
            expected = sum(w.expected(RATE) for w in done)
            slack = 5 * len(done) ** 0.5 + 0.02 * expected + sum(w.chance(RATE) for w in done) + RATE * done[0].stolen
            got, late = self.samples(pid, name), RATE * self.unattached(pid, done)
            check(expected - late - slack - sums.missed - sums.lost <= got <= expected + slack,
                  "%s of process %d: %d samples, %.1f +- %.1f expected, %.1f not yet attached, %d missed, %s", name, pid, got,
                  expected, slack, late, sums.missed, sums.text)
            worst = max(worst, (got - expected if got > expected else max(0, expected - late - got)) / slack)
        for row in self.rows:
            # At exec the kernel's account is late by a tick of its scheduler, 10 ms at most.
            off = row.samples / RATE - row.cpu
            check(off <= 0.02 + 0.05 * row.cpu + self.steal, "process %d: %d samples, but %.2f s of CPU time", row.pid,
                  row.samples, row.cpu)
        self.named(unnamed)
        taken = sum(self.samples(pid, name) for pid, name in summed)
        return "%d processes, %d samples of %d pieces of work, at worst %.0f %% of what they may be off; lost %d" % (
            len({pid for pid, *_ in self.works}), taken, works, 100 * worst, sums.lost)

    def named(self, but=None):
        """Each frame has its name. `but`: a pattern of stacks that may have none, as a method's first call ends the
        program; of those there are a few. What a process says of itself at its end is such a call."""
        nameless = [s for s in self.stacks if re.search(r"\[(exited before resolved|unknown|retired|unreadable)", s.text)]
        wrong = [s.text for s in nameless if not re.fullmatch(AT_THE_END + (("|" + but) if but else ""), s.text)]
        count, most = sum(s.count for s in nameless), max(5, self.profile.sums.taken // 200)
        check(count <= most, "%d samples have frames without a name: %s", count, [s.text for s in nameless][:5])
        check(not wrong, "frames without a name: %s", wrong[:5])


# Of truth.rb: tell, tell_cpu, cpu under a caller without a name, and what burn calls besides cpu, which is tell. A stack
# without any name is not of <main>, which has been sampled before and has its name: it is of what runs after that.
# A child that was forked with a block runs that inside of Kernel#fork: the block of at_exit, and its sleep.
AT_THE_END = (r".*(Object#tell(_cpu)?|\[exited before resolved\];Object#cpu)(;.*)?( \d+)?|"
              r".*Object#burn(;\[exited before resolved\])+( \d+)?|"
              r"(.*Kernel#fork;)?\[exited before resolved\](;\[exited before resolved\])*( \d+)?")

# Of a program that is attached to, names are read when they have been sampled: its processes stay for a moment
# after their work. With a command they are read ahead.
LINGER = "0.15"


def truth_file(ctx):
    path = ctx.path("truth")
    if not os.path.exists(path):
        open(path, "w").close()
        os.chmod(path, 0o666)
    return path


def ruby(*argv):
    """The words of a command that runs a ruby with truth.rb."""
    return [harness.RUBY, "--disable=gems", "-W0", "-r" + TRUTH, *argv]


def options(ctx, *more):
    return ["-F", str(RATE), "--rows", "2000", *more, "-o", ctx.path("out.folded")]


def record(ctx, command, *more, timeout=60, status=0, prefix=()):
    """Record a command to its end."""
    steal = harness.stolen()
    reader = ctx.start([*prefix, harness.EXTPROF, "record", *options(ctx, *more), "--", *command],
                       env={"TRUTH": truth_file(ctx)}, stdin=harness.subprocess.DEVNULL,
                       stderr=harness.subprocess.PIPE)
    delay = Delay(reader.pid)
    profile = ctx.profile_of(reader, timeout)
    check(profile.status == status, "extprof ended with status %d: %s", profile.status, profile.err[-800:])
    return Family(profile, truth_file(ctx), harness.stolen() - steal, delay)


def record_script(ctx, text, *more, **rest):
    return record(ctx, ruby(ctx.write("program.rb", text)), *more, **rest)


def start(ctx, argv, **more):
    return ctx.start(argv, env={"TRUTH": truth_file(ctx), "LINGER": LINGER}, **more)


class Attached:
    """extprof with -p, from when its timers run to when stop() is called."""

    def __init__(self, ctx, *args):
        self.ctx, self.steal = ctx, harness.stolen()
        self.reader = ctx.extprof_start(*options(ctx, *map(str, args)))
        self.delay = Delay(self.reader.pid)
        ctx.attached(self.reader)

    def stop(self, timeout=30):
        self.reader.signal(2)
        return self.wait(timeout)

    def wait(self, timeout=30):
        """Until it ends by itself."""
        profile = self.ctx.profile_of(self.reader, timeout).ok()
        return Family(profile, truth_file(self.ctx), harness.stolen() - self.steal, self.delay)
