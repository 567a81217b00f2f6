"""extprof serve: pages say what the commands say, and nobody else gets anything."""
import contextlib
import glob
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import case_heatmap
import chromium
import harness
from case_recording import sql
from harness import check, case

PROGRAM = """
lock = Mutex.new
def left(n) = n < 2 ? n : left(n - 1) + left(n - 2)
def right = 400.times.map { |i| "s#{i}" }
Thread.new { Thread.current.name = "worker 1"; loop { lock.synchronize { left(14) }; sleep 0.002 } }
Thread.new { Thread.current.name = "worker 2"; loop { right; sleep 0.001; GC.start if rand(50) == 0 } }
Thread.new { Thread.current.name = "rests"; Thread::Queue.new.pop }
Thread.new { loop { 3.times { |i| Fiber.with_labels(endpoint: "e#{i}*", id: rand(1 << 40)) { lock.synchronize { left(12 + i) }; sleep 0.02 * i } }; sleep 0.001 } }
STDOUT.sync = true
puts "ready"
loop { lock.synchronize { left(16) }; sleep 0.003 }
"""
# Two workers of a cluster: threads of the same name, which serve requests of the same labels at the same time.
WORKERS = """
STDOUT.sync = true
2.times { fork { Thread.new { Thread.current.name = "srv tp 1"; loop { Fiber.with_labels(endpoint: "same") { sleep 0.3 }; sleep 0.02 } }.join } }
puts "ready"
sleep
"""
# Names that would end an element, a string or a comment, and begin a script.
HOSTILE = """
EVIL = %w[</script><script>window.hacked=1</script> <img/src=x/onerror=window.hacked=2> <!--<script> "><svg/onload=window.hacked=3> ' \\u2028]
EVIL.each_with_index do |name, i|
  define_method(name) { |n| t = Process.clock_gettime(Process::CLOCK_MONOTONIC) + n; nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < t }
  Thread.new { Thread.current.name = name; loop { Fiber.with_labels("k<script>#{i}": name, endpoint: name) { send(name, 0.003) }; sleep 0.002 } }
end
$0 = EVIL[0]
STDOUT.sync = true
puts "ready"
sleep
"""
KINDS = ("running", "runnable", "gvl", "io", "sleep", "mutex", "queue", "condvar", "join", "process", "ractor", "native", "fault", "stopped",
         "parked")


class Server:
    """One that runs, and what it answers."""

    def __init__(self, ctx, *args):
        self.p = ctx.extprof_start("serve", *args)
        self.url = self.p.line()
        m = re.fullmatch(r"http://(127\.0\.0\.\d|\[::1\]|localhost)(?::(\d+))?/([0-9a-f]{32})/", self.url)
        check(m, "it said %r", self.url)
        self.host, self.port, self.token = m.group(1).strip("[]"), int(m.group(2) or 0), m.group(3)

    def get(self, page, method="GET", timeout=100, **headers):
        """(status, headers, text)"""
        c = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            c.request(method, page if page.startswith("/") else "/%s/%s" % (self.token, page), headers=headers)
            r = c.getresponse()
            return r.status, r.headers, r.read().decode("utf-8")
        finally:
            c.close()

    def ok(self, page):
        status, headers, text = self.get(page)
        check(status == 200, "%s: status %d: %s", page, status, text[:300])
        return text if not page.startswith("save?") or "json" not in headers["Content-Type"] else json.loads(text)

    def raw(self, data, timeout=10):
        """The answer to these bytes, until the connection is closed."""
        with socket.create_connection((self.host, self.port), timeout) as s:
            s.sendall(data)
            got = b""
            try:
                while part := s.recv(65536):
                    got += part
            except OSError:
                pass
        return got.decode("utf-8", "replace")

    def end(self):
        self.p.signal(signal.SIGTERM)
        status = self.p.wait(10)
        check(status == 0, "SIGTERM: status %d", status)


def record(ctx, program=PROGRAM, *options):
    """A folder with recordings, one after the other."""
    folder = ctx.path("recordings")
    os.mkdir(folder)
    ruby = ctx.ruby(ctx.write("served.rb", program))
    ruby.expect("ready")
    run = ctx.extprof("record", "-q", "-m", "cpu,wall,gc", "--waits", "each", "-F", "499", "-d", 5, "-p", ruby.pid, *options, "-o",
                      os.path.join(folder, "a.extprof"))
    check(run.status == 0, "record: %d: %s", run.status, run.err)
    ruby.kill()
    return folder


def files(folder):
    return sorted(glob.glob(os.path.join(folder, "*.extprof")))


def begin_of(ctx, path):
    """(ns since 1970, ns of the monotonic clock)"""
    values = dict(sql(ctx, path, "SELECT key, value FROM meta WHERE key LIKE 'started_%_ns'"))
    return int(values["started_unix_ns"]), int(values["started_monotonic_ns"])


def count(ctx, folder, mode, span, more=""):
    """ns of a mode in a time, by SQL."""
    total = 0
    for path in files(folder):
        wall, clock = begin_of(ctx, path)
        since, until = (max(0, t - wall + clock) for t in span)
        total += int(sql(ctx, path, "SELECT coalesce(sum(value), 0) FROM samples WHERE mode='%s' AND time_ns BETWEEN %d AND %d %s" %
                         (mode, since, until, more))[0][0])
    return total


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


def without_nonce(text):
    nonce = re.search(r"script-src 'nonce-([0-9a-f]+)'", text)
    return text.replace(nonce.group(1), "NONCE") if nonce else text


def check_cells(t, wanted, text):
    """Parts of a sum add up to it; states to what SQL has."""
    sums = {}
    for p in t["processes"]:
        for kind, amount in p["sums"].items():
            parts = sum(p["cells"].get(kind, ())) + p["outside"].get(kind, 0)
            check(parts == amount, "%s: %s has %d ns, its columns %d", text, kind, amount, parts)
            sums[kind] = sums.get(kind, 0) + amount
    check(sum(sums.values()) == wanted["all"], "%s: the states have %d ns, SQL %d", text, sum(sums.values()), wanted["all"])
    check(sum(sums.values()) - sums.get("idle", 0) == t["amount"], "%s: %d ns, the report has %d", text, sum(sums.values()), t["amount"])
    for kind in KINDS:
        check(sums.get(kind, 0) <= wanted[kind] or kind == "running", "%s: %s has %d ns, SQL %d", text, kind, sums.get(kind, 0), wanted[kind])
    check(sums.get("gc", 0) == wanted["gc"] and sums["running"] == wanted["running"] - wanted["gc"],
          "%s: gc %d, running %d, SQL %s", text, sums.get("gc", 0), sums["running"], wanted)
    check(sum(wanted[k] - sums.get(k, 0) for k in KINDS if k != "running") == sums.get("idle", 0), "%s: idle", text)
    return sums


@case(timeout=180, patient=True)
def pages_have_the_sums_of_the_commands(ctx):
    """Whole time and a part of it, over files: timeline, flame graph, requests, comparison and saved files, to the ns."""
    folder = record(ctx, PROGRAM, "--rotate", "2s")
    check(len(files(folder)) >= 2, "only %s", files(folder))
    s, said = Server(ctx, folder), []
    begin = begin_of(ctx, files(folder)[0])[0]
    for since, until in ((None, None), (1300, 2900)):
        span = (begin + since * 1000000, begin + until * 1000000) if since else (0, 2 ** 62)
        query = "&since=%d&until=%d" % span if since else ""
        options = ("--since", "%dms" % since, "--until", "%dms" % until) if since else ()
        wanted = {k: count(ctx, folder, "wall", span, "AND state='%s'" % k) for k in KINDS}
        wanted["all"] = count(ctx, folder, "wall", span)
        wanted["gc"] = count(ctx, folder, "wall", span, "AND state='running' AND parent_of_gc(stack) IS NOT NULL")
        check(wanted["gc"] and wanted["gvl"] and wanted["all"] > 1e9, "SQL: %s", wanted)
        sums = check_cells(s.ok("save?format=timeline&mode=wall" + query)["modes"][0], wanted, "saved")
        check(sums.get("idle", 0) > 1e9, "idle: %s", sums)
        # The page itself has the same, and its mode is that of all states.
        page = data_of(s.ok("?" + query[1:]))
        check(page["mode"] == "wall" and page["files_of_time"] == len(files(folder)) - (1 if since and len(files(folder)) > 2 else 0),
              "%s, %s files", page["mode"], page["files_of_time"])
        check(check_cells(page["timeline"], wanted, "page") == sums, "the page has other sums")
        report = json.loads(ctx.extprof("report", folder, "-m", "wall", "-f", "json", *options).out)["modes"][0]
        check(report["amount"] == page["timeline"]["amount"] and report["idle"]["amount"] == sums["idle"], "the report has %d ns", report["amount"])
        for name, mode in (("flamegraph", "wall"), ("flamegraph", "cpu"), ("heatmap", "wall")):
            got = s.ok("%s?mode=%s%s" % (name, mode, query))
            check(ctx.extprof("report", folder, "-m", mode, *options, "-f", name, "-o", ctx.path("x.html")).status == 0, "report")
            with open(ctx.path("x.html"), encoding="utf-8") as f:
                check(without_nonce(got) == without_nonce(f.read()), "%s of %s: it is another page", name, mode)
        folded = ctx.extprof("report", folder, "-m", "cpu", *options, "-f", "folded").out
        check(s.ok("save?format=folded&mode=cpu" + query) == folded and folded, "folded")
        said.append("%.3f s in %d states" % (wanted["all"] / 1e9, len(sums)))
    rows = {r["name"]: r["about"] for r in data_of(s.ok(""))["files"]}
    check(sorted(rows) == [os.path.basename(f) for f in files(folder)], "recordings: %s", list(rows))
    for path in files(folder):
        samples = int(sql(ctx, path, "SELECT sum(samples) FROM accounts WHERE process = 0 AND mode = 0 AND reason = 'taken'")[0][0])
        about = rows[os.path.basename(path)]
        check(about["samples"] == samples and about["host"] == os.uname().nodename, "%s: %s, %d samples", path, about, samples)
    said.append(requests(ctx, s, folder))
    said.append(comparison(ctx, s, folder, begin))
    s.end()
    return "; ".join(said)


def requests(ctx, s, folder):
    page = data_of(s.ok("requests?by=endpoint"))
    by = json.loads(ctx.extprof("report", folder, "--requests-by", "endpoint", "--rows", "100", "-f", "json").out)
    check(page["by"] == by and len(by["values"]) == 3, "by label: %s, not %s", str(page["by"])[:300], str(by)[:300])
    check(page["labels"] == ["endpoint", "id"], "labels: %s", page["labels"])
    slow = page["slowest"]["requests"]
    check([r["duration"] for r in slow] == sorted((r["duration"] for r in slow), reverse=True) and len(slow) > 5, "%d slowest", len(slow))
    if not chromium.find():
        return "requests NOT seen: there is no browser here"
    with chromium.Browser(ctx.directory) as browser:
        browser.window(1600, 900)
        browser.open(s.url + "requests?by=endpoint")
        links = browser.run('Array.from(document.querySelectorAll("#slowest a")).map(a => a.href)')
        every = browser.run('Array.from(document.querySelectorAll("#by a")).map(a => a.href)')
    check(len(links) == len(slow) and len(every) == 6, "%d and %d links", len(links), len(every))
    # Behind each link is what the request is made of.
    for link, r in list(zip(links, slow))[:5]:
        page_of = s.ok(link.split(s.token + "/")[1].replace("flamegraph?", "save?format=json&mode=wall&"))
        amount = sum(m["amount"] for m in page_of["modes"])
        check(amount == sum(r["parts"].values()), "a request has %d ns, its flame graph %d", sum(r["parts"].values()), amount)
    for i, value in enumerate(by["values"]):
        own = s.ok(every[2 * i].split(s.token + "/")[1].replace("flamegraph?", "save?format=json&mode=wall&"))["modes"][0]["amount"]
        wanted = sum(int(sql(ctx, path, "SELECT coalesce(sum(value), 0) FROM samples WHERE mode='wall' AND label(labels, 'endpoint')='%s'" %
                             value["value"])[0][0]) for path in files(folder))
        check(own == wanted and own, "%s: %d ns behind the link, SQL %d", value["value"], own, wanted)
    return "%d requests" % by["count"]


@case(timeout=120, patient=True)
def requests_of_two_workers(ctx):
    """The flame graph of a request has nothing of the other process, whose thread has its name, its labels and its time."""
    if not chromium.find():
        return "NOT run: there is no browser here"
    folder = record(ctx, WORKERS, "-s")
    s = Server(ctx, folder)
    slow = [r for r in data_of(s.ok("requests?by=endpoint"))["slowest"]["requests"] if r["whole"]]
    with chromium.Browser(ctx.directory) as browser:
        browser.window(1600, 900)
        browser.open(s.url + "requests?by=endpoint")
        links = browser.run('Array.from(document.querySelectorAll("#slowest a")).map(a => a.href)')
        shown = browser.run('document.getElementById("shown").textContent')
        pids = browser.run('Array.from(document.querySelectorAll("#slowest tr")).slice(1).map(r => r.cells[12].textContent)')
    every = data_of(s.ok("requests?by=endpoint"))["slowest"]["requests"]
    check(len(links) == len(every) and len({r["pid"] for r in slow}) == 2, "%d links of %d requests", len(links), len(every))
    check(pids == [str(r["pid"]) for r in every], "processes: %s", pids)
    check(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d to .*\(\d\.\d\d s\)", shown), "the time: %s", shown)
    for link, r in [(link, r) for link, r in zip(links, every) if r["whole"]][:8]:
        page = s.ok(link.split(s.token + "/")[1].replace("flamegraph?", "save?format=json&mode=wall&"))
        amount = sum(m["amount"] for m in page["modes"])
        check(amount == sum(r["parts"].values()), "a request has %d ns, its flame graph %d", sum(r["parts"].values()), amount)
    s.end()
    return "%d requests of two workers" % len(slow)


@case(timeout=120, patient=True)
def what_is_not_there_is_said(ctx):
    """An empty folder, a time of which nothing is, a file that is cut, threads that only rest."""
    if not chromium.find():
        return "NOT run: there is no browser here"
    os.mkdir(ctx.path("empty"))
    folder = record(ctx, PROGRAM.replace("STDOUT.sync", "fork { sleep }\nSTDOUT.sync"), "-s")
    with open(files(folder)[0], "rb") as f, open(os.path.join(folder, "cut.extprof"), "wb") as to:
        to.write(f.read()[:20000])
    os.utime(os.path.join(folder, "cut.extprof"), (0, 0))
    empty, s = Server(ctx, ctx.path("empty")), Server(ctx, folder)
    with chromium.Browser(ctx.directory) as browser:
        def text(of):
            return browser.run('(document.getElementById("%s") || {}).textContent' % of)
        browser.window(1600, 900)
        browser.open(empty.url)
        check(text("error") == "There is no recording here yet.", "an empty folder: %s", text("error"))
        browser.open(s.url + "?since=1000000000000000000&until=1000000600000000000")
        check(re.fullmatch(r"no recording is of that time: they are of 20.* to .* s\)", text("error")), "no such time: %s", text("error"))
        browser.open(s.url)
        check(text("shown").endswith("2 of 2 recordings; 1 of them cannot be read, see below"), "a cut file: %s", text("shown"))
        names = [p["name"] for p in data_of(s.ok(""))["timeline"]["processes"]]
        check(names.count("") == 1, "processes: %s", names)
        rows = 'document.getElementById("cells").dataset.rows'
        check(browser.run(rows) == str(len(names) - 1), "%s rows of %s", browser.run(rows), names)
        browser.run('document.querySelector("[data-state=idle]").click()')
        check(browser.run(rows) == str(len(names)), "with those at rest %s rows", browser.run(rows))
    empty.end()
    s.end()
    return "%d rows" % len(names)


# Fifteen that work little, one after the other, and then one that works more.
MANY = """
STDOUT.sync = true
15.times { |i| fork { $0 = "little#{i}"; loop { 20000.times { }; sleep 0.2 } }; sleep 0.1 }
fork { $0 = "most"; loop { } }
puts "ready"
sleep
"""


@case(timeout=120, patient=True)
def the_busiest_come_first(ctx):
    """Rows are in the order of their time; those of small processes are one, until they are asked for."""
    if not chromium.find():
        return "NOT run: there is no browser here"
    s = Server(ctx, record(ctx, MANY, "-s"))
    with chromium.Browser(ctx.directory) as browser:
        browser.window(1600, 900)
        browser.open(s.url + "?mode=cpu")
        rows = [browser.run('document.getElementById("cells").dataset.%s' % name) for name in ("rows", "first")]
        check(rows[0] == "13" and re.fullmatch(r"\[process \d+ most\]", rows[1]), "rows: %s", rows)
        browser.run('document.getElementById("each").click()')
        every = int(browser.run('document.getElementById("cells").dataset.rows'))
        check(every >= 16, "%d rows", every)
    s.end()
    return "%d rows" % every


LATE = """
STDOUT.sync = true
gets
90.times { |i| fork { $0 = "early#{i}"; 1 while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < 0.03; exit! } }
Process.waitall
fork { $0 = "late"; loop { } }
puts "ready"
sleep
"""
# ns of a sample, 499 times a second.
PERIOD = 10 ** 9 // 499


@case(timeout=120, patient=True)
def one_that_begins_late_has_its_row(ctx):
    """More processes than rows: those that have most are shown by name, whenever they began, and the rest is one row."""
    ruby = ctx.ruby(ctx.write("late.rb", LATE), stdin=subprocess.PIPE)
    path = ctx.path("late.extprof")
    reader = ctx.extprof_start("record", "-v", "-p", ruby.pid, "-s", "-m", "cpu", "-F", "499", "-o", path)
    reader.says("it is measured")
    ruby.tell("go")
    ruby.expect("ready")
    time.sleep(3)
    reader.signal(signal.SIGINT)
    reader.communicate()
    counts = [(command, int(n)) for command, n in sql(ctx, path, "SELECT max(command), count(*) FROM samples GROUP BY pid")]
    truth = dict(counts)["late"]
    check(len(counts) > 64, "%d processes have samples", len(counts))
    s = Server(ctx, path)
    rows = {p["name"]: sum(p["sums"].values()) for p in data_of(s.ok("?mode=cpu"))["timeline"]["processes"]}
    s.end()
    late = [n for name, n in rows.items() if name.endswith(" late]")]
    check(late == [truth * PERIOD] and len(rows) == 64 and "other processes" in rows, "%s of %s: %s", late, truth, rows)
    check(sum(rows.values()) == PERIOD * sum(n for _, n in counts), "%s, not %s", rows, counts)
    return "%d samples of %d, in %d rows" % (truth, sum(n for _, n in counts), len(rows))


def comparison(ctx, s, folder, begin):
    spans = [(begin + a * 1000000, begin + b * 1000000) for a, b in ((300, 1700), (2400, 3800))]
    text = s.ok("diff?mode=cpu&since=%d&until=%d&with-since=%d&with-until=%d" % (*spans[1], *spans[0]))
    run = ctx.extprof("diff", folder, "-m", "cpu", "--since", "2400ms", "--until", "3800ms", "--with", "300ms", "-o", ctx.path("d.html"))
    check(run.status == 0, "diff: %s", run.err)
    own = re.compile(r'"labels":\[.*"diff":\{.*?\};\n', re.S)
    with open(ctx.path("d.html"), encoding="utf-8") as f:
        check(own.search(text).group() == own.search(f.read()).group(), "the comparison is another one")
    return "a comparison"


@case(timeout=180, patient=True)
def a_time_is_selected_by_hand(ctx):
    """By the mouse and by keys: what is shown of it is what the program's clocks say; the zoom has the sums of SQL."""
    if not chromium.find():
        return "NOT run: there is no browser here"
    path, times = case_heatmap.record(ctx)
    s = Server(ctx, path)
    wall, clock = begin_of(ctx, path)
    with chromium.Browser(ctx.directory) as browser:
        browser.window(1600, 900)
        browser.open(s.url + "?mode=cpu")
        box = browser.run("(r => [r.left, r.top, r.width, r.height])(document.getElementById('cells').getBoundingClientRect())")
        t = data_of(s.ok("?mode=cpu"))["timeline"]
        said = []
        for name, since, until in (times[0], times[2]):
            x = [box[0] + (at - clock - t["from"]) / t["width"] / t["columns"] * box[2] for at in (since, until)]
            for kind, at in (("mousePressed", x[0]), ("mouseMoved", sum(x) / 2), ("mouseMoved", x[1]), ("mouseReleased", x[1])):
                browser.tell("Input.dispatchMouseEvent", type=kind, x=at, y=box[1] + 30, button="left", buttons=1, clickCount=1)
            span = selected(browser)
            check(all(abs(a - (b - clock + wall)) < 2 * t["width"] + 2e6 for a, b in zip(span, (since, until))), "%s: %s selected", name, span)
            shows = "flamegraph?since=%d&until=%d&mode=cpu" % span
            until_shown(browser, s.url + shows)
            length = {"first": 4e8, "second": 2e8}[name]
            methods = s.ok(shows.replace("flamegraph?", "save?format=json&"))["modes"][0]["methods"]["rows"]
            got = next((m["total"] for m in methods if m["name"] == "Object#" + name), 0)
            check(abs(got - length) < 0.06 * length + 8e6, "%s: %.0f ns of %d by the clock", name, got, length)
            said.append("%s %.1f of %.1f ms" % (name, got / 1e6, length / 1e6))
        browser.open(s.url + "?mode=cpu")
        # Keys: ten columns from the begin on, and the zoom.
        browser.run('document.getElementById("cells").focus()')
        browser.press("ArrowRight")
        for _ in range(9):
            browser.press("ArrowRight", modifiers=8)
        span = selected(browser)
        check(span == (wall + t["from"], wall + t["from"] + 10 * t["width"] - 1), "keys: %s", span)
        link = browser.run("location.hash")
        browser.open(s.url + "?mode=cpu" + link)
        check(selected(browser) == span, "the link %s selects %s", link, selected(browser))
        browser.press("Tab")
        browser.run('document.getElementById("cells").focus()')
        browser.events = []
        browser.press("Enter")
        browser.wait("Page.loadEventFired")
        sums = dict(browser.run('Array.from(document.querySelectorAll("#states button")).map(b => [b.dataset.state, +b.dataset.amount])'))
        where = (wall - clock, span[0], span[1])
        wanted = int(sql(ctx, path, "SELECT sum(value) FROM samples WHERE mode='cpu' AND time_ns + %d BETWEEN %d AND %d" % where)[0][0])
        check(sum(sums.values()) == wanted and wanted, "zoom: %s, SQL has %d ns", sums, wanted)
        browser.run('document.getElementById("cells").focus()')
        browser.press("ArrowRight")
        browser.press("Escape")
        check(browser.run('document.getElementById("chosen").textContent').startswith("all of it"), "Escape")
        # Another time beside the kept one.
        browser.run('document.getElementById("keep").click()')
        browser.run('document.getElementById("whole").click()')
        browser.wait("Page.loadEventFired")
        browser.run('document.getElementById("cells").focus()')
        browser.press("End")
        browser.press("ArrowLeft", modifiers=8)
        shows = browser.run('(document.getElementById("compare") || {}).href')
        check(shows and shows.startswith(s.url + "diff?"), "no link compares: %s", shows)
        roles = browser.read()
        check(any(r == "status" or n.startswith("selected:") for r, n, _ in roles), "what is selected is not said")
        check(all(r.startswith((s.url, "about:")) for r in browser.requests()), "it asks for %s", browser.requests())
        for dark in (False, True):
            for width in (1200, 400):
                browser.window(width, 800, dark)
                browser.open(s.url)
                wide = browser.run("document.documentElement.scrollWidth")
                check(wide <= width, "%d wide in a window of %d", wide, width)
    s.end()
    return "; ".join(said)


def until_shown(browser, url):
    """The frame has it: it is a process of its own, as it is in a sandbox."""
    end, shown = time.monotonic() + 20, []
    while url not in shown:
        check(time.monotonic() < end, "the frame shows %s, not %s", shown, url)
        time.sleep(0.05)
        shown = [t["url"] for t in browser.send("Target.getTargets")["targetInfos"] if t["type"] == "iframe"]


def selected(browser):
    return tuple(browser.run('(e => [e.dataset.since, e.dataset.until])(document.getElementById("chosen"))') and
                 map(int, browser.run('(e => [e.dataset.since, e.dataset.until])(document.getElementById("chosen"))')))


def as_nobody(server, request):
    """What another user gets: the answer, or the name of the error."""
    code = ("import socket,sys\ns=socket.socket(socket.AF_UNIX) if sys.argv[1]=='unix' else socket.socket()\n"
            "s.settimeout(10)\ntry:\n s.connect(sys.argv[2] if sys.argv[1]=='unix' else ('127.0.0.1',int(sys.argv[2])))\n"
            " s.sendall(sys.argv[3].encode())\n print(s.recv(4096).decode())\nexcept OSError as e: print(type(e).__name__)")
    return subprocess.run(["python3", "-c", code, *server, request], user=65534, group=65534, extra_groups=[], capture_output=True,
                          text=True, timeout=30, check=True).stdout


@case(timeout=120, patient=True)
def others_get_errors(ctx):
    """Other names, no secret, other methods, other paths, too long headers, other users; and it goes on."""
    folder = record(ctx)
    s = Server(ctx, folder)
    at = "127.0.0.1:%d" % s.port
    good = "/%s/" % s.token
    # Names that a web page can bring.
    for host in ("evil.example", "evil.example:%d" % s.port, "127.0.0.1.evil.example", "localhost.evil", "127.0.0.1:1:2", "", "127.0.0.2x"):
        got = s.raw(("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (good, host)).encode())
        check(re.match(r"HTTP/1\.1 4(21|00) ", got) and "application/json" not in got, "Host %r: %s", host, got[:200])
    for head in ("", "Host: %s\r\nHost: evil.example\r\n" % at):
        got = s.raw(("GET %s HTTP/1.1\r\n%sConnection: close\r\n\r\n" % (good, head)).encode())
        check(re.match(r"HTTP/1\.1 4(21|00) ", got), "%r: %s", head, got[:200])
    for host in (at, "localhost:8080", "LOCALHOST", "[::1]:1"):
        check(s.get("", Host=host)[0] == 200, "Host %s is refused", host)
    # Without the secret there is nothing; paths lead nowhere.
    for path in ("/", "/" + s.token, "/" + s.token[:-1] + "/", "/" + "0" * 32 + "/", "/x" + good, "//" + s.token + "/", "/favicon.ico", "/" + s.token.upper().replace("0", "1") + "/"):
        status, headers, text = s.get(path)
        check(status == 403 and s.token not in text and "Access-Control-Allow-Origin" not in headers, "%s: %d %s", path, status, text)
    for path in ("../", "..%2f..%2fetc/passwd", "%2e%2e/%2e%2e/etc/passwd", "../../../etc/passwd", "a.extprof", files(folder)[0], "flamegraph/", "flamegraph/../", "save", "diff",
                 "save?format=../x", "save?format=flamegraph", "?since=-1", "?since=1&since=2", "?since=5&until=4", "?since=99999999999999999999", "?x=1", "?mode=../../etc", "?mode=a%00b",
                 "flamegraph?format=json", "requests?by=%0a", "requests?slowest=0", "flamegraph?" + "&".join(["filter=thread=x"] * 9), "diff?since=1&until=2", "?since"):
        status, _, text = s.get(good + path)
        check(status in (400, 404) and "root:" not in text and len(text) < 300, "%s: %d %s", path, status, text[:200])
    check(s.get("flamegraph?since=1&until=2")[0] == 404, "a time of which there is nothing")
    check(s.get("flamegraph?mode=nothing")[0] == 400, "a mode that there is not")
    # It is shown in the frame of the page, and can do nothing there.
    policy = s.get("flamegraph?since=1&until=2")[1]["Content-Security-Policy"]
    check(policy == "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox", "an error: %s", policy)
    for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH", "CONNECT", "X"):
        status, headers, _ = s.get(good, method)
        check(status == 405 and headers["Allow"] == "GET", "%s: %d", method, status)
    line = "GET %s HTTP/1.1\r\nHost: %s\r\n" % (good, at)
    for name, data in (("a body", line + "Content-Length: 5\r\n\r\nhello"), ("a long header", line + "X: " + "x" * 100000 + "\r\n\r\n"),
                       ("many headers", line + "".join("X%d: y\r\n" % i for i in range(9000)) + "\r\n"),
                       ("a long line", "GET %s?%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (good, "x" * 100000, at)), ("no HTTP", "\0" * 2000 + "\r\n\r\n"),
                       ("a length", line + "Content-Length: -5\r\n\r\n"), ("chunks", line + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n")):
        got = s.raw(data.encode(), 20)
        check(not got.startswith("HTTP/1.1 200") and "text/html; charset" not in got, "%s: %s", name, got[:200])
    headers = s.get("")[1]
    check("default-src 'none'" in headers["Content-Security-Policy"] and headers["Referrer-Policy"] == "no-referrer" and
          headers["Cache-Control"] == "no-store" and headers["X-Content-Type-Options"] == "nosniff", "%s", headers)
    # Another user reaches the port, and does not know the secret; no file of /proc that he reads has it.
    got = as_nobody(("tcp", str(s.port)), "GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % at)
    check(got.startswith("HTTP/1.1 403"), "another user: %s", got)
    with open("/proc/%d/cmdline" % s.p.pid, "rb") as f:
        check(s.token.encode() not in f.read(), "the secret is in the command line")
    names = files(folder)
    for path in names:
        os.rename(path, path + ".gone")
    check(data_of(s.ok(""))["timeline"] is None and s.get("flamegraph")[0] == 404, "recordings that are gone")
    for path in names:
        os.rename(path + ".gone", path)
    s.end()
    other = ctx.path("socket")
    unix = Server(ctx, "--listen", other, folder)
    check(stat.S_IMODE(os.lstat(other).st_mode) == 0o600, "mode %o", os.lstat(other).st_mode)
    os.chmod(ctx.directory, 0o755)
    check(as_nobody(("unix", other), "GET / HTTP/1.1\r\n\r\n").strip() == "PermissionError", "another user opens the socket")
    with socket.socket(socket.AF_UNIX) as c:
        c.settimeout(20)
        c.connect(other)
        c.sendall(("GET /%s/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % unix.token).encode())
        check(c.recv(64).startswith(b"HTTP/1.1 200"), "the socket")
    run = ctx.extprof("serve", "--listen", other, folder)
    check(run.status == harness.OUTPUT, "a socket that is there: %d", run.status)
    unix.end()
    check(not os.path.exists(other), "the socket stays")
    for address in ("0.0.0.0:0", "192.0.2.1:80", "[::]:0", "::1:80", "example.com:80", "127.0.0.1:99999", "128.0.0.1:0", "x", ":", "127.0.0.1:"):
        run = ctx.extprof("serve", "--listen", address, folder)
        check(run.status == harness.USAGE, "--listen %s: %d", address, run.status)
    run = ctx.extprof("serve", ctx.path("none.extprof"))
    check(run.status == 74 and "none.extprof" in run.err, "no such recording: %d %s", run.status, run.err)
    six = Server(ctx, "--listen", "[::1]:0", files(folder)[0])
    check(six.host == "::1" and six.get("", Host="localhost")[0] == 200, "IPv6")
    six.p.signal(signal.SIGINT)
    check(six.p.wait(10) == 0, "Ctrl-C: status %d", six.p.p.returncode)
    return "refused as it has to be"


@case(timeout=120, patient=True)
def ends_in_the_middle(ctx):
    """A signal while pages are asked for, and while recordings are looked into; a program that ignores SIGCHLD has started it; copies;
    another address of this machine."""
    folder = record(ctx)
    at = ctx.path("socket")
    for turn in range(5):
        s = Server(ctx, "--listen", at, folder)
        s.p.signal(signal.SIGSTOP)
        asking = [socket.socket(socket.AF_UNIX) for _ in range(30)]
        for c in asking:
            c.connect(at)
            c.sendall(("GET /%s/flamegraph HTTP/1.1\r\nHost: localhost\r\n\r\n" % s.token).encode())
        s.p.signal(signal.SIGTERM)
        s.p.signal(signal.SIGCONT)
        check(s.p.wait(20) == 0 and not os.path.exists(at), "turn %d: status %s, %s", turn, s.p.p.returncode, os.path.exists(at))
        for c in asking:
            c.close()
    s = Server(ctx, "--listen", "127.0.0.2:0", folder)
    check(s.host == "127.0.0.2" and s.get("")[0] == 200, "127.0.0.2: %s", s.get("")[:1])
    whole = s.ok("save?format=folded")
    shutil.copy(files(folder)[0], os.path.join(folder, "copy.extprof"))
    check(s.ok("save?format=folded") == whole and s.get("")[0] == 200, "beside a copy of one")
    s.end()
    s = Server(ctx, files(folder)[0], os.path.join(folder, "..", os.path.basename(folder), os.path.basename(files(folder)[0])))
    check(s.get("flamegraph")[0] == 200, "one by two paths")
    s.end()
    # What a shell ignores is ignored by what it starts.
    ignored = ctx.start(["sh", "-c", "trap '' CHLD; exec \"$0\" serve \"$1\"", harness.EXTPROF, folder])
    url = ignored.line()
    with urllib.request.urlopen(url + "flamegraph", timeout=60) as answer:
        check(answer.status == 200, "a page")
    try:
        with urllib.request.urlopen(url + "flamegraph?mode=nosuch", timeout=60) as answer:
            raise harness.Failed("a page that cannot be made has status %d" % answer.status)
    except urllib.error.HTTPError as error:
        check(error.code == 400, "a mode that there is not: %d", error.code)
    ignored.signal(signal.SIGTERM)
    check(ignored.wait(10) == 0, "status %s", ignored.p.returncode)
    return "5 times with 30 requests"


def memory(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"VmRSS:\s*(\d+)", f.read()).group(1)) * 1024


def sockets(pid):
    """How many the process has open."""
    count = 0
    for fd in os.listdir("/proc/%d/fd" % pid):
        with contextlib.suppress(FileNotFoundError):
            count += os.readlink("/proc/%d/fd/%s" % (pid, fd)).startswith("socket:")
    return count


def has_ended(c):
    try:
        return c.recv(1) == b""
    except ConnectionError:
        return True


def take_ended(poll, left, until):
    """Those that end by then are not left any more. None of them has an answer."""
    while left and time.monotonic() < until:
        for fd, _ in poll.poll(1000):
            poll.unregister(fd)
            check(has_ended(left.pop(fd)), "a client that says nothing has an answer")


def how_many_end(clients, pid, own):
    """The server closes all that it has: then it has its own sockets. How many clients see their end.

    Where the machine is slow the kernel's queue is full, and the kernel drops the last packet of a handshake: the client has a
    connection of which the server never hears. Such a client learns of it when it sends something."""
    left, poll = {c.fileno(): c for c in clients}, select.poll()
    for fd in left:
        poll.register(fd, select.POLLIN)
    take_ended(poll, left, time.monotonic() + 20)
    harness.until(lambda: sockets(pid) <= own, "the server keeps connections that say nothing", timeout=20)
    for c in left.values():
        with contextlib.suppress(OSError):
            c.sendall(b"G")
    take_ended(poll, left, time.monotonic() + 40)
    return len(clients) - len(left)


def took(call):
    began = time.monotonic()
    call()
    return time.monotonic() - began


@case(timeout=150, waits=True)
def slow_clients_hold_up_nobody(ctx):
    """1,000 connections that say nothing, bytes that come one by one, pages that nobody takes, a process that hangs."""
    folder = ctx.path("recordings")
    os.mkdir(folder)
    ruby = ctx.ruby(ctx.write("served.rb", PROGRAM))
    ruby.expect("ready")
    run = ctx.extprof("record", "-q", "-m", "cpu", "-d", 2, "-p", ruby.pid, "-o", os.path.join(folder, "a.extprof"))
    check(run.status == 0, "record: %s", run.err)
    s = Server(ctx, folder)
    # A machine that is busy makes a page later, with and without others.
    alone = took(lambda: s.ok("flamegraph"))
    before, own, began = memory(s.p.pid), sockets(s.p.pid), time.monotonic()
    silent = []
    for _ in range(1000):
        c = socket.socket()
        c.setblocking(False)
        c.connect_ex((s.host, s.port))
        silent.append(c)
    drops = socket.create_connection((s.host, s.port), 10)
    drops.sendall(b"GET /")
    beside = took(lambda: s.ok("flamegraph"))
    check(beside < 2 + 10 * alone, "beside 1,000 connections a page took %.1f s, alone %.1f s", beside, alone)
    check(memory(s.p.pid) - before < 64 << 20, "memory grew by %d", memory(s.p.pid) - before)
    # Each byte is a sign of life; the whole of it takes too long.
    closed = None
    while time.monotonic() - began < 30 and closed is None:
        time.sleep(0.5)
        try:
            drops.sendall(b"x")
        except OSError:
            closed = time.monotonic() - began
    check(closed and closed < 12, "one byte after the other: closed after %s s", closed)
    ended = how_many_end(silent, s.p.pid, own)
    for c in silent:
        c.close()
    check(ended == 1000, "only %d of 1,000 connections were closed", ended)
    # A process of a page that hangs has an end; others are there at once.
    hung = hang(s)
    hanging = took(lambda: s.ok("flamegraph"))
    check(hanging < 2 + 10 * alone, "beside one that hangs a page took %.1f s, alone %.1f s", hanging, alone)
    # One that nobody waits for is ended at once.
    other = hang(s)
    other[0].close()
    until = time.monotonic() + 10
    while os.path.exists("/proc/%d" % other[1]) and time.monotonic() < until:
        time.sleep(0.1)
    check(not os.path.exists("/proc/%d" % other[1]), "a page that nobody waits for is made on")
    hung[0].settimeout(90)
    got = hung[0].recv(4096).decode()
    check(got.startswith("HTTP/1.1 504"), "a page that is never ready: %s", got[:200])
    check(not os.path.exists("/proc/%d" % hung[1]), "its process is there yet")
    hung = hang(s, "Seccomp:\t2")
    with open("/proc/%d/status" % hung[1]) as f:
        confined = f.read()
    check("Seccomp:\t2" in confined and "CapEff:\t0000000000000000" in confined and "NoNewPrivs:\t1" in confined, "%s", confined)
    check(sorted(os.listdir("/proc/%d/fd" % hung[1]))[:4] == ["0", "1", "2", "3"] and
          not any(os.readlink("/proc/%d/fd/%s" % (hung[1], fd)).startswith("socket:") for fd in os.listdir("/proc/%d/fd" % hung[1])),
          "files of the process of a page")
    s.end()
    check(not os.path.exists("/proc/%d" % hung[1]), "a process outlives the server")
    return "%.2f s beside 1,000 connections, slow ones closed after %.1f s" % (beside, closed)


def status_of(pid):
    try:
        with open("/proc/%d/status" % pid) as f:
            return f.read()
    except OSError:
        return ""


def hang(s, line=""):
    """A request whose process is stopped, when its status has that line: (connection, pid)."""
    children = "/proc/%d/task/%d/children" % (s.p.pid, s.p.pid)
    for _ in range(200):
        c = socket.create_connection((s.host, s.port), 10)
        with open(children) as f:
            known = set(f.read().split())
        c.sendall(("GET /%s/save?format=firefox HTTP/1.1\r\nHost: localhost\r\n\r\n" % s.token).encode())
        until = time.monotonic() + 1
        while time.monotonic() < until:
            with open(children) as f:
                new = [int(p) for p in f.read().split() if p not in known]
            if new and line in status_of(new[0]):
                break
        if new and line in status_of(new[0]):
            try:
                os.kill(new[0], signal.SIGSTOP)
            except ProcessLookupError:
                c.close()
                continue
            # It may have ended instead.
            harness.until(lambda: not re.search(r"^State:\t[RSD]", status_of(new[0]), re.M), "it does not stop")
            if "State:\tT" in status_of(new[0]):
                return c, new[0]
        c.close()
    raise harness.Failed("no process of a page was met")


SLEEPER = """
Thread.new { Thread.current.name = "pauses"; def pauses = sleep(1.3); loop { pauses; 1.times { Process.clock_gettime(0) } } }
r, w = IO.pipe
Thread.new { Thread.current.name = "reads"; loop { r.read(1) } }
STDOUT.sync = true
puts "ready"
loop { t = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.1; nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < t; sleep 0.9; w.write("x") }
"""


@case(timeout=90)
def waits_that_end_behind_the_span(ctx):
    """In a time within long waits they are drawn, with the part that SQL has in it, and are in no sum."""
    folder = record(ctx, SLEEPER)
    s = Server(ctx, folder)
    path = files(folder)[0]
    wall, clock = begin_of(ctx, path)
    rows = [(int(t), int(v), int(n), state, tid) for t, v, n, state, tid in
            sql(ctx, path, "SELECT time_ns, value, count, state, tid FROM samples WHERE mode='wall'")]
    # Parts of one wait have the time of its end: first what was waited for, then the GVL, then a CPU.
    rank = {"runnable": 0, "stopped": 1, "gvl": 2}
    rows.sort(key=lambda row: (row[0], row[4], rank.get(row[3], 3)))
    said, drawn_only = [], 0
    for since, until in ((1000, 1200), (1500, 1550), (2000, 2900), (3300, 3700)):
        span = (wall + since * 1000000, wall + until * 1000000)
        page = data_of(s.ok("?mode=wall&since=%d&until=%d" % span))
        ends = [t - wall + clock for t in span]
        wanted, last, last_begin = 0, None, 0
        for at, value, n, state, tid in rows:
            lasts = state not in ("running", "parked") and n == 1
            end = last_begin if lasts and last == (at, tid) else at
            begin = end - value if lasts else at
            if lasts:
                last, last_begin = (at, tid), begin
            over = min(end, ends[1]) - max(begin, ends[0])
            wanted += value if not lasts and ends[0] <= at <= ends[1] else over if lasts and over > 0 else 0
        parts = [sum(map(sum, p["cells"].values())) for t in (page["timeline"], page["rest"]) if t for p in t["processes"]]
        # Each part of a wait is a whole number of ns.
        check(abs(sum(parts) - wanted) <= len(rows), "%d to %d ms: %d ns are drawn, SQL has %d", since, until, sum(parts), wanted)
        sums = count(ctx, folder, "wall", span)
        got = sum(sum(p["sums"].values()) for p in page["timeline"]["processes"]) if page["timeline"] else 0
        check(got == sums, "%d to %d ms: the sums have %d ns, SQL %d", since, until, got, sums)
        drawn_only += sum(parts[-1:]) if page["rest"] else 0
        said.append("%.0f of %d ms" % (wanted / 1e6, until - since))
    check(drawn_only > 5e8, "only %d ns end behind the spans", drawn_only)
    s.end()
    return "; ".join(said)


@case(timeout=120, patient=True)
def a_recording_that_is_written(ctx):
    """The folder of a recording that goes on: what was written is shown, and more when the page is loaded again; who reads it changes
    no file.  Files are removed beside it."""
    folder = ctx.path("recordings")
    os.mkdir(folder)
    ruby = ctx.ruby(ctx.write("served.rb", PROGRAM))
    ruby.expect("ready")
    reader = ctx.extprof_start("record", "-q", "-m", "cpu,wall", "-p", ruby.pid, "--rotate", "6s", "--keep", 2, "-o", os.path.join(folder, "a.extprof"))
    s, seen, gone, first = Server(ctx, folder), [], set(), None
    end = time.monotonic() + 60
    while time.monotonic() < end and (len(seen) < 4 or not gone):
        page = data_of(s.ok(""))
        names = {f["name"] for f in page["files"]}
        first = first or names
        gone |= (first or set()) - names
        check(not any("unreadable" in f for f in page["files"]), "%s", page["files"])
        if page["timeline"] and (not seen or page["timeline"]["until"] != seen[-1][1]):
            seen.append((page["timeline"]["amount"], page["timeline"]["until"], [f["name"] for f in page["files"] if f.get("incomplete")]))
        time.sleep(0.2)
    check(len(seen) >= 4 and gone, "seen %s, gone %s", seen, gone)
    check(any(n for _, _, n in seen), "no recording was seen that has not ended")
    reader.signal(signal.SIGINT)
    check(reader.wait(30) == 0, "record: status %d", reader.p.returncode)
    check(ctx.extprof("verify", *files(folder)).status == 0, "the recordings are not right")
    s.end()
    return "%d states of it, %d files removed meanwhile" % (len(seen), len(gone))


@case(timeout=120, patient=True)
def hostile_names_run_nothing(ctx):
    """Methods, threads, labels and a command with markup in their names, and a file that is no recording: no script of theirs
    runs on any page, and pages can reach nothing."""
    if not chromium.find():
        return "NOT run: there is no browser here"
    folder = record(ctx, HOSTILE)
    name = "<img src=x onerror=window.hacked=4>.extprof"
    os.rename(files(folder)[0], os.path.join(folder, name))
    ctx.write("recordings/<script>window.hacked=5<script>.extprof".replace("/<", "/<"), "nothing")
    os.utime(files(folder)[-1] if "nothing" in open(files(folder)[-1], "rb").read(7).decode("latin1") else files(folder)[0], (1, 1))
    s = Server(ctx, folder)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.2)
    target = "http://127.0.0.1:%d/" % listener.getsockname()[1]
    pages = ["", "flamegraph?mode=wall", "flamegraph?mode=cpu", "heatmap?mode=wall", "requests?by=endpoint"]
    seen = 0
    with chromium.Browser(ctx.directory) as browser:
        browser.window(1600, 900)
        for p in pages:
            browser.open(s.url + p)
            text = browser.run("document.documentElement.textContent")
            seen += "onerror=window.hacked=2" in text
            check(browser.run("window.hacked") is None, "%s: a name has run", p)
            logged = [e["params"]["entry"]["text"] for e in browser.events if e.get("method") == "Log.entryAdded"]
            check(not any("Content Security Policy" in text or "Refused" in text for text in logged), "%s breaks its own policy: %s", p, logged)
            check(not any(e.get("method") == "Runtime.exceptionThrown" for e in browser.events), "%s: %s", p, browser.events[-1])
            check(browser.run('document.querySelectorAll("img, svg svg, object, embed, link").length') == 0, "%s: a name is markup", p)
            check(all(r.startswith((s.url, "about:")) or r.endswith("/favicon.ico") for r in browser.requests()), "%s asks for %s", p, browser.requests())
            # What a script could try.
            tries = browser.run("""(async function (url) {
              var done = [];
              try { await fetch(url); done.push("fetch"); } catch (e) {}
              try { await fetch(location.href.replace(/[^/]*$/, "") + "requests"); done.push("fetch of a page"); } catch (e) {}
              try { navigator.sendBeacon(url); } catch (e) {}
              try { new WebSocket(url.replace("http", "ws")); } catch (e) {}
              var image = new Image();
              image.src = url;
              document.body && document.body.appendChild(image);
              var script = document.createElement("script");
              script.textContent = "window.hacked = 6";
              document.documentElement.appendChild(script);
              await new Promise(function (r) { setTimeout(r, 200); });
              if (window.hacked) { done.push("a script without the nonce"); }
              return done;
            })(%s)""" % json.dumps(target))
            check(tries == [], "%s: %s", p or "the first page", tries)
    try:
        listener.accept()
        check(False, "a page has reached another port")
    except socket.timeout:
        pass
    listener.close()
    check(seen >= 3, "names were seen on %d pages only", seen)
    status = data_of(s.ok(""))
    check(sum("unreadable" in f for f in status["files"]) == 1 and status["timeline"], "a file that is no recording: %s", status["files"])
    s.end()
    return "%d pages, names on %d" % (len(pages), seen)


MIDDLEWARE = """
require %r
def mine(n) = (n.times { |i| i * i }; sleep 0.2)
def others = loop { sleep 0.01; 20_000.times { |i| i * i } }
Thread.new { others }
puts "ready"
$stdout.flush
serve = $stdin.gets.chomp
app = RackProfile.new(->(env) { mine(3_000_000); [200, {}, ["hello"]] }, serve)
now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
[{}, {"QUERY_STRING" => "extprof"}, {"QUERY_STRING" => "a=1&extprof", "REMOTE_ADDR" => "192.0.2.1"},
 {"QUERY_STRING" => "extprof", "REMOTE_ADDR" => "127.0.0.1", "HTTP_X_FORWARDED_FOR" => "192.0.2.1"},
 {"QUERY_STRING" => "a=1&extprof", "REMOTE_ADDR" => "127.0.0.1"}].each do |env|
  t = now.call
  answer = app.call(env)
  puts (now.call - t).to_s + " " + answer[2].join
  $stdout.flush
end
$stdin.gets
"""


@case(timeout=90, patient=True)
def the_flame_graph_of_one_request(ctx):
    """examples/rack_profile.rb: the page that it leads to has this request alone; who may not ask gets the answer."""
    example = os.path.join(harness.TOP, "examples", "rack_profile.rb")
    ruby = ctx.ruby(ctx.write("app.rb", MIDDLEWARE % example), stdin=subprocess.PIPE)
    ruby.expect("ready")
    path = ctx.path("app.extprof")
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-m", "wall", "--waits", "each", "-F", harness.rate(499), "-o", path)
    ctx.attached(reader)
    s = Server(ctx, path)
    ruby.tell(s.url)
    answers = [ruby.line(30).split(" ", 1) for _ in range(5)]
    check([text for _, text in answers[:4]] == ["hello"] * 4, "%s", answers[:4])
    seconds, page = float(answers[4][0]), answers[4][1]
    link = re.search(r'content="7; url=(http://[^"]*)"', page)
    check(link and link[1] == re.search(r'<a href="([^"]*)"', page)[1] and link[1].startswith(s.url), "%s", page)
    query = link[1][len(s.url):]
    # It is there when the browser follows the link.
    time.sleep(7)
    shown = s.ok(query)
    check("Object#mine" in shown and "Object#others" not in shown, "the page has other stacks, or not its own")
    got = s.ok(query.replace("flamegraph?", "save?format=json&"))["modes"][0]["amount"] / 1e9
    check(abs(got - seconds) < 0.03 + 0.05 * seconds, "%.3f s in the flame graph, the request took %.3f", got, seconds)
    reader.signal(signal.SIGINT)
    check(reader.wait() == 0, "the recording failed")
    s.end()
    return "%.3f s of %.3f" % (got, seconds)
