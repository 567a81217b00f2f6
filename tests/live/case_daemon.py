"""extprof daemon: what it has recorded is there afterwards, by the clock, whatever happened to it."""
import collections
import datetime
import decimal
import glob
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

import case_alloc
import case_fakes
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
        daemon.says(says)
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
    # A name of its own: cases of the other lane have programs of the usual one.
    daemon = start(ctx, "--rotate", "1s", "--name", "daemon_by_the_clock.rb", "-F", "199")
    ruby = ctx.ruby(ctx.write("daemon_by_the_clock.rb", case_rotate.PROGRAM))
    ruby.expect("ready")
    harness.until(lambda: len(files(ctx)) >= 6, "there are not 6 files", timeout=60)
    end(daemon)
    spans = case_rotate.log_of(ruby)
    paths = files(ctx)
    case_rotate.verify(ctx, paths)
    modes = case_rotate.sql(ctx, paths[1], "SELECT group_concat(name, ',') FROM modes")
    check(modes == [["cpu,wall,gc,alloc"]], "modes: %s", modes)
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


ALLOCATES = """
STDOUT.sync = true
def much = 24_000.times { String.new(capacity: 1 << 20) }
def less = 8_000.times { String.new(capacity: 1 << 20) }
puts "ready"
while (line = gets)
  much
  less
  puts "done"
end
"""


@case(timeout=120)
def allocations_by_default(ctx):
    """32 GB in strings of 1 MiB, of which one for each 16 MiB is a sample: the bytes of two methods, within what chance allows."""
    daemon = start(ctx, "-v", "--rotate", "1m", "--name", "daemon_allocates.rb")
    ruby = ctx.ruby(ctx.write("daemon_allocates.rb", ALLOCATES))
    ruby.expect("ready")
    daemon.says("it is measured")
    ruby.tell("go")
    ruby.line(60)
    end(daemon)
    got = {m: int(v) for m, v in case_rotate.sql(ctx, ctx.path("history"), "SELECT method, sum(total) FROM top_methods WHERE mode='alloc' "
                                                 "AND method IN ('Object#much', 'Object#less') GROUP BY 1")}
    said = []
    for method, n in ("Object#much", 24000), ("Object#less", 8000):
        sigma = math.sqrt(case_alloc.variance(1 << 20, n, 16 << 20))
        off = (got.get(method, 0) - (n << 20)) / sigma
        check(abs(off) < case_alloc.SIGMAS, "%s: %d MiB, not %d: %.1f standard deviations", method, got.get(method, 0) >> 20, n, off)
        said.append("%s %d of %d MiB" % (method, got[method] >> 20, n))
    return ", ".join(said)


@case(timeout=120, patient=True)
def goes_on_after_kill(ctx):
    """kill -9: what was written is there, the next one goes on in the folder, and says how long nothing was recorded."""
    ruby = ctx.ruby(ctx.write("daemon_killed.rb", case_rotate.PROGRAM))
    ruby.expect("ready")
    daemon = start(ctx, "--rotate", "1s", "--name", "daemon_killed.rb")
    harness.until(lambda: len(files(ctx)) >= 3, "there are not 3 files", timeout=60)
    daemon.kill()
    before = files(ctx)
    # The time without a recording is what is told, in whole seconds.
    killed = time.time()
    time.sleep(4)
    daemon = start(ctx, "--rotate", "1s", "--name", "daemon_killed.rb", says="the history of")
    harness.until(lambda: len(files(ctx)) >= len(before) + 2, "it does not go on", timeout=60)
    said = end(daemon)
    told = re.search(r"ends at (.{19}), (\d+) s ago", said)
    # Each second a file ends; the program begins meanwhile.
    check(told and 3 <= int(told.group(2)) <= 8, "it says: %s", said)
    check(set(before) <= set(files(ctx)), "files are gone: %s", set(before) - set(files(ctx)))
    run = ctx.extprof("report", ctx.path("history"), "-m", "cpu", "-f", "folded", "--since", at(killed - 10))
    check(run.status == 0 and sum(folded_of(run).values()) > 0, "status %d: %s", run.status, run.err)
    # A file that was killed in its first seconds has nothing, and counts for no time.
    start(ctx, "--name", "daemon_killed.rb").kill()
    run = ctx.extprof("report", ctx.path("history"), "-m", "cpu", "-f", "folded", "--since", "200ms", "--until", "2")
    check(run.status == 0 and sum(folded_of(run).values()) > 0, "by the begin: status %d: %s", run.status, run.err)
    run = ctx.extprof("report", ctx.path("history"), "--since", "2001-01-01", "--until", "2001-01-02")
    check(run.status == 74 and " from 20" in run.err, "status %d: %s", run.status, run.err)
    return "%d files before, %d after; nothing for %.1f s" % (len(before), len(files(ctx)), time.time() - killed)


# Each stack is another one: what a sample of it takes extprof is more than what it does besides.
BURNS = """
def burn(n) = n.zero? ? 1.upto(200) { |i| i * i } : rand(2).zero? ? left(n - 1) : right(n - 1)
def left(n) = burn(n)
def right(n) = burn(n)
loop { burn(80) }
"""


def own_use(daemon, seconds):
    """Shares of a CPU that extprof uses, by /proc: for samples, and in all.  What other processes of the machine begin costs it
    time in the kernel, and what it makes of samples is not there."""
    def used():
        with open("/proc/%d/stat" % daemon.pid) as f:
            user, system = map(int, f.read().rpartition(")")[2].split()[11:13])
        return user / os.sysconf("SC_CLK_TCK"), (user + system) / os.sysconf("SC_CLK_TCK")
    begin, at = used(), time.monotonic()
    time.sleep(seconds)
    end, passed = used(), time.monotonic() - at
    return (end[0] - begin[0]) / passed, (end[1] - begin[1]) / passed


def time_of(ctx, paths, method):
    """What samples of a method stand for, ns."""
    return sum(number(ctx, p, "SELECT coalesce(sum(value), 0) FROM samples WHERE mode='cpu' AND stack_text(stack)||';' LIKE '%%Object#%s;%%'"
                      % method) for p in paths)


def recorded_of(ctx, path):
    """From when to when, and the pause for the rate before, ns."""
    begin, end = span_of(ctx, path)
    paused = number(ctx, path, "SELECT coalesce(sum(number), 0) FROM events WHERE kind=(SELECT id FROM strings WHERE text='paused')")
    return begin + paused, end + paused, paused


@case(timeout=300)
def keeps_its_budget(ctx):
    """Above it the rate becomes lower and extprof's CPU time with it, by /proc; without the load it becomes higher again. At each
    rate samples stand for the program's own clock, and so does the report of all."""
    burners = [ctx.ruby(ctx.write("daemon_burns.rb", BURNS)) for _ in range(2)]
    options = ["--name", "daemon_bu*.rb", "-m", "cpu", "-F", "1249"]
    first = start(ctx, *options, folder="first")
    time.sleep(3)
    before = own_use(first, 4)
    end(first)
    budget = round(100 * 0.4 * before[1], 2)
    ruby = ctx.ruby(ctx.write("daemon_budget.rb", case_rotate.PROGRAM))
    ruby.expect("ready")
    daemon = start(ctx, *options, "--budget", "%s%%/2s" % budget)
    daemon.says("samples a second instead of 1249", timeout=60)
    harness.until(lambda: len(files(ctx)) == 2, "there is no second file", timeout=30)
    after = own_use(daemon, 4)
    # It goes on for a while at that rate, and then there is room.
    for burner in burners:
        burner.kill()
    time.sleep(3)
    quiet = own_use(daemon, 6)[1]
    # Twice as much would have to be within the budget: it is not if others of this machine begin processes all the time.
    goes_up = 100 * 2 * quiet < 0.6 * budget
    if goes_up:
        try:
            daemon.says("there is room for", timeout=90)
            daemon.says("records into", timeout=30)
            time.sleep(4)
        except harness.Failed:
            quiet = own_use(daemon, 6)[1]
            goes_up = 100 * 2 * quiet < 0.6 * budget
            check(not goes_up, "it uses %.1f %% of %s %%, and its rate does not go up", 100 * quiet, budget)
    end(daemon)
    spans, paths = case_rotate.log_of(ruby), files(ctx)
    case_rotate.verify(ctx, paths)
    report = json.loads(ctx.extprof("report", ctx.path("history"), "-m", "cpu", "-f", "json").ok().out)
    rates = [round(r["rate"]) for r in report["recordings"]]
    check(rates[0] == 1249 and rates[1] < 625 and (not goes_up or max(rates[2:]) > min(rates)), "rates %s", rates)
    check(report["recordings"][0]["ended"].startswith("%d Hz: extprof used" % rates[1]), "%s", report["recordings"][0]["ended"])
    check(report["modes"][0]["unit"] == "ns", "%s", report["modes"][0])
    check(after[0] < 0.6 * before[0], "%.1f %% of a CPU for samples before, %.1f %% after, budget %s %%", 100 * before[0], 100 * after[0], budget)
    errors = {}
    for rate in sorted(set(rates), reverse=True):
        these = [p for p, r in zip(paths, rates) if r == rate]
        for method in ("alpha", "beta"):
            got = time_of(ctx, these, method)
            truth = sum(used(spans, method, *recorded_of(ctx, p)[:2]) for p in these)
            # What is at the borders of a file is a part of a piece of work.
            errors[rate, method] = abs(got - truth) / max(truth, 1)
            check(abs(got - truth) <= 0.15 * truth + 5e7, "%s at %d: %.2f s by samples, %.2f s by its clock", method, rate, got / 1e9, truth / 1e9)
    text = ctx.extprof("report", ctx.path("history"), "-m", "cpu", "-f", "folded", "--unit", "ns").ok()
    for method, ns in folded_of(text).items():
        check(ns == time_of(ctx, paths, method), "%s: %d ns of all, and %d of each", method, ns, time_of(ctx, paths, method))
    summary = ctx.extprof("report", ctx.path("history"), "-m", "cpu").ok().out
    check("   rate  recording" in summary and "Hz: extprof used" in summary, "%s", summary[:1500])
    refused = ctx.extprof("report", ctx.path("history"), "-m", "cpu", "--unit", "samples")
    check(refused.status == harness.USAGE and "at another rate" in refused.err, "%d: %s", refused.status, refused.err)
    up = "" if goes_up else " (not higher again: others of this machine keep extprof at %.1f %%)" % (100 * quiet)
    pauses = [recorded_of(ctx, p)[2] / 1e6 for p in paths[1:]]
    check(all(0 < pause < 5000 for pause in pauses), "pauses of %s ms", pauses)
    return "%.1f + %.1f %% of a CPU at 1249 Hz, %.1f + %.1f %% at %d Hz, budget %s %%; rates %s%s; pauses of %s ms; %.1f %% off at most" % (
        100 * before[0], 100 * (before[1] - before[0]), 100 * after[0], 100 * (after[1] - after[0]), rates[1], budget, rates, up,
        ", ".join("%.0f" % pause for pause in pauses),
        100 * max(errors.values()))


@case(timeout=120, patient=True)
def removes_old_files(ctx):
    """By age and by size; files of others stay."""
    ruby = ctx.ruby(ctx.write("daemon_removes.rb", case_rotate.PROGRAM))
    ruby.expect("ready")
    os.mkdir(ctx.path("history"), 0o700)
    old = ctx.path("history/extprof-20200101-000000-000Z.extprof")
    mine = ctx.path("history/mine.extprof")
    for path in old, mine:
        with open(path, "w") as f:
            f.write("x" * 100000)
        os.utime(path, (0, 0))
    daemon = start(ctx, "--rotate", "500ms", "--name", "daemon_removes.rb", "--keep-for", "5s")
    check(not os.path.exists(old) and os.path.exists(mine), "of %s", os.listdir(ctx.path("history")))
    harness.until(lambda: len(files(ctx)) >= 12, "there are not 12 files", timeout=60)
    first = files(ctx)[0]
    harness.until(lambda: not os.path.exists(first), "%s stays" % first, timeout=60)
    end(daemon)
    left = files(ctx)
    check(len(left) >= 5, "%d are left", len(left))
    daemon = start(ctx, "--rotate", "500ms", "--name", "daemon_removes.rb", "--keep-size", "1M")
    size = sum(os.stat(p).st_blocks * 512 for p in glob.glob(ctx.path("history/extprof-*")))
    check(size <= (1 << 20) + 200000, "%d bytes are left", size)
    end(daemon)
    check(os.path.exists(mine), "a file of others is gone")
    return "%d files left by age, %d bytes by size" % (len(left), size)


# Two labels by turns on two threads, and a collector; the CPU time of each label, as the threads know it.
LABELS = """
STDOUT.sync = true
CPU = Process::CLOCK_THREAD_CPUTIME_ID
def spin(s) = (t = Process.clock_gettime(CPU) + s; nil while Process.clock_gettime(CPU) < t)
A = %q(a "quoted" one)
used, ends = Hash.new(0), false
work = lambda do |of, s|
  Fiber.with_labels(endpoint: of) { t = Process.clock_gettime(CPU); spin s; GC.start if of == "b"; used[of] += Process.clock_gettime(CPU) - t }
end
threads = 2.times.map { Thread.new { until ends do work.(A, 0.03); work.("b", 0.01); sleep 0.01 end } }
puts "ready"
gets
ends = true
threads.each(&:join)
puts used.values_at(A, "b").join(" ")
sleep
"""
METRIC = re.compile(r"^(\w+)(?:\{(.*)\})? ([0-9.]+)$", re.M)


LOST = "extprof_process_lost_samples_total"


def metrics_of(text):
    """{(name, ((label, value), ...)): number as a decimal}"""
    return {(name, tuple(sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)))): decimal.Decimal(number)
            for name, labels, number in METRIC.findall(text)}


@case(timeout=120)
def counters_for_prometheus(ctx):
    """By process and label. Their sums are those of the recordings, to the ns, over two files and a SIGHUP, and those of the program's
    clocks; each version of the file is whole; promtool takes it, and node_exporter serves it."""
    os.chmod(ctx.directory, 0o755)
    ruby = ctx.ruby(ctx.write("daemon_labels_7.rb", LABELS))
    ruby.expect("ready")
    os.mkdir(ctx.path("prom"), 0o755)
    path = ctx.path("prom/extprof.prom")
    daemon = start(ctx, "--name", "daemon_labels_7.rb", "-F", harness.rate(199), "--rotate", "1s", "--metrics", path,
                   "--metrics-label", "endpoint")
    harness.until(lambda: os.path.exists(path), "there is no file", timeout=60)
    seen, broken = set(), []

    def look():
        with open(path, encoding="utf-8") as f:
            text = f.read()
        seen.add(os.stat(path).st_ino)
        if not re.search(r"\nextprof_files_bytes \d+\n$", text):
            broken.append(text[-200:])
        return len(files(ctx)) >= 3
    harness.until(look, "there are not 3 files", timeout=60)
    daemon.signal(signal.SIGHUP)
    daemon.says("the configuration was read")
    daemon.says("records into")
    harness.until(lambda: look() or len(files(ctx)) >= 5, "there are not 5 files", timeout=60)
    ruby.tell("end")
    # As the format writes it.
    a = r'a \"quoted\" one'
    truth = dict(zip((a, "b"), map(float, ruby.line(60).split())))
    end(daemon)
    check(len(seen) >= 2 and not broken, "%d versions, and no whole ones: %s", len(seen), broken[:1])
    check(os.stat(path).st_mode & 0o777 == 0o644, "mode %o", os.stat(path).st_mode)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    got = metrics_of(text)
    wanted = collections.Counter()
    for p in files(ctx):
        for mode, state, value, ns in case_rotate.sql(ctx, p, "SELECT mode, coalesce(state, ''), coalesce(label(labels, 'endpoint'), ''), sum(value) "
                                                      "FROM samples GROUP BY 1, 2, 3"):
            labels = [("process", "daemon_labels_*.rb"), ("endpoint", value.replace('"', '\\"'))]
            name = {"cpu": "extprof_cpu_seconds_total", "gc": "extprof_gc_seconds_total", "wall": "extprof_thread_seconds_total"}[mode]
            wanted[name, tuple(sorted(labels + ([("state", state)] if mode == "wall" else [])))] += int(ns)
    found = {k: int(v * 10 ** 9) for k, v in got.items() if k[1] and k[0] != LOST}
    lost = {k: v for k, v in got.items() if k[0] == LOST}
    check(set(lost) == {(LOST, (("process", "daemon_labels_*.rb"),))}, "%s", lost)
    check(found == dict(wanted) and len(found) > 6, "%s, not %s", dict(found.items() - wanted.items()), dict(wanted.items() - found.items()))
    cpu = {dict(k[1])["endpoint"]: float(v) for k, v in got.items() if k[0] == "extprof_cpu_seconds_total"}
    # What ran before the daemon began is not in it.
    shares = {k: cpu[k] / (cpu["b"] + cpu[a]) for k in truth}
    for k in truth:
        check(abs(shares[k] - truth[k] / sum(truth.values())) < 0.05, "%s: %s, not %s", k, shares, truth)
    check(got["extprof_files", ()] == len(files(ctx)) and got["extprof_rate_hertz", ()] > 0, "%s %s", files(ctx), text[-900:])
    wrong = ctx.extprof("daemon", "--config", ctx.path("none.conf"), "--metrics", ctx.path("nowhere/x.prom"), ctx.path("other"))
    check(wrong.status == harness.OUTPUT and "nowhere" in wrong.err, "a folder that is not there: %d %s", wrong.status, wrong.err)
    for no_file in ("-", "/dev/null", path + "/x", ctx.path("prom")):
        mode = os.stat("/dev/null").st_mode
        wrong = ctx.extprof("daemon", "--config", ctx.path("none.conf"), "--metrics", no_file, ctx.path("other"))
        check(wrong.status == harness.OUTPUT and "no regular file" in wrong.err, "%s: %d %s", no_file, wrong.status, wrong.err)
        check(os.stat("/dev/null").st_mode == mode, "/dev/null has mode %o", os.stat("/dev/null").st_mode)
    return "a %.2f of %.2f, b %.2f of %.2f of the CPU time; %d counters%s" % (
        shares[a], truth[a] / sum(truth.values()), shares["b"], truth["b"] / sum(truth.values()), len(found),
        served(ctx, os.path.dirname(path), text, found))


@case(timeout=120, patient=True)
def losses_by_process(ctx):
    """Processes whose stacks cannot be read, and one of which half can be: what is lost of each is what the recordings have, over files
    and a SIGHUP, and it is all that is lost."""
    case_fakes.build(ctx)
    fakes = [ctx.start([os.path.join(case_fakes.FAKES, "fake_target"), kind, "100"]) for kind in ("bad-ec", "half-frames", "bad-frames")]
    for fake in fakes:
        case_fakes.begun(fake)
    path = ctx.path("lost.prom")
    daemon = start(ctx, "--name", "fake_target*", "-m", "cpu", "-F", harness.rate(199), "--rotate", "1s", "--metrics", path)

    def wait_for(count):
        """The last one has samples, too: a file without any is removed, and what it has lost is counted."""
        harness.until(lambda: len(files(ctx)) >= count, lambda: "there are not %d files" % count, timeout=60)
        harness.worked(fakes[1].pid, 0.1)
    wait_for(3)
    daemon.signal(signal.SIGHUP)
    daemon.says("the configuration was read")
    wait_for(5)
    fakes[0].signal(signal.SIGKILL)
    wait_for(6)
    end(daemon)
    with open(path, encoding="utf-8") as f:
        got = metrics_of(f.read())
    wanted = taken = 0
    for p in files(ctx):
        for lost, all_ in case_rotate.sql(ctx, p, "SELECT total(iif(reason LIKE 'lost %', samples, 0)), total(iif(reason='taken', samples, 0)) "
                                          "FROM accounts WHERE process>0"):
            wanted += int(float(lost))
            taken += int(float(all_))
    counted = {dict(k[1])["process"]: int(v) for k, v in got.items() if k[0] == LOST}
    check(counted == {"fake_target": wanted} and 0 < wanted < taken, "%s, in the files %d of %d", counted, wanted, taken)
    return "%d of %d samples, in %d files" % (wanted, taken, len(files(ctx)))


def served(ctx, folder, text, counters):
    """What is left of them in Prometheus' own programs."""
    says = ""
    if shutil.which("promtool"):
        run = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
        check(run.returncode == 0 and not run.stderr, "promtool: %s%s", run.stdout, run.stderr)
    else:
        says += "; no promtool"
    exporter = shutil.which("prometheus-node-exporter")
    if not exporter:
        return says + "; no node_exporter"
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    ctx.start([exporter, "--collector.disable-defaults", "--collector.textfile", "--collector.textfile.directory=" + folder,
               "--web.listen-address=127.0.0.1:%d" % port])
    page = [""]

    def fetched():
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % port, timeout=5) as f:
                page[0] = f.read().decode()
        except OSError:
            return False
        return True
    harness.until(fetched, "node_exporter does not answer", timeout=30)
    again = {(name, tuple(sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)))): round(float(number), 6)
             for name, labels, number in re.findall(r"^(extprof_\w+)\{(.*)\} (\S+)$", page[0], re.M) if name != LOST}
    check(again == {k: round(v / 1e9, 6) for k, v in counters.items()}, "node_exporter serves %s", page[0][-1500:])
    return says + "; node_exporter serves them"


@case(timeout=120, patient=True)
def reads_its_configuration(ctx):
    """The command line comes first; SIGHUP has the file read again, and a wrong one changes nothing."""
    ruby = ctx.ruby(ctx.write("daemon_reads_its_configuration.rb", case_rotate.PROGRAM))
    ruby.expect("ready")
    config = ctx.write("extprof.conf", "# test\nrate = 49\nmode = cpu\nname = daemon_reads_its_configuration.rb\nrotate = 1h\n")
    daemon = start(ctx, "--config", config, "--mode", "wall,cpu")
    harness.until(lambda: samples(ctx) > 5, "no samples", timeout=60)
    ctx.write("extprof.conf", "rate = 99\nname = daemon_reads_its_configuration.rb\n")
    daemon.signal(signal.SIGHUP)
    daemon.says("the configuration was read\nextprof:   no longer in it: --rate=49\nextprof:   no longer in it: --mode=cpu (that of the command line counts)\n"
                "extprof:   no longer in it: --rotate=1h\nextprof:   now in it: --rate=99\n")
    daemon.says("records into")
    harness.until(lambda: samples(ctx) > 5, "no samples after SIGHUP", timeout=60)
    ctx.write("extprof.conf", "rat = 99\n")
    daemon.signal(signal.SIGHUP)
    daemon.says("line 1: there is no option \"rat\"")
    daemon.says("the configuration stays as it was")
    daemon.says("records into")
    harness.until(lambda: samples(ctx) > 5, "no samples after a wrong file", timeout=60)
    # A value that is wrong is found by the same check as on a command line.
    ctx.write("extprof.conf", "rate = fast\n")
    daemon.signal(signal.SIGHUP)
    daemon.says("fast is no rate")
    daemon.says("the configuration stays as it was")
    daemon.says("records into")
    end(daemon)
    paths = files(ctx)
    rates = [number(ctx, p, "SELECT value FROM meta WHERE key='mode.1.rate'") for p in paths[:3]]
    check(rates == [49, 99, 99], "rates: %s", rates)
    modes = case_rotate.sql(ctx, paths[0], "SELECT group_concat(name, ',') FROM modes")
    check(modes == [["wall,cpu"]], "modes: %s", modes)
    for text, says in (("rat = 5\n", "line 1: there is no option"), ("rate = x\n", "x is no rate"), ("pid = 1\n", "there is no option"),
                       ("rate = x\n", "the configuration is %s" % ctx.path("wrong.conf")), ("keep-for = 7\n", "7 of what?"),
                       ("metrics-label = x\n", "--metrics-label is for --metrics")):
        run = ctx.extprof("daemon", "--config", ctx.write("wrong.conf", text), ctx.path("history"))
        check(run.status == harness.USAGE and says in run.err, "%r: status %d: %s", text, run.status, run.err)
    run = ctx.extprof("daemon", "--config", ctx.path("gone.conf"), ctx.path("history"))
    check(run.status == harness.USAGE and "No such file" in run.err, "status %d: %s", run.status, run.err)
    return "rates %s" % rates


def samples(ctx):
    """Of the file that is written, without its last seconds."""
    run = ctx.extprof("sql", "-H", files(ctx)[-1], "SELECT sum(samples) FROM blocks")
    return int(run.out.strip() or 0) if run.status == 0 else 0


@case(timeout=120, patient=True)
def full_disk(ctx):
    """It removes its oldest files and goes on."""
    ruby = ctx.ruby(ctx.write("daemon_full_disk.rb", case_rotate.PROGRAM))
    ruby.expect("ready")
    small, out = ctx.path("small"), ctx.path("out")
    os.mkdir(small)
    os.mkdir(out)
    ctx.write("none.conf", "")
    script = ("mount -t tmpfs -o size=900k,mode=0700 none '%s' || exit 99; '%s' daemon --config '%s' --name daemon_full_disk.rb --rotate 1s -F 999 '%s' & "
              "p=$!; trap 'mount -o remount,size=9m %s; kill $p; wait $p; s=$?; cp %s/* %s; exit $s' TERM; while :; do sleep 0.2; done"
              % (small, harness.EXTPROF, ctx.path("none.conf"), small, small, small, out))
    shell = ctx.start(["unshare", "-m", "sh", "-c", script], stderr=subprocess.PIPE)
    shell.says("there is no room: the oldest file is removed", timeout=60)
    shell.says("records into")
    shell.says("there is no room: the oldest file is removed", timeout=60)
    shell.says("records into")
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
    daemon.says("the configuration was read\nextprof:   no line is another one\n")
    daemon.says("records into")
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
    daemon.says("records into")
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


@case(timeout=90, patient=True)
def as_a_user_of_its_own(ctx):
    """With the three capabilities that docs/daemon.md has for it: programs of root and of another user have their names in four modes."""
    with open(os.path.join(harness.TOP, "docs/daemon.md")) as f:
        names = re.search(r"^    AmbientCapabilities=(.*)$", f.read(), re.M).group(1).split()
    only = ",".join("+" + n[4:].lower() for n in names)
    directory = tempfile.mkdtemp(prefix="extprof-test-", dir="/tmp")
    try:
        os.chown(directory, 65534, 65534)
        extprof = shutil.copy(harness.EXTPROF, directory)
        with open(directory + "/none.conf", "w"):
            pass
        script = directory + "/daemon_of_its_own.rb"
        with open(script, "w") as f:
            f.write("def work = (5000.times { [Object.new, 1.to_s] }; sleep 0.001)\ndef of_root = work\ndef of_other = work\n"
                    "Process.uid.zero? ? loop { of_root } : loop { of_other }\n")
        os.chmod(directory, 0o755)
        ctx.start([harness.RUBY, "--disable=gems", script], cwd="/")
        ctx.start(["setpriv", "--reuid", "1", "--regid", "1", "--clear-groups", harness.RUBY, "--disable=gems", script], cwd="/")
        daemon = ctx.start(["setpriv", "--no-new-privs", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--bounding-set=-all," + only,
                            "--inh-caps=-all," + only, "--ambient-caps=-all," + only, extprof, "daemon", "--config", directory + "/none.conf",
                            "--name", os.path.basename(script), "-F", "199", "--alloc-interval", "512k", directory + "/history"],
                           stderr=subprocess.PIPE, cwd="/")
        daemon.says("records into")
        with open("/proc/%d/status" % daemon.pid) as f:
            has = int(re.search(r"CapEff:\s*(\w+)", f.read()).group(1), 16)
        check(has == sum(1 << CAPABILITIES[name] for name in names), "it has the capabilities %x", has)
        time.sleep(6)
        end(daemon)
        got = {}
        for mode in ("cpu", "wall", "gc", "alloc"):
            text = ctx.extprof("report", directory + "/history", "-m", mode, "-f", "folded", "--unit", "samples").ok().out
            got[mode] = collections.Counter()
            for line in text.splitlines():
                of = re.search(r"\bof_(root|other)\b", line)
                got[mode][of.group(1) if of else "else"] += int(line.rpartition(" ")[2])
            check(min(got[mode]["root"], got[mode]["other"]) >= 5 and got[mode]["else"] < 0.5 * sum(got[mode].values()), "%s: %s\n%s", mode, got[mode],
                  text[-600:])
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return ", ".join("%s: %d of root, %d of another" % (mode, n["root"], n["other"]) for mode, n in got.items())


SHORT = """
def work(s) = (t = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + s; nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < t)
work(0.05)
"""


@case(timeout=240, patient=True)
def many_short_processes(ctx):
    """Thousands of processes that are no rubies, and rubies that work for 50 ms each: the daemon has the CPU time of these, and its
    memory and descriptors stay few. EXTPROF_TESTS_PROCESSES=10000 for more."""
    count = int(os.environ.get("EXTPROF_TESTS_PROCESSES", "2000"))
    rubies = max(40, count // 20)
    path = ctx.write("daemon_short.rb", SHORT)
    # It is to look at each process that begins, and not only at those of one name.
    daemon = start(ctx, "-F", "199", "--rotate", "5s")
    # A ruby that has ended before extprof has had a CPU is seen by nobody.
    harness.prefer(daemon.pid)
    begun = time.monotonic()
    before = case_rotate.resident(daemon.pid), len(os.listdir("/proc/%d/fd" % daemon.pid))
    others = ctx.start(["sh", "-c", "i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done" % count])
    for _ in range(rubies):
        status = ctx.ruby(path).wait(60)
        check(status == 0, "a ruby ended with %s", status)
    check(others.wait(200) == 0, "the others did not end")
    took = time.monotonic() - begun
    # What it has of those that ended last goes when it has read of their ends.
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and len(os.listdir("/proc/%d/fd" % daemon.pid)) - before[1] >= 32:
        time.sleep(0.1)
    after = case_rotate.resident(daemon.pid), len(os.listdir("/proc/%d/fd" % daemon.pid))
    end(daemon)
    rows = [case_rotate.sql(ctx, p, "SELECT count(DISTINCT pid), coalesce(sum(value), 0) FROM samples WHERE mode='cpu' AND command LIKE "
                            "'%daemon_short.rb%' AND stack_text(stack) LIKE '%Object#work%'")[0] for p in files(ctx)]
    seen, cpu = sum(int(r[0]) for r in rows), sum(int(r[1]) for r in rows) / 1e9
    check(seen >= 0.95 * rubies, "%d of %d rubies were seen", seen, rubies)
    check(abs(cpu - 0.05 * rubies) < 0.1 * 0.05 * rubies, "%.2f s by samples, %.2f s by their clocks", cpu, 0.05 * rubies)
    check(after[0] - before[0] < 24 << 10 and after[1] - before[1] < 32, "memory %d to %d KiB, descriptors %d to %d", before[0], after[0], before[1], after[1])
    return "%d and %d rubies in %.0f s: %.2f of %.2f s of their CPU time, %.1f to %.1f MiB, %d to %d descriptors" % (
        count, rubies, took, cpu, 0.05 * rubies, before[0] / 1024, after[0] / 1024, before[1], after[1])


@case(timeout=120)
def a_kernel_without_types(ctx):
    """Without BTF no program is loaded: the log says so, and the processes are read from outside."""
    ctx.write("none.conf", "")
    ruby = ctx.ruby(ctx.write("daemon_without_btf.rb", case_rotate.PROGRAM))
    ruby.expect("ready")
    # The folder is empty for this process alone: it has a mount namespace of its own.
    daemon = ctx.start(["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh", harness.EXTPROF, "daemon", "--config",
                        ctx.path("none.conf"), "--name", "daemon_without_btf.rb", "-F", "99", "--rotate", "1s", ctx.path("history")],
                       stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    daemon.says("allocations are not recorded: only eBPF sees each of them")
    daemon.says("does not describe its types (no /sys/kernel/btf/vmlinux): the memory of the processes is read from outside instead")
    harness.until(lambda: len(files(ctx)) >= 3, "there are not 3 files", timeout=60)
    end(daemon)
    spans = case_rotate.log_of(ruby)
    run = ctx.extprof("report", ctx.path("history"), "-m", "cpu", "--unit", "samples", "-f", "folded").ok()
    got = folded_of(run)
    check(sum(got.values()) > 10 and len(spans) > 2, "%s of %d turns", got, len(spans))
    # Modes that were asked for are not left out.
    asked = ctx.start(["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh", harness.EXTPROF, "daemon", "--config",
                       ctx.path("none.conf"), "-m", "cpu,syscall", ctx.path("asked")], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    asked.says("no /sys/kernel/btf/vmlinux")
    status = asked.wait(30)
    check(status == 71, "mode syscall without eBPF: status %d", status)
    return "%s samples" % got


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
    run = ctx.extprof("daemon", "--config", ctx.path("none.conf"), "-m", "nothing", ctx.path("history"))
    check(run.status == harness.USAGE, "status %d: %s", run.status, run.err)
    mode = os.stat(ctx.path("history")).st_mode & 0o7777
    check(mode == 0o700, "the folder has mode %o", mode)
    return "a second one, a folder of all, a file, a mode that there is not"
