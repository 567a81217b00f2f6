"""Programs in C with a part in BPF, for tests: libbpf's own, without code of extprof."""
import os
import re
import shlex
import shutil
import subprocess

from harness import BUILD, TOP, check


# Where the environment and config.mk name none: root's PATH may lack /usr/sbin, Debian's clang has a number.
NAMES = {"CC": ["cc"], "CLANG": ["clang", "clang-19", "clang-16", "clang-14"], "BPFTOOL": ["bpftool", "/usr/sbin/bpftool"]}


def tool(name):
    """The path of CC, CLANG or BPFTOOL: by the environment, by config.mk, or the first of the usual names."""
    if os.environ.get(name):
        return os.environ[name]
    try:
        with open(os.path.join(TOP, "config.mk")) as f:
            found = re.search(r"^%s *= *(\S+)" % name, f.read(), re.M)
    except OSError:
        found = None
    return found.group(1) if found else next(filter(shutil.which, NAMES[name]), NAMES[name][0])


def run(*argv, **options):
    p = subprocess.run(argv, stderr=subprocess.PIPE, universal_newlines=True, **options)
    check(p.returncode == 0, "%s: %s", " ".join(argv), p.stderr[-800:])


def build(name):
    """Build what is in the directory NAME: NAME.c and NAME.bpf.c. Its path. EXTPROF_TESTS_NATIVE is a directory where
    another machine has built it: there may be no compiler here."""
    built = os.path.join(os.environ.get("EXTPROF_TESTS_NATIVE", ""), name)
    if os.path.isabs(built):
        check(os.access(built, os.X_OK), "there is no %s", built)
        return built
    source = os.path.join(TOP, "tests", "live", name)
    out = os.path.join(BUILD, "live-" + name)
    os.makedirs(out, exist_ok=True)
    cc = shlex.split(tool("CC"))  # a cross compiler has arguments
    machine, multiarch, sysroot = (
        subprocess.run(cc + [option], stdout=subprocess.PIPE, universal_newlines=True).stdout.strip()
        for option in ("-dumpmachine", "-print-multiarch", "-print-sysroot"))
    arch = {"x86_64": "x86", "aarch64": "arm64"}[machine.split("-")[0]]
    include = os.environ.get("EXTPROF_TESTS_INCLUDE") or os.path.join(TOP, "include")
    obj = os.path.join(out, name + ".bpf.o")
    run(tool("CLANG"), "-target", "bpf", "-D__TARGET_ARCH_" + arch, "-O2", "-g", "-Wall",
        "-I" + sysroot.rstrip("/") + "/usr/include/" + multiarch, "-c", "-o", obj, os.path.join(source, name + ".bpf.c"))
    with open(os.path.join(out, name + ".skel.h"), "w") as f:
        run(tool("BPFTOOL"), "gen", "skeleton", obj, "name", name + "_bpf", stdout=f)
    path = os.path.join(out, name)
    run(*cc, "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-I" + out, "-I" + source, "-I" + include,
        "-o", path, os.path.join(source, name + ".c"), "-lbpf", "-lelf")
    return path


def library(ctx, source):
    """A shared library of the case, from C text. Its path."""
    path = ctx.path("library.so")
    run(tool("CC"), "-std=gnu11", "-O1", "-g", "-Wall", "-shared", "-fPIC", "-o", path, ctx.write("library.c", source))
    return path


class Gdb:
    """One debugger, which attaches again and again: it reads the symbols of the program once.  The script answers each line of its
    input, and ends with a line END."""

    def __init__(self, ctx, name, script):
        self.p = ctx.start(["gdb", "-nx", "-q", "-batch", "-x", ctx.write(name, script)])

    def ask(self, text):
        """The lines of the answer."""
        self.p.tell(text)
        return list(iter(lambda: self.p.line(60), "END"))


# Put in: a function described(frame, exact), which returns a text without tabs, or None to leave the frame out; and how many
# frames there may be. exact: the frame has been interrupted, and has not called the one before.
STACKS = """
import gdb, sys
gdb.execute("set confirm off")
%s
def stack():
    frame, found, exact = gdb.newest_frame(), [], True
    while frame and len(found) < %d:
        text = described(frame, exact)
        if text is not None:
            found.append(text)
            exact = frame.type() == gdb.SIGTRAMP_FRAME
        try:
            frame = frame.older()
        except gdb.error:
            break
    return found

for line in sys.stdin:
    gdb.execute("attach " + line, to_string=True)
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        print("\\t".join(["STACK", str(thread.ptid[1]), *stack()]))
    gdb.execute("detach", to_string=True)
    print("END", flush=True)
"""


class GdbStacks(Gdb):
    """The stacks of all threads of a process."""

    def __init__(self, ctx, described, most):
        super().__init__(ctx, "stacks.py", STACKS % (described, most))

    def stacks(self, pid):
        """[(tid, [the texts of its frames, innermost first])]"""
        said = self.ask(str(pid))
        found = [line.split("\t")[1:] for line in said if line.startswith("STACK\t")]
        check(found, "gdb tells nothing: %s", said)
        return [(int(tid), frames) for tid, *frames in found]
