"""Random programs of which every possible stack is known: no sample may be impossible."""
import os
import re
from collections import Counter

import burns  # noqa: F401
import edges_blocks  # noqa: F401
import edges_calls  # noqa: F401
import edges_control  # noqa: F401
import edges_vm  # noqa: F401
import graphgen
import harness
import shapes  # noqa: F401
import yielders  # noqa: F401
from harness import case, check

YJIT = ("--yjit", "--yjit-call-threshold=1")
WANTED = 36000  # samples of each of three programs: over 100,000 for each way to run them
ROUNDS = 8
OUTSIDE = 0.25  # of the samples, at most, are of the VM's own threads and the like
TOTALS = {}


class Tally:
    def __init__(self):
        self.samples = self.checked = self.impossible = self.stacks = 0
        self.approximate = self.unknown_line = self.gc = 0
        self.native = Counter()
        self.examples = []

    def add(self, model, stacks):
        for s in stacks:
            self.samples += s.count
            self.stacks += 1
            self.gc += s.count if s.gc else 0
            if s.native:
                self.native[s.frames[0].label.split(" ")[0].strip("[]")] += s.count
                continue
            self.checked += s.count
            if s.frames and s.frames[-1].path:
                self.approximate += s.count if s.frames[-1].approximate else 0
                self.unknown_line += s.count if not s.frames[-1].line else 0
            mismatch = model.check(s.frames) if not s.truncated else None
            if s.truncated or mismatch:
                self.impossible += s.count
                if len(self.examples) < 5:
                    self.examples.append(explain(s, mismatch))

    def text(self):
        text = "%d samples, %d impossible, %d different stacks" % (
            self.samples, self.impossible, self.stacks)
        if self.approximate or self.unknown_line:
            text += ", leaf lines %.0f %% exact" % (
                100 - 100 * (self.approximate + self.unknown_line) / max(self.checked, 1))
        return text


def explain(stack, mismatch):
    if not mismatch:
        return "truncated: " + stack.text[:300]
    shown = [str(f) for f in stack.frames]
    at = mismatch.depth
    expected = " or ".join(mismatch.expected[:4])
    return "%d times: %s\n    frame %d: expected %s" % (
        stack.count, ";".join(shown[:at] + [">>> " + shown[at]] + shown[at + 1:])[-700:], at, expected[:500])


def graph(ctx, seed, flags, wanted=WANTED):
    program = graphgen.Gen(seed, ctx.path("graph%d.rb" % seed))
    program.save()
    jit = "--yjit" in flags
    model = program.model(jit)
    ruby = ctx.ruby(*flags, program.path)
    ruby.expect("ready")
    rate = harness.rate(10000)
    tally, lost = Tally(), []
    for _ in range(ROUNDS):
        # The compiler is busy first; the rounds after see its code.
        profile = ctx.profile(ruby.pid, seconds=2, rate=rate)
        check(ruby.p.poll() is None, "the program ended with status %s", ruby.p.poll())
        sums = profile.sums
        check(sums.balanced, "sums: " + sums.text)
        tally.add(model, profile.stacks)
        if sums.lost or sums.truncated:
            lost.append(sums.text)
        if tally.samples >= wanted:
            break
    total = TOTALS.setdefault("YJIT" if jit else "interpreter", [0, 0])
    total[0] += tally.samples
    total[1] += tally.impossible
    check(not tally.impossible, "seed %d: %s\n%s", seed, tally.text(), "\n".join(tally.examples))
    check(tally.samples >= wanted, "seed %d: too few samples at %d Hz: %s", seed, rate, tally.text())
    check(not lost, "seed %d: %s: %s", seed, tally.text(), "; ".join(lost))
    outside = sum(tally.native.values())
    check(outside < OUTSIDE * tally.samples, "%d of %d samples show no Ruby: %s", outside, tally.samples,
          dict(tally.native))
    shown = "%.1f %% show no Ruby" % (100 * outside / tally.samples)
    if outside > 0.6 * OUTSIDE * tally.samples:
        shown += " (NEAR the bound of %.0f %%: %s)" % (100 * OUTSIDE, dict(tally.native))
    return "%s, %s; %d of %d edges seen" % ((tally.text(), shown) + model.coverage())


@case(timeout=60)
def interpreter_1(ctx):
    return graph(ctx, 1, ())


@case(timeout=60)
def interpreter_2(ctx):
    return graph(ctx, 2, ())


@case(timeout=60)
def interpreter_9(ctx):
    return graph(ctx, 9, ())


@case(timeout=60)
def yjit_1(ctx):
    return graph(ctx, 1, YJIT)


@case(timeout=60)
def yjit_5(ctx):
    return graph(ctx, 5, YJIT)


@case(timeout=60)
def yjit_9(ctx):
    return graph(ctx, 9, YJIT)


@case(timeout=60)
def compacting(ctx):
    """Every major collection moves objects."""
    compact = ctx.write("compact.rb", "GC.auto_compact = true\n")
    return graph(ctx, 12, ("-r" + compact,), 15000)


@case(timeout=60)
def yjit_code_gc(ctx):
    """All compiled code is thrown away now and then."""
    return graph(ctx, 12, YJIT + ("--yjit-exec-mem-size=2", "--yjit-code-gc"), 15000)


@case(timeout=60)
def yjit_default_threshold(ctx):
    """Part of the program is compiled, part is not."""
    return graph(ctx, 13, ("--yjit",), 15000)


MEMORY = 200 << 20  # bytes that extprof may have in use, whatever it samples


def peak(reader):
    """Wait for its end: the most memory that it had in use, in bytes."""
    _, status, usage = os.wait4(reader.pid, 0)
    reader.p.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss << 10


@case(timeout=60)
def parting(ctx):
    """Nearly no two stacks of 1,200 frames are equal: the rarest are cut, and no sample is lost."""
    depth = 1200
    ruby = ctx.program("parting.rb", depth)
    ruby.expect("ready")
    reader = ctx.extprof_start("-p", ruby.pid, "-d", 6, "-F", harness.rate(2000), "-o", ctx.path("out.folded"))
    memory = peak(reader)
    profile = ctx.profile_of(reader).ok()
    sums, merged, whole, turns = profile.sums, 0, 0, Counter()
    check(sums.balanced and "no-memory" not in sums.text, "sums: " + sums.text)
    for s in profile.stacks:
        if s.native:
            continue
        labels = s.labels() + ([s.gc] if s.gc else [])
        ways = sum(label in ("Object#left", "Object#right") for label in labels)
        rest = labels[1 + ways:]
        check(labels[0] == "<main>" and set(labels[1:1 + ways]) <= {"Object#left", "Object#right"} and
              ways <= depth + 1 and len(rest) <= 2, "no stack of the program: %d ways, then %s", ways, rest)
        check("Object#work" not in rest or ways == depth + 1, "%s is below %d ways", rest, ways)
        merged += s.count if rest == ["[merged]"] else 0
        whole += s.count if "Object#work" in rest else 0
        turns[labels[2] if ways > 1 else None] += s.count
    total = sum(s.count for s in profile.stacks)
    check(total == sums.whole + sums.truncated, "%d samples are in the file: %s", total, sums.text)
    note = re.search(r"^stacks cut: (\d+) samples", profile.out, re.MULTILINE)
    check(note and int(note.group(1)) == merged > 0, "%d samples are [merged]: %s", merged, note)
    # Each way is as likely: what is merged is still where it was.
    left = turns["Object#left"] / (turns["Object#left"] + turns["Object#right"])
    check(abs(left - 0.5) < 0.1, "%.3f of the samples go left: %s", left, turns)
    check(memory < MEMORY, "extprof had %.0f MB in use", memory / (1 << 20))
    return "%d samples, %d of them merged, %d whole, none lost as no-memory; %.0f MB" % (
        total, merged, whole, memory / (1 << 20))


def summary():
    return "\n".join("graph, %s: %d samples, %d impossible" % (k, *v) for k, v in TOTALS.items())


harness.SUMMARY.append(summary)
