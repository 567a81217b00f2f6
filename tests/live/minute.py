"""extprof stat and top beside other clocks, for some seconds of programs/minute.rb."""
import json
import math
import os
import re
import signal
import subprocess
import time

import case_top
import folded
from harness import check, cpu_clock, until

# Figures of extprof stat that only a program in the kernel knows.
WITHOUT_BPF = ("gvl_waits", "gc_pauses", "gc_pauses.reasons", "allocations", "malloc")
HOPS = ("Object#heavy", "Object#light")


def amounts(pid):
    """(voluntary and involuntary switches of its threads, minor faults, ns of CPU time) as /proc has them."""
    switches = [0, 0]
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, tid)) as f:
            text = f.read()
        for i, name in enumerate(("\nvoluntary", "\nnonvoluntary")):
            switches[i] += int(re.search(name + r"_ctxt_switches:\s+(\d+)", text).group(1))
    with open("/proc/%d/stat" % pid) as f:
        minor = int(f.read().rpartition(")")[2].split()[7])
    return switches, minor, time.clock_gettime_ns(cpu_clock(pid))


class Pidstat:
    """pidstat beside it, where sysstat is installed: sums of its one interval."""

    def __init__(self, pid, seconds):
        self.seconds = seconds
        env = {**os.environ, "LC_ALL": "C", "S_COLORS": "never"}

        def start(*options):
            return subprocess.Popen(["pidstat", *options, "-p", str(pid), str(seconds), "1"], stdout=subprocess.PIPE, env=env,
                                    universal_newlines=True)
        self.runs = start("-u", "-r"), start("-w", "-t")

    def result(self):
        """{figure: number}"""
        usage, switches = (p.communicate()[0] for p in self.runs)
        cpu, faults = (re.findall(r"^Average: +(.*)$", part, re.M)[1].split() for part in
                       (usage[usage.index("Average"):], usage[usage.rindex("Average:      UID"):]))
        threads = [line.split() for line in re.findall(r"^Average: +(\d+ +- .*)$", switches, re.M)]
        return {"CPU time": self.seconds * float(cpu[6]) / 100, "user": self.seconds * float(cpu[2]) / 100,
                "system": self.seconds * float(cpu[3]) / 100, "minor faults": self.seconds * float(faults[2]),
                "voluntary switches": self.seconds * sum(float(t[3]) for t in threads),
                "involuntary switches": self.seconds * sum(float(t[4]) for t in threads)}


def beside_stat(ctx, seconds, reader, pidstat):
    """Rows (figure, extprof stat, pidstat, truth, by what); fails where a figure is not within its error."""
    ruby = ctx.program("minute.rb")
    ruby.expect("ready")
    begin = amounts(ruby.pid)
    path = ctx.path("stat.json")
    stat = ctx.extprof_start("stat", "--reader", reader, "-p", ruby.pid, "--json", "-i", "1s", "-o", path)
    until(lambda: os.path.exists(path) and os.path.getsize(path), "extprof does not begin", 60)
    beside = Pidstat(ruby.pid, math.ceil(seconds) + 2) if pidstat else None
    time.sleep(0.3 if pidstat else 0)
    ruby.tell(str(seconds))
    said = json.loads(ruby.line(seconds + 60))
    other = beside.result() if beside else {}
    stat.signal(signal.SIGINT)
    err = stat.communicate()[1]
    check(stat.p.returncode == 0, "status %d: %s", stat.p.returncode, err)
    with open(path, encoding="utf-8") as f:
        t = json.loads(f.read().splitlines()[-1])
    (voluntary, involuntary), minor, cpu = (
        [a - b for a, b in zip(now, then)] if isinstance(now, list) else now - then
        for now, then in zip(amounts(ruby.pid), begin))
    rows = []

    def row(figure, got, truth, by, error):
        check(abs(got - truth) <= error, "%s: %.3f, %s %.3f, error %.3f", figure, got, by, truth, error)
        rows.append((figure, got, other.get(figure), truth, by))

    row("CPU time", t["cpu"]["total_ns"] / 1e9, cpu / 1e9, "its CPU clock", 0.003 * cpu / 1e9 + 0.02)
    row("voluntary switches", t["switches"]["voluntary"], voluntary, "/proc", 0.005 * voluntary + 20)
    row("involuntary switches", t["switches"]["involuntary"], involuntary, "/proc", 0.005 * involuntary + 20)
    row("minor faults", t["faults"]["minor"], minor, "/proc", 0.005 * minor + 20)
    row("collections", t["gc_cycles"]["all"], said["gc"], "GC.count", 0)
    row("major collections", t["gc_cycles"]["major"], said["major"], "GC.stat", 0)
    states, looks = t["threads"]["states"], t["gvl"]["looks"]
    late = (said["late"] + said["touched_late"]) / 1e9
    gvl, error = states["gvl"]["time_ns"] / 1e9, 2 * states["gvl"]["error_ns"] / 1e9
    # A nap is late by its wait for the GVL and by that for a CPU. The thread that computes waits for the GVL too, above all
    # while the one that has it has no CPU.
    runnable = states["runnable"]["time_ns"] / 1e9
    check(0.95 * (late - runnable) - error <= gvl <= 1.05 * late + runnable + error + 0.2, "GVL waits: %.3f s, late %.3f s, %.3f s without a CPU",
          gvl, late, runnable)
    rows.append(("waits for the GVL, s", gvl, None, late, "lateness of sleeps, with waits for a CPU"))
    asleep = said["asleep"] / 1e9 + 0.02 * said["touched"]
    row("asleep, s", states["sleep"]["time_ns"] / 1e9, asleep, "lengths of sleeps", 0.04 * asleep + 0.05 + 2 * states["sleep"]["error_ns"] / 1e9)
    if reader == "ebpf":
        a = t["allocations"]
        row("objects", a["objects"], said["objects"], "GC.stat", 5 * a["objects_deviation"] + 5000)
        pauses = t["gc_pauses"]["total_ns"] / 1e9
        check(0.97 * said["gc_time"] / 1e9 <= pauses <= said["wall"] / 1e9, "pauses %.3f s, %s", pauses, said)
        rows.append(("GC pauses, s", pauses, None, said["gc_time"] / 1e9, "GC.total_time, CPU time only"))
    else:
        check(set(t["missing"]) == set(WITHOUT_BPF), "%s", t["missing"])
        share = sum(t["gc_looks"][p] for p in ("mark", "sweep", "compact", "other")) / looks
        error = 4 * math.sqrt(share * (1 - share) / looks) + 0.01
        check(0.97 * said["gc_time"] / t["until_ns"] - error <= share, "GC: %.3f of the time, %s", share, said)
        rows.append(("in the collector, s", share * t["until_ns"] / 1e9, None, said["gc_time"] / 1e9, "GC.total_time, CPU time only"))
    total = {m["name"]: m["total"] for m in t["cpu_samples"]["methods"]}
    n = sum(total.get(name, 0) for name in HOPS)
    share = said["heavy"] / (said["heavy"] + said["light"])
    row("share of a method, %", 100 * total.get(HOPS[0], 0) / n, 100 * share, "its thread's CPU clock",
        100 * 4 * math.sqrt(share * (1 - share) / n) + 1)
    return rows


def beside_top(ctx, seconds):
    """Rows (figure, extprof top, recording, truth, by what)."""
    ruby = ctx.program("minute.rb")
    ruby.expect("ready")
    path = ctx.path("minute.folded")
    # Both are there before the program begins, and are ended when it is done: the same time for all.
    record = ctx.extprof_start("record", "-p", ruby.pid, "-r", "499", "-o", path, "-q")
    top = ctx.extprof_start("top", "-p", ruby.pid, "-m", "cpu", "-r", "499", "-b", "-i", str(math.ceil(seconds) + 2), "--count", "1",
                            "--rows=1000")
    ctx.attached(record)
    ctx.attached(top)
    ruby.tell(str(seconds))
    said = json.loads(ruby.line(seconds + 60))
    out, err = top.communicate()
    record.signal(signal.SIGINT)
    record.communicate()
    check(top.p.returncode == 0 and record.p.returncode == 0, "%s", err)
    window = case_top.windows(out)[-1]
    stacks = folded.parse(open(path, encoding="utf-8").read())
    rows, total = [], sum(s.count for s in stacks)
    share = said["heavy"] / (said["heavy"] + said["light"])
    shown = {name: window.rows[name][1] for name in HOPS}
    recorded = {name: 100 * sum(s.count for s in stacks if name in s.labels()) / total for name in HOPS}
    for name in HOPS:
        # Two samplings of the same time, each with its own error.
        error = 100 * 4 * math.sqrt(2 * 0.25 / min(total, window.samples)) + 0.5
        check(abs(shown[name] - recorded[name]) < error, "%s: top %.1f %%, recording %.1f %%, error %.1f", name, shown[name],
              recorded[name], error)
        rows.append((name + ", %", shown[name], recorded[name], None, ""))
    got = shown[HOPS[0]] / sum(shown.values())
    check(abs(got - share) < 4 * math.sqrt(share * (1 - share) / window.samples) + 0.01, "share %.3f, truth %.3f", got, share)
    rows.append(("heavy of both, %", 100 * got, 100 * recorded[HOPS[0]] / sum(recorded.values()), 100 * share, "its thread's CPU clock"))
    for what, n, other in (("CPU time, s", window.samples / 499, total / 499),):
        truth = said["cpu"] / 1e9
        check(abs(n - truth) < 0.05 * truth + 0.1 and abs(other - truth) < 0.05 * truth + 0.1, "%s: top %.2f, recording %.2f, truth %.2f",
              what, n, other, truth)
        rows.append((what, n, other, truth, "its CPU clock"))
    return rows
