"""The trigger stuck>TIME of extprof daemon: a process that has work and does nothing is dumped once, and an idle one never."""
import os
import re
import socket
import time

import case_daemon
import harness
from case_native import extension
from case_rotate import sql
from harness import case, check

# A pool as servers have, with other threads that servers have.  It is told over TCP what to do: `accept` is a rest.
SERVER = """
require "socket"
STDOUT.sync = true
class Pool
  def initialize(n)
    @mutex, @work, @todo = Mutex.new, ConditionVariable.new, []
    n.times { |i| Thread.new { Thread.current.name = "pool #{i}"; loop { job = nil; @mutex.synchronize { @work.wait(@mutex) while @todo.empty?; job = @todo.shift }; job.call } } }
  end
  def <<(job) = @mutex.synchronize { @todo << job; @work.signal }
end
A, B = Mutex.new, Mutex.new
def first = A.synchronize { sleep 0.3; B.synchronize { } }
def second = B.synchronize { sleep 0.3; A.synchronize { } }
def waits_for_ever = READ.readpartial(1)
READ, WRITE = UNIXSocket.pair
LISTEN, TELL = IO.pipe
pool = Pool.new(5)
Thread.new { loop { sleep 0.5 } }.name = "reaper"
Thread.new { q = Queue.new; loop { q.pop } }.name = "logger"
server = TCPServer.new("127.0.0.1", 0)
puts server.addr[1]
loop do
  connection = server.accept
  case connection.gets.chomp
  when "work" then 4.times { |i| pool << -> { Fiber.new { Fiber.with_labels(request: "GET /#{i}") { sleep 0.05; 1e5.to_i.times { } } }.resume } }
  when "deadlock" then pool << -> { first }; pool << -> { second }
  when "hang" then pool << -> { Fiber.new { Fiber.with_labels(request: "GET /slow") { waits_for_ever } }.resume }
  when "release" then WRITE.write("x")
  when "listen" then Thread.new { LISTEN.readpartial(10) while true }.name = "listener"
  when "tell" then TELL.write("now")
  end
  connection.puts "done"
  connection.close
end
"""


def start(ctx, *options, trigger="stuck>2s", name="stuck_server.rb"):
    ruby = ctx.ruby(ctx.write(name, SERVER))
    port = int(ruby.line(60))
    daemon = case_daemon.start(ctx, "--name", name, *(["--trigger", trigger] if trigger else []), *options)
    return ruby, port, daemon


def tell(port, what):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
        s.sendall(what.encode() + b"\n")
        check(s.makefile().readline() == "done\n", "%s is not done", what)


def dumps(ctx):
    return sorted(f for f in os.listdir(ctx.path("history")) if f.endswith(".dump.txt"))


def read(ctx, name):
    with open(os.path.join(ctx.path("history"), name), encoding="utf-8") as f:
        return f.read()


def events(ctx):
    return [text for path in case_daemon.files(ctx) for _, text in sql(
        ctx, path, "SELECT time_ns, t.text FROM events e JOIN strings k ON k.id=e.kind JOIN strings t ON t.id=e.text WHERE k.text='trigger'")]


def wait_for(ctx, count, timeout=30):
    harness.until(lambda: len(dumps(ctx)) >= count, "there are not %d dumps" % count, timeout=timeout)


@case(timeout=120, waits=True)
def idle_is_not_stuck(ctx):
    """A pool that waits for work, a timer, a logger and a thread that accepts: ten seconds, requests, and ten seconds again.
    Then a request hangs: it was looked all the time."""
    ruby, port, daemon = start(ctx)
    time.sleep(10)
    for _ in range(4):
        tell(port, "work")
        time.sleep(0.3)
    time.sleep(10)
    check(not dumps(ctx), "%s", [read(ctx, d) for d in dumps(ctx)])
    check(has_watcher(daemon), "nobody looks")
    tell(port, "hang")
    wait_for(ctx, 1)
    daemon.says("trigger: ")
    case_daemon.end(daemon)
    check(len(events(ctx)) == 1 and "GET /slow" in read(ctx, dumps(ctx)[0]), "%s", events(ctx))
    return "no dump in 20 s of rest, and one of a request that hangs"


@case(timeout=120, patient=True)
def deadlocked_requests(ctx):
    """Two requests wait for each other's lock: one dump, with both stacks and holders.  The history has it, with the time."""
    ruby, port, daemon = start(ctx)
    tell(port, "work")
    time.sleep(2)
    tell(port, "deadlock")
    began = time.time()
    wait_for(ctx, 1)
    took = time.time() - began
    time.sleep(6)
    name, *more = dumps(ctx)
    check(not more, "it fires again: %s", more)
    check(2 < took < 15, "it fired after %.1f s", took)
    mode = os.stat(os.path.join(ctx.path("history"), name)).st_mode & 0o777
    check(mode == 0o600, "mode %o", mode)
    text = read(ctx, name)
    check(re.match(r"trigger stuck>2s of extprof daemon, \S+Z\nprocess %d: 2 threads with work, and none has run for 2 s: .*deadlock" % ruby.pid, text),
          "%s", text[:400])
    parts = re.findall(r'thread "(pool \d)" \(tid \d+\): sleeping for [\d.]+ s, waits for a mutex that "(pool \d)" has \(tid \d+\): deadlock\n((?:    .*\n)+)', text)
    check(len(parts) == 2 and parts[0][0] == parts[1][1] and parts[0][1] == parts[1][0], "%s\n%s", parts, text)
    check(sorted("first" if "Object#first" in p[2] else "second" if "Object#second" in p[2] else "" for p in parts) == ["first", "second"], "%s", parts)
    said = case_daemon.end(daemon)
    check("trigger: process %d" % ruby.pid in said and name in said, "%s", said)
    got = events(ctx)
    check(len(got) == 1 and name in got[0] and "(stuck>2s)" in got[0] and "deadlock" in got[0], "%s", got)
    check(got[0].startswith("process %d ruby" % ruby.pid) and got[0].index(name) < 120, "the file is not in front: %s", got)
    return "after %.1f s: %s" % (took, got[0])


@case(timeout=120, waits=True)
def waits_on_a_socket(ctx):
    """A request waits on a socket for ever: one dump with its label, its stack and the socket.  The same again is another one."""
    ruby, port, daemon = start(ctx)
    time.sleep(3)
    tell(port, "hang")
    wait_for(ctx, 1)
    time.sleep(6)
    check(len(dumps(ctx)) == 1, "it fires again: %s", dumps(ctx))
    text = read(ctx, dumps(ctx)[0])
    check("1 thread with work" in text and "labels: request=GET /slow" in text and "Object#waits_for_ever" in text and "socket" in text, "%s", text)
    tell(port, "release")
    time.sleep(4)
    check(len(dumps(ctx)) == 1, "it fires at rest: %s", read(ctx, dumps(ctx)[-1]))
    tell(port, "hang")
    wait_for(ctx, 2)
    daemon.says("trigger: ")
    daemon.says("trigger: ")
    case_daemon.end(daemon)
    check(len(events(ctx)) == 2, "%s", events(ctx))
    return text.split("\n")[1]


@case(timeout=120, waits=True)
def a_listener_is_told_once(ctx):
    """A thread without a label reads what somebody sends it now and then: it may be told the first time, and not again."""
    ruby, port, daemon = start(ctx)
    tell(port, "listen")
    time.sleep(6)
    first = dumps(ctx)
    check(len(first) <= 1 and all('"listener"' in read(ctx, d) for d in first), "%s", first)
    for _ in range(3):
        tell(port, "tell")
        time.sleep(4)
    check(dumps(ctx) == first, "again: %s", [read(ctx, d)[:300] for d in dumps(ctx)])
    # It hides nobody else.
    tell(port, "deadlock")
    wait_for(ctx, len(first) + 1)
    check("deadlock" in read(ctx, dumps(ctx)[-1]).split("\n")[1], "%s", read(ctx, dumps(ctx)[-1])[:400])
    case_daemon.end(daemon)
    return "%d dump of the listener, one of the deadlock" % len(first)


EXTENSION = """
require ARGV[0]
STDOUT.sync = true
def stuck_in_c = Stuck.read
3.times { |i| Thread.new { Thread.current.name = "worker %d" % i; loop { sleep 0.05 } } }
reads = Thread.new { Thread.current.name = "reads"; sleep 3; stuck_in_c }
puts "ready"
reads.join
"""


@case(timeout=120, patient=True)
def an_extension_keeps_the_gvl(ctx):
    """An extension waits in read(2) with the GVL and the others wait for that, while Ruby's timer ticks: one dump, with who has it."""
    ruby = ctx.ruby(ctx.write("keeps_gvl.rb", EXTENSION), extension(ctx, source=os.path.join(harness.PROGRAMS, "native_stuck.c")))
    ruby.expect("ready")
    daemon = case_daemon.start(ctx, "--name", "keeps_gvl.rb", "--trigger", "stuck>2s")
    wait_for(ctx, 1)
    # The timer ticks, or the others do not wait for the GVL.
    before = slices_of_the_busiest(ruby.pid)
    time.sleep(4)
    ticks = (slices_of_the_busiest(ruby.pid) - before) / 4
    check(ticks > 20, "%.0f times a second", ticks)
    check(len(dumps(ctx)) == 1, "it fires again: %s", dumps(ctx))
    text = read(ctx, dumps(ctx)[0])
    holder = re.search(r'thread "reads" \(tid (\d+)\): .*?read.*\n((?:    .*\n)+)', text)
    check(holder and "Object#stuck_in_c" in holder.group(2), "%s", text)
    check(re.search(r'^3 threads: waiting for GVL for .*, held by "reads" ', text, re.M), "%s", text)
    check('"reads" has GVL in read' in text.split("\n")[1], "it does not begin with who has it: %s", text)
    case_daemon.end(daemon)
    check(len(events(ctx)) == 1 and dumps(ctx)[0] in events(ctx)[0], "%s", events(ctx))
    return "%.0f ticks a second; %s" % (ticks, text.split("\n")[1])


def slices_of_the_busiest(pid):
    """How often a thread got a CPU: the one that got it most often since its begin, without the main one."""
    most = 0
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, tid), encoding="ascii") as f:
            most = max(most, int(f.read().split()[2]) if int(tid) != pid else 0)
    return most


def has_watcher(daemon):
    names = []
    for tid in os.listdir("/proc/%d/task" % daemon.pid):
        with open("/proc/%d/task/%s/comm" % (daemon.pid, tid)) as f:
            names.append(f.read().strip())
    return "extprof-stuck" in names


@case(timeout=120, patient=True)
def options(ctx):
    """Which triggers there are where; the configuration; without one nobody looks; a pause and a reload."""
    for argv, text in ((["daemon", "--config", ctx.write("empty.conf", ""), "--trigger", "gvl>50%,nonsense>1", ctx.path("none")], "no mode of this recording"),
                       (["daemon", "--config", ctx.path("empty.conf"), "--trigger", "stuck>0.1s", ctx.path("none")], "1 s to a day"),
                       (["daemon", "--config", ctx.path("empty.conf"), "--trigger", "exit,stuck", ctx.path("none")], "1 s to a day"),
                       (["daemon", "--config", ctx.path("empty.conf"), "--trigger", "stuck>3s,exit,stuck>4s", ctx.path("none")], "there is stuck>3s already"),
                       (["record", "-p", "1", "-m", "cpu", "--trigger", "stuck>30s", "-o", ctx.path("a.extprof")], "extprof daemon")):
        run = ctx.extprof(*argv)
        check(run.status == 64 and text in run.err, "%s: %d %s", argv, run.status, run.err)
    ruby, port, daemon = start(ctx, "--config", ctx.write("with.conf", "trigger = stuck>2s\n"), trigger=None)
    harness.until(lambda: has_watcher(daemon), "nobody looks")
    ctx.write("with.conf", "")
    daemon.signal(1)
    daemon.says("the configuration was read")
    daemon.says("records into")
    check(not has_watcher(daemon), "somebody looks")
    ctx.write("with.conf", "trigger = stuck>2s\n")
    daemon.signal(1)
    daemon.says("records into")
    harness.until(lambda: has_watcher(daemon), "nobody looks again")
    tell(port, "hang")
    wait_for(ctx, 1)
    began = time.time()
    case_daemon.end(daemon)
    check(time.time() - began < 10, "it ended after %.1f s", time.time() - began)
    return "five refused; on, off and on again"
