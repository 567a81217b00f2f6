"""The file for the Firefox Profiler in the pages of the gem profile-viewer: a browser shows what the file says."""
import collections
import contextlib
import functools
import http.server
import os
import re
import subprocess
import threading
import time
import urllib.parse

import chromium
import harness
from case_firefox import PROGRAM, File, report
from harness import Counted, case, check

GEM, VERSION = "profile-viewer", "0.0.7"
INSTALL = "require 'rubygems/gem_runner'; Gem::GemRunner.new.run(ARGV)"
# The pages ask for it if a server has it, which the gem's has not.
MISSING = "ruby-custom-hooks.js"


def pages():
    """(folder of the pages, why they are not there; None: they are). PROFILE_VIEWER can name a folder that has the gem."""
    home = os.environ.get("PROFILE_VIEWER") or os.path.join(harness.BUILD, "gems")
    folder = os.path.join(home, "gems", "%s-%s" % (GEM, VERSION), "dist")
    if os.path.exists(os.path.join(folder, "index.html")):
        return folder, None
    try:
        run = subprocess.run([harness.RUBY, "-e", INSTALL, "--", "install", "--no-document", "--ignore-dependencies", "--install-dir", home,
                              "%s:%s" % (GEM, VERSION)], env=harness.environment(), capture_output=True, text=True, timeout=100, check=False)
    except subprocess.TimeoutExpired:
        return folder, "gem has not got %s after 100 s" % GEM
    if run.returncode or not os.path.exists(os.path.join(folder, "index.html")):
        return folder, "gem cannot get %s %s (status %d): %s" % (GEM, VERSION, run.returncode, " ".join(run.stderr.split())[:200])
    return folder, None


class Server(http.server.SimpleHTTPRequestHandler):
    """The pages, the file below /file, and the first page for the addresses that its script understands."""
    file = None
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript", ".wasm": "application/wasm"}

    def translate_path(self, path):
        if path.startswith("/file"):
            return self.file
        return super().translate_path("/index.html" if path.startswith("/from-url/") else path)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder, path):
    handler = type("Handler", (Server,), {"file": path})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield "http://127.0.0.1:%d" % server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def show(browser, url, tab, thread):
    """The rows of a table, as they are shown."""
    file = urllib.parse.quote(url + "/file.json", safe="")
    browser.open("%s/from-url/%s/%s/?thread=%d&v=10" % (url, file, tab, thread))
    end = time.monotonic() + 20
    while not browser.run('document.querySelector(".treeViewRow") !== null'):
        check(time.monotonic() < end, "the page shows no table: %s", browser.run("document.body.innerText")[:500])
        time.sleep(0.05)
    browser.run('document.querySelector(".treeViewBody").focus()')
    # All that is below.
    browser.press("*")
    return browser.run('new Promise(done => setTimeout(() => done(Array.from(document.querySelectorAll(".treeViewRow")).map(e => e.innerText)), 200))')


def errors(browser):
    found = [e["params"] for e in browser.events if e.get("method") == "Runtime.exceptionThrown" or
             (e.get("method") == "Log.entryAdded" and e["params"]["entry"]["level"] == "error") or
             (e.get("method") == "Runtime.consoleAPICalled" and e["params"]["type"] in ("error", "warning", "assert"))]
    return [str(e)[:300] for e in found if MISSING not in str(e)]


@case(timeout=150, patient=True)
def shows_threads_functions_and_markers(ctx):
    """Each thread by name, methods with their time, and requests; and there is no error."""
    if not chromium.find():
        return Counted(0, 0, 1, "there is no browser here")
    folder, why_not = pages()
    if why_not:
        return Counted(0, 0, 1, why_not)
    ruby = ctx.ruby(ctx.write("app.rb", PROGRAM))
    ruby.expect("ready")
    path = ctx.path("wall.extprof")
    ctx.extprof("record", "-q", "-p", ruby.pid, "-s", "-m", "wall,gvl", "--waits", "each", "-d", "1", "-F", harness.rate(199), "-o", path).ok()
    ruby.kill()
    file = File(report(ctx, path, "wall.json"))
    threads = file.document["threads"]
    main, worker = (next(i for i, t in enumerate(threads) if t["name"] == name and t["pid"] == str(ruby.pid)) for name in ("wall: main", "wall: worker 1"))
    began = time.monotonic()
    with served(folder, ctx.path("wall.json")) as url, chromium.Browser(ctx.directory) as browser:
        browser.window(1600, 1600)
        rows = show(browser, url, "calltree", main)
        names = browser.run('Array.from(document.querySelectorAll(".timelineTrackNameButton")).map(e => e.innerText.split("\\n")[0])')
        # A thread is there for each of the two modes.
        check(collections.Counter(n for n in names if ": " in n) == collections.Counter(t["name"] for t in threads) and "Memory" in names, "tracks %s, threads %s", names, [t["name"] for t in threads])
        # Numbers and names are two columns, of the same rows.
        amounts, functions = ([r for r in rows if bool(re.match(r"[\d.,]+%\n", r)) == is_amount] for is_amount in (True, False))
        shown = {name.split("\n")[0]: amount.split("\n")[1] for name, amount in reversed(list(zip(functions, amounts)))}
        sums = [(stack, ns) for _, stack, ns in file.samples(threads[main]) if stack]
        first = functions[0].split("\n")[0]
        wanted = sum(ns for stack, ns in sums if stack[0] == first) / 1e6
        check(wanted > 100 and abs(float(shown[first].replace(",", "")) - wanted) <= 1, "%s has %s ms, not %.3f", first, shown[first], wanted)
        # All are shown that have a part worth a row, and no other ones.
        every, large = {frame for stack, _ in sums for frame in stack}, collections.Counter()
        for stack, ns in sums:
            large.update({frame: ns for frame in set(stack)})
        large = {frame for frame, ns in large.items() if ns > 0.05 * sum(ns for _, ns in sums)}
        check({"Kernel#sleep", "Thread::Mutex#synchronize"} <= every and large <= set(shown) <= every, "methods: %s, not %s", list(shown), large)
        wrong = errors(browser)
        browser.picture(ctx.path("calltree.png"))
        markers = show(browser, url, "marker-table", worker)
        requests = [m for m in file.markers(threads[worker]) if m[0] == "request"]
        check(len(requests) > 10 and sum(r.endswith("\nrequest") for r in markers) > 5 and any(r.startswith("request=GET /") for r in markers),
              "%d requests, shown: %s", len(requests), markers[:20])
        wrong += errors(browser)
    check(not wrong, "%s", wrong)
    return "%d tracks, %d functions, %s has %s ms; in %.1f s" % (len(names), len(shown), first, shown[first], time.monotonic() - began)
