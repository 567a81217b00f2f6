"""Mode alloc against what the program and its collector count."""
import math
import os
import shutil
import signal
import subprocess
import time
from collections import defaultdict

import case_probes
import harness
from binaries import Binary
from case_probes import NOBODY, YJIT, Target
from harness import PROGRAMS, check, case

KIB, MIB = 1 << 10, 1 << 20
# An estimate differs from the truth by less than this many standard deviations of it: 5 are exceeded once in
# 1.7 million.
SIGMAS = 5
MALLOC = "[malloc]"
SIZE = {"Small": 40, "Other": 40, "Middle": 320, "Large": 640, "Half": 640}


ARMED = {**NOBODY, "alloc": 1, "malloc": 1}


class Program(Target):
    """A ruby that runs alloc.rb."""

    def __init__(self, ctx, *flags, ruby=None, **options):
        case_probes.Tracer.build()
        self.p = ctx.program("alloc.rb", ruby=ruby, flags=flags, **options)
        self.p.expect("ready")
        self.pid = self.p.pid
        self.find()

    def read_interval(self, pid=None):
        return self.word(self.section + case_probes.Tracer.offsets["alloc_interval"], 8, pid)


def record(ctx, pid, interval, *options):
    reader = ctx.extprof_start("-p", pid, "-m", "alloc", "--alloc-interval", interval, *options, "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    return reader


def stop(ctx, reader, lost=0):
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader).ok()
    check(profile.sums.balanced and profile.sums.lost <= lost, "%s", profile.sums.text)
    return profile


def within(profile, label):
    """{class: amount} of what was allocated below the method."""
    amounts = defaultdict(int)
    for s in profile.stacks:
        if label in s.labels():
            amounts[s.labels()[-1]] += s.count
    return amounts


def variance(size, n, interval):
    """Of the estimate of the bytes of n objects in slots of that size."""
    p = -math.expm1(-size / interval)
    return n * (1 - p) / p * size ** 2


def off(got, truth, sigma, what, slack=0):
    """By how many standard deviations the estimate is wrong. Sampling begins one page late at most: slack."""
    z = max(abs(got - truth) - slack, 0) / sigma
    check(z < SIGMAS, "%s: %d shown, %d true, %.1f sigma", what, got, truth, z)
    return z


def pattern(ctx, name, interval, samples, *flags):
    """9 of one class and 1 of another, in slots of the same size."""
    program = Program(ctx, *flags)
    size, rare = {"Small": (40, "Other"), "Large": (640, "Half")}[name]
    times = samples * interval // (10 * size)
    reader = record(ctx, program.pid, interval)
    ctx.check_links(reader)
    program.do("pattern %s %s %d" % (name, rare, times), timeout=110)
    amounts = within(stop(ctx, reader), "Object#measured")
    share = 100 * amounts[name] / (amounts[name] + amounts[rare])
    check(abs(share - 90) <= 1, "%s: %.2f %% where 90 is true", interval, share)
    off(amounts[name], 9 * times * size, math.sqrt(variance(size, 9 * times, interval)), name, 128 * KIB)
    off(amounts[rare], times * size, math.sqrt(variance(size, times, interval)), rare, 128 * KIB)
    return "%.2f %%" % share


@case(timeout=110)
def pattern_4k(ctx):
    return pattern(ctx, "Small", 4 * KIB, 40000)


@case(timeout=110)
def pattern_64k(ctx):
    return pattern(ctx, "Small", 64 * KIB, 20000)


@case(timeout=110)
def pattern_512k(ctx):
    return pattern(ctx, "Large", 512 * KIB, 20000)


@case(timeout=110)
def pattern_1m(ctx):
    return pattern(ctx, "Large", MIB, 20000)


@case(timeout=110)
def pattern_yjit(ctx):
    return pattern(ctx, "Small", 64 * KIB, 20000, *YJIT)


@case(timeout=110)
def pattern_by_perf_events(ctx):
    ctx.without_one_link()
    return pattern(ctx, "Small", 64 * KIB, 20000)


@case(timeout=60)
def objects_and_bytes(ctx):
    """9 of 10 objects have 40 bytes, one has 640: 90 and 10 % of the objects, 36 and 64 % of the bytes."""
    program, n, interval = Program(ctx), 1000000, 16 * KIB
    text = []
    for unit in "count", "bytes":
        reader = record(ctx, program.pid, interval, "--unit", unit)
        truth = {int(size): int(count) for size, count in map(str.split, program.do("pattern Small Large %d" % n))}
        got = within(stop(ctx, reader), "Object#measured")
        for name, size, objects in ("Small", 40, 9 * n), ("Large", 640, n):
            # What the collector counted is ours: it counts in each ractor with a delay of at most 1,024 objects.
            check(0 <= truth[size] - objects < 5000, "the collector counted %d of %d objects of %d", truth[size], objects, size)
            scale = 1 if unit == "bytes" else size
            off(got[name], objects * size / scale, math.sqrt(variance(size, objects, interval)) / scale,
                "%s of %s" % (unit, name), 128 * KIB / scale)
        small, large = got["Small"], got["Large"]
        text.append("%s %.2f : %.2f %%" % (unit, 100 * small / (small + large), 100 * large / (small + large)))
    return ", ".join(text)


def totals(ctx, interval, *flags):
    """All that a program allocates meanwhile, in all of its threads, against what the collector counted."""
    program = Program(ctx, *flags)
    text = []
    for unit in "bytes", "count":
        reader = record(ctx, program.pid, interval, "--unit", unit, "-t")
        truth = [tuple(map(int, line.split())) for line in program.do("threads Small 3000000 Large 300000 Middle 500000")]
        profile = stop(ctx, reader)
        by_thread = defaultdict(lambda: defaultdict(int))
        for s in profile.stacks:
            by_thread[s.thread][s.labels()[-1]] += s.count
        for name, n in ("Small", 3000000), ("Large", 300000), ("Middle", 500000):
            scale = 1 if unit == "bytes" else SIZE[name]
            mine = [t for t, classes in by_thread.items() if classes[name]]
            check(len(mine) == 1, "%s was allocated in %s", name, mine)
            off(by_thread[mine[0]][name], n * SIZE[name] / scale, math.sqrt(variance(SIZE[name], n, interval)) / scale,
                "%s of %s" % (unit, name), 128 * KIB / scale)
        scales = {size: 1 if unit == "bytes" else size for size, _ in truth}
        all_true = sum(n * size / scales[size] for size, n in truth)
        sigma = math.sqrt(sum(variance(size, n, interval) / scales[size] ** 2 for size, n in truth))
        # A page of each size of slots, in the one ractor; the counters of the collector lag behind a little.
        slack = sum(64 * KIB / scales[size] for size, _ in truth) + (1024 if unit == "count" else 1024 * 640)
        check(unit == "bytes" or not any(s.labels()[-1] == MALLOC for s in profile.stacks), "objects of malloc")
        got = sum(s.count for s in profile.stacks if s.labels()[-1] != MALLOC)
        z = off(got, all_true, sigma, "all " + unit, slack)
        text.append("%s: %.0f shown, %.0f by GC.stat_heap, %.1f sigma" % (unit, got, all_true, z))
    return "; ".join(text)


@case(timeout=60)
def all_threads(ctx):
    return totals(ctx, 64 * KIB)


@case(timeout=60)
def all_threads_yjit(ctx):
    return totals(ctx, 64 * KIB, *YJIT)


@case(timeout=60)
def ractors(ctx):
    """Each ractor has freelists of its own, and draws distances of its own."""
    program, interval, text = Program(ctx), 64 * KIB, []
    reader = record(ctx, program.pid, interval)
    program.do("ractors Small 4000000 Large 400000")
    got = defaultdict(int)
    for s in stop(ctx, reader).stacks:
        got[s.labels()[-1]] += s.count
    for name, n in ("Small", 4000000), ("Large", 400000):
        z = off(got[name], n * SIZE[name], math.sqrt(variance(SIZE[name], n, interval)), name, 128 * KIB)
        text.append("%s %.3f of the truth, %.1f sigma" % (name, got[name] / n / SIZE[name], z))
    return ", ".join(text)


@case(timeout=60)
def anonymous_classes(ctx):
    program = Program(ctx)
    reader = record(ctx, program.pid, 64 * KIB)
    program.do("pattern Anonymous Small 100000")
    profile = stop(ctx, reader)
    got = within(profile, "Object#measured")
    table = profile.out.partition("By class\n")[2].splitlines()
    check(table and table[1].endswith("  #<anonymous subclass of Small>"), "%s", profile.out[:600])
    share = got["#<anonymous subclass of Small>"] / sum(got.values())
    check(abs(share - 0.9) < 0.06, "%s", dict(got))
    return "#<anonymous subclass of Small> %.1f %%" % (100 * share)


@case(timeout=60)
def stack_at_the_allocation(ctx):
    """The methods that allocate, and the lines."""
    program = Program(ctx)
    reader = record(ctx, program.pid, 64 * KIB, "-l")
    program.do("pattern Small Large 300000")
    lines = {text: i for i, text in enumerate(open(os.path.join(PROGRAMS, "alloc.rb")).read().splitlines(), 1)}
    wanted = {"Small": ("Object#frequent", lines["def frequent(klass) = klass.new"]),
              "Large": ("Object#rare", lines["def rare(klass) = klass.new"])}
    seen = defaultdict(int)
    for s in stop(ctx, reader).stacks:
        if "Object#measured" not in s.labels() or s.labels()[-1] not in wanted:
            continue
        name = s.labels()[-1]
        check(s.labels()[-2] == name + ".new", "%s", s.text)
        check((s.frames[-3].label, s.frames[-3].line) == wanted[name], "%s", s.text)
        seen[name] += s.count
    check(set(seen) == set(wanted), "%s", dict(seen))
    return "Small.new below Object#frequent:%d, Large.new below Object#rare:%d" % (wanted["Small"][1], wanted["Large"][1])


def memory_of_malloc(ctx, *flags):
    """Strings of two sizes, and an array that grows by realloc: the bytes, and where."""
    program, text = Program(ctx, *flags), []
    for size, n, interval in (100000, 40000, 512 * KIB), (2000, 400000, 32 * KIB):
        reader = record(ctx, program.pid, interval)
        each, grown = map(int, program.do("malloc %d %d 3000000" % (size, n)))
        check(size <= each <= size + 32, "a string of %d takes %d", size, each)
        profile = stop(ctx, reader)
        got = defaultdict(int)
        for s in profile.stacks:
            if s.labels()[-1] == MALLOC:
                got[s.labels()[-3], s.labels()[-2]] += s.count
        # malloc rounds up to 16 bytes.
        z = off(got["Object#strings", "String.new"], n * each, math.sqrt(variance(each, n, interval)), "strings",
                128 * KIB + 16 * n)
        # It grows in some hundred steps, all of them in the last ones: of these nearly each is sampled.
        share = got["Object#grown", "Array#push"] / grown
        check(0.8 < share < 1.2, "the array takes %d bytes, %.2f of them shown", grown, share)
        text.append("%d bytes: %.4f shown, %.1f sigma; an array of %.1f MiB: %.3f" % (
            size, got["Object#strings", "String.new"] / (n * each), z, grown / MIB, share))
    return "; ".join(text)


@case(timeout=60)
def malloc(ctx):
    return memory_of_malloc(ctx)


@case(timeout=60)
def malloc_yjit(ctx):
    return memory_of_malloc(ctx, *YJIT)


@case(timeout=60, alone=True)
def nothing_is_left(ctx):
    """Neither a semaphore nor another distance of samples, after an end; no semaphore after kill -9."""
    program = Program(ctx)
    before = program.read_interval()
    reader = record(ctx, program.pid, 4 * KIB)
    armed = program.semaphores()
    check(armed == ARMED, "while it records: %s", armed)
    check(program.read_interval() == 4 * KIB, "the distance is %d", program.read_interval())
    program.do("pattern Small Other 10000")
    stop(ctx, reader)
    check(program.semaphores() == NOBODY, "after the end: %s", program.semaphores())
    check(program.read_interval() == before, "the distance was %d and is %d", before, program.read_interval())
    reader = record(ctx, program.pid, 4 * KIB)
    program.wait_for(ARMED)
    reader.signal(signal.SIGKILL)
    reader.wait()
    program.wait_for(NOBODY)
    program.do("pattern Small Other 10000")
    check(program.semaphores() == NOBODY, "after kill -9: %s", program.semaphores())
    # The next recording does not use what that one left behind.
    reader = record(ctx, program.pid, 512 * KIB)
    check(program.read_interval() == 512 * KIB, "the distance is %d", program.read_interval())
    program.do("pattern Small Other 100000")
    stop(ctx, reader)
    return "distance %d -> 4096 -> %d, semaphore 0 after both ends" % (before, before)


@case(timeout=60, alone=True)
def nothing_is_left_by_perf_events(ctx):
    ctx.without_one_link()
    return nothing_is_left(ctx)


@case(timeout=60)
def children(ctx):
    """A child that is forked during the recording is right, and is left as it was before."""
    program, n, interval = Program(ctx), 3000000, 32 * KIB
    before = program.read_interval()
    reader = record(ctx, program.pid, interval, "-s")
    child = int(program.do("fork Small %d" % n)[0])
    profile = stop(ctx, reader)
    amount = defaultdict(int)
    for s in profile.stacks:
        if s.labels()[-1] == "Small":
            amount[s.labels()[0]] += s.count
    check(len(amount) == 1, "Small was allocated in %s", dict(amount))
    where, got = next(iter(amount.items()))
    check("%d" % child in where, "%s is not process %d", where, child)
    z = off(got, n * 40, math.sqrt(variance(40, n, interval)), "the child", 128 * KIB)
    check(program.read_interval() == before, "the parent keeps a distance of %d", program.read_interval())
    check(program.read_interval(child) == before, "the child keeps a distance of %d", program.read_interval(child))
    program.do("end")
    return "%s: %d of %d bytes, %.1f sigma" % (where, got, n * 40, z)


@case(timeout=60)
def several_processes_of_one_file(ctx):
    """The probe is one for all of them: nothing counts twice. A process that is not profiled is not counted."""
    programs, n, interval = [Program(ctx) for _ in range(3)], 2000000, 32 * KIB
    reader = ctx.extprof_start("-p", "%d,%d" % (programs[0].pid, programs[1].pid), "-m", "alloc", "--alloc-interval", interval,
                               "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    for p in programs:
        p.do("threads Small %d" % n)
    amount = defaultdict(int)
    for s in stop(ctx, reader).stacks:
        if s.labels()[-1] == "Small":
            amount[s.labels()[0]] += s.count
    check(len(amount) == 2, "%s", dict(amount))
    worst = max(off(got, n * 40, math.sqrt(variance(40, n, interval)), where, 128 * KIB) for where, got in amount.items())
    return "2 of 3 processes, worst %.1f sigma" % worst


@case(timeout=60)
def with_cpu(ctx):
    """In one recording with what runs: each mode has its own amounts."""
    program, n, interval = Program(ctx), 4000000, 64 * KIB
    reader = ctx.extprof_start("-p", program.pid, "-m", "cpu,alloc", "-F", 1000, "--alloc-interval", interval, "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    program.do("threads Small %d" % n)
    got = defaultdict(int)
    for s in stop(ctx, reader).stacks:
        if "Object#thread_body" in s.labels():
            got[s.labels()[0]] += s.count
    check(set(got) == {"[cpu, samples]", "[alloc, bytes]"}, "%s", dict(got))
    z = off(got["[alloc, bytes]"], n * 40, math.sqrt(variance(40, n, interval)), "bytes", 128 * KIB)
    check(got["[cpu, samples]"] > 50, "%s", dict(got))
    return "%d samples of what runs, %d bytes, %.1f sigma" % (got["[cpu, samples]"], got["[alloc, bytes]"], z)


def small_in(ctx, pids, n, interval, tell, *options, reader=None):
    """All of the processes allocate n objects: by how many deviations the worst one is wrong."""
    reader = reader or ctx.extprof_start("-p", ",".join(map(str, pids)), "-m", "alloc", "--alloc-interval", interval,
                                         "--group-by", "process", *options, "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    tell()
    profile = stop(ctx, reader)
    amount = defaultdict(int)
    for s in profile.stacks:
        if s.labels()[-1] == "Small":
            amount[s.labels()[0]] += s.count
    check(len(amount) == len(pids), "%s", dict(amount))
    worst = max(off(got, n * 40, math.sqrt(variance(40, n, interval)), where, 128 * KIB) for where, got in amount.items())
    return profile, worst


def talk(p, command):
    p.tell(command)
    while p.line(60) != "done":
        pass


def started(ctx, argv, env):
    p = ctx.start([*argv, "--disable=gems", "-W0", os.path.join(PROGRAMS, "alloc.rb")], env=env)
    p.expect("ready")
    return p


@case(timeout=60)
def deleted_file(ctx):
    binary = Binary(ctx)
    p, n = started(ctx, [binary.ruby], binary.env), 2000000
    for path in {binary.ruby, binary.changed}:
        os.unlink(path)
    _, worst = small_in(ctx, [p.pid], n, 32 * KIB, lambda: talk(p, "threads Small %d" % n))
    return "%.1f sigma" % worst


@case(timeout=60)
def one_file_in_two_containers(ctx):
    """overlayfs shows one file with two device numbers, as to two containers of one image. It counts once for each
    process. Their files cannot be seen from outside."""
    image, empty = ctx.path("image"), ctx.path("empty")
    os.mkdir(image)
    os.mkdir(empty)
    binary, n = Binary(ctx, image), 2000000
    programs = []
    for _ in range(2):
        script = 'mount -t tmpfs tmpfs /mnt && mkdir /mnt/merged && mount -t overlay overlay -o lowerdir=%s:%s /mnt/merged && ' \
                 'exec "$@"' % (image, empty)
        env = dict(binary.env)
        if binary.changed != binary.ruby:
            env["LD_LIBRARY_PATH"] = "/mnt/merged:" + env["LD_LIBRARY_PATH"]
        programs.append(started(ctx, ["unshare", "--mount", "sh", "-c", script, "sh", "/mnt/merged/ruby-copy"], env))
    devices = {os.stat("/proc/%d/root/mnt/merged/%s" % (p.pid, os.path.basename(binary.changed))).st_dev for p in programs}
    check(len(devices) == 2, "both have the device %s", devices)
    _, worst = small_in(ctx, [p.pid for p in programs], n, 32 * KIB,
                        lambda: [talk(p, "threads Small %d" % n) for p in programs])
    return "two devices, worst %.1f sigma" % worst


@case(timeout=60)
def two_rubies(ctx):
    """Two files, each with a probe of its own."""
    other = Binary(ctx)
    programs = [Program(ctx).p, started(ctx, [other.ruby], other.env)]
    n = 2000000
    _, worst = small_in(ctx, [p.pid for p in programs], n, 32 * KIB,
                        lambda: [talk(p, "threads Small %d" % n) for p in programs])
    return "worst %.1f sigma" % worst


@case(timeout=60)
def own_interval(ctx):
    """A process whose memory extprof may not write keeps its distance of samples, and is right nevertheless."""
    user = 65534
    binary_dir = ctx.path("ruby")
    os.mkdir(binary_dir)
    binary = Binary(ctx, binary_dir)
    for directory in (binary_dir, ctx.directory):
        os.chmod(directory, 0o755)
    script = ctx.path("alloc.rb")
    shutil.copy(os.path.join(PROGRAMS, "alloc.rb"), script)
    os.chmod(script, 0o644)
    p = ctx.start(["setpriv", "--reuid=%d" % user, "--regid=%d" % user, "--clear-groups", binary.ruby, "--disable=gems", "-W0",
                   script], env=binary.env)
    p.expect("ready")
    n, interval = 8000000, 512 * KIB
    reader = ctx.start(["setpriv", "--bounding-set=-dac_override,-dac_read_search", harness.EXTPROF, "-p", p.pid, "-m", "alloc",
                        "--alloc-interval", "4k", "--group-by", "process", "-o", ctx.path("out.folded")],
                       stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    profile, worst = small_in(ctx, [p.pid], n, interval, lambda: talk(p, "threads Small %d" % n), reader=reader)
    check("own distance of allocation samples: 1 of the processes" in profile.out, "%s", profile.out[-600:])
    check(profile.sums.taken < 3 * n * 40 / interval, "%d samples", profile.sums.taken)
    return "%d samples for %d MiB, %.1f sigma" % (profile.sums.taken, n * 40 >> 20, worst)


@case(timeout=60)
def profile_so_far(ctx):
    """SIGUSR1 while it allocates: the recording goes on, and what happens meanwhile is all that is missing."""
    program, n, interval = Program(ctx), 3000000, 32 * KIB
    reader = record(ctx, program.pid, interval)
    amounts = []
    for _ in range(2):
        program.do("threads Small %d" % n)
        reader.signal(signal.SIGUSR1)
        harness.until(lambda: os.path.exists(ctx.path("out.folded")), "there is no profile")
        amounts.append(sum(s.count for s in harness.Profile(0, "", "", ctx.path("out.folded")).stacks if s.labels()[-1] == "Small"))
        os.unlink(ctx.path("out.folded"))
    program.do("threads Small %d" % n)
    amounts.append(sum(s.count for s in stop(ctx, reader).stacks if s.labels()[-1] == "Small"))
    for i, got in enumerate(amounts, 1):
        off(got, i * n * 40, math.sqrt(variance(40, i * n, interval)), "part %d" % i, 128 * KIB)
    return "%s of %d MiB each" % (", ".join("%.1f" % (a / MIB) for a in amounts), n * 40 >> 20)


@case(timeout=60)
def internal_objects(ctx):
    """What the VM allocates for itself: by type."""
    program, n, interval = Program(ctx), 300000, 16 * KIB
    reader = record(ctx, program.pid, interval)
    program.do("lambdas %d" % n)
    got = defaultdict(int)
    for s in stop(ctx, reader).stacks:
        got[s.labels()[-1]] += s.count
    newer = program.word(program.section + 10, 2) > 0
    name = "[VM internal imemo]" if newer else "[VM internal]"
    check(not newer or not got["[VM internal]"], "%s", dict(got))
    # Each lambda is a Proc, and an environment, in slots of 40 bytes.
    for kind in "Proc", name:
        off(got[kind], n * 40, math.sqrt(variance(40, n, interval)), kind, 128 * KIB)
    return ", ".join("%s %d KiB" % (k, v >> 10) for k, v in sorted(got.items()) if v)


@case(timeout=60, alone=True)
def exec_of_a_ruby(ctx):
    """The program that the process executes then is recorded as the first one was, and is left as it was."""
    case_probes.Tracer.build()
    program = ctx.program("alloc.rb", env={"TESTED_RUBY": harness.RUBY})
    program.expect("ready")
    n, interval = 2000000, 32 * KIB
    reader = ctx.extprof_start("-p", program.pid, "-m", "alloc", "--alloc-interval", interval, "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    talk(program, "threads Small %d" % n)
    program.tell("again")
    program.expect("ready")
    target = Program.__new__(Program)
    target.pid = program.pid
    target.find()
    harness.until(lambda: target.read_interval() == interval, "the second program has a distance of %d" % target.read_interval())
    time.sleep(0.2)  # it is sampled once its interval is set
    talk(program, "threads Small %d" % n)
    got = sum(s.count for s in stop(ctx, reader, lost=5).stacks if s.labels()[-1] == "Small")
    # And 2,000 of its start.
    z = off(got, 2 * n * 40, math.sqrt(variance(40, 2 * n, interval)), "both", 256 * KIB)
    check(target.read_interval() == 512 * KIB, "the distance is %d", target.read_interval())
    check(target.semaphores() == NOBODY, "after the end: %s", target.semaphores())
    return "%d of %d bytes, %.1f sigma" % (got, 2 * n * 40, z)


@case(timeout=60)
def killed_meanwhile(ctx):
    """What a process allocated until it was killed is shown."""
    program, n, interval = Program(ctx), 3000000, 32 * KIB
    reader = record(ctx, program.pid, interval)
    program.do("threads Small %d" % n)
    program.p.tell("threads Small 100000000")
    program.p.signal(signal.SIGKILL)
    profile = ctx.profile_of(reader).ok()
    check(profile.sums.balanced, "%s", profile.sums.text)
    got = sum(s.count for s in profile.stacks if s.labels()[-1] == "Small")
    check(got > n * 40 - 5 * math.sqrt(variance(40, n, interval)) - 128 * KIB, "%d of %d bytes", got, n * 40)
    return "%d MiB, at least %d" % (got >> 20, n * 40 >> 20)


@case(timeout=60)
def command_from_its_first_line(ctx):
    """What a command allocates first is seen: it stands still until the probes are attached."""
    program = ctx.write("early.rb", "400.times { String.new(capacity: 999_000) }\n")
    said = []
    for _ in range(3):
        profile = ctx.extprof("record", "-m", "alloc", "-o", ctx.path("early.folded"), "--", harness.RUBY, "--disable=gems",
                              program).ok()
        got = sum(s.count for s in profile.stacks if s.labels()[-1] == MALLOC and any("early.rb" in label or "times" in label
                                                                                      for label in s.labels()))
        off(got, 400 * 999000, math.sqrt(variance(999000, 400, 512 * KIB)), "bytes")
        said.append(got / 1e6)
    return "%s MB of 399.6" % ["%.1f" % mb for mb in said]
