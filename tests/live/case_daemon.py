"""extprof daemon: what it has recorded is there afterwards, by the clock, whatever happened to it."""
import datetime
import glob
import os
import re
import signal
import socket
import subprocess
import time

import case_pause
import case_rotate
import harness
from case_rotate import folded_of, number, span_of, used
from harness import case, check

# linux/capability.h
CAPABILITIES = {"CAP_DAC_READ_SEARCH": 2, "CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7, "CAP_SYS_PTRACE": 19, "CAP_SYS_ADMIN": 21,
                "CAP_CHECKPOINT_RESTORE": 40, "CAP_SYS_RESOURCE": 24, "CAP_SYSLOG": 34, "CAP_PERFMON": 38, "CAP_BPF": 39}
UTC = "%Y-%m-%dT%H:%M:%SZ"


def start(ctx, *options, folder="history", says="records into", **more):
    """A daemon with a configuration of its own: that of the machine does not count."""
    if not os.path.exists(ctx.path("none.conf")):
        ctx.write("none.conf", "")
    config = [] if "--config" in options else ["--config", ctx.path("none.conf")]
    daemon = ctx.extprof_start("daemon", *config, *options, ctx.path(folder), **more)
    if says:
        case_pause.says(daemon, says)
    return daemon


def end(daemon, status=0, signal_number=signal.SIGTERM):
    daemon.signal(signal_number)
    out, err = daemon.communicate()
    check(daemon.p.returncode == status, "status %d: %s", daemon.p.returncode, err[-500:])
    return err


def files(ctx, folder="history"):
    return case_rotate.files_of(ctx, folder + "/extprof")


def at(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime(UTC)


def cpu_of(spans, method, since, until):
    return used(spans, method, since, until) / 1e9


@case(timeout=120)
def by_the_clock(ctx):
    """Three seconds of a program that it has found by itself, by the program's clocks; the default modes and what they show."""
    daemon = start(ctx, "--rotate", "1s", "--name", "spans.rb", "-F", "199")
    ruby = ctx.ruby(ctx.write("spans.rb", case_rotate.PROGRAM))
    ruby.expect("ready")
    harness.until(lambda: len(files(ctx)) >= 6, "there are not 6 files", timeout=60)
    end(daemon)
    spans = case_rotate.log_of(ruby)
    paths = files(ctx)
    case_rotate.verify(ctx, paths)
    modes = case_rotate.sql(ctx, paths[1], "SELECT group_concat(name, ',') FROM modes")
    check(modes == [["cpu,wall,gc"]], "modes: %s", modes)
    begin = number(ctx, paths[0], "SELECT value FROM meta WHERE key='started_unix_ns'")
    wall = begin - span_of(ctx, paths[0])[0]
    since = int(begin / 1e9) + 2
    run = ctx.extprof("report", ctx.path("history"), "-m", "cpu", "--since", at(since), "--until", at(since + 3), "--unit", "samples",
                      "-f", "folded").ok()
    got = folded_of(run)
    for method, samples in got.items():
        truth = cpu_of(spans, method, since * 1e9 - wall, (since + 3) * 1e9 - wall)
        check(abs(samples / 199 - truth) <= 0.15 * truth + 0.02, "%s: %.2f s by samples, %.2f s by its clock", method, samples / 199, truth)
    waits = ctx.extprof("report", ctx.path("history"), "-m", "wall", "--since", at(since), "--until", at(since + 3), "-f", "folded").ok()
    check("Queue#pop" in waits.out or "waits" in waits.out or "Kernel#sleep" in waits.out, "no wait: %s", waits.out[-500:])
    return "alpha %.2f s, beta %.2f s by samples, %.2f s and %.2f s by the program's clocks" % (
        got["alpha"] / 199, got["beta"] / 199, *(cpu_of(spans, m, since * 1e9 - wall, (since + 3) * 1e9 - wall) for m in got))


@case(timeout=120)
def goes_on_after_kill(ctx):
    """kill -9: what was written is there, the next one goes on in the folder, and says how long nothing was recorded."""
    ruby = ctx.ruby(ctx.write("spans.rb", case_rotate.PROGRAM))
    ruby.expect("ready")
    daemon = start(ctx, "--rotate", "1s", "--name", "spans.rb")
    harness.until(lambda: len(files(ctx)) >= 3, "there are not 3 files", timeout=60)
    daemon.kill()
    before = files(ctx)
    # The time without a recording is what is told, in whole seconds.
    killed = time.time()
    time.sleep(4)
    daemon = start(ctx, "--rotate", "1s", "--name", "spans.rb", says="the history of")
    harness.until(lambda: len(files(ctx)) >= len(before) + 2, "it does not go on", timeout=60)
    said = daemon.said.decode() + end(daemon)
    told = re.search(r"ends at (.{19}), (\d+) s ago", said)
    # Each second a file ends; the program begins meanwhile.
    check(told and 3 <= int(told.group(2)) <= 8, "it says: %s", said)
    check(set(before) <= set(files(ctx)), "files are gone: %s", set(before) - set(files(ctx)))
    run = ctx.extprof("report", ctx.path("history"), "-m", "cpu", "-f", "folded", "--since", at(killed - 10))
    check(run.status == 0 and sum(folded_of(run).values()) > 0, "status %d: %s", run.status, run.err)
    return "%d files before, %d after; nothing for %.1f s" % (len(before), len(files(ctx)), time.time() - killed)


@case(timeout=120)
def removes_old_files(ctx):
    """By age and by size; files of others stay."""
    ruby = ctx.ruby(ctx.write("spans.rb", case_rotate.PROGRAM))
    ruby.expect("ready")
    os.mkdir(ctx.path("history"), 0o700)
    old = ctx.path("history/extprof-20200101-000000-000Z.extprof")
    mine = ctx.path("history/mine.extprof")
    for path in old, mine:
        with open(path, "w") as f:
            f.write("x" * 100000)
        os.utime(path, (0, 0))
    daemon = start(ctx, "--rotate", "500ms", "--name", "spans.rb", "--keep-for", "5s")
    check(not os.path.exists(old) and os.path.exists(mine), "of %s", os.listdir(ctx.path("history")))
    harness.until(lambda: len(files(ctx)) >= 12, "there are not 12 files", timeout=60)
    first = files(ctx)[0]
    harness.until(lambda: not os.path.exists(first), "%s stays" % first, timeout=60)
    end(daemon)
    left = files(ctx)
    check(len(left) >= 5, "%d are left", len(left))
    daemon = start(ctx, "--rotate", "500ms", "--name", "spans.rb", "--keep-size", "1M")
    size = sum(os.stat(p).st_blocks * 512 for p in glob.glob(ctx.path("history/extprof-*")))
    check(size <= (1 << 20) + 200000, "%d bytes are left", size)
    end(daemon)
    check(os.path.exists(mine), "a file of others is gone")
    return "%d files left by age, %d bytes by size" % (len(left), size)


@case(timeout=120)
def reads_its_configuration(ctx):
    """The command line comes first; SIGHUP has the file read again, and a wrong one changes nothing."""
    ruby = ctx.ruby(ctx.write("spans.rb", case_rotate.PROGRAM))
    ruby.expect("ready")
    config = ctx.write("extprof.conf", "# test\nrate = 49\nmode = cpu\nname = spans.rb\nrotate = 1h\n")
    daemon = start(ctx, "--config", config, "--mode", "wall,cpu")
    harness.until(lambda: samples(ctx) > 5, "no samples", timeout=60)
    ctx.write("extprof.conf", "rate = 99\nname = spans.rb\n")
    daemon.signal(signal.SIGHUP)
    case_pause.says(daemon, "the configuration was read")
    case_pause.says(daemon, "records into")
    harness.until(lambda: samples(ctx) > 5, "no samples after SIGHUP", timeout=60)
    ctx.write("extprof.conf", "rat = 99\n")
    daemon.signal(signal.SIGHUP)
    case_pause.says(daemon, "line 1: there is no option \"rat\"")
    case_pause.says(daemon, "the configuration stays as it was")
    case_pause.says(daemon, "records into")
    harness.until(lambda: samples(ctx) > 5, "no samples after a wrong file", timeout=60)
    # A value that is wrong is found by the same check as on a command line.
    ctx.write("extprof.conf", "rate = fast\n")
    daemon.signal(signal.SIGHUP)
    case_pause.says(daemon, "fast is no rate")
    case_pause.says(daemon, "the configuration stays as it was")
    case_pause.says(daemon, "records into")
    end(daemon)
    paths = files(ctx)
    rates = [number(ctx, p, "SELECT value FROM meta WHERE key='mode.1.rate'") for p in paths[:3]]
    check(rates == [49, 99, 99], "rates: %s", rates)
    modes = case_rotate.sql(ctx, paths[0], "SELECT group_concat(name, ',') FROM modes")
    check(modes == [["wall,cpu"]], "modes: %s", modes)
    for text, says in (("rat = 5\n", "line 1: there is no option"), ("rate = x\n", "x is no rate"), ("pid = 1\n", "there is no option")):
        run = ctx.extprof("daemon", "--config", ctx.write("wrong.conf", text), ctx.path("history"))
        check(run.status == harness.USAGE and says in run.err, "%r: status %d: %s", text, run.status, run.err)
    run = ctx.extprof("daemon", "--config", ctx.path("gone.conf"), ctx.path("history"))
    check(run.status == harness.USAGE and "No such file" in run.err, "status %d: %s", run.status, run.err)
    return "rates %s" % rates


def samples(ctx):
    """Of the file that is written, without its last seconds."""
    run = ctx.extprof("sql", "-H", files(ctx)[-1], "SELECT sum(samples) FROM blocks")
    return int(run.out.strip() or 0) if run.status == 0 else 0


@case(timeout=120)
def full_disk(ctx):
    """It removes its oldest files and goes on."""
    ruby = ctx.ruby(ctx.write("spans.rb", case_rotate.PROGRAM))
    ruby.expect("ready")
    small, out = ctx.path("small"), ctx.path("out")
    os.mkdir(small)
    os.mkdir(out)
    ctx.write("none.conf", "")
    script = ("mount -t tmpfs -o size=900k,mode=0700 none '%s' || exit 99; '%s' daemon --config '%s' --name spans.rb --rotate 1s -F 999 '%s' & "
              "p=$!; trap 'mount -o remount,size=9m %s; kill $p; wait $p; s=$?; cp %s/* %s; exit $s' TERM; while :; do sleep 0.2; done"
              % (small, harness.EXTPROF, ctx.path("none.conf"), small, small, small, out))
    shell = ctx.start(["unshare", "-m", "sh", "-c", script], stderr=subprocess.PIPE)
    case_pause.says(shell, "there is no room: the oldest file is removed", timeout=60)
    case_pause.says(shell, "records into")
    case_pause.says(shell, "there is no room: the oldest file is removed", timeout=60)
    case_pause.says(shell, "records into")
    # With room for the end of the last one.
    os.kill(shell.pid, signal.SIGTERM)
    out_text, err = shell.communicate()
    check(shell.p.returncode == 0, "status %d: %s", shell.p.returncode, err[-500:])
    paths = sorted(glob.glob(out + "/*.extprof"))
    whole = [p for p in paths if case_rotate.sql(ctx, p, "SELECT 1 FROM meta WHERE key='ended'")]
    check(whole, "none of %d files is whole", len(paths))
    case_rotate.verify(ctx, whole)
    return "%d of %d files are whole" % (len(whole), len(paths))


@case(timeout=60)
def tells_systemd(ctx):
    """READY when it records, the watchdog in time, STOPPING at the end; the unit is one that systemd understands."""
    path = ctx.path("notify")
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(path)
    s.settimeout(30)
    env = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1000000"}
    daemon = start(ctx, env=env, says=None)
    # systemd can ask for a reload at any moment after READY.
    got = [s.recv(4096).decode()]
    check(got[0] == "READY=1", "first %s", got)
    daemon.signal(signal.SIGHUP)
    case_pause.says(daemon, "the configuration was read")
    case_pause.says(daemon, "records into")
    beats = []
    while len(beats) < 6:
        text = s.recv(4096).decode()
        if "WATCHDOG=1" in text:
            beats.append(time.monotonic())
            check("STATUS=" in text and "history/extprof-" in text, "it says: %s", text)
    longest = max(b - a for a, b in zip(beats, beats[1:]))
    check(longest < 1.0 * harness.PATIENCE, "%.2f s between two", longest)
    daemon.signal(signal.SIGTERM)
    text = ""
    while "STOPPING=1" not in text:
        text = s.recv(4096).decode()
    daemon.communicate()
    check(daemon.p.returncode == 0, "status %d", daemon.p.returncode)
    unit = os.path.join(harness.TOP, "tools/extprof/cli/systemd/extprof.service.in")
    with open(unit) as f:
        made = ctx.write("extprof.service", f.read().replace("@PREFIX@/bin/extprof", harness.EXTPROF))
    analyze = subprocess.run(["systemd-analyze", "verify", "--man=no", made], capture_output=True, text=True)
    check(analyze.returncode == 0 and made not in analyze.stderr and "extprof.service:" not in analyze.stderr,
          "systemd-analyze: %d: %s", analyze.returncode, analyze.stderr)
    return "%.2f s between two beats for a watchdog of 1 s" % longest


@case(timeout=60)
def with_the_units_rights(ctx):
    """With the capabilities that the unit leaves it: a process of another user has its names."""
    unit = os.path.join(harness.TOP, "tools/extprof/cli/systemd/extprof.service.in")
    with open(unit) as f:
        names = re.search(r"^CapabilityBoundingSet=(.*)$", f.read(), re.M).group(1).split()
    allowed = sum(1 << CAPABILITIES[name] for name in names)
    ctx.write("none.conf", "")
    ruby = ctx.start(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", harness.RUBY, "--disable=gems", "-e",
                      "def of_nobody = 1000.times { |i| i * i }\nloop { of_nobody; sleep 0.001 }"], cwd="/")
    bounds = ",".join(["-all"] + ["+" + n[4:].lower() for n in names])
    daemon = ctx.start(["setpriv", "--no-new-privs", "--bounding-set", bounds, harness.EXTPROF, "daemon", "--config", ctx.path("none.conf"),
                        "-F", "199", "--user", "65534", ctx.path("history")], stderr=subprocess.PIPE)
    case_pause.says(daemon, "records into")
    harness.until(lambda: samples(ctx) > 100, "there are no samples", timeout=60)
    with open("/proc/%d/status" % daemon.pid) as f:
        has = int(re.search(r"CapEff:\s*(\w+)", f.read()).group(1), 16)
    end(daemon)
    check(not has & ~allowed and has & 1 << CAPABILITIES["CAP_BPF"], "it has capabilities %x, and the unit %x", has, allowed)
    got = ctx.extprof("report", ctx.path("history"), "-m", "cpu", "-f", "folded", "--unit", "samples").ok().out
    whole = sum(int(line.rpartition(" ")[2]) for line in got.splitlines())
    named = sum(int(line.rpartition(" ")[2]) for line in got.splitlines() if "of_nobody" in line or "<main>" in line)
    check(whole > 20 and named >= 0.95 * whole, "%d of %d samples have names: %s", named, whole, got[-500:])
    return "%d of %d samples have names, with %d capabilities" % (named, whole, len(names))


@case(timeout=60)
def refusals(ctx):
    """One daemon a folder; the folder is the daemon's alone."""
    daemon = start(ctx)
    second = ctx.extprof("daemon", "--config", ctx.path("none.conf"), ctx.path("history"))
    check(second.status == harness.OUTPUT and "another extprof daemon" in second.err, "status %d: %s", second.status, second.err)
    end(daemon, signal_number=signal.SIGINT)
    os.mkdir(ctx.path("open"))
    os.chmod(ctx.path("open"), 0o777)
    run = ctx.extprof("daemon", "--config", ctx.path("none.conf"), ctx.path("open"))
    check(run.status == harness.OUTPUT and "others can write into it" in run.err, "status %d: %s", run.status, run.err)
    run = ctx.extprof("daemon", "--config", ctx.path("none.conf"), ctx.path("none.conf"))
    check(run.status == harness.OUTPUT and "Not a directory" in run.err, "status %d: %s", run.status, run.err)
    run = ctx.extprof("daemon", "--config", ctx.path("none.conf"), "-m", "heap", ctx.path("history"))
    check(run.status == harness.USAGE, "status %d: %s", run.status, run.err)
    mode = os.stat(ctx.path("history")).st_mode & 0o7777
    check(mode == 0o700, "the folder has mode %o", mode)
    return "a second one, a folder of all, a file, a mode that has no windows"
