"""--native with real libraries: the shares of their functions beside those by perf, which takes samples as extprof does, and by
Valgrind's callgrind, which counts instructions.  By default those that ruby brings; by hand also those of gems:

    EXTPROF_TESTS_REAL=all tests/live/run native_real
"""
import os
import re
import shutil
import signal
import subprocess
import time

import case_servers
import harness
from case_native import end, functions_of_the_vm, started
from case_native_truth import PERF_RATE, perf, plain, stacks_of_perf
from harness import Counted, case, check

GEMS = {"nokogiri": "1.19.7", "oj": "3.17.8", "msgpack": "1.8.7", "sqlite3": "2.10.2", "ffi": "1.17.4"}
SECONDS = float(os.environ.get("EXTPROF_TESTS_REAL_SECONDS", "2"))
# Turns of the work in Valgrind, where it takes 50 times as long.
TURNS = 2
# The function of the extension that each part of the work is.
FUNCTIONS = {
    "zlib": {"packs": "rb_deflate_s_deflate", "unpacks": "rb_inflate_s_inflate", "sums": "do_checksum"},
    "openssl": {"signs": "ossl_pkey_sign", "derives": "kdf_pbkdf2_hmac"},
    "bigdecimal": {"multiplies": "BigDecimal_mult", "roots": "BigDecimal_sqrt", "texts": "BigDecimal_to_s"},
    "oj": {"dumps": "dump", "loads": "oj_object_parse"},
    "msgpack": {"unpacks": "Unpacker_full_unpack"},
}
# What has fewer instructions is not compared.
LEAST = 0.03
PROGRAM = os.path.join(harness.PROGRAMS, "native_real.rb")


def environment(library):
    if library not in GEMS:
        return {}
    home = case_servers.gems({library: GEMS[library]})
    return {"GEM_HOME": home, "GEM_PATH": home}


def own(name):
    """A function of a library, by its name."""
    return not name.startswith(("[", "0x"))


def by_extprof_and_perf(ctx, library, env):
    """({function: share} by each, samples of each, how many are marked, {part: share of the time}), of all that the work took."""
    p = ctx.start([harness.RUBY, "-W0", PROGRAM, library], env=env)
    p.expect("ready", 60)
    out, data = ctx.path("out.folded"), ctx.path("perf.data")
    reader, said = started(ctx, "-p", p.pid, "--native", "-F", PERF_RATE, "-o", out)
    other = ctx.start(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(PERF_RATE), "--call-graph", "dwarf,16384", "-p", str(p.pid),
                       "-o", data], stdin=subprocess.DEVNULL) if perf() else None
    if other:
        harness.until(lambda: harness.timers(other.pid), "perf has not begun")
    clock = harness.cpu_clock(p.pid)
    until = time.clock_gettime(clock) + SECONDS
    while time.clock_gettime(clock) < until:
        p.tell("5")
        took = p.line()
    if other:
        other.signal(signal.SIGINT)
        other.wait(60)
    profile = end(reader, said, out)
    p.kill()
    ours = [(s.labels(), s.count) for s in profile.stacks if "Object#work" in s.labels()]
    theirs = [(names, 1) for names in stacks_of_perf(data)] if other else []
    # perf ends a stack where it finds no caller, and says nothing.
    if sum("main" in names for names, _ in theirs) < 0.98 * len(theirs):
        theirs = []
    marked = sum(n for labels, n in ours if any("[truncated:" in l or "left out]" in l for l in labels))
    total = sum(n for _, n in ours)
    # At their beginning and end some functions of OpenSSL in assembly find their caller by registers that are not followed.
    check(total > 300 * SECONDS and marked <= 0.02 * total, "%d of %d samples are marked: %s", marked, total,
          [labels for labels, _ in ours if any("[truncated:" in l or "left out]" in l for l in labels)][:2])
    took = {name: int(ns) for name, ns in (word.split("=") for word in took.split()[1:])}
    return shares(ours), shares(theirs), total, len(theirs), marked, {name: ns / sum(took.values()) for name, ns in took.items()}


def shares(stacks):
    sums, total = {}, 0
    for labels, n in stacks:
        total += n
        for name in set(map(plain, labels)):
            sums[name] = sums.get(name, 0) + n
    return {name: n / total for name, n in sums.items()}


LINE = re.compile(r"^ *([\d,]+) \( *[\d.]+%\)  (.*?)(?: \[(\S+)\])?$")


def by_callgrind(ctx, library, env):
    """{function of a library: share of the instructions}"""
    data = ctx.path("callgrind")
    for last in (False, False, True):
        p = ctx.start(["valgrind", "--tool=callgrind", "--trace-children=yes", "--instr-atstart=no", "--callgrind-out-file=" + data,
                       harness.RUBY, "-W0", PROGRAM, library], env=env)
        try:
            p.expect("ready", 240)
            break
        except harness.Failed:
            # While another extprof looks at allocations there is a breakpoint in the ruby, at which Valgrind ends.
            if last:
                raise
            time.sleep(2)
    control = lambda what: subprocess.run(["callgrind_control", "-i", what, str(p.pid)], stdout=subprocess.DEVNULL, check=True, timeout=60)
    control("on")
    p.tell(str(TURNS))
    check(p.line(240).startswith("done"), "it has not worked")
    control("off")
    p.p.stdin.close()
    check(p.wait(60) == 0, "it ended with %s", p.p.returncode)
    said = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--auto=no", "--threshold=99.9", data], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=True).stdout
    total, found, vm = 0, {}, functions_of_the_vm()
    for line in said.splitlines():
        m = LINE.match(line)
        if not m:
            continue
        count, where = int(m.group(1).replace(",", "")), m.group(2)
        if where == "PROGRAM TOTALS":
            total = count
        elif m.group(3) and not re.search(r"/(ruby|libc\.so\S*|libm\.so\S*|ld-linux\S*)$", m.group(3)):
            name = where.rpartition(":")[2]
            # One that calls itself is there once for each depth, and the first one has all.
            if own(name) and plain(name) not in vm and "'" not in name and "<cycle" not in where:
                found[plain(name)] = max(found.get(plain(name), 0), count / total)
    check(total, "callgrind says: %s", said[-500:])
    return found


def compare(ctx, library):
    env = environment(library)
    ours, theirs, n, m, marked, clock = by_extprof_and_perf(ctx, library, env)
    counted = by_callgrind(ctx, library, env) if shutil.which("valgrind") else None
    lines, farthest, missing, compared = [], 0, [], 0
    for name, share in clock.items():
        for f in ("Object#" + name, FUNCTIONS.get(library, {}).get(name)):
            if not f:
                continue
            a, error = ours.get(f, 0), (share / n) ** 0.5
            lines.append("%-40s %6.1f %%  by its clock %6.1f %%" % (f, 100 * a, 100 * share))
            # What Ruby does around the function is not in it.
            check(abs(a - share) < 5 * error + 0.02 + (0 if f.startswith("Object#") else 0.1 * share), "%s: %.1f %%, by its clock %.1f %%",
                  f, 100 * a, 100 * share)
    # Functions of the libraries, by what counts instructions, or else by perf.
    listed, counted = theirs if counted is None else counted, counted or {}
    vm = functions_of_the_vm()
    names = [f for f, share in sorted(listed.items(), key=lambda x: -x[1]) if share >= LEAST and own(f) and f not in vm]
    for f in names:
        a, b, c = ours.get(f, 0), theirs.get(f, 0), counted.get(f, 0)
        lines.append("%-40s %6.1f %% %6.1f %% %6.1f %%" % (f, 100 * a, 100 * b, 100 * c))
        # A function whose last thing is a call of another one is not on the stack meanwhile: that is a jump.
        if counted and a < c / 10:
            missing.append(f)
        if m:
            error = (max(a, b) * (1 / n + 1 / m)) ** 0.5
            check(abs(a - b) < 5 * error + 0.01, "%s: %.1f %%, by perf %.1f %%", f, 100 * a, 100 * b)
            compared += 1
        if counted:
            farthest = max(farthest, abs(a - c))
    folder = os.path.join(harness.BUILD, "live-tables")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "native_real-%s.txt" % library), "w", encoding="utf-8") as f:
        f.write("%d samples, %d marked, perf %d\n%-40s extprof     perf  callgrind\n%s\n" % (n, marked, m, "", "\n".join(lines)))
    return "%d samples, %d marked, perf %d: %d functions as by perf; %d by callgrind, %.0f points apart at most%s" % (
        n, marked, m, compared, len(names), 100 * farthest, "; jumps: " + " ".join(missing) if missing else "")


def register(library):
    def f(ctx):
        if not perf() and not shutil.which("valgrind"):
            return Counted(0, 0, 1, "there is neither perf nor valgrind")
        return compare(ctx, library)
    f.__name__, f.__module__ = library, __name__
    case(timeout=int(240 + 30 * SECONDS))(f)


for library_ in ("zlib", "openssl", "bigdecimal", *(GEMS if os.environ.get("EXTPROF_TESTS_REAL") == "all" else ())):
    register(library_)
