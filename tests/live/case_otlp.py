"""OTLP profiles: what receivers demand, the sums of the other formats, and the truth of the programs. otlp.py has the schema and
the rules, and is a reader of its own."""
import collections
import contextlib
import gzip
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import threading

import folded
import harness
import otlp
from case_firefox import PHASES, PROGRAM, sums_of_folded
from case_formats import METHODS, lines_of, record as record_threads
from case_groups import compare as compare_shares
from case_native import Truth, extension
from harness import Counted, case, check

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "extprof", "output")
FIELD = re.compile(r"^ *(\d+)(:| \{)", re.M)


def protoc(ctx, what, data):
    """By Google's own code, with the descriptors of output/otlp_profiles.proto."""
    run = subprocess.run([os.environ.get("PROTOC_C", "protoc-c"), what + "=otlp.ProfilesData", "--proto_path=" + PROTO, "otlp_profiles.proto"],
                         input=data, capture_output=True, timeout=60)
    check(run.returncode == 0, "protoc-c %s: %s", what, run.stderr[-300:])
    return run.stdout


def read(ctx, path):
    """The file, if it is right: by the schema, by all rules, and by another decoder."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    document = otlp.decode(data)
    try:
        otlp.check(document)
    except otlp.Refused as e:
        check(False, "%s: %s", path, e)
    text = protoc(ctx, "--decode", data)
    check(not FIELD.search(text.decode()), "%s has fields without a name: %s", path, FIELD.search(text.decode()))
    check(otlp.decode(protoc(ctx, "--encode", text)) == document, "%s: protoc reads something else", path)
    return document


def report(ctx, path, *options):
    """Both forms of a recording's file say the same."""
    name = ctx.path("out.otlp")
    for suffix in ("", ".json"):
        run = ctx.extprof("report", *([path] if isinstance(path, str) else path), *options, "-o", name + suffix)
        check(run.status == 0, "%s: status %d: %s", options, run.status, run.err)
    document = read(ctx, name)
    with open(name + ".json", encoding="utf-8") as f:
        check(json.load(f) == document, "JSON says something else")
    return document


def sums(document, scope, kind, unit):
    """(pid, tid, names of the stack) -> amount, as folded has them."""
    result = collections.Counter()
    for resource, name, of, labels, stack, _, amount in otlp.samples(document):
        if (name, of) == (scope, (kind, unit)):
            frames = tuple(f.name.replace(";", ":") for f in stack)
            result[str(resource["process.pid"]), labels.get("thread.id", 0), frames] += amount
    return result


MODES = {  # scope, then the sample type and unit of folded's for each unit
    "cpu": ("process_cpu", [("cpu", "nanoseconds", "ns"), ("samples", "count", "samples")]),
    "wall": ("wall", [("wall", "nanoseconds", "ns"), ("samples", "count", "samples")]),
    "offcpu": ("off_cpu", [("off_cpu", "nanoseconds", "ns"), ("waits", "count", "samples")]),
    "gvl": ("gvl", [("gvl", "nanoseconds", "ns"), ("waits", "count", "samples")]),
    "gc": ("gc", [("gc", "nanoseconds", "ns"), ("samples", "count", "samples")]),
    "alloc": ("alloc", [("alloc_space", "bytes", "bytes"), ("alloc_objects", "count", "samples")]),
}


def compare(ctx, path, modes, *options):
    document, seen = report(ctx, path, *options), []
    for mode in modes:
        scope, types = MODES[mode]
        for kind, unit, shown in types:
            wanted = sums_of_folded(ctx, path, shown, *options, "-m", mode)
            found = sums(document, scope, kind, unit)
            # What is 0 is not there.
            check(found == +wanted and len(found) > 1, "%s %s %s: %s, not %s", mode, kind, options, list((found - wanted).items())[:3],
                  list((wanted - found).items())[:3])
            seen.append("%s %d" % (kind, sum(found.values())))
    return document, seen


@case(timeout=200)
def has_the_sums_of_other_formats(ctx):
    """To the last ns, byte and count, for each stack of each thread of each process, in all modes."""
    ruby = ctx.ruby(ctx.write("app.rb", PROGRAM))
    ruby.expect("ready")
    path, wall = ctx.path("all.extprof"), ctx.path("wall.extprof")
    modes = list(MODES)
    ctx.extprof("record", "-q", "-p", ruby.pid, "-s", "-m", ",".join(modes), "-d", "2", "-F", harness.rate(199), "-o", path).ok()
    ctx.extprof("record", "-q", "-p", ruby.pid, "-s", "-m", "wall", "-d", "1", "-F", harness.rate(199), "-o", wall).ok()
    document, seen = compare(ctx, path, modes)
    check(len(document["resourceProfiles"]) == 2, "%d processes", len(document["resourceProfiles"]))
    for options in (["--filter", "thread=worker*"], ["--focus", "method:Object#left"], ["--idle"], ["--since", "0.2", "--until", "0.8"]):
        compare(ctx, wall, ["wall"], *options)
    # What Pyroscope stores, and under which name.
    stored = otlp.pyroscope(document)
    cpu = stored["app.rb", "process_cpu:cpu:nanoseconds:cpu:nanoseconds"]
    check(sum(cpu.values()) == sum(sums(document, "process_cpu", "cpu", "nanoseconds").values()), "CPU time there: %d", sum(cpu.values()))
    check(("app.rb", "off_cpu:off_cpu:nanoseconds::") in stored and ("app.rb", "wall:wall:nanoseconds:wall:nanoseconds") in stored, "%s",
          list(stored))
    # Who is idle is told by both together, so idle threads are in all of them.
    both, parts = report(ctx, [path, wall], "-m", "wall", "--idle"), [report(ctx, p, "-m", "wall", "--idle") for p in (path, wall)]
    for kind, unit in (("wall", "nanoseconds"), ("samples", "count")):
        check(sums(both, "wall", kind, unit) == sums(parts[0], "wall", kind, unit) + sums(parts[1], "wall", kind, unit), "%s of both", kind)
    return ", ".join(seen)


@case(timeout=120)
def has_the_account_and_the_live_file(ctx):
    """What is written live is what the recording gives; losses and the source are in each profile; and it can be compressed."""
    ruby = ctx.ruby(ctx.write("app.rb", PROGRAM))
    ruby.expect("ready")
    path = ctx.path("app.extprof")
    run = ctx.extprof("record", "-p", ruby.pid, "-s", "-d", "1", "-F", harness.rate(499), "-o", path, "-o", ctx.path("live.otlp"),
                      "-o", ctx.path("live.otlp.json"), "-o", ctx.path("live.otlp.gz")).ok()
    live, document = read(ctx, ctx.path("live.otlp")), report(ctx, path)
    check(otlp.content(live) == otlp.content(document), "the live file says something else")
    with open(ctx.path("live.otlp.json"), encoding="utf-8") as f:
        check(json.load(f) == live, "the live JSON says something else")
    with gzip.open(ctx.path("live.otlp.gz"), "rb") as f:
        check(otlp.decode(f.read()) == live, "the live compressed file says something else")
    account = folded.Sums(run.out)
    for _, _, p in otlp.profiles(document):
        of = otlp.attributes(document, p)
        check((of["extprof.recording.taken"], of["extprof.recording.whole"], of["extprof.recording.truncated"],
               of["extprof.recording.lost"]) == (account.taken, account.whole, account.truncated, account.lost), "%s, not %s", of,
              account.text)
        check(of["extprof.source"].startswith("on-CPU at"), "%s", of)
    for suffix in ("otlp.gz", "otlp.json.gz"):
        ctx.extprof("report", path, "-o", ctx.path("small." + suffix)).ok()
        with gzip.open(ctx.path("small." + suffix), "rb") as f:
            data = f.read()
        check((json.loads(data) if "json" in suffix else otlp.decode(data)) == document, "%s says something else", suffix)
    return account.text


@case(timeout=90)
def has_the_cpu_time_of_the_program(ctx):
    """Two threads by their own CPU clocks; their lines, names and numbers."""
    path = ctx.path("out.otlp")
    profile, tids, truth, pid, rate = record_threads(ctx, path)
    document, counted, lines, total, ns = read(ctx, path), collections.Counter(), collections.Counter(), 0, 0
    for resource, scope, kind, labels, stack, _, amount in otlp.samples(document):
        check(scope == "process_cpu" and resource["process.pid"] == pid and resource["service.name"] == "two_threads.rb", "%s", resource)
        if kind == ("cpu", "nanoseconds"):
            ns += amount
            continue
        total += amount
        for f in stack:
            if f.name in METHODS:
                thread = METHODS[f.name]
                check((labels["thread.name"], labels["thread.id"]) == (thread, tids[thread]), "%s in %s", f, labels)
                check(f.line in lines_of(thread) and f.path.endswith("/two_threads.rb") and f.type == "ruby" and f.kind == "Ruby", "%s", f)
                lines[f.line] += amount
        if labels["thread.name"] in truth:
            counted[labels["thread.name"]] += amount
    check(total == profile.sums.whole + profile.sums.truncated, "%d samples, not those of %s", total, profile.sums.text)
    check(ns == total * (10**9 // rate), "%d ns of %d samples", ns, total)
    for _, _, p in otlp.profiles(document):
        check(p["period"] == str(10**9 // rate), "period %s", p["period"])
    check(len(lines) >= 2, "lines %s", lines)
    return "%s; lines %s" % (compare_shares(counted, truth, profile, rate), dict(lines))


@case(timeout=90)
def has_the_waits_of_the_program(ctx):
    """A sleep by the program's own clock, with its state; and when the profile was."""
    ruby = ctx.ruby(ctx.write("phases.rb", PHASES))
    ruby.expect("ready")
    path = ctx.path("phases.extprof")
    before = int(subprocess.check_output(["date", "+%s"]))
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-m", "wall,offcpu", "--waits", "each", "-F", harness.rate(499), "-o", path)
    ctx.attached(reader)
    ruby.tell("go")
    said = {}
    while (line := ruby.line(timeout=60)) != "done":
        name, begin, end = line.split()
        said[name] = int(end) - int(begin)
    reader.signal(signal.SIGINT)
    check(reader.wait() == 0, "the recording failed")
    after = int(subprocess.check_output(["date", "+%s"])) + 1
    document, found, states = report(ctx, path), collections.Counter(), collections.Counter()
    for _, scope, kind, labels, stack, _, amount in otlp.samples(document):
        names = [f.name for f in stack]
        if kind[1] != "nanoseconds":
            continue
        for name in ("first", "second", "pause"):
            if "Object#" + name in names:
                found[scope, name] += amount
                if name == "pause" and scope == "off_cpu":
                    check(names[-1] == "[%s]" % labels["extprof.state"] and stack[-1].kind == "state" and stack[-1].type is None,
                          "%s %s", labels, stack[-1])
                    states[labels["extprof.state"]] += amount
    for scope in ("off_cpu", "wall"):
        check(295_000_000 <= found[scope, "pause"] <= said["pause"] + 25_000_000, "%s: %d ns asleep, and the program says %d", scope,
              found[scope, "pause"], said["pause"])
    check(states["sleep"] >= 295_000_000, "%s", states)
    for name in ("first", "second"):
        check(0.5 < found["wall", name] / said[name] < 1.25, "%s has %d ns of %d", name, found["wall", name], said[name])
    for _, _, p in otlp.profiles(document):
        began, lasted = int(p["timeUnixNano"]) / 1e9, int(p["durationNano"]) / 1e9
        check(before - 1 <= began and began + lasted <= after + 1 and lasted > 1, "from %.3f for %.3f s, and it was %d to %d", began, lasted,
              before, after)
    return "asleep %.3f of %.3f ms" % (found["off_cpu", "pause"] / 1e6, said["pause"] / 1e6)


SERVICES = """
STDOUT.sync = true
def work = loop { 20000.times { |i| i * i }; sleep 0.002 }
ruby, script = ENV.fetch("RUBY_UNDER_TEST"), ARGV[0]
if ARGV[1]
  puts Process.pid
  work
end
pids = { "shop" => Process.pid }
pids["other"] = spawn({ "OTEL_SERVICE_NAME" => "other", "OTEL_RESOURCE_ATTRIBUTES" => nil }, ruby, "--disable=gems", script, script, "x")
pids["of list"] = spawn({ "OTEL_SERVICE_NAME" => nil, "OTEL_RESOURCE_ATTRIBUTES" => "service.name=of%20list , k=%C3%A9" }, ruby,
                        "--disable=gems", script, script, "x")
unset = { "OTEL_SERVICE_NAME" => nil, "OTEL_RESOURCE_ATTRIBUTES" => nil }
pids["services.rb"] = spawn(unset, ruby, "--disable=gems", script, script, "x")
pids["puma"] = spawn(unset, ruby, "--disable=gems", "-e", "STDOUT.sync = true; Process.setproctitle('puma: cluster worker 0: 42 [shop]'); puts 1; " \
  "loop { 20000.times { |i| i * i }; sleep 0.002 }")
pids["shop 2"] = fork { puts 1; work }
pids["of a title"] = spawn(unset.merge("OTEL_SERVICE_NAME" => "of a title"), ruby, "--disable=gems", "-e",
  "STDOUT.sync = true; Process.setproctitle('sidekiq: a title'); puts 1; loop { 20000.times { |i| i * i }; sleep 0.002 }")
puts pids.map { |name, pid| "#{name}=#{pid}" }.join(",")
work
"""


@case(timeout=120)
def names_services_and_processes(ctx):
    """One resource for each process. Its service is that of its own environment, else its title or its script."""
    script = ctx.write("services.rb", SERVICES)
    env = harness.environment({"RUBY_UNDER_TEST": harness.RUBY, "OTEL_SERVICE_NAME": "shop",
                               "OTEL_RESOURCE_ATTRIBUTES": "service.name=wrong,service.version=1.2,deployment.environment.name=a%2Cb%3D"})
    ruby = ctx.ruby(script, script, env=env)
    lines = [ruby.line(timeout=30) for _ in range(7)]
    pids = {name: int(pid) for name, pid in (item.split("=") for item in next(l for l in lines if "=" in l).split(","))}
    path = ctx.path("services.extprof")
    ctx.extprof("record", "-q", "-p", ruby.pid, "-s", "-m", "cpu,alloc", "-d", "2", "-F", harness.rate(499), "-o", path).ok()
    document = report(ctx, path)
    found = {r["process.pid"]: r for r in (otlp.resource_of(rp["resource"]) for rp in document["resourceProfiles"])}
    check(set(found) == set(pids.values()), "%s, not %s", found, pids)
    version = subprocess.run([harness.RUBY, "--disable=gems", "-e", "print RUBY_VERSION"], capture_output=True, text=True).stdout
    for name, pid in pids.items():
        r, service = found[pid], name.replace("shop 2", "shop")
        check(r["service.name"] == service, "%s is called %s", name, r)
        check((r["process.runtime.name"], r["process.runtime.version"]) == ("ruby", version), "%s", r)
        check(r["process.executable.path"] == os.readlink("/proc/%d/exe" % pid), "%s", r)
        check(r["host.name"] == os.uname().nodename and r["service.instance.id"] == "%s:%d" % (r["host.name"], pid), "%s", r)
        own = {k: r.get(k) for k in ("service.version", "deployment.environment.name", "k")}
        truth = {"shop": ("1.2", "a,b=", None), "of list": (None, None, "é")}.get(service, (None, None, None))
        check(tuple(own.values()) == truth, "%s says %s", name, own)
    amounts = [sum(int(s["values"][0]) for s in rp["scopeProfiles"][0]["profiles"][1]["samples"]) for rp in document["resourceProfiles"]]
    check(amounts == sorted(amounts, reverse=True), "the first one is not that with most: %s", amounts)
    return ", ".join("%s %d" % item for item in pids.items())


CONTEXT = """
extension, kind, message, late = ARGV
require extension
STDOUT.sync = true
def work = loop { 20000.times { |i| i * i }; sleep 0.002 }
named = late || OtelContext.publish(kind, [message].pack("H*"))
child = fork { work } if kind == "memfd"
puts "#{Process.pid} #{child.to_i} #{named}"
if late
  gets
  OtelContext.publish(kind, [message].pack("H*"))
  puts "published"
end
work
"""


def packed(number, content):
    """A field of a message: bytes, or a number."""
    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
    return varint(number << 3) + varint(content) if isinstance(content, int) else varint(number << 3 | 2) + varint(len(content)) + content


def context_of(attributes):
    """A message ProcessContext."""
    pairs = b"".join(packed(1, packed(1, k) + packed(2, packed(3, v) if isinstance(v, int) else packed(1, v)))
                     for k, v in attributes)
    return packed(1, pairs) + packed(2, packed(1, b"threadlocal.schema_version") + packed(2, packed(1, b"x")))


@case(timeout=120)
def names_services_by_process_contexts(ctx):
    """A context that the program has published names it before its environment does; one that cannot be read does not."""
    library, script = extension(ctx, source=os.path.join(harness.PROGRAMS, "otel_context.c")), ctx.write("context.rb", CONTEXT)
    env = harness.environment({"OTEL_SERVICE_NAME": "env", "OTEL_RESOURCE_ATTRIBUTES": "service.version=env,region=here"})
    message = context_of([(b"service.name", "of a, context=é".encode()), (b"service.version", b"7"), (b"shard", 3),
                          (b"telemetry.sdk.language", b"ruby")])
    unknown = context_of([(b"service.name", b"unknown_service:ruby"), (b"service.version", b"8")])
    kinds = {kind: message for kind in ("memfd", "anon", "file", "lost", "busy", "huge")}
    kinds.update({"unknown": unknown, "damaged": message[:40], "late": message})
    programs, pids, children = {}, {}, {}
    for kind, content in kinds.items():
        how = kind if kind in ("memfd", "anon", "file", "lost", "busy", "huge") else "memfd" if kind == "unknown" else "file"
        programs[kind] = ctx.ruby(script, library, how, content.hex(), *(["late"] if kind == "late" else []), env=env)
        pid, child, named = programs[kind].line(timeout=30).split()
        pids[kind] = int(pid)
        if int(child):
            children[kind] = int(child)
        if kind == "anon" and named == "false":
            # The kernel names no mappings, so nothing tells that it is one.
            del pids[kind]
    path = ctx.path("context.extprof")
    reader = ctx.extprof_start("record", "-q", *(a for pid in pids.values() for a in ("-p", pid)), "-s", "-F", harness.rate(199), "-o", path)
    ctx.attached(reader)
    programs["late"].tell("go")
    programs["late"].expect("published")
    threading.Event().wait(1)
    reader.signal(signal.SIGINT)
    check(reader.wait() == 0, "the recording failed")
    document = report(ctx, path)
    found = {r["process.pid"]: r for r in (otlp.resource_of(rp["resource"]) for rp in document["resourceProfiles"])}
    of_context = ("of a, context=é", "7", "3", "ruby", "here")
    for kind, pid in pids.items():
        truth = {"unknown": ("env", "8", None, None, "here")}.get(
            kind, of_context if kind in ("memfd", "anon", "file", "late") else ("env", "env", None, None, "here"))
        said = tuple(found[pid].get(k) for k in ("service.name", "service.version", "shard", "telemetry.sdk.language", "region"))
        check(said == truth, "%s: %s, not %s", kind, said, truth)
        check("threadlocal.schema_version" not in found[pid], "%s", found[pid])
    # A child does not inherit the context of its parent.
    for kind, pid in children.items():
        check(found[pid]["service.name"] == "env", "child of %s: %s", kind, found[pid])
    check(len(children) == 2, "%s", children)
    return ", ".join(pids) + ("" if "anon" in pids else "; not anon: this kernel names no mappings")


@case(timeout=90)
def has_labels_and_links(ctx):
    """Labels of the program by their own keys; ids of a trace and a span as a link, and what is no such id as a label."""
    trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    ruby = ctx.ruby("-e", """
      def a = 5000.times { |i| i * i }
      def b = 5000.times { |i| i * i }
      def c = 5000.times { |i| i * i }
      STDOUT.sync = true
      puts "ready"
      loop do
        Fiber.with_labels(request: "GET /a", trace_id: "%s", span_id: "%s") { a }
        Fiber.with_labels(request: "GET /b", trace_id: "none", span_id: "%s") { b }
        Fiber.with_labels(request: 42, trace_id: "%s", span_id: "%s") { c }
      end""" % (trace, span, span, "0" * 32, span))
    ruby.expect("ready")
    path = ctx.path("labels.extprof")
    groups = ["--group-by", "label:request,label:trace_id,label:span_id"]
    ctx.extprof("record", "-q", "-p", ruby.pid, *groups, "-d", "1", "-F", harness.rate(1999), "-o", path).ok()
    document, seen = report(ctx, path, *groups), collections.Counter()
    truth = {"a": ({"request": "GET /a"}, (trace, span)),
             "b": ({"request": "GET /b", "trace_id": "none", "span_id": span}, (None, None)),
             "c": ({"request": "42", "trace_id": "0" * 32, "span_id": span}, (None, None))}
    for _, _, kind, labels, stack, link, amount in otlp.samples(document):
        own = {k: v for k, v in labels.items() if not k.startswith("thread.")}
        for name in (f.name.partition("#")[2] for f in stack if f.name.startswith("Object#")):
            check((own, link) == truth[name], "%s: %s %s", name, own, link)
            seen[name] += amount if kind == ("samples", "count") else 0
    check(set(seen) == set(truth) and min(seen.values()) > 20, "%s", seen)
    check(len(document["dictionary"]["linkTable"]) == 2, "%s", document["dictionary"]["linkTable"])
    return "%s" % dict(seen)


@case(timeout=120)
def has_native_and_kernel_frames(ctx):
    """Frames of an extension, with their type and file, where folded has them; and functions of the kernel that reads a file."""
    truth = Truth(ctx)
    path = ctx.path("native.otlp")
    profile = truth.profile("chain", 1.5, 2000, "-o", path)
    document = read(ctx, path)
    wanted, found, functions = collections.Counter(), collections.Counter(), collections.Counter()
    for s in profile.stacks:
        wanted[tuple(label for label in s.labels() if label.startswith("chain_") or label == "Truth.chain")] += s.count
    for _, _, kind, _, stack, _, amount in otlp.samples(document):
        if kind != ("samples", "count"):
            continue
        found[tuple(f.name for f in stack if f.name.startswith("chain_") or f.name == "Truth.chain")] += amount
        for f in stack:
            functions[f.type, f.name] += amount
            if f.name.startswith("chain_") or f.name == "ext_chain":
                check((f.type, f.kind) == ("native", "native") and f.module.endswith("native_truth.so"), "%s", f)
            if f.name == "Truth.chain":
                check((f.type, f.kind) == ("ruby", "C method"), "%s", f)
    check(wanted == found, "%s, not %s", list((found - wanted).items())[:3], list((wanted - found).items())[:3])
    check(functions["native", "chain_5"] > 100, "%s", functions.most_common(20))
    reader = ctx.ruby("-e", "def zeros = $f.read(1 << 20); $f = File.open('/dev/zero'); STDOUT.sync = true; puts 'ready'; loop { zeros }")
    reader.expect("ready")
    profile = ctx.extprof("-p", reader.pid, "--kernel", "-d", "1", "-F", harness.rate(1999), "-o", ctx.path("out.folded"), "-o", path).ok()
    wanted, found = collections.Counter(), collections.Counter()
    for s in profile.stacks:
        # What was loaded a moment ago has no name: probes of others can be in the same program.
        wanted[tuple(label for label in s.labels() if label.endswith("_[k]") or label == "[kernel]")] += s.count
    for _, _, kind, _, stack, _, amount in otlp.samples(read(ctx, path)):
        if kind == ("samples", "count"):
            found[tuple(f.name for f in stack if f.type == "kernel")] += amount
            check(all(f.type != "kernel" or (f.kind == "kernel" and f.module.startswith("[")) for f in stack), "%s", stack)
    kernel = sum(n for frames, n in found.items() if frames)
    check(found == wanted and kernel > 50, "%s, not %s", list((found - wanted).items())[:3], list((wanted - found).items())[:3])
    return "%d samples in chain_5, %d in the kernel" % (functions["native", "chain_5"], kernel)


HOSTILE = r"""
names = ["a\x01b\e[31m", "\u202Ereverse", "bad \xFF\xFE utf8".b, "x" * 5000, "quote\"\\;{}", "\u{1F600}", "tab\tnew\nline"]
klass = Class.new
names.each { |n| klass.define_method(n) { 3000.times { |i| i * i } } }
Hostile = klass
$0 = "evil\x01\e[2J\xFF: a title"
t = Thread.new { Thread.current.name = "thread \x02 \u202E" + "z" * 400; o = Hostile.new
  loop { names.each { |n| Fiber.with_labels(request: "v\x03\e]0;x\a" + "w" * 300, "k\x04\e[1m": 1) { o.public_send(n) } } } }
STDOUT.sync = true
puts "ready"
t.join
"""


@case(timeout=90)
def cleans_hostile_names(ctx):
    """Names of methods, threads, labels, services and resources with anything in them: the file is right, and shows no control."""
    attributes = b",".join([b"=x", b"novalue", b"k=%", b"k2=%zz%01%1b[2J", b"\xff\xfe=\xff\xfe", b"service.name=", b"process.pid=7",
                            b"service.name=e%1B%5B2Jvil", b"long=" + b"l" * 3000] + [b"n%d=%d" % (i, i) for i in range(200)])
    env = {k.encode(): v.encode() for k, v in harness.environment().items()}
    # A name that begins with what begins the other one.
    env.update({b"OTEL_RESOURCE_ATTRIBUTES": attributes, b"OTEL_SERVICE_NAMES": b"no", b"OTEL_SERVICE_NAME": b""})
    with open(ctx.path("hostile.rb"), "w", encoding="utf-8") as f:
        f.write(HOSTILE)
    script = "exec %s --disable=gems -W0 %s" % (harness.RUBY, ctx.path("hostile.rb"))
    lines = "".join("export %s=%s\n" % (k.decode(), "$(printf '%s')" % "".join("\\%03o" % b for b in env[k]))
                    for k in (b"OTEL_RESOURCE_ATTRIBUTES", b"OTEL_SERVICE_NAMES", b"OTEL_SERVICE_NAME"))
    ruby = ctx.start(["/bin/sh", ctx.write("start.sh", lines + script + "\n")])
    ruby.expect("ready")
    path = ctx.path("hostile.extprof")
    groups = ["--group-by", "label:request"]
    ctx.extprof("record", "-q", "-p", ruby.pid, *groups, "-m", "cpu,wall,alloc", "-d", "1", "-F", harness.rate(1999), "-o", path).ok()
    document = report(ctx, path, *groups)
    texts = document["dictionary"]["stringTable"] + [str(v) for rp in document["resourceProfiles"]
                                                     for item in otlp.resource_of(rp["resource"]).items() for v in item]
    texts += [str(v) for s in otlp.samples(document) for v in s[3].values()]
    controls = [t for t in texts if re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", t)]
    check(not controls, "%r", controls[:3])
    check(max(map(len, texts)) <= 2048, "a text of %d", max(map(len, texts)))
    names = {f.name for s in otlp.samples(document) for f in s[4] if f.name.startswith("Hostile#")}
    check(len(names) == 7, "%s", names)
    resource, = [otlp.resource_of(rp["resource"]) for rp in document["resourceProfiles"]]
    check(resource["service.name"] == "e\\x1B[2Jvil" and resource["process.pid"] == ruby.pid, "%s", resource)
    dropped = document["resourceProfiles"][0]["resource"].get("droppedAttributesCount", 0)
    check(resource["host.name"] and resource["service.instance.id"] and len(resource) == 6 + 12 + 2, "%s", resource)
    check(dropped > 100, "%d attributes are left out, of more than 200", dropped)
    return "%d methods, %d attributes, %d left out" % (len(names), len(resource), dropped)


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes what receivers take: their path, their types, gzip."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        kind, status = self.headers["Content-Type"], 200
        try:
            document = {"application/x-protobuf": otlp.decode, "application/json": json.loads}[kind](body)
            otlp.check(document)
            self.server.got.append((self.path, kind, document))
        except (KeyError, ValueError, otlp.Refused) as e:
            self.server.got.append((self.path, kind, repr(e)))
            status = 400
        self.send_response(status if self.path == "/v1development/profiles" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def receiver():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.got = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@case(timeout=90)
def is_posted_as_the_docs_say(ctx):
    """The commands of docs/otlp.md, with a receiver of its own that applies all rules."""
    if not shutil.which("curl"):
        return Counted(0, 0, 1, "there is no curl")
    with open(os.path.join(PROTO, "..", "..", "..", "docs", "otlp.md"), encoding="utf-8") as f:
        commands = [c.replace("\\\n", " ") for c in re.findall(r"^    curl (?:.*\\\n)*.*$", f.read(), re.M)]
    check(len(commands) == 3, "%s", commands)
    ruby = ctx.ruby(ctx.write("app.rb", PROGRAM))
    ruby.expect("ready")
    path = ctx.path("app.extprof")
    ctx.extprof("record", "-q", "-p", ruby.pid, "-m", "cpu,wall", "-d", "1", "-F", harness.rate(199), "-o", path).ok()
    document = report(ctx, path)
    for suffix in ("otlp", "otlp.gz", "otlp.json"):
        ctx.extprof("report", path, "-o", ctx.path("app." + suffix)).ok()
    with receiver() as server:
        for command in commands:
            here = re.sub(r"http://[\w.]+:\d+", "http://127.0.0.1:%d" % server.server_port, command)
            run = subprocess.run(here, shell=True, cwd=ctx.directory, capture_output=True, timeout=30, env=harness.environment())
            check(run.returncode == 0, "%s: status %d: %s", here, run.returncode, run.stderr)
    for where, kind, got in server.got:
        check(where == "/v1development/profiles" and got == document, "%s %s: %s", where, kind, str(got)[:300])
    check(len(server.got) == 3 and {kind for _, kind, _ in server.got} == {"application/x-protobuf", "application/json"}, "%s",
          [g[:2] for g in server.got])
    return "%d requests" % len(server.got)
