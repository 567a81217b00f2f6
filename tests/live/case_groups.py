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


SERVICES = """
STDOUT.sync = true
puts "ready"
$stdin.gets
[["shop", "deployment.environment.name=prod,service.name=not%20this", 0.2], ["shop", "deployment.environment.name=test", 0.4],
 ["mail", nil, 0.6], [nil, "service.name=list%20of%20it", 0.3], [nil, nil, 0.5]].each do |name, list, s|
  Process.wait(spawn({ "OTEL_SERVICE_NAME" => name, "OTEL_RESOURCE_ATTRIBUTES" => list }, ENV["RUBY_UNDER_TEST"], "--disable=gems", ARGV[0], s.to_s))
end
puts "done"
sleep
"""
SERVED = """
CPU = Process::CLOCK_PROCESS_CPUTIME_ID
def spin(s) = (t = Process.clock_gettime(CPU) + s; nil while Process.clock_gettime(CPU) < t)
spin(Float(ARGV[0]))
"""


@case(timeout=90)
def services_and_resources(ctx):
    """Processes of three services and one that says nothing, by their own clocks: by service and by an attribute, recorded so and reported
    so; a filter of a service has what its group has. The recording has what they say once."""
    served = ctx.write("served.rb", SERVED)
    env = harness.environment({"RUBY_UNDER_TEST": harness.RUBY})
    ruby = ctx.ruby(ctx.write("services.rb", SERVICES), served, env=env)
    ruby.expect("ready")
    path = ctx.path("services.extprof")
    attribute = "deployment.environment.name"
    reader = ctx.extprof_start("record", "-s", "-p", ruby.pid, "-F", harness.rate(999), "--group-by", "service,resource:" + attribute, "-o", path,
                               "-o", ctx.path("live.folded"), "--unit", "ns")
    ctx.attached(reader)
    ruby.tell("go")
    check(ruby.line(60) == "done", "it is not done")
    reader.signal(2)
    check(reader.wait(30) == 0, "status %s", reader.p.returncode)

    def sums(lines, levels=1):
        found = Counter()
        for line in lines:
            stack, _, ns = line.rpartition(" ")
            found[";".join(stack.split(";")[:levels])] += int(ns)
        return found

    def report(*args, levels=1):
        return sums(ctx.extprof("report", path, "-f", "folded", "--unit", "ns", *args).ok().out.splitlines(), levels)

    with open(ctx.path("live.folded"), encoding="utf-8") as f:
        live = sums(f, 2)
    both = report(levels=2)
    check(live == both, "live %s, of the file %s", live, both)
    services, truth = report("--group-by", "service"), {"shop": 0.6, "mail": 0.6, "list of it": 0.3, "served.rb": 0.5}
    for name, s in truth.items():
        check(s * 0.9 < services["[service=%s]" % name] / 1e9 < s * 1.1 + 0.1, "%s: %s", name, services)
    check(set(services) <= {"[service=%s]" % name for name in (*truth, "services.rb")}, "%s", services)
    names = report("--group-by", "resource:" + attribute)
    check(set(names) == {"[%s=prod]" % attribute, "[%s=test]" % attribute, "[no %s]" % attribute}, "%s", names)
    check(both["[service=shop];[%s=prod]" % attribute] == names["[%s=prod]" % attribute]
          and sum(services.values()) == sum(names.values()), "%s, %s", both, names)
    for name in truth:
        check(sum(report("--filter", "service=" + name).values()) == services["[service=%s]" % name], "--filter service=%s", name)
    # Processes are as without it, and so is the file.
    each = report("--group-by", "service,process", levels=2)
    check(len(each) == len([k for k in each if re.fullmatch(r"\[service=.*\];\[process \d+ [\w.]+\]", k)]) >= 5, "%s", each)
    stored = ctx.extprof("sql", "-H", path, "SELECT count(*) FROM frames WHERE kind=8 AND module IS NOT NULL").ok().out.strip()
    check(stored == "0", "%s", stored)
    refused = ctx.extprof("record", "--group-by", "resource:", "-d", "1", "-p", ruby.pid)
    check(refused.status == 64 and "resource: is no list of different keys" in refused.err, "%s", refused)
    return ", ".join("%s %.2f s" % (name, ns / 1e9) for name, ns in sorted(services.items()))


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
