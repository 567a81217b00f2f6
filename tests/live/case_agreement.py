"""A second reader, in another language and from the header alone, sees the same stacks."""
import os
import signal
import time

import folded
import graphgen
import harness
import second_reader
from case_graph import YJIT, Tally
from harness import case, check, worked


def same_text(frame):
    return frame.replace("<block in C>", "[block in C]")


def printed_stacks(pid):
    """What examples/rubystack.py prints: {tid: frames of the current fiber, outermost first}."""
    p = second_reader.run(pid)
    check(p.returncode == 0, "rubystack.py: %s%s", p.stdout, p.stderr)
    stacks, tid, current = {}, None, False
    for line in p.stdout.splitlines():
        if line.startswith("thread "):
            tid = int(line.split(" tid ")[1].split()[0])
        elif line.startswith("    "):
            if current:
                stacks.setdefault(tid, []).insert(0, same_text(line.strip()))
        elif line.startswith("  "):
            current = "parked" not in line
    return stacks


def one_stack(ctx, flags):
    ruby = ctx.program("constant.rb", 60, flags=flags)
    ruby.expect("ready")
    worked(ruby.pid, 0.1)
    stacks = printed_stacks(ruby.pid)
    check(ruby.pid in stacks, "rubystack.py shows the threads %s", list(stacks))
    profile = ctx.profile(ruby.pid, rate=2000)
    samples = 0
    for s in profile.stacks:
        if s.native:
            continue
        samples += s.count
        shown = [str(f) for f in s.frames]
        check(shown == stacks[ruby.pid], "extprof: %s\nrubystack.py: %s", ";".join(shown),
              ";".join(stacks[ruby.pid]))
    check(samples > 100, "only %d samples", samples)
    return "%d samples, all of the same %d frames" % (samples, len(stacks[ruby.pid]))


@case(timeout=30)
def interpreter(ctx):
    return one_stack(ctx, ())


@case(timeout=30)
def yjit(ctx):
    return one_stack(ctx, YJIT)


def stopped(ctx, seed, flags, times):
    """Without BPF: stop the program anywhere, read all its threads and fibers, let it go on."""
    program = graphgen.Gen(seed, ctx.path("graph%d.rb" % seed))
    program.save()
    model = program.model(jit=bool(flags))
    ruby = ctx.ruby(*flags, program.path)
    ruby.expect("ready")
    worked(ruby.pid, 0.3)
    reader = second_reader.load()
    target = reader.Ruby(reader.Process(ruby.pid))
    tally, gone = Tally(), 0
    for _ in range(times):
        time.sleep(0.003)
        os.kill(ruby.pid, signal.SIGSTOP)
        try:
            with open("/proc/%d/stat" % ruby.pid) as f:
                while f.read().rpartition(")")[2].split()[0] != "T":
                    f.seek(0)
            again = reader.Ruby(target.p)
            # Ids are not reused while the program is stopped; names stay as they are.
            again.cache = target.cache
            for ec, _, _, _ in again.ecs():
                try:
                    frames, torn = again.stack(ec)
                except reader.Gone:
                    gone += 1
                    continue
                check(not torn, "a torn stack of a stopped process")
                if frames:
                    text = ";".join(same_text(f) for f in reversed(frames))
                    tally.add(model, [folded.Stack(text, 1)])
        finally:
            os.kill(ruby.pid, signal.SIGCONT)
    check(not tally.impossible, "seed %d: %s\n%s", seed, tally.text(), "\n".join(tally.examples))
    check(tally.samples >= times, "%d stacks in %d stops", tally.samples, times)
    check(not gone, "%d stacks could not be read", gone)
    return "%d stacks of threads and fibers, 0 impossible" % tally.samples


@case(timeout=60, bpf=False)
def stopped_interpreter(ctx):
    return stopped(ctx, 3, (), 300)


@case(timeout=60, bpf=False)
def stopped_yjit(ctx):
    return stopped(ctx, 4, YJIT, 300)
