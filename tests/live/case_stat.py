"""extprof stat: each figure beside what the program counts itself, by its own clocks and the kernel's sums."""
import json
import math
import os
import re
import signal
import subprocess
import time

import harness
import minute
from harness import case, check, cpu_clock
from minute import WITHOUT_BPF, amounts

# Figures of a total that are sums, by group.
SUMS = {"cpu": ["total_ns"], "switches": ["voluntary", "involuntary"], "faults": ["minor", "major"],
        "gvl": ["looks", "held", "contended"], "gvl_waits": ["count", "total_ns"], "gc_cycles": ["all", "major"],
        "gc_pauses": ["count", "total_ns"], "allocations": ["bytes", "objects", "samples"], "malloc": ["bytes", "samples"], "threads": ["lives_ns"]}


def parse(text):
    """Objects on lines: the intervals and the total."""
    objects = [json.loads(line) for line in text.splitlines()]
    kinds = [o["kind"] for o in objects]
    check(kinds == ["interval"] * (len(kinds) - 1) + ["total"], "kinds: %s", kinds)
    return objects[:-1], objects[-1]


class Run:
    """A program, and extprof stat beside it."""

    def __init__(self, ctx, *options, flags=(), missing=()):
        """missing: figures that are not known. An extprof without BPF has no timers: it needs -i to show that it has begun."""
        self.ctx = ctx
        self.missing = set(missing)
        self.ruby = ctx.program("stat.rb", flags=flags)
        self.ruby.expect("ready")
        self.before = amounts(self.ruby.pid)
        self.reader = ctx.extprof_start("stat", "-p", self.ruby.pid, "--json", *options)
        self.begin = ""
        if missing:
            self.begin = self.reader.line(30) + "\n"
        else:
            ctx.attached(self.reader)

    def do(self, command, timeout=60):
        """What the program says of itself: {name: number}"""
        self.ruby.tell(command)
        return {k: v for k, v in (word.split("=") for word in self.ruby.line(timeout).split())}

    def stop(self):
        self.reader.signal(signal.SIGINT)
        return self.result()

    def result(self):
        out, err = self.reader.communicate()
        check(self.reader.p.returncode == 0, "status %d: %s", self.reader.p.returncode, err[-500:])
        self.intervals, total = parse(self.begin + out)
        check(set(total["missing"]) == self.missing, "missing: %s", total["missing"])
        return total


def near(got, truth, share, what, slack=0):
    check(abs(got - truth) <= share * truth + slack, "%s: %s, truth %s", what, got, truth)
    return "%s %+.2f %%" % (what, 100 * (got - truth) / truth if truth else 0)


@case(timeout=60)
def gvl_waits(ctx):
    """Each wait of three nappers beside a burner, by their own clocks. A nap is late by its wait for the GVL, and by
    waits for a CPU, and so is the first line of a thread: those make extprof's figure smaller. The burner waits as well, for less than any napper does."""
    run = Run(ctx)
    late = sorted(map(int, run.do("nappers 4")["late"].split(",")))
    t = run.stop()
    waits, runnable = t["gvl_waits"], t["threads"]["states"]["runnable"]["time_ns"]
    count, n = waits["count"], len(late)
    check(count == t["threads"]["states"]["gvl"]["count"], "%d waits, %s", count, t["threads"]["states"]["gvl"])
    check(waits["lost"] == 0 and waits["waiting"] == 0, "%s", waits)
    check(n - 3 <= count <= 2.5 * n + 10, "%d waits, %d naps", count, n)
    check(sum(late) - runnable - 0.03 * sum(late) <= waits["total_ns"] <= sum(late) + 0.5e9, "%d ns in all, late for %d",
          waits["total_ns"], sum(late))
    check(waits["p50_ns"] <= waits["p99_ns"] <= waits["longest_ns"] <= 1.001 * late[-1], "%s, longest %d", waits, late[-1])
    check(waits["longest_ns"] >= 0.7 * late[-1], "longest %d, truth %d", waits["longest_ns"], late[-1])
    check(re.match(r"\[thread napper \d \(\d+\)\]$", waits["longest_thread"]), "longest: %s", waits["longest_thread"])
    # Of `count` waits, those that are no nap are the shortest.
    rank = math.ceil(0.5 * count) - (count - n) - 1
    middle = late[max(rank, 0)]
    check(0.7 * middle <= waits["p50_ns"] <= 1.016 * late[min(rank + 3, n - 1)] + 1e6, "p50 %d, truth %d", waits["p50_ns"], middle)
    holders = {h["thread"]: h["looks"] for h in t["gvl"]["holders"]}
    burner = sum(v for k, v in holders.items() if k and k.startswith("[thread burner "))
    check(burner >= 0.9 * sum(holders.values()) > 0, "holders: %s", holders)
    check(t["gvl"]["contended"] >= 0.7 * t["gvl"]["looks"], "%s", t["gvl"])
    return "%d waits of %d naps: %.3f s in all, late %.3f; p50 %.1f ms (%.1f), longest %.1f ms (%.1f); burner had it in %d of %d looks" % (
        count, n, waits["total_ns"] / 1e9, sum(late) / 1e9, waits["p50_ns"] / 1e6, middle / 1e6, waits["longest_ns"] / 1e6,
        late[-1] / 1e6, burner, sum(holders.values()))


@case(timeout=60)
def gvl_held(ctx):
    """A program that has the GVL for a third of the time, by its own clock."""
    run = Run(ctx)
    said = run.do("holds 5")
    t = run.stop()
    looks, share = t["gvl"]["looks"], int(said["held"]) / int(said["wall"])
    # Before and after that it waits for a line.
    share *= int(said["wall"]) / t["until_ns"]
    got = t["gvl"]["held"] / looks
    check(looks > 300, "%d looks", looks)
    check(abs(got - share) < 4 * math.sqrt(share * (1 - share) / looks) + 0.01, "held %.3f, truth %.3f", got, share)
    return "held %.1f %% of %d looks, truth %.1f %%" % (100 * got, looks, 100 * share)


@case(timeout=60)
def collections(ctx):
    """As GC.count, GC.stat and GC.total_time have it."""
    run = Run(ctx)
    said = {k: int(v) for k, v in run.do("collects 1").items()}
    t = run.stop()
    cycles, pauses = t["gc_cycles"], t["gc_pauses"]
    check(cycles == {"all": said["count"], "major": said["major"]}, "%s, truth %s", cycles, said)
    check(said["total"] * 0.97 <= pauses["total_ns"] <= said["wall"], "%d ns, GC.total_time %d, wall clock %d",
          pauses["total_ns"], said["total"], said["wall"])
    check(sum(pauses["phases"].values()) == pauses["total_ns"], "%s", pauses["phases"])
    check(sum(r["time_ns"] for r in pauses["reasons"]) == pauses["total_ns"], "%s", pauses["reasons"])
    asked = {r["major"]: r["pauses"] for r in pauses["reasons"] if r["reason"] == "GC.start"}
    # Each of them collects in one pause.
    check(asked == {False: said["minor"], True: 35 - said["minor"]} and said["minor"] >= 10, "GC.start: %s, truth %s", asked, said)
    check(pauses["p50_ns"] <= pauses["p99_ns"] <= pauses["longest_ns"], "%s", pauses)
    check(pauses["longest_thread"].startswith("[thread main"), "%s", pauses["longest_thread"])
    return "%d collections, %d major, as GC.count; pauses %.1f ms, GC.total_time %.1f" % (
        cycles["all"], cycles["major"], pauses["total_ns"] / 1e6, said["total"] / 1e6)


@case(timeout=60)
def allocations(ctx):
    """Objects and bytes, within five standard deviations."""
    run = Run(ctx)
    said = {k: int(v) for k, v in run.do("allocates 400000").items()}
    t = run.stop()["allocations"]
    error = 5 / math.sqrt(t["samples"])
    check(t["samples"] > 200, "%s", t)
    # Sampling begins up to a page late, for each of five sizes.
    text = near(t["bytes"], said["bytes"], error, "bytes", 5 * 65536)
    # A sample of an object of 40 bytes stands for more objects than one of 640 bytes. Of those of 40 bytes there are few.
    deviation = math.sqrt(0.75 * said["objects"] * t["interval_bytes"] / 40)
    check(0.7 * deviation <= t["objects_deviation"] <= 1.4 * deviation, "deviation %d, truth %d", t["objects_deviation"], deviation)
    return text + ", " + near(t["objects"], said["objects"], 5 * t["objects_deviation"] / said["objects"], "objects",
                              5 * 65536 / 40) + ", %d samples" % t["samples"]


@case(timeout=60)
def kernel_sums(ctx):
    """CPU time, switches and faults until the end of the process are those of wait4(2), of threads that ended too."""
    run = Run(ctx)
    said = {k: int(v) for k, v in run.do("moves 100").items()}
    run.ruby.p.stdin.close()
    _, status, used = os.wait4(run.ruby.pid, 0)
    run.ruby.p.returncode = status
    t = run.result()
    (voluntary, involuntary), minor, cpu = run.before
    truth = {"cpu": round((used.ru_utime + used.ru_stime) * 1e9) - cpu, "voluntary": used.ru_nvcsw - voluntary,
             "involuntary": used.ru_nivcsw - involuntary, "minor": used.ru_minflt - minor}
    check(t["ended"] is True and t["threads"]["at_end"] == 0, "%s", t["threads"])
    check(truth["voluntary"] > 2000 and truth["minor"] > 100, "the program did little: %s", truth)
    check(t["cpu"]["user_ns"] + t["cpu"]["system_ns"] == t["cpu"]["total_ns"], "%s", t["cpu"])
    check(t["cpu"]["total_ns"] >= said["cpu"], "%d ns, the program used %d by its own clock", t["cpu"]["total_ns"], said["cpu"])
    return ", ".join([near(t["cpu"]["total_ns"], truth["cpu"], 0.005, "CPU", 10e6),
                      near(t["switches"]["voluntary"], truth["voluntary"], 0.002, "voluntary", 4),
                      near(t["switches"]["involuntary"], truth["involuntary"], 0.002, "involuntary", 4),
                      near(t["faults"]["minor"], truth["minor"], 0, "minor faults", 4)]) + " of %s" % truth


@case(timeout=60)
def intervals(ctx):
    """They add up to the total, exactly."""
    run = Run(ctx, "-i", "200ms", "--syscalls")
    run.do("nappers 1")
    run.do("collects 1")
    run.do("moves 20")
    t = run.stop()
    check(len(run.intervals) >= 8, "%d intervals", len(run.intervals))
    for group, names in SUMS.items():
        for name in names:
            got = sum(i[group][name] for i in run.intervals)
            check(got == t[group][name], "%s.%s: intervals add up to %d, total %d", group, name, got, t[group][name])
    for call in t["syscalls"]["calls"]:
        got = sum(c["count"] for i in run.intervals for c in i["syscalls"]["calls"] if c["number"] == call["number"])
        check(got == call["count"], "%s: intervals add up to %d, total %d", call["name"], got, call["count"])
    ends = [0] + [i["until_ns"] for i in run.intervals]
    check([i["from_ns"] for i in run.intervals] == ends[:-1] and ends[-1] == t["until_ns"], "%s", ends)
    check(max(i["gvl_waits"]["longest_ns"] for i in run.intervals) == t["gvl_waits"]["longest_ns"], "longest wait: %s, total %d",
          [i["gvl_waits"]["longest_ns"] for i in run.intervals], t["gvl_waits"]["longest_ns"])
    check(max(i["gc_pauses"]["longest_ns"] for i in run.intervals) == t["gc_pauses"]["longest_ns"], "longest pause")
    states = sum(s["time_ns"] for s in t["threads"]["states"].values())
    check(abs(states - t["threads"]["lives_ns"]) <= 0.001 * t["threads"]["lives_ns"], "states %d of %d", states, t["threads"]["lives_ns"])
    return "%d intervals; states make up %.3f %% of the lives" % (len(run.intervals), 100 * states / t["threads"]["lives_ns"])


@case(timeout=60)
def narrow(ctx):
    """On 80 columns no line is longer and no word is cut; in a pipe lines are as long as they are."""
    ruby = ctx.ruby(ctx.write("busy.rb", "puts 'ready'; STDOUT.flush\nThread.new { loop { sleep 0.01 } }\nloop { Array.new(100) { +'' } }\n"))
    ruby.expect("ready", 60)
    said = lambda env: ctx.extprof("stat", "-p", ruby.pid, "-i", "500ms", "--count", "2", env={**os.environ, **env}).ok().out
    whole, out = said({}), said({"COLUMNS": "80"})
    check(max(map(len, whole.splitlines())) > 100 and "switches    faults" in whole, "%s", whole)
    long = [line for line in out.splitlines() if len(line) > 80]
    # A path has no blank.
    check(all(len(line.split()) == 1 for line in long), "longer than 80: %s", long)
    head = out.splitlines()[0]
    check(head.split() == ["time", "CPU", "GVL", "GVL", "waits", "p99", "GC", "GC", "time", "pauses", "allocated"], "%s", head)
    words = lambda text: {word for word in re.findall(r"[a-z]{4,}", text.split("\n\n", 1)[1])}
    # The end of a line and the begin of the next one are no word together.
    ends = re.findall(r"([a-z]+)\n +([a-z]+)", out)
    cut = [one + other for one, other in ends if one + other in words(whole) and not {one, other} <= words(whole)]
    check(ends and not cut, "words that are cut: %s of %s", cut, ends)
    return "%d lines" % len(out.splitlines())


def within(got, low, high, error, what):
    check(low - error <= got <= high + error, "%s: %.4f +- %.4f, truth %.4f to %.4f", what, got, error, low, high)
    return "%s %.3f (%.3f to %.3f +- %.3f)" % (what, got, low, high, error)


@case(timeout=120, bpf=False)
def without_bpf(ctx):
    """The kernel's and Ruby's sums are the same as with eBPF; what is known from looks is right within its error."""
    said = []
    for reader in ("nonblocking", "stop"):
        run = Run(ctx, "--reader", reader, "-i", "500ms", missing=WITHOUT_BPF)
        gc = {k: int(v) for k, v in run.do("collects 1").items()}
        late = sum(map(int, run.do("nappers 1.5")["late"].split(",")))
        run.ruby.p.stdin.close()
        _, status, used = os.wait4(run.ruby.pid, 0)
        run.ruby.p.returncode = status
        t = run.result()
        check(t["reader"] == reader, "%s", t["reader"])
        check(t["gc_cycles"] == {"all": gc["count"], "major": gc["major"]}, "%s, truth %s", t["gc_cycles"], gc)
        (voluntary, involuntary), minor, cpu = run.before
        # What is used after the last look, at the end of the process, is missing, and so are last switches of a thread.
        said += [near(t["cpu"]["total_ns"], round((used.ru_utime + used.ru_stime) * 1e9) - cpu, 0.01, "CPU", 60e6),
                 near(t["faults"]["minor"], used.ru_minflt - minor, 0.01, "faults", 60),
                 near(t["switches"]["voluntary"], used.ru_nvcsw - voluntary, 0.02, "voluntary", 30),
                 near(t["switches"]["involuntary"], used.ru_nivcsw - involuntary, 0.02, "involuntary", 60)]
        looks, until = t["gvl"]["looks"], t["until_ns"]
        met = sum(t["gc_looks"][p] for p in ("mark", "sweep", "compact", "other"))
        share = met / looks
        check(sum(r["looks"] for r in t["gc_looks"]["reasons"]) <= met, "%s", t["gc_looks"])
        said.append(within(share, 0.97 * gc["total"] / until, gc["wall"] / until,
                           4 * math.sqrt(share * (1 - share) / looks) + 0.01, "GC"))
        states = t["threads"]["states"]
        # Error: two standard deviations are said, four are allowed. The burner waits for the GVL for a moment, too.
        said.append(within(states["gvl"]["time_ns"] / 1e9, 0.95 * (late - states["runnable"]["time_ns"]) / 1e9, late / 1e9,
                           2 * states["gvl"]["error_ns"] / 1e9 + 0.1, "GVL waits"))
        check(0 < states["gvl"]["error_ns"] < 0.3 * states["gvl"]["time_ns"], "%s", states["gvl"])
        check(t["longest_gvl_wait_met"]["ns"] > 5e6 and "napper" in t["longest_gvl_wait_met"]["thread"], "%s",
              t["longest_gvl_wait_met"])
        lives = sum(s["time_ns"] for s in states.values())
        check(abs(lives - t["threads"]["lives_ns"]) <= 0.001 * t["threads"]["lives_ns"], "states %d of %d", lives,
              t["threads"]["lives_ns"])
        check(t["cpu_samples"]["samples"] > 20, "%s", t["cpu_samples"])
        for group, names in SUMS.items():
            for name in names if group not in WITHOUT_BPF else ():
                got = sum(i[group][name] for i in run.intervals)
                check(got == t[group][name], "%s.%s: intervals add up to %d, total %d", group, name, got, t[group][name])
    ruby = ctx.program("stat.rb")
    ruby.expect("ready")
    got = ctx.extprof("stat", "--nonblocking", "--syscalls", "-p", ruby.pid, "-d", "1s")
    check(got.status == harness.USAGE and "needs eBPF" in got.err, "--syscalls: status %d: %s", got.status, got.err)
    return "; ".join(said)


@case(timeout=60)
def states(ctx):
    """A thread in Queue#pop, one in join, one that computes: as their clocks say."""
    ruby = ctx.program("waits.rb", "three", 2)
    ruby.expect("ready")
    reader = ctx.extprof_start("stat", "-p", ruby.pid, "--json")
    ctx.attached(reader)
    ruby.tell("go")
    ruby.expect("begun")
    said = {}
    while (line := ruby.line(60)) != "done":
        name, wall, used = line.split()
        said[name] = int(wall) - int(used)
    reader.signal(signal.SIGINT)
    out, err = reader.communicate()
    check(reader.p.returncode == 0, "%s", err)
    t = parse(out)[1]["threads"]["states"]
    # The main thread joins as well, and the threads wait in a queue for the begin.
    check(t["join"]["time_ns"] >= 1.9 * said["joiner"], "join %s, truth %s", t["join"], said)
    return near(t["queue"]["time_ns"], said["popper"], 0.06, "queue", 0.1e9)


@case(timeout=60)
def syscalls(ctx):
    """Calls of a known number, and some of a known length."""
    run = Run(ctx, "--syscalls")
    said = run.do("calls 3000")
    t = run.stop()
    calls = {c["name"]: c for c in t["syscalls"]["calls"]}
    # It says what it counted with one more.
    check(3000 <= calls["write"]["count"] <= 3100, "%s", calls["write"])
    waits = [c for n, c in calls.items() if n in ("poll", "ppoll", "select", "pselect6")]
    check(sum(c["count"] for c in waits) >= 20, "%s", sorted(calls))
    check(0.4e9 <= sum(c["time_ns"] for c in waits) <= int(said["wall"]) + 0.2e9 + t["until_ns"] * 2, "%s", waits)
    check(t["syscalls"]["lost"] == 0, "%s", t["syscalls"])
    return "write: %d calls in %.1f ms; 20 waits of 20 ms: %.1f ms" % (
        calls["write"]["count"], calls["write"]["time_ns"] / 1e6, sum(c["time_ns"] for c in waits if c["count"] < 200) / 1e6)


@case(timeout=120)
def beside_clocks(ctx):
    """The short form of truth_of_stat: each figure is within its error of what the kernel and the program count."""
    rows = minute.beside_stat(ctx, 2, "ebpf", False)
    return ", ".join("%s %.6g (%.6g)" % (figure, got, truth) for figure, got, _, truth, _ in rows)


@case(timeout=60)
def command(ctx):
    """A command has its own standard output and exit status, and is counted from its beginning, with its children."""
    path = ctx.path("stat.json")
    p = ctx.extprof_start("stat", "--json", "-o", path, "--", harness.RUBY, "--disable=gems",
                          os.path.join(harness.PROGRAMS, "stat.rb"), "forks", "7")
    out, err = p.communicate()
    check(p.p.returncode == 7, "status %d: %s", p.p.returncode, err[-300:])
    check(re.fullmatch(r"children=\d+\n", out), "stdout: %r", out)
    with open(path) as f:
        t = parse(f.read())[1]
    children = int(out.split("=")[1])
    check(t["processes"] == 3 and t["ended"], "%d processes", t["processes"])
    got = sum(q["cpu"]["total_ns"] for q in t["by_process"][1:])
    check(sum(q["cpu"]["total_ns"] for q in t["by_process"]) == t["cpu"]["total_ns"], "processes do not add up")
    check(all(q["gc_cycles"]["all"] >= 1 for q in t["by_process"][1:]), "%s", [q["gc_cycles"] for q in t["by_process"]])
    # The kernel tells times of children in steps of 10 ms.
    return near(got, children, 0.01, "CPU time of two children", 25e6)


HEAP = """
$stdout.sync = true
def say = puts(GC.stat.values_at(:heap_live_slots, :heap_available_slots, :heap_allocated_pages, :malloc_increase_bytes,
                                 :malloc_increase_bytes_limit).join(" "))
say
GC.disable
$kept = nil
# Between two questions it does nothing.
while (line = gets)
  case line.chomp
  when "keep" then $kept = Array.new(300_000) { Object.new }
  when "drop" then $kept = nil; GC.enable; GC.start; GC.disable
  end
  say
end
"""


@case(timeout=60)
def heap(ctx):
    """What GC.stat has, as another process sees it: of a program that keeps 300,000 objects and drops them, of its child, and at the end."""
    ruby = ctx.ruby(ctx.write("heap_of_stat.rb", HEAP), stdin=subprocess.PIPE)
    ruby.line(60)
    reader = ctx.extprof_start("stat", "-p", ruby.pid, "-i", "100ms", "--json")
    reader.line()
    told, worst = [], 0
    for command in ("keep", "drop", "rest"):
        ruby.tell(command)
        live, slots, pages, malloc, limit = map(int, ruby.line(60).split())
        told.append(live)
        # Lines of before may wait in the pipe. To say it takes some objects.
        for line in iter(reader.line, ""):
            h = json.loads(line)["heap"]
            if abs(h["live_slots"] - live) < 300:
                break
        check((h["slots"], h["pages"], h["bytes"], h["malloc_limit_bytes"]) == (slots, pages, pages << 16, limit), "%s, not %s", h,
              (slots, pages, limit))
        check(abs(h["malloc_since_gc_bytes"] - malloc) < 100_000, "malloc %s, not %d", h, malloc)
        worst = max(worst, abs(h["live_slots"] - live))
    check(told[0] - told[1] > 290_000, "%s", told)
    ruby.p.stdin.close()
    ruby.wait()
    out, err = reader.communicate()
    check(reader.p.returncode == 0, "%s", err)
    _, total = parse(out)
    check(abs(total["heap"]["live_slots"] - told[-1]) < 3000, "at the end %s, not %d", total["heap"], told[-1])
    text = ctx.extprof("stat", "--", harness.RUBY, "-e", "$a = Array.new(200_000) { Object.new }; sleep 0.6")
    m = re.search(r"^heap +([\d,]+)   live slots, ([\d.]+) % of ([\d,]+); ([\d,]+) pages, \S+ MiB; malloc \S+ \S+ since GC, limit \S+ MiB", text.out + text.err, re.M)
    check(m, "%s", text.out + text.err)
    check(200_000 < int(m.group(1).replace(",", "")) < 300_000, "%s", m.group(0))
    return "%s live slots, %d off at most" % (told, worst)


@case(timeout=60)
def heap_after_exec(ctx):
    """The heap is that of the program that runs: another ruby's after exec, and none of a program that is no ruby."""
    other = ctx.write("other.rb", "$stdout.sync = true; $a = Array.new(100_000) { Object.new }; GC.disable; puts GC.stat(:heap_live_slots); gets; exec 'sleep', '60'")
    first = "$stdout.sync = true; $a = Array.new(400_000) { Object.new }; GC.disable; puts GC.stat(:heap_live_slots); gets; exec '%s', '%s'"
    ruby = ctx.ruby("-e", first % (harness.RUBY, other), stdin=subprocess.PIPE)
    reader = ctx.extprof_start("stat", "-p", ruby.pid, "-i", "100ms", "--json")
    told = []
    for _ in range(2):
        live = int(ruby.line(60))
        told.append(live)
        seen = next((h for line in iter(reader.line, "") if (h := json.loads(line).get("heap")) and abs(h["live_slots"] - live) < 300), None)
        check(seen, "not %d", live)
        ruby.tell("exec")
    check(told[0] - told[1] > 250_000, "%s", told)
    # A program without a heap: lines of before may wait in the pipe.
    last = next((t for line in iter(reader.line, "") if not (t := json.loads(line)).get("heap") or not t["heap"]["live_slots"]), None)
    check(last, "it has a heap")
    ruby.kill()
    reader.communicate()
    return "%s live slots, and none" % told


@case(timeout=60)
def memory(ctx):
    """As /proc has it, of a program that takes 100 MiB, also when it has ended."""
    ruby = ctx.ruby("-e", "$stdout.sync = true; gets; big = 'x' * (100 << 20); puts 1; gets; big.clear; puts 2; gets",
                    stdin=subprocess.PIPE)
    reader = ctx.extprof_start("stat", "-p", ruby.pid, "-i", "100ms", "--json")
    first = json.loads(reader.line())["memory"]

    def now():
        with open("/proc/%d/status" % ruby.pid) as f:
            return {k: int(v) << 10 for k, v in re.findall(r"^(VmRSS|VmHWM|RssAnon):\s+(\d+)", f.read(), re.M)}

    truth = []
    for _ in range(2):
        ruby.tell("go")
        ruby.line()
        truth.append(now())
        # Older lines may wait in the pipe. The program ends after one that has what it has now.
        for line in iter(reader.line, ""):
            if abs(json.loads(line)["memory"]["resident_bytes"] - truth[-1]["VmRSS"]) < 1 << 20:
                break
    ruby.p.stdin.close()
    ruby.wait()
    out, err = reader.communicate()
    check(reader.p.returncode == 0, "%s", err)
    intervals, t = parse(out)
    got, big = t["memory"], truth[0]["VmRSS"] - first["resident_bytes"]
    check(99 << 20 < big < 104 << 20, "the program took %d bytes", big)
    check(abs(got["peak_bytes"] - truth[1]["VmHWM"]) < 1 << 20, "peak %s, truth %s", got, truth)
    check(abs(got["resident_bytes"] - truth[1]["VmRSS"]) < 1 << 20, "resident %s, truth %s", got, truth)
    check(abs(got["anonymous_bytes"] - truth[1]["RssAnon"]) < 1 << 20, "anonymous %s, truth %s", got, truth)
    return "%.1f MiB at first, then %.1f, at last %.1f; peak %.1f" % tuple(n / 1048576 for n in (
        first["resident_bytes"], truth[0]["VmRSS"], got["resident_bytes"], got["peak_bytes"]))


@case(timeout=120, waits=True)
def children_from_before(ctx):
    """A child that was there before counts from the beginning of extprof, as its parent does, with every reader; so do its
    page faults. What it used before is in no row of a profile."""
    parent = ctx.ruby("-e", """
$stdout.sync = true
child = fork do
  pages = "x" * (64 << 20)
  1 while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < 2
  puts Process.pid
  loop { sleep 0.01 }
end
Process.wait child""")
    child = int(parent.line())
    used, said = time.clock_gettime_ns(cpu_clock(child)), []
    check(used >= 2e9 and amounts(child)[1] > 10000, "the child did little: %d ns, %s", used, amounts(child))
    for reader in ("ebpf", "nonblocking", "stop"):
        out = ctx.extprof("stat", "--reader", reader, "-s", "-p", parent.pid, "-d", "1s", "--json").ok().out
        t, now = parse(out)[1], time.clock_gettime_ns(cpu_clock(child))
        row = next(q for q in t["by_process"] if q["pid"] == child)
        check(row["cpu"]["total_ns"] <= now - used, "%s: %d ns, it used %d since", reader, row["cpu"]["total_ns"], now - used)
        check(row["faults"]["minor"] < 5000, "%s: %s", reader, row["faults"])
        out = ctx.extprof("record", "--reader", reader, "-m", "wall", "-s", "-p", parent.pid, "-d", "1s", "-f", "summary", "-o", "-").ok().out
        late = sum(float(s) for s in re.findall(r"^ *%d +([\d.]+)  ruby not yet attached" % child, out, re.M))
        check(late < 1, "%s: %.2f s of CPU time were not profiled:\n%s", reader, late, out)
        said.append("%s: %.0f ms" % (reader, row["cpu"]["total_ns"] / 1e6))
    return "%.1f s before extprof; then %s" % (used / 1e9, ", ".join(said))


@case(timeout=60)
def text(ctx):
    """For people: on standard error beside a command, with its status by a signal."""
    p = ctx.extprof_start("stat", "-i", "100ms", "--syscalls", "--rows", "100", "--", harness.RUBY, "--disable=gems", "-e",
                          "t = Thread.new { sleep 0.4 }; nil while t.alive?; $stdout.write(\"mine\\n\"); $stdout.flush; Process.kill(:TERM, $$); sleep")
    out, err = p.communicate()
    check(p.p.returncode == 128 + 15, "status %d", p.p.returncode)
    check(out == "mine\n", "stdout: %r", out)
    for pattern in (r"^ +time +CPU +GVL GVL waits", r"^ +0\.\d{3} s ", r"^process \d+, .*ruby.*, ruby 3\.\d+\.\d+, 0\.\d+ s ",
                    r"^CPU time +[\d.]+ (?:ms|s) ", r"^context switches +\d", r"^page faults +[\d,]+ ", r"^GVL held +[\d.]+ %   \+- ",
                    r"^GVL waits +\d", r"^GC +\d+   collections, \d+ major", r"^GC pauses +\d", r"^allocated +[\d.]+ ",
                    r"^threads +0   at the end", r" gvl, \d+ waits$", r"^ *[\d.]+ % +[\d.]+ %  ", r"  write$", r"^extprof itself used "):
        check(re.search(pattern, err, re.M), "%r is not in:\n%s", pattern, err)
    return "%d lines" % len(err.splitlines())


@case(timeout=30)
def errors(ctx):
    """Wrong options, no process, no output."""
    texts = []
    gone = ctx.start(["true"])
    gone.wait()
    for args, status, said in (((), harness.USAGE, "what is to be measured"), (("-p", "1", "--", "true"), harness.USAGE, "leave one of them out"),
                               (("-p", gone.pid), harness.NO_PROCESS, ""), (("-p", os.getpid(), "-i", "1ms"), harness.USAGE, "no time from 0.01 s"),
                               (("-p", os.getpid()), harness.NOT_RUBY, ""), (("--", "/no/such/program"), harness.COMMAND, "cannot run")):
        p = ctx.extprof_start("stat", *args)
        out, err = p.communicate()
        check(p.p.returncode == status and said in err and not out, "%s: status %d: %s%s", args, p.p.returncode, out, err)
        texts.append(str(p.p.returncode))
    ruby = ctx.program("stat.rb")
    ruby.expect("ready")
    for path in ("/dev/full", "/no/such/file"):
        p = ctx.extprof_start("stat", "-p", ruby.pid, "-d", "0.2", "-o", path)
        _, err = p.communicate()
        check(p.p.returncode == harness.OUTPUT and path in err, "%s: status %d: %s", path, p.p.returncode, err)
        texts.append(str(p.p.returncode))
    return " ".join(texts)
