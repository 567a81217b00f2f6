"""The file for the Firefox Profiler: waits for files and sockets as markers. The program says by its own clock when it began to
wait and when it went on, and for what."""
import collections
import os

from case_firefox import File, Pq, reader_of_mozilla, record_what_it_says, report
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
    path, said = record_what_it_says(ctx, ruby, "waits.extprof", "-m", "offcpu", "--fd", *options)
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


# A thread that pushes to one that pops, one that has a lock that another one wants, one that is joined, and one that computes.  They
# say when they pushed, had the lock, gave it back, and lived.
FLOWS = """
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
said = Queue.new
queue, lock = Queue.new, Mutex.new
puts "ready"
STDOUT.flush
STDIN.gets
threads = { popper: -> { 8.times { queue.pop } },
  pusher: -> { 8.times { sleep 0.03; t = now; queue << 1; said << ["pushed", t, now] } },
  holder: -> { 8.times { lock.synchronize { t = now; sleep 0.03; said << ["had", t, now] }; sleep 0.01 } },
  locker: -> { 8.times { lock.synchronize {}; sleep 0.005 } },
  burner: -> { t = now; (nil while now - t < 300_000_000 || !$joiner&.stop?); sleep 0.02; said << ["lived", t, now] } }
threads = threads.map { |name, work| [name, Thread.new { Thread.current.name = name.to_s; work.call }] }.to_h
$joiner = Thread.new { Thread.current.name = "joiner"; threads[:burner].join }
[*threads.values, $joiner].each(&:join)
said.size.times { puts said.pop.join(" ") }
puts "done"
STDOUT.flush
sleep
"""


SLACK = 200_000


def record_flows(ctx, name, *options):
    ruby = ctx.ruby(ctx.write("flows.rb", FLOWS))
    ruby.expect("ready")
    return record_what_it_says(ctx, ruby, name + ".extprof", "-m", "offcpu", *options)


def flows_of(file):
    """id -> [(thread, field, marker)]; the markers of each thread by name"""
    formats = {(s["name"], f["key"]): f["format"] for s in file.document["meta"]["markerSchema"] for f in s["fields"]}
    flows = collections.defaultdict(list)
    for t in file.document["threads"]:
        for m in file.markers(t):
            for key, value in m[3].items():
                if formats.get((m[3]["type"], key)) in ("flow-id", "terminating-flow-id"):
                    flows[file.shared["stringArray"][value]].append((t, key, m))
    return flows


@case(timeout=90)
def are_tied_to_other_threads(ctx):
    """A wait has one flow with the thread that held what it was for, was joined or ended it, which did so when the program says."""
    path, said = record_flows(ctx, "flows", "--holder", "--waker")
    file = File(report(ctx, path, "flows.json"))
    flows, found, gvl = flows_of(file), collections.defaultdict(list), 0
    for number, ends in flows.items():
        check(len(ends) == 2, "flow %s has %s", number, ends)
        (waiter, key, wait), (other, _, mine) = sorted(ends, key=lambda e: e[1] == "flow")
        check(key in ("holder flow", "joined flow", "waker flow") and mine[3]["thread"] == "%s (%d)" % (waiter["name"], waiter["tid"]) and
              mine[3]["state"] == wait[3]["state"], "flow %s: %s and %s", number, wait, mine)
        # The text of the wait says which thread it is, too.
        text = wait[3][{"holder flow": "holder thread", "joined flow": "joined", "waker flow": "waker"}[key]]
        check("(%d)" % other["tid"] in text and other["pid"] == waiter["pid"] and other is not waiter, "%s: %s", other["name"], text)
        begin, end = (wait[2], wait[2]) if key == "waker flow" else (wait[1], wait[2])
        if key == "holder flow" and wait[3]["state"] == "mutex":
            end = begin
        check(mine[1:3] == (begin, None if begin == end else end), "%s: %s of %s", key, mine, wait)
        found[mine[0], waiter["name"], wait[3]["state"], other["name"]].append((begin, end))
        gvl += wait[3]["state"] == "gvl" and key == "holder flow"

    def within(times, truth):
        # The end of a wait is told when the thread goes on, by a program that needs some us.
        return all(any(a - SLACK <= begin and end <= b + SLACK for a, b in truth) for begin, end in times)
    pushed, had = (found[k] for k in (("ended a wait", "popper", "queue", "pusher"), ("held a lock", "locker", "mutex", "holder")))
    # Who still waits for the GVL does not wait for the next push.
    popped = [m for t in file.document["threads"] if t["name"] == "popper" for m in file.markers(t) if m[3].get("state") == "queue"]
    check(len(pushed) == len(popped) >= 4 and within(pushed, said["pushed"]), "pushes %s, and it pushed at %s; waits: %s", pushed, said["pushed"], popped)
    # Who wants the lock can come too late, if another one took it meanwhile.
    check(len(had) >= 4 and within(had, said["had"]), "the lock at %s, and the holder had it at %s", had, said["had"])
    gave = found["ended a wait", "locker", "mutex", "holder"]
    check(len(gave) >= 4 and all(any(-SLACK <= t - b < 20_000_000 for _, b in said["had"]) for t, _ in gave), "given back at %s, had at %s", gave,
          said["had"])
    (joined,), (lived,) = found["was joined", "joiner", "join", "burner"], said["lived"]
    check(lived[0] - 20_000_000 < joined[0] < lived[1] <= joined[1] + 1_000_000, "joined at %s, and it lived %s", joined, lived)
    # Each wait for the GVL of which the holder is known has its flow, unless that thread had ended by then: parts of one wait are
    # shown in no certain order.  Of all of them the one that computes has most.
    known = [m for t in file.document["threads"] for m in file.markers(t) if m[3].get("state") == "gvl" and "holder thread" in m[3]]
    zero = file.document["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"]
    ends = {"thread %s (%d)" % (t["name"], t["tid"]): zero + t["unregisterTime"] * 1e6 for t in file.document["threads"] if t["unregisterTime"]}
    untied = [m for m in known if "holder flow" not in m[3]]
    check(len(known) - len(untied) == gvl > 5 * len(untied) and all(ends[m[3]["holder thread"]] < m[1] for m in untied),
          "%d flows of %d waits for the GVL: %s", gvl, len(known), untied)
    by = collections.Counter()
    for (name, _, _, other), times in found.items():
        by[other] += sum(e - b for b, e in times) if name == "held the GVL" else 0
    check(by["burner"] > 0.8 * sum(by.values()), "who held the GVL: %s", by)
    # Without these options nothing is known of another thread.
    plain, _ = record_flows(ctx, "plain")
    check(not flows_of(File(report(ctx, plain, "plain.json"))), "flows without --holder and --waker")
    return "%d flows, %d of the GVL, %d pushes" % (len(flows), gvl, len(pushed))
