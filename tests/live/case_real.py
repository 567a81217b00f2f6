"""Real servers under load, with a slow backend: where their time goes by extprof, and by their own clocks."""
import http.client
import os
import signal
import socket
import threading
import time

import case_servers
import harness
from case_accounting import SLICE
from case_wall import STATE, sums_of
from harness import case, check

GEMS = {"puma": "8.0.2", "rack": "3.2.8", "gvltools": "0.5.0", "concurrent-ruby": "1.3.8", "connection_pool": "3.0.2",
        "async": "2.46.0"}
REAL = os.path.join(harness.PROGRAMS, "servers", "real")
RATE = 997
# Of ten answers of the backend: ms until each.
DELAYS = [5] * 6 + [10] * 2 + [30, 80]


class Backend:
    """Answers each request after a time from DELAYS, in turn. It says how long it waited itself, in ns."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.lock, self.requests, self.waited = threading.Lock(), 0, 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        with connection, connection.makefile("rb") as lines:
            while lines.readline():
                while lines.readline() not in (b"\r\n", b""):
                    pass
                from_ = time.monotonic_ns()
                with self.lock:
                    delay = DELAYS[self.requests % len(DELAYS)] / 1e3
                    self.requests += 1
                time.sleep(delay)
                with self.lock:
                    self.waited += time.monotonic_ns() - from_
                try:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                except OSError:
                    return

    def take(self):
        """(requests, ns) since the last time."""
        with self.lock:
            taken = self.requests, self.waited
            self.requests = self.waited = 0
        return taken


def gems():
    """The directory with the gems in it, which are installed once."""
    return case_servers.gems(GEMS)


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def load(port, clients, count):
    """So many clients make so many requests each."""
    wrong = []

    def run():
        for _ in range(count):
            try:
                answer = get(port, "/")
                if answer != "ok":
                    wrong.append(answer)
            except (OSError, http.client.HTTPException) as e:
                wrong.append(repr(e))
    threads = [threading.Thread(target=run, daemon=True) for _ in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(not wrong, "%d requests failed: %s", len(wrong), wrong[:3])


class Truth:
    """What the program measured: name -> (count, wall, CPU, GVL), in ns."""

    def __init__(self, lines):
        self.of = {name: tuple(map(int, numbers)) for name, *numbers in (line.split() for line in lines)}

    def off(self, name):
        return self.of[name][1] - self.of[name][2]


class Seen:
    """What extprof says: ns by mode, state, and method in the stack."""

    def __init__(self, profile):
        self.profile, self.rows = profile, []
        with open(profile.path, encoding="utf-8") as f:
            for line in f:
                stack, _, count = line.rpartition(" ")
                frames = stack.split(";")
                mode, unit = frames[0].strip("[]").split(", ")
                m = STATE.match(frames[-1])
                ns = int(count) * {"us": 1000, "samples": 10 ** 9 / RATE}[unit]
                self.rows.append((mode, m.group(1) if m else "running", frames[1:], ns))

    def sum(self, mode, method, states=None):
        return sum(ns for m, state, frames, ns in self.rows if m == mode and (not states or state in states.split("|"))
                   and any(f.split(" ")[0] == method for f in frames))


class Account:
    """Compares, and keeps what it has found for the table."""

    def __init__(self, seen, truth, steal, wall):
        self.seen, self.truth, self.wall = seen, truth, wall
        # What the hypervisor takes is CPU time for some clocks and not for others.
        self.steal = steal * 1e9
        self.lines, self.worst = [], (0, "nothing")

    def between(self, what, got, least, most, share, slack):
        slack += self.steal
        self.lines.append("%-52s %10.1f ms   truth %10.1f to %.1f ms" % (what, got / 1e6, least / 1e6, most / 1e6))
        check(least - share * least - slack <= got <= most + share * most + slack,
              "%s: %.1f ms, truth %.1f to %.1f ms, of which it may be off %.1f %% and %.1f ms", what, got / 1e6,
              least / 1e6, most / 1e6, 100 * share, slack / 1e6)

    def near(self, what, got, truth, share, slack):
        if truth:
            self.worst = max(self.worst, (abs(got - truth) / truth, what))
        self.between(what, got, truth, truth, share, slack)

    def cpu(self, what, method, name):
        """Chance decides which ticks fall into the work, and one stands for a millisecond."""
        used = self.truth.of[name][2]
        away = max(0, 1 - used / 1e9 / self.wall)
        n = used / 1e9 * RATE
        slack = (5 * (n * away * max(1, RATE * SLICE)) ** 0.5 + 5) / RATE * 1e9
        for mode in ("cpu", "wall"):
            got = self.seen.sum(mode, method, "running")
            self.near("%s, by samples of %s" % (what, mode), got, used, 0.03, slack)

    def waits(self, what, method, name, share=0.02):
        """All of its waits, and those for the GVL. The clock of gvltools runs until the thread goes on."""
        count, *_, gvl = self.truth.of[name]
        slack = count * 20000
        for mode in ("wall", "offcpu"):
            got = sum(self.seen.sum(mode, method, s) for s in WAITS)
            self.near("%s, waits by %s" % (what, mode), got, self.truth.off(name), share, slack)
        of_gvl = self.seen.sum("gvl", method)
        of_offcpu = self.seen.sum("offcpu", method, "gvl")
        # Each stack of a file is rounded to a microsecond.
        check(abs(of_gvl - of_offcpu) <= 1000 * len(self.seen.rows), "%s: %d ns for the GVL by gvl, %d ns by offcpu", what,
              of_gvl, of_offcpu)
        runnable = self.seen.sum("offcpu", method, "runnable")
        self.lines.append("%-52s %10.1f ms   runnable %.1f ms, by gvltools %.1f ms" % (
            what + ", for the GVL", of_gvl / 1e6, runnable / 1e6, gvl / 1e6))
        check(of_gvl <= gvl * (1 + share) + slack + self.steal and gvl <= (of_gvl + runnable) * (1 + share) + slack + self.steal,
              "%s waits %.1f ms for the GVL, and %.1f ms for a CPU; by gvltools %.1f ms", what, of_gvl / 1e6,
              runnable / 1e6, gvl / 1e6)

    def io(self, method, name, delays):
        """At least as long as the backend takes, but for what the thread waited meanwhile for a CPU or the GVL."""
        others = self.seen.sum("offcpu", method, "gvl|runnable")
        self.between(method + ", in io", self.seen.sum("offcpu", method, "io"), delays - others,
                     self.truth.off(name) - self.seen.sum("gvl", method), 0.01, 2e6)

    def text(self, ctx):
        """What is farthest off. All of it is kept for whoever wants to see it."""
        path = os.path.join(harness.BUILD, "live-tables")
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, os.path.basename(ctx.directory) + ".txt"), "w", encoding="utf-8") as f:
            f.write("%s\n\n%s" % ("\n".join(self.lines), self.seen.profile.out))
        return "%d comparisons, %.1f %% off at most: %s" % (len(self.lines), 100 * self.worst[0], self.worst[1])


WAITS = ("runnable", "gvl", "io", "sleep", "mutex", "queue", "condvar", "join", "process", "native", "page fault", "stopped")


def recorded(ctx, pid, work, *options):
    """Account of what a program does in work(), which returns what it measured."""
    reader = ctx.extprof_start("-p", pid, "-m", "cpu,wall,offcpu,gvl", "-F", RATE, "--waits", "each", *options,
                               "--rows", "12", "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    steal, start = harness.stolen(), time.monotonic()
    truth = Truth(work())
    wall, steal = time.monotonic() - start, harness.stolen() - steal
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader).ok()
    sums_of(profile)
    check(profile.sums.lost <= 0.002 * profile.sums.taken, profile.sums.text)
    return Account(Seen(profile), truth, steal, wall)


def server(ctx, backend, *command):
    """A server that answers, and its port."""
    port, home = case_servers.free_port(), gems()
    env = {"GEM_HOME": home, "GEM_PATH": home, "BACKEND": str(backend.port), "PORT": str(port)}
    ruby = ctx.start([harness.RUBY, "-W0", *command], env=env, cwd=REAL)
    return ruby, port


def answers(port):
    try:
        return get(port, "/") == "ok"
    except (OSError, http.client.HTTPException):
        return False


def served(ctx, backend, ruby, port, clients, count, *options):
    """Account of requests to a server that has answered some."""
    harness.until(lambda: answers(port), "the server does not answer", 30)
    load(port, clients, 5)
    backend.take()

    def work():
        get(port, "/measured")
        load(port, clients, count)
        return get(port, "/measured").splitlines()
    account = recorded(ctx, ruby.pid, work, *options)
    requests, delays = backend.take()
    check(requests == clients * count == account.truth.of["fetch"][0], "%d requests, and %s", requests, account.truth.of)
    return account, delays


@case(timeout=300)
def puma(ctx):
    """Eight threads, a backend of 5 to 80 ms, 2 ms of CPU time: waits for the backend and for the GVL, and what runs."""
    backend = Backend()
    ruby, port = server(ctx, backend, os.path.join(gems(), "bin", "puma"), "-C", "puma.rb", "shop.ru")
    account, delays = served(ctx, backend, ruby, port, 8, 100, "-t")
    seen, truth = account.seen, account.truth
    account.cpu("Shop#render", "Shop#render", "render")
    account.waits("Shop#render", "Shop#render", "render", 0.05)
    account.waits("Shop#fetch", "Shop#fetch", "fetch")
    account.io("Shop#fetch", "fetch", delays)
    return account.text(ctx)


@case(timeout=300)
def pool(ctx):
    """Eight threads of concurrent-ruby, three connections of connection_pool: waits for a connection are waits for a
    condition variable, those of threads without a job for a queue."""
    backend, home = Backend(), gems()
    ruby = ctx.start([harness.RUBY, "-W0", "pool.rb"], cwd=REAL,
                     env={"GEM_HOME": home, "GEM_PATH": home, "BACKEND": str(backend.port)})
    ruby.expect("ready")
    backend.take()

    def work():
        ruby.tell("400")
        lines = []
        while (line := ruby.line(60)) != "done":
            lines.append(line)
        return lines
    account = recorded(ctx, ruby.pid, work, "-t")
    requests, delays = backend.take()
    seen, truth = account.seen, account.truth
    check(requests == 400 == truth.of["perform"][0], "%d requests, and %s", requests, truth.of)
    account.cpu("Job#compute", "Job#compute", "compute")
    account.waits("Job#compute", "Job#compute", "compute", 0.05)
    account.waits("Connection#ask", "Connection#ask", "ask")
    account.waits("Job#checkout", "Job#checkout", "checkout")
    account.near("Job#perform, all states by wall", seen.sum("wall", "Job#perform"), truth.of["perform"][1], 0.02, 20e6)
    account.io("Connection#ask", "ask", delays)
    # It waits for the condition variable, for the mutex of that, and for the GVL and a CPU once it is woken.
    other = seen.sum("offcpu", "Job#checkout", "io|sleep|queue|join|process|native|page fault|stopped")
    account.between("Job#checkout, in any other state", other, 0, 0, 0, 0.01 * truth.off("checkout"))
    check(seen.sum("offcpu", "Job#checkout", "condvar") > 10 * seen.sum("offcpu", "Job#checkout", "mutex"), "condvar: %s",
          account.lines)
    return account.text(ctx)


@case(timeout=300)
def fibers(ctx):
    """A server of the gem async: one thread, a fiber for each request. What runs is charged to the fiber's methods."""
    backend = Backend()
    ruby, port = server(ctx, backend, "fibers.rb")
    ruby.expect("ready")
    account, delays = served(ctx, backend, ruby, port, 8, 100, "-t", "--idle")
    truth = account.truth
    account.cpu("Server#render", "Server#render", "render")
    rows = sums_of(account.seen.profile)
    _, wall, cpu, _ = truth.of["thread"]
    # The kernel's switch is part of the CPU clock, and waits in the table.
    account.near("the thread, running by the table", rows["main"]["running"] * 1e9, cpu, 0.05, 5e6)
    # What it waits lies between its requests, and before and after them: it waits for the backend, or for a CPU.
    waits = sum(v for k, v in rows["main"].items() if k not in ("life", "idle", "running")) * 1e9
    account.between("the thread, waits by the table", waits, wall - cpu, rows["main"]["life"] * 1e9 - cpu, 0.02, 5e6)
    loop = account.seen.sum("offcpu", "Async::Scheduler#run_once!", "io")
    account.near("the thread, in io by the event loop", loop, rows["main"]["io"] * 1e9, 0.01, 1e6)
    return account.text(ctx)
