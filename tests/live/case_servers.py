"""Servers and tools that people run, from RubyGems: each process with its samples, through restarts and reforks."""
import fcntl
import glob
import http.client
import os
import signal
import socket
import subprocess
import threading
import time

import family
import harness
from harness import case, check

GEMS = {"puma": "8.0.2", "rack": "3.2.8", "pitchfork": "0.18.2", "parallel": "2.3.0", "rake": "13.4.2", "rspec-core": "3.13.7"}
SERVERS = os.path.join(harness.PROGRAMS, "servers")
INSTALL = "require 'rubygems/gem_runner'; Gem::GemRunner.new.run(ARGV)"
# Pages are copied after each fork, and cannot be read while that goes on.
FORK_LOSS = 0.03
# A server runs methods for the first time when it is told to end, and its workers' parents live for some ms. What is
# called for the first time in the last 10 ms of a process has no name. The work of the requests has.
AT_THE_END = r"(?!.*(Shop|#burn)).*"


def gems(wanted=None):
    """The directory with the gems in it, which are installed once. Who comes meanwhile waits."""
    home = os.path.join(harness.BUILD, "live-gems")
    os.makedirs(home, exist_ok=True)
    with open(os.path.join(home, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # A gem that is compiled already has the name of a machine behind its version.
        missing = ["%s:%s" % gem for gem in (wanted or GEMS).items()
                   if not any(glob.glob(os.path.join(home, "specifications", ("%s-%s" % gem) + rest)) for rest in (".gemspec", "-*.gemspec"))]
        if missing:
            p = subprocess.run([harness.RUBY, "-e", INSTALL, "--", "install", "--no-document", "--install-dir", home, *missing],
                               env=harness.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               universal_newlines=True, timeout=300)
            check(p.returncode == 0, "gem install %s: %s", " ".join(missing), p.stdout[-800:])
    return home


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Recording:
    """extprof record of a command that uses gems."""

    def __init__(self, ctx, gem, *args, cwd=SERVERS, **env):
        home = gems()
        env.update({"TRUTH": family.truth_file(ctx), "TRUTH_RB": family.TRUTH, "GEM_HOME": home, "GEM_PATH": home})
        command = [harness.RUBY, "-W0", gem if "/" in gem else os.path.join(home, "bin", gem), *map(str, args)]
        self.ctx, self.steal = ctx, harness.stolen()
        self.reader = ctx.start([harness.EXTPROF, "record", *family.options(ctx), "--", *command], env=env,
                                cwd=cwd, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def wait(self, timeout=40):
        profile = self.ctx.profile_of(self.reader, timeout).ok()
        return family.Family(profile, family.truth_file(self.ctx), harness.stolen() - self.steal)

    @property
    def command(self):
        """The pid of the command."""
        with open("/proc/%d/task/%d/children" % (self.reader.pid, self.reader.pid)) as f:
            return int(f.read().split()[0])


class Load:
    """Requests from two threads until stop(), and the processes that have answered."""

    def __init__(self, port):
        self.port, self.ends, self.pids = port, False, {}
        self.threads = [threading.Thread(target=self.run, args=(path,), daemon=True) for path in ("/price", "/cart")]
        for t in self.threads:
            t.start()

    def run(self, path):
        while not self.ends:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            try:
                connection.request("GET", path, headers={"Connection": "close"})
                pid = int(connection.getresponse().read())
                self.pids[pid] = self.pids.get(pid, 0) + 1
            except (OSError, ValueError, http.client.HTTPException):
                time.sleep(0.02)  # it starts, or the worker was killed
            finally:
                connection.close()

    def until_answered(self, enough, what, timeout=30):
        harness.until(lambda: enough(dict(self.pids)), what, timeout)

    def stop(self):
        self.ends = True
        for t in self.threads:
            t.join()


def table(ctx, found):
    """Kept for whoever wants to see it."""
    path = os.path.join(harness.BUILD, "live-tables")
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, os.path.basename(ctx.directory) + ".txt"), "w", encoding="utf-8") as f:
        f.write(found.profile.out)


@case(timeout=300)
def puma_cluster(ctx):
    """Four workers: one is killed and replaced, then all are by a phased restart. Each worker has its samples."""
    port = free_port()
    recording = Recording(ctx, "puma", "-C", "puma.rb", "config.ru", PORT=str(port))
    load = Load(port)
    load.until_answered(lambda pids: sum(n >= 20 for n in pids.values()) >= 4, "there are no four workers")
    first = set(load.pids)
    master, victim = recording.command, min(first)
    os.kill(victim, signal.SIGKILL)
    load.until_answered(lambda pids: any(n >= 20 for p, n in pids.items() if p not in first), "it was not replaced")
    second = set(load.pids)
    os.kill(master, signal.SIGUSR1)
    load.until_answered(lambda pids: sum(n >= 20 for p, n in pids.items() if p not in second) >= 4,
                        "there was no phased restart", 60)
    load.stop()
    os.kill(master, signal.SIGINT)
    found = recording.wait()
    table(ctx, found)
    text = found.compare(len(found.works), FORK_LOSS, unnamed=AT_THE_END)
    check(len(load.pids) == 9, "%d workers have answered", len(load.pids))
    ended = {pid: found.row(pid).ended for pid in load.pids}
    # puma kills a worker that does not end when told so. It has some, also when nobody looks on.
    check(ended.pop(victim) == "SIGKILL" and set(ended.values()) <= {"exit 0", "SIGKILL"}, "they ended with %s", ended)
    return "%d workers, %s" % (len(load.pids), text)


@case(timeout=120)
def pitchfork(ctx):
    """Workers that become the parents of the next generation."""
    port = free_port()
    recording = Recording(ctx, "pitchfork", "-c", "pitchfork.rb", "config.ru", PORT=str(port))
    load = Load(port)
    load.until_answered(lambda pids: len(pids) >= 7 and sum(pids.values()) > 300, "there was no refork", 60)
    load.stop()
    os.kill(recording.command, signal.SIGTERM)
    found = recording.wait()
    table(ctx, found)
    text = found.compare(len(found.works), FORK_LOSS, unnamed=AT_THE_END)
    for pid in load.pids:
        check(found.row(pid).ended, "worker %d has not ended", pid)
    return "%d workers, %s" % (len(load.pids), text)


@case(timeout=120)
def parallel_in_processes(ctx):
    found = Recording(ctx, os.path.join(SERVERS, "parallel.rb")).wait()
    text = found.compare(40, FORK_LOSS)
    check(len(set(found.pids("item"))) == 4, "%s", found.pids("item"))
    return text


@case(timeout=120)
def rake_m(ctx):
    """Tasks in threads: one works itself, one starts another ruby, one forks."""
    another = family.ruby(ctx.write("another.rb", "burn_anew 0.3, :another_program\n"))
    found = Recording(ctx, "rake", "-m", ANOTHER=repr(another)).wait()
    text = found.compare(3, FORK_LOSS)
    check(len({pid for pid, *_ in found.works}) == 3, "%s", found.works)
    return text


@case(timeout=120)
def rspec_in_a_preloader(ctx):
    """Each run of the tests is a child of a process that has loaded all of it."""
    found = Recording(ctx, os.path.join(SERVERS, "preloader.rb"), SPEC=os.path.join(SERVERS, "account_spec.rb")).wait()
    for name in ("balance", "history"):
        check(len(set(found.pids(name))) == 3, "%s: %s", name, found.pids(name))
    return found.compare(6, FORK_LOSS, unnamed=AT_THE_END)
