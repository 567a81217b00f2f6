"""libextprof as others use it: installed to a directory of its own, found by pkg-config."""
import os
import re
import subprocess

import folded
import case_fakes
import harness
import native
from harness import case, check
from native import tool

EXAMPLES = os.path.join(harness.TOP, "examples")
SOURCE = os.path.join(harness.TOP, "tools", "extprof")
TOTAL = re.compile(r"^(\d+) passed, (\d+) failed$")

BURNER = """\
class Worker
  def burn(n)
    n -= 1 while n > 0
  end

  def run
    burn(200_000) while true
  end
end
$stdout.puts "ready"
$stdout.flush
Worker.new.run
"""

SLEEPER = """\
class Napper
  def nap = sleep(0.02)

  def run
    Fiber.with_labels(job: "nap") do
      TraceContext::SET.call(TraceContext.memory("c" * 32, "5" * 16))
      while $run
        from = now
        nap
        $naps << from << now
      end
    end
  end
end
class Worker
  def burn(n)
    n -= 1 while n > 0
  end
end
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
$naps, $run = [], true
napper = Thread.new { Thread.current.name = "napper"; Napper.new.run }
burner = Thread.new { Thread.current.name = "burner"; w = Worker.new; w.burn(50_000) while $run }
sleep 0.01 until napper.native_thread_id && burner.native_thread_id
$stdout.puts "ready %d %d" % [napper.native_thread_id, burner.native_thread_id]
$stdout.flush
$stdin.gets
$run = false
napper.join
$stdout.puts $naps.join(" ")
"""

OPENER = """\
class Opener
  def inner = File.open("/etc/hostname", &:close)

  def outer
    inner
  end
end
opener = Opener.new
$stdout.puts "ready"
$stdout.flush
while (line = $stdin.gets)
  case line
  when "outer\\n" then opener.outer
  when "each\\n" then [1, 2].each { opener.inner }
  end
  $stdout.puts "done"
  $stdout.flush
end
"""


def make_install(ctx, target, prefix, destdir=""):
    """Install what the run tests: it is built, and not built again."""
    build = os.path.dirname(os.path.realpath(harness.EXTPROF))
    p = ctx.start(["make", "-s", "-C", SOURCE, target, "BUILD=" + build, "PREFIX=" + prefix, "DESTDIR=" + destdir])
    out, _ = p.communicate(60)
    check(p.p.returncode == 0, "make %s: %s", target, ctx.complaints())
    return out


class Installed:
    def __init__(self, ctx):
        self.prefix = ctx.path("prefix")
        make_install(ctx, "install-built", self.prefix)
        self.library = os.path.join(self.prefix, "lib")
        self.env = {"LD_LIBRARY_PATH": self.library, "PKG_CONFIG_PATH": os.path.join(self.library, "pkgconfig")}

    def pkg_config(self, *args):
        return subprocess.run(["pkg-config", *args, "extprof"], env={**os.environ, **self.env}, check=True,
                              stdout=subprocess.PIPE, universal_newlines=True).stdout.split()

    def compile(self, ctx, source, *options, static=False):
        """Compile one C file against the installed library. Its path."""
        path = ctx.path(os.path.basename(source)[:-2] + ("-static" if static else ""))
        libs = self.pkg_config("--libs", *(["--static"] if static else []))
        if static:
            libs[libs.index("-lextprof")] = os.path.join(self.library, "libextprof.a")
        native.run(tool("CC"), "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", *options,
                   *self.pkg_config("--cflags"), "-o", path, source, *libs)
        return path


def files(directory):
    return sorted(os.path.relpath(os.path.join(d, f), directory) for d, _, names in os.walk(directory) for f in names)


def exported(path, *options):
    """Global names that an object file or a library defines."""
    out = subprocess.run(["nm", "--defined-only", "-g", "-P", *options, path], check=True, stdout=subprocess.PIPE,
                         universal_newlines=True).stdout
    fields = [line.split() for line in out.splitlines() if len(line.split()) > 2]
    return sorted(f[0].split("@")[0] for f in fields if f[1] != "A")


@case(timeout=60, bpf=False)
def installed(ctx):
    """What make install puts where, that make uninstall takes it away, and what is exported."""
    at = Installed(ctx)
    staged = ctx.path("stage")
    make_install(ctx, "install-built", "/usr", staged)
    names = files(at.prefix)
    check(names == files(os.path.join(staged, "usr")), "DESTDIR gives other files")
    for name in ("include/extprof.h", "lib/libextprof.a", "lib/libextprof.so", "lib/pkgconfig/extprof.pc",
                 "include/extprof/wire/walk.h", "include/extprof/ruby/debug_external.h"):
        check(name in names, "%s is not installed", name)
    with open(os.path.join(staged, "usr/lib/pkgconfig/extprof.pc")) as f:
        check("prefix=/usr\n" in f.read(), "extprof.pc does not have the prefix")
    make_install(ctx, "uninstall-built", "/usr", staged)
    check(not files(staged), "left by uninstall: %s", files(staged))
    check(not os.path.exists(os.path.join(staged, "usr/include/extprof")), "uninstall left include/extprof")

    header = os.path.join(at.prefix, "include", "extprof.h")
    with open(header) as f:
        declared = sorted(re.findall(r"^EXTPROF_API[^;(]*?\b(extprof_\w+)\(", f.read(), re.M))
    check(len(declared) > 20, "%s", declared)
    shared = os.path.join(at.library, "libextprof.so")
    for path, options in ((shared, ["-D"]), (os.path.join(at.library, "libextprof.a"), [])):
        check(exported(path, *options) == declared, "%s exports %s, and extprof.h declares %s", path,
              exported(path, *options), declared)
    dynamic = subprocess.run(["readelf", "-d", shared], check=True, stdout=subprocess.PIPE,
                             universal_newlines=True).stdout
    check("[libextprof.so.0.1]" in dynamic, "soname: %s", dynamic)
    return "%d files, %d functions" % (len(names), len(declared))


@case(timeout=60, bpf=False)
def header(ctx):
    """extprof.h alone, as C and as C++."""
    at = Installed(ctx)
    flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *at.pkg_config("--cflags")]
    for language, standard, suffix in (("c", "c99", "c"), ("c", "c11", "c"), ("c++", "c++11", "cc"),
                                       ("c++", "c++17", "cc")):
        source = ctx.write("use." + suffix, "#include <extprof.h>\nint main(void) { return !extprof_version(); }\n")
        native.run(tool("CLANG"), "-x", language, "-std=" + standard, *flags, source)
    return "c99, c11, c++11, c++17"


def burner(ctx):
    p = ctx.ruby(ctx.write("burner.rb", BURNER))
    p.expect("ready")
    return p


def check_stacks(ctx, out, path):
    """What examples/stacks.c printed about BURNER. How many samples."""
    lines = out.splitlines()
    sums = re.match(r"samples taken (\d+) = whole (\d+) \+ truncated 0 \+ lost 0$", lines[-1])
    check(sums and sums.group(1) == sums.group(2) and int(sums.group(1)) >= 50, "%s", lines[-1])
    total, stack, stacks = 0, None, []
    for line in lines[:-1]:
        if line.startswith("\t"):
            stack.append(line[1:])
        else:
            total += int(line)
            stack = []
            stacks.append(stack)
    check(total == int(sums.group(1)), "the stacks have %d samples, the account has %s", total, sums.group(1))
    # The while of run is all that is not in burn.
    outer = ["Worker#run %s:7" % path, "<main> %s:12" % path]
    # burn returns in the line of its end.
    allowed = [["Worker#burn %s:%d" % (path, line), *outer] for line in (3, 2, 4)] + [outer]
    check(allowed[0] in stacks, "no sample of the loop: %s", stacks)
    check(all(s in allowed for s in stacks), "stacks that cannot be: %s", [s for s in stacks if s not in allowed])
    return total


@case(timeout=120)
def stacks(ctx):
    """examples/stacks.c, with the shared and with the static library."""
    at = Installed(ctx)
    source = os.path.join(EXAMPLES, "stacks.c")
    with open(source) as f:
        check(len(f.readlines()) < 80, "stacks.c has 80 lines or more")
    ruby = burner(ctx)
    counts = []
    for static in (False, True):
        program = at.compile(ctx, source, static=static)
        p = ctx.start([program, ruby.pid], env={} if static else at.env)
        out, _ = p.communicate(60)
        check(p.p.returncode == 0, "stacks ended with status %d: %s", p.p.returncode, ctx.complaints())
        counts.append(check_stacks(ctx, out, ctx.path("burner.rb")))
    # It fails as it says.
    p = ctx.start([program, os.getpid()], stderr=subprocess.PIPE)
    _, err = p.communicate(30)
    check(p.p.returncode == 1 and "stacks: " in err, "status %d: %s", p.p.returncode, err)
    return "%d samples shared, %d static" % tuple(counts)


@case(timeout=120)
def from_ruby(ctx):
    """examples/profile.rb: the library from Ruby by Fiddle, with nothing compiled."""
    at = Installed(ctx)
    ruby = burner(ctx)
    script = os.path.join(EXAMPLES, "profile.rb")
    run = lambda *args: subprocess.run([harness.RUBY, script, *map(str, args)], env={**os.environ, **at.env}, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, universal_newlines=True, timeout=60)
    p = run(ruby.pid, "1s")
    check(p.returncode == 0, "status %d: %s", p.returncode, p.stderr)
    stacks = folded.parse(p.stdout)
    check(sum(s.count for s in stacks) >= 50 and all(s.labels()[0] == "<main>" for s in stacks), p.stdout)
    p = run(ruby.pid, "soon")
    check(p.returncode == 1 and "--duration: soon is no time" in p.stderr, "status %d: %s", p.returncode, p.stderr)
    p = run(os.getpid(), "1s")
    check(p.returncode == 1 and "not a ruby" in p.stderr, "status %d: %s", p.returncode, p.stderr)
    p = run(ruby.pid, "0.2", "nonsense")
    check(p.returncode == 1 and "nonsense is no format: folded, " in p.stderr, "status %d: %s", p.returncode, p.stderr)
    return "%d samples" % sum(s.count for s in stacks)


@case(timeout=120)
def samples(ctx):
    """examples/samples.c: each sleep that the program measures is one sample as it comes, with its stack, thread and label."""
    at = Installed(ctx)
    program = at.compile(ctx, os.path.join(EXAMPLES, "samples.c"))
    path = ctx.path("sleeper.rb")
    ruby = ctx.ruby("-I", harness.PROGRAMS, "-r", "trace_context", ctx.write("sleeper.rb", SLEEPER))
    napper, burning = map(int, ruby.line().split()[1:])
    p = ctx.start([program, ruby.pid, "2s", "cpu,offcpu"], env=at.env, stderr=subprocess.PIPE)
    out, err = p.communicate(60)
    check(p.p.returncode == 0, "status %d: %s", p.p.returncode, err)
    rows = [line.split("\t") for line in out.splitlines()]
    check(all(len(r) == 13 for r in rows) and re.search(r"^%d samples$" % len(rows), err, re.M), "%d rows: %s", len(rows), err)
    check(all(int(r[2]) == ruby.pid for r in rows), "another process")
    # Nobody reads: it ends.
    unread = ctx.start([program, ruby.pid, "60s"], env=at.env, stderr=subprocess.PIPE)
    unread.line()
    unread.p.stdout.close()
    check(unread.wait(30) in (1, -13), "status %s", unread.p.returncode)
    ruby.tell("end")
    times = list(map(int, ruby.line().split()))
    naps = list(zip(times[::2], times[1::2]))

    slept = [r for r in rows if r[0] == "offcpu" and r[5] == "sleep" and r[4] == "napper"]
    names = {tuple(re.sub(r" (/\S+)?:~?\d+$", "", f) for f in r[12].split(";")) for r in slept}
    check(names == {("block in <main>", "Napper#run", "Fiber.with_labels", "block in Napper#run", "Napper#nap", "Kernel#sleep",
                     "[sleep]")}, "%s", names)
    check(all("Napper#nap %s:2;" % path in r[12] for r in slept), "%s", slept[:3])
    check({(int(r[3]), r[9], r[7], r[10], r[11]) for r in slept} == {(napper, "job=nap", "ns", "c" * 32, "5" * 16)}, "%s", slept[:3])
    # The recording begins in one, and may end in one.  Ruby looks at the clock some us before its thread leaves the CPU.
    check(all(19_500_000 <= int(r[6]) for r in slept[1:-1]), "a sleep of 20 ms was shorter: %s", [int(r[6]) for r in slept])
    ends = [int(r[1]) for r in slept]
    inside = [n for n in naps if n[0] > ends[0] and n[1] < ends[-1]]
    check(len(inside) >= 5, "%d sleeps were measured meanwhile", len(inside))
    for begin, end in inside:
        check(sum(begin < t < end for t in ends) == 1, "of the sleep from %d to %d: %s", begin, end, ends)
    burnt = [r for r in rows if r[0] == "cpu" and r[4] == "burner"]
    check(burnt and all(int(r[3]) == burning and r[5] == "running" and r[9:12] == [""] * 3 and int(r[8]) == 1 for r in burnt), "%s", burnt[:3])
    check(any("Worker#burn %s:17" % path in r[12] for r in burnt), "no sample of the loop: %s", burnt[:3])
    # Of a process whose stacks cannot be read all are lost.
    case_fakes.build(ctx)
    fake = ctx.start([os.path.join(case_fakes.FAKES, "fake_target"), "bad-ec", "60"])
    case_fakes.begun(fake)
    out, lost = ctx.start([program, fake.pid, "1s"], env=at.env, stderr=subprocess.PIPE).communicate(60)
    said = re.findall(r"^(\d+) samples of fake_target \(%d\) were lost$" % fake.pid, lost, re.M)
    check(not out and sum(map(int, said)) >= 50 and "(%d) were lost" % ruby.pid not in lost, "%s, of the other one %s", lost, err)
    return "%d sleeps, each one sample; %d samples of the CPU; %s of a fake were lost" % (len(inside), len(burnt), sum(map(int, said)))


ALLOCATOR = """\
$stdout.puts "ready"
$stdout.flush
$stdin.gets
cycles, objects = GC.count, GC.stat(:total_allocated_objects)
5.times { 200_000.times { Object.new }; GC.start }
$stdout.puts "%d %d" % [GC.count - cycles, GC.stat(:total_allocated_objects) - objects]
$stdout.flush
$stdin.gets
"""


@case(timeout=120)
def figures_with_modes(ctx):
    """library/figures.c: figures and modes in one recording, of a program that counts its objects and collections."""
    at = Installed(ctx)
    program = at.compile(ctx, os.path.join(os.path.dirname(os.path.abspath(__file__)), "library", "figures.c"))
    ruby = ctx.ruby(ctx.write("allocator.rb", ALLOCATOR))
    ruby.expect("ready")
    p = ctx.start([program, ruby.pid], env=at.env, stderr=subprocess.PIPE)
    p.expect("begun")
    ruby.tell("go")
    cycles, objects = map(int, ruby.line().split())
    ruby.tell("end")
    out, err = p.communicate(60)
    check(p.p.returncode == 0, "status %d: %s", p.p.returncode, err)
    got = {line.split()[0]: list(map(int, line.split()[1:])) for line in out.splitlines()}
    check(got["gc_cycles.all"][0] == cycles, "%s collections, and the program counts %d", got["gc_cycles.all"], cycles)
    check(got["gc_pauses.count"][0] >= 5, "%s", got)
    deviation = 4 * got["allocations.objects_deviation"][0] + objects // 100
    check(abs(got["allocations.objects"][0] - objects) < deviation, "%s objects, and the program counts %d", got["allocations.objects"], objects)
    # Both have the same samples.
    check(got["alloc"] == [got["allocations.bytes"][0] + got["malloc.bytes"][0], 0], "%s", got)
    check(got["gc"][1] == got["cpu"][1] == 0 and 0 < got["gc"][0] < got["cpu"][0] <= got["cpu.total_ns"][0] * 1.2, "%s", got)
    faults = got["faults.minor"][0] + got["faults.major"][0]
    check(got["event"][1] == 0 and 0.9 * faults <= got["event"][0] <= 1.1 * faults, "%s page faults, and the kernel counts %d",
          got["event"], faults)
    return "%d collections, %d objects, %d page faults" % (cycles, objects, faults)


@case(timeout=120)
def open_stacks(ctx):
    """examples/open_stacks: its own BPF program. Each open() that the program says it did, and no other."""
    at = Installed(ctx)
    out = ctx.path("open_stacks")
    os.mkdir(out)
    tools = ["%s=%s" % (name, tool(name)) for name in ("CC", "CLANG", "BPFTOOL")]
    p = ctx.start(["make", "-s", "-C", os.path.join(EXAMPLES, "open_stacks"), "OUT=" + out, "CFLAGS=-Werror", *tools],
                  env=at.env)
    check(p.wait(60) == 0, "make: %s", ctx.complaints())
    ruby = ctx.ruby(ctx.write("opener.rb", OPENER))
    ruby.expect("ready")
    example = ctx.start([os.path.join(out, "open_stacks"), ruby.pid, 60], env=at.env)
    example.expect("attached")
    path = ctx.path("opener.rb")
    opened = ["File#initialize :0", "IO.open :0", "Opener#inner %s:2" % path]
    outer = [*opened, "Opener#outer %s:5" % path, "<main> %s:13" % path]
    each = [*opened, "block in <main> %s:14" % path, "Array#each :0", "<main> %s:14" % path]
    calls = {"outer": [outer], "each": [each, each], "nothing": []}
    count = 0
    for word in ("outer", "each", "nothing", "outer", "outer"):
        ruby.tell(word)
        ruby.expect("done")
        # Names are read while the process lives.
        for stack in calls[word]:
            example.expect("openat in thread %d" % ruby.pid)
            for frame in stack:
                example.expect("\t" + frame)
        count += len(calls[word])
    ruby.p.stdin.close()
    check(ruby.wait() == 0, "the ruby failed")
    text, _ = example.communicate(30)
    check(example.p.returncode == 0, "open_stacks: %s", ctx.complaints())
    # Nothing else was printed, and nothing was lost.
    check(text == "calls %d = whole %d + truncated 0 + lost 0\n" % (count, count), "%s", text)
    return "%d calls, 2 of them in a block" % count


@case(timeout=120)
def face(ctx):
    """library/face.c: errors, order of calls, the log, formats, two recordings at once, nothing left behind."""
    at = Installed(ctx)
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "library", "face.c")
    program = at.compile(ctx, source, "-pthread", "-I" + at.pkg_config("--variable=bpfincludedir")[0])
    ruby, other = burner(ctx), ctx.start(["sleep", "100"])
    idle = ctx.ruby(ctx.write("idle.rb", "$stdout.puts 'ready'\n$stdout.flush\nsleep\n"))
    idle.expect("ready")
    p = ctx.start([program, ruby.pid, other.pid, idle.pid], env=at.env)
    out, _ = p.communicate(100)
    lines = out.splitlines()
    total = TOTAL.match(lines[-1]) if lines else None
    check(total, "face printed no result: %s%s", out[-1500:], ctx.complaints())
    passed, failed = map(int, total.groups())
    check(p.p.returncode == (failed > 0) and passed > 50, "status %d: %s", p.p.returncode, lines[-1])
    said = [line for line in lines[:-1] if not line.startswith("ok ")]
    return harness.Counted(passed, failed, 0, "\n".join(["%d assertions" % (passed + failed), *said]))
