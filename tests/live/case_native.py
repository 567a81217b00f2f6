"""--native: functions of C extensions, between the methods that called them and those that they call. The extension's stacks
are known at every point."""
import os
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


def watch(ctx, pid, *args):
    """An extprof that has read the rules of all files, and where it writes what it says."""
    said = ctx.path("said")
    with open(said, "wb") as f:
        reader = ctx.extprof_start("-p", pid, "--native", "-v", *args, stderr=f)
    end = time.monotonic() + 30 * harness.PATIENCE
    while True:
        with open(said, encoding="utf-8", errors="backslashreplace") as f:
            text = f.read()
        if "native code: the rules of" in text:
            return reader, said
        check(reader.p.poll() is None and time.monotonic() < end, "it has not read the rules: %s", text[-500:])
        time.sleep(0.05)


def end(ctx, reader, said, path):
    reader.signal(signal.SIGINT)
    out, _ = reader.communicate()
    with open(said, encoding="utf-8", errors="backslashreplace") as f:
        profile = harness.Profile(reader.p.returncode, out, f.read(), path).ok()
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
        self.p.expect("ready")

    def profile(self, what, seconds=1.5, rate=2000, *args):
        out = self.ctx.path("out.folded")
        reader, said = watch(self.ctx, self.p.pid, "-F", harness.rate(rate), *args, "-o", out)
        self.p.tell("%s %f" % (what, seconds))
        self.p.line()
        return end(self.ctx, reader, said, out)


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
        if label.startswith(("[GC", "[ld-linux")) or label == "[YJIT compile]" or by_itself:
            labels = labels[:i]
            break
    labels = [l for l in labels if l != "[vm]"]
    return labels == truth[:len(labels)]


def is_marked(labels):
    return any("[truncated:" in l or "left out]" in l for l in labels)


def compare(ctx, what, truth, flags=(), ruby=(), least=0.9, change=None):
    """All stacks below the method are parts of the known one, and most of them are all of it."""
    t = Truth(ctx, *flags, ruby=ruby, change=change)
    profile = t.profile(what)
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


@case(timeout=90)
def names_of_cxx(ctx):
    """As they are written in the program, if extprof was built where there is a compiler for C++."""
    cxx = shutil.which(os.environ.get("CXX", "c++"))
    if not cxx or not os.path.isabs(libstdcxx()):
        return "not tested: there is no compiler for C++"
    path = ctx.path("native_cxx.so")
    native.run(cxx, *FLAGS, *headers(), "-o", path, os.path.join(harness.PROGRAMS, "native_cxx.cc"))
    p = ctx.ruby("-e", "require ARGV[0]; $stdout.sync = true; def runs = Cxx.run(200); puts 'ready'; $stdin.gets; "
                       "t = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 1; "
                       "runs while Process.clock_gettime(Process::CLOCK_MONOTONIC) < t; puts 'done'", path)
    p.expect("ready")
    out = ctx.path("out.folded")
    reader, said = watch(ctx, p.pid, "-F", harness.rate(2000), "-o", out)
    p.tell("go")
    p.line()
    stacks = below(end(ctx, reader, said, out), "runs")
    truth = ["Cxx.run", "ext_run(unsigned long, unsigned long)", "truth::(anonymous namespace)::Inner::operator()(char const*) const",
             "truth::Worker<long>::run(long)"]
    right, total = sum(n for labels, n in stacks if labels == truth), sum(n for _, n in stacks)
    check(total > 50 and right >= 0.9 * total, "%d of %d are %s: %s", right, total, truth, stacks[:2])
    return "%d of %d: %s" % (right, total, truth[-2])


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
    stacks = below(end(ctx, reader, said, out), "runs")
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
    """A library is loaded where another one was unloaded, again and again: the functions of one are never shown for those of
    the other. Until the mappings are read again the stack ends before them, and says so."""
    paths = [ctx.path("liba.so"), ctx.path("libb.so")]
    for path, flags in zip(paths, ([], ["-DSECOND"])):
        native.run(native.tool("CC"), *FLAGS, *flags, "-o", path, SWAPPED)
    p = ctx.program("library_swap.rb", *paths)
    p.expect("ready")
    out = ctx.path("out.folded")
    reader, written = watch(ctx, p.pid, "-F", harness.rate(2000), "-o", out)
    for turn in ("0.01", "0.04", "0.25"):
        p.tell("swap 2 " + turn)
        p.line()
    p.tell("hold 2")
    said = p.line()
    profile = end(ctx, reader, written, out)
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
        check(total > 100, "only %d samples are in %s", total, method)
        check(not wrong, "%s: %d of %d stacks are wrong: %s", method, sum(n for _, n in wrong), total, wrong and wrong[0])
        told.append("%s: %d of %d with all functions" % (method, whole, total))
    check(whole > 0.7 * total, "a library that stays is followed soon: %s: %s", told[-1], sorted(stacks, key=lambda s: -s[1])[:2])
    marked = sum(n for labels, n in below(profile, "in_a") if any("a library was loaded there" in l for l in labels))
    check(marked > 50, "%d samples say that a library was loaded", marked)
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
            time.sleep(0.5)
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
    for args, words in ((("--reader", "nonblocking"), "need eBPF"), (("--timer", "tick"), "timer clock")):
        r = ctx.extprof("-p", p.pid, "-d", "300ms", "--native", *args)
        check(r.status == USAGE and words in r.err, "%s: status %d: %s", " ".join(args), r.status, r.err)
    return "2 mistakes, each with its message"
