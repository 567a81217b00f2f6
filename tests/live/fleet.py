"""Many machines from one recording: copies that differ in the name of the machine, and a receiver that counts."""
import collections
import contextlib
import gzip
import http.server
import json
import os
import shutil
import sqlite3
import subprocess
import threading
import time
import urllib.parse

import harness

def copy(path, folder, host):
    """A recording of another machine, in a folder of its own."""
    os.mkdir(os.path.join(folder, host))
    to = os.path.join(folder, host, os.path.basename(path))
    shutil.copy(path, to)
    db = sqlite3.connect(to)
    with contextlib.closing(db), db:
        changed = db.execute("UPDATE meta SET value = ? WHERE key LIKE ?", (host, "mode.%.host")).rowcount
    if not changed:
        raise harness.Failed("%s does not say its machine" % path)
    return to


def sums(path):
    """{mode: (value, count)} of a recording, by SQL."""
    out = subprocess.run([harness.EXTPROF, "sql", "-H", path, "SELECT mode, sum(value), sum(count) FROM samples GROUP BY 1"],
                         capture_output=True, check=True, universal_newlines=True).stdout
    return {mode: (int(value), int(count)) for mode, value, count in (line.split("\t") for line in out.splitlines())}


class Request(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.of.take(self.path, body)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


class Receiver:
    """A receiver of INSERTs of ClickHouse, and of OTLP, that says how many came; if it `reads` them it adds up rows."""

    def __init__(self, reads=True):
        self.reads, self.lock = reads, threading.Lock()
        self.inserts, self.bytes, self.rows = collections.Counter(), collections.Counter(), collections.Counter()
        self.of_hosts, self.spans = collections.Counter(), set()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Request)
        self.server.daemon_threads = True
        self.server.request_queue_size = 128
        self.server.of = self
        self.url = "http://127.0.0.1:%d/" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def take(self, path, body):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query).get("query", ["INSERT INTO otlp"])[0]
        table = query.split()[2]
        found, spans, rows = collections.Counter(), set(), 0
        if self.reads and table != "otlp":
            for line in gzip.decompress(body).splitlines():
                rows += 1
                if table == "extprof_samples":
                    row = json.loads(line)
                    for what in ("Value", "Count"):
                        found[row["Host"], row["Type"], what] += int(row[what])
                    spans.add((row["Host"], row["StartNs"]))
        with self.lock:
            self.inserts[table] += 1
            self.bytes[table] += len(body)
            self.rows[table] += rows
            self.of_hosts.update(found)
            self.spans |= spans


def feed(url, folders, *options, at_once=2):
    """Push each folder, some of them at once: (seconds on the clock, CPU seconds of all pushes)."""
    begin, used, left, running = time.monotonic(), os.times(), list(folders), []
    while left or running:
        while left and len(running) < at_once:
            running.append(subprocess.Popen([harness.EXTPROF, "push", left.pop(), "--to", url, *options], stderr=subprocess.PIPE))
        p = running.pop(0)
        said = p.communicate(timeout=120)[1]
        if p.returncode:
            raise harness.Failed("push: status %d: %s" % (p.returncode, said[-500:].decode(errors="replace")))
    now = os.times()
    return time.monotonic() - begin, now.children_user + now.children_system - used.children_user - used.children_system


def compare(receiver, hosts, truth):
    """Each machine has the sums of the recording, in ns, bytes and samples."""
    wanted = {(host, mode, what): amount for host in hosts for mode, of in truth.items() for what, amount in zip(("Value", "Count"), of)}
    got = dict(receiver.of_hosts)
    wrong = [key for key in wanted.keys() | got.keys() if got.get(key, 0) != wanted.get(key, 0)]
    harness.check(not wrong and wanted, "%d sums are wrong, such as %s: %s", len(wrong), wrong[:2], [(got.get(k), wanted.get(k)) for k in wrong[:2]])
