"""extprof push: all that was recorded comes to the receiver, once, whatever the receiver and extprof itself go through."""
import base64
import collections
import datetime
import contextlib
import email
import fcntl
import glob
import gzip
import http.server
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import threading
import time
import urllib.parse

import case_daemon
import case_rotate
import harness
import otlp
import pprof
from case_otlp import protoc, FIELD
from case_power import powers
from harness import case, check

NOT_SENT, RECORDING = 68, 74
# Modes of a recording, the scope of each, and what its values are.
MODES = {"cpu": ("process_cpu", "cpu"), "wall": ("wall", "wall"), "gvl": ("gvl", "gvl"), "gc": ("gc", "gc"), "alloc": ("alloc", "alloc_space")}

# Two threads that want the GVL, and memory.
PROGRAM = """
STDOUT.sync = true
def work = 3000.times { |i| i.to_s * 20 }
threads = 2.times.map { |i| Thread.new { Thread.current.name = "t#{i}"; loop { work; sleep 0.003 } } }
puts "ready"
threads.each(&:join)
"""


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.server.of_sink.take(self)


class Server(http.server.ThreadingHTTPServer):
    """Connections that are accepted are counted until they end."""
    connections, lock = 0, threading.Lock()

    def process_request(self, request, client_address):
        self.add(1)
        super().process_request(request, client_address)

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.add(-1)

    def add(self, n):
        with self.lock:
            self.connections += n


class Sink:
    """A receiver that does what it is told: to each request the next of `plan`, and then `usual`. 200 and other numbers answer;
    "lost" keeps it and breaks off before the answer, "cut" breaks off in the middle of the request, "hang" never answers. 200 with a
    body that does not end: "slow" sends none of it, "short" breaks off in it, "endless" goes on."""

    def __init__(self, plan=(), usual=200, tls=None):
        self.plan, self.usual, self.lock = list(plan), usual, threading.Lock()
        self.kept, self.seen, self.headers, self.paths, self.times, self.forms = [], 0, [], [], [], []
        self.answer, self.more = {}, threading.Event()
        self.wait = 0
        self.server = Server(("127.0.0.1", 0), Receiver)
        self.server.daemon_threads = True
        # A connection that extprof breaks off is no fault of the receiver.
        self.server.handle_error = lambda *_: None
        self.server.of_sink = self
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = "%s://localhost:%d" % ("https" if tls else "http", self.server.server_port)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def settle(self):
        """Until every connection that was accepted has been read to its end: who sent may have been killed."""
        harness.until(lambda: not self.server.connections, "requests are still being taken")

    def take(self, request):
        with self.lock:
            what = self.plan.pop(0) if self.plan else self.usual
            self.seen += 1
            self.paths.append(request.path)
            self.headers.append(dict(request.headers.items()))
            self.times.append(time.monotonic())
        length = int(request.headers["Content-Length"])
        if what == "cut":
            request.rfile.read(min(length, 10))
            return self.close(request)
        body = request.rfile.read(length)
        if len(body) < length:
            return self.close(request)
        time.sleep(self.wait)
        if what == "hang":
            self.more.wait(60)
            return self.close(request)
        if what in (200, "lost", "slow", "short", "endless") or isinstance(what, bytes):
            with self.lock:
                self.kept.append(body)
                self.forms.append((request.path, request.headers["Content-Type"], body))
        if what == "lost":
            return self.close(request)
        if what in ("slow", "short", "endless"):
            return self.answer_badly(request, what)
        said = what if isinstance(what, bytes) else b"" if what == 200 else b"no: \x1b[31m\n" if what == 400 else b"not now\n"
        try:
            request.send_response(200 if isinstance(what, bytes) else what)
            for name, value in self.answer.get(what, {}).items():
                request.send_header(name, value)
            request.send_header("Content-Length", str(len(said)))
            request.end_headers()
            request.wfile.write(said)
        except OSError:
            self.close(request)

    def answer_badly(self, request, how):
        with contextlib.suppress(OSError):
            request.send_response(200)
            request.send_header("Content-Length", str(1 << 40))
            request.end_headers()
            while how == "endless" and not self.more.is_set():
                request.wfile.write(bytes(4096))
            request.wfile.write(b"x" if how == "short" else b"")
            self.more.wait(60 if how == "slow" else 0)
        self.close(request)

    @staticmethod
    def close(request):
        request.close_connection = True
        with contextlib.suppress(OSError):
            request.connection.shutdown(socket.SHUT_RDWR)

    def documents(self, ctx, bodies=None):
        """What came in, if each of it is right by the schema, by the rules of receivers and by another decoder."""
        found = []
        for body in self.kept if bodies is None else bodies:
            data = gzip.decompress(body)
            document = otlp.decode(data)
            try:
                otlp.check(document)
            except otlp.Refused as e:
                check(False, "a request: %s", e)
            text = protoc(ctx, "--decode", data).decode()
            check(not FIELD.search(text), "a request has fields without a name: %s", FIELD.search(text))
            found.append(document)
        return found


def sums(documents):
    """{(scope, sample type): what its samples have}"""
    found = collections.Counter()
    for document in documents:
        for _, scope, kind, _, _, _, amount in otlp.samples(document):
            found[scope, kind[0]] += amount
    return found


def recorded(ctx, paths):
    """The same of the recordings, by SQL: values to the ns and byte."""
    found = collections.Counter()
    for path in paths:
        for mode, value in case_rotate.sql(ctx, path, "SELECT mode, sum(value) FROM samples GROUP BY mode"):
            found[MODES[mode]] += int(value)
    return found


def integer(ctx, path, statement):
    """To the last digit, which a float has not."""
    return int(case_rotate.sql(ctx, path, statement)[0][0])


def same(ctx, documents, paths):
    got, truth = sums(documents), recorded(ctx, paths)
    got = {k: got[k] for k in truth}
    check(got == dict(truth) and all(truth.values()), "came in: %s; recorded: %s", got, dict(truth))
    return ", ".join("%s %d" % (kind, value) for (_, kind), value in truth.items())


def history(ctx, seconds=6, rotate="2s", modes="cpu,wall,gvl,alloc"):
    """Recordings of a program, in a folder of their own."""
    ruby = ctx.ruby(ctx.write("push_work.rb", PROGRAM))
    ruby.expect("ready")
    os.mkdir(ctx.path("rec"))
    ctx.extprof("record", "-q", "-p", ruby.pid, "-m", modes, "-F", harness.rate(199), "-d", str(seconds), "--rotate", rotate, "-o",
                ctx.path("rec/app.extprof")).ok()
    ruby.kill()
    return sorted(glob.glob(ctx.path("rec/*.extprof")))


def push(ctx, sink, *options, folder="rec", **more):
    return ctx.extprof("push", ctx.path(folder), "--to", sink.url, "--span", "1s", *options, **more)


def push_start(ctx, sink, *options, folder="rec", **more):
    return ctx.extprof_start("push", ctx.path(folder), "--to", sink.url, "--span", "1s", *options, **more)


def states(ctx, folder="rec"):
    """Without the locks, and without the one that a push writes at this moment."""
    return [p for p in glob.glob(ctx.path(folder) + "/.extprof-push-*") if not p.endswith((".lock", ".new"))]


@case(timeout=120, patient=True)
def sends_all_that_was_recorded(ctx):
    """To the ns and byte in four modes; each request is right; the next push sends nothing; a changed span and one file do not either."""
    paths = history(ctx)
    with Sink() as sink:
        run = push(ctx, sink, "--header", "X-Scope-OrgID: team a").ok()
        documents = sink.documents(ctx)
        said = same(ctx, documents, paths)
        check(len(documents) >= 5 and len(set(sink.kept)) == len(documents), "%d requests", len(documents))
        check(set(sink.paths) == {"/v1development/profiles"}, "%s", set(sink.paths))
        check(all(h["X-Scope-OrgID"] == "team a" and h["Content-Type"] == "application/x-protobuf" and h["Content-Encoding"] == "gzip"
                  for h in sink.headers), "%s", sink.headers[0])
        begins = [min(int(p["timeUnixNano"]) for _, _, p in otlp.profiles(d)) for d in documents]
        # Each has the time of its span, to the ns, from the begin of its recording on.
        starts = [integer(ctx, p, "SELECT value FROM meta WHERE key='started_unix_ns'") for p in paths]
        lasts = [integer(ctx, p, "SELECT max(last_ns) - (SELECT value FROM meta WHERE key='started_monotonic_ns') FROM blocks") for p in paths]
        lengths = [last // 1_000_000_000 + 1 for last in lasts]
        check(begins == [s + i * 1_000_000_000 for s, n in zip(starts, lengths) for i in range(n)], "begins %s of %s, lengths %s", begins, starts,
              lengths)
        longest = max(int(p["durationNano"]) for d in documents for _, _, p in otlp.profiles(d))
        check(longest <= 1_000_000_000, "a request of %d ns", longest)
        check("%d requests were sent" % len(documents) in run.err, "%s", run.err)
        for more in (["--span", "5s"], []):
            push(ctx, sink, *more).ok()
        ctx.extprof("push", paths[0], "--to", sink.url).ok()
        check(len(sink.kept) == len(documents), "the next push sent %d more", len(sink.kept) - len(documents))
        # A recording that comes later is the only one that is sent, and another receiver has a state of its own.
        shutil.copy(paths[0], ctx.path("rec/later.extprof"))
        push(ctx, sink).ok()
        same(ctx, sink.documents(ctx, sink.kept[len(documents):]), paths[:1])
    with Sink() as other:
        push(ctx, other, "-m", "cpu,gvl", folder="rec").ok()
        got = sums(other.documents(ctx))
        check({scope for scope, _ in got} == {"process_cpu", "gvl"}, "%s", got)
    check(len(states(ctx)) == 2 and all(os.stat(p).st_mode & 0o777 == 0o600 for p in states(ctx)), "%s", os.listdir(ctx.path("rec")))
    return "%d requests: %s" % (len(documents), said)


# -- pprof -----------------------------------------------------------------------------------------

class Pprof:
    """A profile by the schema of pprof alone, if Parca takes it (pkg/parcacol/validate.go, of 2023) and `go tool pprof` reads it."""

    def __init__(self, ctx, data):
        fields = pprof.parts(gzip.decompress(data))
        self.strings = [s.decode() for s in fields[6]]
        parts = {n: [pprof.parts(value) for value in fields[n]] for n in (1, 2, 3, 4, 5)}
        self.types = [(self.strings[t[1][0]], self.strings[t[2][0]]) for t in parts[1]]
        self.begin, self.duration = fields[9][0], fields[10][0]
        check(self.strings[0] == "", "the first text is %r", self.strings[0])
        for what, n in (("mapping", 3), ("location", 4), ("function", 5)):
            check([p[1][0] for p in parts[n]] == list(range(1, len(parts[n]) + 1)), "Parca: %s id is not sequential: %s", what,
                  [p[1][0] for p in parts[n]][:20])
        for location in parts[4]:
            check(location[2][0] <= len(parts[3]), "Parca: location has invalid mapping id")
            check(all(pprof.parts(line)[1][0] <= len(parts[5]) for line in location[4]), "Parca: location has invalid function id")
        self.sums, self.labels = collections.Counter(), collections.Counter()
        for sample in parts[2]:
            values = pprof.packed(sample[2])
            check(len(values) == len(self.types), "Parca: mismatch: %d values, %d types", len(values), len(self.types))
            check(all(0 < i <= len(parts[4]) for i in pprof.packed(sample[1])), "Parca: location ids")
            for (kind, _), value in zip(self.types, values):
                self.sums[kind] += value
            for label in map(pprof.parts, sample[3]):
                check(0 < label[1][0] < len(self.strings), "Parca: a label has no key")
                self.labels[self.strings[label[1][0]]] += 1
        if shutil.which("go"):
            with open(ctx.path("one.pb.gz"), "wb") as f:
                f.write(data)
            run = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=" + self.types[-1][0], ctx.path("one.pb.gz")], capture_output=True,
                                 text=True, timeout=60, env=dict(os.environ, HOME=ctx.directory, PPROF_TMPDIR=ctx.directory))
            check(run.returncode == 0 and "flat%" in run.stdout, "go tool pprof: %s%s", run.stdout[-300:], run.stderr[-300:])


def pyroscope_metric(types, config):
    """The name that Pyroscope gives to it (pkg/og/convert/pprof/profile.go, of 2025: metricName)."""
    if "wall" in [kind for kind, _ in types]:
        return "wall"
    for kind, _ in types:
        shown = config.get(kind, {}).get("display-name") or kind
        for part, name in (("cpu", "process_cpu"), ("alloc_", "memory"), ("inuse_", "memory"), ("mutex_", "mutex"), ("block_", "block")):
            if part in shown:
                return name
    return shown


def counts(ctx, paths):
    """Of each mode (values, counts), by SQL."""
    found = {}
    for path in paths:
        for mode, value, count in case_rotate.sql(ctx, path, "SELECT mode, sum(value), sum(count) FROM samples GROUP BY mode"):
            before = found.get(mode, (0, 0))
            found[mode] = (before[0] + int(value), before[1] + int(count))
    return found


def host(ctx, path):
    return case_rotate.sql(ctx, path, "SELECT value FROM meta WHERE key='mode.1.host'")[0][0]


@case(timeout=150, patient=True)
def sends_pprof_to_pyroscope(ctx):
    """A form for each mode and second at /ingest, by Python's parser of mail; all of it, under the names that Pyroscope gives; and once,
    though it is killed between two modes."""
    paths, got, metrics = history(ctx), collections.Counter(), set()
    with Sink([200, 200, 503]) as sink:
        run = push(ctx, sink, "--as", "pyroscope", "--service", "shop{a=b}", "--retry-for", "100ms")
        check(run.status == NOT_SENT and len(sink.kept) == 2, "%d, %d requests: %s", run.status, len(sink.kept), run.err)
        sink.wait, seen = 0.1, sink.seen
        killed = push_start(ctx, sink, "--as", "pyroscope", "--service", "shop{a=b}")
        harness.until(lambda: sink.seen >= seen + 5, "no requests came")
        killed.kill()
        sink.settle()
        push(ctx, sink, "--as", "pyroscope", "--service", "shop{a=b}").ok()
        push(ctx, sink, "--as", "pyroscope", "--service", "shop{a=b}").ok()
        sink.settle()
        forms, times = {}, collections.Counter()
        for path, kind, body in sink.forms:
            # The boundary is another one each time.
            message = email.message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
            parts = {p.get_param("name", header="Content-Disposition"): p for p in message.get_payload()}
            check(set(parts) == {"profile", "sample_type_config"} and parts["profile"].get_filename() == "profile.pprof", "%s", parts)
            profile = parts["profile"].get_payload(decode=True)
            forms[path, profile] = json.loads(parts["sample_type_config"].get_payload(decode=True))
            times[path, profile] += 1
        check(sum(times.values()) - len(times) <= 1, "one kill, and %d requests too many", sum(times.values()) - len(times))
        for (path, data), config in forms.items():
            url = urllib.parse.urlsplit(path)
            query = dict(urllib.parse.parse_qsl(url.query, strict_parsing=True))
            check(url.path == "/ingest" and query["name"] == "shop_a_b_{host=%s}" % host(ctx, paths[0]), "%s", path)
            profile = Pprof(ctx, data)
            check(int(query["from"]) <= profile.begin / 1e9 < int(query["from"]) + 1 < int(query["until"]) + 1 <= int(query["from"]) + 3, "%s: %d",
                  path, profile.begin)
            check(set(config) == {kind for kind, _ in profile.types} and all(config[k]["units"] == u for k, u in profile.types), "%s of %s", config,
                  profile.types)
            metric = pyroscope_metric(profile.types, config)
            metrics.add(metric)
            for kind, value in profile.sums.items():
                got[metric, kind] += value
    check(metrics == {"process_cpu", "wall", "gvl", "memory"}, "%s", metrics)
    names = {"cpu": ("process_cpu", "cpu", "samples"), "wall": ("wall", "wall", "samples"), "gvl": ("gvl", "gvl", "waits"),
             "alloc": ("memory", "alloc_space", "alloc_objects")}
    truth = {}
    for mode, (value, count) in counts(ctx, paths).items():
        metric, of_value, of_count = names[mode]
        truth[metric, of_value], truth[metric, of_count] = value, count
    check(got == truth, "came in: %s; recorded: %s", dict(got), truth)
    return "%d forms: %s" % (len(forms), ", ".join("%s %d" % (kind, value) for (_, kind), value in sorted(truth.items())))


@case(timeout=120, patient=True)
def sends_pprof_to_parca(ctx):
    """WriteRawRequests in JSON, of which each profile is one that Parca takes; all of it, by names of scopes."""
    paths, got = history(ctx), collections.Counter()
    with Sink() as sink:
        run = push(ctx, sink, "--as", "parca", "--span", "2s").ok()
        for path, kind, body in sink.forms:
            document = json.loads(body)
            check((path, kind) == ("/profiles/writeraw", "application/json") and document["normalized"] is True, "%s %s", path, kind)
            series, = document["series"]
            labels = {label["name"]: label["value"] for label in series["labels"]["labels"]}
            check(labels["service_name"] == "ruby" and labels["host"] == host(ctx, paths[0]), "%s", labels)
            check(all(re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name) for name in labels), "Parca: invalid label name: %s", labels)
            sample, = series["samples"]
            profile = Pprof(ctx, base64.b64decode(sample["rawProfile"], validate=True))
            check({"process", "thread"} <= set(profile.labels), "labels of samples: %s", profile.labels)
            for of, value in profile.sums.items():
                got[labels["__name__"], of] += value
        values, truth = {k: v for k, v in got.items() if k[1] in ("cpu", "wall", "gvl", "alloc_space")}, recorded(ctx, paths)
        check(values == dict(truth), "came in: %s; recorded: %s", values, dict(truth))
        check("%d requests were sent" % len(sink.forms) in run.err, "%s", run.err)
        push(ctx, sink, "--as", "parca").ok()
        check(len(sink.forms) == sink.seen, "%d more", sink.seen - len(sink.forms))
    return "%d requests: %s" % (len(sink.forms), ", ".join("%s %d" % (kind, value) for (_, kind), value in sorted(values.items())))


DATADOG = {"cpu": ("cpu-time", "cpu-samples"), "wall": ("wall-time", "wall-samples"), "alloc": ("alloc-space", "alloc-samples")}


@case(timeout=120, patient=True)
def sends_pprof_to_datadog(ctx):
    """A form for each span at /profiling/v1/input, with the event and the headers that dd-trace-rb's own test of its transport wants
    (spec/datadog/profiling/http_transport_spec.rb, of 2025); all of the modes that Datadog has names for, in one profile."""
    paths, got, spans = history(ctx), collections.Counter(), []
    with Sink() as sink:
        push(ctx, sink, "--as", "datadog", "--service", "shop,a:b").ok()
        check(sink.seen == len(sink.forms) >= 5, "%d requests", sink.seen)
        for (path, kind, body), headers in zip(sink.forms, sink.headers):
            check(path == "/profiling/v1/input" and kind.startswith("multipart/form-data; boundary="), "%s %s", path, kind)
            check(headers["DD-EVP-ORIGIN"] == "extprof" and headers["DD-EVP-ORIGIN-VERSION"][:1].isdigit(), "%s", headers)
            message = email.message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
            parts = {p.get_param("name", header="Content-Disposition"): p for p in message.get_payload()}
            check(set(parts) == {"event", "profile.pprof"} and parts["event"].get_filename() == "event.json" and
                  parts["profile.pprof"].get_filename() == "profile.pprof", "%s", parts)
            event = json.loads(parts["event"].get_payload(decode=True))
            start, end = event.pop("start"), event.pop("end")
            check(re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z )+", start + " " + end + " ") and start < end, "%s %s", start, end)
            spans.append((start, end))
            tags = dict(tag.split(":") for tag in event.pop("tags_profiler").split(","))
            check(event == {"attachments": ["profile.pprof"], "family": "ruby", "version": "4", "endpoint_counts": None, "internal": {},
                            "info": {}}, "%s", event)
            check(tags.pop("profiler_version") == headers["DD-EVP-ORIGIN-VERSION"] and
                  tags == {"service": "shop_a_b", "host": host(ctx, paths[0]), "language": "ruby", "runtime": "ruby"}, "%s", tags)
            profile = Pprof(ctx, parts["profile.pprof"].get_payload(decode=True))
            at = datetime.datetime.fromtimestamp(profile.begin // 10**9, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
            check(start[:19] <= at <= end[:19], "%s in %s to %s", at, start, end)
            check(set(profile.types) <= {(name, "nanoseconds" if "-time" in name else "bytes" if "-space" in name else "count")
                                         for names in DATADOG.values() for name in names}, "types: %s", profile.types)
            check(set(profile.labels) >= {"process name", "process id", "thread name", "thread id"}, "%s", profile.labels)
            for of, value in profile.sums.items():
                got[of] += value
        truth = {}
        for mode, both in counts(ctx, paths).items():
            truth.update(zip(DATADOG.get(mode, ()), both))
        check(got == truth, "came in: %s; recorded: %s", dict(got), truth)
        check(all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), "spans: %s", spans)
        # A mode without a name there comes under its own, if it is asked for.
        push(ctx, sink, "--as", "datadog", "-m", "gvl", "--state", ctx.path("gvl.state")).ok()
        form = sink.forms[-1]
        message = email.message_from_bytes(b"Content-Type: " + form[1].encode() + b"\r\n\r\n" + form[2])
        types = Pprof(ctx, message.get_payload()[1].get_payload(decode=True)).types
        check([kind for kind, _ in types] == ["waits", "gvl"], "%s", types)
    return "%d forms: %s" % (len(spans), ", ".join("%s %d" % pair for pair in sorted(truth.items())))


@case(timeout=120, waits=True)
def goes_on_after_failures(ctx):
    """503, 429 with its time, 502 and 504, a connection that breaks in the middle of a request and one that breaks before the
    answer, a time over: nothing is lost. What broke before the answer comes twice, and nothing else does."""
    paths = history(ctx)
    with Sink([503, 200, 429, "cut", 200, "lost", 200, 502, 504, "hang"]) as sink:
        sink.answer[429] = {"Retry-After": "3"}
        run = push(ctx, sink, "--timeout", "1s", timeout=100).ok()
        counts = collections.Counter(sink.kept)
        check(sorted(counts.values())[-2:] == [1, 2], "times that requests came: %s", sorted(counts.values()))
        said = same(ctx, sink.documents(ctx, list(counts)), paths)
        waited = sink.times[3] - sink.times[2]
        check(3 <= waited < 8 * harness.PATIENCE, "after Retry-After: 3 it waited %.2f s", waited)
        # 1 s, of which up to half is taken away.
        first = sink.times[1] - sink.times[0]
        check(0.5 <= first < 3 * harness.PATIENCE, "the first wait was %.2f s", first)
        check("tried again: 503 not now" in run.err and "requests were refused" not in run.err, "%s", run.err)
        check(sink.seen == len(sink.kept) + 6, "%d requests, %d kept", sink.seen, len(sink.kept))
    return "%d requests, %d kept, one twice: %s" % (sink.seen, len(sink.kept), said)


@case(timeout=90, patient=True)
def counts_what_is_refused(ctx):
    """400 leaves one request out, which is told and counted; a partial success is read; 413 is sent again in halves; 401 ends it and
    all of it stays to be sent."""
    paths = history(ctx, seconds=8, rotate="4s")
    with Sink(usual=401) as sink:
        run = push(ctx, sink)
        check(run.status == NOT_SENT and sink.seen == 1 and "takes nothing: 401" in run.err, "%d, %d requests: %s", run.status, sink.seen, run.err)
        sink.usual = 200
        # rejected_profiles 3, "too old"
        partial = bytes([10, 11, 8, 3, 18, 7]) + b"too old"
        sink.plan = [400, 413, 200, 200, partial]
        run = push(ctx, sink, "--span", "2s")
        check(run.status == NOT_SENT, "status %d: %s", run.status, run.err)
        check("refused a request of" in run.err and ": 400" in run.err and "\x1b" not in run.err, "%r", run.err)
        check("1 request was refused\n" in run.err and "3 profiles were refused, of requests that were taken" in run.err and
              "did not take 3 profiles: too old" in run.err, "%s", run.err)
        got, truth = sums(sink.documents(ctx)), recorded(ctx, paths)
        missing = truth["process_cpu", "cpu"] - got["process_cpu", "cpu"]
        check(0 < missing < truth["process_cpu", "cpu"] / 2, "%d ns of %s are missing", missing, truth)
        check(len(set(sink.kept)) == len(sink.kept), "something came twice")
        # Neither is sent again.
        seen = sink.seen
        push(ctx, sink).ok()
        check(sink.seen == seen, "%d more requests", sink.seen - seen)
        with open(states(ctx)[0]) as f:
            totals = f.read().splitlines()[2].split()
        check(totals[2:] == ["1", "3", "0", "0"], "%s", totals)
    # A receiver that is not there: it is given up, and says so.
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        begin = time.monotonic()
        run = ctx.extprof("push", ctx.path("rec"), "--to", "http://127.0.0.1:%d" % s.getsockname()[1], "--retry-for", "2s")
        check(run.status == NOT_SENT and "given up after" in run.err and time.monotonic() - begin < 10 * harness.PATIENCE, "%d after %.1f s: %s",
              run.status, time.monotonic() - begin, run.err)
    return "one of %d requests refused: %d of %d ns of CPU time" % (sink.seen, missing, truth["process_cpu", "cpu"])


@case(timeout=120, patient=True)
def loses_nothing_when_it_is_killed(ctx):
    """kill -9 in the middle, ten times: each time at most the one request comes twice that was on its way."""
    paths = history(ctx, seconds=8)
    kills = 0
    with Sink() as sink:
        sink.wait = 0.15
        while True:
            before = sink.seen
            p = push_start(ctx, sink)
            if kills == 10:
                break
            harness.until(lambda: sink.seen > before or p.p.poll() is not None, "no request came", timeout=30)
            # Now before the answer, now after it.
            time.sleep(0.03 * (kills % 8))
            p.kill()
            kills += 1
            check(p.p.returncode in (-9, 0), "status %d", p.p.returncode)
        out, err = p.communicate()
        check(p.p.returncode == 0, "status %d: %s", p.p.returncode, err)
        sink.settle()
        counts = collections.Counter(sink.kept)
        twice = sum(counts.values()) - len(counts)
        check(twice <= kills, "%d requests too many after %d kills", twice, kills)
        # Two kills at the same request make it come three times.
        said = same(ctx, sink.documents(ctx, list(counts)), paths)
    left = [n for n in os.listdir(ctx.path("rec")) if n.endswith(".new")]
    check(len(left) <= 1, "%s", left)
    return "%d kills, %d requests, %d times one came again: %s" % (kills, len(counts), twice, said)


@case(timeout=60)
def ends_at_once(ctx):
    """SIGTERM while a receiver hangs, while it waits for the next try, and while it has nothing to do."""
    history(ctx, seconds=2)
    took = {}

    def ends(name, p, status):
        harness.prefer(p.pid)
        begin = time.monotonic()
        p.signal(signal.SIGTERM)
        out, err = p.communicate()
        took[name] = time.monotonic() - begin
        check(p.p.returncode == status, "%s: status %d: %s", name, p.p.returncode, err)
        check(took[name] < 1 * harness.PATIENCE, "%s: it took %.2f s", name, took[name])

    with Sink(usual="hang") as sink:
        p = push_start(ctx, sink)
        harness.until(lambda: sink.seen, "no request came")
        ends("hangs", p, NOT_SENT)
        sink.usual = 503
        sink.answer[503] = {"Retry-After": "100"}
        p = push_start(ctx, sink, "--follow")
        p.says("it is tried again: 503")
        ends("waits", p, 0)
        sink.usual = 200
        p = push_start(ctx, sink, "--follow")
        p.says("is sent")
        ends("idle", p, 0)
        sink.more.set()
    return ", ".join("%s: %.2f s" % item for item in took.items())


def certificate(ctx, name, host):
    key, cert = ctx.path(name + ".key"), ctx.path(name + ".pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert,
                    "-days", "1", "-subj", "/CN=" + host, "-addext", "subjectAltName=DNS:" + host], check=True, capture_output=True)
    return cert, key


@case(timeout=60)
def keeps_its_secrets(ctx):
    """Certificates are verified; headers are in no list of processes; and it has no power."""
    paths = history(ctx, seconds=2)
    tls, other = certificate(ctx, "right", "localhost"), certificate(ctx, "other", "elsewhere.example")
    secret = ctx.write("headers", "# who we are\nAuthorization: Bearer s3cret-of-file\n\n", mode=0o600)
    with Sink(["hang"], tls=tls) as sink:
        for ca in ([], ["--ca", other[0]]):
            run = push(ctx, sink, *ca)
            check(run.status == NOT_SENT and sink.seen == 0 and "certificate" in run.err, "status %d, %d requests: %s", run.status, sink.seen, run.err)
        p = push_start(ctx, sink, "--ca", tls[0], "--header-file", secret, "--header", "X-Key: s3cret-of-line",
                       env={"EXTPROF_PUSH_HEADERS": "X-More: s3cret-of-environment\n"})
        harness.until(lambda: sink.seen, "no request came")
        check(sink.headers[0]["Authorization"] == "Bearer s3cret-of-file" and sink.headers[0]["X-Key"] == "s3cret-of-line" and
              sink.headers[0]["X-More"] == "s3cret-of-environment", "%s", sink.headers[0])
        with open("/proc/%d/cmdline" % p.pid) as f:
            shown = f.read()
        check("s3cret" not in shown and "X-Key" not in shown, "%r", shown)
        has = powers(p.pid)
        for of in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            check(has[of] == {0}, "%s: %s", of, has[of])
        check(has["NoNewPrivs"] == {"1"}, "%s", has)
        p.kill()
        sink.more.set()
        push(ctx, sink, "--ca", tls[0]).ok()
        same(ctx, sink.documents(ctx), paths)
        check(all("s3cret" not in open(path).read() for path in states(ctx)), "the state has a secret")
    with Sink(tls=other) as sink:
        run = push(ctx, sink, "--ca", other[0])
        check(run.status == NOT_SENT and sink.seen == 0 and "host name" in run.err, "status %d: %s", run.status, run.err)
    os.chmod(secret, 0o644)
    with Sink(["redirect"], usual=307) as sink:
        sink.plan.clear()
        sink.answer[307] = {"Location": sink.url + "/elsewhere"}
        run = push(ctx, sink, "--header-file", secret)
        check(run.status == NOT_SENT and sink.seen == 1 and "takes nothing: 307" in run.err, "%d, %d requests: %s", run.status, sink.seen, run.err)
        check("can read" in run.err and "https:// would hide them" in run.err, "%s", run.err)
    for text, says in (("Authorization Bearer x\n", "line 1: a header is NAME: VALUE"), ("A: b\nContent-Length: 5\n", "line 2: requests have this"),
                       ("A: b\x07\n", "control characters")):
        run = push(ctx, sink, "--header-file", ctx.write("wrong", text, mode=0o600))
        check(run.status == harness.USAGE and says in run.err, "%r: %d: %s", text, run.status, run.err)
    run = ctx.extprof("push", ctx.path("rec"), "--to", "https://user:s3cret@localhost/")
    check(run.status == harness.USAGE and "a name and a password" in run.err and "s3cret" not in run.err, "%d: %s", run.status, run.err)
    return "verified by the certificate and the name; no capability of 41"


@case(timeout=60)
def does_not_believe_its_state(ctx):
    """One that is damaged or of others is refused, a link is not followed, and another push waits its turn."""
    paths = history(ctx, seconds=2)
    with Sink(["hang"]) as sink:
        p = push_start(ctx, sink)
        harness.until(lambda: sink.seen, "no request came")
        run = push(ctx, sink)
        check(run.status == harness.OUTPUT and "another extprof push" in run.err, "status %d: %s", run.status, run.err)
        p.kill()
        state, = states(ctx)
        with open(state) as f:
            text = f.read()
        for wrong in (text[:-1], text + "x\n", text.replace("push 2", "push 1"), text.replace("otlp http", "otlp https"), "\0" + text, ""):
            with open(state, "w") as f:
                f.write(wrong)
            run = push(ctx, sink)
            check(run.status == harness.OUTPUT and ("is damaged" in run.err), "%r: status %d: %s", wrong[:80], run.status, run.err)
        os.unlink(state)
        victim = ctx.write("victim", "untouched")
        for name in (state, state + ".new", state + ".lock"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            os.symlink(victim, name)
            run = push(ctx, sink)
            with open(victim) as f:
                check(f.read() == "untouched", "%s is followed", name)
            if not name.endswith(".new"):
                check(run.status == harness.OUTPUT, "%s: status %d: %s", name, run.status, run.err)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
        check(len(sink.kept) > 0, "the link .new kept it from sending")
        check(set(os.listdir(ctx.path("rec"))) >= {os.path.basename(p) for p in paths}, "a recording is gone")
        # A disk on which nothing can be kept: nothing is sent, since it would be sent again and again.
        seen = sink.seen
        run = push(ctx, sink, "--state", "/proc/push-state")
        check(run.status == harness.OUTPUT and sink.seen == seen, "status %d, %d requests: %s", run.status, sink.seen - seen, run.err)
        run = push(ctx, sink, "--state", ctx.path("state")).ok()
        check(os.path.exists(ctx.path("state")) and sink.seen > seen, "%s", run.err)
    return "six texts, three links, a file that cannot be written"


def damage(path, *statements):
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()
    os.utime(path, (time.time() - 100,) * 2)


@case(timeout=120, waits=True)
def leaves_out_what_is_damaged(ctx):
    """No recording, a damaged block, times of centuries, modes that are none: told once, and others are sent. One without an end and
    without a sample has nothing to send."""
    paths = history(ctx, seconds=4, rotate="2s")
    good, copies = paths[0], {n: ctx.path("rec/z-%s.extprof" % n) for n in ("block", "times", "modes", "empty", "none")}
    for path in copies.values():
        shutil.copy(good, path)
    with open(copies["none"], "w") as f:
        f.write("x" * 5000)
    # A clock that was wrong hides nothing.
    os.utime(copies["none"], (time.time() + 1000000,) * 2)
    damage(copies["block"], "UPDATE blocks SET data=zeroblob(100)")
    damage(copies["times"], "UPDATE blocks SET last_ns=9000000000000000000 WHERE id=(SELECT max(id) FROM blocks)",
           "UPDATE meta SET value=9000000000000000000 WHERE key='started_unix_ns'")
    damage(copies["modes"], "UPDATE modes SET name='\"}x' WHERE id=1")
    damage(copies["empty"], "DELETE FROM blocks", "DELETE FROM meta WHERE key='ended'")
    with Sink() as sink:
        begin = time.monotonic()
        run = push(ctx, sink, timeout=100)
        took = time.monotonic() - begin
        check(run.status == NOT_SENT, "status %d: %s", run.status, run.err)
        for name, says in (("none", "it is no SQLite database"), ("block", "the rest is left out"), ("modes", "has modes that are none")):
            check(any(copies[name] in line and says in line for line in run.err.splitlines()), "of %s: %s", name, run.err)
        check(copies["empty"] not in run.err and "\"}x" not in run.err, "%s", run.err)
        # What has other times is no less.
        same(ctx, sink.documents(ctx), [*paths, copies["times"]])
        run = push(ctx, sink)
        check(run.status == RECORDING and len(set(sink.kept)) == len(sink.kept), "status %d: %s", run.status, run.err)
        check(run.err.count("left out") == 1 and copies["none"] in run.err, "%s", run.err)
    return "%d requests of what is right, in %.1f s" % (len(sink.kept), took)


def lines_of(ctx):
    """The lines of the state, by name."""
    with open(states(ctx)[0]) as f:
        return {line.split()[10]: dict(zip(("begin", "from", "modes", "sent", "until", "done"), map(int, line.split()[1:7])))
                for line in f if line.startswith("segment")}


@case(timeout=120, patient=True)
def has_the_answer_in_the_status(ctx):
    """200 with a body that comes slowly, breaks off or has no end: it was taken, and is not sent again. 500 is tried again."""
    paths = history(ctx, seconds=4, rotate="1m")
    with Sink(["slow", 500, "short", "endless", 500]) as sink:
        begin = time.monotonic()
        push(ctx, sink, "--timeout", "2s", timeout=100).ok()
        took = time.monotonic() - begin
        sink.more.set()
        check(len(set(sink.kept)) == len(sink.kept) == sink.seen - 2, "%d requests, %d kept, %d of them different", sink.seen, len(sink.kept),
              len(set(sink.kept)))
        said = same(ctx, sink.documents(ctx), paths)
    return "%d requests in %.1f s: %s" % (sink.seen, took, said)


@case(timeout=120, waits=True)
def throws_no_history_away(ctx):
    """A receiver of another kind has nothing left out; one that refuses each request has five left out, and no more; 500 as the answer
    to one request is left out after five tries."""
    history(ctx, seconds=10, rotate="1m")
    with Sink() as sink:
        for status in (415, 406, 501, 410, 421):
            sink.usual, seen = status, sink.seen
            run = push(ctx, sink)
            check(run.status == NOT_SENT and sink.seen == seen + 1 and "takes nothing: %d" % status in run.err, "%d: %d, %d requests: %s", status,
                  run.status, sink.seen - seen, run.err)
        sink.usual, seen = 400, sink.seen
        run = push(ctx, sink)
        check(run.status == NOT_SENT and sink.seen == seen + 6 and "5 requests were refused" in run.err and
              "has refused 5 requests in a row: no more are left out" in run.err, "%d, %d requests: %s", run.status, sink.seen - seen, run.err)
        seen = sink.seen
        run = push(ctx, sink)
        check(run.status == NOT_SENT and sink.seen == seen + 1 and "0 requests were sent" in run.err, "%d, %d requests: %s", run.status,
              sink.seen - seen, run.err)
        sink.plan, sink.usual, seen = [200] + [500] * 5, 200, sink.seen
        run = push(ctx, sink, timeout=100)
        check(run.status == NOT_SENT and "1 request was refused" in run.err and ": 500 not now" in run.err, "%d: %s", run.status, run.err)
        check(len(sink.kept) == sink.seen - seen - 5 >= 3, "%d kept of %d", len(sink.kept), sink.seen - seen)
        sink.documents(ctx)
    return "six of %d requests refused" % (len(sink.kept) + 6)


@case(timeout=120, patient=True)
def sends_what_has_no_label(ctx):
    """--group-by label:request where one recording has the label and another has not: both are sent, and the label where it is. What is
    wrong in options is said before anything is sent."""
    os.mkdir(ctx.path("rec"))
    paths = []
    for name, label in (("a", 'Fiber.with_labels(request: "GET /a") { %s }'), ("b", "%s")):
        ruby = ctx.ruby("-e", "STDOUT.sync = true; puts :ready; " + label % "loop { 100.times { |i| i.to_s } }")
        ruby.expect("ready")
        paths.append(ctx.path("rec/%s.extprof" % name))
        ctx.extprof("record", "-q", "-p", ruby.pid, "-m", "cpu,alloc", "-F", harness.rate(199), "--group-by", "label:request", "-d", "2", "-o",
                    paths[-1]).ok()
        ruby.kill()
    with Sink() as sink:
        for wrong in (["--group-by", "label:"], ["--group-by", "nobody"], ["--filter", "nothing"], ["--mode", "none"]):
            run = push(ctx, sink, *wrong)
            check(run.status == harness.USAGE and not sink.seen and wrong[1].partition(":")[0] in run.err, "%s: %d: %s", wrong, run.status, run.err)
        for kind in ("otlp", "pyroscope"):
            push(ctx, sink, "--group-by", "label:request", "--as", kind).ok()
        documents = sink.documents(ctx, [body for path, _, body in sink.forms if path == "/v1development/profiles"])
        said = same(ctx, documents, paths)
        of = collections.Counter()
        for document in documents:
            for _, scope, kind, labels, _, _, amount in otlp.samples(document):
                if kind[0] == "cpu":
                    of[labels.get("request")] += amount
        truth = recorded(ctx, paths[:1])["process_cpu", "cpu"]
        # Native threads have no label.
        check(set(of) == {"GET /a", None} and 0.95 * truth < of["GET /a"] <= truth, "%s; of the first one were recorded %d", of, truth)
        check(len(sink.forms) > len(documents) + 4, "%d forms", len(sink.forms) - len(documents))
    return said


# Work, nothing for some seconds, and work.
IN_PARTS = """
STDOUT.sync = true
work = ->(s) { till = Time.now + s; 1000.times { |i| i.to_s * 20 } while Time.now < till }
puts "ready"
work.(3)
sleep 9
work.(30)
"""


@case(timeout=150, waits=True)
def sends_the_rest_of_what_goes_on(ctx):
    """A recording that did not end, of which a part was sent, and which goes on: in requests of one mode each what was interrupted
    between two modes, and in others all that comes later; nothing twice. A gap is left out. It is lost if it goes before that."""
    ruby = ctx.ruby(ctx.write("parts.rb", IN_PARTS))
    ruby.expect("ready")
    whole, part, path = ctx.path("whole.extprof"), ctx.path("part.extprof"), ctx.path("rec/app.extprof")
    os.mkdir(ctx.path("rec"))
    ctx.extprof("record", "-q", "-p", ruby.pid, "-m", "cpu,alloc", "-F", harness.rate(199), "-d", "15", "-o", whole).ok()
    ruby.kill()
    shutil.copy(whole, part)
    zero = "(SELECT value FROM meta WHERE key='started_monotonic_ns')"
    damage(part, "DELETE FROM blocks WHERE first_ns > %s + 6000000000" % zero, "DELETE FROM meta WHERE key='ended'")
    lasts = [integer(ctx, p, "SELECT max(last_ns) - %s FROM blocks" % zero) for p in (part, whole)]
    check(1e9 < lasts[0] < 7e9 and 11e9 < lasts[1] < 16e9, "the last samples: %s", lasts)

    def put(of, age=100):
        shutil.copy(of, path)
        os.utime(path, (time.time() - age,) * 2)

    put(part)
    with Sink() as sink:
        options = ["--as", "pyroscope", "--retry-for", "100ms"]
        sink.usual = 503
        for _ in range(30):
            sink.plan = [200]
            run = push(ctx, sink, *options)
            check(run.status == NOT_SENT, "it has ended: %s", run.err)
            if lines_of(ctx)["app.extprof"]["modes"]:
                break
        line = lines_of(ctx)["app.extprof"]
        check(line["modes"] == 1 and line["until"] == line["begin"] + lasts[0], "%s", line)
        put(whole)
        sink.usual, before = 200, len(sink.forms)
        push(ctx, sink, *options).ok()
        got, forms = collections.Counter(), 0
        for _, kind, body in sink.forms:
            message = email.message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
            profile, = [p.get_payload(decode=True) for p in message.get_payload() if p.get_param("name", header="Content-Disposition") == "profile"]
            got.update(Pprof(ctx, profile).sums)
            forms += 1
        truth = {name: amounts[i] for mode, amounts in counts(ctx, [whole]).items()
                 for i, name in enumerate({"cpu": ("cpu", "samples"), "alloc": ("alloc_space", "alloc_objects")}[mode])}
        check(got == truth, "came in: %s; recorded: %s", dict(got), truth)
        os.unlink(states(ctx)[0])
    with Sink() as sink:
        put(part)
        push(ctx, sink).ok()
        check(lines_of(ctx)["app.extprof"]["done"] == 1, "%s", lines_of(ctx))
        put(part, age=0)
        run = push(ctx, sink).ok()
        check("1 recording has not ended: it is sent later" in run.err and lines_of(ctx)["app.extprof"]["done"] == 0, "%s", run.err)
        put(whole)
        push(ctx, sink).ok()
        documents = sink.documents(ctx)
        said = same(ctx, documents, [whole])
        check(len(set(sink.kept)) == len(sink.kept) <= 12, "%d requests, %d different ones", len(sink.kept), len(set(sink.kept)))
        begins = [int(p["timeUnixNano"]) - line["begin"] for d in documents for _, _, p in otlp.profiles(d)]
        # Spans are where they would be without the gap, from the begin and from where it went on.
        check({b % 1_000_000_000 for b in begins} <= {0, (lasts[0] + 1) % 1_000_000_000}, "begins: %s", begins)
        put(part, age=0)
        push(ctx, sink).ok()
        os.unlink(path)
        run = push(ctx, sink)
        check(run.status == NOT_SENT and "was removed before all of it was sent" in run.err, "%d: %s", run.status, run.err)
    return "%d forms, %d of them before it went on; %d requests: %s" % (forms, before, len(documents), said)


@case(timeout=120, waits=True)
def reads_later_what_it_cannot_read_now(ctx):
    """A file that cannot be opened for a while is not left out for ever: the rest comes with the next push, and other recordings come
    meanwhile. After 413 a gap of centuries is passed in a moment."""
    paths = history(ctx, seconds=6, rotate="3s")
    with Sink() as sink:
        sink.wait = 0.5
        p = push_start(ctx, sink)
        harness.until(lambda: sink.seen, "no request came")
        os.chmod(paths[0], 0)
        out, err = p.communicate()
        os.chmod(paths[0], 0o600)
        check(p.p.returncode == RECORDING and "%s is left out: " % paths[0] in err and "is sent: " in err, "%d: %s", p.p.returncode, err)
        sink.wait = 0
        push(ctx, sink).ok()
        said = same(ctx, sink.documents(ctx), paths)
        check(len(set(sink.kept)) == len(sink.kept), "something came twice")
    for name in paths[1:]:
        os.unlink(name)
    damage(paths[0], "UPDATE blocks SET last_ns=9000000000000000000 WHERE id=(SELECT max(id) FROM blocks)",
           "UPDATE meta SET value=1000000000000000000 WHERE key='started_unix_ns'")
    with Sink([413] * 21) as sink:
        begin = time.monotonic()
        push(ctx, sink, timeout=100).ok()
        took = time.monotonic() - begin
        check(sink.seen > 22, "%d requests", sink.seen)
        same(ctx, sink.documents(ctx), paths[:1])
        seen = sink.seen
        p = push_start(ctx, sink, "--state", ctx.path("other"))
        harness.until(lambda: sink.seen > seen, "no request came", timeout=60)
        harness.prefer(p.pid)
        p.signal(signal.SIGTERM)
        begin = time.monotonic()
        p.communicate()
        check(time.monotonic() - begin < 2 * harness.PATIENCE, "SIGTERM: it took %.1f s", time.monotonic() - begin)
    return "%s; three centuries in %.1f s" % (said, took)


@case(timeout=120, waits=True)
def lets_others_push_between(ctx):
    """A push between two looks of --follow does not end it: it goes on when that has ended."""
    paths = history(ctx, seconds=2)
    with Sink() as sink:
        p = push_start(ctx, sink, "--follow")
        p.says("is sent")
        with open(states(ctx)[0] + ".lock", "r+") as f:
            # It has the lock in a look.
            fcntl.lockf(f, fcntl.LOCK_EX)
            p.says("another extprof push sends it there: it is tried again")
            shutil.copy(paths[0], ctx.path("rec/later.extprof"))
            # The first look of a push is refused.
            run = push(ctx, sink, "--follow")
            check(run.status == harness.OUTPUT and "another extprof push" in run.err, "status %d: %s", run.status, run.err)
        p.says("later.extprof is sent")
        p.signal(signal.SIGTERM)
        out, err = p.communicate()
        check(p.p.returncode == 0, "status %d: %s", p.p.returncode, err)
        return same(ctx, sink.documents(ctx), [*paths, paths[0]])


@case(timeout=120)
def sends_the_first_ones_of_a_full_folder(ctx):
    """Of more than 10,000 recordings the first ones by name, which is told; others when there is room; none of these is lost."""
    good, = history(ctx, seconds=2, rotate="1m")
    os.rename(good, ctx.path("rec/a.extprof"))
    for i in range(10000):
        open(ctx.path("rec/b-%05d.extprof" % i), "w").close()
    shutil.copy(ctx.path("rec/a.extprof"), ctx.path("rec/c.extprof"))
    with Sink() as sink:
        run = push(ctx, sink)
        check(run.status == NOT_SENT and "has more than 10000 recordings" in run.err and "a.extprof is sent" in run.err, "%d: %s", run.status, run.err)
        seen = sink.seen
        run = push(ctx, sink)
        check(run.status == NOT_SENT and sink.seen == seen and "was removed" not in run.err, "%d: %s", run.status, run.err)
        os.unlink(ctx.path("rec/a.extprof"))
        os.unlink(ctx.path("rec/b-00000.extprof"))
        run = push(ctx, sink)
        check("c.extprof is sent" in run.err and "has more than" not in run.err, "%d: %s", run.status, run.err)
        # Again one more: what is known and behind the others is not lost.
        open(ctx.path("rec/b-00000.extprof"), "w").close()
        open(ctx.path("rec/b.extprof"), "w").close()
        run = push(ctx, sink)
        check("was removed" not in run.err and "has more than" in run.err and sink.seen == 2 * seen, "%d requests: %s", sink.seen, run.err)
    return "%d requests of two recordings" % sink.seen


@case(timeout=150, waits=True)
def follows_a_daemon(ctx):
    """The unit is one that systemd understands. What a daemon records comes in while it goes on; a file that is removed before it was sent is lost, and told; one that a daemon
    left after kill -9 is sent."""
    ruby = ctx.ruby(ctx.write("push_spans.rb", case_rotate.PROGRAM))
    ruby.expect("ready")
    options = ["--rotate", "1s", "--name", "push_spans.rb", "-m", "cpu,wall"]
    with Sink() as sink:
        daemon = case_daemon.start(ctx, *options)
        path = ctx.path("notify")
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.bind(path)
        s.settimeout(30)
        follower = push_start(ctx, sink, "--follow", folder="history", env={"NOTIFY_SOCKET": path})
        check(s.recv(4096).startswith(b"READY=1\nSTATUS="), "systemd is not told")
        harness.until(lambda: len(sink.kept) >= 3, "nothing comes in", timeout=60)
        # The receiver is away: files go meanwhile.
        sink.usual = 503
        asked = sink.seen
        harness.until(lambda: sink.seen > asked, "it does not ask", timeout=60)
        there = set(case_daemon.files(ctx))
        harness.until(lambda: len(set(case_daemon.files(ctx)) - there) >= 3, "there are not 3 more files", timeout=60)
        follower.signal(signal.SIGTERM)
        out, err = follower.communicate()
        check(follower.p.returncode == 0, "status %d: %s", follower.p.returncode, err)
        # A look that sees them, and sends nothing.
        run = push(ctx, sink, "--retry-for", "100ms", folder="history")
        check(run.status == NOT_SENT, "status %d: %s", run.status, run.err)
        daemon.kill()
        paths = case_daemon.files(ctx)
        last = paths[-1]
        sink.usual = 200
        with open(states(ctx, "history")[0]) as f:
            lines = [line.split() for line in f if line.startswith("segment")]
        # The times up to which all was sent, and up to which a part was.
        unsent = {line[10] for line in lines if line[2] == line[4] == "0"}
        waiting = [p for p in paths[:-1] if os.path.basename(p) in unsent]
        check(waiting, "all were sent: %s", lines)
        os.unlink(waiting[0])
        run = push(ctx, sink, folder="history")
        check(run.status == NOT_SENT and "was removed before all of it was sent" in run.err and "1 recording was gone" in run.err, "%d: %s",
              run.status, run.err)
        check("1 recording has not ended: it is sent later" in run.err, "%s", run.err)
        # No daemon writes it, and for a minute nobody did.
        for name in (last, last + "-wal"):
            os.utime(name, (time.time() - 100,) * 2)
        push(ctx, sink, folder="history").ok()
        paths.remove(waiting[0])
        check(len(set(sink.kept)) == len(sink.kept), "something came twice")
        said = same(ctx, sink.documents(ctx), paths)
    unit = os.path.join(harness.TOP, "tools/extprof/cli/systemd/extprof-push.service.in")
    with open(unit) as f:
        text = f.read()
    made = ctx.write("extprof-push.service", text.replace("@PREFIX@/bin/extprof", harness.EXTPROF))
    analyze = subprocess.run(["systemd-analyze", "verify", "--man=no", made], capture_output=True, text=True)
    check(analyze.returncode == 0 and "extprof-push.service:" not in analyze.stderr, "systemd-analyze: %d: %s", analyze.returncode, analyze.stderr)
    # Without a receiver it is not begun again and again.
    run = ctx.extprof("push", ctx.path("history"), "--follow", "--to", "")
    check(run.status == harness.USAGE and "TO=URL in /etc/extprof-push.conf" in run.err, "%d: %s", run.status, run.err)
    check("RestartPreventExitStatus=%d\n" % harness.USAGE in text, "%s", text)
    return "%d files, %d requests: %s; one lost, which is told" % (len(paths), len(sink.kept), said)


@case(timeout=90)
def leaves_out_what_lives(ctx):
    """Each file has the state of mode heap, which has no sum: it is sent if it is asked for."""
    ruby = ctx.ruby("-e", "puts :ready; STDOUT.flush; $kept = []; loop { $kept << 'x' * 600; sleep 0.001 }")
    ruby.expect("ready")
    os.mkdir(ctx.path("rec"))
    ctx.extprof("record", "-q", "-p", ruby.pid, "-m", "alloc,heap", "--alloc-interval", "1k", "-d", "4", "--rotate", "1s", "-o",
                ctx.path("rec/app.extprof")).ok()
    kinds = []
    for options in ([], ["--mode", "heap"]):
        with Sink() as sink:
            push(ctx, sink, *options).ok()
            kinds.append({kind for (_, kind), amount in sums(sink.documents(ctx)).items() if amount})
    check(kinds == [{"alloc_space", "alloc_objects"}, {"inuse_space", "inuse_objects"}], "%s", kinds)
    return "%s and %s" % tuple(kinds)
