"""Mode heap: what lives, against what the program says of its own objects."""
import math
import os
import re
import signal
import time
from collections import defaultdict

import harness
from harness import PROGRAMS, case, check

KIB = 1 << 10
# As in case_alloc: exceeded once in 1.7 million.
SIGMAS = 5


def record(ctx, pid, *options, interval="1k", out="out.folded"):
    reader = ctx.extprof_start("-p", pid, "-m", "heap", "--alloc-interval", interval, *options, "-o", ctx.path(out))
    ctx.attached(reader)
    return reader


def stop(ctx, reader, out="out.folded"):
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader, path=ctx.path(out)).ok()
    sums = profile.sums
    # Each KiB is a sample here: a program can make more than one process may have in the ring, and that is told.
    check(sums.balanced and (sums.lost == 0 or (sums.lost < 0.005 * sums.taken and "(ring-share: %d)" % sums.lost in sums.text)), "%s",
          sums.text)
    return profile


def truth(program):
    """{method: (bytes, objects, size of a slot)}"""
    kept = {}
    while True:
        line = program.line(timeout=60)
        if line == "told":
            return kept
        m = re.fullmatch(r"kept (\w+) (\d+) (\d+) (\d+)", line)
        check(m, "%s", line)
        kept[m.group(1)] = tuple(int(n) for n in m.groups()[1:])


def by_method(profile, process=None):
    """{method: bytes} of what is below the methods of heap.rb that keep something, and what is below none of them."""
    amounts, others = defaultdict(int), defaultdict(int)
    for s in profile.stacks:
        labels = s.labels()
        if process and process not in labels[0]:
            continue
        of = next((name for name in labels if name.startswith("Object#keep_")), None)
        if of:
            amounts[of.removeprefix("Object#")] += s.count
        else:
            others[";".join(labels)] += s.count
    return amounts, others


def compare(amounts, kept, interval=KIB, share=1.0):
    """Each within the error of sampling.  Returns the largest distance, in standard deviations."""
    check(set(amounts) == set(kept), "%s, not %s", sorted(amounts), sorted(kept))
    worst = 0
    for method, (size, objects, slot) in kept.items():
        p = 1 - math.exp(-slot / interval)
        deviation = math.sqrt((1 - p) / (p * objects * share))
        off = (amounts[method] / (size * share) - 1) / deviation
        check(abs(off) < SIGMAS, "%s: %d bytes, not %d: %.1f standard deviations", method, amounts[method], size * share, off)
        worst = max(worst, abs(off))
    return worst


def no_garbage(profile, interval=KIB):
    """What the VM keeps for its own, such as a call cache of a line, lives.  The collector takes what is left in a stack of the
    machine for references: the last few objects can live.  A sample of a small one stands for a little more than the interval."""
    left = [s for s in profile.stacks if "Object#garbage" in s.labels() and not s.labels()[-1].startswith("[VM internal")]
    check(sum(s.count for s in left) < 4 * interval, "what died is shown: %s", [(s.labels(), s.count) for s in left])


def notes(profile):
    m = re.search(r"of (\d+) sampled objects (\d+) died", profile.out)
    check(m, "%s", profile.out)
    return int(m.group(1)), int(m.group(2))


def survives(ctx, *args, flags=()):
    """Run heap.rb and compare what lives at its end.  The profile, the bytes by method, and the largest distance."""
    program = ctx.program("heap.rb", *args, flags=flags)
    program.expect("ready")
    reader = record(ctx, program.pid)
    program.tell("go")
    kept = truth(program)
    profile = stop(ctx, reader)
    amounts, _ = by_method(profile)
    worst = compare(amounts, kept)
    no_garbage(profile)
    return profile, amounts, worst


@case(timeout=120)
def by_line(ctx):
    """Strings, arrays, hashes and objects by the methods that made them, some grown since; nothing of ten times as much that died."""
    profile, amounts, worst = survives(ctx, 20_000)
    sampled, died = notes(profile)
    check(died > sampled // 2, "%d of %d died", died, sampled)
    return "%d bytes live, at most %.1f standard deviations off; %d of %d sampled objects died" % (
        sum(amounts.values()), worst, died, sampled)


@case(timeout=120)
def moved_by_compaction(ctx):
    return "at most %.1f standard deviations off" % survives(ctx, 10_000, "compact")[2]


@case(timeout=120)
def with_yjit(ctx):
    return "at most %.1f standard deviations off" % survives(ctx, 10_000, flags=("--yjit", "--yjit-call-threshold=5"))[2]


@case(timeout=120)
def beside_other_modes(ctx):
    """What was allocated, what of it lives, and where the time went, in one recording."""
    program = ctx.program("heap.rb", 10_000)
    program.expect("ready")
    reader = ctx.extprof_start("-p", program.pid, "-m", "cpu,alloc,heap", "--alloc-interval", "1k", "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    program.tell("go")
    kept = truth(program)
    profile = stop(ctx, reader)
    of = defaultdict(list)
    for s in profile.stacks:
        of[re.match(r"\[(\w+),", s.labels()[0]).group(1)].append(s)
    check(set(of) == {"cpu", "alloc", "heap"}, "%s", set(of))
    amounts = defaultdict(int)
    for s in of["heap"]:
        method = next((name for name in s.labels() if name.startswith("Object#keep_")), None)
        check("Object#garbage" not in s.labels() or s.labels()[-1].startswith("[VM"), "%s", s.labels())
        if method:
            amounts[method.removeprefix("Object#")] += s.count
    compare(amounts, kept)
    small = {m: sum(s.count for s in of[m] if "Object#keep_small" in s.labels() and s.labels()[-1] == "Small") for m in of}
    # Both are of the same samples: slots that nothing was added to.
    check(small["alloc"] == small["heap"] > 0, "%s", small)
    died = sum(s.count for s in of["alloc"] if "Object#garbage" in s.labels())
    return "%d bytes live, %d of what died" % (sum(amounts.values()), died)


@case(timeout=120)
def in_a_file(ctx):
    """The recording has the same objects as the profile, with the times when they were made."""
    program = ctx.program("heap.rb", 10_000)
    program.expect("ready")
    path = ctx.path("out.extprof")
    reader = ctx.extprof_start("record", "-q", "-p", program.pid, "-m", "heap", "--alloc-interval", "1k", "-o", path)
    ctx.attached(reader)
    program.tell("go")
    kept = truth(program)
    reader.signal(signal.SIGINT)
    ctx.profile_of(reader, path=path).ok()
    profile = ctx.extprof("report", path, "-f", "folded", "-o", ctx.path("file.folded")).ok()
    no_garbage(profile)
    amounts, _ = by_method(profile)
    worst = compare(amounts, kept)
    summary = ctx.extprof("report", path).ok().out
    check("sampled objects" in summary and "inuse_space" in summary, "%s", summary)
    ctx.extprof("verify", path).ok()
    # Nothing was made before the recording began.
    none = ctx.extprof("report", path, "--until", "0", "-f", "folded", "-o", ctx.path("none.folded"))
    check(none.status != 0, "what was made in the first 0 seconds: %s", none.err)
    return "at most %.1f standard deviations off" % worst


FORKS = """
require_relative "heap"
puts "ready"
$stdin.gets
make(40_000)
GC.start
tell
pids = [2, 4].map do |part|
  fork do
    KEPT.each_value { |list| list.select!.with_index { |_, i| i % part == 0 } }
    make(8_000 * part)
    GC.start
    puts "child"
    sleep
  end
end
KEPT.each_value(&:clear)
4.times { GC.start }
puts "cleared"
sleep
"""


@case(timeout=120, waits=True)
def in_children(ctx):
    """A child has a part of what its parent had at the fork, which is dead in the parent, and what it made itself."""
    ctx.write("heap.rb", open(PROGRAMS + "/heap.rb").read())
    program = ctx.ruby(ctx.write("forks.rb", FORKS))
    program.expect("ready")
    # Three processes make objects at once: more of them at a longer interval, so that a reader that gets the CPU late loses none.
    reader = record(ctx, program.pid, "-s", "--group-by", "process", interval="4k")
    program.tell("go")
    kept = truth(program)
    for _ in range(3):
        check(program.line(timeout=60) in ("child", "cleared"), "the program")
    profile = stop(ctx, reader)
    no_garbage(profile, 4 * KIB)
    processes = sorted({s.labels()[0] for s in profile.stacks})
    worst = 0
    found = []
    for process in processes:
        amounts, _ = by_method(profile, process)
        if "process %d " % program.pid in process:
            check(not amounts, "the parent has %s", amounts)
            continue
        # Of 40,000 a half and 16,000 more, or a quarter and 32,000 more.
        part = min((2, 4), key=lambda n: abs(amounts["keep_wide"] / kept["keep_wide"][0] - (1 / n + n / 5)))
        found.append(part)
        worst = max(worst, compare(amounts, kept, interval=4 * KIB, share=1 / part + part / 5))
    check(sorted(found) == [2, 4], "%s of %s", found, processes)
    return "at most %.1f standard deviations off" % worst


CHAIN = """
require_relative "heap"
puts "ready"
$stdin.gets
round = 0
made = nil
# The program that makes them ends while it is read, and so does each second one of its children.
6.times do |i|
  KEPT.each_value(&:clear)
  make(12_000, rest: 0)
  tell if i == 0
  pid = fork do
    unless i.odd?
      fork do
        GC.start
        $stdout.syswrite "child #{$$}\n"
        sleep
      end
      exit!
    end
    GC.start
    $stdout.syswrite "child #{$$}\n"
    sleep
  end
  Process.wait(pid) unless i.odd?
  KEPT.each_value(&:clear)
  GC.start
end
puts "cleared"
sleep
"""


@case(timeout=150)
def in_grandchildren(ctx):
    """Each of six children has what its parent made last, and two forks are between some of them: the one in the middle has ended.
    The parent forgets it at once, while its table is read now and then."""
    ctx.write("heap.rb", open(PROGRAMS + "/heap.rb").read())
    program = ctx.ruby(ctx.write("chain.rb", CHAIN))
    program.expect("ready")
    # More of them at a longer interval, so that a reader that gets the CPU late loses none: they are made without a rest.
    reader = record(ctx, program.pid, "-s", "--group-by", "process", interval="16k")
    program.tell("go")
    kept = truth(program)
    children, lines = set(), 0
    while lines < 7:
        line = program.line(timeout=60)
        lines += 1
        if line != "cleared":
            children.add(int(line.split()[1]))
    profile = stop(ctx, reader)
    no_garbage(profile, 16 * KIB)
    worst = 0
    for pid in children:
        amounts, _ = by_method(profile, "process %d " % pid)
        worst = max(worst, compare(amounts, kept, interval=16 * KIB))
    check(len(children) == 6, "%s", children)
    amounts, _ = by_method(profile, "process %d " % program.pid)
    check(not amounts, "the parent has %s", amounts)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    return "at most %.1f standard deviations off; %s" % (worst, profile.sums.text)


RACTORS = """
require_relative "heap"
require "weakref"
puts "ready"
$stdin.gets
count = 0
ended = proc { count += 1 }
weak = ObjectSpace::WeakMap.new
def weakly = Small.new
def finally = Small.new
Thread.new do
  5_000.times do |i|
    weak[i] = weakly
    ObjectSpace.define_finalizer(finally, ended)
  end
end.join
ractors = 3.times.map { Ractor.new { list = Array.new(20_000) { |i| sleep 0.005 if i % 500 == 499; Wide.new }; Ractor.yield :made; Ractor.receive; list.size } }
ractors.each(&:take)
GC.stress = true
100.times { keep_small; garbage }
GC.stress = false
make(5_000) { |i| GC.start(immediate_mark: false, immediate_sweep: false) if i % 500 == 0 }
GC.start
GC.start
puts "finalized #{count}"
tell
sleep
"""


@case(timeout=200)
def ractors_and_the_collector(ctx):
    """Objects of ractors, with finalizers, in weak maps, under GC.stress and incremental marking."""
    ctx.write("heap.rb", open(PROGRAMS + "/heap.rb").read())
    program = ctx.ruby("-W0", ctx.write("ractors.rb", RACTORS))
    program.expect("ready")
    reader = record(ctx, program.pid)
    program.tell("go")
    finalized = int(program.line(timeout=150).removeprefix("finalized "))
    kept = truth(program)
    profile = stop(ctx, reader)
    no_garbage(profile)
    amounts, others = by_method(profile)
    worst = compare(amounts, kept)
    of_ractors = sum(n for stack, n in others.items() if stack.endswith("Wide"))
    size = 3 * 20_000 * kept["keep_wide"][2]
    check(abs(of_ractors / size - 1) < 0.1, "%d bytes of ractors, not %d", of_ractors, size)
    dead = sum(n for stack, n in others.items() if re.search(r"#(weakly|finally);", stack))
    slot = kept["keep_small"][2]
    check(finalized > 4900 and dead <= (5000 - finalized + 100) * slot * 3, "%d bytes of what died, %d finalized", dead, finalized)
    return "at most %.1f standard deviations off; ractors %d bytes" % (worst, of_ractors)


@case(timeout=60)
def refusals(ctx):
    """What cannot be shown is said, with another status than 0."""
    gone = ctx.extprof("record", "-m", "heap", "--alloc-interval", "1k", "-o", ctx.path("gone.folded"), "--",
                       harness.RUBY, "-e", "$k = Array.new(50_000) { Object.new }; sleep 0.5")
    check(gone.status != 0 and "nothing lives" in gone.err and "-d SECONDS" in gone.err, "%d: %s", gone.status, gone.err)
    program = ctx.ruby("-e", "puts :ready; STDOUT.flush; sleep")
    program.expect("ready")
    other = ctx.extprof("record", "-m", "heap", "--reader", "remote", "-d", "0.2", "-p", program.pid, "-o", ctx.path("r.folded"))
    check(other.status != 0, "%s", other.err)
    return "2"


GROWS = """
require "objspace"
STDOUT.sync = true
$kept = []
def keep_some(n) = n.times { $kept << "x" * 600 }
def garbage = 200.times { "g" * 600 }
puts "ready"
while (line = $stdin.gets)
  n = line.to_i
  n > 0 ? n.times { |i| keep_some(1); garbage if i % 20 == 0 } : (-n).times { $kept.pop }  # pop(n) shares the memory of both
  GC.start
  puts $kept.sum { ObjectSpace.memsize_of(_1) }
end
"""
ROW = re.compile(r" *[\d.]+ % +\S+(?: \w+)? +[\d.]+ % +(\S+(?: \w+)?) +([+-]?)(\S+(?: \w+)?)  Object#keep_some ")


def bytes_of(text):
    number, _, unit = text.partition(" ")
    return float(number) * 1024 ** (["", "B", "KiB", "MiB", "GiB"].index(unit) - 1 if unit else 0)


def window(reader):
    """(bytes that live, growth) of the method in the next window of top, and the time of day when it ended."""
    lines = []
    while (line := reader.line(30)) != "":
        lines.append(line)
    clock = re.search(r"  (\d\d:\d\d:\d\d)  ", lines[0]).group(1)
    for line in lines:
        m = ROW.match(line)
        if m:
            return bytes_of(m.group(1)), (-1 if m.group(2) == "-" else 1) * bytes_of(m.group(3)), clock
    return 0, 0, clock


@case(timeout=90)
def grows_in_top(ctx):
    """top -m heap: what lives by then, and by how much it has grown or shrunk since the window before."""
    p = ctx.ruby(ctx.write("grows.rb", GROWS))
    p.expect("ready")
    reader = ctx.extprof_start("top", "-p", p.pid, "-m", "heap", "--alloc-interval", "1k", "-b", "-i", "1", "--rows", "100",
                               env=harness.environment({"COLUMNS": "200"}))
    window(reader)
    before, told = 0, []
    for n in (20_000, 10_000, -15_000):
        p.tell(str(n))
        kept, grown, clock = int(p.line(30)), 0, ""
        done = time.strftime("%H:%M:%S", time.localtime(time.time() + 1))
        # It is seen in parts, by windows that ended meanwhile.
        while clock < done:
            lives, more, clock = window(reader)
            grown += more
        p1 = 1 - math.exp(-640 / KIB)
        deviation = lambda size: size * ((1 - p1) / (p1 * max(size, 640) / 640)) ** 0.5
        # Amounts have three digits.
        check(abs(lives - kept) < SIGMAS * deviation(kept) + 0.006 * kept, "%d of %d bytes live", lives, kept)
        check(abs(grown - (kept - before)) < SIGMAS * deviation(abs(kept - before)) + 0.006 * kept, "grown by %d, in truth by %d", grown,
              kept - before)
        told.append("%+.1f of %+.1f MB" % (grown / 1e6, (kept - before) / 1e6))
        before = kept
    reader.signal(signal.SIGINT)
    reader.wait(30)
    return ", ".join(told)


SCRIBBLES = """
require "fiddle"
root = Fiddle::Handle::DEFAULT["rb_debug_ext_root"]
# live_until, live, live_end, live_entry_size, live_generation, live_clears: the header has the offsets.
AT = 584
STDOUT.sync = true
def word(address) = Fiddle::Pointer.new(address)[0, 8].unpack1("Q")
puts "ready"
$stdin.gets
$kept = Array.new(20_000) { Object.new }
GC.start
table = word(root + AT + 8)
raise "no table" if table == 0
puts "done"
case ARGV[0]
when "end" then Fiddle::Pointer.new(root + AT + 16)[0, 4] = [0xffff_fff0].pack("L")
when "size" then Fiddle::Pointer.new(root + AT + 20)[0, 4] = [0].pack("L")
when "place" then Fiddle::Pointer.new(root + AT + 8)[0, 8] = [1 << 46].pack("Q")
when "generation" then Thread.new { i = 0; loop { Fiddle::Pointer.new(root + AT + 24)[0, 4] = [i += 1].pack("L") } }
when "serials" then Fiddle::Pointer.new(table)[0, 64 * 100] = "\\xff" * 6400
when "clears" then Fiddle::Pointer.new(root + AT + 28)[0, 4] = [7].pack("L"); Fiddle::Pointer.new(root + AT + 16)[0, 4] = [0].pack("L")
end
# Else the VM stores what is right there, with the next sample.
ARGV[0] == "generation" ? sleep : Process.kill(:STOP, $$)
"""


@case(timeout=120)
def hostile_tables(ctx):
    """A table that makes no sense is told, and the reader ends in time."""
    def run_of(what):
        program = ctx.ruby(ctx.write("scribbles.rb", SCRIBBLES), what)
        program.expect("ready")
        reader = record(ctx, program.pid, out=what + ".folded")
        program.tell("go")
        program.expect("done")
        if what != "generation":
            harness.until(lambda: harness.state(program.pid) == "T", "the program does not stop")
        reader.signal(signal.SIGINT)
        profile = ctx.profile_of(reader, path=ctx.path(what + ".folded"))
        program.kill()
        return profile

    told = []
    for what in ("end", "size", "place", "serials", "clears", "generation"):
        expected = "objects not known" if what == "clears" else "what lives is not known of all processes"
        # An object that is sampled before the program stops makes it right again; a generation can be even often enough.
        for _ in range(4):
            profile = run_of(what)
            text = profile.out + profile.err
            if expected in text:
                check(profile.status != 0 or what == "clears", "%s: %d %s", what, profile.status, text)
                told.append(what)
                break
            check(profile.status == 0, "%s: %d %s", what, profile.status, text)
    check({"end", "size", "place", "serials", "clears"} <= set(told), "%s", told)
    return ", ".join(told)
