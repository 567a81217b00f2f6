"""Many processes: what they fork, execute and leave behind, each with what it says of its own work."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import family
import harness
import native
from binaries import Binary
from family import Attached, RATE, record, record_script, ruby, start
from harness import case, check

NOBODY = 65534
# After a fork a page is copied when it is written to, and cannot be read while that goes on.  2.4 % were lost on the
# machine where that takes longest.
FORK_LOSS = 0.03

PARENT = "def parents_own(s) = burn(s, :parents_own)\n"
# What forks before extprof has found its ruby has children without names of their parent's: not this one.
FOUND_PARENT = PARENT + "sleep 0.2\n"


# A child's CPU time with that of its end, which takes tens of ms where memory is slow.
TELL_ENDED = """
def cpu_of_ended = (t = Process.times; ((t.cutime + t.cstime) * 1e9).to_i)
def tell_ended = (before = cpu_of_ended; tell "ended", Process.wait, "-", cpu_of_ended - before)
"""


# Of Kernel#exec, which nothing has called before.
CALL_OF_EXEC = r"<main>( program.rb)?;Kernel#fork;block in <main>;\[exited before resolved\]"


def all_ended(found, how="exit 0"):
    wrong = [(r.pid, r.ended) for r in found.rows if r.ended != how]
    check(not wrong, "these did not end with %s: %s", how, wrong)


@case(timeout=30)
def work_in_children_only(ctx):
    """The children run methods that the parent has defined, and methods that they define themselves."""
    found = record_script(ctx, FOUND_PARENT + """
3.times { |i| fork { parents_own 0.15; burn_anew 0.15, "childs_own_#{i}" } }
Process.waitall""")
    text = found.compare(6, FORK_LOSS)
    check(len(found.rows) == 4, "%d processes in the table", len(found.rows))
    all_ended(found)
    parent = min(found.rows, key=lambda r: r.pid)
    check(parent.samples < 0.2 * RATE * 0.3, "the parent has %d samples", parent.samples)
    return text


@case(timeout=30)
def exec_of_another_ruby(ctx):
    """Until its layout is read, the new program is not sampled: that CPU time is in the summary, with its
    reason. What is sampled and what is not are all CPU time that the process has used."""
    second = ctx.write("second.rb", "def of_the_second(s) = burn(s, :of_the_second)\nof_the_second 0.3\ntell_cpu\n")
    found = record_script(ctx, FOUND_PARENT + TELL_ENDED + """
fork { parents_own 0.2; exec(*%r) }
tell_ended""" % ruby(second))
    text = found.compare(2, FORK_LOSS, unnamed=CALL_OF_EXEC)
    (_, pid), cpu = next((key, ns) for key, ns in found.told.items() if key[0] == "ended")
    row, (late, why) = found.row(pid), found.unprofiled(pid)
    # Both are printed in steps of 10 ms, and the kernel's account at exec is late by a tick of 10 ms at most.
    check(-0.021 - found.steal < cpu - row.cpu - late < 0.03 + found.steal, "process %d: %.3f s of CPU time, %.2f profiled and %.2f not",
          pid, cpu, row.cpu, late)
    check(late < 0.1 + found.late, "it was not profiled for %.2f s, and extprof had no CPU for %.2f s", late, found.late)
    check(not late or why == family.NOT_ATTACHED, "why: %s", why)
    return "%s; CPU time %.2f s = %.2f profiled + %.2f before it was attached" % (text, cpu, row.cpu, late)


@case(timeout=30)
def exec_of_no_ruby(ctx):
    """A child that becomes another program: its own work is shown, and the other program is named with its CPU time."""
    python = ctx.write("other.py", "import time\nwhile time.process_time() < 0.5: pass\n"
                       "print('python', time.process_time(), flush=True)\n")
    found = record_script(ctx, FOUND_PARENT + """
Process.wait fork { parents_own 0.2; tell_cpu; exec(*%r) }""" % [sys.executable, python])
    text = found.compare(1, FORK_LOSS, unnamed=CALL_OF_EXEC)
    (_, pid), before = next(iter(found.told.items()))
    total = float(re.search(r"python ([\d.]+)", found.profile.out).group(1))
    row, (other, why) = found.row(pid), found.unprofiled(pid)
    # At exec the kernel's account is late by a tick of its scheduler, and extprof looks at it when it has a CPU.
    check(abs(other - (total - before)) < 0.03 + found.steal + found.late, "%.2f s not profiled, the other program used %.3f, extprof had "
          "no CPU for %.2f s", other, total - before, found.late)
    check(abs(row.cpu + other - total) < 0.03 + found.steal, "%.2f s and %.2f s of %.3f", row.cpu, other, total)
    check("python" in row.command, "it is called %s", row.command)
    check(why == "another program", "why: %s", why)
    return "%s; another program %.2f s of %.2f: %s" % (text, other, total - before, why)


@case(timeout=30)
def leader_ends(ctx):
    """The main thread ends and another one goes on: the process lives, and so does its profile."""
    program = FOUND_PARENT + """
require "fiddle"
# Without the GVL: the other thread goes on.
EXIT = Fiddle::Function.new(Fiddle.dlopen(nil)["syscall"], [Fiddle::TYPE_LONG, Fiddle::TYPE_LONG], Fiddle::TYPE_LONG)
fork do
  Thread.new do
    sleep 0.01 until File.read("/proc/self/task/#{Process.pid}/stat")[/\\) (\\w)/, 1] == "Z"
    burn_anew 0.3, "after_the_leader"
    tell_cpu
    # The thread that would handle any other signal is gone.
    Process.kill :KILL, Process.pid
  end
  parents_own 0.1
  EXIT.call(%d, 0)
end
Process.waitall""" % {"x86_64": 60, "aarch64": 93}[os.uname().machine]
    found = record_script(ctx, program)
    text = found.compare(2, FORK_LOSS)
    (_, pid), cpu = next(iter(found.told.items()))
    row = found.row(pid)
    check(row.ended == "SIGKILL", "it ended with %s", row.ended)
    check(abs(row.cpu - cpu) < 0.02 + found.steal, "%.2f s of %.3f", row.cpu, cpu)
    return text + "; ended with " + row.ended


DAEMON = PARENT + """
$stdin.gets if ARGV[0]
tell "parent", Process.pid, "-", 0
sleep 0.1 # it is found meanwhile: a table of processes needs two
Process.daemon(true, true)
parents_own 0.2
burn_anew 0.2, "daemons_own"
tell_cpu
"""


def daemon(found):
    # Its parents end with their first call of Process.daemon: whatever is sampled in there but the work may be too
    # late for a name.
    text = found.compare(2, FORK_LOSS, unnamed=r"(?!.*#(burn|parents_own|daemons_own)).*")
    pid = next(pid for kind, pid in found.told if kind == "cpu")
    check(("parent", pid) not in found.told, "it is no daemon")
    row = found.row(pid)
    check(row.ended == "exit 0" and abs(row.cpu - found.told["cpu", pid]) < 0.02 + found.steal, "%s, %.2f s of %.3f", row.ended,
          row.cpu, found.told["cpu", pid])
    return text


@case(timeout=30)
def daemon_of_a_command(ctx):
    """Process.daemon forks twice, and the command ends: the recording goes on until the daemon ends."""
    return daemon(record_script(ctx, DAEMON))


@case(timeout=30)
def daemon_of_a_pid(ctx):
    program = start(ctx, ruby(ctx.write("daemon.rb", DAEMON), "wait"))
    harness.until(lambda: harness.state(program.pid) == "S" and "truth" in open_files(program.pid), "it does not wait")
    reader = Attached(ctx, "-p", program.pid, "-s")
    program.tell("go")
    return daemon(reader.wait())


def open_files(pid):
    return " ".join(os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid))


@case(timeout=30)
def pid_reused(ctx):
    """Two children with the same pid, one after the other: two processes. In a pid namespace nobody else takes
    pids, and the kernel gives the one that it is told to give. extprof is in there too."""
    found = record_script(ctx, FOUND_PARENT + """
first = fork { burn_anew 0.15, "first_life" }
Process.wait first
second = nil
until second == first
  Process.wait second if second
  File.write "/proc/sys/kernel/ns_last_pid", (first - 1).to_s
  second = fork { exit! unless Process.pid == first; burn_anew 0.15, "second_life" }
end
Process.wait second
3.times do
  File.write "/proc/sys/kernel/ns_last_pid", (first - 1).to_s
  Process.wait fork { burn_anew 0.05, "later_life" }
end""", prefix=("unshare", "-p", "-f", "--mount-proc"))
    text = found.compare(5, FORK_LOSS)
    pids = found.pids("first_life") + found.pids("second_life") + found.pids("later_life")
    check(len(set(pids)) == 1, "the pids are %s", pids)
    rows = [r.samples for r in found.rows if r.pid == pids[0]]
    check(len(rows) >= 5, "%d rows with pid %d:\n%s", len(rows), pids[0], found.profile.out)
    return "%s; pid %d in rows with %s samples" % (text, pids[0], rows)


@case(timeout=30)
def spawn_system_and_backticks(ctx):
    """Each of them makes a process that executes at once; ruby uses vfork if it is not root."""
    script = ctx.write("started.rb", "burn_anew 0.2, ARGV[0]\ntell_cpu\n")
    os.chmod(script, 0o644)
    found = record_script(ctx, FOUND_PARENT + """
started = %r
parents_own 0.1
Process::UID.change_privilege(%d) if Process.uid == 0
Process.wait spawn(*started, "by_spawn")
system(*started, "by_system") or abort
`#{(started + ["by_backticks"]).join(" ")}`
IO.popen([*started, "by_popen"]).read
100.times { system "true" }
""" % (ruby(script), NOBODY))
    # During an exec the memory of the old program is gone, and the new one is not there: a sample then is lost as
    # section-changed.  An exec takes up to a millisecond, so each can have one.
    text = found.compare(5, FORK_LOSS + 105 / max(found.profile.sums.taken, 1))
    other = sum(int(n) for reason, n in re.findall(r"([a-z-]+): (\d+)", found.profile.sums.text) if reason != "section-changed")
    check(other <= FORK_LOSS * found.profile.sums.taken, "%s", found.profile.sums.text)
    check(len({pid for pid, *_ in found.works}) == 5, "%s", found.works)
    late = [found.unprofiled(pid)[0] for _, pid in found.told]
    for (_, pid), cpu in found.told.items():
        check(abs(found.row(pid).cpu + found.unprofiled(pid)[0] - cpu) < 0.03 + found.steal, "process %d: %.2f and %.2f of %.3f s",
              pid, found.row(pid).cpu, found.unprofiled(pid)[0], cpu)
    return "%s; %s s before they were attached" % (text, late)


@case(timeout=30)
def memory_shared_with_the_parent(ctx):
    """clone(CLONE_VM) makes a process that works in its parent's memory: its samples are its own, in the method of
    the parent that called clone."""
    library = ctx.path("shared_memory.so")
    native.run(native.tool("CC"), "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-o", library,
               os.path.join(harness.PROGRAMS, "shared_memory.c"))
    found = record_script(ctx, FOUND_PARENT + """
require "fiddle"
CLONE = Fiddle::Function.new(Fiddle.dlopen(%r)["burn_in_shared_memory"],
  [Fiddle::TYPE_LONG_LONG, Fiddle::TYPE_VOIDP], Fiddle::TYPE_LONG_LONG)
def calls_clone
  pid = Fiddle::Pointer.malloc(4)
  wall = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  ns = CLONE.call(300_000_000, pid)
  tell "work", pid[0, 4].unpack1("i"), :calls_clone, ns, Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - wall
end
calls_clone
parents_own 0.2""" % library)
    text = found.compare(2)
    pid, parent = found.pids("calls_clone")[0], found.pids("parents_own")[0]
    check(pid != parent, "both are process %d", pid)
    wrong = [s.text for s in found.stacks if s.pid == pid and "Object#calls_clone" not in s.labels() and not s.native]
    check(not wrong, "other stacks: %s", wrong[:3])
    return text


@case(timeout=30)
def pid_namespaces(ctx):
    """unshare -f, a pid namespace within another one, and one that is entered: they are shown by the pids that extprof
    sees."""
    script = ctx.write("inside.rb", PARENT + """
parents_own 0.1
Process.wait fork { tell "inner", Process.pid, "-", 0; burn_anew 0.15, "childs_own" }""")
    holder = ctx.start(["unshare", "-p", "-f", "--kill-child", "sleep", "60"])
    harness.until(lambda: children(holder.pid), "unshare has no child")
    inner = children(holder.pid)[0]
    found = record(ctx, ["sh", "-c", "unshare -p -f %s && unshare -p -f unshare -p -f %s && nsenter -t %d -p %s" % (
        *[" ".join(ruby(script))] * 2, inner, " ".join(ruby(script)))])
    text = found.compare(6, FORK_LOSS)
    check(len({pid for pid, *_ in found.works}) == 6, "%s", found.works)
    inside = sorted(pid for kind, pid in found.told if kind == "inner")
    check(inside and inside[0] < 10, "the program sees itself as %s", inside)
    return text


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return list(map(int, f.read().split()))
    except OSError:
        return []


@case(timeout=30)
def setuid_in_the_child(ctx):
    found = record_script(ctx, FOUND_PARENT + """
Process.wait fork { Process::Sys.setgid(%d); Process::Sys.setuid(%d); parents_own 0.2; burn_anew 0.2, "nobodys_own" }
parents_own 0.1""" % (NOBODY, NOBODY))
    return found.compare(3, FORK_LOSS)


@case(timeout=40)
def forks_of_forks(ctx):
    """A child that forks at once, whose child works; and a chain of 30, each with a method of its own."""
    found = record_script(ctx, FOUND_PARENT + """
Process.wait fork { exit!(0) if fork; parents_own 0.1; burn_anew 0.1, "grandchilds_own" }
def chain(depth)
  return if depth > 30
  Process.wait fork {
    eval "def link_#{depth}(s) = burn(s, :link_#{depth})"
    send "link_#{depth}", 0.03
    send "link_#{depth - 1}", 0.03 if depth > 1
    chain depth + 1 }
end
chain 1
""")
    text = found.compare(2 + 30 + 29, FORK_LOSS)
    check(len(found.rows) >= 32, "%d rows", len(found.rows))
    return text


WAITS = PARENT + """
puts "ready"
$stdin.gets
"""


@case(timeout=30)
def children_that_exist_already(ctx):
    """-s: also children and their children that were there before extprof, and those that come later."""
    program = start(ctx, ruby(ctx.write("program.rb", PARENT + """
r, w = IO.pipe
2.times do |i|
  fork { fork { w.close; r.read; burn_anew 0.15, "grandchild_#{i}" }; w.close; r.read; parents_own 0.15; Process.wait }
end
puts "ready"
$stdin.gets
fork { w.close; r.close; burn_anew 0.15, "a_later_child" }
w.close
Process.waitall""")))
    program.expect("ready")
    harness.until(lambda: [len(harness.children(child)) for child in harness.children(program.pid)] == [1, 1], "there are no grandchildren")
    reader = Attached(ctx, "-p", program.pid, "-s")
    program.tell("go")
    found = reader.wait()
    text = found.compare(5, FORK_LOSS)
    all_ended(found)
    check(len(found.rows) == 6, "%d rows", len(found.rows))
    return text


@case(timeout=30)
def children_that_are_not_followed(ctx):
    """-p without -s: the children are named with pids and CPU time, those of before and those of later."""
    program = start(ctx, ruby(ctx.write("program.rb", PARENT + TELL_ENDED + """
r, w = IO.pipe
fork { w.close; r.read; burn 0.3, :a_child }
puts "ready"
$stdin.gets
w.close
fork { r.close; burn 0.2, :a_later_child }
2.times { tell_ended }
parents_own 0.2
$stdin.gets""")))
    program.expect("ready")
    for child in harness.children(program.pid):
        harness.at_rest(child)
    reader = Attached(ctx, "-p", program.pid)
    program.tell("go")
    harness.until(lambda: "parents_own" in open(family.truth_file(ctx)).read(), "it has not worked")
    found = reader.stop()
    text = found.compare(3, FORK_LOSS, only=("parents_own",))
    for (_, pid), cpu in found.told.items():
        shown, why = found.unprofiled(pid)
        check(cpu - 0.02 < shown < cpu + 0.02, "process %d: %.2f s not profiled, it used %.3f:\n%s", pid, shown, cpu,
              found.profile.out)
    check(not any("child" in s.text for s in found.stacks), "a child is in the profile")
    return "%s; %s" % (text, [u[:3] for u in found.unfollowed])


NAMED = PARENT + """
parents_own 0.3
tell_cpu
"""


def selected(ctx, args, wanted, others):
    """-a with a condition: rubies that start later, those that are wanted and others."""
    reader = Attached(ctx, "-a", *args)
    # The recording begins with the first one, when its layout has been read.
    for argv in [wanted[0], *wanted, *others]:
        check(start(ctx, argv).wait() == 0, "%s failed", argv)
    found = reader.stop()
    first = found.works.pop(0)[0]
    mine = [pid for pid, *_ in found.works]
    check(len(mine) == len(wanted) + len(others) and first not in mine, "%s have worked", mine)
    got = {pid: found.samples(pid, "parents_own") for pid in mine}
    for i, (pid, _, work) in enumerate(found.works):
        expected = work.expected(RATE)
        slack = 4 + 0.02 * expected + work.chance(RATE) + RATE * work.stolen + found.profile.sums.missed
        if i < len(wanted):
            # The time until it is attached to is not sampled, which the summary says.  That takes long beside others.
            late = found.unprofiled(pid)[0]
            check(late < 0.1 + found.late, "%.2f s of %d are before it was attached to, and extprof had no CPU for %.2f s", late, pid, found.late)
            check(-RATE * late <= got[pid] - expected + slack + 0.15 * expected and
                  got[pid] <= expected + slack, "%d samples, not %.0f +- %.0f, and %.2f s late", got[pid], expected, slack, late)
        else:
            check(got[pid] == 0, "process %d was not wanted, but has %d samples", pid, got[pid])
    found.named()
    return "%s" % list(got.values())


def used(pid):
    """CPU time of its first thread, s."""
    with open("/proc/%d/schedstat" % pid) as f:
        return int(f.read().split()[0]) / 1e9


@case(timeout=60)
def another_ruby_starts_later(ctx):
    """-a, and a ruby whose layout is not known: what it used until that was read is told, and all of it is."""
    script, copy = ctx.write("program.rb", NAMED), Binary(ctx)
    reader = Attached(ctx, "-a")
    check(start(ctx, ruby(script)).wait() == 0, "the first one failed")
    words = [copy.ruby if word == harness.RUBY else word for word in ruby(script)]
    for i in range(3):
        # Another one each time.
        os.chmod(copy.changed, 0o755)
        with open(copy.changed, "ab") as f:
            f.write(b"\0")
        # extprof is stopped meanwhile: it cannot attach before the program has used so much.
        reader.reader.signal(signal.SIGSTOP)
        program = ctx.start(words, env={**copy.env, "TRUTH": family.truth_file(ctx), "LINGER": family.LINGER})
        harness.until(lambda: used(program.pid) > 0.1, "the copy uses no CPU time")
        reader.reader.signal(signal.SIGCONT)
        check(program.wait() == 0, "the copy failed: %s", ctx.complaints())
    found = reader.stop()
    said = []
    for (kind, pid), cpu in list(found.told.items()):
        if kind == "cpu" and pid != found.works[0][0]:
            late, why = found.unprofiled(pid)
            said.append(late)
            check(abs(found.row(pid).cpu + late - cpu) < 0.05 + found.steal, "%.3f s of CPU time, %.2f profiled and %.2f not (%s)", cpu,
                  found.row(pid).cpu, late, why)
            check(late > 0.09 and "not yet attached" in why, "late by %.2f s: %s", late, why)
    check(len(said) == 3, "%s", found.told)
    return "%s s before they were attached" % said


@case(timeout=40)
def all_of_a_user(ctx):
    script = ctx.write("program.rb", NAMED)
    as_user = ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups"]
    return selected(ctx, ["--user", str(NOBODY)], [as_user + ruby(script)], [ruby(script)])


@case(timeout=40)
def all_of_a_name(ctx):
    """By the name of the script."""
    name = "wanted-%d.rb" % os.getpid()
    return selected(ctx, ["--name", name[:-3] + "*"], [ruby(ctx.write(name, NAMED))] * 2,
                    [ruby(ctx.write("other-%d.rb" % os.getpid(), NAMED))])


@case(timeout=40)
def all_of_a_cgroup(ctx):
    """A cgroup and those below it."""
    with open("/proc/self/mounts") as f:
        roots = [line.split()[1] for line in f if line.split()[2] == "cgroup2"]
    check(roots, "cgroup v2 is not mounted")
    group = "extprof-test-%d" % os.getpid()
    path = os.path.join(roots[0], group)
    os.makedirs(os.path.join(path, "below"))
    script = ctx.write("program.rb", NAMED)

    def inside(directory):
        return ["sh", "-c", "echo $$ > %s/cgroup.procs && exec \"$@\"" % directory, "sh", *ruby(script)]
    try:
        return selected(ctx, ["--cgroup", "/" + group], [inside(path), inside(os.path.join(path, "below"))],
                        [ruby(script)])
    finally:
        ctx.close()
        harness.until(lambda: remove(os.path.join(path, "below")) and remove(path), "the cgroup is still in use")


CHANGING = """
def before_it(s) = burn(s, :before_it)
def after_it(s) = burn(s, :after_it)
sleep 0.5
fork do
  before_it 0.3
  %s
  sleep 2
  after_it 0.3
end
Process.waitall
"""


def changing(ctx, args, change, wanted, script="program.rb"):
    """-a with a condition that a child fits only before or only after it has changed."""
    if os.path.exists(family.truth_file(ctx)):
        os.remove(family.truth_file(ctx))
    reader = Attached(ctx, "-a", *args)
    check(start(ctx, ruby(ctx.write(script, CHANGING % change))).wait() == 0, "the program failed")
    found = reader.stop()
    text = found.compare(2, FORK_LOSS, only=(wanted,))
    other = {"before_it": "after_it", "after_it": "before_it"}[wanted]
    got = found.samples(found.works[0][0], other)
    check(got == 0, "%d samples of %s", got, other)
    return text


@case(timeout=60)
def changes_its_user(ctx):
    """A worker that drops its privileges is found from then on."""
    return changing(ctx, ["--user", str(NOBODY)], "Process::UID.change_privilege(%d)" % NOBODY, "after_it")


@case(timeout=60)
def changes_its_title(ctx):
    """One that sets its title is found, and one whose title fits no more is left."""
    found = changing(ctx, ["--name", "late-%d*" % os.getpid()], "$0 = 'late-%d worker'" % os.getpid(), "after_it")
    name = "early-%d.rb" % os.getpid()
    return found + "; " + changing(ctx, ["--name", name], "$0 = 'late worker'", "before_it", name)


@case(timeout=60)
def changes_its_cgroup(ctx):
    """One that is moved into the group is found. The group has its name with and without the place of its mount; one that
    does not exist is an error."""
    with open("/proc/self/mounts") as f:
        roots = [line.split()[1] for line in f if line.split()[2] == "cgroup2"]
    check(roots, "cgroup v2 is not mounted")
    group = "extprof-moved-%d" % os.getpid()
    path = os.path.join(roots[0], group)
    os.mkdir(path)
    move = "File.write(%r, Process.pid.to_s)" % (path + "/cgroup.procs")
    try:
        text = [changing(ctx, ["--cgroup", name], move, "after_it") for name in (group, path)]
        got = ctx.extprof("record", "--cgroup", "no-" + group, "-d", "1", "-o", ctx.path("none.folded"))
        check(got.status == harness.NO_PROCESS and "there is no cgroup /no-" + group in got.err, "status %d: %s", got.status, got.err)
        return "; ".join(text)
    finally:
        ctx.close()
        harness.until(lambda: remove(path), "the cgroup is still in use")


def remove(directory):
    try:
        os.rmdir(directory)
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return True


@case(timeout=30)
def several_pids(ctx):
    """-p A,B, and the same one again: each is sampled once."""
    script = ctx.write("program.rb", WAITS + "parents_own 0.3\n")
    a, b = (start(ctx, ruby(script)) for _ in range(2))
    for p in (a, b):
        p.expect("ready")
    reader = Attached(ctx, "-p", "%d,%d" % (a.pid, b.pid), "-p", a.pid)
    for p in (a, b):
        p.tell("go")
    found = reader.wait()
    text = found.compare(2)
    check(sorted(r.pid for r in found.rows) == sorted((a.pid, b.pid)), "the table has %s", [r.pid for r in found.rows])
    return text


@case(timeout=60)
def many_start_at_once(ctx):
    """200 rubies that start together hold up nothing: a process that is sampled already loses no sample."""
    program = start(ctx, ruby(ctx.write("program.rb", WAITS + """
puts "works"
parents_own 1.5
$stdin.gets""")))
    program.expect("ready")
    reader = Attached(ctx, "-a")
    program.tell("go")
    program.expect("works")
    others = subprocess.Popen(["sh", "-c", "i=0; while [ $i -lt 200 ]; do %s --disable=gems -e 'sleep 4' & i=$((i+1)); done; wait"
                               % harness.RUBY], env=harness.environment(), start_new_session=True)
    try:
        check(others.wait(45) == 0, "they failed")
    finally:
        others.kill()
    harness.until(lambda: "parents_own" in open(family.truth_file(ctx)).read(), "it has not worked", 30)
    found = reader.stop()
    row = found.row(program.pid)
    check(row.lost == 0, "%d of %d samples are lost", row.lost, row.samples)
    rubies = sum(harness.RUBY.split("/")[1] in r.command and "sleep 4" in r.command for r in found.rows)
    check(rubies >= 190, "%d rubies in the table", rubies)
    (pid, _, work), = found.works
    got, expected = found.samples(pid, "parents_own"), work.expected(RATE)
    slack = 4 + 0.02 * expected + work.chance(RATE) + RATE * work.stolen
    check(expected - slack - found.profile.sums.missed <= got <= expected + slack, "%d samples, %.0f +- %.0f expected",
          got, expected, slack)
    return "%d samples of %.0f, none lost; %d others" % (got, expected, rubies)


@case(timeout=30)
def shell_script_by_pid(ctx):
    """-p of a shell script with -s: its rubies are profiled, and the shell is no error."""
    a, b = (ctx.write(n + ".rb", "burn_anew 0.2, '%s_ruby'\n" % n) for n in ("first", "second"))
    shell = start(ctx, ["sh", "-c", "echo ready; read go; %s; %s; true" % (" ".join(ruby(a)), " ".join(ruby(b)))])
    shell.expect("ready")
    steal = harness.stolen()
    reader = ctx.extprof_start(*family.options(ctx, "-p", str(shell.pid), "-s"))
    # There is no ruby yet: no timer runs.
    harness.until(lambda: harness.waits(reader.pid), "extprof does not wait for a ruby")
    shell.tell("go")
    found = family.Family(ctx.profile_of(reader).ok(), family.truth_file(ctx), harness.stolen() - steal)
    return found.compare(2)


@case(timeout=30)
def shell_as_command(ctx):
    a, b = (ctx.write(n + ".rb", "burn_anew 0.2, '%s_ruby'\n" % n) for n in ("first", "second"))
    found = record(ctx, ["sh", "-c", "%s; %s" % (" ".join(ruby(a)), " ".join(ruby(b)))])
    text = found.compare(2)
    all_ended(found)
    return text


@case(timeout=30)
def attached_late(ctx):
    """extprof stands still until a ruby has worked: what that has worked until it is attached is not in its samples, and
    is told as not profiled. Both are all CPU time that it has used, as it says itself."""
    first = ctx.write("first.rb", "burn_anew 0.1, 'first_ruby'\n")
    late = ctx.write("late.rb", "burn_anew 0.1, 'unseen'\nProcess.kill :CONT, ARGV[0].to_i\nburn_anew 0.2, 'seen'\ntell_cpu\n")
    found = record(ctx, ["sh", "-c", "%s; kill -STOP $PPID; %s $PPID; true" % (" ".join(ruby(first)), " ".join(ruby(late)))])
    text = found.compare(3)
    all_ended(found)
    pid, = found.pids("seen")
    (unseen, seen), (late, why) = [w for of, _, w in found.works if of == pid], found.unprofiled(pid)
    check(why == family.NOT_ATTACHED, "not profiled: %.2f s, %s", late, why)
    check(found.samples(pid, "unseen") == 0, "%d samples of what it did before", found.samples(pid, "unseen"))
    # Told in steps of 10 ms; at exec the kernel's account is late by a tick of 10 ms at most.
    expected = RATE * (seen.before + seen.cpu / 1e9 - late)
    slack = 5 + 0.02 * expected + seen.chance(RATE) + 0.015 * RATE + RATE * seen.stolen
    got, cpu, row = found.samples(pid, "seen"), found.told["cpu", pid], found.row(pid)
    check(abs(got - expected) <= slack + found.profile.sums.missed, "%d samples, %.1f +- %.1f expected, %.2f s not profiled", got,
          expected, slack, late)
    check(-0.02 - found.steal < cpu - row.cpu - late < 0.03 + found.steal, "%.3f s of CPU time, %.2f profiled and %.2f not", cpu, row.cpu, late)
    return "%s; %.3f s of CPU time, %.2f before it was attached, %d samples of %.0f" % (text, cpu, late, got, expected)


@case(timeout=30)
def killed(ctx):
    """The table says how each process ended."""
    found = record_script(ctx, FOUND_PARENT + """
victim = fork { parents_own 0.15; sleep }
other = fork { exit 7 }
last = fork { Process.kill :SEGV, Process.pid; sleep }
tell "victim", victim, "-", 0
sleep 0.01 until File.read(ENV["TRUTH"]).include?("work")
Process.kill :KILL, victim
tell "other", other, "-", 0
Process.waitall""")
    # One child only exits and another one only kills itself: their blocks, or these calls alone, may be seen too late for
    # names.
    text = found.compare(1, FORK_LOSS, unnamed=r".*Kernel#fork(;block in <main>)?(;\[exited before resolved\])+")
    ended = {kind: found.row(pid).ended for kind, pid in found.told}
    check(ended == {"victim": "SIGKILL", "other": "exit 7"}, "%s", ended)
    return "%s; %s" % (text, ended)


@case(timeout=240)
def many_children(ctx):
    """Children that live 5 ms: all samples are all CPU time, each frame that the parent has called has its name, and
    extprof's memory is bounded. EXTPROF_TESTS_CHILDREN=10000 is the long form."""
    count = int(os.environ.get("EXTPROF_TESTS_CHILDREN", "1000"))
    script = ctx.write("program.rb", """
def work(till) = (nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond) < till)
work 10_000_000
# The parent has called both by now; exit! ends with an error before it does anything.
begin
  exit! 1, 2
rescue ArgumentError
end
work cpu(Process::CLOCK_PROCESS_CPUTIME_ID) + 50_000_000
# What a child has used before it works is in its status, in steps of 20 us.
worked = 0
%d.times { Process.wait fork { from = cpu(Process::CLOCK_PROCESS_CPUTIME_ID); work 5_000_000; exit! from > 5_000_000 ? 250 : from / 20_000 }
  worked += 5_000_000 - $?.exitstatus * 20_000 }
t = Process.times
tell "worked", Process.pid, "-", worked
tell "self", Process.pid, "-", ((t.utime + t.stime) * 1e9).to_i
tell "children", Process.pid, "-", ((t.cutime + t.cstime) * 1e9).to_i
""" % count)
    truth = family.truth_file(ctx)
    with open(ctx.path("out"), "w") as out, open(ctx.path("err"), "w") as err:
        steal, began = harness.stolen(), time.monotonic()
        reader = subprocess.Popen([harness.EXTPROF, "record", *family.options(ctx), "--", *ruby(script)], stdout=out,
                                  stderr=err, stdin=subprocess.DEVNULL, env=harness.environment({"TRUTH": truth}))
        status, memory = harness.wait_for_peak(reader.pid)
        reader.returncode = status
        took = time.monotonic() - began
    with open(ctx.path("out"), encoding="utf-8") as out, open(ctx.path("err"), encoding="utf-8") as err:
        profile = harness.Profile(status, out.read(), err.read(), ctx.path("out.folded")).ok()
    found = family.Family(profile, truth, harness.stolen() - steal)
    worked = next(ns for (kind, _), ns in found.told.items() if kind == "worked")
    truth = sum(ns for (kind, _), ns in found.told.items() if kind != "worked")
    sums, expected = profile.sums, RATE * truth
    # Every process begins and ends between two ticks: chance, as with slices of the scheduler.
    slack = 0.02 * expected + 5 * count ** 0.5 + RATE * found.steal
    check(expected - slack - sums.missed <= sums.taken <= expected + slack,
          "%d samples, %.0f +- %.0f expected, %d missed: %.2f s", sums.taken, expected, slack, sums.missed, truth)
    check(sums.lost <= FORK_LOSS * sums.taken, "%s", sums.text)
    unnamed = [s.text for s in found.stacks if "[exited" in s.text]
    in_work = sum(s.count for s in found.stacks if "Object#work" in s.labels())
    check(not unnamed, "%d stacks have frames without a name: %s", len(unnamed), unnamed[:5])
    # The parent works, too.
    least = RATE * (worked + 0.05)
    check(in_work >= least - slack - sums.missed - sums.lost, "%d of %d samples in work, %.0f expected", in_work, sums.taken,
          least)
    memory /= 1 << 20
    # A row, and the stacks of the process in the tree.
    most = 30 + count * 4 / 1024
    check(memory < most, "extprof used %.0f MB, %.0f are permitted", memory, most)
    return "%d children, %.2f s of CPU time in %.1f s: %d samples of %.0f (%+.2f %%), lost %d, missed %d; %.0f MB" % (
        count, truth, took, sums.taken, expected, 100 * (sums.taken / expected - 1), sums.lost, sums.missed, memory)


@case(timeout=90)
def children_of_milliseconds(ctx):
    """Children that live 4 ms and call methods that nobody has called before, 60 of each end: by exit! and by SIGKILL.
    Each frame of theirs has its name and its line."""
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (6, 16):
        return harness.Counted(0, 0, 1, "the memory of a process is gone at its end before Linux 6.16")
    methods = "\n".join("def work%d(ms)\n  inner%d(ms)\nend\ndef inner%d(ms)\n  t = now + ms\n  nil while now < t\nend" % (i, i, i)
                        for i in range(6))
    found = record_script(ctx, """
def now = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :float_millisecond)
module App
  class Work
%s
  end
end
now
sleep 0.2
120.times { |i| Process.wait fork { App::Work.new.send("work#{i %% 6}", 4); i.even? ? exit!(0) : Process.kill(:KILL, $$) } }
tell "end", Process.pid, "-", 0
""" % methods)
    unnamed = [s.text for s in found.stacks if "[exited" in s.text]
    check(not unnamed, "%d stacks with frames without a name: %s", len(unnamed), unnamed[:5])
    named = {i: sum(s.count for s in found.stacks if "App::Work#inner%d" % i in s.labels()) for i in range(6)}
    least = 0.8 * 20 * 4 * RATE / 1000
    check(all(n >= least for n in named.values()), "%s, at least %.0f each", named, least)
    return "%s samples of 20 children each" % sorted(named.values())


@case(timeout=40)
def bursts_of_fork_and_spawn(ctx):
    """Short processes: what is profiled and what is not are together all CPU time of the program and its children."""
    found = record_script(ctx, FOUND_PARENT + """
300.times { Process.wait fork { exit! 0 } }
200.times { Process.wait spawn("/bin/true") }
t = Process.times
tell "all", Process.pid, "-", ((t.utime + t.stime + t.cutime + t.cstime) * 1e9).to_i
""")
    truth = found.told[next(iter(found.told))]
    profiled = float(found.all.group(3))
    rest = next((cpu for pid, cpu, *_ in found.unfollowed if pid == "all"), 0)
    check(abs(profiled + rest - truth) <= 0.03 * truth + 0.02, "%.2f s profiled and %.2f s not, of %.3f s", profiled, rest,
          truth)
    return "%.2f s of CPU time = %.2f profiled + %.2f not (%.1f %% are in neither)" % (
        truth, profiled, rest, 100 * (truth - profiled - rest) / truth)
