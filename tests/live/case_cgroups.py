"""Which container was it?  What each cgroup has of a recording, against the clocks of the programs in it."""
import json
import os
import signal

import case_otlp
import case_rotate
import harness
from case_processes import remove
from harness import case, check

# It moves itself into a cgroup, works for so long by its own clock, and has children that work and end at once.  Then it says
# how much CPU time it and they took.
PROGRAM = """
STDOUT.sync = true
CPU = Process::CLOCK_PROCESS_CPUTIME_ID
def now = Process.clock_gettime(CPU, :nanosecond)
def work(ms) = (t = now + ms * 1_000_000; 1 while now < t)
def child = work(4)
group, ms, children = ARGV[0], ARGV[1].to_i, ARGV[2].to_i
File.write(group + "/cgroup.procs", Process.pid.to_s)
puts "ready"
$stdin.gets
before, times = now, Process.times
20.times do |i|
  work(ms)
  (children / 20).times { Process.wait(fork { child; exit!(0) }) }
  sleep 0.01
end
after = Process.times
puts "#{now - before} #{((after.cutime + after.cstime - times.cutime - times.cstime) * 1e9).round}"
$stdin.gets
"""
# A supervisor: it forks a child that goes into another group and executes a program there.
SUPERVISOR = """
STDOUT.sync = true
inner, program, ms = ARGV
fork do
  # extprof looks at it in the group of its parent.
  sleep 0.3
  File.write(inner + "/cgroup.procs", Process.pid.to_s)
  exec("/proc/self/exe", "--disable=gems", program, inner, ms, "0")
end
Process.wait
"""
CONTAINER = "0123456789abcdef" * 4


class Groups:
    """Some groups of version 2 below one of this test, gone at its end."""

    def __init__(self, ctx, *names):
        with open("/proc/self/mounts") as f:
            roots = [line.split()[1] for line in f if line.split()[2] == "cgroup2"]
        check(roots, "cgroup v2 is not mounted")
        self.ctx, self.name = ctx, "/extprof-test-%d" % os.getpid()
        self.top = roots[0] + self.name
        os.mkdir(self.top)
        self.names = names
        for name in names:
            os.mkdir(os.path.join(self.top, name))

    def __enter__(self):
        return self

    def path(self, name):
        return os.path.join(self.top, name)

    def of(self, name):
        return self.name + "/" + name

    def __exit__(self, *_):
        self.ctx.close()
        harness.until(lambda: all(remove(self.path(n)) for n in self.names) and remove(self.top), "the cgroups are still in use")


def by_group(run, groups):
    """The sums of folded stacks by the name of their cgroup."""
    check(run.status == 0, "status %d: %s", run.status, run.err)
    with_name = {"[cgroup %s]" % groups.of(n): n for n in groups.names}
    sums = dict.fromkeys(groups.names, 0)
    for line in run.out.splitlines():
        stack, _, amount = line.rpartition(" ")
        outer = stack.split(";")[0]
        check(outer in with_name, "a stack of another group: %s", line)
        sums[with_name[outer]] += int(amount)
    return sums


def near(what, got, wanted):
    check(abs(got - wanted) <= 0.1 * wanted + 3e7, "%s: %.3f s, not %.3f s", what, got / 1e9, wanted / 1e9)


@case(timeout=90)
def shares_are_those_of_the_clocks(ctx):
    """Programs in two groups, one of them with children that live for 4 ms: live, in a recording, by filters, SQL and OTLP."""
    container = "docker-%s.scope" % CONTAINER
    with Groups(ctx, "web", container) as groups:
        script = ctx.write("program.rb", PROGRAM)
        rubies = {"web": ctx.ruby(script, groups.path("web"), "40", "80"), container: ctx.ruby(script, groups.path(container), "80", "0")}
        for ruby in rubies.values():
            ruby.expect("ready")
        path = ctx.path("app.extprof")
        live = ctx.extprof_start("record", "-v", "-a", "--cgroup", groups.name, "-F", harness.rate(2000), "--group-by", "cgroup", "-o", path,
                                 "-o", ctx.path("live.folded"))
        live.says("it is measured")
        ctx.attached(live)
        for ruby in rubies.values():
            ruby.tell("go")
        truth = {n: list(map(int, r.line(60).split())) for n, r in rubies.items()}
        live.signal(signal.SIGTERM)
        out, err = live.communicate()
        check(live.p.returncode == 0, "status %d: %s", live.p.returncode, err)
        folded = by_group(ctx.extprof("report", path, "--group-by", "cgroup", "--unit", "ns", "-f", "folded"), groups)
        for name, (own, children) in truth.items():
            near(name, folded[name], own + children)
        check(truth["web"][1] > 80 * 4e6, "%s", truth)
        with open(ctx.path("live.folded"), encoding="utf-8") as f:
            text = f.read()
        samples = by_group(ctx.extprof("report", path, "--group-by", "cgroup", "--unit", "samples", "-f", "folded"), groups)
        shown = by_group(harness.Profile(0, text, "", None), groups)
        check(shown == samples, "live %s, recorded %s", shown, samples)
        both = 0
        for name in groups.names:
            rows = case_rotate.sql(ctx, path, "SELECT sum(value), count(DISTINCT pid) FROM samples WHERE cgroup='%s'" % groups.of(name))
            check(int(rows[0][0]) == folded[name], "%s: SQL has %s, the report %d", name, rows, folded[name])
            check((int(rows[0][1]) > 40) == (name == "web"), "%s: %s processes", name, rows)
            for pattern in (groups.of(name), "*/" + name[:8] + "*"):
                one = by_group(ctx.extprof("report", path, "--group-by", "cgroup", "--unit", "ns", "-f", "folded", "--filter", "cgroup=" + pattern), groups)
                check(one == {n: folded[n] if n == name else 0 for n in groups.names}, "%s: %s", pattern, one)
            both += folded[name]
        above = by_group(ctx.extprof("report", path, "--group-by", "cgroup", "--unit", "ns", "-f", "folded", "--filter", "cgroup=" + groups.name), groups)
        check(sum(above.values()) == both, "the group above: %s", above)
        none = ctx.extprof("report", path, "--filter", "cgroup=" + groups.name[:-1])
        check(none.status == 74 and "no such samples" in none.err, "a part of a name: %d %s", none.status, none.err)
        check(case_rotate.sql(ctx, path, "SELECT count(*) FROM samples WHERE cgroup IS NULL") == [["0"]], "samples without a group")
        change = json.loads(ctx.extprof("diff", path, path, "-f", "json", "--filter", "cgroup=" + groups.of("web")).out)
        check(change["before"]["amount"] == folded["web"], "diff: %s", change["before"])
        # Resources of a container have its id; the sums are those of its processes.
        sums = dict.fromkeys((None, CONTAINER), 0)
        for resource, scope, kind, _, _, _, amount in case_otlp.otlp.samples(case_otlp.report(ctx, path)):
            if kind == ("cpu", "nanoseconds"):
                sums[resource.get("container.id")] += amount
        check(sums == {None: folded["web"], CONTAINER: folded[container]}, "OTLP: %s, not %s", sums, folded)
        return "; ".join("%s %.2f s of %.2f s (children %.2f s)" % (n[:10], folded[n] / 1e9, sum(t) / 1e9, t[1] / 1e9) for n, t in truth.items())


@case(timeout=60)
def a_program_has_the_group_that_it_was_executed_in(ctx):
    """A supervisor forks a child that goes into another group and executes a program there, as container runtimes do."""
    with Groups(ctx, "inner", "outer") as groups:
        script = ctx.write("program.rb", PROGRAM.replace("$stdin.gets\n", ""))
        path = ctx.path("app.extprof")
        run = ctx.extprof("record", "-q", "-F", harness.rate(2000), "-o", path, "--", "sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"',
                          groups.path("outer"), harness.RUBY, "--disable=gems", ctx.write("supervisor.rb", SUPERVISOR), groups.path("inner"),
                          script, "20")
        check(run.status == 0, "status %d: %s", run.status, run.err)
        check(len(run.out.split()) == 3, "it says %r, and %s", run.out, run.err)
        own = int(run.out.split()[1])
        rows = dict(case_rotate.sql(ctx, path, "SELECT n.text, count(*) FROM processes p JOIN strings n ON n.id=p.cgroup GROUP BY 1"))
        check(rows == {groups.of("inner"): "1", groups.of("outer"): "1"}, "processes: %s", rows)
        got = case_rotate.number(ctx, path, "SELECT sum(value) FROM samples WHERE cgroup='%s' AND stack_text(stack) LIKE '%%Object#work;%%'" %
                                 groups.of("inner"))
        near("inner", got, own)
        return "%.2f s of %.2f s" % (got / 1e9, own / 1e9)


def group_of_version_1():
    """Where the first hierarchy of version 1 is that a process is listed in; or why there is none to be used."""
    with open("/proc/self/mounts") as f:
        mounts = [line.split() for line in f]
    with open("/proc/self/cgroup") as f:
        lines = [line.rstrip("\n").split(":", 2) for line in f]
    if any(not controllers and path != "/" for _, controllers, path in lines):
        return None, "processes are in a group of version 2 here"
    for _, controllers, _ in lines:
        for _, where, kind, options, *_ in mounts:
            if controllers and kind == "cgroup" and set(controllers.split(",")) <= set(options.split(",")):
                return where, None
    return None, "there are no groups of version 1 here"


@case(timeout=60)
def a_container_of_version_1(ctx):
    """Version 2 is mounted and not used: the container's group is of version 1."""
    where, why = group_of_version_1()
    if not where:
        return harness.Counted(0, 0, 1, why)
    name = "/extprof-test-%d" % os.getpid()
    group = os.path.join(where + name, CONTAINER)
    try:
        os.makedirs(group)
    except OSError as e:
        return harness.Counted(0, 0, 1, "no group can be made here: %s" % e)
    try:
        ruby = ctx.ruby(ctx.write("program.rb", PROGRAM), group, "20", "0")
        ruby.expect("ready")
        path = ctx.path("app.extprof")
        reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-F", harness.rate(2000), "-o", path)
        ctx.attached(reader)
        ruby.tell("go")
        own, _ = map(int, ruby.line(60).split())
        reader.signal(signal.SIGTERM)
        check(reader.wait() == 0, "it failed")
        got = case_rotate.number(ctx, path, "SELECT sum(value) FROM samples WHERE cgroup='%s/%s'" % (name, CONTAINER))
        near("the container", got, own)
        resources = {r.get("container.id") for r, *_ in case_otlp.otlp.samples(case_otlp.report(ctx, path))}
        check(resources == {CONTAINER}, "containers of OTLP: %s", resources)
        return "%.2f s of %.2f s in %s" % (got / 1e9, own / 1e9, where)
    finally:
        ctx.close()
        harness.until(lambda: remove(group) and remove(where + name), "the group is still in use")
