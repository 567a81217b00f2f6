"""report --native-lines and --inline: lines and inlined functions of native code, by debug information of this machine."""
import array
import collections
import functools
import json
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import time

import harness
import native
from case_native import FLAGS, end, extension, headers, watch
from case_native_lines import SCRIPT, SOURCE, build_id, line_of, near, recorded
from harness import USAGE, Counted, case, check

BOTH = ("--inline", "--native-lines")
FILE = r"\S*/native_lines\.c:(\d+)"
PROGRAM = os.path.join(os.path.dirname(os.path.realpath(harness.EXTPROF)), "extprof-lines")
SECTIONS = ("debug_info", "debug_abbrev", "debug_line", "debug_str", "debug_line_str", "debug_aranges", "debug_rnglists", "debug_loclists")


def reads(timeout, patient=False):
    """A case that needs the program which reads debug information."""
    def wrap(run):
        @functools.wraps(run)
        def wrapped(ctx):
            return run(ctx) if os.path.exists(PROGRAM) else Counted(0, 0, 1, "extprof was built without libdw")
        return case(timeout=timeout, patient=patient)(wrapped)
    return wrap


def folded(ctx, recording, *args, **options):
    """Stacks and counts, and what is said of lines."""
    run = ctx.extprof("report", recording, "-f", "folded", *args, **options).ok()
    stacks = collections.Counter()
    for line in run.out.splitlines():
        stack, _, count = line.rpartition(" ")
        stacks[stack] += int(count)
    return stacks, run.err


def lines_of(stacks):
    """(function, line) of the frames of the extension in each stack."""
    found = collections.Counter()
    for stack, count in stacks.items():
        frames = tuple((name, int(line)) for name, line in re.findall(r"([^;]+) " + FILE + "(?=;|$)", stack))
        found[frames] += count
    return found


def told(err):
    """Of how many addresses of the extension nothing is known, and why; None: of all it is. The table of imported functions is made by
    the linker: a sample or two can be in it, and it has no lines."""
    found = re.search(r"native_lines\.so: ([^;()]+), (\d+)", err)
    if not found or (found[1] == "no function there" and int(found[2]) <= 4):
        return None
    return found[1], int(found[2])


def plain_of(stack):
    """The stack as it is without lines and inlined functions."""
    return ";".join(name for name in re.sub(r" \S+:\d+(?=;|$)", "", stack).split(";") if name not in ("spin", "turn", "now"))


def of_work(stacks):
    return collections.Counter({s: n for s, n in stacks.items() if ";ext_work" in s})


def sum_of(report):
    """What a report as JSON says of all samples, without its rows."""
    mode, = report["modes"]
    return json.dumps([mode["mode"], mode["metric"], mode["unit"], mode["amount"], mode["samples"]])


@reads(timeout=120)
def shares_of_lines(ctx):
    """Loops in inlined functions have the time that the program's own clock says, below the functions and lines that they were put into.
    Without lines and inlined functions the stacks are the same as before, and the sums are the same in all formats."""
    inlined, own = recorded(ctx, extension(ctx, "-g", source=SOURCE))
    recording = ctx.path("out.extprof")
    stacks, err = folded(ctx, recording, *BOTH)
    check("lines of native functions: found for " in err and not told(err), "it says %s", err)
    work, call, turned, called = (line_of(m) for m in ("own", "inlined", "turned", "called"))
    sums = collections.Counter()
    for frames, count in lines_of(stacks).items():
        if [f[0] for f in frames[1:]] == ["work", "spin", "turn"]:
            check(frames[1] == ("work", called) and frames[2] == ("spin", turned) and frames[3][1] in (call - 1, call), "%s", frames)
            sums["inlined"] += count
        elif len(frames) == 2 and frames[1][0] == "work" and frames[1][1] in (work - 1, work):
            sums["own"] += count
    total = sum(sums.values())
    check(total > 500 and total > 0.95 * sum(of_work(stacks).values()), "%s of %s", sums, of_work(stacks))
    near("the inlined function", sums["inlined"] / total, inlined / (inlined + own))
    plain, err = folded(ctx, recording)
    check(not err, "without being asked it says %s", err)
    back = collections.Counter()
    for stack, count in of_work(stacks).items():
        back[plain_of(stack)] += count
    check(back == of_work(plain) and sum(stacks.values()) == sum(plain.values()), "%s is %s", back, of_work(plain))
    # One of both.
    only, _ = folded(ctx, recording, "--native-lines")
    got = lines_of(only)
    check({f[1:] for f in got if len(f) > 1} >= {(("work", called),)} and not any("spin" in s for s in only), "%s", got)
    only, _ = folded(ctx, recording, "--inline")
    check(any(s.endswith(";work;spin;turn") for s in only) and not lines_of(only).keys() - {()}, "%s", only)
    ways = []
    for options in ((), BOTH, ("--inline",), ("--native-lines",)):
        report = json.loads(ctx.extprof("report", recording, "-f", "json", *options).ok().out)
        summary = ctx.extprof("report", recording, *options).ok().out
        ways.append((sum_of(report), re.search("samples taken .*", summary)[0], re.search("CPU used.*", summary)[0]))
        check(("lines of native functions: found" in summary) == bool(options), "%s: %s", options, summary[-600:])
    check(len(set(ways)) == 1, "sums differ: %s", ways)
    return "inlined %.1f %% of %.1f %%" % (100 * sums["inlined"] / total, 100 * inlined / (inlined + own))


@reads(timeout=120)
def of_a_process_that_runs(ctx):
    """record has the same options: lines and inlined functions in its own outputs and summary, and none in its recording. The file may be
    gone from its path: it is the one that the process had mapped."""
    path = extension(ctx, "-g", source=SOURCE)
    for gone in (False, True):
        p = ctx.ruby("-e", SCRIPT, path)
        p.expect("ready")
        out, recording = ctx.path("live.folded"), ctx.path("live%d.extprof" % gone)
        reader, said = watch(ctx, p.pid, "-F", harness.rate(1500), *BOTH, "-o", out, "-o", recording)
        if gone:
            os.unlink(path)
        p.tell("1.5")
        inlined, own = map(int, p.line().split())
        profile = end(reader, said, out)
        live = collections.Counter()
        with open(out, encoding="utf-8") as f:
            for line in f:
                live[line.rpartition(" ")[0]] += int(line.rpartition(" ")[2])
        sums = collections.Counter()
        for frames, count in lines_of(live).items():
            names = [f[0] for f in frames]
            sums["inlined" if names[1:] == ["work", "spin", "turn"] else "own" if names[1:] == ["work"] else "else"] += count
        total = sums["inlined"] + sums["own"]
        check(total > 500, "%s", live)
        near("the inlined function", sums["inlined"] / total, inlined / (inlined + own))
        plain, _ = folded(ctx, recording)
        check(sum(plain.values()) == sum(live.values()) and not lines_of(plain).keys() - {()}, "%s, and the recording %s", live, plain)
        ctx.extprof("verify", recording).ok()
        paths = ctx.extprof("sql", recording, "SELECT count(*) FROM frames f JOIN strings n ON n.id = f.path WHERE n.text LIKE '%native_lines.c'").ok().out
        check(paths.split()[-1] == "0", "the recording has lines: %s", paths)
        if not gone:
            check(folded(ctx, recording, *BOTH)[0] == live, "the report has %s, not %s", folded(ctx, recording, *BOTH)[0], live)
        check("lines of native functions: found for " in profile.out + profile.err and not told(profile.out + profile.err), "%s", profile.err[-600:])
    run = ctx.extprof("record", "--inline", "-p", os.getpid())
    check(run.status == USAGE and "--inline needs --native" in run.err, "%s: %s", run.status, run.err)
    return "inlined %.1f %% of %.1f %%" % (100 * sums["inlined"] / total, 100 * inlined / (inlined + own))


@reads(timeout=120)
def in_another_mount_namespace(ctx):
    """Debug information that only the process's own mount namespace has is found for it, and not by a report afterwards."""
    if os.geteuid() or not shutil.which("unshare"):
        return Counted(0, 0, 1, "only root can make a mount namespace")
    path, debug = extension(ctx, "-g", source=SOURCE), ctx.path("kept.debug")
    own = build_id(path)
    split(ctx, path, debug)
    script = 'mount -t tmpfs none /usr/lib/debug && mkdir -p "/usr/lib/debug/.build-id/$1" && cp "$3" "/usr/lib/debug/.build-id/$1/$2.debug" && ' \
             'rm "$3" && shift 3 && exec "$@"'
    p = ctx.start(["unshare", "-m", "sh", "-c", script, "sh", own[:2], own[2:], debug, harness.RUBY, "--disable=gems", "-W0", "-e", SCRIPT, path],
                  env=None)
    p.expect("ready")
    out, recording = ctx.path("live.folded"), ctx.path("out.extprof")
    reader, said = watch(ctx, p.pid, "-F", harness.rate(1500), *BOTH, "-o", out, "-o", recording)
    p.tell("1")
    p.line()
    profile = end(reader, said, out)
    with open(out, encoding="utf-8") as f:
        found = {frame[0] for frames in lines_of(collections.Counter(line.rpartition(" ")[0] for line in f)) for frame in frames}
    check(found >= {"work", "spin", "turn"}, "%s: %s", found, profile.out[-600:])
    check(knows(ctx) == "no debug information here", "the report knows them, too")
    return "of %s" % own[:8]


@reads(timeout=120)
def pprof_has_them(ctx):
    """go tool pprof shows the lines of a profile that has them, with the amounts that extprof has, and looks for none itself."""
    if not shutil.which("go"):
        return Counted(0, 0, 1, "there is no go")
    recorded(ctx, extension(ctx, "-g", source=SOURCE))
    recording, profile = ctx.path("out.extprof"), ctx.path("out.pb.gz")
    ctx.extprof("report", recording, "-o", profile, *BOTH).ok()
    run = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-top", "-lines", "-sample_index=samples", "-nodecount=0", "-nodefraction=0",
                          "-edgefraction=0", profile], capture_output=True, timeout=100, text=True, env=harness.environment())
    check(run.returncode == 0, "pprof: %s", run.stderr[-500:])
    got = collections.Counter()
    for flat, name, line in re.findall(r"^ *(\d+) +\S+ +\S+ +\d+ +\S+ +(\S+) " + FILE + "$", run.stdout, re.M):
        got[name, int(line)] += int(flat)
    wanted = collections.Counter()
    for stack, count in folded(ctx, recording, *BOTH)[0].items():
        last = re.fullmatch(r"(\S+) " + FILE, stack.rpartition(";")[2])
        if last:
            wanted[last[1], int(last[2])] += count
    got = collections.Counter({k: n for k, n in got.items() if n})
    check(wanted and got == wanted, "%s, not %s", got, wanted)
    return "%d lines" % len(got)


def split(ctx, path, debug):
    """Take the debug information of the file away, into one of its own."""
    native.run("objcopy", "--only-keep-debug", path, debug)
    native.run("strip", "--strip-unneeded", path)


def knows(ctx, *args, **options):
    stacks, err = folded(ctx, ctx.path("out.extprof"), *BOTH, *args, **options)
    found = {f[0] for frames in lines_of(stacks) for f in frames}
    check((found >= {"work", "spin", "turn"} and not told(err)) or (not found and told(err)), "%s, and it says %s", found, err)
    return None if found else told(err)[0]


@reads(timeout=180)
def files_by_build_id(ctx):
    """Debug information is found in a file by build id, in the cache of debuginfod, and by a debug link. A file with another build id is
    never used, wherever it is. Without files there are names alone."""
    path = extension(ctx, "-g", source=SOURCE)
    debug, other, cache = ctx.path("kept.debug"), ctx.path("other.so"), ctx.path("cache")
    recorded(ctx, path)
    before = sum(folded(ctx, ctx.path("out.extprof"))[0].values())
    own = build_id(path)
    # Of the same source, and other code.
    native.run(native.tool("CC"), *FLAGS, "-O1", "-g", *headers(), "-o", other, SOURCE)
    check(build_id(other) != own, "both have one build id")
    seen = {"whole": knows(ctx)}
    split(ctx, path, debug)
    seen["stripped"] = knows(ctx)
    at = os.path.join(cache, own, "debuginfo")
    os.makedirs(os.path.dirname(at))
    env = {"DEBUGINFOD_CACHE_PATH": cache}
    shutil.copy(other, at)
    seen["another one in the cache"] = knows(ctx, env=env)
    shutil.copy(debug, at)
    seen["in the cache"] = knows(ctx, env=env)
    os.unlink(path)
    seen["in the cache, without the file"] = knows(ctx, env=env)
    seen["no file"] = knows(ctx)
    shutil.copy(other, path)
    seen["another file"] = knows(ctx)
    # A debug link, of a file that is stripped.
    extension(ctx, "-g", source=SOURCE)
    check(build_id(path) == own, "the same source has another build id")
    split(ctx, path, debug)
    native.run("objcopy", "--add-gnu-debuglink=" + debug, path)
    seen["by link"] = knows(ctx)
    os.mkdir(ctx.path(".debug"))
    os.rename(debug, ctx.path(".debug/kept.debug"))
    seen["by link in .debug"] = knows(ctx)
    shutil.copy(other, ctx.path(".debug/kept.debug"))
    seen["another one by link"] = knows(ctx)
    none, wrong = "no debug information here", "the file here has another build id"
    wanted = {"whole": None, "stripped": none, "another one in the cache": none, "in the cache": None, "in the cache, without the file": None,
              "no file": none, "another file": wrong, "by link": None, "by link in .debug": None, "another one by link": none}
    check(seen == wanted, "%s, not %s", seen, wanted)
    check(sum(folded(ctx, ctx.path("out.extprof"), *BOTH)[0].values()) == before, "the sum is another one")
    return "%d places" % len(seen)


@reads(timeout=120)
def in_usr_lib_debug(ctx):
    """Debug information is found in /usr/lib/debug, by build id and by the path of the file."""
    if os.geteuid() or not shutil.which("unshare"):
        return Counted(0, 0, 1, "only root can mount a folder over /usr/lib/debug")
    path, debug = extension(ctx, "-g", source=SOURCE), ctx.path("kept.debug")
    recorded(ctx, path)
    own = build_id(path)
    split(ctx, path, debug)
    for to in (".build-id/%s/%s.debug" % (own[:2], own[2:]), path[1:], path[1:] + ".debug"):
        script = ('mount -t tmpfs none /usr/lib/debug && mkdir -p "$(dirname "/usr/lib/debug/$1")" && cp "$2" "/usr/lib/debug/$1" && shift 2 && '
                  'exec "$@"')
        run = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", to, debug, harness.EXTPROF, "report", ctx.path("out.extprof"), "-f",
                              "folded", *BOTH], capture_output=True, text=True, timeout=60, env=harness.environment())
        check(run.returncode == 0 and ";work " in run.stdout and not told(run.stderr), "%s: %s%s", to, run.stderr, run.stdout[-500:])
    return "3 places"


def sections(path):
    """Where the sections with debug information are: name -> (offset, size)."""
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    return {name: (int(offset, 16), int(size, 16)) for name, offset, size in
            re.findall(r"\] \.(\S+) +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", text) if name in SECTIONS}


@reads(timeout=300, patient=True)
def damaged_files(ctx):
    """Files whose debug information lies, and files that end too early, cost lines of this file alone: extprof says why, and its sums
    and names are the same."""
    path = extension(ctx, "-g", source=SOURCE)
    recorded(ctx, path)
    recording = ctx.path("out.extprof")
    good = open(path, "rb").read()
    plain = {plain_of(s): n for s, n in of_work(folded(ctx, recording)[0]).items()}
    total, where, random_ = sum(folded(ctx, recording)[0].values()), sections(path), random.Random(1)
    reasons, known = collections.Counter(), 0
    for turn in range(120):
        data = bytearray(good)
        if turn % 10 == 9:
            del data[random_.randrange(len(data)):]
        else:
            for _ in range(random_.choice((1, 3, 30, 300))):
                offset, size = where[random_.choice(sorted(where))]
                data[offset + random_.randrange(size)] = random_.choice((0, 1, 0x7f, 0x80, 0xff, random_.randrange(256)))
        with open(path, "wb") as f:
            f.write(data)
        began = time.monotonic()
        stacks, err = folded(ctx, recording, *BOTH)
        took = time.monotonic() - began
        check(took < 25 * harness.PATIENCE, "turn %d took %.1f s", turn, took)
        check(sum(stacks.values()) == total, "turn %d: the sum is %d, not %d", turn, sum(stacks.values()), total)
        # The functions that symbols name have all that they had, whatever is said to be in them.
        got = collections.Counter()
        for stack, count in of_work(stacks).items():
            got["work" if re.search(r";work(?=[ ;]|$)", stack) else "none"] += count
        want = sum(n for s, n in plain.items() if re.search(r";work(?=;|$)", s))
        check(got["work"] == want, "turn %d: work has %d, not %d: %s", turn, got["work"], want, stacks)
        why = told(err)
        reasons[why[0] if why else "all"] += 1
        known += not why
    check(len(reasons) >= 3 and 0 < known < 120, "%s", reasons)
    return ", ".join("%s %d" % r for r in reasons.most_common())


def fake_reader(ctx, script):
    """An extprof beside another extprof-lines."""
    folder = ctx.path("fake")
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(os.path.join(folder, "extprof")):
        shutil.copy(harness.EXTPROF, folder)
    at = os.path.join(folder, "extprof-lines")
    with open(at, "w", encoding="utf-8") as f:
        f.write("#!%s -S\n%s" % (sys.executable, script))
    os.chmod(at, 0o755)
    return os.path.join(folder, "extprof")


# As the program itself does: send() is refused there.
ANSWERS = "import os, signal, socket, struct, time\ns = socket.socket(fileno=0)\nsend = lambda data: s.sendmsg([data])\ns.recv(100)\n"
ABOUT = "send(struct.pack('<i', 0) + bytes(256))\nn = len(s.recv(100000)) // 8\n"


@reads(timeout=240, patient=True)
def a_reader_that_lies(ctx):
    """The program that reads a file may crash, loop, use too much time or lie: extprof says so, waits no longer than it says, and takes
    nothing that is no answer."""
    recorded(ctx, extension(ctx, "-g", source=SOURCE))
    recording = ctx.path("out.extprof")
    total = sum(folded(ctx, recording)[0].values())
    crash, slow, none = "the reader of its debug information has crashed", "its debug information takes too long", \
        "the reader of its debug information has given no answer"
    head = "struct.pack('<III', %s)"
    for script, wanted in (
            ("os.kill(os.getpid(), signal.SIGSEGV)", crash),
            ("os.kill(os.getpid(), signal.SIGSYS)", crash),
            ("os.kill(os.getpid(), signal.SIGXCPU)", slow),
            ("", none),
            ("send(b'x' * 300)", none),
            ("send(struct.pack('<i', 5) + bytes(256))", none),
            ("send(struct.pack('<i', -2) + bytes(256))", none),
            ("send(struct.pack('<i', -12) + bytes(256))", "its debug information needs too much memory"),
            ("os.kill(os.getpid(), signal.SIGKILL)", crash),
            ("send(struct.pack('<i', -61) + b'a' * 256)", none),
            ("send(struct.pack('<i', -61) + b'../../x'.ljust(256, b'\\0'))", none),
            (ABOUT + "send(" + head % "7, 0, 0" + ")", none),
            (ABOUT + "send(" + head % "7, 0, 0" + " + bytes(128))", none),
            (ABOUT + "send(" + head % "0, 17, 0" + " + bytes(128))", none),
            (ABOUT + "send(" + head % "0, 1, 900" + " + bytes(128))", none),
            (ABOUT + "send(" + head % "0, 1, 4" + " + struct.pack('<iHH', 1, 4, 4) + bytes(120) + b'abcd')", none),
            (ABOUT + "send(" + head % "0, 1, 4" + " + struct.pack('<iHH', -1, 2, 2) + bytes(120) + b'abcd')", none),
            (ABOUT + "os.kill(os.getpid(), signal.SIGSEGV)", crash),
            ("time.sleep(1000)", slow)):
        began = time.monotonic()
        run = subprocess.run([fake_reader(ctx, ANSWERS + script + "\n"), "report", recording, "-f", "folded", *BOTH], capture_output=True,
                             text=True, timeout=100, env=harness.environment())
        took = time.monotonic() - began
        check(run.returncode == 0 and sum(int(line.rpartition(" ")[2]) for line in run.stdout.splitlines()) == total, "%s: %s", script,
              run.stderr)
        check((told(run.stderr) or ("",))[0] == wanted and not re.search(FILE, run.stdout), "%s: %s", script, run.stderr)
        check("sleep" in script or took < 15 * harness.PATIENCE, "%s took %.1f s", script, took)
    # Names that are none for a terminal.
    text = ANSWERS + ABOUT + ("for i in range(n): send(struct.pack('<III', i, 1, 12) + struct.pack('<iHH', 7, 4, 8) + bytes(120) + "
                              "b'a\\x1b[m/x\\n;\\xe2\\x80\\xaec')\n")
    run = subprocess.run([fake_reader(ctx, text), "report", recording, "-f", "folded", *BOTH], capture_output=True, timeout=100,
                         env=harness.environment())
    check(run.returncode == 0 and b"\x1b" not in run.stdout and b"\xe2\x80\xae" not in run.stdout and b"/x\\x0A" in run.stdout, "%s", run.stdout[-500:])
    # One that others can have put there is not started; and one in a folder into which they can put one.
    mark = ctx.path("planted")
    planted = fake_reader(ctx, "open(%r, 'w')\n" % mark)
    for path, mode, uid in (("fake/extprof-lines", 0o755, 65534), ("fake/extprof-lines", 0o757, 0), ("fake/extprof-lines", 0o775, 0),
                            ("fake", 0o777, 0), ("fake", 0o1777, 0), ("fake", 0o755, 65534)):
        os.chown(ctx.path(path), uid, -1)
        os.chmod(ctx.path(path), mode)
        run = subprocess.run([planted, "report", recording, "-f", "folded", *BOTH], capture_output=True, text=True, timeout=100,
                             env=harness.environment())
        check(run.returncode == 0 and not os.path.exists(mark), "%s of %d, mode %o: it was started", path, uid, mode)
        os.chown(ctx.path(path), 0, -1)
        os.chmod(ctx.path(path), 0o755)
    subprocess.run([planted, "report", recording, "-f", "folded", *BOTH], capture_output=True, timeout=100, env=harness.environment(), check=True)
    check(os.path.exists(mark), "it is not started at all")
    # Without the program.
    os.unlink(ctx.path("fake/extprof-lines"))
    run = subprocess.run([ctx.path("fake/extprof"), "report", recording, "-f", "folded", *BOTH], capture_output=True, text=True, timeout=100,
                         env=harness.environment())
    check(run.returncode == 0 and (told(run.stderr) or ("",))[0] == "the program extprof-lines is not installed", "%s", run.stderr)


@reads(timeout=60)
def the_reader_has_no_rights(ctx):
    """Before it gets the file, the program that reads it has no capability, gets none, opens nothing, and has bounds for memory and time."""
    program = PROGRAM
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with subprocess.Popen([program], stdin=its, stdout=subprocess.DEVNULL) as p:
        its.close()
        until = time.monotonic() + 10 * harness.PATIENCE
        while True:
            with open("/proc/%d/status" % p.pid, encoding="utf-8") as f:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
            if status["Seccomp"] == "2" and status["State"].startswith("S"):
                break
            check(p.poll() is None and time.monotonic() < until, "it waits for nothing: %s", status)
            time.sleep(0.01)
        with open("/proc/%d/limits" % p.pid, encoding="utf-8") as f:
            limits = {line[:26].strip(): line[26:].split()[:2] for line in f}
        check({status[c] for c in ("CapEff", "CapPrm", "CapInh")} == {"0" * 16} and status["NoNewPrivs"] == "1", "%s", status)
        check(limits["Max cpu time"] == ["10", "11"] and int(limits["Max address space"][1]) < 2 << 30, "%s", limits)
        check(limits["Max file size"] == limits["Max core file size"] == limits["Max processes"] == ["0", "0"], "%s", limits)
        # A file with a debug link to another one, a build id that is not its own: an answer, and no more.
        fd = os.open(program, os.O_RDONLY)
        ours.sendmsg([struct.pack("<QI64s4x", os.path.getsize(program), 20, bytes(20))],
                     [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
        os.close(fd)
        about = ours.recv(1000)
        check(len(about) == 260 and struct.unpack("<i", about[:4])[0] == -116, "%s", about)
        ours.close()
        check(p.wait(10 * harness.PATIENCE) == 0, "it ends with %s", p.returncode)
    run = subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False)
    check(run.returncode == 2, "without a socket it ends with %s", run.returncode)
