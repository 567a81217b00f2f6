"""Beginnings and ends: of the recording, of the process, of both at once."""
import glob
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter

import harness
import ptrace
import second_reader
from case_accounting import Work
from case_graph import YJIT
from harness import case, check, worked

BUSY = "def busy_method = (i = 0; i += 1 while i < 1000)\n$stdout.sync = true\nputs 'ready'\n"


def busy(ctx, then="busy_method while true", *flags):
    ruby = ctx.ruby(*flags, "-e", BUSY + then)
    ruby.expect("ready")
    return ruby


# Seconds of the program's CPU time, from when it is told to go on: others may have the CPU, and extprof may
# begin late.
WORK = """
def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
$stdin.gets
till = cpu + 1
busy_method while cpu < till
"""


def sound(profile, least, label="Object#busy_method"):
    """The profile is whole and shows what ran."""
    profile.ok()
    check(profile.sums.balanced and not profile.sums.lost, profile.sums.text)
    n = sum(s.count for s in profile.stacks if label in s.labels())
    check(n >= least, "%d samples in %s:\n%s", n, label, profile.out)
    return n


@case(timeout=30)
def duration(ctx):
    ruby = busy(ctx)
    start = time.monotonic()
    profile = ctx.extprof("-p", ruby.pid, "-d", "1.5", "-F", 1000, "-o", ctx.path("out.folded"))
    took = time.monotonic() - start
    n = sound(profile, 100)
    check(1.5 <= took, "-d 1.5 took %.2f s", took)
    # This holds however late the end was noticed. The figure is given in tenths.
    lasted = float(re.search(r" at 1000 Hz by the clock for ([\d.]+) s ", profile.out).group(1)) + 0.05
    check(1.45 < lasted < 2.5, "-d 1.5 recorded for %.1f s", lasted - 0.05)
    check(n <= 1.02 * 1000 * lasted + 10, "%d samples in %.2f s at most", n, lasted)
    check(ruby.p.poll() is None, "the program ended")
    return "1.5 s took %.2f s, of which %.1f recorded, %d samples" % (took, lasted - 0.05, n)


def interrupted(ctx, number):
    ruby = busy(ctx)
    reader = ctx.extprof_start("-p", ruby.pid, "-F", 1000, "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    worked(ruby.pid, 0.2)
    harness.prefer(reader.pid)
    sent = time.monotonic()
    reader.signal(number)
    profile = ctx.profile_of(reader)
    took = time.monotonic() - sent
    n = sound(profile, 50)
    check(took < 2, "it ended only %.1f s after the signal", took)
    check(ruby.p.poll() is None, "the program ended")
    return "%d samples, ended after %.2f s" % (n, took)


@case(timeout=30)
def ctrl_c(ctx):
    return interrupted(ctx, signal.SIGINT)


@case(timeout=30)
def sigterm(ctx):
    return interrupted(ctx, signal.SIGTERM)


@case(timeout=60)
def ends_amid_new_code(ctx):
    """When the end comes, there is always something that has to be read. It is read completely: each frame
    has its name and its line."""
    ruby = busy(ctx, """
(0..).each { |i| eval "module M#{i % 50}; class << self; busy_method; end; end
[1].each { busy_method }", nil, "/new/code.rb", 5 }""")
    # The two take turns. If extprof had no CPU for as long as new code is kept, names would be lost.
    harness.prefer(ruby.pid)
    path, samples = ctx.path("out.folded"), []
    wrong = []
    for i in range(24):
        args = "-p", ruby.pid, "-F", 9999, "-l", "-o", path
        named = ["[block in C]", "[no ruby code]"]
        # An extprof that has always something to read does not wait, and its first wait tells that it records.
        if i % 2 == 0:
            ruby.signal(signal.SIGSTOP)
        reader = ctx.extprof_start(*args, *(["-d", "%dms" % (20 + 5 * i)] if i % 2 else []))
        harness.prefer(reader.pid)
        if i % 2 == 0:
            ctx.attached(reader)
            ruby.signal(signal.SIGCONT)
            named.append("[native thread ruby]")  # that wakes ruby's timer thread too
            time.sleep(0.02 + 0.007 * i)
            reader.signal(signal.SIGINT)
        profile = ctx.profile_of(reader)
        samples.append(sound(profile, 0))
        wrong += [f for s in profile.stacks for f in s.frames if f.path and not f.line or
                  f.label.startswith("[") and f.label not in named]
        wrong += re.findall("^(?:names|lines) .*", profile.out, re.M)
    check(not wrong, "%d frames that were read by half: %s", len(wrong), Counter(map(str, wrong)).most_common(5))
    # The shortest runs last 20 ms; in some of them the program may never get the CPU.
    seen = sum(n >= 5 for n in samples)
    check(seen >= 20 and sum(samples) > 2000, "%d of %d have 5 samples: %s", seen, len(samples), samples)
    return "%d samples, 5 and more in %d of %d, least %d" % (sum(samples), seen, len(samples), min(samples))


@case(timeout=60)
def interrupted_at_once(ctx):
    """Ctrl-C while extprof starts: it ends as if it had recorded nothing, and leaves no file."""
    ruby = busy(ctx)
    folded = ctx.path("out.folded")
    said = []
    causes = {-signal.SIGINT: "", harness.COMMAND: "ended before", harness.NOT_READY: "nothing was measured", harness.NO_PROCESS: "ended before",
              harness.NOT_RUBY: "not a ruby"}
    for i in range(10):
        reader = ctx.extprof_start("-p", ruby.pid, "-o", folded)
        time.sleep(0.015 * i)
        reader.signal(signal.SIGINT)
        err = reader.communicate(10)[1]
        status = reader.p.returncode
        # Until it has found the ruby it ends as any program does.
        check(status in (0, 1, harness.NOT_READY, -signal.SIGINT) and (not err or "no samples" in err or "nothing was measured" in err), "status %d: %s", status, err)
        said.append(status)
    for i in range(10):
        reader = ctx.extprof_start("record", "-o", folded, "--", "sleep", "60")
        time.sleep(0.015 * i)
        os.killpg(reader.pid, signal.SIGINT)
        err = reader.communicate(10)[1]
        status = reader.p.returncode
        check(status in causes and causes[status] in err, "status %d: %s", status, err)
        said.append(status)
    left = [f for f in os.listdir(ctx.directory) if f.startswith(".")]
    check(not left, "files left: %s", left)
    return "status " + " ".join(map(str, said))


@case(timeout=60)
def stopped_for_a_second(ctx):
    """More waits at the end than is read in one go. It is read in several, and no record is half read."""
    ruby = busy(ctx, """
1600.times { |i| eval "def m#{i}(i)\n" + "i += 1\n" * 1200 + "end" }
eval "def all\n" + Array.new(1600) { |i| "m#{i} 1" }.join("\n") + "\nend"
puts "go"
all while true""")
    ruby.expect("go")
    reader = ctx.extprof_start("-p", ruby.pid, "-F", 9999, "-l", "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    reader.signal(signal.SIGSTOP)
    worked(ruby.pid, 1)
    reader.signal(signal.SIGINT)
    reader.signal(signal.SIGCONT)
    profile = ctx.profile_of(reader).ok()
    check(profile.sums.balanced and not profile.sums.lost, profile.sums.text)
    names = {f.label for s in profile.stacks for f in s.frames}
    # Each has a table of lines of 20 KiB.
    check(len(names) > 1350, "only %d methods", len(names))
    wrong = re.findall("^(?:names|lines) .*", profile.out, re.M)
    check(not wrong, "%s", wrong)
    return "%d samples of %d methods" % (profile.sums.taken, len(names))


@case(timeout=30)
def interrupted_search(ctx):
    """A process can make the search for its ruby last long. Ctrl-C ends the search and leaves nothing behind.
    Here reads do not return, of an extprof that may not open the memory as a file: each is given up after 0.25 s."""
    stuck = [ctx.start([sys.executable, os.path.join(harness.PROGRAMS, "stuck.py")]) for _ in range(4)]
    pids = []
    for p in stuck:
        p.expect("ready")
        pids += ["-p", p.pid]
    before = sorted(os.listdir(ctx.directory))
    took = []
    for number in (signal.SIGINT, signal.SIGTERM):
        reader = ctx.start(["setpriv", "--bounding-set=-dac_override,-dac_read_search", harness.EXTPROF,
                            "-s", *pids, "-o", ctx.path("out.folded")], stderr=subprocess.PIPE)
        harness.until(lambda: reads_memory(reader), lambda: "no read has begun, status %s" % reader.p.poll())
        sent = time.monotonic()
        reader.signal(number)
        status = reader.wait(5)
        took.append(time.monotonic() - sent)
        check(status == -number, "status %d after signal %d", status, number)
    left = sorted(os.listdir(ctx.directory))
    check(left == before, "files left: %s", left)
    return "ended after %.2f s and %.2f s" % tuple(took)


def reads_memory(reader):
    """Is one of its threads, or of its processes, within process_vm_readv?"""
    check(reader.p.poll() is None, "the search has ended: %s", reader.p.returncode)
    for pid in (reader.pid, *harness.children(reader.pid)):
        for path in glob.glob("/proc/%d/task/*/syscall" % pid):
            try:
                with open(path) as f:
                    if f.read().split()[0] == ("310" if os.uname().machine == "x86_64" else "270"):
                        return True
            except OSError:
                continue
    return False


def ending(ctx, then, end=lambda ruby: ruby.tell("go")):
    ruby = busy(ctx, then)
    reader = ctx.extprof_start("-p", ruby.pid, "-F", 2000, "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    end(ruby)
    profile = ctx.profile_of(reader, 20)
    n = sound(profile, 100)
    unnamed = sum(s.count for s in profile.stacks if "[exited before resolved]" in s.text)
    check(unnamed <= 0.01 * n, "%d of %d samples have names that were not read in time", unnamed, n)
    return "%d samples, %d without a name" % (n, unnamed)


@case(timeout=30)
def target_exits(ctx):
    return ending(ctx, WORK)


@case(timeout=30)
def target_raises(ctx):
    return ending(ctx, WORK + "raise 'end'")


@case(timeout=30)
def target_killed(ctx):
    def kill(ruby):
        worked(ruby.pid, 0.2)
        ruby.signal(signal.SIGKILL)
    return ending(ctx, "busy_method while true", kill)


@case(timeout=60, patient=True)
def target_vanishes(ctx):
    """Processes that end while extprof looks for them. extprof may give any answer except a wrong one."""
    statuses = {}
    for i in range(20):
        ruby = busy(ctx, "t = Time.now + %f\nbusy_method while Time.now < t" % (0.04 * i))
        profile = ctx.extprof("-p", ruby.pid, "-d", 5, "-F", 1000, "-o", ctx.path("out.folded"), timeout=20)
        statuses[profile.status] = statuses.get(profile.status, 0) + 1
        if profile.status == 0:
            if profile.sums.taken:
                check(profile.sums.balanced, profile.sums.text)
        else:
            check(profile.status in (harness.NO_PROCESS, harness.NOT_READY), "status %d: %s", profile.status,
                  profile.err)
            check(profile.err.startswith("extprof: "), "it says %r", profile.err)
        ruby.kill()
    return ", ".join("status %d: %d times" % x for x in sorted(statuses.items()))


@case(timeout=30)
def execs(ctx):
    """The process becomes another program: both are shown, each by its own names."""
    second = ctx.write("second.rb", "def second_method = (i = 0; i += 1 while i < 1000)\n"
                       "t = Time.now + 1\nsecond_method while Time.now < t\n")
    ruby = busy(ctx, WORK + "exec(%r, '--disable=gems', %r)" % (harness.RUBY, second))
    reader = ctx.extprof_start("-p", ruby.pid, "-F", 1000, "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    ruby.tell("go")
    profile = ctx.profile_of(reader, 20).ok()
    counts = {}
    for s in profile.stacks:
        # The two files that have a <main> are told apart.
        for name, main in (("busy_method", "<main> -e"), ("second_method", "<main> second.rb")):
            if "Object#" + name in s.labels():
                counts[name] = counts.get(name, 0) + s.count
                check(s.labels()[0] == main and len(s.frames) < 4, "wrong stack: %s", s.text)
        check("unknown" not in s.text and "retired" not in s.text, "wrong frame: %s", s.text)
    check(profile.sums.balanced, profile.sums.text)
    check(len(counts) == 2 and min(counts.values()) > 50, "%s; %s", counts, profile.sums.text)
    return "%s; %s" % (counts, profile.sums.text)


@case(timeout=30)
def execs_once(ctx):
    """extprof attaches once to the program after exec. That program goes on calling methods that were not seen
    before, and each of them gets its name while the program lives."""
    second = ctx.write("second.rb", """
def work = (i = 0; i += 1 while i < 1000)
def second_method
  t = Time.now + 1.5
  i = 0
  while Time.now < t
    eval("def new_method_#{i += 1} = work; new_method_#{i}")
  end
end
second_method
$stdout.sync = true
puts 'done'
sleep
""")
    ruby = busy(ctx, WORK + "exec(%r, '--disable=gems', %r)" % (harness.RUBY, second))
    reader = ctx.extprof_start("-p", ruby.pid, "-F", harness.rate(5000), "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    ruby.tell("go")
    ruby.expect("done")
    # All that has been sampled is read: the program sleeps, and extprof has nothing to do.
    harness.at_rest(ruby.pid)
    harness.until(lambda: harness.waits(reader.pid), "extprof has no rest")
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader, 20).ok()
    check(profile.sums.balanced, profile.sums.text)
    seen, unnamed, late = set(), 0, 0
    for s in profile.stacks:
        if "Object#second_method" in s.labels():
            seen.update(label for label in s.labels() if "new_method" in label)
            unnamed += s.count if "[exited before resolved]" in s.text else 0
            late += s.count
    check(len(seen) > 100, "only %d new methods: %s", len(seen), profile.sums.text)
    check(not unnamed, "%d of %d samples of the living program have no name", unnamed, late)
    return "%d samples of %d new methods" % (late, len(seen))


@case(timeout=30)
def execs_at_the_same_addresses(ctx):
    """Without address randomization two programs of one process have their records at the same addresses, and
    the same ids mean other methods. Samples of the first program that are read while the second one
    runs do not get names of the second."""
    script = ctx.write("both.rb", """
name = ARGV[0]
300.times { |i| eval("def #{name}_#{i} = (j = 0; j += 1 while j < 2000)") }
# 0.1 s of CPU time on any machine: more samples than the check below wants.
eval("def #{name}_all
  till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.1
  300.times { |i| send('#{name}_' + i.to_s) } while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till
end")
$stdout.sync = true
Thread.new { nil while true }
puts 'ready'
$stdin.gets
send(name + '_all')
exec(%r, '--disable=gems', __FILE__, 'second') if name == 'first'
puts 'done'
sleep
""" % harness.RUBY)
    ruby = ctx.start(["setarch", os.uname().machine, "-R", harness.RUBY, "--disable=gems", script, "first"])
    ruby.expect("ready")
    reader = ctx.extprof_start("-p", ruby.pid, "-F", harness.rate(5000), "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    worked(ruby.pid, 0.3)
    reader.signal(signal.SIGSTOP)
    ruby.tell("go")
    ruby.expect("ready")
    ruby.tell("go")
    ruby.expect("done")
    reader.signal(signal.SIGCONT)
    worked(ruby.pid, 0.3)
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader, 20).ok()
    check(profile.sums.balanced, profile.sums.text)
    wrong = [s.text for s in profile.stacks if "second" in s.text]
    check(not wrong, "%d stacks have names of the second program, which only waits by now: %s",
          len(wrong), wrong[:3])
    unnamed = sum(s.count for s in profile.stacks if "[exited before resolved]" in s.text)
    named = sum(s.count for s in profile.stacks if "block in <main>" in s.text)
    check(unnamed > 100, "only %d samples waited: %s", unnamed, profile.sums.text)
    check(named > 100, "only %d samples had names: %s", named, profile.sums.text)
    return "%d samples with their names, %d marked; %s" % (named, unnamed, profile.sums.text)


@case(timeout=60)
def forks(ctx):
    """Children are other processes: not in the profile, and not harmed by it."""
    # The same work for each fork on any machine, as losses grow with the number of forks.
    ruby = busy(ctx, """
def child_method = (i = 0; i += 1 while i < 1000)
def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
$stdin.gets
forks = 0
100.times do
  till = cpu + 0.01
  busy_method while cpu < till
  pid = fork { 5.times { child_method }; exit!(7) }
  Process.wait(pid)
  abort "child: #{$?}" if $?.exitstatus != 7
  forks += 1
end
puts forks""")
    reader = ctx.extprof_start("-p", ruby.pid, "-F", 5000, "-l", "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    ruby.tell("go")
    forks = int(ruby.line())
    check(forks >= 50, "%d forks", forks)
    profile = ctx.profile_of(reader)
    # After a fork each page is copied when it is written to, and cannot be read meanwhile.
    # Samples may be lost for that reason only, and only a few.
    sums = profile.ok().sums
    check(sums.balanced and sums.lost <= 0.05 * sums.taken, sums.text)
    reasons = set(re.findall(r"([a-z-]+): \d+", sums.text))
    check(all(r.endswith("-unreadable") for r in reasons), sums.text)
    n = sum(s.count for s in profile.stacks if "Object#busy_method" in s.labels())
    check(n > 100, "%d samples", n)
    wrong = [s.text for s in profile.stacks if "child_method" in s.text]
    check(not wrong, "a child's stack: %s", wrong[:3])
    check(ruby.wait() == 0, "the program failed: %s", ctx.complaints())
    return "%d forks, %d samples, %.2f %% lost; %s" % (forks, n, 100 * sums.lost / sums.taken, sums.text)


@case(timeout=30)
def child_of_fork(ctx):
    """A child that forked and did not exec is a target like any other: its own threads, its own pid."""
    ruby = busy(ctx, """
def child_method = (i = 0; i += 1 while i < 1000)
def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
Thread.new { busy_method while true }
pid = fork do
  Thread.new do
    child_method while cpu < 0.1
    puts "in its loop"
    child_method while true
  end.join
end
puts pid
busy_method while true""")
    # By then the child has its own copy of each page that the loop needs.
    said = sorted([ruby.line(), ruby.line()])
    check(said[1] == "in its loop", "the two said %s", said)
    child = int(said[0])
    profile = ctx.extprof("-p", child, "-d", 1, "-F", 2000, "-t", "-o", ctx.path("out.folded"))
    n = sound(profile, 100, "Object#child_method")
    wrong = [s.text for s in profile.stacks if "busy_method" in s.text]
    check(not wrong, "the parent's stack: %s", wrong[:3])
    tids = {int(t) for t in os.listdir("/proc/%d/task" % child)}
    for s in profile.stacks:
        check(s.thread and s.thread[1] in tids, "thread %s is not one of %s", s.thread, tids)
    return "%d samples" % n


def held_child(ctx, event, prepare):
    """Before the child's first own step its memory still describes the parent, so extprof refuses it. The
    parent is unchanged, and a ractor of the parent goes on."""
    ruby = busy(ctx, """
%s
# From then on it makes no objects: a collection would wait for the thread that forks.
ractor = Ractor.new { o = Object.new; o.send(:busy_method); Ractor.yield 1; o.send(:busy_method) while true }
ractor.take
puts "in its loop"
$stdin.gets
puts spawn("sleep", "60")
busy_method while true""" % prepare)
    ruby.expect("in its loop")
    path = ctx.path("out.folded")
    with ptrace.HeldChild(ruby.pid, event, lambda: ruby.tell("go")) as held:
        exe = [os.readlink("/proc/%d/exe" % pid) for pid in (ruby.pid, held.child)]
        check(exe[0] == exe[1], "the child executes %s by now", exe[1])
        profile = ctx.extprof("-p", held.child, "-d", 1, "-o", path)
        check(profile.status == harness.NOT_READY and "between fork" in profile.err, "status %d: %s",
              profile.status, profile.err)
        check(not os.path.exists(path), "it wrote a profile")
        second = second_reader.run(held.child)
        check(second.returncode == 1 and not second.stdout and "fork" in second.stderr, "rubystack.py: %s%s",
              second.stdout, second.stderr)
        n = sound(ctx.extprof("-p", ruby.pid, "-d", 1, "-F", 1000, "-o", path), 100)
    child = int(ruby.line())
    check(child == held.child, "its child is %d, we held %d", child, held.child)
    after = sound(ctx.extprof("-p", ruby.pid, "-d", 1, "-F", 1000, "-o", path), 100)
    return "%d samples of the parent meanwhile, %d after it" % (n, after)


@case(timeout=60, waits=True)
def held_child_of_fork(ctx):
    return held_child(ctx, ptrace.FORK, "def spawn(*command) = fork { exec(*command) }")


@case(timeout=60, waits=True)
def held_child_of_vfork(ctx):
    # Ruby uses vfork for spawn if it is not root.
    return held_child(ctx, ptrace.VFORK, "Process::UID.change_privilege(65534) if Process.uid == 0")


@case(timeout=40)
def two_readers(ctx):
    """Two recordings at once, of two programs: neither gets the other's samples."""
    a = busy(ctx)
    b = ctx.ruby("-e", "def other_method = (i = 0; i += 1 while i < 1000)\n$stdout.sync = true\nputs 'ready'\n"
                 "other_method while true")
    b.expect("ready")
    paths = [ctx.path("a.folded"), ctx.path("b.folded"), ctx.path("c.folded")]
    readers = [ctx.extprof_start("-p", p.pid, "-F", 2000, "-d", 2, "-o", path)
               for p, path in zip((a, b, a), paths)]
    said = []
    for reader, path, mine, other in zip(readers, paths, ("busy", "other", "busy"), ("other", "busy", "other")):
        profile = ctx.profile_of(reader, path=path)
        said.append("%d" % sound(profile, 100, "Object#%s_method" % mine))
        wrong = [s.text for s in profile.stacks if "%s_method" % other in s.text]
        check(not wrong, "a stack of the other program: %s", wrong[:3])
    return "samples " + ", ".join(said)


@case(timeout=60)
def record_command(ctx):
    app = os.path.join(harness.PROGRAMS, "app.rb")

    def record(*args, **options):
        return ctx.extprof("record", "-F", 1000, "-o", ctx.path("out.folded"), "--", harness.RUBY,
                           "--disable=gems", app, *args, **options)
    for status in (0, 3):
        profile = record(str(status), "--an-option", "a b;c")
        check(profile.status == status, "the status is %d, not %d: %s", profile.status, status, profile.err)
        check('["%d", "--an-option", "a b;c"]' % status in profile.out, "arguments: %s", profile.out)
        n = sum(s.count for s in profile.stacks if "Object#busy" in s.labels())
        check(profile.sums.balanced and n > 100, "%d samples: %s", n, profile.out)
    profile = record("die", "KILL")
    check(profile.status == 128 + 9, "killed by SIGKILL, but the status is %d", profile.status)
    profile = ctx.extprof("record", "--", ctx.path("nothing"))
    check(profile.status == harness.COMMAND and "nothing" in profile.err, "status %d: %s", profile.status,
          profile.err)
    profile = ctx.extprof("record", "--", "sh", "-c", "exit 5")
    check(profile.status not in (0, harness.NO_BPF_STATUS, harness.PERMISSION), "no ruby, but status %d: %s",
          profile.status, profile.err)
    return "%d samples" % n


@case(timeout=60)
def record_what_waits(ctx):
    """Waiting for a process that is no ruby yet costs little, and nothing of the later ruby is missed."""
    program = ctx.write("methods.rb", """
$stdout.sync = true
def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
def burn
  wall, from = Process.clock_gettime(Process::CLOCK_MONOTONIC), cpu
  nil while cpu < from + 1_000_000_000
  puts "burned #{cpu - from} #{Process.clock_gettime(Process::CLOCK_MONOTONIC) - wall}"
end
def first_method = burn
def second_method = burn
first_method
second_method
""")
    rate = 1000
    reader = ctx.extprof_start("record", "-F", rate, "-o", ctx.path("out.folded"), "--", "sh", "-c",
                               "echo $$; read go; exec %s --disable=gems %s" % (harness.RUBY, program),
                               stdin=subprocess.PIPE)
    shell = int(reader.line())
    # One search, in a process started for it: its reads and its CPU time.
    before = reads("self"), cpu_of_children()
    profile = ctx.extprof("-p", shell)
    check(profile.status == harness.NOT_RUBY, "status %d: %s", profile.status, profile.err)
    look = reads("self") - before[0], cpu_of_children() - before[1]
    time.sleep(1.5)
    seen = [(time.monotonic(), reads(reader.pid), cpu_of(reader.pid))]
    for _ in range(4):
        time.sleep(0.5)
        seen.append((time.monotonic(), reads(reader.pid), cpu_of(reader.pid)))
    reader.tell("go")
    profile = ctx.profile_of(reader, 30).ok()
    # By now it searches 10 times a second, and asks 100 times a second for another program, by one read.
    read = (seen[-1][1] - seen[0][1]) / (seen[-1][0] - seen[0][0])
    check(look[0] < read < 12 * look[0] + 120, "%.0f reads a second while there was no ruby; a look has %d",
          read, look[0])
    # The median is taken, as a CPU that is away adds its time to what it was in.
    share = statistics.median((b[2] - a[2]) / (b[0] - a[0]) for a, b in zip(seen, seen[1:]))
    check(share < 12 * look[1], "it used %.1f %% of a CPU while there was no ruby; a look takes %.1f ms",
          100 * share, 1000 * look[1])
    works = [Work([int(cpu)], float(wall), 0)
             for cpu, wall in re.findall(r"^burned (\d+) (\S+)$", profile.out, re.M)]
    check(len(works) == 2, "it said: %s", profile.out)
    counts = [sum(s.count for s in profile.stacks if "Object#%s_method" % name in s.labels())
              for name in ("first", "second")]
    for work, n in zip(works, counts):
        check(n + profile.sums.missed > work.expected(rate) - 40 - work.chance(rate),
              "%s samples in the first and the second method, %d missed, %.0f expected +- %.0f", counts,
              profile.sums.missed, work.expected(rate), work.chance(rate))
    return "%.0f reads a second, %d for a look; %.2f %% of a CPU, %.1f ms for a look; %d samples in the first " \
        "method, %d in the second" % (read, look[0], 100 * share, 1000 * look[1], *counts)


def reads(pid):
    """By system calls, those of children that have been waited for included."""
    with open("/proc/%s/io" % pid) as f:
        return int(re.search(r"^syscr: (\d+)", f.read(), re.M).group(1))


def cpu_of(pid):
    with open("/proc/%d/schedstat" % pid) as f:
        return int(f.read().split()[0]) / 1e9


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@case(timeout=30)
def record_ended(ctx):
    """When extprof only waits for the command, a signal that ends extprof ends the command."""
    reader = ctx.extprof_start("record", "-F", 1000, "-d", "2", "-o", ctx.path("out.folded"), "--",
                               harness.RUBY, "--disable=gems", "-e", BUSY + "busy_method while true")
    reader.expect("ready")
    harness.until(lambda: os.path.exists(ctx.path("out.folded")), "there is no output")
    check(reader.p.poll() is None, "it did not wait for the command")
    harness.prefer(reader.pid)
    sent = time.monotonic()
    reader.signal(signal.SIGTERM)
    profile = ctx.profile_of(reader)
    took = time.monotonic() - sent
    check(profile.status == 128 + signal.SIGTERM and took < 2, "status %d after %.1f s: %s", profile.status, took,
          profile.err)
    n = sum(s.count for s in profile.stacks if "Object#busy_method" in s.labels())
    check(n > 10, "%d samples", n)
    return "%d samples, ended after %.2f s" % (n, took)


@case(timeout=60)
def record_interrupted(ctx):
    """Ctrl-C reaches the program too, and the recording ends when the program does."""
    program = ctx.write("trap.rb", BUSY + """
trap(:INT) { $told = true }
300.times { busy_method } while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < 0.5
puts "worked"
busy_method until $told
puts "interrupted"
exit 9""")
    reader = ctx.extprof_start("record", "-F", 1000, "-o", ctx.path("out.folded"), "--", harness.RUBY,
                               "--disable=gems", program)
    reader.expect("ready")
    reader.expect("worked")
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader, 20)
    check(profile.status == 9, "status %d: %s %s", profile.status, profile.out, profile.err)
    check("interrupted" in profile.out, "the program was not told: %s", profile.out)
    n = sum(s.count for s in profile.stacks)
    check(n > 50, "%d samples", n)
    return "%d samples" % n


def attach_often(ctx, times, flags=()):
    ruby = ctx.program("undisturbed.rb", flags=flags)
    ruby.expect("ready")
    for i in range(times):
        profile = ctx.extprof("-p", ruby.pid, "-d", "10ms", "-F", 1000, "-q")
        check(profile.status == 0, "time %d: status %d: %s", i, profile.status, profile.err)
    ruby.tell("stop")
    text = ruby.line()
    words = text.split()
    counts = dict(zip(words[::2], map(int, words[1::2])))
    check(counts["wrong"] == counts["interrupted"] == counts["early"] == 0, text)
    check(counts["rounds"] > times, text)
    return "%d times: %s" % (times, text)


# By hand: ATTACHES=10000 tests/live/run lifecycle-attach-100-times
ATTACHES = int(os.environ.get("ATTACHES", 100))


@case(timeout=20 + ATTACHES, patient=True)
def attach_100_times(ctx):
    return attach_often(ctx, ATTACHES)


@case(timeout=60, patient=True)
def attach_30_times_yjit(ctx):
    return attach_often(ctx, 30, YJIT)
