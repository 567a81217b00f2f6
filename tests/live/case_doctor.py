"""extprof doctor: what it says is what this machine and its processes are."""
import os
import platform
import re
import shutil
import subprocess
import tempfile

import harness
from case_lifecycle import busy
from harness import case, check

USER = 65533
LINE = re.compile(r"^(ok|note|BAD) +(\S.*?)  +(\S.*)$")


def table(out):
    """{name: (verdict, text)}"""
    rows = [LINE.match(line) for line in out.splitlines() if not line.startswith(" ")]
    check(all(rows), "a line that is none: %s", out)
    return {m.group(2): (m.group(1), m.group(3)) for m in rows}


@case(timeout=60)
def narrow(ctx):
    """On few columns lines are cut between words, go on below their text, and say the same; in a pipe they are whole."""
    whole = ctx.extprof("doctor").out
    out = ctx.extprof("doctor", env={**os.environ, "COLUMNS": "46"}).out
    # Those of the machine; rubies come and go.
    machine = lambda text: re.split(r"^\S+ +rub", text, flags=re.M)[0]
    check(machine(out).split() == machine(whole).split(), "%s is not %s", machine(out), machine(whole))
    check(any(len(line) > 46 for line in machine(whole).splitlines()), "nothing is long here: %s", whole)
    lines = machine(out).splitlines()
    # A word of its own can be longer than the rest of a line.
    check(all(len(line) <= 46 or " " not in line[22:].strip() for line in lines), "%s", out)
    check(all(line[:4].strip() == "" or LINE.match(line) for line in lines), "%s", out)
    return "%d lines of %d" % (len(lines), len(machine(whole).splitlines()))


@case(timeout=60)
def machine_and_rubies(ctx):
    """A patched ruby can be profiled. A program that is no ruby has no line."""
    ruby = busy(ctx)
    other = ctx.start(["sleep", "60"])
    p = ctx.extprof("doctor")
    rows = table(p.out)
    check(p.status == 0, "status %d: %s%s", p.status, p.out, p.err)
    check(platform.release() in rows["kernel"][1], p.out)
    for name in ("kernel", "BTF", "CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "BPF", "timers", "perf paranoid"):
        check(rows[name][0] == "ok", "%s: %s", name, p.out)
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        check(rows["perf paranoid"][1].startswith(f.read().strip() + ": "), "perf paranoid: %s", p.out)
    with open("/proc/self/schedstat", encoding="ascii") as f:
        counts = int(f.read().split()[2]) > 0
    check(rows["schedstat"][0] == ("ok" if counts else "note"), "schedstat: %s", p.out)
    verdict, text = rows["ruby %d" % ruby.pid]
    check(verdict == "ok" and "ruby 3." in text and "with the interface" in text, p.out)
    check("ruby %d" % other.pid not in rows, p.out)
    return rows["rubies"][1]


@case(timeout=60)
def without_capabilities(ctx):
    """A user without capabilities is told what is missing, and the exit status says so."""
    directory = tempfile.mkdtemp(prefix="extprof-test-", dir="/tmp")
    try:
        os.chmod(directory, 0o755)
        reader = shutil.copy(harness.EXTPROF, directory)
        os.chmod(reader, 0o755)
        p = ctx.profile_of(ctx.start([reader, "doctor"], user=USER, group=USER, extra_groups=[], cwd=directory,
                                     stderr=subprocess.PIPE))
    finally:
        shutil.rmtree(directory)
    rows = table(p.out)
    check(p.status == harness.PERMISSION, "status %d: %s%s", p.status, p.out, p.err)
    check(rows["CAP_BPF"][0] == "BAD" and rows["CAP_SYS_PTRACE"][0] == "note", p.out)
    check(rows["BPF"][0] == "BAD" and "refuses" in rows["BPF"][1], p.out)
    check("run extprof as root" in p.out and "--reader nonblocking" in p.out, p.out)
    # It sees no ruby: what it may not read can be one.
    check("may not be read" in rows["rubies"][1] and "or as the user of your program" in p.out, p.out)
    return "status %d" % p.status


@case(timeout=60, bpf=False, patient=True)
def wrong_use(ctx):
    for args in (("doctor", "x"), ("doctor", "--nonsense")):
        p = ctx.extprof(*args)
        check(p.status == harness.USAGE, "%s: %d, %s", args, p.status, p.err)
    return "arguments are refused"
