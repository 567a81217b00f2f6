"""The span of a native thread in a thread-local variable of a library (OTEP 4947), against the program's own CPU clocks."""
import os
import platform
import subprocess
from collections import Counter

import case_traces
import harness
from case_groups import compare, truth_of
from case_recording import sql
from harness import case, check

X86 = platform.machine() == "x86_64"
# By how the compiler has a library reach the variable, and the linker bind it.
WAYS = {
    "module": ["-mtls-dialect=gnu" if X86 else "-mtls-dialect=trad"],
    "module_bound": ["-mtls-dialect=gnu" if X86 else "-mtls-dialect=trad", "-Wl,-Bsymbolic"],
    "descriptor": ["-mtls-dialect=gnu2" if X86 else "-mtls-dialect=desc"],
    # There is no room next to the thread pointer, so that ld.so allocates memory for each thread.
    "descriptor_far": ["-mtls-dialect=gnu2" if X86 else "-mtls-dialect=desc", "-DPAD=65536"],
    "initial_exec": ["-ftls-model=initial-exec"],
}


FOUND = "a context of OpenTelemetry"
# Where ld.so has put the variable.
NEAR, FAR = FOUND + " (from the thread pointer", FOUND + " (in a module"


def library(ctx, way):
    """The path of a library that was compiled so."""
    path = ctx.path("libtrace-%s.so" % way)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", *WAYS[way], "-o", path, os.path.join(harness.PROGRAMS, "trace_library.c")], check=True)
    return path


def program(ctx, way, name, *args, **more):
    env = harness.environment(dict(more, TRACE_LIBRARY=library(ctx, way)))
    return ctx.start([harness.RUBY, "--disable=gems", "-W0", os.path.join(harness.PROGRAMS, name), *args], env=env)


def shares(ctx, way, kind="native", seconds=1.5):
    rate, path = harness.rate(5000), ctx.path("traces.extprof")
    ruby = program(ctx, way, "traces.rb", kind)
    ruby.expect("ready")
    reader = ctx.extprof_start("record", "-v", "-p", ruby.pid, "--subprocesses", "-r", rate, "-o", path, "-o", ctx.path("out.folded"))
    harness.prefer(ruby.pid)
    harness.prefer(reader.pid)
    # What it says is read meanwhile: that is more than a pipe has room for.
    reader.says(FAR if way in ("module", "module_bound", "descriptor_far") else NEAR)
    ctx.attached(reader)
    if kind == "forked":
        ruby.tell("fork")
    ruby.tell(str(seconds))
    truth = truth_of(ruby, seconds)
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    check(set(truth) == set(case_traces.SPANS), "the program worked for %s", sorted(truth))
    return compare(case_traces.exact(ctx, path), truth, profile, rate)


def register(way):
    def f(ctx):
        return shares(ctx, way)
    f.__name__, f.__doc__, f.__module__ = way, "Shares of spans of threads; each sample has the ids of its method.", __name__
    case(timeout=120)(f)


for way in WAYS:
    register(way)


@case(timeout=120)
def forked(ctx):
    """A child has the variable at its parent's place from its first sample on."""
    return shares(ctx, "module", "forked")


@case(timeout=120)
def hostile_records(ctx):
    """Addresses and records of all kinds in the variable: the right ids or none."""
    ruby = program(ctx, "module", "traces_hostile.rb")
    return case_traces.hostile(ctx, ruby, FOUND)


def run(ctx, way, text):
    return ctx.start([harness.RUBY, "--disable=gems", "-W0", "-I", harness.PROGRAMS, "-e", text],
                     env=harness.environment({"TRACE_LIBRARY": library(ctx, way), "TRACE_LATE": "1"}))


def ids_of(ctx, path):
    """{method: {(trace, span): samples}}"""
    seen = {}
    for method, trace, span, n in sql(ctx, path, "SELECT substr(ruby_method, 11), trace_id, span_id, count(*) FROM samples WHERE ruby_method "
                                      "LIKE 'Object#in\\_%' ESCAPE '\\' GROUP BY 1, 2, 3"):
        seen.setdefault(method, Counter())[trace, span] += int(n)
    return seen


A, B, NONE = (case_traces.A, "00000000000000a1"), (case_traces.B, "00000000000000b1"), ("", "")
METHODS = """
require "trace_context"
A, B = TraceContext.memory("%s", "%s"), TraceContext.memory("%s", "%s")
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
$stdout.sync = true
""" % (*A, *B)


@case(timeout=60)
def loaded_later(ctx):
    """A library that is loaded while the program is recorded is found, and no sample has an id that it had not."""
    ruby = run(ctx, "module", METHODS + """
def in_before = (finish = now + 0.5; i = 0; i += 1 while now < finish)
def in_after = (i = 0; i += 1 until $told)
puts "ready"
$stdin.gets
in_before
SET, _ = TraceContext.load_library
SET.call(A)
Thread.new { $stdin.gets; $told = true }
in_after
puts "done"
$stdin.gets""")
    ruby.expect("ready")
    path = ctx.path("later.extprof")
    reader = ctx.extprof_start("record", "-v", "-p", ruby.pid, "-r", harness.rate(2000), "-o", path)
    reader.says("it is measured")
    ctx.attached(reader)
    ruby.tell("go")
    reader.says(FOUND)
    harness.worked(ruby.pid, 0.7)
    ruby.tell("end")
    ruby.expect("done")
    reader.signal(2)
    ctx.profile_of(reader).ok()
    seen = ids_of(ctx, path)
    check(set(seen["before"]) == {NONE} and set(seen["after"]) <= {NONE, A} and seen["after"][A] > 50, "%s", seen)
    return "%d samples before it was found, %d afterwards" % (seen["after"][NONE], seen["after"][A])


@case(timeout=60)
def fibers_come_first(ctx):
    """A fiber with a record of its own has that one, and another fiber of the thread has the thread's."""
    ruby = run(ctx, "descriptor", METHODS + """
def in_thread = (i = 0; i += 1 while i < 200_000)
def in_fiber = (i = 0; i += 1 while i < 200_000)
def in_other = (i = 0; i += 1 while i < 200_000)
SET, _ = TraceContext.load_library
SET.call(A)
puts "ready"
loop do
  in_thread
  Fiber.new { TraceContext::OF_FIBERS[0].call(B); in_fiber }.resume
  Fiber.new { in_other }.resume
end""")
    ruby.expect("ready")
    path = ctx.path("fibers.extprof")
    reader = ctx.extprof_start("record", "-v", "-p", ruby.pid, "-r", harness.rate(2000), "-o", path)
    reader.says(FOUND)
    harness.worked(ruby.pid, 0.7)
    reader.signal(2)
    ctx.profile_of(reader).ok()
    seen = ids_of(ctx, path)
    # Samples of before it was found are without.
    for method, own in (("thread", A), ("fiber", B), ("other", A)):
        check(set(seen[method]) <= {own} | ({NONE} if own == A else set()) and seen[method][own] > 50, "%s: %s", method, seen)
    return str({method: dict(ids) for method, ids in seen.items()})
