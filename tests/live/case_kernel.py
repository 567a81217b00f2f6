"""--kernel: functions of the kernel below the method that is in them, by the system calls that a program is known to make."""
import re
import signal

import harness
from harness import NO_BPF_STATUS, USAGE, case, check

# What methods do is known: each is in one system call, or in none.
PROGRAM = """
require "io/wait"
$stdout.sync = true
ZERO = File.open("/dev/zero", "rb")
BUFFER = String.new(capacity: 1 << 20)
def zero = ZERO.sysread(1 << 20, BUFFER)
def random = Random.urandom(1 << 16)
def user(n) = n < 2 ? n : user(n - 1) + user(n - 2)
def stat = File.stat("/proc/self/status")
def pages = ZERO.sysread(1 << 18)	# into memory that is new each time

# For so many seconds; says what the kernel counted: user and system time.
def during(what, seconds)
  before = Process.times
  until_ = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  what.call while Process.clock_gettime(Process::CLOCK_MONOTONIC) < until_
  after = Process.times
  puts "%f %f" % [after.utime - before.utime, after.stime - before.stime]
end

DO = { "zero" => -> { zero }, "random" => -> { random }, "user" => -> { user(18) }, "stat" => -> { 50.times { stat } },
       "pages" => -> { pages } }
READER, WRITER = IO.pipe
if ARGV[0] == "waits"
  def naps = loop { sleep 0.01 }
  def reads = loop { READER.sysread(1) }
  def pops = loop { $queue.pop }
  $queue = Queue.new
  %i[naps reads pops].each { |m| Thread.new { Thread.current.name = m.to_s; __send__(m) } }
  puts "ready"
  loop { sleep 0.007; WRITER.syswrite("x"); $queue << 1 }
end
puts "ready"
while (line = $stdin.gets)
  what, n, count = line.split
  if what == "calls"
    n.to_i.times { random }
    puts "done"
  else
    during(DO.fetch(what), n.to_f)
  end
end
"""

KERNEL = "_[k]"


def start(ctx, *args):
    p = ctx.ruby(ctx.write("kernel.rb", PROGRAM), *args)
    p.expect("ready")
    return p


def record(ctx, p, what, *args, seconds=1.5, rate=2000):
    """(profile, user time, system time), the times by the kernel's own account."""
    out = ctx.path("out.folded")
    reader = ctx.extprof_start("-p", p.pid, "-F", harness.rate(rate), "--kernel", *args, "-o", out)
    ctx.attached(reader)
    p.tell("%s %f" % (what, seconds))
    user, system = map(float, p.line().split())
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader, path=out).ok()
    check(profile.sums.balanced, "the sums are wrong: %s", profile.sums.text)
    return profile, user, system


def kernel_of(stack):
    return [label[:-len(KERNEL)] for label in stack.labels() if label.endswith(KERNEL)]


def below(stacks, method):
    return [s for s in stacks if "Object#" + method in s.labels()]


def total(stacks):
    return sum(s.count for s in stacks)


def is_in_order(stack):
    """Nothing but kernel functions below the first one, but for what is below code: a state, a call, an event."""
    kinds = [label.endswith(KERNEL) for label in stack.labels()]
    while kinds and not kinds[-1] and stack.labels()[len(kinds) - 1].startswith("["):
        kinds.pop()
    return not any(kinds) or all(kinds[kinds.index(True):])


def entry(*names):
    """Is there the kernel's entry of a system call of that name? By the name that its macro makes; a compiler can turn
    the first call in there into a jump."""
    wanted = re.compile(r"^((__x64|__arm64|__do|__se)_sys_|ksys_|vfs_)(%s)$" % "|".join(names))
    return lambda stack: any(wanted.match(f) for f in kernel_of(stack))


TRACING = re.compile(r"^(bpf_prog_|bpf_trace_run|__bpf_trace_|__traceiter_|bpf_trampoline_|perf_trace_|perf_syscall_)")


def check_shape(stacks):
    for s in stacks:
        check(is_in_order(s), "a function of the kernel is not the innermost: %s", s.text)
        check(not any(map(TRACING.match, kernel_of(s))), "the sampling itself is in a stack: %s", s.text)


ANY_CALL = re.compile(r"^((__x64|__arm64|__do|__se)_sys_|ksys_)")


def loop_case(ctx, what, *calls, least, apart):
    """A method that makes one system call again and again: the kernel's time below it is in that call and in none other.
    Besides there are the way into and out of the kernel, interrupts and page faults: short calls have more of them. apart:
    points of the share from that of the kernel's own account; 100 for short calls, where its tick finds another share."""
    p = start(ctx)
    profile, user, system = record(ctx, p, what)
    check_shape(profile.stacks)
    mine = below(profile.stacks, what)
    # The collector asks for the time.
    in_kernel = [s for s in mine if kernel_of(s) and not any(label.startswith("[GC") for label in s.labels())]
    in_call = total(filter(entry(*calls), in_kernel))
    others = total(s for s in profile.stacks if entry(*calls)(s) and "Object#" + what not in s.labels())
    share, truth = 100 * total(s for s in profile.stacks if kernel_of(s)) / total(profile.stacks), 100 * system / (user + system)
    check(total(in_kernel) > 100, "only %d samples are in the kernel", total(in_kernel))
    wrong = [s for s in in_kernel if any(map(ANY_CALL.match, kernel_of(s))) and not entry(*calls)(s)]
    check(total(wrong) <= 0.01 * in_call, "%d samples are in other calls: %s", total(wrong), wrong and wrong[0].text)
    check(in_call >= least * total(in_kernel), "%d of %d samples in the kernel are in %s", in_call, total(in_kernel), calls[0])
    check(others <= 0.01 * in_call, "%d samples in %s are below other methods", others, calls[0])
    check(abs(share - truth) <= apart, "%.1f %% are in the kernel; by its own account %.1f %%", share, truth)
    return "%.1f %% in the kernel, by its own account %.1f %%; %d of %d of them in %s" % (
        share, truth, in_call, total(in_kernel), calls[0])


@case(timeout=60)
def read_zero(ctx):
    return loop_case(ctx, "zero", "read", least=0.9, apart=8)


@case(timeout=60)
def getrandom(ctx):
    return loop_case(ctx, "random", "getrandom", least=0.9, apart=8)


@case(timeout=60)
def stat(ctx):
    return loop_case(ctx, "stat", "newfstatat", "newstat", "statx", least=0.5, apart=100)


@case(timeout=60)
def none_in_user_space(ctx):
    """A loop that makes no system call: only interrupts of the kernel are there, and those are rare."""
    p = start(ctx)
    profile, user, system = record(ctx, p, "user")
    check_shape(profile.stacks)
    in_call = [s for s in below(profile.stacks, "user") if any("_sys_" in f for f in kernel_of(s))]
    in_kernel = total(s for s in below(profile.stacks, "user") if kernel_of(s))
    all_ = total(below(profile.stacks, "user"))
    check(not in_call, "a method that makes no system call is in one: %s", in_call and in_call[0].text)
    check(in_kernel <= 0.03 * all_, "%d of %d samples of a loop in user space are in the kernel", in_kernel, all_)
    return "%d of %d samples in the kernel, all of them interrupts" % (in_kernel, all_)


@case(timeout=60)
def without(ctx):
    """Without the option the same program has none."""
    p = start(ctx)
    out = ctx.path("out.folded")
    reader = ctx.extprof_start("-p", p.pid, "-F", harness.rate(2000), "-o", out)
    ctx.attached(reader)
    p.tell("zero 1")
    p.line()
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader, path=out).ok()
    check(total(below(profile.stacks, "zero")) > 100, "the program was not sampled: %s", profile.sums.text)
    check(not any(KERNEL in s.text or "[kernel]" in s.text for s in profile.stacks), "functions of the kernel are shown")
    return profile.sums.text


@case(timeout=60)
def waits(ctx):
    """Off the CPU: where in the kernel a thread waits is in the system call that the state names."""
    p = start(ctx, "waits")
    profile = ctx.extprof("-p", p.pid, "-d", "1.5", "-m", "offcpu", "--idle", "-t", "--kernel", "-o", ctx.path("out.folded"))
    if profile.status == NO_BPF_STATUS and "Linux 6.16" in profile.err:
        return "not tried: " + profile.err.splitlines()[0]
    profile.ok()
    check(profile.sums.balanced, "the sums are wrong: %s", profile.sums.text)
    check_shape(profile.stacks)
    said = []
    for thread, method, calls in (("naps", "naps", ("futex",)), ("reads", "reads", ("poll", "read", "futex")), ("pops", "pops", ("futex",))):
        mine = [s for s in below(profile.stacks, method) if s.frames[-1].label != "[runnable]"]
        right = list(filter(entry(*calls), mine))
        check(mine and total(right) >= 0.95 * total(mine), "%s: %.3f of %.3f s in %s; else %s", method, total(right) / 1e6,
              total(mine) / 1e6, calls, [s.text for s in mine if s not in right][:2])
        # A thread that waits has called the scheduler.
        asleep = total(s for s in right if "schedule" in kernel_of(s) or "__schedule" in kernel_of(s))
        check(asleep >= 0.98 * total(right), "%s: %d of %d us are below schedule", method, asleep, total(right))
        said.append("%s %.2f s" % (method, total(right) / 1e6))
    # The state of a wait for input names the call in which it was, by the call's number.
    named = [(s, m.group(1)) for s in profile.stacks for m in [re.match(r"\[io (\w+)", s.frames[-1].label)] if m and kernel_of(s)]
    wrong = [s for s, call in named if not entry(call)(s)]
    check(named and not wrong, "the functions are not those of the call that the state names: %s", wrong and wrong[0].text)
    return ", ".join(said)


@case(timeout=60)
def calls(ctx):
    """Mode syscall: each call is there with the kernel's entry, and without what the sampling adds."""
    p = start(ctx)
    said = []
    for args in ((), ("--latency", "--unit", "count")):
        out = ctx.path("out.folded")
        reader = ctx.extprof_start("-p", p.pid, "--syscall", "getrandom", "--kernel", *args, "-o", out)
        ctx.attached(reader)
        p.tell("calls 2000")
        p.expect("done")
        reader.signal(signal.SIGINT)
        profile = ctx.profile_of(reader, path=out).ok()
        check_shape(profile.stacks)
        mine = below(profile.stacks, "random")
        check(total(mine) >= 2000 and profile.sums.lost == 0, "%d calls, and 2000 were made: %s", total(mine), profile.sums.text)
        inside = total(s for s in mine if any(re.match("do_syscall_64|invoke_syscall|el0_svc", f) for f in kernel_of(s)))
        check(inside == total(mine), "%d of %d calls have the kernel's entry", inside, total(mine))
        said.append(kernel_of(mine[0]))
    return "; ".join(";".join(k) for k in said)


@case(timeout=60)
def page_faults(ctx):
    """Mode event: faults that the kernel makes when it fills a buffer are below read, those of the program have nothing."""
    p = start(ctx)
    out = ctx.path("out.folded")
    reader = ctx.extprof_start("-p", p.pid, "-e", "page-faults", "--kernel", "-o", out)
    ctx.attached(reader)
    p.tell("pages 0.3")
    p.line()
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader, path=out).ok()
    check_shape(profile.stacks)
    mine = below(profile.stacks, "pages")
    inside = [s for s in mine if kernel_of(s)]
    reads = total(filter(entry("read"), inside))
    check(reads > 100, "only %d page faults of %d are in read", reads, total(mine))
    check(reads >= 0.95 * total(inside), "%d of %d faults in the kernel are in read", reads, total(inside))
    return "%d faults in read, %d of %d in the program's own code" % (reads, total(mine) - total(inside), total(mine))


@case(timeout=60)
def names_hidden(ctx):
    """The kernel may hide its names. Here extprof sees another /proc/kallsyms."""
    p = start(ctx)
    names, out = ctx.write("kallsyms", "0000000000000000 T do_syscall_64\n"), ctx.path("out.folded")
    reader = ctx.start(["unshare", "--mount", "--propagation=private", "sh", "-c",
                        "mount --bind $1 /proc/kallsyms && shift && exec \"$@\"", "sh", names, harness.EXTPROF, "-p", p.pid,
                        "-F", harness.rate(1000), "--kernel", "-o", out], stderr=-1, stdin=-3)
    ctx.attached(reader)
    p.tell("zero 1")
    p.line()
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader, path=out).ok()
    mine = below(profile.stacks, "zero")
    hidden = [s for s in mine if s.labels()[-1] == "[kernel]"]
    check(total(hidden) > 0.5 * total(mine), "%d of %d samples are in [kernel]", total(hidden), total(mine))
    check(not re.search("ffffffff[0-9a-f]{8}", open(out).read() + profile.out), "an address of the kernel is shown")
    check("kernel.kptr_restrict" in profile.out, "the summary does not say why names are missing: %s", profile.out[-900:])
    return next(line for line in profile.out.splitlines() if "kptr_restrict" in line)


@case(timeout=60)
def recorded(ctx):
    """A recording has the names: what is made of it is what was shown."""
    p = start(ctx)
    path, live = ctx.path("a.extprof"), ctx.path("live.folded")
    reader = ctx.extprof_start("-p", p.pid, "-F", harness.rate(1000), "--kernel", "-o", path, "-o", live)
    ctx.attached(reader)
    p.tell("zero 1")
    p.line()
    reader.signal(signal.SIGINT)
    ctx.profile_of(reader, path=live).ok()
    p.kill()
    again = ctx.path("again.folded")
    r = ctx.extprof("report", path, "-o", again)
    check(r.status == 0, "report: status %d: %s", r.status, r.err)
    with open(live) as a, open(again) as b:
        one, other = a.read(), b.read()
    check(one == other and KERNEL in one, "the report of the recording is another one")
    rows = ctx.extprof("sql", "-H", path, "SELECT count(*) FROM frames JOIN kinds ON kinds.id = frames.kind WHERE "
                                          "kinds.name = 'kernel' AND frames.address IS NULL OR frames.address = 0")
    check(rows.status == 0 and int(rows.out.split()[-1]) > 3, "the frames of the kernel: %s %s", rows.out, rows.err)
    return "%s frames of the kernel" % rows.out.split()[-1]


@case(timeout=60)
def windows(ctx):
    """extprof top shows them, in each window anew."""
    p = start(ctx)
    p.tell("zero 6")
    r = ctx.extprof("top", "-b", "--count", "3", "-i", "500ms", "-m", "cpu", "-F", harness.rate(1000), "--kernel", "-p", p.pid)
    check(r.status == 0, "status %d: %s", r.status, r.err)
    shown = ["read_zero" + KERNEL in w for w in r.out.split("extprof top - cpu")[1:]]
    check(shown == [True] * 3, "three windows have %s:\n%s", shown, r.out[-1500:])
    return next(line for line in r.out.splitlines() if KERNEL in line).strip()


@case(timeout=60)
def refused(ctx):
    p = start(ctx)
    for args, status, words in (
            (("--reader", "nonblocking"), USAGE, "need eBPF"), (("--reader", "stop"), USAGE, "need eBPF"),
            (("--timer", "tick"), USAGE, "needs the timer clock"), (("-m", "wall", "--waker"), USAGE, "--waker")):
        r = ctx.extprof("-p", p.pid, "-d", "300ms", "--kernel", *args)
        check(r.status == status and words in r.err, "%s: status %d: %s", " ".join(args), r.status, r.err)
    return "4 mistakes, each with its message"
