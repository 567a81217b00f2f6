"""What stacks a program can have, and whether a stack is one of them.

A Code is a piece of Ruby code with a frame of its own: a method, a block, a
rescue clause. It knows its lines, and for each line from which a frame can be
called, what that frame is. A Step is one way to go on from there:

    Call(code)           that code is called
    C(name, steps...)    a frame without lines: a method in C; then one of steps
    Yield()              the block that this method was given
    Param("name")        the block or proc that this method was given by name

A stack that is not a path of these steps is impossible: either the generator
of the program is wrong or the reader is.
"""


class Frame:
    __slots__ = ("label", "path", "line", "approximate")

    def __init__(self, label, path="", line=0, approximate=False):
        self.label, self.path, self.line, self.approximate = label, path, line, approximate

    def __str__(self):
        if not self.path:
            return self.label
        return "%s %s:%s%d" % (self.label, self.path, "~" if self.approximate else "", self.line)


class Code:
    """`base` and `level` give the names of blocks in it."""

    def __init__(self, label, path, base=None, level=0, inner=None):
        self.label, self.path = label, path
        self.base = label if base is None else base
        self.level = level
        self.inner = inner or self.label  # what rescue clauses and evals in it are called after
        self.lines = set()
        self.sites = {}

    def block(self):
        level = self.level + 1
        depth = "block in " if level == 1 else "block (%d levels) in " % level
        return Code(depth + self.base, self.path, self.base, level)

    def handler(self, kind):
        """The code of a rescue or ensure clause."""
        return Code("%s in %s" % (kind, self.inner), self.path, self.base, self.level)

    def evaluated(self, path):
        label = "eval in " + self.inner
        return Code(label, path, label, 0)

    def at(self, line, *steps):
        self.lines.add(line)
        self.sites.setdefault(line, []).extend(steps)


class Closure:
    __slots__ = ("code", "env")

    def __init__(self, code, env):
        self.code, self.env = code, env


class Env:
    """A frame that is on the stack: which code, and what it was given."""
    __slots__ = ("code", "block", "params", "home")

    def __init__(self, code, block=None, params=None, outer=None):
        self.code, self.block = code, block
        self.params = params or {}
        # A block yields to the block of the method that it is in.
        self.home = outer.home if outer else self


class Call:
    """`block`: None, a Code (a block written at the call), a C (a block in C) or
    PASS (the caller's own); `params`: the same by name."""
    __slots__ = ("code", "block", "params", "seen")

    def __init__(self, code, block=None, params=None):
        self.code, self.block, self.params = code, block, params or {}
        self.seen = 0


PASS = object()


class Block:
    """A block of the calling frame is called: Call, but knowing its home."""
    __slots__ = ("code", "seen")

    def __init__(self, code):
        self.code, self.seen = code, 0


class Yield:
    __slots__ = ("seen",)

    def __init__(self):
        self.seen = 0


class Param:
    __slots__ = ("name", "seen")

    def __init__(self, name):
        self.name, self.seen = name, 0


class C:
    __slots__ = ("label", "then", "seen")

    def __init__(self, label, *then):
        self.label, self.then, self.seen = label, list(then), 0


# Methods that are in C, or in Ruby's own Ruby files when YJIT is on.
BUILTIN = "<internal:"


def c_chain(labels, *then):
    """C frames one below the other, then `then`."""
    steps = list(then)
    for label in reversed(labels):
        steps = [C(label, *steps)]
    return steps[0]


class Mismatch:
    def __init__(self):
        self.depth, self.expected = -1, []

    def note(self, depth, text):
        if depth > self.depth:
            self.depth, self.expected = depth, []
        if depth == self.depth and text not in self.expected:
            self.expected.append(text)


class Model:
    """`roots`: how a stack can begin. `jit`: the line of the innermost frame may be
    unknown (a wrong one may not be shown as exact then, either)."""

    def __init__(self, roots, jit=False):
        self.roots, self.jit = roots, jit

    def check(self, frames):
        """None if the stack is possible, else a Mismatch."""
        mismatch = Mismatch()
        if self._match(frames, 0, self.roots, None, mismatch):
            return None
        return mismatch

    def _match(self, frames, at, steps, env, mismatch):
        if at == len(frames):
            return True
        frame = frames[at]
        for step in steps:
            if isinstance(step, C):
                found = self._c_frame(frames, at, step, env, mismatch)
            else:
                found = self._go(frames, at, step, env, mismatch)
            if found:
                step.seen += 1
                return True
        if not steps:
            mismatch.note(at, "(nothing)")
        return False

    def _c_frame(self, frames, at, step, env, mismatch):
        frame = frames[at]
        if frame.label != step.label:
            mismatch.note(at, step.label)
            return False
        if frame.path and not frame.path.startswith(BUILTIN):
            mismatch.note(at, step.label + " without a file")
            return False
        return self._match(frames, at + 1, step.then, env, mismatch)

    def _go(self, frames, at, step, env, mismatch):
        if isinstance(step, Block):
            callee = Env(step.code, outer=env)
        elif isinstance(step, Call):
            params = {name: self._given(value, env) for name, value in step.params.items()}
            callee = Env(step.code, self._given(step.block, env), params)
        else:
            given = env.home.block if isinstance(step, Yield) else env.home.params.get(step.name)
            if given is None:
                mismatch.note(at, "(no block was given)")
                return False
            if isinstance(given.code, C):
                return self._c_frame(frames, at, given.code, given.env, mismatch)
            callee = Env(given.code, outer=given.env)
        return self._frame(frames, at, callee, mismatch)

    def _frame(self, frames, at, env, mismatch):
        frame, code = frames[at], env.code
        if frame.label != code.label or frame.path != code.path:
            mismatch.note(at, "%s %s" % (code.label, code.path))
            return False
        if at == len(frames) - 1:
            if frame.line in code.lines or self.jit and (frame.approximate or not frame.line):
                return True
            mismatch.note(at, "%s at one of lines %s" % (code.label, ranges(code.lines)))
            return False
        if frame.approximate:
            mismatch.note(at, "%s at an exact line: it is no leaf" % code.label)
            return False
        if frame.line not in code.sites:
            mismatch.note(at, "%s calling from one of lines %s" % (code.label, ranges(code.sites)))
            return False
        return self._match(frames, at + 1, code.sites[frame.line], env, mismatch)

    @staticmethod
    def _given(value, env):
        if value is None:
            return None
        if value is PASS:
            return env.home.block
        # A block in C calls on with the blocks of the frame that gave it.
        return Closure(value, env)

    def coverage(self):
        """(steps seen, all steps) over everything reachable."""
        seen = total = 0
        done, todo = set(), list(self.roots)
        while todo:
            step = todo.pop()
            if id(step) in done:
                continue
            done.add(id(step))
            total += 1
            seen += step.seen > 0
            if isinstance(step, C):
                todo += step.then
            codes = []
            if isinstance(step, (Call, Block)):
                codes.append(step.code)
            if isinstance(step, Call):
                given = [step.block, *step.params.values()]
                codes += [v for v in given if isinstance(v, Code)]
                todo += [v for v in given if isinstance(v, C)]
            for code in codes:
                for steps in code.sites.values():
                    todo += steps
        return seen, total


def ranges(lines):
    """{1, 2, 3, 7} as "1-3, 7"."""
    out = []
    for line in sorted(lines):
        if out and line == out[-1][1] + 1:
            out[-1][1] = line
        else:
            out.append([line, line])
    return ", ".join(str(a) if a == b else "%d-%d" % (a, b) for a, b in out) or "none"
