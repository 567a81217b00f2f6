"""extprof dump: what each thread does, read from outside, proven or marked; without BPF."""
import json
import mmap
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter

import case_fakes
import harness
import native
from binaries import Binary
from case_branches import by_raise, by_return, by_throw
from case_errors import NOBODY
from case_graph import YJIT
from elf import Elf
from harness import case, check
from ptrace import PTRACE_SEIZE, ptrace


def dump(ctx, *args, status=0, timeout=60, **options):
    """One run with --json: the objects that it printed."""
    got = ctx.extprof("dump", "--json", *args, timeout=timeout, **options)
    check(got.status == status, "extprof dump %s: status %d, not %d: %s", " ".join(map(str, args)), got.status, status,
          got.err[-600:])
    return [json.loads(line) for line in got.out.splitlines()]


def whole(d):
    """Nothing is missing, and each stack is proven."""
    check(d["torn"] == d["lost"] == d["left_out"] == 0, "torn %d, lost %d, left out %d", d["torn"], d["lost"],
          d["left_out"])
    for t in d["threads"]:
        for f in t["fibers"]:
            check(f["proof"] != "none" and not f["torn"], "%s has no proof", f)
    return d


def threads(d):
    """{name: thread}; the main thread is "main", that of another ractor "ractor N"."""
    def name(t):
        return "#%d" % t["id"] if not t["main"] else "main" if t["ractor"] == 1 else "ractor %d" % t["ractor"]
    return {t.get("name", name(t)): t for t in d["threads"]}


def places(fiber):
    """[(name, line or None)], innermost first."""
    return [(f["name"], f.get("line")) for f in fiber["frames"]]


def reads(pid):
    """Does the first thread wait to read?"""
    try:
        with open("/proc/%d/syscall" % pid) as f:
            number = f.read().split()[0]
    except OSError:
        return False
    return number in (("0", "7", "271") if os.uname().machine == "x86_64" else ("63", "73"))


def settled(ruby):
    """programs/dumped.rb, when its first thread has got the GVL after its line and reads."""
    ruby.expect("ready")
    harness.until(lambda: reads(ruby.pid), "its first thread does not read")
    return ruby


# States and stacks of programs/dumped.rb.
WAITS = {
    "popper": ("sleeping", [("Thread::Queue#pop", None), ("block in <main>", 18)]),
    "reader": ("blocked", [("IO#read", None), ("block in <main>", 19)]),
    "napper": ("sleeping", [("Kernel#sleep", None), ("block in <main>", 20)]),
    "joiner": ("sleeping", [("Thread#join", None), ("block in <main>", 21)]),
    "locker": ("sleeping", [("Thread::Mutex#lock", None), ("block in <main>", 23)]),
}
COMMON = ["block in Object#named", "Object#deep"]


def check_waits(d, since=True):
    found = threads(d)
    for name, (state, stack) in WAITS.items():
        t = found.get(name)
        check(t, "there is no thread %s: %s", name, sorted(found))
        check(t["state"] == state, "%s is %s, not %s", name, t["state"], state)
        # Parts of Ruby itself that are written in Ruby have lines of their own.
        got = [(n, line if k != "builtin" else None) for (n, line), k in
               zip(places(t["fibers"][0]), (f["kind"] for f in t["fibers"][0]["frames"]))]
        check(got[:2] == stack, "%s: %s, not %s", name, got, stack)
        check(got[2][0] == "block in Object#named" and len(got) == 3, "%s: %s", name, got)
        check(not since or t["for_ns"] > 0.15e9, "%s for %s ns", name, t.get("for_ns"))
    main = found["main"]
    check(main["state"] == "blocked" and places(main["fibers"][0])[-1] == ("<main>", 34), "main: %s", main)
    parked = [f for f in main["fibers"] if f["state"] == "parked"]
    check(len(parked) == 1 and places(parked[0]) == [("Fiber.yield", None), ("block in <main>", 27)], "fibers: %s",
          main["fibers"])
    burner = found["burner"]["fibers"][0]
    names = [n for n, _ in places(burner)]
    check(names == ["block (2 levels) in <main>"] + ["Object#deep"] * 4 + ["block in <main>", "block in Object#named"],
          "burner: %s", names)
    return found


@case(timeout=60, bpf=False)
def states(ctx):
    ruby = settled(ctx.program("dumped.rb"))
    for _ in range(20):
        (d,) = dump(ctx, "-p", ruby.pid)
        found = check_waits(whole(d))
        check(found["burner"]["state"] == "running", "burner: %s", found["burner"]["state"])
        check({t["fibers"][0]["proof"] for t in found.values()} == {"off-cpu"}, "proofs: %s", d)
        check(found["reader"]["call"]["name"] in ("poll", "ppoll", "read"), "reader: %s", found["reader"]["call"])
        check(d["pid"] == ruby.pid and d["ruby_version"].startswith("3."), "%s %s", d["pid"], d["ruby_version"])
        tids = set(os.listdir("/proc/%d/task" % ruby.pid))
        check({str(t["tid"]) for t in found.values()} <= tids, "tids: %s", tids)
    text = ctx.extprof("dump", "-p", ruby.pid).ok().out
    for words in ('"burner"', "has GVL", '"reader"', "blocked in", "sleeping for", "parked", "dumped.rb:27"):
        check(words in text, "no %r in:\n%s", words, text)
    return "%d threads and a parked fiber, 20 times, all proven" % len(found)


@case(timeout=60, bpf=False)
def stopped_process(ctx):
    """Of a process that SIGSTOP has stopped, with both readers. It stays stopped."""
    ruby = settled(ctx.program("dumped.rb"))
    ruby.signal(signal.SIGSTOP)
    harness.until(lambda: harness.state(ruby.pid) == "T", "it does not stop")
    for reader in ("nonblocking", "stop"):
        (d,) = dump(ctx, "-p", ruby.pid, "--reader", reader)
        found = check_waits(whole(d))
        check({t["kernel_state"] for t in found.values()} == {"T"}, "%s: %s", reader,
              {n: t["kernel_state"] for n, t in found.items()})
        time.sleep(0.05)
        check(harness.state(ruby.pid) == "T", "%s: it runs again", reader)
    ruby.signal(signal.SIGCONT)
    ruby.tell("")
    check(ruby.wait(10) == 0, "it did not go on")
    return "both readers"


@case(timeout=60, bpf=False)
def stuck_in_c(ctx):
    """A C function that keeps the GVL and waits: the dump says in which method, and who waits for the lock."""
    ruby = ctx.ruby("-rfiddle", "-e", """
pause = Fiddle::Function.new(Fiddle::Handle::DEFAULT["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true)
waiter = Thread.new { Thread.current.name = "waiter"; loop { Thread.pass } }
sleep 0.1
$stdout.puts "ready"; $stdout.flush
pause.call(50_000_000) # line 6
""")
    ruby.expect("ready")
    stuck = lambda: threads(dump(ctx, "-p", ruby.pid)[0])
    harness.until(lambda: "call" in stuck()["main"], "it does not wait")
    d = dump(ctx, "-p", ruby.pid)[0]
    found = threads(whole(d))
    main, waiter = found["main"], found["waiter"]
    check(main["state"] == "running" and main["call"]["name"] in ("clock_nanosleep", "nanosleep"), "main: %s", main)
    check(places(main["fibers"][0])[-1] == ("<main>", 6) and
          any(n == "Fiddle::Function#call" for n, _ in places(main["fibers"][0])), "main: %s", places(main["fibers"][0]))
    check(waiter["state"] == "ready" and waiter["gvl_holder"] == main["id"], "waiter: %s", waiter)
    text = ctx.extprof("dump", "-p", ruby.pid).ok().out
    check("blocked in " + main["call"]["name"] in text and "waiting for GVL" in text and "held by main" in text, text)
    return "in %s with the GVL" % main["call"]["name"]


@case(timeout=60, bpf=False)
def event_loop(ctx):
    """A C extension waits in epoll: the dump says for which files, as the program has made them."""
    ruby = ctx.ruby("-rfiddle", "-rsocket", "-e", """
c = Fiddle::Handle::DEFAULT
int, pointer = Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP
create = Fiddle::Function.new(c["epoll_create1"], [int], int)
ctl = Fiddle::Function.new(c["epoll_ctl"], [int, int, int, pointer], int)
wait = Fiddle::Function.new(c["epoll_wait"], [int, pointer, int, int], int)
server = TCPServer.new("127.0.0.1", 0)
client = TCPSocket.new("127.0.0.1", server.addr[1])
pipes = Array.new(4) { IO.pipe }
epoll = create.call(0)
files = [client] + pipes.map(&:first)
files.each { |f| ctl.call(epoll, 1, f.fileno, [1, f.fileno].pack("LQ")) == 0 or abort "epoll_ctl" }
Thread.new { Thread.current.name = "loop"; wait.call(epoll, "x" * 64, 4, -1) }
$stdout.puts [epoll, server.addr[1], *files.map(&:fileno)].join(" "); $stdout.flush
sleep
""")
    epoll, port, *files = (int(n) for n in ruby.line().split())
    look = lambda: threads(dump(ctx, "-p", ruby.pid)[0])["loop"]
    harness.until(lambda: look().get("call", {}).get("name", "").startswith("epoll_"), "it does not wait")
    said = look()["call"]
    check(said["fd"] == epoll, "descriptor %d: %s", epoll, said)
    watched = re.findall(r"[:,] (\d+) (socket|pipe)", said["file"])
    check("of 5 files" in said["file"] and said["file"].endswith(" and 1 more") and len(watched) == 4, "%s", said)
    check({int(n) for n, _ in watched} < set(files), "%s of %s", watched, files)
    for n, kind in watched:
        check(kind == ("socket" if int(n) == files[0] else "pipe"), "%s is no %s: %s", n, kind, said)
    check(str(files[0]) not in dict(watched) or "%d socket to 127.0.0.1:%d" % (files[0], port) in said["file"], "%s", said)
    text = ctx.extprof("dump", "-p", ruby.pid).ok().out
    check("\n2 threads: 1 waits for I/O, 1 sleeps\n" in text, "%s", text)
    check(re.search(r'^thread "loop" .*: blocked in epoll_p?wait\(%d .* for .*, waits until one of these is ready$' % epoll, text, re.M), "%s", text)
    return said["file"]


WAITING = """
require "monitor"
def named(name, &block) = Thread.new { Thread.current.name = name; block.call }
Thread.report_on_exception = false
first, second, monitor = Mutex.new, Mutex.new, Monitor.new
held = Queue.new
named("a") { first.lock; held << 1; sleep 0.01 until second.locked?; second.lock }
held.pop
named("b") { second.lock; first.lock }
named("has monitor") { monitor.enter; held << 1; sleep }
held.pop
named("monitor") { monitor.enter }
queue, full = Queue.new, SizedQueue.new(1)
full << 1
named("queue") { queue.pop }
named("queue too") { queue.pop }
named("full") { full << 2 }
named("condition") { c = ConditionVariable.new; m = Mutex.new; m.synchronize { c.wait(m) } }
r, w = IO.pipe
named("read") { r.read(1) }
named("select") { IO.select([r]) }
r2, w2 = IO.pipe
named("write") { w2.write("x" * 1_000_000) }
child = spawn("sleep 60")
named("process") { Process.wait(child) }
named("any process") { Process.wait }
last = named("sleep") { sleep }
named("join") { last.join }
ractor = Ractor.new { Ractor.receive }
named("take") { ractor.take }
sleep 0.3
puts [child, r.fileno, w2.fileno].join(" ")
$stdout.flush
sleep"""


@case(timeout=60, bpf=False)
def waits(ctx):
    """What each thread waits for, and who has it."""
    ruby = ctx.ruby("-W0", "-e", WAITING)
    child, read_fd, write_fd = map(int, ruby.line().split())
    (d,) = dump(ctx, "-p", ruby.pid)
    found = threads(whole(d))
    waits = {n: t.get("wait") for n, t in found.items() if t["ractor"] == 1}
    kinds = {n: w and w["kind"] for n, w in waits.items()}
    check(kinds == {"main": "sleep", "a": "mutex", "b": "mutex", "has monitor": "sleep", "monitor": "mutex",
                    "queue": "queue", "queue too": "queue", "full": "sized-queue", "condition": "condvar",
                    "read": "io-read", "select": "io-select", "write": "io-write", "process": "process",
                    "any process": "process", "sleep": "sleep", "join": "join", "take": "ractor"}, "kinds: %s", kinds)
    name = {t["id"]: n for n, t in found.items()}
    whose = {n: name[w["thread"]] for n, w in waits.items() if "thread" in w}
    check(whose == {"a": "b", "b": "a", "monitor": "has monitor", "join": "sleep"}, "whose: %s", whose)
    check({n for n, w in waits.items() if w["deadlock"]} == {"a", "b"}, "deadlocks: %s", waits)
    check(waits["queue"]["object"] == waits["queue too"]["object"] and
          len({waits[n]["object"] for n in ("a", "b", "monitor", "queue", "full", "condition")}) == 6, "objects: %s", waits)
    check(waits["process"]["object"] == child, "process: %s", waits["process"])
    for n, fd in (("read", read_fd), ("write", write_fd)):
        check(waits[n]["fd"] == fd and waits[n]["file"] == os.readlink("/proc/%d/fd/%d" % (ruby.pid, fd)), "%s: %s", n,
              waits[n])
    receives = [t for t in d["threads"] if t["ractor"] == 2]
    check(len(receives) == 1 and receives[0]["wait"]["kind"] == "ractor" and receives[0]["wait"]["object"] == 1,
          "ractor: %s", receives)
    # Without a native thread, the count of changes of the state proves it.
    check(receives[0]["fibers"][0]["proof"] in ("wait", "off-cpu"), "ractor: %s", receives[0])
    text = ctx.extprof("dump", "-p", ruby.pid).ok().out
    check({waits[n]["owner"] for n in ("a", "b", "monitor")} == {"now"}, "owners: %s", waits)
    check(waits["join"]["limit"] == "none", "join: %s", waits["join"])
    for words in ('waits for a mutex that "b" has (tid %d): deadlock' % found["b"]["tid"],
                  'waits for the end of "sleep" (tid %d)' % found["sleep"]["tid"], "waits for a queue, which is empty",
                  "waits for the end of process %d" % child, "waits to receive from a ractor", "waits to write"):
        check(words in text, "no %r in:\n%s", words, text)
    # A debugger that looks at the core file sees the same.
    core = gcore(ctx, ruby.pid) if shutil.which("gcore") else None
    if core:
        got = threads(dump(ctx, "--core", core)[0])
        os.unlink(core)
        check({n: (t.get("wait") or {}).get("kind") for n, t in got.items() if t["ractor"] == 1} == kinds, "core: %s", got)
    return "%d kinds of waits" % len(set(kinds.values()))


NAMED = "def named(name, &b) = Thread.new { Thread.current.name = name; b.call }\n"
# What waits for what at the end, and which threads are in a deadlock.
LOCKS = {
    "handed over": ("""
m = Mutex.new
named("a") { m.synchronize { sleep 0.3 }; sleep }
sleep 0.1; named("b") { m.lock; sleep }
sleep 0.1; named("c") { m.lock; sleep }""", {"c": "b"}, set()),
    "handed over, then a circle that opens": ("""
m1, m2 = Mutex.new, Mutex.new
named("a") { m1.lock; sleep 0.5; m1.unlock; m2.synchronize { sleep } }
sleep 0.1; named("b") { m1.synchronize { sleep } }
sleep 0.1; named("c") { m2.lock; m1.lock }""", {"a": "c", "c": "b"}, set()),
    "handed over, then a circle": ("""
m1, m2 = Mutex.new, Mutex.new
named("a") { m1.synchronize { sleep 0.5 }; sleep }
sleep 0.1; named("b") { m1.lock; sleep 0.2; m2.lock }
sleep 0.1; named("c") { m2.lock; m1.lock }""", {"b": "c", "c": "b"}, {"b", "c"}),
    "Monitor": ("""
require "monitor"
m1, m2 = Monitor.new, Monitor.new
named("a") { m1.synchronize { sleep 0.5 }; sleep }
sleep 0.1; named("b") { m1.enter; sleep 0.2; m2.enter }
sleep 0.1; named("c") { m2.enter; m1.enter }""", {"b": "c", "c": "b"}, {"b", "c"}),
    "join": ("""
m = Mutex.new; b = nil
named("a") { m.synchronize { sleep 0.2; b.join } }
sleep 0.1; b = named("b") { m.lock }""", {"a": "b", "b": "a"}, {"a", "b"}),
    "join with a limit": ("""
m = Mutex.new; b = nil
named("a") { m.synchronize { sleep 0.2; b.join(30) } }
sleep 0.1; b = named("b") { m.lock }""", {"a": "b", "b": "a"}, set()),
    "join in Timeout.timeout": ("""
require "timeout"
m = Mutex.new; b = nil
named("a") { m.synchronize { sleep 0.2; Timeout.timeout(30) { b.join } } }
sleep 0.1; b = named("b") { m.lock }""", {"a": "b", "b": "a"}, set()),
}


@case(timeout=90, bpf=False, waits=True)
def owners(ctx):
    """Who has a mutex at the moment, not when the wait began; and what is a deadlock: each program is at rest then."""
    for name, (code, expected, circle) in LOCKS.items():
        ruby = ctx.ruby("-W0", "-e", "Thread.report_on_exception = false\n" + NAMED + code +
                        "\nsleep 1\nputs 'ready'; $stdout.flush\nsleep")
        ruby.expect("ready")
        for reader in ("nonblocking", "stop"):
            found = threads(whole(dump(ctx, "-p", ruby.pid, "--reader", reader)[0]))
            by_id = {t["id"]: n for n, t in found.items()}
            waits = {n: t["wait"] for n, t in found.items() if "thread" in t.get("wait", {})}
            check({n: by_id[w["thread"]] for n, w in waits.items()} == expected, "%s: %s", name, waits)
            check({n for n, w in waits.items() if w["deadlock"]} == circle, "%s: %s", name, waits)
        ruby.kill()
    return "%d programs, both readers" % len(LOCKS)


@case(timeout=60, bpf=False)
def fibers(ctx):
    """Which fiber has resumed which; parked ones; one that was never resumed has no stack."""
    ruby = ctx.ruby("-e", """
parked = Fiber.new { Fiber.yield } # line 2
parked.resume
never = Fiber.new { 1 }
inner = Fiber.new { $stdout.puts "ready"; $stdout.flush; sleep } # line 5
outer = Fiber.new(blocking: true) { inner.resume } # line 6
outer.resume # line 7""")
    ruby.expect("ready")
    harness.until(lambda: harness.state(ruby.pid) == "S", "it does not sleep")
    (d,) = dump(ctx, "-p", ruby.pid)
    found = whole(d)["threads"][0]["fibers"]
    by_line = {places(f)[-1][1]: f for f in found}
    check(sorted(by_line) == [2, 5, 6, 7] and len(found) == 4, "fibers: %s", found)
    parked, inner, outer, root = by_line[2], by_line[5], by_line[6], by_line[7]
    check(inner["state"] == "current" and root["root"] and not outer["root"] and parked["state"] == "parked", "%s", found)
    links = {f["id"]: (f.get("resumed_by"), f.get("resumes"), f["state"], f["nonblocking"]) for f in found}
    check(links == {inner["id"]: (outer["id"], None, "current", True),
                    outer["id"]: (root["id"], inner["id"], "resuming", False),
                    root["id"]: (None, outer["id"], "resuming", False),
                    parked["id"]: (None, None, "parked", True)}, "links: %s", links)
    text = ctx.extprof("dump", "-p", ruby.pid).ok().out
    check("current, resumed by fiber %d" % outer["id"] in text and "has resumed fiber %d" % inner["id"] in text, text)
    return "4 fibers, 2 of them resumed by another one"


@case(timeout=60, bpf=False)
def moves(ctx):
    """--interval marks what moved: one thread that goes on, others that do not."""
    ruby = ctx.ruby("-e", """
Thread.new { Thread.current.name = "still"; Queue.new.pop }
Thread.new { Thread.current.name = "turns"; loop { sleep 0.001; [3, 1].sort_by { |x| sleep 0.001; x } } }
sleep 0.1
$stdout.puts "ready"; $stdout.flush
sleep""")
    ruby.expect("ready")
    d = dump(ctx, "-p", ruby.pid, "--interval", "20ms", "--count", 40)
    check(len(d) == 40, "%d dumps", len(d))
    check(all("moved" not in t["fibers"][0] and "ran" not in t for t in d[0]["threads"]), "first: %s", d[0])
    moved = Counter()
    for one in d[1:]:
        for name, t in threads(whole(one)).items():
            moved[name] += t["fibers"][0]["moved"]
            check(name != "still" or not t["ran"], "still ran")
    check(moved["still"] == 0 and moved["main"] == 0 and moved["turns"] >= 2, "moved: %s", moved)
    text = ctx.extprof("dump", "-p", ruby.pid, "--interval", "50ms", "--count", 2).ok().out
    check("not moved" in text.split("process ")[2] and "not moved" not in text.split("process ")[1], text)
    return "of 39: %s" % dict(moved)


@case(timeout=120, bpf=False)
def never_a_cross_pair(ctx):
    """Two branches that change as fast as they can, in 2,000 dumps."""
    seen = []
    for way in (by_return, by_throw, by_raise):
        for flags in ((), YJIT):
            path = ctx.path("branches.rb")
            b = way(path)
            ctx.write("branches.rb", b.w.text())
            ruby = ctx.ruby(*flags, path)
            ruby.expect("ready")
            letters, torn, dumps = Counter(), 0, 0
            for d in dump(ctx, "-p", ruby.pid, "--interval", "1ms", "--count", 334):
                dumps += 1
                torn += d["torn"]
                f = threads(d)["main"]["fibers"][0]
                names = [n for n, _ in places(f) if re.match("Object#(hot|leaf)_", n)]
                check(len({n[-1] for n in names}) < 2, "a cross pair: %s", names)
                check(f["torn"] or not names or names[-1].startswith("Object#hot_"), "a leaf without its caller: %s",
                      places(f))
                letters[names[0][-1] if names else "-"] += 1
            check(letters["a"] and letters["b"], "branches seen: %s", letters)
            seen.append((dumps, torn))
            ruby.kill()
    return "%d dumps, 0 cross pairs, %d torn" % (sum(n for n, _ in seen), sum(t for _, t in seen))


@case(timeout=120, bpf=False)
def torn_is_marked(ctx):
    """extprof may not go to the CPU of the program: copies have to be equal then. What is torn is marked, and shows
    only what stays."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        return harness.Counted(0, 0, 1, "this needs two CPUs")
    proofs, torn = Counter(), 0
    for way, flags in ((by_return, YJIT), (by_throw, ()), (by_return, ())):
        path = ctx.path("branches.rb")
        b = way(path)
        ctx.write("branches.rb", b.w.text())
        ruby = ctx.ruby(*flags, path, preexec_fn=lambda: os.sched_setaffinity(0, cpus[:1]))
        ruby.expect("ready")
        p = ctx.extprof_start("dump", "--json", "-p", ruby.pid, "--interval", "1ms", "--count", 500,
                              preexec_fn=lambda: os.sched_setaffinity(0, cpus[1:2]))
        out, err = p.communicate(60)
        here = 0
        for line in out.splitlines():
            f = threads(json.loads(line))["main"]["fibers"][0]
            names = [n for n, _ in places(f)]
            branch = [n for n in names if re.match("Object#(hot|leaf)_", n)]
            check(len({n[-1] for n in branch}) < 2, "a cross pair: %s", names)
            check((names[0] == "[changes while it is read]") == f["torn"], "the mark: %s", f)
            check(f["torn"] == (f["proof"] == "none") and (f["torn"] or names[-1] == "<main>"), "%s", f)
            here += f["torn"]
            proofs[f["proof"]] += 1
        check(p.p.returncode == (harness.NOT_READY if here else 0), "status %d: %s", p.p.returncode, err[-300:])
        check(not here or "--reader stop" in err, err[-300:])
        torn += here
        ruby.kill()
    check(sum(proofs.values()) == 1500 and proofs["equal"] + proofs["off-cpu"] + torn == 1500, "proofs: %s", proofs)
    return "%d dumps, 0 cross pairs: %s" % (sum(proofs.values()), dict(proofs))


BIG = """
def deep(n) = n == 0 ? sleep : deep(n - 1)
100.times { |i| Thread.new { Thread.current.name = "worker #{i}"; deep(47) } }
sleep 0.1 until Thread.list.all? { |t| t == Thread.main || t.status == "sleep" }
$stdout.puts "ready"; $stdout.flush
sleep"""


@case(timeout=60, bpf=False)
def a_hundred_threads(ctx):
    """100 threads of 50 frames, from the start of extprof to its end: 15 ms of CPU time, one of them takes 8, and an interpreter that does
    nothing 13. How much more it may be is judged by these, in turns: all are slower beside others."""
    ruby, one = ctx.ruby("-e", BIG), ctx.ruby("-e", BIG.replace("100.times", "1.times"))
    ruby.expect("ready")
    one.expect("ready")
    took, used, used_for_one, by_others = [], [], [], []
    for _ in range(10):
        for argv, times in ([harness.EXTPROF, "dump", "--json", "-p", one.pid], used_for_one), ([sys.executable, "-ISc", "pass"], by_others):
            p = ctx.start(argv, stdout=subprocess.DEVNULL)
            harness.prefer(p.pid)
            _, p.p.returncode, usage = os.wait4(p.pid, 0)
            check(p.p.returncode == 0, "%s failed", argv)
            times.append(usage.ru_utime + usage.ru_stime)
        reader = ctx.extprof_start("dump", "--json", "-p", ruby.pid, stdout=open(ctx.path("out"), "wb"))
        harness.prefer(reader.pid)
        begin = time.monotonic()
        _, status, usage = os.wait4(reader.pid, 0)
        reader.p.returncode = status
        check(status == 0, "it failed")
        took.append(time.monotonic() - begin)
        used.append(usage.ru_utime + usage.ru_stime)
        with open(ctx.path("out")) as f:
            d = whole(json.loads(f.read()))
        workers = [t for n, t in threads(d).items() if n.startswith("worker")]
        check(len(workers) == 100, "%d workers", len(workers))
        for t in workers:
            check([n for n, _ in places(t["fibers"][0])] == ["Kernel#sleep"] + ["Object#deep"] * 48 +
                  ["block (2 levels) in <main>"], "%s: %s", t["name"], places(t["fibers"][0])[:3])
    hundred, single, other = (sorted(u)[5] * 1e3 for u in (used, used_for_one, by_others))
    check(hundred < 4 * single and single < 3 * other, "%.1f ms of CPU time, %.1f for one thread, an interpreter takes %.1f", hundred, single, other)
    return "%.1f ms of CPU time, %.1f for one thread, %.1f ms on the clock (medians of 10), at best %.1f" % (
        hundred, single, sorted(took)[5] * 1e3, min(took) * 1e3)


# It sends itself one signal after the other, and each has to arrive before the next one is sent.
SIGNALS = """
got = 0
trap(:USR1) { got += 1 }
trap(:USR2) { $stdout.puts got; $stdout.flush }
Thread.new { loop { sleep 0.0001 } }
$stdout.puts "ready"; $stdout.flush
sent = 0
loop do
  Process.kill(:USR1, $$)
  sent += 1
  Thread.pass until got == sent
end"""


class Signalled:
    """A program that sends itself signals all the time.  After the body they still arrive; `count` is how many did in it."""

    def __init__(self, ctx):
        self.ruby = ctx.ruby("-e", SIGNALS)
        self.ruby.expect("ready")
        self.pid = self.ruby.pid

    def arrived(self):
        self.ruby.signal(signal.SIGUSR2)
        return int(self.ruby.line(10))

    def __enter__(self):
        self.before = self.arrived()
        return self

    def __exit__(self, kind, *_):
        if kind:
            return
        after = self.arrived()
        check(after > self.before, "signals: %d, then none", self.before)
        harness.until(lambda: self.arrived() > after, "signals: %d, %d, then none" % (self.before, after))
        self.count = after - self.before


@case(timeout=90, bpf=False)
def signals_are_not_lost(ctx):
    stops = []
    with Signalled(ctx) as ruby:
        for d in dump(ctx, "-p", ruby.pid, "--reader", "stop", "--interval", "1ms", "--count", 500):
            stops.append(d["stopped_ns"] / 1e6)
            check({f["proof"] for t in whole(d)["threads"] for f in t["fibers"]} == {"stopped"}, "proofs: %s", d)
    stops.sort()
    return "%d signals during 500 stops of %.2f ms (median), %.2f (99 %%), %.2f (longest)" % (
        ruby.count, stops[250], stops[495], stops[-1])


def traced(pid):
    """Threads that are stopped or have a tracer."""
    found = []
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, tid)) as f:
            status = dict(line.split(":\t", 1) for line in f if ":\t" in line)
        if int(status["TracerPid"]) or status["State"][0] in "Tt":
            found.append((tid, status["State"].strip(), status["TracerPid"].strip()))
    return found


@case(timeout=90, bpf=False)
def killed_while_it_stops(ctx):
    """After SIGKILL at any moment nothing stays stopped."""
    ruby = ctx.ruby("-e", SIGNALS)
    ruby.expect("ready")
    caught = 0
    for _ in range(40):
        reader = ctx.extprof_start("dump", "--json", "-p", ruby.pid, "--reader", "stop", "--interval", "1ms",
                                   stdout=subprocess.DEVNULL)
        time.sleep(0.02 + random.random() / 50)
        for _ in range(200):
            if traced(ruby.pid):
                caught += 1
                break
        reader.signal(signal.SIGKILL)
        reader.wait()
        left = traced(ruby.pid)
        check(not left, "left: %s", left)
    ruby.signal(signal.SIGUSR2)
    check(int(ruby.line(10)) > 0, "it does not go on")
    check(caught, "it was never seen stopped")
    return "40 kills, %d of them while it was traced" % caught


@case(timeout=60, bpf=False)
def a_debugger_is_there(ctx):
    ruby = settled(ctx.program("dumped.rb"))
    ptrace(PTRACE_SEIZE, ruby.pid)
    got = ctx.extprof("dump", "-p", ruby.pid, "--reader", "stop")
    check(got.status == harness.PERMISSION and "traced by process %d" % os.getpid() in got.err and not got.out,
          "status %d: %s", got.status, got.err)
    check([t for t in traced(ruby.pid) if t[2] != str(os.getpid())] == [], "left: %s", traced(ruby.pid))
    check_waits(whole(dump(ctx, "-p", ruby.pid)[0]))
    return got.err.splitlines()[0]


def gcore(ctx, pid):
    """A core file of the process, which goes on."""
    p = ctx.start(["gcore", "-o", ctx.path("core"), str(pid)], stdout=subprocess.DEVNULL)
    check(p.wait(60) == 0, "gcore failed: Debian's package gdb has it")
    return ctx.path("core.%d" % pid)


def same_stacks(d):
    return {n: (t["state"], [places(f) for f in t["fibers"]]) for n, t in threads(d).items() if n != "burner"}


def copy_of_ruby(ctx):
    """A ruby whose program can be deleted."""
    binary = Binary(ctx)
    return binary, settled(ctx.start([binary.ruby, "--disable=gems", "-W0",
                                      os.path.join(harness.PROGRAMS, "dumped.rb")], env=binary.env))


@case(timeout=120, bpf=False)
def core_by_gcore(ctx):
    """The core file alone, without the process and its program."""
    if not shutil.which("gcore"):
        return harness.Counted(0, 0, 1, "there is no gcore")
    binary, ruby = copy_of_ruby(ctx)
    live = dump(ctx, "-p", ruby.pid)[0]
    core = gcore(ctx, ruby.pid)
    ruby.kill()
    os.unlink(binary.ruby)
    if binary.changed != binary.ruby:
        os.unlink(binary.changed)
    (d,) = dump(ctx, "--core", core)
    check_waits(whole(d), since=False)
    check(same_stacks(d) == same_stacks(live), "it differs:\n%s\n%s", same_stacks(d), same_stacks(live))
    check({f["proof"] for t in d["threads"] for f in t["fibers"]} == {"core"}, "proofs")
    check(d["pid"] == ruby.pid and binary.ruby in d["command"], "%s %s", d["pid"], d["command"])
    size = os.path.getsize(core)
    # A file that was cut: an answer or an error, never a crash.
    statuses = Counter()
    for part in (0, 1, 64, 1000, 4096, size // 10, size // 2, size - 4096):
        os.truncate(core, size)
        with open(core, "rb") as f, open(ctx.path("cut"), "wb") as g:
            g.write(f.read(part))
        got = ctx.extprof("dump", "--core", ctx.path("cut"))
        check(got.status in (harness.USAGE, harness.NOT_RUBY, harness.NO_INTERFACE, harness.NO_PROCESS, harness.NOT_READY,
                             harness.VERSION, 0), "cut at %d: status %d: %s", part, got.status, got.err)
        check("is cut off" in got.err or part <= 4096, "cut at %d: it does not say so: %s", part, got.err)
        statuses[got.status] += 1
        os.unlink(ctx.path("cut"))
    os.unlink(core)
    return "%d MB; cut files: statuses %s" % (size >> 20, dict(statuses))


@case(timeout=120, bpf=False)
def core_by_the_kernel(ctx):
    """A process that crashes, with what the kernel writes by default."""
    with open("/proc/sys/kernel/core_pattern") as f:
        pattern = f.read().strip()
    if pattern.startswith("|") or "/" in pattern:
        return harness.Counted(0, 0, 1, "core files go to %s here" % pattern)
    import resource
    binary = Binary(ctx)
    unlimited = lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    ruby = ctx.start([binary.ruby, "--disable=gems", "-W0", os.path.join(harness.PROGRAMS, "dumped.rb")],
                     env=binary.env, cwd=ctx.directory, preexec_fn=unlimited)
    settled(ruby)
    live = dump(ctx, "-p", ruby.pid)[0]
    # Ruby handles SIGABRT, SIGSEGV and SIGQUIT itself.
    ruby.signal(signal.SIGTRAP)
    status = ruby.wait(60)
    check(status == -signal.SIGTRAP, "it ended with %d", status)
    cores = [f for f in os.listdir(ctx.directory) if f.startswith("core")]
    check(len(cores) == 1, "core files: %s", cores)
    core = ctx.path(cores[0])
    os.unlink(binary.ruby)
    if binary.changed != binary.ruby:
        os.unlink(binary.changed)
    (d,) = dump(ctx, "--core", core)
    check_waits(whole(d), since=False)
    check(same_stacks(d) == same_stacks(live), "it differs:\n%s\n%s", same_stacks(d), same_stacks(live))
    size = os.path.getsize(core)
    os.unlink(core)
    return "%d MB" % (size >> 20)


@case(timeout=120, bpf=False, waits=True)
def core_without_the_program(ctx):
    """A core file without the first pages of programs (coredump_filter): the program is found by its path, or is named.
    Another program is not taken for it."""
    if not shutil.which("gcore"):
        return harness.Counted(0, 0, 1, "there is no gcore")
    binary, ruby = copy_of_ruby(ctx)
    # Not the bit 4, first pages of ELF files.
    with open("/proc/%d/coredump_filter" % ruby.pid, "w") as f:
        f.write("0x23")
    live = dump(ctx, "-p", ruby.pid)[0]
    core, away = gcore(ctx, ruby.pid), ctx.path("away")
    ruby.kill()
    check(same_stacks(dump(ctx, "--core", core)[0]) == same_stacks(live), "by its path: it differs")
    os.rename(binary.changed, away)
    got = ctx.extprof("dump", "--core", core)
    check(got.status == harness.NOT_RUBY and "name its program, or its libruby.so, with --exe FILE" in got.err and not got.out,
          "without it: status %d: %s", got.status, got.err)
    check(same_stacks(dump(ctx, "--core", core, "--exe", away)[0]) == same_stacks(live), "with --exe: it differs")
    # Of another program nothing is said, whether it is a ruby or not, and of a file that is no program neither.
    for wrong in ("/bin/sleep", harness.EXTPROF, core, ctx.path("stderr"), "/dev/null", ctx.directory, ctx.path("nothing")):
        got = ctx.extprof("dump", "--core", core, "--exe", wrong)
        check(got.status in (harness.NOT_RUBY, harness.USAGE) and got.err.startswith("extprof: ") and not got.out,
              "--exe %s: status %d: %s", wrong, got.status, got.err)
    os.unlink(core)
    return "found by its path and by --exe"


def edit(path, old, new):
    """Replace all of some bytes in a file by as many others: how often they were there."""
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
        count, at = 0, m.find(old)
        while at >= 0:
            m[at:at + len(old)] = new
            count, at = count + 1, m.find(old, at + len(old))
    return count


@case(timeout=120, bpf=False)
def core_by_build_id(ctx):
    """A core file that has the build id of its program, and not the note that leads to the interface: --exe takes the
    program with this build id and refuses one with another."""
    if not shutil.which("gcore"):
        return harness.Counted(0, 0, 1, "there is no gcore")
    binary, ruby = copy_of_ruby(ctx)
    live = dump(ctx, "-p", ruby.pid)[0]
    core, away, other = gcore(ctx, ruby.pid), ctx.path("away"), ctx.path("other")
    ruby.kill()
    build_id = Elf(binary.changed).build_id()
    os.rename(binary.changed, away)
    shutil.copy(away, other)
    # gcore may write all of the program's first segment, with its symbols.
    check(edit(core, b"ruby-debug-ext\0", b"ruby-debug-xyz\0") > 0, "there is no note in the core file")
    edit(core, b"rb_debug_ext_root\0", b"rb_debug_xyz_root\0")
    check(edit(other, build_id, bytes(b ^ 0xff for b in build_id)) == 1, "the build id is not there once")
    got = ctx.extprof("dump", "--core", core)
    check(got.status in (harness.NOT_RUBY, harness.NO_INTERFACE) and "--exe" in got.err, "without it: status %d: %s",
          got.status, got.err)
    check(same_stacks(dump(ctx, "--core", core, "--exe", away)[0]) == same_stacks(live), "with --exe: it differs")
    got = ctx.extprof("dump", "--core", core, "--exe", other)
    check(got.status == harness.USAGE and "build id is another one" in got.err and not got.out, "another one: %d: %s",
          got.status, got.err)
    os.unlink(core)
    return "build id %s" % build_id.hex()


@case(timeout=60, bpf=False)
def errors(ctx):
    """What cannot work says so, says what to do, and has a status of its own."""
    ruby = settled(ctx.program("dumped.rb"))
    sleep = ctx.start(["sleep", "60"])
    harness.until(lambda: os.readlink("/proc/%d/exe" % sleep.pid).endswith("sleep"), "it is not sleep yet")
    text = ctx.write("text", "no core\n")
    cases = [
        ((), harness.USAGE, "-p PID"), (("-p", "x"), harness.USAGE, "no pid"), (("1234",), harness.USAGE, "-p PID"),
        (("-p", ruby.pid, "--core", "x"), harness.USAGE, "--core"),
        (("-p", ruby.pid, "--exe", "x"), harness.USAGE, "--exe"),
        (("--core", "x", "--reader", "stop"), harness.USAGE, "--reader"),
        (("-p", ruby.pid, "--reader", "magic"), harness.USAGE, "nonblocking or stop, not by magic"),
        (("-p", ruby.pid, "--count", "3"), harness.USAGE, "--interval"),
        (("-p", ruby.pid, "--interval", "x"), harness.USAGE, "no time"),
        (("-p", ruby.pid, "--count", "0"), harness.USAGE, "no number"),
        (("-p", 4194304), harness.NO_PROCESS, "no such process"),
        (("-p", sleep.pid), harness.NOT_RUBY, "not a ruby"),
        (("--core", ctx.path("nothing")), harness.NO_PROCESS, "No such file"),
        (("--core", text), harness.USAGE, "no core file"),
        (("--core", harness.EXTPROF), harness.USAGE, "no core file"),
        (("-p", "%d,%d" % (sleep.pid, ruby.pid)), harness.NOT_RUBY, "not a ruby"),
    ]
    for args, status, says in cases:
        got = ctx.extprof("dump", *args)
        check(got.status == status and says in got.err, "extprof dump %s: status %d, not %d: %s", args, got.status, status,
              got.err)
        # Of several processes the others are shown.
        check(("process %d" % ruby.pid in got.out) == (str(args[-1:]).find(",%d" % ruby.pid) >= 0), "%s: %s", args, got.out)
    with open("/dev/full", "wb") as full:
        p = ctx.extprof_start("dump", "-p", ruby.pid, stdout=full)
        err = p.communicate(30)[1]
        check(p.p.returncode == harness.OUTPUT and "No space left" in err, "full: %d: %s", p.p.returncode, err)
    # An end during the dumps.
    p = ctx.extprof_start("dump", "--json", "-p", ruby.pid, "--interval", "20ms")
    json.loads(p.line())
    ruby.kill()
    out, err = p.communicate(30)
    check(p.p.returncode == harness.NO_PROCESS and "has ended" in err, "its end: %d: %s", p.p.returncode, err)
    return "%d ways, a full disk, an end" % len(cases)


@case(timeout=60, bpf=False)
def of_several_processes(ctx):
    """A server with two workers and a shell between, and a stranger: what -s, -a, --name, --user and --cgroup show."""
    work = "def work(n) = (puts Process.pid; sleep)\n$stdout.sync = true\n"
    server = ctx.ruby("-e", work + "$0 = 'srv-of-test'; 2.times { |i| fork { $0 = \"worker-of-test #{i}\"; work i } }\n"
                      "spawn 'sh', '-c', '%s --disable=gems -e \"STDOUT.sync = true; puts Process.pid; sleep\" & wait'\nputs 0\nProcess.waitall"
                      % harness.RUBY, stdin=subprocess.DEVNULL)
    stranger = ctx.ruby("-e", "$stdout.sync = true; $0 = 'stranger-of-test'; puts Process.pid; sleep")
    below = {pid for pid in (int(server.line()) for _ in range(4)) if pid}
    check(len(below) == 3, "%s", below)
    stranger.line()

    def pids(*args):
        return {d["pid"] for d in dump(ctx, *args)}

    family = below | {server.pid}
    check(pids("-p", server.pid) == {server.pid}, "without -s")
    check(pids("-p", server.pid, "-s") == family, "%s, not %s", pids("-p", server.pid, "-s"), family)
    everyone = pids("-a")
    check(everyone >= family | {stranger.pid}, "%s", everyone)
    workers = pids("--name", "worker-of-test*")
    check(len(workers) == 2 and workers < below, "%s", workers)
    check(pids("-p", server.pid, "-s", "--name", "stranger-of-test") == {server.pid}, "a condition holds for what is below")
    check(pids("--user", str(os.getuid()), "--name", "*-of-test*") == workers | {server.pid, stranger.pid}, "--user")
    with open("/proc/%d/cgroup" % server.pid) as f:
        group = f.read().splitlines()[-1].split(":", 2)[2]
    if group != "/":
        check(pids("--cgroup", group) >= family, "--cgroup %s", group)
    got = ctx.extprof("dump", "-p", server.pid, "-s")
    check(got.status == 0 and got.out.count("\n\nprocess ") == 3, "%d\n%s", got.status, got.out)
    got = ctx.extprof("dump", "-p", "%d,4194304" % server.pid, "-s")
    check(got.status == harness.NO_PROCESS and got.out.count("\n\nprocess ") == 3, "a pid that is none: %d\n%s", got.status, got.err)
    for args, status in ((("--name", "no-such-name"), harness.NO_PROCESS), (("-a", "--core", "x"), harness.USAGE),
                         (("--name", ""), harness.USAGE), (("-s",), harness.USAGE), (("--cgroup", "/no/such"), None)):
        got = ctx.extprof("dump", *args)
        check(got.status == status if status else got.status, "%s: %d: %s", args, got.status, got.err)
        check(got.err and not got.out, "%s: %s", args, got.out)
    return "%d of the server, %d of the machine" % (len(family), len(everyone))


@case(timeout=60, bpf=False)
def own_user_suffices(ctx):
    """A user without any privilege dumps a process of its own, and is refused another one's."""
    check(os.geteuid() == 0, "this needs root, to become somebody else")
    directory = tempfile.mkdtemp(prefix="extprof-test-", dir="/tmp")
    try:
        os.chmod(directory, 0o755)
        binary = Binary(ctx, directory)
        reader, program = os.path.join(directory, "extprof"), os.path.join(directory, "dumped.rb")
        shutil.copy(harness.EXTPROF, reader)
        shutil.copy(os.path.join(harness.PROGRAMS, "dumped.rb"), program)
        os.chmod(reader, 0o755)
        nobody = dict(user=NOBODY, group=NOBODY, extra_groups=[], cwd=directory)
        own = ctx.start([binary.ruby, "--disable=gems", "-W0", program], env=binary.env, **nobody)
        settled(own)
        for kind in ("nonblocking", "stop"):
            p = ctx.start([reader, "dump", "--json", "-p", str(own.pid), "--reader", kind], stderr=subprocess.PIPE, **nobody)
            out, err = p.communicate(30)
            check(p.p.returncode == 0, "%s as nobody: %d: %s", kind, p.p.returncode, err)
            check_waits(whole(json.loads(out)))
        others = settled(ctx.program("dumped.rb"))
        p = ctx.start([reader, "dump", "-p", str(others.pid)], stderr=subprocess.PIPE, **nobody)
        out, err = p.communicate(30)
        check(p.p.returncode == harness.PERMISSION and "no permission" in err and "CAP_SYS_PTRACE" in err and not out,
              "another user's: %d: %s", p.p.returncode, err)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return "both readers; another user's process: %s" % err.splitlines()[0]


@case(timeout=60, bpf=False)
def ractors(ctx):
    """A ractor that waits for another one, and one that computes; those without a native thread too."""
    ruby = ctx.ruby("-e", """
waiting = Ractor.new { Ractor.receive } # line 2
busy = Ractor.new { i = 0; i += 1 while true } # line 3
Thread.new { Thread.current.name = "taker"; waiting.take } # line 4
sleep 0.2
$stdout.puts "ready"; $stdout.flush
sleep""")
    ruby.expect("ready")
    (d,) = dump(ctx, "-p", ruby.pid)
    whole(d)
    by_ractor = {t["ractor"]: t for t in d["threads"] if t["main"]}
    check(sorted(by_ractor) == [1, 2, 3], "ractors: %s", sorted(by_ractor))
    waiting, busy, taker = by_ractor[2], by_ractor[3], threads(d)["taker"]
    check(waiting["state"] == "sleeping" and places(waiting["fibers"][0])[0][0] == "Ractor.receive" and
          places(waiting["fibers"][0])[-1] == ("block in <main>", 2), "waiting: %s", waiting)
    check(busy["state"] == "running" and places(busy["fibers"][0]) == [("block in <main>", 3)], "busy: %s", busy)
    check(taker["state"] == "sleeping" and places(taker["fibers"][0])[0][0] == "Ractor#take", "taker: %s", taker)
    waits = [(t["wait"]["kind"], t["wait"]["object"]) for t in (waiting, taker)]
    check(waits == [("ractor", 1), ("ractor", 2)] and "wait" not in busy, "waits: %s, busy: %s", waits, busy)
    text = ctx.extprof("dump", "-p", ruby.pid).ok().out
    for words in ("waits to receive from a ractor", "waits to take from a ractor"):
        check(words in text, "no %r in:\n%s", words, text)
    return "3, proofs %s" % sorted({f["proof"] for t in d["threads"] for f in t["fibers"]})


@case(timeout=60, bpf=False)
def forked_child(ctx):
    """A child has the thread that forked, and none of its parent's others."""
    ruby = ctx.ruby("-e", """
lock = Mutex.new
Thread.new { Thread.current.name = "only in the parent"; sleep }
lock.lock # held by the child too
pid = fork do
  Thread.new { Thread.current.name = "in the child"; lock.lock } # line 6
  sleep # line 7
end
sleep 0.3
$stdout.puts pid; $stdout.flush
sleep""")
    pid = int(ruby.line())
    parent, child = dump(ctx, "-p", "%d,%d" % (ruby.pid, pid))
    check(parent["pid"] == ruby.pid and child["pid"] == pid, "%d %d", parent["pid"], child["pid"])
    check(sorted(threads(whole(parent))) == ["main", "only in the parent"], "parent: %s", sorted(threads(parent)))
    found = threads(whole(child))
    check(sorted(found) == ["in the child", "main"], "child: %s", sorted(found))
    check(places(found["in the child"]["fibers"][0]) == [("Thread::Mutex#lock", None), ("block (2 levels) in <main>", 6)],
          "child: %s", found["in the child"])
    check(("block in <main>", 7) in places(found["main"]["fibers"][0]), "child: %s", found["main"])
    # The lock came with the fork, and who has it in the child is the thread that forked.
    wait = found["in the child"]["wait"]
    check(wait["kind"] == "mutex" and wait["thread"] == found["main"]["id"] and not wait["deadlock"], "child: %s", wait)
    text = ctx.extprof("dump", "-p", pid).ok().out
    check("waits for a mutex that main has" in text, text)
    return "2 processes"


@case(timeout=60, bpf=False)
def many_fibers(ctx):
    """3,000 parked fibers of a thread that runs; each stack as it is."""
    ruby = ctx.ruby("-e", """
fibers = 3000.times.map { |i| f = Fiber.new { i.even? ? even : odd }; f }
def even = Fiber.yield # line 3
def odd = Fiber.yield # line 4
fibers.each(&:resume)
$stdout.puts "ready"; $stdout.flush
i = 0
i += 1 while true""")
    ruby.expect("ready")
    (d,) = dump(ctx, "-p", ruby.pid)
    parked = [f for f in whole(d)["threads"][0]["fibers"] if f["state"] == "parked"]
    check(len(parked) == 3000, "%d fibers", len(parked))
    for f in parked:
        got = places(f)
        check(got in ([("Fiber.yield", None), ("Object#even", 3), ("block (2 levels) in <main>", 2)],
                      [("Fiber.yield", None), ("Object#odd", 4), ("block (2 levels) in <main>", 2)]), "%s", got)
    names = Counter(places(f)[1][0] for f in parked)
    check(names == {"Object#even": 1500, "Object#odd": 1500}, "%s", names)
    return "read in %.1f ms, proofs %s" % (d["duration_ns"] / 1e6, dict(Counter(f["proof"] for f in parked)))


@case(timeout=60, bpf=False)
def changed_source(ctx):
    """The innermost line's text, and a note on a file that has changed since the process started."""
    path = ctx.write("old.rb", "$stdout.sync = true\nputs 'ready'\n  sleep # here\n")
    os.utime(path, (1, 1))
    ruby = ctx.ruby(path)
    ruby.expect("ready")
    harness.until(lambda: harness.state(ruby.pid) == "S", "it does not sleep")
    d = dump(ctx, "-p", ruby.pid, "--source")[0]
    check(threads(d)["main"]["fibers"][0]["source"] == "sleep # here" and d["newer_files"] == [], "%s", d)
    future = time.time() + 10
    os.utime(path, (future, future))
    d = dump(ctx, "-p", ruby.pid)[0]
    check(d["newer_files"] == [path] and "source" not in threads(d)["main"]["fibers"][0], "%s", d["newer_files"])
    text = ctx.extprof("dump", "-p", ruby.pid, "--source").ok().out
    check("      > sleep # here\n" in text and "note: %s has changed" % path in text, text)
    return "old.rb:3"


@case(timeout=120, bpf=False, patient=True)
def hostile(ctx):
    """Targets whose tables and stacks make no sense, or change all the time: an end, bounded memory, clean text."""
    case_fakes.build(ctx)
    seen = {}
    for mode in ("tables", "hostile", "bad-geometry", "bad-ec", "bad-frames", "half-frames", "nameless", "deep", "idle"):
        fake = ctx.start([os.path.join(case_fakes.FAKES, "fake_target"), mode, "60"])
        case_fakes.begun(fake)
        begin = time.monotonic()
        with open(ctx.path("out"), "wb") as out:
            reader = ctx.extprof_start("dump", "-p", fake.pid, stdout=out)
            status, most = harness.wait_for_peak(reader.pid)
        reader.p.returncode = os.waitstatus_to_exitcode(status)
        took = time.monotonic() - begin
        check(reader.p.returncode in (0, harness.NOT_READY), "%s: status %d: %s", mode, reader.p.returncode,
              reader.p.stderr.read()[-500:])
        check(took < 25 and most < 1 << 30, "%s: %.1f s, %d MB", mode, took, most >> 20)
        with open(ctx.path("out"), encoding="utf-8") as f:
            for line in f:
                check(line.rstrip("\n").isprintable(), "%s: %r", mode, line)
        seen[mode] = "%d, %.1f s, %d MB" % (reader.p.returncode, took, most >> 20)
        fake.kill()
    return "; ".join("%s: %s" % m for m in seen.items())


@case(timeout=60, bpf=False)
def a_slot_that_is_written(ctx):
    """A thread whose slot is being written when it is read: its stack is right, or is lost with the reason."""
    case_fakes.build(ctx)
    fake = ctx.start([os.path.join(case_fakes.FAKES, "fake_target"), "writes", "60"])
    harness.until(lambda: harness.state(fake.pid) == "S", "it does not sleep")
    seen = Counter()
    for d in dump(ctx, "-p", fake.pid, "--interval", "1ms", "--count", 600, status=harness.NOT_READY):
        fibers = [f for t in d["threads"] for f in t["fibers"]]
        check(len(fibers) + d["left_out"] == 1 and d["lost"] == sum("lost" in f for f in fibers), "%s", d)
        for f in fibers:
            seen[f.get("lost", "whole")] += 1
            names = [n for n, _ in places(f)]
            check(names == ["A#leaf_a"] + ["A#hot_a"] * 200 + ["<main>"] if "lost" not in f else
                  names == ["[unreadable: the thread ran on while its stack was read]"], "%s", names[:3])
        seen["left out"] += d["left_out"]
    check(seen["whole"] and len(seen) == 3 and sum(seen.values()) == 600, "%s", seen)
    return "600 dumps: %s" % dict(seen)


TOGETHER = """
require "socket"
def named(name, &b) = Thread.new { Thread.current.name = name; b.call }
queue, server = Queue.new, TCPServer.new("127.0.0.1", 0)
40.times { |i| named("worker #{i}") { queue.pop } }
named("server") { server.accept.read }
client = TCPSocket.new("127.0.0.1", server.addr[1])
named("client") { client.read }
fibers = 300.times.map { Fiber.new { Fiber.yield } }.each(&:resume)
labeled = Fiber.new { Fiber.with_labels(job: "1") { Fiber.yield } }.tap(&:resume)
m1, m2 = Mutex.new, Mutex.new
named("debit") { m1.synchronize { sleep 0.2; m2.lock } }
named("credit") { m2.synchronize { sleep 0.2; m1.lock } }
sleep 0.5
puts [server.addr[1], client.local_address.ip_port].join(" "); $stdout.flush
sleep"""


@case(timeout=60, bpf=False)
def equal_stacks_are_together(ctx):
    """40 threads and 300 fibers that wait at the same place are one entry each; --all-stacks shows each. The second line
    sums up. Sockets have the address of their peer."""
    ruby = ctx.ruby("-W0", "-e", TOGETHER)
    port, client_port = ruby.line().split()
    text = ctx.extprof("dump", "-p", ruby.pid).ok().out
    check(text.splitlines()[1] == '45 threads: 2 wait for I/O, 2 wait for a lock, 40 wait for a queue, 1 sleeps; '
          '1 deadlock: "debit", "credit"', text.splitlines()[1])
    together = re.search(r'^40 threads: sleeping for .*, waits for a queue, which is empty\n  "worker 0" \(tid \d+\), .* and '
                         r'36 more\n    Thread::Queue#pop', text, re.M)
    check(together and text.count("Thread::Queue#pop") == 1, text)
    check(re.search(r"^  300 fibers \(non-blocking; .* and 296 more\): parked\n    Fiber.yield", text, re.M) and
          text.count("Fiber.yield") == 2 and "labels: job=1" in text, text)
    check("socket to 127.0.0.1:%s" % port in text and "socket to 127.0.0.1:%s" % client_port in text, text)
    each = ctx.extprof("dump", "-p", ruby.pid, "--all-stacks").ok().out
    check(each.count("Thread::Queue#pop") == 40 and each.count("Fiber.yield") == 301, each[:3000])
    check(len(dump(ctx, "-p", ruby.pid)[0]["threads"]) == 45, "threads")
    return "%d lines of text, %d with --all-stacks" % (text.count("\n"), each.count("\n"))


@case(timeout=60, bpf=False)
def uninterruptible(ctx):
    """A process in the state D: its child by vfork waits for a FIFO, and has neither ended nor executed a program."""
    fifo, library = ctx.path("fifo"), ctx.path("hold.so")
    os.mkfifo(fifo)
    source = ctx.write("hold.c", """
#include <fcntl.h>
#include <unistd.h>
int hold(const char *fifo)
{
	int pid = vfork();
	if (!pid) {
		open(fifo, O_RDONLY);
		_exit(0);
	}
	return pid;
}""")
    native.run(native.tool("CC"), "-shared", "-fPIC", "-O1", "-o", library, source)
    ruby = ctx.ruby("-rfiddle", "-e", """
hold = Fiddle::Function.new(Fiddle.dlopen(ARGV[1])["hold"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT)
Thread.new { Thread.current.name = "other"; sleep }
$stdout.puts "ready"; $stdout.flush
hold.call(ARGV[0]) # line 5
$stdout.puts "spawned"; $stdout.flush""", fifo, library)
    ruby.expect("ready")
    harness.until(lambda: harness.state(ruby.pid) == "D", "it is not in the state D")
    (d,) = dump(ctx, "-p", ruby.pid)
    main, other = threads(whole(d))["main"], threads(d)["other"]
    check(main["kernel_state"] == "D" and places(main["fibers"][0])[-1] == ("<main>", 5), "main: %s", main)
    check(places(other["fibers"][0])[0] == ("Kernel#sleep", None), "other: %s", other)
    check("not interruptible" in ctx.extprof("dump", "-p", ruby.pid).ok().out, "the text does not say so")
    # It cannot be stopped, which takes no longer than it has to, and leaves nothing behind.
    begin = time.monotonic()
    got = ctx.extprof("dump", "-p", ruby.pid, "--reader", "stop")
    check(got.status == harness.NOT_READY and "did not stop" in got.err and not got.out, "status %d: %s", got.status, got.err)
    took = time.monotonic() - begin
    check(not [t for t in traced(ruby.pid) if int(t[2])], "left: %s", traced(ruby.pid))
    os.close(os.open(fifo, os.O_WRONLY))
    ruby.expect("spawned")
    check(ruby.wait(10) == 0, "it did not go on")
    return "%s; refused to stop it after %.2f s" % (main["call"]["name"] if "call" in main else "no call", took)
