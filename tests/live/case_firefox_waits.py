"""The file for the Firefox Profiler: waits for files and sockets as markers. The program says by its own clock when it began to
wait and when it went on, and for what."""
import collections
import os
import signal

import harness
from case_firefox import File, Pq, reader_of_mozilla, report
from harness import case, check

# It waits for an answer by TCP and by a unix socket, for a byte in a FIFO, and for a lock of a file that another process has.
WAITS = """
require "socket"
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def timed(name) = (t = now; yield; puts "#{name} #{t} #{now}")
STDOUT.sync = true
path, fifo, held = ARGV
tcp, unix = TCPServer.new("127.0.0.1", 0), UNIXServer.new(path)
[tcp, unix].each { |server| Thread.new { c = server.accept; (sleep 0.04; c.write("x")) while c.read(1) } }
to_child, from_child = IO.pipe, IO.pipe
fork do
  lock, out = File.open(held, "w"), File.open(fifo, "w")
  while (what = to_child[0].read(1))
    what == "w" ? (sleep 0.04; out.write("x"); out.flush) : (lock.flock(File::LOCK_EX); from_child[1].write("x"); sleep 0.04; lock.flock(File::LOCK_UN))
  end
end
clients, pipe, lock = [TCPSocket.new("127.0.0.1", tcp.addr[1]), UNIXSocket.new(path)], File.open(fifo), File.open(held, "w")
puts "ready #{tcp.addr[1]}"
STDIN.gets
5.times do
  clients.zip(%w[tcp unix]) { |c, name| c.write("x"); timed(name) { c.read(1) } }
  to_child[1].write("w")
  timed("fifo") { pipe.read(1) }
  to_child[1].write("l")
  from_child[0].read(1)
  timed("lock") { lock.flock(File::LOCK_EX) }
  lock.flock(File::LOCK_UN)
end
puts "done"
sleep
"""


def record_files(ctx, *options):
    """(the recording, {name: [(begin, end)]}, what each is, by the program)"""
    unix, fifo, held = map(ctx.path, ("socket", "fifo", "held"))
    os.mkfifo(fifo)
    ruby = ctx.ruby(ctx.write("waits.rb", WAITS), unix, fifo, held)
    port = ruby.line().split()[1]
    path = ctx.path("waits.extprof")
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-m", "offcpu", "--fd", *options, "-o", path)
    ctx.attached(reader)
    ruby.tell("go")
    said = collections.defaultdict(list)
    while (line := ruby.line()) != "done":
        name, begin, end = line.split()
        said[name].append((int(begin), int(end)))
    reader.signal(signal.SIGINT)
    check(reader.wait() == 0, "the recording failed")
    return path, said, {
        "tcp": ("socket", "peer", "127.0.0.1:" + port, {"call": {"poll", "read", "recvfrom"}}),
        "unix": ("socket", "peer", unix, {"call": {"poll", "read", "recvfrom"}}),
        "fifo": ("FileIO", "filename", fifo, {"operation": {"poll", "read"}, "source": {"pipe"}}),
        "lock": ("FileIO", "filename", held, {"operation": {"flock"}, "source": {"file"}}),
    }


@case(timeout=90)
def are_of_files_and_sockets(ctx):
    """Which file or peer, with which call, and from when to when; Mozilla's reader has the same markers."""
    path, said, wanted = record_files(ctx)
    file = File(report(ctx, path, "waits.json"))
    index, main = next((i, t) for i, t in enumerate(file.document["threads"]) if t["isMainThread"])
    markers = [m for m in file.markers(main) if m[3]["type"] in ("socket", "FileIO")]
    least = []
    for name, (kind, key, value, fields) in wanted.items():
        check(len(said[name]) == 5, "the program waited %d times: %s", len(said[name]), name)
        mine = [m for m in markers if m[3].get(key) == value]
        for begin, end in said[name]:
            # Parts of one wait, if its thread was woken in between.
            parts = [m for m in mine if begin <= m[1] and m[2] <= end]
            waited = sum(m[2] - m[1] for m in parts)
            check(parts and all(m[0] == m[3]["type"] == kind and all(m[3][k] in v for k, v in fields.items()) for m in parts),
                  "%s from %d to %d: %s", name, begin, end, parts or mine)
            check(waited <= end - begin, "%s has %d ns of %d", name, waited, end - begin)
            least.append(waited / (end - begin))
        check(len(mine) >= 5 and all(any(b <= m[1] and m[2] <= e for b, e in said[name]) for m in mine), "%s: %s, and %s", name, mine, said[name])
    # What the program took besides: it had to get a CPU, and the GVL.
    check(sorted(least)[len(least) // 2] > 0.9, "of the program's times the markers have %s", least)
    schemas = {s["name"]: s for s in file.document["meta"]["markerSchema"]}
    check(all("timeline-fileio" in schemas[t]["display"] for t in ("socket", "FileIO")), "where they are shown: %s", schemas)
    folder, why_not = reader_of_mozilla()
    text = "%d waits, of which markers have %.1f %% in the middle" % (len(least), 100 * sorted(least)[len(least) // 2])
    if why_not:
        return "%s; NOT read by Mozilla's reader: %s" % (text, why_not)
    pq = Pq(ctx, folder)
    try:
        pq.load(ctx.path("waits.json"))
        kinds = {k["markerName"]: k["count"] for k in pq.json("thread", "markers", "--thread", "t-%d" % index)["byType"]}
        mine = collections.Counter(m[0] for m in file.markers(main))
        check(kinds == dict(mine) and mine["FileIO"] >= 10 and mine["socket"] >= 10, "markers: %s, not %s", kinds, mine)
    finally:
        pq.stop()
    return "%s; Mozilla's reader has %d and %d" % (text, kinds["FileIO"], kinds["socket"])
