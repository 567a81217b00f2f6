"""Writes random Ruby programs of which every possible stack is known.

A program is a set of methods, each of another kind (shapes_*.py), that call
each other without cycles in all the ways that Ruby has (edges_*.py). Each
shape and each edge writes its lines and says with the steps of model.py which
frames can follow which line. `n` is the argument of everything, so that any
piece of code can be put anywhere.
"""
import random

from model import Call, Code, Model

INDENT = "  "
SHAPES, YIELDERS, EDGES, BURNS = [], [], [], []


def shape(f):
    """A way to define a method: (g, name) -> Target."""
    SHAPES.append(f)
    return f


def yielder(f):
    """A way to define a method that calls its block: (g, name) -> Target."""
    YIELDERS.append(f)
    return f


def edge(weight=4):
    """A way to call code: (g, w, code, room) -> cost. Room: how costly it may be."""
    def register(f):
        EDGES.append((f, weight))
        return f
    return register


def burn(f):
    BURNS.append(f)
    return f


class Writer:
    """Lines of one file. Line numbers are those that Ruby will see."""

    def __init__(self, path, first=1):
        self.path, self.first = path, first
        self.lines = []
        self.depth = 0

    def line(self, text, *codes):
        """Append a line; it is one of the codes' own. Returns its number."""
        self.lines.append(INDENT * self.depth + text)
        number = self.first + len(self.lines) - 1
        for code in codes:
            code.lines.add(number)
        return number

    def open(self, text, *codes):
        number = self.line(text, *codes)
        self.depth += 1
        return number

    def close(self, text, *codes):
        self.depth -= 1
        return self.line(text, *codes)

    def middle(self, text, *codes):
        """rescue, else, when: between open and close."""
        self.depth -= 1
        number = self.line(text, *codes)
        self.depth += 1
        return number

    def text(self):
        return "\n".join(self.lines) + "\n"


class Target:
    """Something that can be called: `expr` is Ruby for it, `steps` what follows."""

    by_keyword = False

    def __init__(self, expr, steps, cost, receiver=None, name=None):
        self.expr, self.steps, self.cost = expr, steps, cost
        # With these it can also be sent; without, it is no usual call.
        self.receiver, self.name = receiver, name


class Gen:
    # Iterations of a counting loop (about 20 ns) that one method may cost.
    CAP = 12000

    def __init__(self, seed, path, size=150, yielders=24, only=None):
        self.rnd = random.Random(seed)
        self.path = path
        self.w = Writer(path)
        self.roots, self.targets, self.yielders = [], [], []
        self.pending, self.numbers = [], {}
        edges = [(f, weight) for f, weight in EDGES if not only or f.__name__ in only]
        self.edges, self.weights = zip(*edges)
        self._write(size, yielders)

    def number(self, kind):
        self.numbers[kind] = self.numbers.get(kind, 0) + 1
        return self.numbers[kind]

    def one_of(self, *choices):
        return self.rnd.choice(choices)

    # -- pieces that shapes and edges use

    def evaluated(self):
        """A writer for a file that exists only as a string."""
        k = self.number("eval")
        return Writer("/evaluated/part%d.rb" % k, self.rnd.choice([1, 100, 5000, 70000]))

    def body(self, w, code, room, calls=None):
        """A few statements in `code`. Returns what they cost."""
        cost = 0
        for _ in range(calls or self.rnd.choice([1, 1, 2, 3])):
            cost += self.statement(w, code, room - cost)
        return cost

    def statement(self, w, code, room):
        if w.depth > 7 or room < 200 or self.rnd.random() < 0.15:
            return self.burn(w, code)
        f = self.rnd.choices(self.edges, self.weights)[0]
        return f(self, w, code, room)

    def burn(self, w, code):
        return self.rnd.choice(BURNS)(self, w, code)

    def target(self, room):
        """One that costs no more than the room; None if there is none."""
        some = [t for t in self.targets if t.cost <= room]
        return self.rnd.choice(some) if some else None

    def call(self, w, code, room, text="{}", also=()):
        """A line that calls a target. Returns the cost."""
        t = self.target(room)
        if not t:
            return self.burn(w, code)
        code.at(w.line(text.format(t.expr), code), *t.steps, *also)
        return t.cost

    def locals(self):
        return "v%d" % self.number("local")

    def aside(self, write):
        """Write code that belongs to the program but not here, as a file of its own.
        What `write` returns."""
        here, self.w = self.w, self.evaluated()
        result = write(self.w)
        self.pending.append(self.w)
        self.w = here
        return result

    def embed(self, w, how):
        """Make the program evaluate the lines of w; `how` has places for text, path, line."""
        end = "END%d" % self.number("embedded")
        self.w.line(how % ("<<'%s'" % end, repr(w.path), w.first))
        self.w.lines += w.lines + [end]

    # -- the program

    def _write(self, size, yielders):
        w = self.w
        w.line("# Written by tests/live/graphgen.py: every possible stack is known.")
        w.line("class Err < StandardError; end")
        w.line("class Err2 < StandardError; end")
        w.line("$count = 0")
        shapes = SHAPES * (size // len(SHAPES) + 1)
        self.rnd.shuffle(shapes)
        ways = YIELDERS * (yielders // len(YIELDERS) + 1)
        kinds = [(f, self.yielders) for f in ways[:yielders]]
        # Yielders come early: most methods can use them.
        order = [(f, self.targets) for f in shapes[:size]]
        early = order[:4] + kinds
        for f, known in early + order[4:]:
            name = ("y%d" if known is self.yielders else "m%d") % self.number("method")
            known.append(f(self, name))
            for part in self.pending:
                self.embed(part, "eval(%s, binding, %s, %d)")
            self.pending = []
        self._main()

    def _main(self):
        """Calls every method in turn, for ever. Each round does the same: it says so if not."""
        w, main = self.w, Code("<main>", self.path)
        w.line("$stdout.sync = true")
        w.line('puts "ready"')
        w.line("n = 1", main)
        w.line("expected = nil", main)
        w.open("while true", main)
        w.line("before = $count", main)
        for t in self.targets:
            main.at(w.line(t.expr, main), *t.steps)
        w.line("did = $count - before", main)
        w.line("expected ||= did", main)
        w.line('abort "this round did #{did}, not #{expected}" if did != expected', main)
        w.close("end", main)
        self.roots.append(Call(main))

    def save(self):
        with open(self.path, "w") as f:
            f.write(self.w.text())

    def model(self, jit=False):
        return Model(self.roots, jit)

