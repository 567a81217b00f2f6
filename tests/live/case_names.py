"""What Ruby calls a frame and what extprof calls it is the same text, for every kind of frame."""
import re

import harness
from case_graph import YJIT
from harness import case, check

NAME_MAX = 512  # of extprof's
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def shown(label):
    """A label of Ruby's as folded output shows it."""
    data = label.encode()
    if len(data) > NAME_MAX:
        head = NAME_MAX // 2
        label = (data[:head] + b"..." + data[len(data) - (NAME_MAX - head - 3):]).decode()
    return label.replace(";", ":")


def from_ruby(line):
    """[(label, path, line)] of a line that spot.rb printed, outermost first."""
    frames = [tuple(f.split("\x1f")) for f in line.split("\x1e")]
    # Backtraces of Ruby before 3.4 have the frame that a clause belongs to, those of 3.4 do not.
    inner = [label for label, _, _ in frames[1:]] + [""]
    kept = [f for f, i in zip(frames, inner) if i not in ("rescue in " + f[0], "ensure in " + f[0])]
    return [(shown(label), path, int(number or 0)) for label, path, number in kept]


def from_extprof(stack):
    """The same of a sample that is in `spot`; None for another."""
    labels = stack.labels()
    if "Object#spot" not in labels:
        return None
    frames = stack.frames[:labels.index("Object#spot")]
    kept = []
    for i, f in enumerate(frames):
        inner = frames[i + 1].label if i + 1 < len(frames) else ""
        # Thread::Backtrace shows no blocks in C, and not the frame that a clause belongs to.
        if f.label != "[block in C]" and not inner.startswith(("rescue in ", "ensure in ")):
            kept.append((f.label, f.path, f.line))
    return kept


def inside(frames):
    """The frames inside of the loop that calls everything."""
    loops = [i for i, f in enumerate(frames) if f[1].endswith("spot.rb")]
    return frames[loops[-1] + 1:] if loops else frames


def same(ruby, extprof):
    if len(ruby) != len(extprof):
        return False
    for r, e in zip(ruby, extprof):
        # Ruby shows a method in C at the place of its caller.
        in_c = not e[1] or e[1].startswith("<internal:")
        if r[0] != e[0] or not in_c and r[1:] != e[1:]:
            return False
    return True


def names(ctx, flags):
    ruby = ctx.program("names.rb", flags=flags)
    expected = []
    while True:
        line = ruby.line()
        if line == "ready":
            break
        frames = inside(from_ruby(line))
        if frames not in expected:
            expected.append(frames)
    check(len(expected) > 150, "the program has only %d stacks", len(expected))
    by_labels = {}
    for frames in expected:
        by_labels.setdefault(tuple(f[0] for f in frames), []).append(frames)
    seen, wrong, samples = set(), [], 0
    for _ in range(4):
        profile = ctx.profile(ruby.pid, seconds=2, rate=harness.rate(10000))
        check(profile.sums.lost == 0, profile.sums.text)
        for stack in profile.stacks:
            check(not ADDRESS.search(stack.text), "an address in a name: %s", stack.text)
            frames = from_extprof(stack)
            if frames is None:
                continue
            frames = inside(frames)
            samples += stack.count
            for candidate in by_labels.get(tuple(f[0] for f in frames), []):
                if same(candidate, frames):
                    seen.add(repr(candidate))
                    break
            else:
                wrong.append("%d times: %s" % (stack.count, frames))
        if wrong or len(seen) == len(expected):
            break
    check(not wrong, "%d stacks that Ruby does not have:\n%s", len(wrong), "\n".join(wrong[:8]))
    missing = [e for e in expected if repr(e) not in seen]
    check(not missing, "%d of %d stacks not seen in %d samples:\n%s", len(missing), len(expected), samples,
          "\n".join(map(str, missing[:8])))
    return "%d samples in %d stacks with %d different names" % (
        samples, len(expected), len({f[0] for frames in expected for f in frames}))


@case(timeout=60)
def interpreter(ctx):
    return names(ctx, ())


@case(timeout=60)
def yjit(ctx):
    return names(ctx, YJIT)
