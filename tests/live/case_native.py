"""--native: functions of C extensions, between the methods that called them and those that they call. The extension's stacks
are known at every point."""
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time

import harness
import native
from case_graph import YJIT
from harness import USAGE, Counted, case, check

SOURCE = os.path.join(harness.PROGRAMS, "native_truth.c")
SWAPPED = os.path.join(harness.PROGRAMS, "library_swap.c")
FLAGS = ("-O2", "-fomit-frame-pointer", "-fPIC", "-shared", "-w")


def headers():
    """Where ruby.h and the headers of this machine are."""
    script = "require 'rbconfig'; puts RbConfig::CONFIG.values_at('rubyhdrdir', 'rubyarchhdrdir')"
    found = subprocess.run([harness.RUBY, "--disable=gems", "-e", script], stdout=subprocess.PIPE, universal_newlines=True,
                           check=True, env=harness.environment()).stdout.split()
    return ["-I" + d for d in found]


def extension(ctx, *flags, source=SOURCE):
    path = ctx.path(os.path.basename(source)[:-1] + "so")
    native.run(native.tool("CC"), *FLAGS, *flags, *headers(), "-o", path, source)
    return path


def text_of(said):
    with open(said, encoding="utf-8", errors="backslashreplace") as f:
        return f.read()


def started(ctx, *args, words=()):
    """An extprof that has read the rules of all files and has said these words, and where it writes what it says."""
    said = ctx.path("said")
    with open(said, "wb") as f:
        reader = ctx.extprof_start(*args, "-v", stderr=f)
    end = time.monotonic() + 30 * harness.PATIENCE
    while not all(w in text_of(said) for w in ("native code: the rules of", *words)):
        check(reader.p.poll() is None and time.monotonic() < end, "it has not read the rules: %s", text_of(said)[-500:])
        time.sleep(0.05)
    return reader, said


def watch(ctx, pid, *args):
    return started(ctx, "-p", pid, "--native", *args)


def end(reader, said, path):
    reader.signal(signal.SIGINT)
    out, _ = reader.communicate()
    profile = harness.Profile(reader.p.returncode, out, text_of(said), path).ok()
    check(profile.sums.balanced, "the sums are wrong: %s", profile.sums.text)
    return profile


class Truth:
    """The program, with an extprof that looks on from when it has read the unwind rules."""

    def __init__(self, ctx, *flags, ruby=(), change=None):
        self.ctx = ctx
        path = extension(ctx, *flags)
        if change:
            change(ctx, path)
        self.p = ctx.program("native_truth.rb", path, flags=ruby)
        if "--yjit-perf=map" in ruby:
            self.p.line()  # where its map is
        self.p.expect("ready")

    def profile(self, what, seconds=1.5, rate=2000, *args):
        out = self.ctx.path("out.folded")
        reader, said = watch(self.ctx, self.p.pid, "-F", harness.rate(rate), *args, "-o", out)
        self.p.tell("%s %f" % (what, seconds))
        self.p.line()
        return end(reader, said, out)


def below(profile, method):
    """The stacks below Object#METHOD: lists of labels, and counts."""
    found = []
    for s in profile.stacks:
        labels = s.labels() + ([s.gc] if s.gc else [])
        if "Object#" + method in labels:
            found.append((labels[labels.index("Object#" + method) + 1:], s.count))
    return found


def is_part(labels, truth):
    """Is the stack one on the way to the whole one? What the VM does by itself, between and at the end, is where it is."""
    for i, label in enumerate(labels):
        by_itself = label == "[vm]" and i + 1 < len(labels) and labels[i + 1] not in truth  # as YJIT's mprotect()
        # The entry by which a function calls one of another library has no name.
        in_plt = label == "[native_truth.so]" and i == len(labels) - 1
        # Where the interpreter's own setjmp() is libc's, as on aarch64.
        in_setjmp = platform.machine() == "aarch64" and label in ("_setjmp", "[libc.so.6]") and i == len(labels) - 1
        if label.startswith(("[GC", "[ld-linux")) or label == "[YJIT compile]" or by_itself or in_plt or in_setjmp:
            labels = labels[:i]
            break
    labels = [l for l in labels if l != "[vm]"]
    return labels == truth[:len(labels)]


def is_marked(labels):
    return any("[truncated:" in l or "left out]" in l for l in labels)


def compare(ctx, what, truth, flags=(), ruby=(), least=0.9, change=None, args=(), rate=2000):
    """All stacks below the method are parts of the known one, and most of them are all of it."""
    t = Truth(ctx, *flags, ruby=ruby, change=change)
    profile = t.profile(what, 1.5, rate, *args)
    stacks = below(profile, what)
    total = sum(n for _, n in stacks)
    marked = sum(n for labels, n in stacks if is_marked(labels))
    wrong = [(labels, n) for labels, n in stacks if not is_marked(labels) and not is_part(labels, truth)]
    whole = sum(n for labels, n in stacks if [l for l in labels if l != "[vm]"] == truth)
    check(total > 50, "only %d samples are below %s", total, what)
    # Also a sample in libc or in another function of the VM's library has these callers.
    check(not wrong, "%d of %d stacks are wrong: %s; the truth is %s", sum(n for _, n in wrong), total, wrong and wrong[0], truth)
    check(marked <= 0.005 * total, "%d of %d stacks are not whole: %s", marked, total, [s for s in stacks if is_marked(s[0])][:1])
    check(whole >= least * total, "%d of %d samples have the whole stack: %s", whole, total, truth)
    return "%d samples: 0 wrong, %d with all functions, %d marked" % (total, whole, marked)


CHAIN = ["Truth.chain", "ext_chain", "chain_1", "chain_2", "chain_3", "chain_4", "chain_5", "burn"]


@case(timeout=90)
def chain(ctx):
    return compare(ctx, "chain", CHAIN)


@case(timeout=90)
def chain_yjit(ctx):
    return compare(ctx, "chain", CHAIN, ruby=YJIT)


@case(timeout=90)
def chain_cet(ctx):
    return compare(ctx, "chain", CHAIN, flags=("-fcf-protection=full",))


PINGS = ["Truth.ping", "ext_ping", "call_pong", "Truth.pong"] * 5 + ["Truth.ping", "ext_ping", "burn"]


@case(timeout=90)
def five_deep(ctx):
    """C, Ruby, C, Ruby, ... five deep."""
    return compare(ctx, "pings", PINGS)


@case(timeout=90)
def five_deep_yjit(ctx):
    return compare(ctx, "pings", PINGS, ruby=YJIT)


STATIC = """#include <ruby.h>
void Init_native_truth(void);
int main(int argc, char **argv)
{
	ruby_sysinit(&argc, &argv);
	RUBY_INIT_STACK;
	ruby_init();
	Init_native_truth();
	return ruby_run_node(ruby_options(argc, argv));
}
"""


@case(timeout=90)
def static_executable(ctx):
    """A program that has ruby, the C library and the extension in it, without a table of its functions. All of it is one file, so the
    extension is a part of the VM: --native-vm shows its functions."""
    said = subprocess.run([harness.RUBY, "-e", "c = RbConfig::CONFIG; puts c['libdir'] + '/' + c['LIBRUBY_A'], c['MAINLIBS']"],
                          stdout=subprocess.PIPE, text=True, check=True, env=harness.environment()).stdout.splitlines()
    program = ctx.path("static")
    link = subprocess.run([native.tool("CC"), "-O2", "-g", "-fomit-frame-pointer", "-static", *headers(), "-o", program,
                           ctx.write("main.c", STATIC), SOURCE, *said[0].split(), *said[1].split()], stderr=subprocess.PIPE, text=True)
    check(link.returncode == 0, "%s", link.stderr[-600:])
    with open(os.path.join(harness.PROGRAMS, "native_truth.rb"), encoding="utf-8") as f:
        script = ctx.write("truth.rb", f.read().replace("require ARGV[0]\n", ""))
    t = Truth.__new__(Truth)
    t.ctx, t.p = ctx, ctx.start([program, "--disable=gems", script, "x"])
    t.p.expect("ready")
    told = []
    for what, truth in (("chain", CHAIN), ("pings", PINGS)):
        stacks = below(t.profile(what, 1.5, 1000, "--native-vm"), what)
        total, marked = sum(n for _, n in stacks), sum(n for labels, n in stacks if is_marked(labels))
        ours = [([l for l in labels if l in truth], n) for labels, n in stacks if not is_marked(labels)]
        whole = sum(n for labels, n in ours if labels == truth)
        wrong = [labels for labels, _ in stacks if not is_marked(labels) and [l for l in labels if l in truth] != truth[:len([l for l in labels if l in truth])]]
        check(total > 100 and not wrong, "%d samples, wrong: %s", total, wrong[:1])
        check(marked <= 0.005 * total and whole >= 0.9 * total, "%d whole, %d marked of %d", whole, marked, total)
        told.append("%s: %d of %d whole, %d marked" % (what, whole, total, marked))
    return "; ".join(told)


def functions_of_the_vm():
    """Names of the program's own functions, as extprof shows them."""
    program = subprocess.run([harness.RUBY, "-e", "puts File.readlink('/proc/self/exe')"], stdout=subprocess.PIPE, text=True, check=True,
                             env=harness.environment()).stdout.strip()
    said = subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {re.sub(r"\.(part|cold|isra|constprop|lto_priv).*", "", line.split()[-1]) for line in said.splitlines() if line.split()[-2] in "tTwW"}


@case(timeout=90)
def functions_of_the_vm_too(ctx):
    """--native-vm: without the VM's own functions the stacks are those of --native, and each Ruby method is run by one of vm_exec()."""
    t, own = Truth(ctx), functions_of_the_vm()
    profile = t.profile("pings", 1.5, 2000, "--native-vm")
    total = whole = 0
    for labels, n in below(profile, "pings"):
        if is_marked(labels):
            continue
        total += n
        short = [l for l in labels if re.sub(r"\.(part|cold|isra|constprop|lto_priv).*", "", l) not in own]
        check(is_part(short, PINGS) and "[vm]" not in labels, "%s is not a part of %s: %s", short, PINGS, labels)
        whole += n * (short == PINGS)
        for i, label in enumerate(labels):
            # The method's frame is there some instructions before vm_exec() is called, by the function that pushed it.
            pushed = i == len(labels) - 1 and labels[i - 1] in own
            if label == "Truth.pong" and not pushed:
                check("vm_exec" in labels[i - 1], "%s is not run by vm_exec(): %s", label, labels)
            if label == "ext_ping":
                check(labels[i - 1] == "Truth.ping" and labels[i - 2] in own, "%s", labels)
    check(total > 50 and whole >= 0.9 * total, "%d of %d are whole: %s", whole, total, below(profile, "pings")[:2])
    before = [s.labels() for s in profile.stacks if "Object#pings" in s.labels()]
    check(all("main" in l and l.index("main") < l.index("<main>") for l in before if not is_marked(l)), "%s", before[:1])
    return "%d of %d stacks are whole" % (whole, total)


@case(timeout=90)
def direct(ctx):
    """A method in C calls another one, without Ruby code between."""
    return compare(ctx, "direct", ["Truth.direct", "ext_direct"] + CHAIN)


@case(timeout=90)
def frames(ctx):
    """Frames of a size that is known when they run, and aligned ones."""
    return compare(ctx, "frames", ["Truth.frames", "ext_frames", "variable", "aligned", "burn"])


@case(timeout=90)
def shares(ctx):
    t = Truth(ctx)
    stacks = below(t.profile("shares", 2), "shares")
    heavy = sum(n for labels, n in stacks if "heavy" in labels)
    light = sum(n for labels, n in stacks if "light" in labels)
    share = 100 * heavy / (heavy + light)
    check(abs(share - 75) < 4, "%.1f %% where 75 %% is right", share)
    return "%.1f %% of %d, and 75 %% is right" % (share, heavy + light)


@case(timeout=90)
def stripped(ctx):
    """Without names the functions are those of the file; their number is right."""
    t = Truth(ctx, "-s")
    stacks = below(t.profile("chain"), "chain")
    right = sum(n for labels, n in stacks if labels == ["Truth.chain"] + 7 * ["[native_truth.so]"])
    total = sum(n for _, n in stacks)
    check(total > 50 and right >= 0.9 * total, "%d of %d stacks have 7 functions", right, total)
    return "%d of %d stacks have 7 functions" % (right, total)


def strip_to(path, packed):
    """Strip the file of all that it does without, and give it a section with these bytes."""
    with open(path + ".section", "wb") as f:
        f.write(packed)
    native.run("strip", "--strip-all", path)
    native.run("objcopy", "--add-section", ".gnu_debugdata=" + path + ".section", path)
    check("no symbols" in subprocess.run(["nm", path], capture_output=True, text=True).stderr, "it has symbols yet")


def mini_debug(path, *xz):
    """What distributions put into .gnu_debugdata: a file with the functions that are not in .dynsym."""
    def functions(*option):
        said = subprocess.run(["nm", *option, "--defined-only", "--format=posix", path], stdout=subprocess.PIPE, text=True, check=True)
        return {line.split()[0] for line in said.stdout.splitlines() if line.split()[1] in "tTiW"}
    with open(path + ".names", "w", encoding="utf-8") as f:
        f.writelines(name + "\n" for name in functions() - functions("--dynamic"))
    native.run("objcopy", "--only-keep-debug", path, path + ".debug")
    native.run("objcopy", "--strip-all", "--remove-section", ".comment", "--keep-symbols", path + ".names", path + ".debug")
    with open(path + ".debug", "rb") as f:
        return subprocess.run(["xz", *xz], stdin=f, stdout=subprocess.PIPE, check=True).stdout


def has_liblzma():
    with open(harness.EXTPROF, "rb") as f:
        return b"liblzma.so" in f.read()


@case(timeout=90)
def names_in_gnu_debugdata(ctx):
    """A stripped file that has its symbols in .gnu_debugdata has the names of one that is not stripped."""
    if not has_liblzma() or not shutil.which("xz"):
        return Counted(0, 0, 1, "extprof was built without liblzma, or there is no xz")
    def change(_, path):
        # The largest dictionary.
        strip_to(path, mini_debug(path, "-9"))
    return compare(ctx, "chain", CHAIN, change=change)


@case(timeout=90)
def damaged_gnu_debugdata(ctx):
    """One that is cut off, one that is no file, and one that stands for 256 MiB: names are missing, and nothing else."""
    if not has_liblzma() or not shutil.which("xz"):
        return Counted(0, 0, 1, "extprof was built without liblzma, or there is no xz")
    said = []
    def cut(_, path):
        strip_to(path, mini_debug(path)[:-200])
    def bomb(_, path):
        head = subprocess.run("head -c 256M /dev/zero | xz -1", shell=True, stdout=subprocess.PIPE, check=True).stdout
        check(len(head) < 1 << 20, "it has %d bytes", len(head))
        strip_to(path, head)
    def noise(_, path):
        strip_to(path, subprocess.run(["xz"], input=os.urandom(65536), stdout=subprocess.PIPE, check=True).stdout)
    for change in (cut, bomb, noise):
        t = Truth(ctx, change=change)
        stacks = below(t.profile("chain"), "chain")
        right = sum(n for labels, n in stacks if labels == ["Truth.chain"] + 7 * ["[native_truth.so]"])
        total = sum(n for _, n in stacks)
        check(total > 50 and right >= 0.9 * total, "%s: %d of %d stacks have 7 functions", change.__name__, right, total)
        said.append("%s %d of %d" % (change.__name__, right, total))
        t.p.kill()
    return ", ".join(said)


@case(timeout=90)
def files_in_pprof(ctx):
    """go tool pprof knows in which file each function is: what it finds by a file's name is what is in that file's functions."""
    if not shutil.which("go"):
        return Counted(0, 0, 1, "there is no go, which has `go tool pprof`")
    t = Truth(ctx)
    pprof = ctx.path("out.pprof")
    profile = t.profile("chain", 1.5, 2000, "--kernel", "-o", pprof)
    run = subprocess.run(["go", "tool", "pprof", "-top", "-focus=native_truth.so$", "-sample_index=samples", "-unit=count",
                          "-nodecount=0", "-nodefraction=0", "-edgefraction=0", pprof],
                         capture_output=True, timeout=60, text=True, check=True)
    found = re.search(r"accounting for (\d+), [\d.]+% of (\d+) total", run.stdout)
    truth = sum(s.count for s in profile.stacks if "ext_chain" in s.labels())
    total = sum(s.count for s in profile.stacks)
    check(found and (int(found.group(1)), int(found.group(2))) == (truth, total) and 100 < truth < total,
          "%d of %d samples are in the file: %s %s", truth, total, run.stdout[-500:], run.stderr[-300:])
    return "%d of %d samples are in native_truth.so" % (truth, total)


def libstdcxx():
    """The library whose function reads names of C++ in extprof. It has no path where there is no such library."""
    said = subprocess.run([native.tool("CC"), "-print-file-name=libstdc++.a"], stdout=subprocess.PIPE, universal_newlines=True, check=True)
    return said.stdout.strip()


def of_cxx(ctx, method, code):
    """[(labels, samples)] below a method that calls the extension in C++; None: there is no compiler for it."""
    cxx = shutil.which(os.environ.get("CXX", "c++"))
    if not cxx or not os.path.isabs(libstdcxx()):
        return None
    path = ctx.path("native_cxx.so")
    native.run(cxx, *FLAGS, *headers(), "-o", path, os.path.join(harness.PROGRAMS, "native_cxx.cc"))
    p = ctx.ruby("-e", "require ARGV[0]; $stdout.sync = true; def Cxx.between(n) = inner(n); def %s = %s; puts 'ready'; $stdin.gets; "
                       "t = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 1; "
                       "%s while Process.clock_gettime(Process::CLOCK_MONOTONIC) < t; puts 'done'" % (method, code, method), path)
    p.expect("ready")
    out = ctx.path("out.folded")
    reader, said = watch(ctx, p.pid, "-F", harness.rate(2000), "-o", out)
    p.tell("go")
    p.line()
    return below(end(reader, said, out), method)


@case(timeout=90)
def names_of_cxx(ctx):
    """As they are written in the program, if extprof was built where there is a compiler for C++."""
    stacks = of_cxx(ctx, "runs", "Cxx.run(200)")
    if stacks is None:
        return "not tested: there is no compiler for C++"
    truth = ["Cxx.run", "ext_run(unsigned long, unsigned long)", "truth::(anonymous namespace)::Inner::operator()(char const*) const",
             "truth::Worker<long>::run(long)"]
    right, total = sum(n for labels, n in stacks if labels == truth), sum(n for _, n in stacks)
    check(total > 50 and right >= 0.9 * total, "%d of %d are %s: %s", right, total, truth, stacks[:2])
    return "%d of %d: %s" % (right, total, truth[-2])


@case(timeout=90)
def exceptions_of_cxx(ctx):
    """They are thrown and caught below Ruby code, raised through it, and thrown again above: before, in the handlers, and after."""
    stacks = of_cxx(ctx, "throws", "Cxx.outer(100)")
    if stacks is None:
        return "not tested: there is no compiler for C++"
    burn = "truth::Worker<long>::run(long)"
    outer = ["Cxx.outer", "ext_outer(unsigned long, unsigned long)"]
    inner = outer + ["call_ruby(unsigned long)", "Cxx.between", "Cxx.inner", "ext_inner(unsigned long, unsigned long)"]
    truths = [inner + ["thrower(long)", burn], inner + ["caught(long)", burn], outer + ["after(long)", burn]]
    known = set(sum(truths, []))
    counts, total, marked = [0, 0, 0], 0, 0
    for labels, n in stacks:
        total += n
        marked += n * is_marked(labels)
        # What the exceptions themselves run in libstdc++, libgcc and the VM is within these.
        ours = [l for l in (label.replace(" [clone .cold]", "") for label in labels) if l in known]
        check(is_marked(labels) or any(ours == truth[:len(ours)] for truth in truths), "%s", labels)
        for i, truth in enumerate(truths):
            counts[i] += n * (ours == truth)
    check(total > 100 and marked <= 0.02 * total, "%d of %d are marked: %s", marked, total, [s for s in stacks if is_marked(s[0])][:2])
    check(all(0.2 * total < c < 0.45 * total for c in counts), "%s of %d are whole", counts, total)
    return "%d, %d and %d of %d: in what throws, in its handler, in that of the caller; %d marked" % (*counts, total, marked)


RUST = """#include <ruby.h>
void newer(long n) __asm__("_RNvXs2_NtCs7_4core3fmtINtNtCs8_5alloc3vec3VechENtB5_5Debug3fmt");
void older(long n) __asm__("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE");
__attribute__((noipa)) void older(long n)
{
	for (long i = 0; i < n * 1000; i++)
		__asm__ volatile("" : "+r"(i));
}
__attribute__((noipa)) void newer(long n) { older(n); __asm__ volatile("" ::: "memory"); }
static VALUE ext_run(VALUE self, VALUE n) { newer(NUM2LONG(n)); __asm__ volatile("" ::: "memory"); return self; }
void Init_rust(void) { rb_define_singleton_method(rb_define_module("Rust"), "run", ext_run, 1); }
"""


def rust(ctx, *options):
    """The functions below the method, in a run with these options."""
    path = extension(ctx, source=ctx.write("rust.c", RUST))
    p = ctx.ruby("-e", "require ARGV[0]; $stdout.sync = true; def runs = Rust.run(200); puts 'ready'; $stdin.gets; "
                       "t = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 1; "
                       "runs while Process.clock_gettime(Process::CLOCK_MONOTONIC) < t; puts 'done'", path)
    p.expect("ready")
    out = ctx.path("out.folded")
    reader, said = watch(ctx, p.pid, "-F", harness.rate(2000), *options, "-o", out)
    p.tell("go")
    p.line()
    stacks = below(end(reader, said, out), "runs")
    p.kill()
    check(stacks, "no sample is below the method")
    return max(stacks, key=lambda s: s[1])[0]


@case(timeout=90)
def names_of_rust(ctx):
    """Both forms, as they are written in the program, and as they are in the file with --no-demangle."""
    found = rust(ctx, "--no-demangle")
    check(found == ["Rust.run", "ext_run", "_RNvXs2_NtCs7_4core3fmtINtNtCs8_5alloc3vec3VechENtB5_5Debug3fmt",
                    "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE"], "%s", found)
    found = rust(ctx)
    check(found[:3] == ["Rust.run", "ext_run", "<alloc::vec::Vec<u8> as core::fmt::Debug>::fmt"], "%s", found)
    cxx = os.path.isabs(libstdcxx())
    check(found[3:] == ["core::fmt::Formatter::write_str" if cxx else "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE"],
          "%s", found)
    return found[2]


class PerfMap:
    """A program with functions in memory of no file, and the map of them at the place where JITs write theirs."""

    def __init__(self, ctx, *args, prefix=()):
        self.ctx = ctx
        program = [harness.RUBY, "--disable=gems", "-W0", os.path.join(harness.PROGRAMS, "perf_map.rb"), *args]
        self.p = ctx.start([*prefix, *program])
        self.pid = self.p.pid
        self.paths = []
        self.ready()

    def ready(self):
        self.heavy, self.light, self.size, inner = self.p.line().split()[1:]
        self.path = "/tmp/perf-%s.map" % inner
        self.paths.append(self.path)
        self.right = "%s %s jit_heavy\n%s %s LazyCompile:~jit light\n" % (self.heavy, self.size, self.light, self.size)

    def __enter__(self):
        return self

    def write(self, text, mode="w"):
        with open(self.path, mode, encoding="utf-8") as f:
            f.write(text)

    def __exit__(self, *_):
        self.p.kill()
        for path in self.paths:
            if os.path.lexists(path):
                os.unlink(path)

    def run(self, seconds):
        self.p.tell(str(seconds))
        self.p.line()

    def leaves(self, *args, seconds=1.5, work=None):
        """How many samples each function of the JIT has, by its name and its caller."""
        out = self.ctx.path("out.folded")
        reader, said = watch(self.ctx, self.pid, "-F", harness.rate(2000), *args, "-o", out)
        (work or self.run)(seconds)
        return self.found(end(reader, said, out))

    def found(self, profile):
        found = {}
        self.profile = profile
        for s in profile.stacks:
            labels = s.labels()
            for caller in ("heavy_one", "light_one"):
                mark = "[truncated: native code in no file]", "[truncated: a native function without unwind rules]"
                if any(caller in l for l in labels) and any(m in labels for m in mark):
                    key = caller, labels[-1]
                    found[key] = found.get(key, 0) + s.count
        return found

    def names(self):
        """All that the last profile shows, but for Ruby's own."""
        return {l for s in self.profile.stacks for l in s.labels()}


NO_NAMES = {("heavy_one", "[native code in no file]"), ("light_one", "[native code in no file]")}
BOTH_NAMES = {("heavy_one", "jit_heavy"), ("light_one", "LazyCompile:~jit light")}
# All that a process can have mapped.
EVERYTHING = "1000 7ffffffff000 everything\n"


@case(timeout=90)
def perf_map(ctx):
    """Functions of a JIT have the names of its map, also those that it adds later; their shares are those of the program."""
    with PerfMap(ctx) as m:
        # An address that was used before has the name that came last; a line that is being written is none yet.
        m.write("%s %s gone\n" % (m.heavy, m.size) + m.right + "# no function\n1 1\n%s 20 half" % m.light)
        found = m.leaves()
        heavy, light = found.pop(("heavy_one", "jit_heavy"), 0), found.pop(("light_one", "LazyCompile:~jit light"), 0)
        check(heavy + light > 500 and not found, "%d, %d, others: %s", heavy, light, found)
        # One standard deviation of the share is 0.01.
        share = heavy / (heavy + light)
        check(abs(share - 2 / 3) < 0.06, "the share of the one that has two thirds is %.3f", share)
        m.p.tell("1")
        dump = ctx.extprof("dump", "-n", "-p", m.p.pid)
        check(dump.status == 0 and re.search(r"jit_heavy|LazyCompile:~jit light", dump.out), "%s %s", dump.out[-800:], dump.err[-300:])
        return "%d and %d samples, %.1f %% of 66.7 %%" % (heavy, light, 100 * share)


def all_named(profile):
    """The names of what heavy_one called: it has its own in all samples."""
    names = {s.labels()[-1] for s in profile.stacks if "heavy_one" in str(s.labels())}
    check("jit_heavy" in names and "[native code in no file]" not in names, "%s", names)
    return ", ".join(sorted(names))


@case(timeout=90)
def perf_map_comes_late(ctx):
    """The program writes its map while it is recorded."""
    with PerfMap(ctx) as m:
        out = ctx.path("out.folded")
        reader, said = watch(ctx, m.p.pid, "-F", harness.rate(2000), "-o", out)
        m.p.tell("1")
        m.p.line()
        m.write(m.right)
        m.p.tell("0.5")
        m.p.line()
        return all_named(end(reader, said, out))


@case(timeout=90)
def perf_map_of_a_process_that_ended(ctx):
    """What was read while it ran stays."""
    with PerfMap(ctx) as m:
        m.write(m.right)
        out = ctx.path("out.folded")
        reader, said = watch(ctx, m.p.pid, "-F", harness.rate(2000), "-o", out)
        m.p.tell("1.5")
        m.p.line()
        m.p.kill()
        os.unlink(m.path)
        return all_named(end(reader, said, out))


@case(timeout=90)
def perf_map_names_code_of_files(ctx):
    """A map that says that it has all addresses has those of no file; and a file that is no program has the names of its map."""
    with PerfMap(ctx) as m:
        m.write(EVERYTHING + "%s %s jit_heavy\n" % (m.heavy, m.size))
        found = m.leaves()
        check(set(found) == {("heavy_one", "jit_heavy"), ("light_one", "everything")} and sum(found.values()) > 300, "%s", found)
        wrong = [s.labels() for s in m.profile.stacks if "everything" in s.labels() and not any("light_one" in l for l in s.labels())]
        check(not wrong, "%s", wrong[:3])
    with PerfMap(ctx, ctx.path("code")) as m:
        m.write(m.right)
        in_file = m.leaves()
        check(set(in_file) == BOTH_NAMES and sum(in_file.values()) > 300, "%s", in_file)
    return "%s; in a file %s" % (found, in_file)


@case(timeout=90)
def perf_map_that_was_left_over(ctx):
    """One of an earlier process with that pid has no names, also if this process writes into it; a new one has."""
    inside = ctx.path("inside")
    os.mkdir(inside, 0o777)
    # The process has a pid that is known before.
    path = os.path.join(inside, "perf-1.map")
    with open(path, "w", encoding="utf-8") as f:
        f.write(EVERYTHING)
    time.sleep(0.1)  # a file has the time of the kernel's last tick, and is to be older than the process
    with in_namespace(ctx, inside) as m:
        found = m.leaves(seconds=0.7)
        check(set(found) == NO_NAMES and sum(found.values()) > 100, "%s", found)
        m.write(m.right, mode="a")
        found = m.leaves(seconds=0.7)
        if knows_birth(path):
            check(set(found) == NO_NAMES and sum(found.values()) > 100, "%s", found)
        os.unlink(path)
        m.write(m.right)
        found = m.leaves(seconds=0.7)
        check(set(found) == BOTH_NAMES, "%s", found)
    return "%s" % found


def knows_birth(path):
    """Whether the file system has the times at which files were made."""
    return subprocess.run(["stat", "-c", "%W", path], stdout=subprocess.PIPE, check=True).stdout.strip() not in (b"0", b"-1")


def in_namespace(ctx, inside):
    """The process has pid 1 in its own namespace, and `inside` is its /tmp."""
    shell = 'mount --bind "$0" /tmp && exec "$@"'
    m = PerfMap(ctx, prefix=("unshare", "-p", "-m", "-f", "--mount-proc", "--kill-child", "sh", "-c", shell, inside))
    with open("/proc/%d/task/%d/children" % (m.p.pid, m.p.pid), encoding="ascii") as f:
        m.pid = int(f.read().split()[0])
    check(m.path == "/tmp/perf-1.map", "it has the number of %s", m.path)
    m.path = os.path.join(inside, "perf-1.map")
    m.paths = [m.path]
    return m


@case(timeout=90)
def perf_map_before_an_exec(ctx):
    """The map of the program that ran before is not that of the next one, until that has written it."""
    with PerfMap(ctx) as m:
        m.write(EVERYTHING + m.right)
        def execute(seconds):
            m.run(0.5)
            m.p.tell("exec")
            m.ready()
            # Until it is followed.
            harness.until(lambda: text_of(ctx.path("said")).count("it is measured") >= 2, "the new program is not measured")
            m.run(seconds)
        found = m.leaves(work=execute)
        # Both programs have functions of that name: what is named was named of the first one.
        named = sum(n for (_, name), n in found.items() if "no file" not in name)
        rest = sum(n for (_, name), n in found.items() if "no file" in name)
        check(set(found) <= BOTH_NAMES | NO_NAMES and 50 < named < 0.5 * rest, "%s", found)
        m.write(m.right)
        again = m.leaves(seconds=0.7)
        check(set(again) == BOTH_NAMES, "%s", again)
    return "%s; then %s" % (found, again)


@case(timeout=90)
def perf_map_of_a_child(ctx):
    """A child of fork has its own map, and not that of its parent."""
    with PerfMap(ctx) as m:
        m.write(EVERYTHING + m.right)
        m.p.tell("fork")
        m.pid = int(m.p.line().split()[1])
        found = m.leaves(seconds=0.7)
        check(set(found) == NO_NAMES and sum(found.values()) > 100, "%s", found)
        m.path = "/tmp/perf-%d.map" % m.pid
        m.paths.append(m.path)
        m.write(m.right)
        found = m.leaves(seconds=0.7)
        check(set(found) == BOTH_NAMES, "%s", found)
    return "%s" % found


@case(timeout=90)
def perf_map_in_a_namespace(ctx):
    """The number in the map's name is the one that the process has itself, and /tmp is the one that it sees."""
    inside = ctx.path("inside")
    os.mkdir(inside, 0o777)
    with in_namespace(ctx, inside) as m:
        m.paths.append("/tmp/perf-%d.map" % m.pid)
        with open(m.paths[1], "w", encoding="utf-8") as f:
            f.write(EVERYTHING)
        found = m.leaves(seconds=0.7)
        check(set(found) == NO_NAMES and sum(found.values()) > 100, "%s", found)
        m.write(m.right)
        found = m.leaves(seconds=0.7)
        check(set(found) == BOTH_NAMES, "%s", found)
    return "%s" % found


@case(timeout=90)
def perf_map_of_memory_used_again(ctx):
    """Other code at the same place: no sample has the name that was there before."""
    with PerfMap(ctx) as m:
        m.write(m.right)
        def change(seconds):
            m.run(seconds)
            m.write("%s %s jit_new\n" % (m.heavy, m.size), mode="a")
            m.run(2 * seconds)
        found = m.leaves(work=change)
        heavy = {name: n for (caller, name), n in found.items() if caller == "heavy_one"}
        total = sum(heavy.values())
        # The new code has run for two thirds of the time, and nobody knows when it came between two readings.
        # An instruction that had samples before the first reading alone, some ms long, rightly has the first name.
        first = heavy.pop("jit_heavy", 0)
        check(first <= 0.02 * total, "%d samples of %d have the first name: %s", first, total, found)
        check(set(heavy) <= {"jit_new", "[native code in no file]"} and 0.2 * total < heavy.get("jit_new", 0) < 0.72 * total, "%s", found)
        check(found.get(("light_one", "LazyCompile:~jit light"), 0) > 50, "%s", found)
    return "%s" % found


@case(timeout=90)
def perf_map_of_two_functions(ctx):
    """One reading finds two functions at an address: no sample from before has the name of the second one."""
    with PerfMap(ctx) as m:
        def change(seconds):
            m.run(seconds)
            m.write("%s %s jit_old\n%s %s jit_new\n" % (m.heavy, m.size, m.heavy, m.size))
            m.run(seconds)
        found = m.leaves(work=change)
        heavy = {name: n for (caller, name), n in found.items() if caller == "heavy_one"}
        total = sum(heavy.values())
        check(set(heavy) <= {"jit_new", "[native code in no file]"} and 0.15 * total < heavy.get("jit_new", 0) < 0.58 * total, "%s", found)
    return "%s" % found


@case(timeout=90)
def perf_map_in_a_recording(ctx):
    """Names are in the module [jit], with an address, and `redact` treats the paths in them; what has no name has no address."""
    with PerfMap(ctx) as m:
        m.write("%s %s LazyCompile:*heavy /srv/hidden_folder/page.js:12\n" % (m.heavy, m.size))
        path, copy = ctx.path("jit.extprof"), ctx.path("copy.extprof")
        reader = ctx.extprof_start("record", "-p", m.pid, "--native", "-d", "2", "-o", path)
        m.run(3)
        done = ctx.profile_of(reader)
        check(done.status == 0, "%s", done.err)
        rows = {}
        for file in (path, copy):
            if file == copy:
                run = ctx.extprof("redact", path, "-o", copy, "--what", "paths")
                check(run.status == 0, "%s", run.err)
            run = ctx.extprof("sql", file, "SELECT n.text, m.text, f.address FROM frames f JOIN strings n ON n.id=f.name "
                              "LEFT JOIN strings m ON m.id=f.module WHERE n.text LIKE 'LazyCompile%' OR n.text='native code in no file'")
            check(run.status == 0, "%s", run.err)
            rows[file] = run.out
        check("/srv/hidden_folder/page.js:12" in rows[path] and "[jit]" in rows[path], "%s", rows[path])
        check("LazyCompile:*heavy /redacted/" in rows[copy] and "/page.js:12" in rows[copy], "%s", rows[copy])
        with open(copy, "rb") as f:
            check(b"hidden_folder" not in f.read(), "the folder is left")
        for line in rows[path].splitlines():
            if "page.js" in line:
                check(any(int(m.heavy, 16) <= int(n) < int(m.heavy, 16) + int(m.size, 16) for n in re.findall(r"\d+", line)), "%s", line)
            if "in no file" in line:
                check(not re.search(r"[1-9]\d{5}", line) and "[jit]" not in line, "%s", line)
        return rows[copy].strip().splitlines()[-1]


@case(timeout=90)
def perf_map_of_yjit(ctx):
    """What YJIT writes of its own code is not taken: that has Ruby frames."""
    t = Truth(ctx, ruby=[*YJIT, "--yjit-perf=map"])
    path = "/tmp/perf-%d.map" % t.p.pid
    try:
        profile = t.profile("chain")
        with open(path, encoding="utf-8") as f:
            names = {line.rstrip("\n").split(" ", 2)[2] for line in f}
    finally:
        t.p.kill()
        if os.path.exists(path):
            os.unlink(path)
    # Of 3.4 those of its instructions, of 3.3 those of methods.
    check(len(names) >= 3, "YJIT has written %d names", len(names))
    found = {l for s in profile.stacks for l in s.labels() if l in names}
    check(not found, "of YJIT's map: %s", found)
    stacks = below(profile, "chain")
    right, total = sum(n for labels, n in stacks if [l for l in labels if l != "[vm]"] == CHAIN), sum(n for _, n in stacks)
    check(total > 50 and right >= 0.9 * total, "%d of %d stacks are whole", right, total)
    return "%d names in the map; %d of %d stacks are whole" % (len(names), right, total)


@case(timeout=90)
def hostile_perf_maps(ctx):
    """A link, a file of another user, one of too many lines, one of lies, a directory: names are missing, and nothing else."""
    with PerfMap(ctx) as m:
        elsewhere = ctx.write("elsewhere.map", m.right)
        def link():
            os.symlink(elsewhere, m.path)
        def of_another():
            m.write(m.right)
            os.chown(m.path, 65534, 65534)
        def many():
            m.write(m.right + "1 1 a\n" * (600 << 10))
        def directory():
            os.mkdir(m.path)
        def fifo():
            os.mkfifo(m.path)
        def lies():
            m.write("%s ffffffffffffffff lie\n-1 5 lie\n%s 0 lie\n%s\n0x 1 lie\n11111111111111111 1 lie\n%s\n%s 9 a\0b\n" %
                    (m.heavy, m.heavy, m.heavy, "9" * 200000, m.heavy))
        kinds = [link, many, directory, fifo, lies] + ([of_another] if not os.geteuid() else [])
        for kind in kinds:
            kind()
            found = m.leaves(seconds=0.5)
            check(set(found) == NO_NAMES and sum(found.values()) > 100, "%s: %s", kind.__name__, found)
            os.rmdir(m.path) if kind == directory else os.unlink(m.path)
        # Escapes are shown as text, and ranges that overlap make no harm.
        m.write("".join("%x 1000 over%d\n" % (int(m.heavy, 16) - 8 * i, i) for i in range(1, 2000)) + "%s %s a\x1b[31m\n" % (m.heavy, m.size))
        found = m.leaves(seconds=0.5)
        names = {name for caller, name in found if caller == "heavy_one"}
        check(names == {"a\\x1B[31m"}, "%s", found)
    return ", ".join(k.__name__ for k in kinds)


@case(timeout=90)
def jumps(ctx):
    """After functions have been left by longjmp."""
    t = Truth(ctx)
    stacks = below(t.profile("jumps"), "jumps")
    known = (["Truth.jumps", "ext_jumps", "ensured", "raises", "burn"], ["Truth.jumps", "ext_jumps", "ensured", "cleanup", "burn"],
             ["Truth.jumps", "ext_jumps", "after_jump", "burn"])
    found = [0, 0, 0]
    for labels, n in stacks:
        plain = [l for l in labels if l != "[vm]"]
        for i, k in enumerate(known):
            if plain == k:
                found[i] += n
    total = sum(n for labels, n in stacks if "burn" in labels)
    check(total > 50 and sum(found) >= 0.995 * total, "%d of %d stacks are right: %s", sum(found), total, stacks[:3])
    check(min(found) > 0.2 * total, "the three places have %s of %d", found, total)
    return "raising, cleaning up and after the jump: %s" % found


@case(timeout=90)
def signal_handler(ctx):
    t = Truth(ctx)
    stacks = below(t.profile("signals"), "signals")
    total = sum(n for labels, n in stacks if "burn" in labels)
    right = sum(n for labels, n in stacks if labels[-2:] == ["handler", "burn"] and labels[:3] == ["Truth.signal", "ext_signal", "interrupted"])
    check(total > 50 and right >= 0.995 * total, "%d of %d stacks go through the handler: %s", right, total, stacks[:3])
    return "%d of %d" % (right, total)


@case(timeout=90)
def callbacks(ctx):
    """qsort calls a function of the extension, which calls a block, which calls the extension."""
    t = Truth(ctx)
    stacks = below(t.profile("sorts"), "sorts")
    burns = [(labels, n) for labels, n in stacks if labels and labels[-1] == "burn"]
    total, right = sum(n for _, n in burns), 0
    for labels, n in burns:
        plain = [l for l in labels if l not in ("[vm]", "[libc.so.6]")]
        right += n * (plain[:2] == ["Truth.sorted", "ext_sorted"] and plain[-10:] == ["compare", "block in Object#sorts"] + CHAIN)
    check(total > 50 and right >= 0.995 * total, "%d of %d stacks are right: %s", right, total, burns[:2])
    return "%d of %d" % (right, total)


@case(timeout=90)
def fibers(ctx):
    """Two fibers that switch all the time, each from C, have native stacks of the same depth: the functions of one are never
    below the method of the other."""
    t = Truth(ctx)
    profile = t.profile("switches", 3, 5000)
    told = []
    for method, own, other, outer in (("here", "resumer", "yielder", "ext_yields"), ("there", "yielder", "resumer", "ext_resumes")):
        stacks = below(profile, method)
        total = sum(n for _, n in stacks)
        wrong = [(labels, n) for labels, n in stacks if {other, outer} & set(labels)]
        right = sum(n for labels, n in stacks if own in labels)
        check(total > 100, "only %d samples are in %s", total, method)
        check(not wrong, "%s: %d of %d stacks are wrong: %s", method, sum(n for _, n in wrong), total, wrong and wrong[0])
        check(right > 0.5 * total, "%s: %d of %d stacks have %s: %s", method, right, total, own, stacks[:3])
        told.append("%s: %d of %d" % (own, right, total))
    marked = sum(s.count for s in profile.stacks if "[truncated: the native stack of another fiber]" in s.labels())
    check(marked > 0, "no sample was within a switch")
    return "%s, 0 wrong, %d within a switch" % ("; ".join(told), marked)


@case(timeout=90)
def threads(ctx):
    """A thread of its own, and one of a ractor, which shares native threads with others."""
    t = Truth(ctx)
    told = []
    for what in ("in_thread", "in_ractor"):
        profile = t.profile(what, 2)
        stacks = [s.labels() for s in profile.stacks for _ in range(s.count) if "Truth.chain" in s.labels()]
        whole = sum(1 for labels in stacks if labels[labels.index("Truth.chain"):] == CHAIN)
        marked = sum(1 for labels in stacks if is_marked(labels))
        check(len(stacks) > 50, "only %d samples of %s", len(stacks), what)
        check(whole >= 0.9 * len(stacks), "%s: %d of %d have the whole stack: %s", what, whole, len(stacks), stacks[:2])
        check(marked <= 0.02 * len(stacks), "%s: %d of %d are marked", what, marked, len(stacks))
        told.append("%s: %d of %d" % (what, whole, len(stacks)))
    return ", ".join(told)


def names_of(labels):
    """The functions of library_swap.c in a stack."""
    return [l for l in labels if l == "entry" or l.startswith(("a_", "b_"))]


@case(timeout=120)
def libraries_at_one_place(ctx):
    return change_places(ctx)


def change_places(ctx, *args, rate=2000, least=50):
    """A library is loaded where another one was unloaded, again and again: the functions of one are never shown for those of
    the other. Until the mappings are read again the stack ends before them, and says so."""
    paths = [ctx.path("liba.so"), ctx.path("libb.so")]
    for path, flags in zip(paths, ([], ["-DSECOND"])):
        native.run(native.tool("CC"), *FLAGS, *flags, "-o", path, SWAPPED)
    p = ctx.program("library_swap.rb", *paths)
    p.expect("ready")
    out = ctx.path("out.folded")
    reader, written = watch(ctx, p.pid, "-F", harness.rate(rate), *args, "-o", out)
    for turn in ("0.01", "0.04", "0.25"):
        p.tell("swap 2 " + turn)
        p.line()
    p.tell("hold 2")
    said = p.line()
    profile = end(reader, written, out)
    check(said == "done 1", "the libraries were at %s places: %s", said.split()[-1], said)
    told = []
    for method, prefix in (("in_a", "a_"), ("in_b", "b_"), ("hold", "a_")):
        truth = ["entry", prefix + "outer", prefix + "inner", prefix + "burn"]
        stacks = [(labels, n) for labels, n in below(profile, method) if "Fiddle::Function#call" in labels]
        total = sum(n for _, n in stacks)
        # Of a stack that is not whole the innermost ones are there.
        wrong = [(labels, n) for labels, n in stacks
                 if names_of(labels) not in ([truth[i:] for i in range(5)] if is_marked(labels) else [truth[:i] for i in range(5)])]
        whole = sum(n for labels, n in stacks if names_of(labels) == truth)
        check(total > 2 * least, "only %d samples are in %s", total, method)
        check(not wrong, "%s: %d of %d stacks are wrong: %s", method, sum(n for _, n in wrong), total, wrong and wrong[0])
        told.append("%s: %d of %d with all functions" % (method, whole, total))
    check(whole > 0.7 * total, "a library that stays is followed soon: %s: %s", told[-1], sorted(stacks, key=lambda s: -s[1])[:2])
    marked = sum(n for labels, n in below(profile, "in_a") if any("a library was loaded there" in l for l in labels))
    check(marked > least, "%d samples say that a library was loaded", marked)
    return "; ".join(told) + ", 0 wrong"


class StuckLibrary:
    """In the body a program runs in a library on a file system that does not answer any more, for so many seconds.  `program`
    None: there is no such file system here, and `said` says why."""

    def __init__(self, ctx, seconds):
        self.ctx, self.seconds = ctx, seconds
        self.folder, self.hold, self.program = ctx.path("mounted"), ctx.path("hold"), None

    def __enter__(self):
        library = self.ctx.path("liba.so")
        native.run(native.tool("CC"), *FLAGS, "-o", library, SWAPPED)
        os.mkdir(self.folder)
        server = self.ctx.start([sys.executable, os.path.join(harness.PROGRAMS, "stuck_files.py"), self.folder, library, self.hold])
        self.said = server.line()
        if self.said != "ready":
            return self
        try:
            p = self.ctx.program("library_swap.rb", os.path.join(self.folder, "library.so"))
            p.expect("ready")
            p.tell("hold 0.5")  # its pages are in memory then
            p.line()
            p.tell("hold %d" % self.seconds)
            harness.worked(p.pid, 0.3)  # it is in the library
            with open(self.hold, "w"):
                pass
        except BaseException:
            self.unmount()
            raise
        self.program = p
        return self

    def answer(self):
        """It answers again."""
        if os.path.exists(self.hold):
            os.unlink(self.hold)

    def unmount(self):
        self.answer()
        subprocess.run(["umount", "-l", self.folder], check=True)

    def __exit__(self, *_):
        if self.program:
            self.unmount()


@case(timeout=120)
def file_that_does_not_answer(ctx):
    """A library on a file system that does not answer any more costs its own rules and names, and extprof ends in time."""
    with StuckLibrary(ctx, 6) as stuck:
        if not stuck.program:
            return "not tested: " + stuck.said
        began = time.monotonic()
        profile = ctx.extprof("-p", stuck.program.pid, "-F", harness.rate(2000), "-n", "-d", "2", "-o", ctx.path("out.folded")).ok()
        took = time.monotonic() - began
        stuck.answer()
        stuck.program.line()
    check(profile.sums.balanced, "the sums are wrong: %s", profile.sums.text)
    check(took < 2 + 15 * harness.PATIENCE, "it took %.1f s", took)
    stacks = [(labels, n) for labels, n in below(profile, "hold") if "Fiddle::Function#call" in labels]
    total = sum(n for _, n in stacks)
    check(total > 100, "only %d samples are in the library", total)
    check(not any(names_of(labels) for labels, _ in stacks), "names from a file that cannot be read: %s", stacks[:2])
    marked = sum(n for labels, n in stacks if is_marked(labels))
    check(marked > 0.8 * total, "%d of %d stacks say that they are not whole: %s", marked, total, stacks[:3])
    return "%d of %d stacks end at the file, after %.1f s" % (marked, total, took)


@case(timeout=60)
def refused(ctx):
    p = ctx.ruby("-e", 'puts "ready"; $stdout.flush; gets')
    p.expect("ready")
    for args, words in ((("--reader", "nonblocking", "--all-native"), "need eBPF"), (("--timer", "tick"), "timer clock")):
        r = ctx.extprof("-p", p.pid, "-d", "300ms", "--native", *args)
        check(r.status == USAGE and words in r.err, "%s: status %d: %s", " ".join(args), r.status, r.err)
    return "2 mistakes, each with its message"
