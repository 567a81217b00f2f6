"""For which span of a trace a program works: the record at ec_context, against the program's own CPU clocks."""
import json
import os
import re
import shutil
import subprocess
from collections import Counter

import case_otlp
import harness
import otlp
import pprof
from case_graph import YJIT
from case_groups import compare, truth_of
from case_recording import samples_of, sql, traces_of
from case_servers import gems
from harness import Counted, case, check

A, B = "0af7651916cd43dd8448eb211c80319c", "ffffffffffffffff0000000000000001"
# By the name of the method: the trace and the span for which it works.
SPANS = {"a1": [A, "00000000000000a1"], "a2": [A, "00000000000000a2"], "b1": [B, "00000000000000b1"], "none": ["", ""]}


def recorded(ctx, kind, seconds, rate, flags=()):
    """(truth, profile, the recording's path) of a run of the program."""
    ruby = ctx.program("traces.rb", kind, flags=flags)
    ruby.expect("ready")
    path = ctx.path("traces.extprof")
    reader = ctx.extprof_start("record", "-p", ruby.pid, "-r", rate, "-o", path, "-o", ctx.path("out.folded"))
    harness.prefer(ruby.pid)
    harness.prefer(reader.pid)
    ctx.attached(reader)
    ruby.tell(str(seconds))
    truth = truth_of(ruby, seconds)
    reader.signal(2)
    return truth, ctx.profile_of(reader).ok(), path


def report(ctx, path, *options):
    """Stacks of a report."""
    return ctx.extprof("report", path, *options, "-f", "folded", "-o", ctx.path("report.folded")).ok().stacks


def exact(ctx, path):
    """{span's name: samples} of the methods that work for it.  Each sample has the trace and the span of its method."""
    counted = Counter()
    for method, trace, span, n in sql(ctx, path, "SELECT ruby_method, trace_id, span_id, count(*) FROM samples WHERE ruby_method "
                                      "LIKE 'Object#work\\_%' ESCAPE '\\' GROUP BY 1, 2, 3"):
        name = method[len("Object#work_"):]
        check([trace, span] == SPANS[name], "%s samples of work_%s under trace %s, span %s", n, name, trace, span)
        counted[name] += int(n)
    return counted


def shares(ctx, kind, flags=(), seconds=2):
    rate = harness.rate(5000)
    truth, profile, path = recorded(ctx, kind, seconds, rate, flags)
    check(set(truth) == set(SPANS), "the program worked for %s", sorted(truth))
    text = compare(exact(ctx, path), truth, profile, rate)
    rows = Counter(map(tuple, sql(ctx, path, "SELECT time_ns, value, trace_id, span_id FROM samples")))
    decoded = Counter((str(time), str(value), trace, span) for time, value, trace, span in traces_of(path))
    check(rows == decoded, "another decoder finds other samples: %s", list((rows - decoded) + (decoded - rows))[:4])
    # The filter and the groups have the same sums as SQL.
    for key, column in (("trace", "trace_id"), ("span", "span_id")):
        for value, n in sql(ctx, path, "SELECT %s, count(*) FROM samples WHERE %s IS NOT NULL GROUP BY 1" % (column, column)):
            for pattern in (value, value.upper()):
                stacks = report(ctx, path, "--filter", "%s=%s" % (key, pattern))
                check(sum(s.count for s in stacks) == int(n), "%s=%s: %s", key, value, n)
            if key == "trace":
                check(sum(s.count for s in report(ctx, path, "--trace", value)) == int(n), "--trace %s: %s", value, n)
    groups = Counter()
    for s in report(ctx, path, "--group-by", "trace,span"):
        groups[tuple(f.label for f in s.frames[:2])] += s.count
    rows = {("[trace_id=%s]" % t if t else "[no trace_id]", "[span_id=%s]" % s if s else "[no span_id]"): int(n) for t, s, n in
            sql(ctx, path, "SELECT trace_id, span_id, count(*) FROM samples GROUP BY 1, 2")}
    check(groups == rows, "by group %s, by SQL %s", groups, rows)
    return text


def register(kind, flags, name, text):
    def f(ctx):
        return shares(ctx, kind, flags)
    f.__name__, f.__doc__, f.__module__ = name, text, __name__
    case(timeout=120)(f)


for kind, text in {"threads": "Three threads, spans inside spans, threads and fibers made inside.",
                   "fibers": "Fibers that a scheduler switches in the middle of a span."}.items():
    register(kind, (), kind, text)
    register(kind, YJIT, kind + "_yjit", text)


@case(timeout=120, bpf=False)
def readers_without_bpf(ctx):
    """A read from outside has the span of the moment of its stack, or none."""
    said = []
    for reader in ("nonblocking", "stop"):
        for kind in ("threads", "fibers"):
            ruby = ctx.program("traces.rb", kind)
            ruby.expect("ready")
            ruby.tell("4")
            path = ctx.path("%s-%s.extprof" % (reader, kind))
            ctx.extprof("record", "--reader", reader, "-p", ruby.pid, "-r", "1000", "-d", "2s", "-o", path).ok()
            counted = exact(ctx, path)
            check(set(counted) == set(SPANS) and min(counted.values()) > 5, "%s, %s: %s", reader, kind, counted)
            said.append("%s %s: %d" % (reader, kind, sum(counted.values())))
            ruby.kill()
    return ", ".join(said)


@case(timeout=60)
def waits_in_a_span(ctx):
    """A thread that only waits for work is idle, unless it waits in a span: live, and of a recording.  Made with --group-by
    trace, a recording has the same labels as without."""
    ruby = ctx.ruby("-I", harness.PROGRAMS, "-e", """
      require "trace_context"
      RECORD = TraceContext.memory("%s", "00000000000000a1")
      WORK = Thread::Queue.new
      def job = sleep(0.05)
      Thread.new { Thread.current.name = "in a span"; TraceContext::SET.call(RECORD); loop { WORK.pop(timeout: 0.05) } }
      Thread.new { Thread.current.name = "outside"; loop { WORK.pop(timeout: 0.05) } }
      Thread.new { Thread.current.name = "busy"; loop { job } }
      puts "ready"
      $stdout.flush
      $stdin.gets""" % A)
    ruby.expect("ready")
    path, live = ctx.path("wall.extprof"), ctx.path("live.folded")
    ctx.extprof("record", "-m", "wall", "-p", ruby.pid, "-d", "2", "--group-by", "trace,thread", "-o", live, "-o", path).ok()
    with open(live, encoding="utf-8") as f:
        text = f.read()
    idle = [line for line in text.splitlines() if "[thread outside" in line and "[queue]" in line]
    check("[thread in a span" in text and "[thread busy" in text and not idle, "%s", text)
    shown = {s.text for s in report(ctx, path, "--group-by", "trace,thread")}
    check(shown == {line.rpartition(" ")[0] for line in text.splitlines()}, "live %s, later %s", text, shown)
    waited = sum(s.count for s in report(ctx, path, "--trace", A))
    check(1.5e6 < waited < 2.5e6, "it waited %d us in the span", waited)
    check(sql(ctx, path, "SELECT count(*) FROM samples WHERE labels IS NOT NULL") == [["0"]], "a trace is a label")
    return "%.2f s in the span" % (waited / 1e6)


# What a sample of a method may say: traces with their spans.
NONE, PAIR_A, PAIR_B = ["", ""], [A, "00000000000000a1"], ["b0" * 16, "00000000000000b1"]
HOSTILE = {"no_span": [[A, ""]], "long": [PAIR_A], "flapping": [PAIR_A, NONE], "swapping": [PAIR_A, PAIR_B, NONE],
           "own": [PAIR_A, PAIR_B, NONE]}
UNREAD = ("low", "garbage", "kernel", "not_canonical", "last", "closed", "edge")
INVALID = ("invalid", "valid_2")


@case(timeout=120)
def hostile_records(ctx):
    """Addresses without memory, records that another process changes as fast as it can, and wrong ones: a sample has the right
    ids or none, and none is lost by that."""
    return hostile(ctx, ctx.program("traces_hostile.rb"))


def hostile(ctx, ruby, says=None):
    ruby.expect("ready")
    path = ctx.path("hostile.extprof")
    reader = ctx.extprof_start("record", "-v", "-p", ruby.pid, "-r", harness.rate(5000), "-o", path, "-o", ctx.path("out.folded"))
    reader.says(says or "it is measured")
    ctx.attached(reader)
    ruby.tell("5")
    ruby.expect("done", timeout=60)
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    check(profile.sums.lost == 0, "%s", profile.out[-800:])
    seen = {}
    for method, trace, span, n in sql(ctx, path, "SELECT substr(m.text, 11), trace_id, span_id, count(*) FROM samples s JOIN ("
                                      "WITH RECURSIVE up(stack, at) AS (SELECT id, id FROM stacks UNION ALL SELECT stack, parent "
                                      "FROM up JOIN stacks ON id = at WHERE parent > 0) SELECT DISTINCT stack, text FROM up JOIN stacks c "
                                      "ON c.id = at JOIN frames f ON f.id = c.frame JOIN strings ON strings.id = f.name WHERE text "
                                      "LIKE 'Object#on\\_%' ESCAPE '\\') m ON m.stack = s.stack GROUP BY 1, 2, 3"):
        seen.setdefault(method, Counter())[trace, span] += int(n)
    check(set(seen) == set(HOSTILE) | set(UNREAD) | set(INVALID) | {"no_trace"}, "%s", sorted(seen))
    for method, ids in seen.items():
        for pair in ids:
            check(list(pair) in HOSTILE.get(method, [NONE]), "a sample of %s has %s: %s", method, pair, ids)
    for method in ("flapping", "swapping", "own"):
        check(set(map(list.__repr__, map(list, seen[method]))) == set(map(repr, HOSTILE[method])), "%s: only %s", method, seen[method])
    # Each of these samples is counted, with the few between the methods.
    meta = dict(sql(ctx, path, "SELECT key, value FROM meta WHERE key LIKE '%\_traces' ESCAPE '\\'"))
    unread, invalid = (sum(int(v) for k, v in meta.items() if k.endswith(end)) for end in ("unread_traces", "invalid_traces"))
    in_unread = sum(sum(seen[m].values()) for m in UNREAD)
    in_invalid = sum(seen[m][tuple(NONE)] for m in INVALID + ("flapping", "swapping", "own"))
    check(in_unread <= unread <= 1.1 * in_unread + 20, "%d not read, in the methods %d", unread, in_unread)
    check(in_invalid <= invalid <= 1.1 * in_invalid + 20, "%d not valid, in the methods %d", invalid, in_invalid)
    for text, n in (("trace not read", unread), ("trace not valid", invalid)):
        check("%s: %d samples" % (text, n) in profile.out, "%s", profile.out[-800:])
    return "%d not read, %d not valid; own %s, swapping %s" % (unread, invalid, dict(seen["own"]), dict(seen["swapping"]))


@case(timeout=60)
def links_and_labels(ctx):
    """OTLP has a link for each span, and pprof has the labels that Pyroscope reads."""
    _, _, path = recorded(ctx, "threads", 1, harness.rate(2000))
    rows = {(t or None, s or None): int(n) for t, s, n in
            sql(ctx, path, "SELECT trace_id, span_id, count(*) FROM samples GROUP BY 1, 2")}
    document = case_otlp.report(ctx, path, "--group-by", "process,trace,span")
    links = Counter()
    for _, _, kind, labels, stack, link, amount in otlp.samples(document):
        if kind == ("samples", "count"):
            links[link] += amount
    check(dict(links) == rows, "links %s, rows %s", links, rows)
    # Datadog has the span as a number.
    ctx.extprof("report", path, "--group-by", "trace,span", "-o", ctx.path("out.datadog.pprof")).ok()
    numbers = Counter()
    with open(ctx.path("out.datadog.pprof"), "rb") as f:
        stacks, _ = pprof.content(f.read())
    for (_, labels), amounts in stacks.items():
        numbers[{key: number for key, text, number in labels if not text}.get("span id")] += amounts[0]
    by_span = Counter()
    for (_, span), n in rows.items():
        by_span[int(span, 16) if span else None] += n
    check(numbers == by_span, "numbers %s, spans %s", numbers, by_span)
    out = ctx.path("out.pb.gz")
    ctx.extprof("report", path, "--group-by", "trace,span", "-o", out).ok()
    if not shutil.which("go"):
        return Counted(0, 0, 1, "there is no go, which has `go tool pprof`")
    raw = subprocess.run(["go", "tool", "pprof", "-raw", out], capture_output=True, timeout=60, universal_newlines=True).stdout
    labels = Counter()
    for m in re.finditer(r"^ +(\d+) +\d+: (?:\d+ )+\n((?: {16}.*\n)*)", raw, re.M):
        label = dict(re.findall(r"(\w+):\[(.*?)\](?=[ \n])", m.group(2)))
        labels[label.get("trace_id"), label.get("span_id")] += int(m.group(1))
    check(dict(labels) == rows, "labels %s, rows %s", labels, rows)
    return "%d spans" % (len(rows) - 1)


@case(timeout=60, bpf=False)
def dump(ctx):
    """The span of the fiber that runs and of those that are parked, in text and JSON; and records that cannot be used."""
    ruby = ctx.ruby("-I", harness.PROGRAMS, "-e", """
      require "trace_context"
      T = "%s"
      spans = { "1" => ("%%016x" %% 1), "none" => "0" * 16 }.transform_values { |s| TraceContext.memory(T, s) }
      spans["invalid"] = TraceContext.memory(T, "0" * 16, valid: 0)
      spans["unread"] = 8
      fibers = spans.map { |name, record| Fiber.new { TraceContext::SET.call(record); Fiber.yield }.tap(&:resume) }
      TraceContext::SET.call(TraceContext.memory(T, "00000000000000ff"))
      puts "ready"
      $stdout.flush
      $stdin.gets""" % A)
    ruby.expect("ready")
    got = ctx.extprof("dump", "-p", ruby.pid, "--json")
    check(got.status == 0, "status %d: %s", got.status, got.err)
    thread = next(t for t in json.loads(got.out)["threads"] if t["main"])
    seen = [tuple(f.get(key) for key in ("state", "trace_id", "span_id", "trace_lost")) for f in thread["fibers"]]
    check(seen == [("current", A, "00000000000000ff", None), ("parked", A, "0000000000000001", None), ("parked", A, None, None),
                   ("parked", None, None, "not valid"), ("parked", None, None, "not read")], "%s", seen)
    text = ctx.extprof("dump", "-p", ruby.pid).out
    lines = re.findall(r"^    trace: (.*)$", text, re.M)
    check(lines == [A + ", span: 00000000000000ff", A + ", span: 0000000000000001", A, "[not valid]", "[not read]"], "%s", text)
    return "5 fibers"


LABELLED = """
require "trace_context"
R = TraceContext.memory("%s", "1234567890123456")
NO_SPAN = TraceContext.memory("%s", "0" * 16)
def of_record(n) = (i = 0; i += 1 while i < n)
def of_label(n) = (i = 0; i += 1 while i < n)
def of_both(n) = (i = 0; i += 1 while i < n)
def of_no_span(n) = (i = 0; i += 1 while i < n)
def of_none(n) = (i = 0; i += 1 while i < n)
puts "ready"
$stdout.flush
Thread.new { Thread.current.name = "outside"; loop { sleep 0.001; of_none(20_000) } }
loop do
  TraceContext.with(R) { of_record(200_000) }
  Fiber.with_labels("trace_id" => "C" * 32, "span_id" => "c" * 16) do
    of_label(200_000)
    TraceContext.with(R) { of_both(200_000) }
    TraceContext.with(NO_SPAN) { of_no_span(200_000) }
  end
end""" % (A, B)
# By the method: the trace and the span, and the label trace_id.
LABELLED_SPANS = {"of_record": (A, "1234567890123456", None), "of_label": ("C" * 32, "c" * 16, "C" * 32),
                  "of_both": (A, "1234567890123456", "C" * 32), "of_no_span": (B, None, "C" * 32), "of_none": (None, None, None)}


@case(timeout=120)
def beside_labels_of_these_names(ctx):
    """The two are those of the record, or those of labels, never one of each: in groups, filters, SQL and the stream of
    samples; and the labels of a sample do not depend on groups."""
    ruby = ctx.ruby("-I", harness.PROGRAMS, "-e", LABELLED)
    ruby.expect("ready")
    found = {}
    for name, options in (("plain", ()), ("grouped", ("--group-by", "trace,span"))):
        path, live = ctx.path(name + ".extprof"), ctx.path(name + ".folded")
        ctx.extprof("record", "-q", "-p", ruby.pid, "-d", "2", "-r", harness.rate(997), *options, "-o", path, "-o", live).ok()
        rows = {m[len("Object#"):]: (t or None, s or None, labels) for m, t, s, labels in
                sql(ctx, path, "SELECT DISTINCT ruby_method, trace_id, span_id, labels IS NOT NULL FROM samples "
                               "WHERE ruby_method LIKE 'Object#of\\_%' ESCAPE '\\'")}
        found[name] = path, rows
        check({m: row[:2] for m, row in rows.items()} == {m: row[:2] for m, row in LABELLED_SPANS.items()}, "%s: %s", name, rows)
        check({m: row[2] for m, row in rows.items()} == {m: str(int(row[2] is not None)) for m, row in LABELLED_SPANS.items()},
              "%s: labels: %s", name, rows)
        for source, text in (("live", open(live, encoding="utf-8").read() if options else ""),
                             ("report", ctx.extprof("report", path, "--group-by", "trace,span", "-f", "folded").ok().out)):
            stacks = [line.rpartition(" ")[0].split(";") for line in text.splitlines() if ";Object#of_" in line]
            for stack in stacks:
                method = next(f for f in stack if f.startswith("Object#of_"))[len("Object#"):]
                trace, span, _ = LABELLED_SPANS[method]
                wanted = ["[trace_id=%s]" % trace if trace else "[no trace_id]", "[span_id=%s]" % span if span else "[no span_id]"]
                check(stack[:2] == wanted, "%s of %s: %s: %s", source, name, method, stack[:2])
            check(not options or {next(f for f in s if f.startswith("Object#of_")) for s in stacks} == {"Object#" + m for m in LABELLED_SPANS},
                  "%s of %s: %s", source, name, text)
    path, _ = found["plain"]
    for key, wanted in (("trace=" + A, {"of_record", "of_both"}), ("trace=" + "c" * 32, {"of_label"}), ("span=C*", {"of_label"}),
                        ("label:trace_id=" + A, {"of_record", "of_both"}), ("label:trace_id=" + "C" * 32, {"of_label"}),
                        ("trace=" + B, {"of_no_span"}), ("span=*", {"of_record", "of_label", "of_both"})):
        text = ctx.extprof("report", path, "--filter", key, "-f", "folded").ok().out
        check(set(re.findall(r"Object#(of_\w+)", text)) == wanted, "--filter %s: %s", key, text)
    # Traces are there, though not in what is chosen.
    text = ctx.extprof("report", path, "--filter", "thread=outside", "--group-by", "trace,span", "-f", "folded").ok().out
    check("[no trace_id];[no span_id];" in text and "[trace_id=" not in text, "%s", text)
    if shutil.which("go"):
        out = ctx.path("out.pb.gz")
        ctx.extprof("report", path, "--group-by", "trace,span", "-o", out).ok()
        raw = subprocess.run(["go", "tool", "pprof", "-raw", out], capture_output=True, timeout=60, universal_newlines=True).stdout
        # Texts and numbers are in lines of their own.
        lines = [line for line in raw.splitlines() if "span_id:[1234567890123456]" in line]
        check(lines and all("trace_id:[" in line for line in lines), "pprof: an id is a number: %s", lines[:4])
    # Ids are numbers in a copy, and samples of one trace stay together.
    copy = ctx.path("copy.extprof")
    ctx.extprof("redact", path, "-o", copy, "--what", "traces").ok()
    ids = [(t, s, n) for t, s, n in sql(ctx, copy, "SELECT trace_id, span_id, count(*) FROM samples WHERE labels IS NULL AND trace_id > '' GROUP BY 1, 2")]
    number = sql(ctx, path, "SELECT count(*) FROM samples WHERE labels IS NULL AND trace_id > ''")[0][0]
    check(len(ids) == 1 and ids[0][2] == number and re.fullmatch(r"0{31}[12]", ids[0][0]) and re.fullmatch(r"0{15}1", ids[0][1]), "redacted: %s, not %s",
          ids, number)
    data = [trace for _, _, trace, _ in traces_of(copy)]
    check(A not in data and B not in data, "a redacted recording has the ids")
    # The marks of labels stand in the same blocks.
    marks = [sorted((time, value, m) for time, value, _, _, m in samples_of(p)) for p in (path, copy)]
    check(marks[0] == marks[1] and len({m for _, _, m in marks[0]}) > 10, "marks: %s", marks[1][:20])
    check(ctx.extprof("verify", copy).status == 0, "the copy is not right")
    none = ctx.path("none.extprof")
    ctx.extprof("record", "-q", "-o", none, "-d", "1", "--", harness.RUBY, "-e", "t = Process.clock_gettime(1); nil while Process.clock_gettime(1) - t < 0.5").ok()
    run = ctx.extprof("report", none, "--group-by", "trace")
    check(run.status == harness.USAGE and "a trace" in run.err, "%d: %s", run.status, run.err)
    return "%d methods" % len(LABELLED_SPANS)


OPENTELEMETRY = {"opentelemetry-sdk": "1.13.1"}


def with_opentelemetry(ctx, kind, seconds=2):
    """Spans of the real gem: each sample of a method has a span that the program had for it, and traces have their CPU time."""
    home, rate = gems(OPENTELEMETRY), harness.rate(5000)
    ids, path = ctx.path("ids"), ctx.path("otel.extprof")
    ruby = ctx.start([harness.RUBY, "-W0", os.path.join(harness.PROGRAMS, "otel.rb"), kind, ids],
                     env=harness.environment({"GEM_HOME": home, "GEM_PATH": home}))
    ruby.expect("ready")
    reader = ctx.extprof_start("record", "-p", ruby.pid, "-r", rate, "-o", path, "-o", ctx.path("out.folded"))
    harness.prefer(ruby.pid)
    harness.prefer(reader.pid)
    ctx.attached(reader)
    ruby.tell(str(seconds))
    truth = truth_of(ruby, seconds)
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    spans, traces = {"work_none": {("", "")}}, {"": "none"}
    with open(ids, encoding="ascii") as f:
        for name, trace, span in map(str.split, f):
            spans.setdefault(name, set()).add((trace, span))
            traces[trace] = name[-1]
    counted, seen = Counter(), set()
    for method, trace, span, n in sql(ctx, path, "SELECT substr(ruby_method, 8), trace_id, span_id, count(*) FROM samples WHERE "
                                      "ruby_method LIKE 'Object#work\\_%' ESCAPE '\\' OR ruby_method LIKE 'Object#inner\\_%' ESCAPE '\\' "
                                      "GROUP BY 1, 2, 3"):
        check((trace, span) in spans[method], "%s samples of %s under trace %s, span %s", n, method, trace, span)
        counted[traces[trace]] += int(n)
        seen.add(span)
    check(set(truth) == {"a", "b", "none"} and len(seen) > 20, "%s, %d spans", truth, len(seen))
    return compare(counted, truth, profile, rate) + "; %d spans" % (len(seen) - 1)


@case(timeout=240)
def opentelemetry_sdk_threads(ctx):
    return with_opentelemetry(ctx, "threads")


@case(timeout=240)
def opentelemetry_sdk_fibers(ctx):
    return with_opentelemetry(ctx, "fibers")
