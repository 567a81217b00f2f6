"""What is joined in one stack, and what is not: files of one name, threads of one pattern."""
import json
import os
import re
from collections import Counter

import harness
import otlp
from case_proportions import enough, truth_of, within
from harness import case, check


def compare(counted, truth, profile, rate):
    total, cpu, missed = sum(counted.values()), sum(truth.values()), profile.sums.missed
    enough(total, missed, rate, cpu)
    worst = max(abs(within(counted[name], total, ns / cpu, name, missed)) for name, ns in truth.items())
    return "%d samples, shown/true %%: %s; worst %.1f sigma" % (total, ", ".join(
        "%s %.1f/%.1f" % (n, 100 * counted[n] / total, 100 * truth[n] / cpu) for n in sorted(truth)), worst)


@case(timeout=60)
def files_of_one_name(ctx):
    """Three files at their top level and one method of two templates: five frames, each with its share."""
    for name in ("a", "b"):
        os.mkdir(ctx.path(name))
    ruby = ctx.program("same_names.rb", ctx.directory)
    ruby.expect("ready")
    rate = harness.rate(5000)
    reader = ctx.extprof_start("-p", ruby.pid, "-F", rate, "-o", ctx.path("out.folded"))
    harness.prefer(ruby.pid)
    harness.prefer(reader.pid)
    ctx.attached(reader)
    ruby.tell("2")
    truth = truth_of(ruby, 2)
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    labels = {"<top (required)> a/init.rb": "a/init.rb", "<top (required)> b/init.rb": "b/init.rb",
              "<top (required)> main.rb": "main.rb", "Templates.__tilt_16 a/show.erb": "views/a/show.erb",
              "Templates.__tilt_16 b/show.erb": "views/b/show.erb"}
    counted, others = Counter(), set()
    for s in profile.stacks:
        for label in s.labels():
            if label in labels:
                counted[labels[label]] += s.count
            elif "(required)" in label or "__tilt" in label:
                others.add(label)
    check(not others, "frames that are of no file, or of another: %s", others)
    return compare(counted, truth, profile, rate)


KINDS = """
STDOUT.sync = true
CPU = Process::CLOCK_PROCESS_CPUTIME_ID
def spin(s) = (t = Process.clock_gettime(CPU) + s; nil while Process.clock_gettime(CPU) < t)
def work(s) = spin(s)
hold, go = IO.pipe
kinds = [["web: worker 0: 1 [app]", 0.5], ["web: worker 1: 2 [app]", 0.3], ["job: 7", 0.4]]
kinds.each { |title, s| fork { go.close; $0 = title; hold.read; work(s) } }
sleep 0.3
puts "ready"
gets
go.close
Process.waitall
puts "done"
sleep
"""


@case(timeout=90)
def processes_of_one_kind(ctx):
    """Two workers and a job, by their own clocks. A group of a command has what its processes have, to the ns, in each format; a flame
    graph and a tree show it by themselves, and other formats each process."""
    ruby = ctx.ruby(ctx.write("kinds.rb", KINDS))
    ruby.expect("ready")
    path = ctx.path("kinds.extprof")
    reader = ctx.extprof_start("record", "-s", "-p", ruby.pid, "-F", harness.rate(999), "-o", path, "-o", ctx.path("live.svg"))
    ctx.attached(reader)
    ruby.tell("go")
    check(ruby.line(60) == "done", "it is not done")
    reader.signal(2)
    check(reader.wait(30) == 0, "status %s", reader.p.returncode)

    def sums(*args):
        found = Counter()
        for line in ctx.extprof("report", path, "-f", "folded", "--unit", "ns", *args).ok().out.splitlines():
            stack, _, ns = line.rpartition(" ")
            found[stack.split(";")[0]] += int(ns)
        return found
    each, kinds = sums(), sums("--group-by", "command")
    of = Counter()
    for name, ns in each.items():
        check(re.fullmatch(r"\[process \d+ \S+\]", name), "%s", name)
        of["[process %s" % name.split(" ", 2)[2]] += ns
    check(of == kinds and set(kinds) >= {"[process web]", "[process job]"} and len(each) >= 3, "%s, not %s", kinds, of)
    for name, truth in (("web", 0.8), ("job", 0.4)):
        check(abs(kinds["[process %s]" % name] / 1e9 - truth) < 0.1 * truth, "%s: %s", name, kinds)
    both = sums("--group-by", "command,process")
    check(both == kinds, "%s", both)
    # Who asks for the processes too has each in formats that tell processes apart.
    ctx.extprof("report", path, "--group-by", "process,command", "-o", ctx.path("kinds.otlp")).ok()
    ctx.extprof("report", path, "--group-by", "process,command", "-f", "firefox", "-o", ctx.path("kinds.json")).ok()
    pids = {re.search(r"\d+", name)[0] for name in each}
    with open(ctx.path("kinds.otlp"), "rb") as f:
        resources = {str(otlp.resource_of(r).get("process.pid")) for r, _, _ in otlp.profiles(otlp.decode(f.read()))}
    with open(ctx.path("kinds.json"), encoding="utf-8") as f:
        firefox = {t["pid"].split(".")[0] for t in json.load(f)["threads"]}
    check(resources == pids and firefox >= pids, "OTLP %s, Firefox %s, not %s", resources, firefox, pids)
    tree = ctx.extprof("report", path, "-f", "tree").ok().out
    check(len(re.findall(r"\[process web\]", tree)) == 1 and not re.search(r"\[process \d", tree), "%s", tree[:1000])
    ctx.extprof("report", path, "-o", ctx.path("kinds.svg")).ok()
    ctx.extprof("report", path, "--group-by", "process", "-o", ctx.path("each.svg")).ok()
    for file, one in (("kinds.svg", True), ("live.svg", True), ("each.svg", False)):
        with open(ctx.path(file), encoding="utf-8") as f:
            text = f.read()
        check(("[process web]" in text) == one and bool(re.search(r"\[process \d+ web\]", text)) != one, "%s", file)
    return "web %.3f s of 0.8 s, job %.3f s of 0.4 s" % (kinds["[process web]"] / 1e9, kinds["[process job]"] / 1e9)


TITLES = """
STDOUT.sync = true
CPU = Process::CLOCK_PROCESS_CPUTIME_ID
def spin(s) = (t = Process.clock_gettime(CPU) + s; nil while Process.clock_gettime(CPU) < t)
puts "ready"
gets
fork { spin 0.5; $0 = "early: booted [app]"; sleep 2; spin 0.2 }
late = fork { spin 0.3; $stdin.gets; $0 = "late: booted [app]"; puts "late"; spin 0.2; sleep }
Process.wait
puts "done"
sleep
"""


@case(timeout=90)
def titles_that_come_later(ctx):
    """A worker that sets its title after its work began, and ends; another one that sets it shortly before the recording ends: what they
    did is of that title."""
    ruby = ctx.ruby(ctx.write("titles.rb", TITLES))
    ruby.expect("ready")
    path = ctx.path("titles.extprof")
    reader = ctx.extprof_start("record", "-s", "-p", ruby.pid, "-F", harness.rate(999), "-o", path)
    ctx.attached(reader)
    ruby.tell("go")
    check(ruby.line(60) == "done", "it is not done")
    ruby.tell("late")
    check(ruby.line(60) == "late", "it is not late")
    reader.signal(2)
    check(reader.wait(30) == 0, "status %s", reader.p.returncode)
    sums = Counter()
    for line in ctx.extprof("report", path, "-f", "folded", "--unit", "ns", "--group-by", "command").ok().out.splitlines():
        stack, _, ns = line.rpartition(" ")
        sums[stack.split(";")[0]] += int(ns)
    check(abs(sums["[process early]"] / 1e9 - 0.7) < 0.07 and sums["[process late]"] > 0.25e9, "%s", sums)
    commands = ctx.extprof("sql", "-H", path, "SELECT text FROM processes JOIN strings s ON s.id=command").ok().out.splitlines()
    check({"early: booted [app]", "late: booted [app]"} <= set(commands), "%s", commands)
    return "early %.2f s of 0.7 s, late %.2f s" % (sums["[process early]"] / 1e9, sums["[process late]"] / 1e9)


@case(timeout=60)
def patterns_of_many_threads(ctx):
    """With -t, 63 threads whose names differ in numbers are two rows; the note says so."""
    ruby = ctx.program("numbered_threads.rb")
    ruby.expect("ready")
    rate = harness.rate(5000)
    reader = ctx.extprof_start("-p", ruby.pid, "-F", rate, "-t", "-o", ctx.path("out.folded"))
    harness.prefer(ruby.pid)
    harness.prefer(reader.pid)
    ctx.attached(reader)
    ruby.tell("go")
    truth = truth_of(ruby, 3)
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    rows = {"job-*": "job-%d", "io *": "io_%d", "other": "other"}
    counted, names = Counter(), set()
    for s in profile.stacks:
        check(s.thread and s.thread[1] == 0, "a thread with a tid: %s", s.text)
        names.add(s.thread[0])
        if s.thread[0] in rows and "Object#work" in s.labels():
            counted[rows[s.thread[0]]] += s.count
    numbered = [n for n in names if any(c.isdigit() for c in n)]
    check(not numbered, "threads one by one: %s", numbered)
    nameless = [n for n in names if n.startswith("#")]
    check(not nameless, "threads that have lost their names: %s", nameless)
    check("threads by pattern: " in profile.out, "the summary does not say so: %s", profile.out[-1500:])
    return compare(counted, truth, profile, rate)
