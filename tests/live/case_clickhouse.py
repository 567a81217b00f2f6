"""extprof push --as clickhouse: rows of several machines in real servers, whatever these and extprof go through.  The truth is SQL on
the recordings."""
import collections
import contextlib
import glob
import gzip
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.parse

import case_rotate
import clickhouse
import harness
from case_push import NOT_SENT, Sink, damage
from harness import case, check

MODES = "cpu,wall,gvl,gc,alloc"
# Names that mean something in JSON, in SQL and in lines; locks, memory and a label.
PROGRAM = r"""
STDOUT.sync = true
ODD = ["a\"b\\'c); DROP TABLE extprof_samples", "x\nINSERT INTO y {", "\u00e4\u{1f600}"]
ODD.each { |name| define_method(name) { 2000.times.map { |i| i.to_s * 20 } } }
LOCK = Mutex.new
threads = 2.times.map do |i|
  Thread.new do
    Thread.current.name = "t#{i}"
    loop { ODD.each { |name| Fiber.with_labels("request" => "GET /#{name}") { LOCK.synchronize { send(name); sleep 0.002 } } }; sleep 0.003 }
  end
end
puts "ready"
threads.each(&:join)
"""
# The views: those of SQL on a recording, and what is asked of each.
VIEWS = {
    "top_methods": "mode, method, path, self, total, count", "top_lines": "mode, path, line, self, count",
    "gc_by_method": "mode, method, path, phase, value, count", "lock_waits": "state, method, path, line, thread_name, ns, waits",
    "states_by_thread": "pid, tid, thread_name, mode, state, ns, count", "idle_threads": "pid, tid, thread_name, ns, busy_ns",
}


def record_start(ctx, host, *options):
    """On a machine of that name, into a folder of its own."""
    os.mkdir(ctx.path(host))
    ruby = ctx.ruby(ctx.write("work.rb", PROGRAM))
    ruby.expect("ready")
    argv = [harness.EXTPROF, "record", "-q", "-p", ruby.pid, "-m", MODES, "-F", harness.rate(199), "-o", ctx.path(host + "/app.extprof"), *options]
    return ruby, ctx.start(["unshare", "-u", "sh", "-c", 'hostname "$0" && exec "$@"', host, *argv], stdin=subprocess.DEVNULL,
                           stderr=subprocess.PIPE)


def record_end(ctx, host, ruby, reader):
    err = reader.communicate(60)[1]
    check(reader.p.returncode == 0, "record: status %d: %s", reader.p.returncode, err)
    ruby.kill()
    return sorted(glob.glob(ctx.path(host + "/*.extprof")))


def hosts_of(cluster, count):
    """Names of machines, by the shard that each goes to: `count` for shard 0 and one for shard 1."""
    found = collections.defaultdict(list)
    for i in range(100):
        name = "host%d" % i
        shard = int(cluster.at(0).ask("SELECT cityHash64('%s') %% %d" % (name, cluster.shards))[0][0])
        if len(found[shard]) < (1 if shard else count):
            found[shard].append(name)
    return found


def truth(ctx, paths):
    """{(mode, state): (ns or bytes, samples)}, to the last digit."""
    found = collections.defaultdict(lambda: (0, 0))
    for path in paths:
        for mode, state, value, count in case_rotate.sql(ctx, path, "SELECT mode, state, sum(value), sum(count) FROM samples GROUP BY 1, 2"):
            before = found[mode, state]
            found[mode, state] = (before[0] + int(value), before[1] + int(count))
    return dict(found)


def stored(server, host):
    rows = server.ask("SELECT Type, State, sum(Value), sum(Count) FROM extprof_samples WHERE Host = '%s' GROUP BY Type, State" % host)
    return {(mode, state): (int(value), int(count)) for mode, state, value, count in rows}


def same(ctx, server, host, paths):
    got, wanted = stored(server, host), truth(ctx, paths)
    check(got == wanted, "of %s the servers have %s, and the recordings %s", host, got, wanted)
    check(len({mode for mode, _ in wanted}) == 5 and all(value for value, _ in wanted.values()), "modes and states: %s", wanted)
    return sum(count for (mode, _), (_, count) in wanted.items() if mode != "alloc")


def push_options(url, *options):
    return ["--as", "clickhouse", "--to", url, "--span", "1s", *options]


def push(ctx, host, url, *options):
    return ctx.extprof("push", ctx.path(host), *push_options(url, *options))


def push_start(ctx, host, url, *options):
    return ctx.extprof_start("push", ctx.path(host), *push_options(url, *options))


@case(timeout=150, patient=True)
def has_all_of_three_machines(ctx):
    """Two shards with two replicas each. A shard is away, then a replica; extprof is killed while it waits. All machines' sums come, to
    the ns and the sample, each in one shard, and both replicas have them."""
    if clickhouse.missing():
        return harness.Counted(0, 0, 1, "there is no ClickHouse: apt-get install %s" % clickhouse.missing())
    cluster = clickhouse.Cluster(ctx, 2, 2)
    cluster.ready()
    hosts = hosts_of(cluster, 2)
    (first, second), (third,) = hosts[0], hosts[1]
    running = {host: record_start(ctx, host, "-d", "3", "--rotate", "2s") for host in (first, second, third)}
    paths = {host: record_end(ctx, host, *of) for host, of in running.items()}
    # A whole shard is away: nobody's rows are taken, and nothing is left out.
    for replica in (0, 1):
        cluster.at(1, replica).kill()
    waiting = [push_start(ctx, host, cluster.at(0).url) for host in (first, third)]
    for p in waiting:
        p.says("takes nothing now, it is tried again: 500")
    waiting[1].kill()
    run = push(ctx, third, cluster.at(0).url, "--retry-for", "1s")
    check(run.status == NOT_SENT and "refused" not in run.err, "status %d: %s", run.status, run.err)
    # The shard comes back without one of its replicas, and the one that waited goes on by itself.
    cluster.at(1, 1).start()
    err = waiting[0].communicate(60)[1]
    check(waiting[0].p.returncode == 0, "status %d: %s", waiting[0].p.returncode, err)
    push(ctx, third, cluster.at(0).url).ok()
    # The other shard loses a replica in the middle of what goes there.
    with Between(cluster.at(1, 1).url, [200, 200, 503]) as between:
        p = push_start(ctx, second, between.url)
        p.says("takes nothing now, it is tried again: 503")
        cluster.at(0, 0).kill()
        err = p.communicate(60)[1]
        check(p.p.returncode == 0, "status %d: %s", p.p.returncode, err)
        answers = [status for status, _ in between.forms]
    for server in (cluster.at(0, 0), cluster.at(1, 0)):
        server.start()
        harness.until(server.is_there, "a replica is not back", timeout=30)
    rows = [cluster.synced(shard) for shard in (0, 1)]
    samples = [same(ctx, cluster.at(1), host, paths[host]) for host in (first, second, third)]
    for shard, of in hosts.items():
        at = {row[0] for row in cluster.at(shard).ask("SELECT DISTINCT Host FROM extprof_samples_local")}
        check(at == set(of), "shard %d has %s of %s", shard, at, of)
    # The three run the same program: a stack has one number on all machines, and there is none without its names.
    shared = int(cluster.at(0).ask("SELECT count() FROM (SELECT StackHash FROM extprof_samples GROUP BY StackHash HAVING uniqExact(Host) = 3)")[0][0])
    check(shared >= 5, "%d stacks are of all three machines", shared)
    names = cluster.at(0).ask("SELECT Hash, uniqExact(Stack) AS n FROM extprof_stacks GROUP BY Hash HAVING n > 1")
    check(not names, "a hash of two stacks: %s", names)
    nameless = cluster.at(0).ask("SELECT count() FROM extprof_samples WHERE StackHash GLOBAL NOT IN (SELECT Hash FROM extprof_stacks)")
    check(nameless == [("0",)], "%s samples have no stack", nameless)
    # Another server of the cluster is no other receiver. Who has lost what was noted sends all of it again, and the servers know it.
    run = push(ctx, third, cluster.at(1).url).ok()
    check("0 requests were sent" in run.err, "%s", run.err)
    run = push(ctx, third, cluster.at(1).url, "--state", ctx.path("state")).ok()
    check("0 requests were sent" not in run.err, "%s", run.err)
    same(ctx, cluster.at(0), third, paths[third])
    return "%s samples of 3 machines, %s and %s rows; %d stacks are of all; answers while a replica went: %s" % (
        "+".join(map(str, samples)), rows[0][0], rows[1][0], shared, answers)


class Between(Sink):
    """It gives a request to ClickHouse and its answer back. It is taken, and the answer does not come: "lost" breaks off, "hang" waits."""

    def __init__(self, url, plan=()):
        super().__init__(plan)
        self.to = urllib.parse.urlsplit(url)

    def take(self, request):
        body = request.rfile.read(int(request.headers["Content-Length"]))
        with self.lock:
            what = self.plan.pop(0) if self.plan else 200
            self.seen += 1
        if isinstance(what, int) and what != 200:
            request.send_response(what)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        with contextlib.closing(http.client.HTTPConnection(self.to.hostname, self.to.port, timeout=30)) as c:
            c.request("POST", request.path, body, dict(request.headers.items()))
            answer = c.getresponse()
            said = answer.read()
        with self.lock:
            self.kept.append((urllib.parse.parse_qs(urllib.parse.urlsplit(request.path).query)["query"][0].split()[2], body))
            self.forms.append((answer.status, said))
        if what in ("lost", "hang"):
            self.more.wait(0 if what == "lost" else 60)
            self.close(request)
            return
        request.send_response(answer.status)
        request.send_header("Content-Length", str(len(said)))
        request.end_headers()
        with contextlib.suppress(OSError):
            request.wfile.write(said)


def state_text(ctx, host):
    path, = (p for p in glob.glob(ctx.path(host) + "/.extprof-push-*") if not p.endswith(".lock"))
    with open(path, encoding="utf-8") as f:
        return f.read()


@case(timeout=120, patient=True)
def counts_once_what_comes_twice(ctx):
    """Answers that are lost, and kills -9 behind a request that was taken, also with another span: pieces come again byte by byte, and
    the sums are those of the recordings. A proxy's 413 has them made smaller."""
    if clickhouse.missing():
        return harness.Counted(0, 0, 1, "there is no ClickHouse: apt-get install %s" % clickhouse.missing())
    cluster = clickhouse.Cluster(ctx, 1, 1)
    of = record_start(ctx, "host", "-d", "8")
    paths = record_end(ctx, "host", *of)
    cluster.ready()
    server = cluster.at(0)
    # A server that is short of memory takes nothing; the piece is noted. A setting in the URL gives more, and it is the same receiver.
    run = push(ctx, "host", server.url + "?max_memory_usage=1000", "--span", "2s", "--retry-for", "1ms")
    check(run.status == NOT_SENT and "500 Code: 241" in run.err, "status %d: %s", run.status, run.err)
    check("\npiece " in state_text(ctx, "host"), "no piece is noted: %s", state_text(ctx, "host"))
    # The requests with stacks and with samples take turns. libcurl by itself sends what broke off on an old connection on a new one.
    with Between(server.url, [200, "lost", "lost"]) as between:
        run = push(ctx, "host", between.url, "--span", "2s", "--retry-for", "1ms")
        check(run.status == NOT_SENT, "status %d: %s", run.status, run.err)
        check([table for table, _ in between.kept] == ["extprof_stacks"] + 2 * ["extprof_samples"], "%s", [t for t, _ in between.kept])
        for kills, span in enumerate(("1s", "3s", "1s", "2s"), 1):
            seen = len(between.kept)
            with between.lock:
                # The second kill is one piece later.
                between.plan[:] = ([200, 200] if kills == 2 else []) + [200, "hang"]
            p = push_start(ctx, "host", between.url, "--span", span)
            harness.until(lambda: len(between.kept) >= seen + (4 if kills == 2 else 2), "no request came", timeout=30)
            p.kill()
        with between.lock:
            between.plan[:] = [200, 200, 413]
        push(ctx, "host", between.url, "--span", "2s").ok()
        between.more.set()
        sent = [body for table, body in between.kept if table == "extprof_samples"]
        bad = [answer for answer in between.forms if answer[0] != 200]
    twice = len(sent) - len(set(sent))
    check(not bad, "ClickHouse answered %s", bad)
    check(twice >= 4, "%d pieces came again", twice)
    samples = same(ctx, server, "host", paths)
    pieces = int(server.ask("SELECT uniqExact(StartNs) FROM extprof_samples")[0][0])
    check(pieces == len(set(sent)), "%d pieces, %d begins of them", len(set(sent)), pieces)
    return "%d kills: %d pieces, %d times one came again, %d samples once" % (kills, pieces, twice, samples)


def documented_query(service):
    """The one of docs/fleet.md for a part of the history, over all of it."""
    with open(os.path.join(harness.TOP, "docs", "fleet.md"), encoding="utf-8") as f:
        query = re.search(r"^    (SELECT arrayElement.*?)\n\n", f.read(), re.M | re.S).group(1)
    check(query.count("'shop'") == 2 and "LIMIT 20" in query, "%s", query)
    return re.sub(r"'20[^']*' AND '20[^']*'", "'2020-01-01 00:00:00' AND '2036-01-01 00:00:00'", query).replace("shop", service).replace("LIMIT 20", "")


def second_database(ctx, server, service):
    """With tables of its own, by the line of docs/fleet.md: what goes there is not in the first one."""
    with open(os.path.join(harness.TOP, "docs", "fleet.md"), encoding="utf-8") as f:
        script = re.search(r"^    (sed .*) packaging/clickhouse/schema.sql \| clickhouse-client -d shop --multiquery$", f.read(), re.M).group(1)
    server.ask("CREATE DATABASE shop")
    server.run_file(ctx.write("shop.sql", subprocess.run(["sh", "-c", script + ' "$0"', clickhouse.SCHEMA], capture_output=True, text=True,
                                                         check=True).stdout), "shop")
    before = server.ask("SELECT sum(Count) FROM extprof_samples")
    push(ctx, "host", server.url + "?database=shop").ok()
    there = server.ask("SELECT sum(Count) FROM shop.extprof_samples WHERE ServiceName = '%s'" % service)
    check(before == there == server.ask("SELECT sum(Count) FROM extprof_samples") and there != [("0",)], "%s, then %s in shop", before, there)


@case(timeout=120, patient=True)
def answers_as_sql_does(ctx):
    """Each view has the rows of the view of that name in the recording, also of odd names; labels; a password that comes from a file; and
    a wrong one loses nothing."""
    if clickhouse.missing():
        return harness.Counted(0, 0, 1, "there is no ClickHouse: apt-get install %s" % clickhouse.missing())
    cluster = clickhouse.Cluster(ctx, 1, 1)
    path = record_end(ctx, "host", *record_start(ctx, "host", "-d", "3"))[0]
    cluster.ready()
    server = cluster.at(0)
    wrong = ctx.write("wrong.headers", "X-ClickHouse-User: writer\nX-ClickHouse-Key: no\n", 0o600)
    right = ctx.write("right.headers", "X-ClickHouse-User: writer\nX-ClickHouse-Key: %s\n" % clickhouse.PASSWORD, 0o600)
    run = push(ctx, "host", server.url, "--header-file", wrong, "--retry-for", "1s")
    check(run.status == NOT_SENT and "takes nothing" in run.err and "1 request was refused" not in run.err, "status %d: %s", run.status, run.err)
    run = push(ctx, "host", server.url, "--header-file", right, "--group-by", "label:request").ok()
    same(ctx, server, "host", [path])
    said = []
    for view, columns in VIEWS.items():
        nothing = lambda value: "" if value in ("NULL", "0") else value
        wanted = collections.Counter(tuple(map(nothing, row)) for row in case_rotate.sql(ctx, path, "SELECT %s FROM %s" % (columns, view)))
        got = collections.Counter(tuple(map(nothing, row)) for row in server.ask("SELECT %s FROM %s" % (columns, view)))
        check(got == wanted and wanted, "%s: too many %s, too few %s", view, list((got - wanted).items())[:5], list((wanted - got).items())[:5])
        said.append("%s %d" % (view, len(wanted)))
    methods = {row[0] for row in server.ask("SELECT DISTINCT method FROM top_methods")}
    check(sum("DROP TABLE" in m or "INSERT INTO y" in m or "\u00e4\U0001f600" in m for m in methods) >= 3, "%s", methods)
    labels = {label: (int(ns), int(n)) for label, ns, n in server.ask(
        "SELECT LabelValues[indexOf(LabelNames, 'request')] AS request, sum(Value), sum(Count) FROM extprof_samples WHERE Type = 'cpu' GROUP BY request")}
    wanted = {label if label != "NULL" else "": (int(ns), int(n)) for label, ns, n in case_rotate.sql(
        ctx, path, "SELECT label(labels, 'request'), sum(value), sum(count) FROM samples WHERE mode='cpu' GROUP BY 1")}
    check(labels == wanted and len(wanted) >= 3, "labels: %s, not %s", labels, wanted)
    service, = {row[0] for row in server.ask("SELECT DISTINCT service FROM top_methods")}
    documented = collections.Counter(dict((method, int(ns)) for method, ns in server.ask(documented_query(service))))
    selfs = collections.Counter()
    for method, ns in server.ask("SELECT method, self FROM top_methods WHERE mode = 'cpu' AND self > 0"):
        selfs[method] += int(ns)
    check(documented == selfs and selfs, "the query of docs/fleet.md: %s, not %s", documented, selfs)
    begun = case_rotate.sql(ctx, path, "SELECT strftime('%Y-%m-%d %H:%M:%S', value / 1000000000, 'unixepoch') FROM meta WHERE key='started_unix_ns'")[0][0]
    begin, last, day = server.ask("SELECT min(Start), (SELECT min(LastSeen) FROM extprof_stacks), (SELECT min(day) FROM top_methods) FROM extprof_samples")[0]
    check(begin == begun and begin <= last and day == begun.split()[0], "times: %s, %s, %s; begun %s", begin, last, day, begun)
    months = server.ask("SELECT DISTINCT partition FROM system.parts WHERE table = 'extprof_stacks_local' AND active")
    check(months == [(begun[:7].replace("-", ""),)], "partitions of stacks: %s; begun %s", months, begun)
    leaf = server.ask("SELECT Stack FROM extprof_stacks WHERE RubyLine > 0 LIMIT 1")[0][0]
    check(re.search(r":\d+'", leaf), "a stack: %s", leaf)
    server.ask("ALTER TABLE extprof_stacks_local DROP PARTITION %s" % months[0])
    check(server.ask("SELECT count() FROM extprof_stacks") == [("0",)], "stacks are there after their month was dropped")
    second_database(ctx, server, service)
    return ", ".join(said)


def rows_of(text):
    """By table."""
    tables = {}
    for line in text.splitlines():
        if line.startswith("INSERT INTO "):
            rows = tables[line.split()[2]] = []
        else:
            rows.append(json.loads(line))
    return tables


def rows_sent(sink):
    """The same, of all requests."""
    tables = collections.defaultdict(list)
    for path, _, body in sink.forms:
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)["query"][0]
        tables[query.split()[2]] += map(json.loads, gzip.decompress(body).decode().splitlines())
    return dict(tables)


def sorted_rows(tables):
    return {table: sorted(json.dumps(row, sort_keys=True) for row in rows) for table, rows in tables.items()}


def times_of(tables):
    (times,) = {(row["StartNs"], row["EndNs"]) for row in tables["extprof_samples"]}
    seen = {row["LastSeenNs"] for row in tables["extprof_stacks"]}
    check(seen == {times[1]}, "the end is %s, and stacks were seen at %s", times[1], seen)
    return tuple(map(int, times))


@case(timeout=60, patient=True)
def knows_when_it_ended_in_spite_of_a_pause(ctx):
    """A recording with a pause: its rows begin and end when it did, also those of a part around the pause. What push sends in one span
    are the same rows. One that has not ended ends with its last sample."""
    ruby = ctx.ruby(ctx.write("work.rb", PROGRAM))
    ruby.expect("ready")
    os.mkdir(ctx.path("host"))
    path = ctx.path("host/app.extprof")
    before = time.time_ns()
    recorder = ctx.extprof_start("record", "-v", "-p", ruby.pid, "-m", "cpu,wall", "-F", harness.rate(199), "-o", path)
    recorder.says("it is measured")
    time.sleep(0.5)
    recorder.signal(signal.SIGUSR2)
    recorder.says("paused; SIGUSR2 goes on")
    time.sleep(1.5)
    recorder.signal(signal.SIGUSR2)
    recorder.says("records now")
    time.sleep(0.5)
    stop = time.time_ns()
    recorder.signal(signal.SIGTERM)
    err = recorder.communicate()[1]
    check(recorder.p.returncode == 0, "status %d: %s", recorder.p.returncode, err)
    after = time.time_ns()
    ruby.kill()
    report = lambda *options: rows_of(ctx.extprof("report", "-f", "clickhouse", "--idle", path, *options).ok().out)
    whole = report()
    begin, end = times_of(whole)
    # Its clock is CLOCK_MONOTONIC, which an adjustment of the other one shifts a little.
    slack = 20_000_000
    check(before - slack <= begin <= stop - 2_500_000_000 + slack, "it began at %d, between %d and %d", begin, before, stop)
    check(stop - slack <= end <= after + slack, "it ended at %d, between %d and %d", end, stop, after)
    began = int(case_rotate.sql(ctx, path, "SELECT value FROM meta WHERE key='started_unix_ns'")[0][0])
    check(begin == began, "it began at %d, not at %d", began, begin)
    with Sink() as sink:
        push(ctx, "host", sink.url, "--span", "1h").ok()
        check(sorted_rows(rows_sent(sink)) == sorted_rows(whole), "push sends other rows than `report -f clickhouse` writes")
    # The pause is from 0.5 s to 2 s after the begin, or a little later.
    part = times_of(report("--since", "300ms", "--until", "2.2s"))
    check(part == (begin + 300_000_000, begin + 2_200_000_000), "the part is %s, of a recording from %d on", part, begin)
    damage(path, "DELETE FROM meta WHERE key='ended'")
    last = int(case_rotate.sql(ctx, path, "SELECT value + (SELECT max(last_ns) FROM blocks) - (SELECT value FROM meta WHERE key="
                               "'started_monotonic_ns') FROM meta WHERE key='started_unix_ns'")[0][0])
    begin_then, end_then = times_of(report())
    check((begin_then, end_then) == (begin, last) and last <= end, "without an end: %d to %d, not %d to %d", begin_then, end_then, begin, last)
    return "%.3f s with a pause; the last sample %.1f ms before the end" % ((end - begin) / 1e9, (end - last) / 1e6)


@case(timeout=60, patient=True)
def is_one_receiver_by_its_database(ctx):
    """Another host and other settings are the same receiver: nothing comes again. Another database is another one. A recording that
    does not say its machine is of the one that sends it. Rows of several recordings are refused."""
    paths = record_end(ctx, "host", *record_start(ctx, "host", "-d", "3", "--rotate", "2s"))
    with Sink() as first, Sink() as second:
        run = push(ctx, "host", first.url + "/?database=profiles").ok()
        seen = first.seen
        check(seen >= 4 and {row["Host"] for row in rows_sent(first)["extprof_samples"]} == {"host"}, "%d requests: %s", seen, run.err)
        run = push(ctx, "host", second.url + "/?max_memory_usage=9000000000&database=profiles").ok()
        check(second.seen == 0 and "0 requests were sent" in run.err, "%d came to another host: %s", second.seen, run.err)
        for path in paths:
            damage(path, "DELETE FROM meta WHERE key GLOB 'mode.*.host'")
        push(ctx, "host", second.url + "/?database=other").ok()
        check(second.seen == seen, "%d requests, not %d", second.seen, seen)
        sent = rows_sent(second)
        hosts = {row["Host"] for table in sent.values() for row in table}
        check(hosts == {socket.gethostname()}, "machines: %s, this one is %s", hosts, socket.gethostname())
    written = rows_of(ctx.extprof("report", "-f", "clickhouse", paths[0]).ok().out)
    check({row["Host"] for table in written.values() for row in table} == {""}, "report says a machine that the recording does not say")
    run = ctx.extprof("report", "-f", "clickhouse", *paths)
    check(run.status == harness.USAGE and "has place for one recording" in run.err and not run.out, "status %d: %s", run.status, run.err)
    return "%d requests, and none again; Host %s" % (seen, hosts.pop())


@case(timeout=60, patient=True)
def cuts_no_piece_anew_that_may_be_stored(ctx):
    """500 each time: a smaller span does not change the piece, and nothing else of the folder comes. As docs/fleet.md says, without its
    line in the state the piece is cut anew."""
    record_end(ctx, "host", *record_start(ctx, "host", "-d", "4"))
    with Sink(usual=500) as sink:
        for span in ("2s", "1s"):
            run = push(ctx, "host", sink.url, "--span", span, "--retry-for", "1ms")
            check(run.status == NOT_SENT and "refused" not in run.err, "status %d: %s", run.status, run.err)
            text = state_text(ctx, "host")
            pieces = re.findall("^piece .*\\n", text, re.M)
            check(len(pieces) == 1 and (span == "2s" or pieces == noted), "with %s noted are %s", span, pieces)
            noted = pieces
        with sink.lock:
            sink.usual = 200
        path, = (p for p in glob.glob(ctx.path("host/.extprof-push-*")) if not p.endswith(".lock"))
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(noted[0], ""))
        push(ctx, "host", sink.url).ok()
        spans = {int(row["EndNs"]) - int(row["StartNs"]) for row in rows_sent(sink)["extprof_samples"]}
    check(max(spans) <= 1_000_000_000, "spans of %s ns", spans)
    return "%s, and then %d spans" % (noted[0].split()[1], len(sink.forms) // 2)
