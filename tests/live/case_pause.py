"""Pauses of a recording: what a program did meanwhile is not in it, and what it did before and after is."""
import os
import re
import signal
import time

import harness
from harness import case, check

# It does what it is told, and says how much CPU time that took.
PROGRAM = """
STDOUT.sync = true
CPU = Process::CLOCK_PROCESS_CPUTIME_ID
def now(clock) = Process.clock_gettime(clock)
def burn(s) = (t = now(CPU) + s; 1 while now(CPU) < t)
def work(n)
  burn(0.3)
  n.times { GC.start; Process.ppid; sleep 0.001 }
  20_000.times { "x" * 200 }
end
def before = work(20)
def hidden = work(30)
def after = work(10)
GC.disable
queue = Queue.new
Thread.new { Thread.current.name = "waits"; Queue.new.pop }
ends = Thread.new { Thread.current.name = "ends"; queue.pop }
puts "ready"
while (line = gets)
  cpu = now(CPU)
  case line.chomp
  when "before" then before
  when "hidden"
    queue << 1
    ends.join
    Thread.new { Thread.current.name = "comes"; Queue.new.pop }
    hidden
  when "after" then after
  end
  puts now(CPU) - cpu
end
"""


def do(ruby, what):
    ruby.tell(what)
    return float(ruby.line(60))


def toggle(extprof, answer):
    extprof.signal(signal.SIGUSR2)
    extprof.says(answer)


def sql(ctx, path, statement):
    run = ctx.extprof("sql", "-H", path, statement)
    check(run.status == 0, "%s: status %d: %s", statement, run.status, run.err)
    return [line.split("\t") for line in run.out.splitlines()]


def phases(ctx, *options, paused=False):
    """Record before, pause while hidden, record after.  The recording, its summary, and CPU times by the program's clock."""
    ruby, path = ctx.ruby(ctx.write("phases.rb", PROGRAM)), ctx.path("phases.extprof")
    ruby.expect("ready")
    extprof = ctx.extprof_start("record", "-v", "-p", ruby.pid, "-o", path, *options, *(["--start-paused"] if paused else []))
    extprof.says("it is measured")
    cpu = {"before": 0 if paused else do(ruby, "before")}
    if not paused:
        toggle(extprof, "paused; SIGUSR2 goes on")
    cpu["hidden"] = do(ruby, "hidden")
    toggle(extprof, "records now")
    cpu["after"] = do(ruby, "after")
    extprof.signal(signal.SIGTERM)
    out, err = extprof.communicate()
    check(extprof.p.returncode == 0, "status %d: %s", extprof.p.returncode, err)
    check(ctx.extprof("verify", path).status == 0, "the recording is not right")
    again = ctx.extprof("report", path)
    check(again.out == out, "the report of the recording differs from what was shown:\n%s\n----\n%s", out, again.out)
    return path, out, cpu


def in_methods(ctx, path, mode, what="sum(value)"):
    """Of the samples of the mode: an amount by which of the three methods they are in."""
    return {name: int(sql(ctx, path, "SELECT coalesce(%s, 0) FROM samples WHERE mode='%s' AND stack_text(stack) LIKE "
                          "'%%Object#%s;%%'" % (what, mode, name))[0][0]) for name in ("before", "hidden", "after")}


def pause_of(ctx, path):
    rows = sql(ctx, path, "SELECT time_ns, number FROM events e JOIN strings s ON s.id=e.kind WHERE s.text='paused'")
    check(len(rows) == 1, "pauses: %s", rows)
    return int(rows[0][0]), int(rows[0][0]) + int(rows[0][1])


def check_cpu(ctx, path, out, cpu):
    sampled = in_methods(ctx, path, "cpu")
    for name in ("before", "after"):
        wanted = cpu[name] * 1e9
        check(abs(sampled[name] - wanted) <= 0.25 * wanted, "%s: %d ns are sampled, %d used", name, sampled[name], wanted)
    check(sampled["hidden"] == 0, "%d ns of the pause are sampled", sampled["hidden"])
    kernel = float(re.search(r"([0-9.]+) s by the kernel's account", out).group(1))
    recorded = cpu["before"] + cpu["after"]
    check(recorded - 0.05 < kernel < recorded + 0.5 * cpu["hidden"], "the account has %.2f s of CPU time, %.2f s were used while "
          "it recorded and %.2f s in the pause", kernel, recorded, cpu["hidden"])
    missed = re.search(r"missed (\d+)", out)
    return sampled, kernel, missed


def check_threads(ctx, path, thread_states):
    """Each thread that was there all the time was so for as long as was recorded, in states that add up to that."""
    begin, end = pause_of(ctx, path)
    lives = {name: (int(first), int(until), int(ns)) for name, first, until, ns in
             sql(ctx, path, "SELECT n.text, first_ns, until_ns, sum(ns) FROM thread_accounts a LEFT JOIN thread_states ON account=a.id "
                 "JOIN strings n ON n.id=a.name GROUP BY a.id")}
    waits = next(v for k, v in lives.items() if "waits" in k)
    duration = float(sql(ctx, path, "SELECT value FROM meta WHERE key='mode.1.duration'")[0][0]) * 1e9
    for name, (first, until, ns) in lives.items():
        check(abs(ns - (until - first)) < 2e6, "%s: states of %d ns, lived %d", name, ns, until - first)
    check(abs(waits[2] - duration) < 0.1 * duration, "waits: %d ns, recorded were %d", waits[2], duration)
    ends = [v for k, v in lives.items() if "ends" in k]
    comes = [v for k, v in lives.items() if "comes" in k]
    check(len(ends) == 1 and ends[0][1] <= begin + 5e7, "the thread that ended in the pause: %s, pause from %d", ends, begin)
    check(len(comes) == 1 and comes[0][0] >= end - 5e7, "the thread that began in the pause: %s, pause until %d", comes, end)
    queue = int(sql(ctx, path, "SELECT sum(value) FROM samples WHERE mode='wall' AND state='queue' AND thread_name LIKE "
                    "'%waits%'")[0][0])
    check(abs(queue - waits[2]) < 0.1 * duration, "the wait that spans the pause: %d ns of %d", queue, waits[2])
    return "states of %d threads add up, wait over the pause %.2f s of %.2f s recorded" % (len(lives), queue / 1e9, duration / 1e9)


@case(timeout=120)
def what_runs_and_what_waits(ctx):
    path, out, cpu = phases(ctx, "-m", "cpu,wall", "-r", "999")
    sampled, kernel, _ = check_cpu(ctx, path, out, cpu)
    begin, end = pause_of(ctx, path)
    inside = sql(ctx, path, "SELECT count(*) FROM samples WHERE mode='cpu' AND time_ns>%d AND time_ns<%d" % (begin + 10**7, end - 10**7))
    check(inside == [["0"]], "%s samples have times in the pause", inside)
    check("paused for" in out, "the summary does not tell of the pause:\n%s", out)
    wall = in_methods(ctx, path, "wall")
    check(wall["hidden"] == 0 and wall["before"] and wall["after"], "wall: %s", wall)
    return "cpu %s ns of %s s; account %.2f s; %s" % (sampled, cpu, kernel, check_threads(ctx, path, "wall"))


@case(timeout=120)
def each_wait_of_its_own(ctx):
    path, out, _ = phases(ctx, "-m", "wall", "--waits", "each", "--holder")
    lost = int(re.search(r"lost (\d+)", out).group(1))
    taken = int(re.search(r"samples taken (\d+)", out).group(1))
    check(lost <= taken // 20, "%d of %d samples are lost", lost, taken)
    return check_threads(ctx, path, "wall")


@case(timeout=120, bpf=False)
def without_bpf(ctx):
    path, out, cpu = phases(ctx, "-m", "cpu,wall", "-r", "200", "--reader", "nonblocking")
    sampled = in_methods(ctx, path, "cpu")
    check(sampled["hidden"] == 0, "%d ns of the pause are sampled", sampled["hidden"])
    check(sampled["before"] and sampled["after"], "sampled: %s", sampled)
    return check_threads(ctx, path, "wall")


@case(timeout=120)
def probes_and_calls(ctx):
    """Collections and calls are counted exactly: those of the pause are missing, and no other."""
    path, out, _ = phases(ctx, "-m", "gc,alloc", "--alloc-interval", "64k")
    pauses = int(sql(ctx, path, "SELECT count(*) FROM pauses WHERE major=1")[0][0])
    check(pauses == 30, "%d collections are recorded, 30 were made outside of the pause:\n%s", pauses, out)
    bytes_ = in_methods(ctx, path, "alloc")
    check(bytes_["hidden"] == 0 and bytes_["before"] and bytes_["after"], "bytes: %s", bytes_)
    calls, _, _ = phases_again(ctx, "-m", "syscall", "--syscall", "getppid")
    counted = in_methods(ctx, calls, "syscall", "sum(count)")
    check(counted == {"before": 20, "hidden": 0, "after": 10}, "calls: %s", counted)
    return "collections %d, bytes %s, calls %s" % (pauses, bytes_, counted)


def phases_again(ctx, *options):
    os.unlink(ctx.path("phases.extprof"))
    return phases(ctx, *options)


@case(timeout=120)
def durations_of_calls_and_events(ctx):
    path, out, _ = phases(ctx, "-m", "syscall", "--latency", "--syscall", "getppid")
    counted = in_methods(ctx, path, "syscall", "sum(count)")
    check(counted == {"before": 20, "hidden": 0, "after": 10}, "calls: %s", counted)
    path, out, _ = phases_again(ctx, "-m", "event", "-e", "syscalls:sys_enter_getppid")
    counted = in_methods(ctx, path, "event", "sum(count)")
    check(counted == {"before": 20, "hidden": 0, "after": 10}, "events: %s", counted)
    return "calls and events: %s" % counted


@case(timeout=120)
def begins_paused(ctx):
    path, out, cpu = phases(ctx, "-m", "cpu,wall,gc", "-r", "999", paused=True)
    check("paused for" not in out, "what was before the begin is told as a pause:\n%s", out)
    sampled, kernel, _ = check_cpu(ctx, path, out, cpu)
    pauses = int(sql(ctx, path, "SELECT count(*) FROM pauses WHERE major=1")[0][0])
    check(pauses == 10, "%d collections, not 10", pauses)
    first = float(sql(ctx, path, "SELECT min(seconds) FROM samples")[0][0])
    check(first >= 0, "a sample is %g s after the begin", first)
    return "cpu %s, account %.2f s of %s, %d collections" % (sampled, kernel, cpu, pauses)


@case(timeout=60, waits=True)
def delay_and_duration(ctx):
    """Nothing comes before the delay; the duration is that of what was recorded."""
    path, program = ctx.path("delay.extprof"), ctx.write("delay.rb", "def run(s) = (t = Process.clock_gettime(1) + s; 1 "
                                                    "while Process.clock_gettime(1) < t)\nrun(ARGV[0].to_f)\n")
    begun = time.monotonic()
    run = ctx.extprof("record", "--delay", "1.5", "-d", "1", "-o", path, "--", harness.RUBY, "--disable=gems", program, "5")
    first, = sql(ctx, path, "SELECT min(time_ns) FROM samples")[0]
    check(int(first) >= (begun + 1.5) * 1e9, "a sample came %g s after extprof was started", int(first) / 1e9 - begun)
    duration = float(sql(ctx, path, "SELECT value FROM meta WHERE key='mode.1.duration'")[0][0])
    check(1 <= duration < 3.4, "%g s were recorded", duration)
    check("paused for" not in run.out, "the delay is no pause:\n%s", run.out)

    ruby = ctx.ruby(program, 60)
    extprof = ctx.extprof_start("record", "-v", "-d", "1", "-p", ruby.pid, "-o", ctx.path("pause.extprof"))
    extprof.says("it is measured")
    toggle(extprof, "paused; SIGUSR2 goes on")
    time.sleep(2)
    check(extprof.p.poll() is None, "it ended in the pause, by its duration")
    toggle(extprof, "records now")
    out, err = extprof.communicate()
    check(extprof.p.returncode == 0 and "(duration)" in out, "status %d: %s%s", extprof.p.returncode, out, err)
    duration = float(sql(ctx, ctx.path("pause.extprof"), "SELECT value FROM meta WHERE key='mode.1.duration'")[0][0])
    begin, end = pause_of(ctx, ctx.path("pause.extprof"))
    check(end - begin >= 2e9 and duration >= 1, "pause %d ns, recorded %g s", end - begin, duration)
    ruby.kill()
    return "first sample %.2f s after the start, %.2f s recorded beside a pause of %.2f s" % (int(first) / 1e9 - begun, duration,
                                                                                    (end - begin) / 1e9)


@case(timeout=60)
def ends_in_a_pause(ctx):
    """It is over while it pauses: what was recorded before is whole.  Without anything it says so."""
    ruby, path = ctx.ruby(ctx.write("phases.rb", PROGRAM)), ctx.path("ends.extprof")
    ruby.expect("ready")
    extprof = ctx.extprof_start("record", "-v", "-m", "cpu,wall", "-r", "999", "-p", ruby.pid, "-o", path)
    extprof.says("it is measured")
    cpu = do(ruby, "before")
    toggle(extprof, "paused; SIGUSR2 goes on")
    do(ruby, "hidden")
    ruby.kill()
    out, err = extprof.communicate()
    check(extprof.p.returncode == 0, "status %d: %s", extprof.p.returncode, err)
    check(ctx.extprof("report", path).out == out, "the report of the recording differs")
    sampled = in_methods(ctx, path, "cpu")
    check(sampled["hidden"] == 0 and abs(sampled["before"] - cpu * 1e9) < 0.25e9 * cpu, "sampled %s of %g s", sampled, cpu)
    names = [row[0] for row in sql(ctx, path, "SELECT n.text FROM thread_accounts a JOIN strings n ON n.id=a.name")]
    check(len([n for n in names if "ends" in n]) == 1, "threads: %s", names)
    never = ctx.extprof("record", "--start-paused", "-o", ctx.path("no.extprof"), "--", harness.RUBY, "--disable=gems", "-e", "sleep 1")
    check(never.status == 1 and "nothing was recorded" in never.err, "status %d: %s", never.status, never.err)
    check(not os.path.exists(ctx.path("no.extprof")), "there is a file without samples")
    return "sampled %s of %.2f s" % (sampled, cpu)
