"""Two branches, hot_a/leaf_a and hot_b/leaf_b, left as fast as Ruby can: never a cross pair."""
from collections import Counter

import harness
from case_graph import YJIT, Tally
from edges_control import MATCH, RAISE
from graphgen import Writer
from harness import case, check
from model import Block, C, Call, Code, Model

SECONDS = 2


class Branches:
    """Writes one branch after the other; `leave` is the last line of the leaf."""

    def __init__(self, path, leave, *leave_steps):
        self.w, self.main, self.roots = Writer(path), None, []
        self.w.line("class Out < StandardError; end")
        self.hot = {x: self.branch(x, leave, leave_steps) for x in "ab"}
        self.main = Code("<main>", path)
        self.w.line("$stdout.sync = true")
        self.w.line('puts "ready"')

    def branch(self, x, leave, steps):
        w = self.w
        leaf, hot = Code("Object#leaf_%s" % x, w.path), Code("Object#hot_%s" % x, w.path)
        w.open("def leaf_%s(n)" % x, leaf)
        w.line("n += 1", leaf)
        leaf.at(w.line(leave, leaf), *steps)
        w.close("end", leaf)
        w.open("def hot_%s(n)" % x, hot)
        hot.at(w.line("leaf_%s(n)" % x, hot), Call(leaf))
        w.line("n += 1", hot)
        w.close("end", hot)
        return hot

    def loop(self, body):
        """`body` writes the line or lines that take one branch."""
        w, main = self.w, self.main
        w.open("while true", main)
        for x in "ab":
            body(x, self.hot[x])
        w.close("end", main)
        self.roots.append(Call(main))


def by_return(path):
    b = Branches(path, "n + 1")
    b.loop(lambda x, hot: b.main.at(b.w.line("hot_%s(1)" % x, b.main), Call(hot)))
    return b


def by_throw(path):
    b = Branches(path, "throw :out", C("Kernel#throw"))

    def body(x, hot):
        block = b.main.block()
        b.main.at(b.w.open("catch(:out) do", b.main, block), C("Kernel#catch", Block(block)))
        block.at(b.w.line("hot_%s(1)" % x, block), Call(hot))
        b.w.close("end", b.main, block)
    b.loop(body)
    return b


def by_raise(path):
    b = Branches(path, 'raise Out, "x"', RAISE)

    def body(x, hot):
        clause = b.main.handler("rescue")
        # Just before the clause begins and just after it has ended, the method goes on there.
        b.main.at(b.w.open("begin", b.main))
        b.main.at(b.w.line("hot_%s(1)" % x, b.main), Call(hot), Block(clause))
        clause.at(b.w.middle("rescue Out", b.main, clause), MATCH)
        b.w.line("n = 1", clause)
        b.w.close("end", b.main, clause)
    b.loop(body)
    return b


def by_fiber(path):
    b = Branches(path, "Fiber.yield", C("Fiber.yield"))
    main = b.main
    for x in "ab":
        block = main.block()
        b.w.open("F%s = Fiber.new do" % x, block)
        b.w.open("while true", block)
        block.at(b.w.line("hot_%s(1)" % x, block), Call(b.hot[x]))
        b.w.close("end", block)
        b.w.close("end", block)
        b.roots.append(Block(block))
    b.loop(lambda x, hot: main.at(b.w.line("F%s.resume" % x, main), C("Fiber#resume")))
    return b


def branches(ctx, write, flags):
    path = ctx.path("branches.rb")
    b = write(path)
    ctx.write("branches.rb", b.w.text())
    ruby = ctx.ruby(*flags, path)
    ruby.expect("ready")
    profile = ctx.profile(ruby.pid, seconds=SECONDS, rate=harness.rate(10000))
    tally, seen, crossed = Tally(), Counter(), 0
    stacks = profile.stacks
    tally.add(Model(b.roots, bool(flags)), stacks)
    for s in stacks:
        letters = {label[-1] for label in s.labels() if label.startswith(("Object#hot_", "Object#leaf_"))}
        crossed += s.count if len(letters) > 1 else 0
        for letter in letters:
            seen[letter] += s.count
    check(not crossed, "%d cross pairs", crossed)
    check(not tally.impossible, "%s\n%s", tally.text(), "\n".join(tally.examples))
    check(tally.samples > 3000, "too few: %s", tally.text())
    check(seen["a"] and seen["b"], "branches seen: %s", dict(seen))
    check(profile.sums.lost == 0, "%s", profile.sums.text)
    return "%s, a %d, b %d" % (tally.text(), seen["a"], seen["b"])


def both(f):
    """Cases for one way to leave a branch, in the interpreter and in YJIT."""
    for mode, flags in (("interpreter", ()), ("yjit", YJIT)):
        def run(ctx, flags=flags):
            return branches(ctx, f, flags)
        run.__name__, run.__module__ = "%s_%s" % (f.__name__, mode), f.__module__
        case(timeout=40)(run)


for way in (by_return, by_throw, by_raise, by_fiber):
    both(way)
