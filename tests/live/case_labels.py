"""For what a program works: shares by label against the program's own CPU clocks."""
import gzip
import json
import os
import re
import signal
import time
from collections import Counter

import harness
import pprof
from case_graph import YJIT
from case_groups import compare, truth_of
from case_servers import GEMS, gems
from harness import case, check

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
GROUPS = {"a": "[request=a]", "b": "[request=b]", "none": "[no request]"}


def shares(ctx, kind, flags, seconds=2):
    ruby = ctx.program("labels.rb", kind, flags=flags)
    ruby.expect("ready")
    rate = harness.rate(5000)
    reader = ctx.extprof_start("-p", ruby.pid, "-F", rate, "--group-by", "label:request", "-o", ctx.path("out.folded"))
    harness.prefer(ruby.pid)
    harness.prefer(reader.pid)
    ctx.attached(reader)
    ruby.tell(str(seconds))
    truth = truth_of(ruby, seconds)
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    check(set(truth) == set(GROUPS), "the program worked for %s", sorted(truth))
    check("labels expired" not in profile.out and "labels not read" not in profile.out, "%s", profile.out[-1500:])
    counted = Counter()
    for s in profile.stacks:
        # The method says for which request it works: each such sample has the label of the request.
        for name in (l[len("Object#work_"):] for l in s.labels() if l.startswith("Object#work_")):
            check(s.frames[0].label == GROUPS[name], "work_%s under %s", name, s.text)
            counted[name] += s.count
    return compare(counted, truth, profile, rate)


def register(kind, flags, name, text):
    def f(ctx):
        return shares(ctx, kind, flags)
    f.__name__, f.__doc__, f.__module__ = name, text, __name__
    case(timeout=90)(f)


for kind, text in {"threads": "Threads that work for two requests, and threads made inside.",
                   "fibers": "Fibers that a scheduler switches in the middle of a request.",
                   "nested": "A request inside another, one without a value, and other keys inside.",
                   "exceptions": "Requests that end by raise, throw and break."}.items():
    register(kind, (), kind, text)
    register(kind, YJIT, kind + "_yjit", text)


@case(timeout=60)
def threads_that_outlive_a_request(ctx):
    """A thread that a library makes in the first request and keeps, as Timeout does: its time is no request's. The
    time of each label in mode wall is that of its requests by their own clock."""
    ruby = ctx.ruby("-e", """
clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
puts "ready"; $stdout.flush; $stdin.gets
keeper, spent, finish = nil, Hash.new(0), clock.call + 3
while clock.call < finish
  %w[a b].each do |name|
    began = clock.call
    Fiber.with_labels(request: name) { keeper ||= Thread.new { Thread.stop while true }; sleep(name == "a" ? 0.02 : 0.01) }
    spent[name] += clock.call - began
  end
  sleep 0.01
end
spent.each { |name, s| puts "#{name} #{(s * 1e9).to_i}" }
puts "done"; $stdout.flush; $stdin.gets""")
    ruby.expect("ready")
    reader = ctx.extprof_start("-m", "wall", "-p", ruby.pid, "--group-by", "label:request", "-o", ctx.path("out.folded"))
    ctx.attached(reader)
    ruby.tell("go")
    truth = truth_of(ruby, 3)
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    seen = Counter()
    for s in profile.stacks:
        seen[s.frames[0].label] += s.count
    for name, ns in truth.items():
        share = seen["[request=%s]" % name] / (ns / 1e3)
        check(0.9 < share < 1.05, "%s: %.3f of the time by the program's clock: %s", name, share, dict(seen))
    return ", ".join("%s %.3f" % (name, seen["[request=%s]" % name] / (ns / 1e3)) for name, ns in truth.items())


@case(timeout=60)
def outputs(ctx):
    """The label in the summary, in speedscope and in pprof; two keys in their order; what is no key is refused."""
    ruby = ctx.ruby("-e", "Fiber.with_labels(request: %(GET /\\e[1mx), n: 7) { puts 'ready'; $stdout.flush; i = 0; i += 1 while true }")
    ruby.expect("ready")
    text = ctx.extprof("-p", ruby.pid, "-d", "0.5", "-F", 999, "--group-by", "label:request,label:n").ok().out
    check("By label" in text and "[request=GET /\\x1B[1mx]" in text and "[n=7]" in text, "%s", text)
    p = ctx.profile(ruby.pid, "--group-by", "label:n,label:request,label:other", seconds=0.5, rate=999)
    for s in p.stacks:
        check(s.text.startswith("[n=7];[request=GET /\\x1B[1mx];[no other];"), "%s", s.text)
    ctx.extprof("-p", ruby.pid, "-d", "0.5", "-F", 999, "--group-by", "label:n", "-o", ctx.path("o.speedscope.json")).ok()
    with open(ctx.path("o.speedscope.json"), encoding="utf-8") as f:
        check("n=7" in json.dumps(json.load(f)), "speedscope has no label")
    ctx.extprof("-p", ruby.pid, "-d", "0.5", "-F", 999, "--group-by", "label:n,label:other", "-o", ctx.path("o.pb.gz")).ok()
    with open(ctx.path("o.pb.gz"), "rb") as f:
        data = f.read()
    profile = gzip.decompress(data)
    # pprof takes -tagfocus n=7 for a range of numbers, and n=^7$ for a pattern of texts: a label has both.
    labels = {label for _, of_stack in pprof.content(data)[0] for label in of_stack if label[0] == "n"}
    check(labels == {("n", "7", 0), ("n", "", 7)}, "pprof: %s", labels)
    # Entries of the table of strings; the command is in it, too.
    check(b"2\x01n" in profile and b"2\x017" in profile, "pprof: the label n is not 7")
    check(b"2\x05other" not in profile, "pprof: a label that is not set")
    for wrong in ("label:", "label", "label:a,label:a", "label:" + "k" * 129):
        r = ctx.extprof("-p", ruby.pid, "-d", "0.1", "--group-by", wrong)
        check(r.status == harness.USAGE, "%s: status %d: %s", wrong, r.status, r.err)
    return "summary, folded, speedscope and pprof have the labels"


def resident(pid):
    """KiB in memory."""
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        return int(next(line for line in f if line.startswith("VmRSS")).split()[1])


NO_VALUE = ("[request: expired]", "[request: one of too many values]", "[request: not read]")


def values(ctx, turns, seconds, stands_still=0):
    """({kind: samples}, profile, words about both) of a program with a new value for each piece of work, which
    is in a method whose number is the value modulo 4. extprof is stopped for `stands_still` seconds of that."""
    ruby = ctx.ruby("-e", "puts 'ready'; $stdout.flush; n = 0; "
                    "4.times { |i| eval(%%(def work_#{i} = (i = 0; i += 1 while i < %d))) }; "
                    "loop { n += 1; Fiber.with_labels(request: n) { case n %% 4 when 0 then work_0 when 1 then work_1 "
                    "when 2 then work_2 else work_3 end } }" % turns)
    ruby.expect("ready")
    rss = resident(ruby.pid)
    reader = ctx.extprof_start("-p", ruby.pid, "-d", seconds, "-F", harness.rate(2000), "--group-by", "label:request",
                               "-o", ctx.path("out.folded"))
    if stands_still:
        ctx.attached(reader)
        reader.signal(signal.SIGSTOP)
        time.sleep(stands_still)
        reader.signal(signal.SIGCONT)
    profile = ctx.profile_of(reader).ok()
    kinds, wrong = Counter(), []
    for s in profile.stacks:
        first = s.frames[0].label
        for rest in (l[-1] for l in s.labels() if l.startswith("Object#work_")):
            value = first[len("[request="):-1]
            known = first.startswith("[request=") and value.isdigit()
            kinds["known" if known else first] += s.count
            if first not in NO_VALUE and not (known and int(value) % 4 == int(rest)):
                wrong.append(s.text)
    check(not wrong, "not the value of that method: %s", wrong[:3])
    check(profile.sums.balanced, "%s", profile.sums.text)
    grown = resident(ruby.pid) - rss
    check(grown < 32 << 10, "the program grew by %d KiB", grown)
    text = "%s; the program grew by %d KiB" % (", ".join("%s: %d" % k for k in kinds.most_common(4)), grown)
    return kinds, profile, text


@case(timeout=60)
def many_values(ctx):
    """A new value for each request: each sample has the right value, is expired or is one of too many, and is counted."""
    kinds, _, text = values(ctx, 2000, 3)
    check(kinds["known"] > 100, "values: %s", dict(kinds))
    return text


@case(timeout=60)
def expired_values(ctx):
    """So many values that their records expire before they are read, since extprof stands still: said, counted, and none
    is taken for another."""
    kinds, profile, text = values(ctx, 20, 3, stands_still=1)
    check(kinds["[request: expired]"] > 100, "values: %s", dict(kinds))
    check(re.search(r"labels expired: \d+ times", profile.out), "expired labels are not told:\n%s", profile.out[-1500:])
    return text


@case(timeout=60, bpf=False)
def dump(ctx):
    """A dump says what each thread and fiber works for, in text and in JSON."""
    ruby = ctx.ruby("-e", "t = Fiber.with_labels(other: 1) { Thread.new { Thread.current.name = 'w'; "
                    "Fiber.with_labels(request: 'GET /x', tenant: 42) { Fiber.with_labels(tenant: nil, part: 'a') { sleep } } } }; "
                    "f = Fiber.with_labels(job: 1) { Fiber.new { Fiber.yield } }; f.resume; "
                    "Thread.pass until t.stop?; puts 'ready'; $stdout.flush; sleep")
    ruby.expect("ready")
    harness.until(lambda: harness.state(ruby.pid) == "S", "the main thread does not sleep")
    got = ctx.extprof("dump", "--json", "-p", ruby.pid)
    check(got.status == 0, "%s", got.err)
    seen = {}
    for t in json.loads(got.out.splitlines()[0])["threads"]:
        for f in t["fibers"]:
            seen[(t.get("name"), f["root"])] = f.get("labels", {})
            check("labels_lost" not in f, "%s", f)
    check(seen[("w", True)] == {"request": "GET /x", "part": "a"}, "%s", seen)
    check([v for k, v in seen.items() if not k[1]] == [{"job": "1"}], "%s", seen)
    check([v for k, v in seen.items() if k[1] and k[0] != "w"] == [{}], "%s", seen)
    text = ctx.extprof("dump", "-p", ruby.pid).out
    check("labels: request=GET /x, part=a\n" in text and "labels: job=1\n" in text, "%s", text)
    return "labels of %d stacks" % len(seen)


@case(timeout=240, bpf=False)
def examples(ctx):
    """The middleware of examples/ in Rack itself, and the callbacks for ActiveJob with a class that calls them as it does."""
    home = gems({"rack": GEMS["rack"]})
    p = ctx.start([harness.RUBY, "-W0", os.path.join(harness.PROGRAMS, "labels_examples.rb"), EXAMPLES],
                  {"GEM_HOME": home, "GEM_PATH": home})
    out, _ = p.communicate(60)
    check(p.p.returncode == 0 and out.endswith("7 passed\n"), "%s %s", out, ctx.complaints())
    return out.splitlines()[-1]
