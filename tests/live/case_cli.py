"""The command line as a process: commands, signals, whose the output is."""
import glob
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import time

import folded
import harness
from case_errors import fails
from case_lifecycle import BUSY, busy
from harness import case, check, worked

USER, GROUP, OTHER = 65533, 65532, 65531


@case(timeout=30, bpf=False, patient=True)
def commands(ctx):
    """A word that is no command runs no program."""
    for word in ("uptime", "drop", "cat"):
        fails(ctx, harness.USAGE, word, "-p", "1", says=['"%s" is no command' % word, "extprof record -- " + word])
    fails(ctx, harness.USAGE, "recrod", "-p", "1", says=["did you mean", "extprof record"])
    fails(ctx, harness.USAGE, "help", "recrod", says=["did you mean", "extprof record"])
    # Options without a command are those of record; a program needs -- then.
    fails(ctx, harness.USAGE, "-t", "touch", ctx.path("touched"), says=["extprof record -- touch"])
    fails(ctx, harness.USAGE, "-p", "1", "dump", says=["extprof record -- dump"])
    check(not os.path.exists(ctx.path("touched")), "the program was run")
    # It is told what to call.
    for args in (("-p", "x"), ("record", "-p", "x"), ("record", "--nonsense"), ("record", "-p")):
        p = fails(ctx, harness.USAGE, *args, says=["Try `extprof record --help'"])
        check(p.err.startswith("extprof record: "), "%s: %s", args, p.err)
    return "no command, nearly a command, usage of record"


@case(timeout=30, bpf=False, patient=True)
def help_of_commands(ctx):
    listed = ctx.extprof("--help")
    check(listed.status == 0 and "\n  record " in listed.out and "\n  help " in listed.out, listed.out)
    for args in (("-h",), ("-?",), ("help",), ("help", "help")):
        check(ctx.extprof(*args).out == listed.out, "%s", args)
    options = ctx.extprof("record", "--help")
    check(options.status == 0 and "--group-by" in options.out and "\n  record " not in options.out, options.out)
    check(options.out.startswith("Usage: extprof record "), options.out)
    check(ctx.extprof("help", "record").out == options.out, "help record is not record --help")
    every = ctx.extprof("record", "--help=all").ok().out
    check("--alloc-interval" in every and "--alloc-interval" not in options.out, every)
    wide = [line for line in (listed.out + options.out + every).splitlines() if len(line) > 80]
    check(not wide, "wide lines: %s", wide)
    # The help of each command is seen at once: 24 lines of 80 columns, with the prompt.
    names = [line.split("\t")[0] for line in ctx.extprof("help", "--list").ok().out.splitlines()]
    check(len(names) > 10, "%s", names)
    for name in names:
        shown = ctx.extprof(name, "--help").ok().out.splitlines()
        check(len(shown) < 24 and all(len(line) <= 80 for line in shown), "%s: %d lines, %s", name, len(shown),
              [line for line in shown if len(line) > 80])
        shown = ctx.extprof(name, "--help=all").out.splitlines()
        check(all(len(line) <= 80 for line in shown), "%s: %s", name, [line for line in shown if len(line) > 80])
    return "%d lines, %d lines, %d commands" % (listed.out.count("\n"), options.out.count("\n"), len(names))


@case(timeout=30, bpf=False, patient=True)
def version(ctx):
    for args in (("--version",), ("-V",), ("record", "--version")):
        p = ctx.extprof(*args)
        check(p.status == 0 and re.match(r"extprof \d+\.\d+\.\d+ \(debugging interface \d+\.\d+\)$", p.out.strip()),
              "%s: status %d, %s%s", args, p.status, p.out, p.err)
    return p.out.strip()


def ignore(*signals):
    def before_exec():
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
    return before_exec


def mask(pid, field):
    with open("/proc/%d/status" % pid) as f:
        return int(next(line for line in f if line.startswith(field + ":")).split()[1], 16)


@case(timeout=60, patient=True)
def ignored_signals(ctx):
    """As under nohup, and in the background of a shell without job control."""
    ruby = busy(ctx)
    out = ctx.path("out.folded")
    numbers = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1)
    p = ctx.extprof_start("-p", ruby.pid, "-d", "2", "-F", 1000, "-o", out, preexec_fn=ignore(*numbers))
    ctx.attached(p)
    for number in numbers:
        p.signal(number)
        check(mask(p.pid, "SigIgn") >> number - 1 & 1, "signal %d is not ignored", number)
        check(not mask(p.pid, "SigBlk") >> number - 1 & 1, "signal %d is blocked", number)
    profile = ctx.profile_of(p, path=out).ok()
    check("(duration)" in profile.out and "so far" not in profile.err, "%s%s", profile.out, profile.err)
    # What is not ignored ends it.
    p = ctx.extprof_start("-p", ruby.pid, "-d", "30", "-o", out, preexec_fn=ignore(signal.SIGINT))
    ctx.attached(p)
    worked(ruby.pid, 0.3)
    p.signal(signal.SIGINT)
    p.signal(signal.SIGHUP)
    check("(terminated)" in ctx.profile_of(p, path=out).ok().out, "SIGHUP did not end it")
    return "SIGHUP, SIGINT, SIGQUIT, SIGUSR1"


def files(pid):
    """What the process has open."""
    directory = "/proc/%d/fd" % pid
    found = []
    for fd in os.listdir(directory):
        try:
            found.append(os.readlink(os.path.join(directory, fd)))
        except OSError:
            pass  # it was closed meanwhile
    return found


@case(timeout=60, patient=True)
def ignored_by_the_command(ctx):
    """A command gets the signals as extprof got them: ignored ones stay so, none is blocked."""
    p = ctx.extprof_start("record", "-q", "--", harness.RUBY, "--disable=gems", "-e", BUSY + "busy_method while true",
                          preexec_fn=ignore(signal.SIGHUP))
    p.expect("ready")
    with open("/proc/%d/task/%d/children" % (p.pid, p.pid)) as f:
        command = int(f.read().split()[0])
    check(mask(command, "SigIgn") & 1, "the command does not ignore SIGHUP")
    check(not mask(command, "SigBlk"), "signals are blocked in the command: %x", mask(command, "SigBlk"))
    # Before its ruby is found the recording ends with nothing, and another status.
    harness.until(lambda: "/proc/%d/mem" % command in files(p.pid), "the ruby was not found")
    # A recording without a sample has another status, too.
    worked(command, 0.3)
    p.signal(signal.SIGTERM)
    status = p.wait()
    check(status == 128 + signal.SIGTERM, "status %d", status)
    return "status %d" % status


def so_far(path, before, timeout=20):
    """The next version of the file: it is another file."""
    def number():
        return os.stat(path).st_ino if os.path.exists(path) else None
    harness.until(lambda: number() not in (None, before), "no profile so far", timeout)
    with open(path, encoding="utf-8") as f:
        return number(), f.read()


@case(timeout=60, patient=True)
def profile_so_far(ctx):
    ruby = busy(ctx)
    summary = ctx.path("out.summary")
    p = ctx.extprof_start("-p", ruby.pid, "-F", 1000, "-t", "-o", summary)
    ctx.attached(p)
    seen, inode = [], None
    for _ in range(3):
        worked(ruby.pid, 0.3)
        p.signal(signal.SIGUSR1)
        inode, text = so_far(summary, inode)
        sums = folded.Sums(text)
        check(sums.balanced and sums.taken > 100 and not sums.lost, sums.text)
        check("Object#busy_method" in text and "unknown thread" not in text, text)
        seen.append(sums.taken)
    p.signal(signal.SIGINT)
    out, err = p.communicate()
    check(p.p.returncode == 0 and err.count("the profile so far is in " + summary) == 3, err)
    last = folded.Sums(out)
    check(last.balanced and seen == sorted(seen) and seen[-1] <= last.taken, "%s, then %s", seen, last.text)
    # The sum of a folded file is what it shows.
    path = ctx.path("out.folded")
    p = ctx.extprof_start("-p", ruby.pid, "-F", 1000, "-o", path, "-q")
    ctx.attached(p)
    worked(ruby.pid, 0.3)
    p.signal(signal.SIGUSR1)
    inode, text = so_far(path, None)
    n = sum(s.count for s in folded.parse(text) if "Object#busy_method" in s.labels())
    check(n > 100, "%d samples so far:\n%s", n, text)
    p.signal(signal.SIGTERM)
    profile = ctx.profile_of(p, path=path).ok()
    check(sum(s.count for s in profile.stacks) >= n and not profile.err, profile.err)
    left = [f for f in os.listdir(ctx.directory) if f.startswith(".")]
    check(not left, "files left: %s", left)
    return "%s of %d samples" % (seen, last.taken)


@case(timeout=60, patient=True)
def profile_so_far_to_streams(ctx):
    """Without a file the tables are shown; into a pipe only one profile goes."""
    ruby = busy(ctx)
    p = ctx.extprof_start("-p", ruby.pid, "-F", 1000)
    ctx.attached(p)
    worked(ruby.pid, 0.3)
    p.signal(signal.SIGUSR1)
    first = ""
    while "samples taken" not in first:
        first = p.line()
    check(folded.Sums(first).balanced, first)
    p.signal(signal.SIGINT)
    profile = ctx.profile_of(p).ok()
    check(profile.sums.balanced and profile.sums.taken >= folded.Sums(first).taken, profile.out)
    p = ctx.extprof_start("-p", ruby.pid, "-F", 1000, "-o", "-", "-q")
    ctx.attached(p)
    worked(ruby.pid, 0.3)
    p.signal(signal.SIGUSR1)
    worked(ruby.pid, 0.3)
    p.signal(signal.SIGINT)
    out, err = p.communicate()
    check(p.p.returncode == 0 and "so far is not written" in err, err)
    stacks = [str(line).rpartition(" ")[0] for line in out.splitlines()]
    check(stacks and len(stacks) == len(set(stacks)), "two profiles in one stream:\n%s", out)
    # A named pipe whose reader has gone: to open it again would wait for another reader.
    pipe = ctx.path("pipe")
    os.mkfifo(pipe)
    reader = ctx.start(["cat", pipe])
    p = ctx.extprof_start("-p", ruby.pid, "-F", 1000, "-o", pipe, "-f", "folded", "-q")
    ctx.attached(p)
    reader.kill()
    p.signal(signal.SIGUSR1)
    said = p.p.stderr.readline().decode()
    check("so far is not written: " + pipe in said, "no word of the pipe: %s", said)
    check(p.p.poll() is None, "it has ended: %s", p.p.returncode)
    p.kill()
    # Nothing to show is no reason to end.
    p = ctx.extprof_start("record", "-q", "-o", ctx.path("none.svg"), "--", "sh", "-c", "echo begun; sleep 2; exit 3")
    p.expect("begun")
    p.signal(signal.SIGUSR1)
    out, err = p.communicate()
    check("no ruby was found so far" in err and p.p.returncode != -signal.SIGUSR1, "status %d: %s", p.p.returncode, err)
    return "%s, then %s" % (first, profile.sums.text)


def owner(path):
    st = os.lstat(path)
    return st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)


@case(timeout=90, patient=True)
def owner_under_sudo(ctx):
    """A new file is the user's where the user could have made it; an old one keeps its owner."""
    check(os.geteuid() == 0, "this needs root, as sudo gives it")
    ruby = busy(ctx)
    env = {"SUDO_UID": str(USER), "SUDO_GID": str(GROUP)}

    def directory(name, uid, gid, mode):
        path = ctx.path(name)
        os.mkdir(path)
        os.chown(path, uid, gid)
        os.chmod(path, mode)
        return path

    def record(path, umask=0o022, **options):
        how = [] if path.endswith(".extprof") else ["-f", "folded"]
        ctx.extprof("record", "-p", ruby.pid, "-d", "0.1", "-F", 1000, "-q", "-o", path, *how,
                    env=options.get("env", env), preexec_fn=lambda: os.umask(umask)).ok()
        return owner(path)

    own = directory("own", USER, GROUP, 0o755)
    roots = directory("roots", 0, 0, 0o755)
    shared = directory("shared", 0, 0, 0o1777)
    group = directory("group", 0, GROUP, 0o2770)
    others = directory("others", OTHER, GROUP, 0o757)
    said = [
        (record(own + "/new"), (USER, GROUP, 0o600)),
        (record(own + "/umask", 0), (USER, GROUP, 0o600)),
        (record(shared + "/new"), (USER, GROUP, 0o600)),
        (record(own + "/new.extprof"), (USER, GROUP, 0o600)),
        (record(group + "/new.extprof"), (USER, GROUP, 0o600)),
        (record(roots + "/new.extprof"), (0, 0, 0o600)),
        (record(own + "/by-root.extprof", env={}), (0, 0, 0o600)),
        (record(group + "/new"), (USER, GROUP, 0o600)),
        # Root may write there, the user may not: /etc/profile.d, say.
        (record(roots + "/new"), (0, 0, 0o600)),
        # The group is excluded although all others may.
        (record(others + "/new"), (0, 0, 0o600)),
        # Without sudo, and when root calls sudo.
        (record(own + "/by-root", env={}), (0, 0, 0o600)),
        (record(own + "/root-by-sudo", env={"SUDO_UID": "0", "SUDO_GID": "0"}), (0, 0, 0o600)),
    ]
    # Old files keep owner, group and mode: through links too, in a directory of the user.
    for name, uid, mode in (("theirs", OTHER, 0o640), ("of-root", 0, 0o600)):
        path = ctx.write("roots/" + name, "before\n", mode)
        os.chown(path, uid, OTHER)
        os.symlink(path, own + "/to-" + name)
        record(own + "/to-" + name)
        check(os.path.islink(own + "/to-" + name), "the link was replaced")
        said.append((owner(path), (uid, OTHER, mode)))
    # Links of root lead anywhere, also to a file that is not there.
    os.symlink(roots + "/not-there", own + "/dangling")
    record(own + "/dangling")
    said.append((owner(roots + "/not-there"), (0, 0, 0o600)))
    os.symlink(roots, own + "/elsewhere")
    said.append((record(own + "/elsewhere/second"), (0, 0, 0o600)))
    # Links of the user lead to what is the user's.
    os.mkdir(own + "/deep")
    os.chown(own + "/deep", USER, GROUP)
    for name, to in (("current", "deep"), ("mine", "new"), ("third", "deep/third"), ("up", ".."), ("etc", roots),
                     ("theirs", roots + "/theirs"), ("made", roots + "/made")):
        os.symlink(to, own + "/" + name)
        os.lchown(own + "/" + name, USER, GROUP)
    said.append((record(own + "/current/second"), (USER, GROUP, 0o600)))
    record(own + "/mine")
    record(own + "/third")
    said.append((owner(own + "/deep/third"), (USER, GROUP, 0o600)))
    for name in ("up/x", "etc/x", "theirs", "made"):
        fails(ctx, harness.OUTPUT, "-p", ruby.pid, "-d", "0.1", "-o", own + "/" + name, "-f", "folded", env=env,
              says=["a symbolic link of another user"])
    fails(ctx, harness.OUTPUT, "record", "-p", ruby.pid, "-d", "0.1", "-o", own + "/etc/x.extprof", env=env,
          says=["a symbolic link of another user"])
    # Each file of a recording in several.
    ctx.extprof("record", "-p", ruby.pid, "-d", "0.7", "-q", "-o", own + "/many.extprof", "--rotate", "200ms", "--keep", "2", env=env).ok()
    many = glob.glob(own + "/many-*.extprof")
    check(len(many) == 2, "%s", many)
    said += [(owner(path), (USER, GROUP, 0o600)) for path in many]
    for i, (got, wanted) in enumerate(said):
        check(got == wanted, "file %d: %s, not %s", i, got, wanted)
    for env_ in ({"SUDO_UID": "x", "SUDO_GID": "1"}, {"SUDO_UID": "-1", "SUDO_GID": "1"},
                 {"SUDO_UID": "4294967295", "SUDO_GID": "1"}):
        fails(ctx, harness.USAGE, "-p", ruby.pid, "-d", "0.1", "-o", own + "/none.svg", says=["SUDO_UID"], env=env_)
    return "%d files" % len(said)


@case(timeout=90, patient=True)
def output_in_a_folder_of_others(ctx):
    """Root does not write over a file that another user's link leads to, or into a file that other users may read."""
    check(os.geteuid() == 0, "this needs root")
    ruby = busy(ctx)
    of_root, theirs = ctx.write("of-root", "of root\n", 0o600), ctx.path("theirs")
    os.mkdir(theirs)
    os.chmod(theirs, 0o777)
    for make, name in ((os.mkfifo, "fifo"), (lambda path: os.symlink(of_root, path), "link"),
                       (lambda path: open(path, "w").close(), "file")):
        path = os.path.join(theirs, name)
        make(path)
        os.lchown(path, OTHER, OTHER)
        for command in ("record", "stat"):
            for env in ({}, {"SUDO_UID": str(USER), "SUDO_GID": str(GROUP)}):
                fails(ctx, harness.OUTPUT, command, "-p", ruby.pid, "-d", "0.1", "-o", path,
                      *(("-f", "folded") if command == "record" else ()), env=env, says=["another user"])
    # What is a FIFO at one moment is a link at the next one. Whatever extprof finds, it writes to no file of root's.
    names = [os.path.join(theirs, name) for name in ("fifo", "link")]
    swaps = ctx.start([sys.executable, "-c", "import ctypes, sys\nlibc = ctypes.CDLL(None)\na, b = (x.encode() for x in sys.argv[1:])\n"
                       "print('begun', flush=True)\nwhile True: libc.renameat2(-100, a, -100, b, 2)", *names])
    swaps.expect("begun")
    for i in range(20):
        p = ctx.extprof("-p", ruby.pid, "-d", "0.05", "-q", "-o", names[0], "-f", "folded", "--reader", "nonblocking")
        check(p.status == harness.OUTPUT, "status %d: %s", p.status, p.err)
    swaps.kill()
    with open(of_root, encoding="utf-8") as f:
        check(f.read() == "of root\n", "it was written over")
    return "12 refusals, 20 races"


@case(timeout=60, waits=True)
def no_process_matches(ctx):
    """Conditions that no process meets: that is said at once, and -d ends it with status 1."""
    for command, more in (("record", ("-q",)), ("record", ("-o", ctx.path("out.svg"))), ("stat", ()), ("top", ("-b", "--count", "2"))):
        for said in ("--name no-such-program*", "--user 65530"):
            began = time.monotonic()
            p = ctx.extprof(command, *more, *said.split(" ", 1), "-d", "0.5")
            took = time.monotonic() - began
            check(p.status == 1 and "no ruby process matched %s in 0.5 s: nothing was recorded" % said in p.err, "%s: status %d: %s",
                  command, p.status, p.err)
            check(("no ruby process matches %s yet; waiting" % said in p.err) == ("-q" not in more), p.err)
            check(not p.out.strip(), p.out)
            check(took > 0.5, "%s ended after %.1f s", command, took)
        # A group that is not there cannot come to be matched: that is an error at once.
        p = ctx.extprof(command, *more, "--cgroup", "no-such-group", "-d", "30")
        check(p.status == harness.NO_PROCESS and "there is no cgroup /no-such-group" in p.err, "%s: status %d: %s", command, p.status,
              p.err)
    check(not os.path.exists(ctx.path("out.svg")), "a file without a recording")
    # One that comes later is recorded, and the duration begins with it. It is to come within that: a busy machine takes a second.
    name = ctx.write("comes-later.rb", BUSY + "busy_method while true")
    p = ctx.extprof_start("--name", "comes-later*", "-d", "4", "-F", 1000, "-o", ctx.path("out.folded"))
    check("yet; waiting" in p.p.stderr.readline().decode(), "it does not say that it waits")
    later = ctx.ruby(name)
    harness.prefer(later.pid)
    profile = ctx.profile_of(p).ok()
    # How many samples there are is its share of the CPU. How long that was is given in tenths.
    lasted = float(re.search(r" by the clock for ([\d.]+) s ", profile.out).group(1))
    check(profile.sums.taken > 100 and lasted > 3.9, "%s in %.1f s", profile.sums.text, lasted)
    return "%s in %.1f s" % (profile.sums.text, lasted)


@case(timeout=60, patient=True)
def starting(ctx):
    """A signal while it starts: nothing was measured, and no zeros are shown."""
    ruby = busy(ctx)
    said = []
    for command in ("record", "stat"):
        for i in range(12):
            p = ctx.extprof_start(command, "-p", ruby.pid)
            time.sleep(0.01 * i)
            p.signal(signal.SIGINT)
            out, err = p.communicate(20)
            status = p.p.returncode
            said.append(status)
            check(status in (-signal.SIGINT, harness.NOT_READY) or out, "status %d: %s%s", status, out, err)
            check(status != harness.NOT_READY or (not out and "nothing was measured yet" in err), "%s%s", out, err)
    return str(said)


def on_terminal(ctx, term, *args):
    """What extprof writes to a terminal."""
    text = ctx.path("terminal")
    command = " ".join(map(shlex.quote, map(str, (harness.EXTPROF, *args))))
    p = ctx.start(["script", "-qec", "stty cols 80 rows 24; " + command, text], env={"TERM": term}, stdin=subprocess.DEVNULL,
                  stdout=subprocess.DEVNULL)
    status = p.p.wait(30)
    with open(text, encoding="utf-8", errors="replace") as f:
        return status, f.read()


@case(timeout=60, patient=True)
def dumb_terminal(ctx):
    """TERM=dumb has no screen and no line that changes; another terminal has."""
    ruby = busy(ctx)
    status, text = on_terminal(ctx, "dumb", "top", "-p", ruby.pid, "--count", "2")
    check(status == harness.OUTPUT and "cannot be used: dumb" in text and "--batch" in text, "status %d: %s", status, text)
    status, text = on_terminal(ctx, "dumb", "-p", ruby.pid, "-d", "1", "--rows", "1")
    check(status == 0 and "samples taken" in text and "\033" not in text, "status %d: %r", status, text)
    status, text = on_terminal(ctx, "xterm", "record", "-p", ruby.pid, "-d", "1", "--rows", "1", "-o", ctx.path("live.extprof"))
    check(status == 0 and "extprof: starting ...\033[K" in text and re.search(" samples, 0 lost, [0-9.]+ MB written\033\\[K", text),
          "status %d: %r", status, text)
    status, text = on_terminal(ctx, "xterm", "-p", ruby.pid, "-d", "1", "--rows", "1")
    check(status == 0 and " samples, 0 lost\033[K" in text, "status %d: %r", status, text)
    return "top refuses, record writes no escape sequences"


@case(timeout=60, waits=True)
def master_without_its_workers(ctx):
    """-p of a process whose children work: record, stat, top and dump say so, and do not with -s."""
    ruby = ctx.ruby("-e", BUSY + "2.times { fork { busy_method while true } }\nputs 'forked'\nsleep")
    ruby.expect("ready")
    ruby.expect("forked")
    for args in (("record", "-d", "1"), ("stat", "-d", "1"), ("top", "-b", "--count", "2", "-m", "cpu")):
        p = ctx.extprof(*args, "-p", ruby.pid)
        check(re.search(r"children used \d\.\d\d s of CPU time: ", p.err), "%s: %s", args, p.err)
        check("children used" not in ctx.extprof(*args, "-s", "-p", ruby.pid).err, "%s", args)
    said = p.err.strip()
    p = ctx.extprof("dump", "-p", ruby.pid).ok()
    check(p.err == "extprof: 2 more rubies run below that process: -s shows them too\n", "dump: %s", p.err)
    for args in (("-s", "-p", ruby.pid), ("--json", "-p", ruby.pid)):
        check(not ctx.extprof("dump", *args).ok().err, "dump %s", args)
    return said


@case(timeout=60)
def verbose(ctx):
    """-v tells what was found, and what libbpf says; without it nothing is told."""
    ruby = busy(ctx)
    for option in ((), ("-v",)):
        p = ctx.extprof("-p", ruby.pid, "-d", "0.3", "--rows", "1", *option).ok()
        for said in ("extprof: reader: ebpf", "extprof: process %d: found the interface at 0x" % ruby.pid, "extprof: libbpf: "):
            check((said in p.err) == bool(option), "%s: %r in %s", option, said, p.err[:2000])
    return "%d lines" % p.err.count("\n")


@case(timeout=60, patient=True)
def several_outputs(ctx):
    """Each -o is a file of the same recording, by its suffix."""
    ruby = busy(ctx)
    svg, stacks, summary = ctx.path("a.svg"), ctx.path("out.folded"), ctx.path("c.summary")
    p = ctx.extprof_start("-p", ruby.pid, "-F", 1000, "-d", "1", "-o", svg, "-o", stacks, "-o", summary)
    profile = ctx.profile_of(p, path=stacks).ok()
    for path, name in ((svg, "flamegraph"), (stacks, "folded"), (summary, "summary")):
        check("%s written to %s" % (name, path) in profile.out, profile.out)
    with open(svg, encoding="utf-8") as f:
        check("<svg" in f.read(), "no SVG")
    with open(summary, encoding="utf-8") as f:
        sums = folded.Sums(f.read())
    check(sums.taken == profile.sums.taken and sum(s.count for s in profile.stacks) == sums.taken - sums.lost, "%s, %s",
          sums.text, profile.sums.text)
    return sums.text


@case(timeout=60, patient=True)
def closed_descriptors(ctx):
    """Started without standard input and outputs: nothing else gets their numbers, and the tables are missed."""
    ruby, out = busy(ctx), ctx.path("out.folded")
    for closed in ((0,), (1,), (2,), (0, 1, 2)):
        def close():
            for fd in closed:
                os.close(fd)
        p = ctx.extprof("-p", ruby.pid, "-d", "0.3", "-F", 1000, "-o", out, preexec_fn=close)
        wanted = harness.OUTPUT if 1 in closed else 0
        check(p.status == wanted, "without %s: status %d: %s", closed, p.status, p.err)
        text = open(out, encoding="utf-8").read()
        check(folded.parse(text) and "extprof" not in text and "samples taken" not in text, "without %s: %s", closed, text)
        os.unlink(out)
    return "4 ways"


@case(timeout=60, patient=True)
def nothing_for_a_file(ctx):
    """A profile without samples is no file: the old one stays, and the status says so."""
    ruby = busy(ctx, "sleep")
    out = ctx.write("out.folded", "before\n")
    for extra in ((), ("--reader", "nonblocking")):
        p = ctx.extprof("-p", ruby.pid, "-d", "0.3", "-o", out, "-q", *extra)
        check(p.status == 1 and "is not written: nothing would be in it" in p.err, "status %d: %s", p.status, p.err)
        with open(out, encoding="utf-8") as f:
            check(f.read() == "before\n", "the file was changed")
    # Killed at any moment, it leaves nothing.
    killed = ctx.extprof_start("-p", busy(ctx).pid, "-o", ctx.path("new.svg"), "-q")
    ctx.attached(killed)
    killed.kill()
    left = [f for f in os.listdir(ctx.directory) if f.startswith((".", "new"))]
    check(not left, "files left: %s", left)
    return p.err.strip()


@case(timeout=60, patient=True)
def command_under_sudo(ctx):
    """It is the user's, with the user's groups; --keep-root keeps root."""
    check(os.geteuid() == 0, "this needs root, as sudo gives it")
    env = {"SUDO_UID": str(USER), "SUDO_GID": str(GROUP)}
    said = []
    for options, wanted in (([], "%d %d" % (USER, GROUP)), (["--keep-root"], "0 0")):
        p = ctx.extprof_start("record", "-q", *options, "--", "sh", "-c", "echo $(id -u) $(id -g); id -G; exec true", env=env)
        said.append((p.line(), p.line()))
        p.communicate()
        check(said[-1][0] == wanted, "%s, not %s", said[-1], wanted)
    check(said[0][1] == str(GROUP), "groups %s", said[0][1])
    return str(said)
