"""Calls that Ruby makes by other means than a method's name and parentheses."""
from edges_blocks import IFUNC, NEW_LAMBDA
from graphgen import edge
from model import C, Call


@edge(14)
def direct(g, w, code, room):
    text = g.one_of("{}", "x = {}", "({})", "{} if n", "{} unless n.nil?", "[{}]",
                    "{{ a: {} }}", "n && {}", "{} ; n", "y, z = {}, n", "(n ? {} : n)")
    return g.call(w, code, room, text)


@edge(3)
def multi_line_call(g, w, code, room):
    """The line of a call is the one of its name."""
    t = g.target(room)
    if not t or not t.receiver:
        return g.burn(w, code)
    if g.rnd.random() < 0.5:
        w.line(t.receiver, code)
        w.depth += 1
        code.at(w.line(".%s(" % t.name, code), *t.steps)
    else:
        code.at(w.line("%s.%s(" % (t.receiver, t.name), code), *t.steps)
        w.depth += 1
    w.line("n", code)
    w.line(")", code)
    w.depth -= 1
    return t.cost


@edge(3)
def multi_line_literal(g, w, code, room):
    a, b = g.target(room // 2), g.target(room // 2)
    if not a or not b:
        return g.burn(w, code)
    opening, closing, first = g.one_of(("[", "]", "n,"), ("{", "}", "a: n,"))
    hashed = opening == "{"
    w.line("x = " + opening, code)
    w.depth += 1
    w.line(first, code)
    code.at(w.line(("b: %s," if hashed else "%s,") % a.expr, code), *a.steps)
    code.at(w.line(("c: %s" if hashed else "%s") % b.expr, code), *b.steps)
    w.depth -= 1
    w.line(closing, code)
    return a.cost + b.cost


@edge(2)
def multi_line_condition(g, w, code, room):
    a, b = g.target(room // 2), g.target(room // 2)
    if not a or not b:
        return g.burn(w, code)
    w.line("if n &&", code)
    code.at(w.line("    !%s.nil? &&" % a.expr, code), *a.steps)
    code.at(w.line("    !%s.nil?" % b.expr, code), *b.steps)
    w.line("  x = n", code)
    w.line("end", code)
    return a.cost + b.cost


@edge(2)
def two_on_a_line(g, w, code, room):
    a, b = g.target(room // 2), g.target(room // 2)
    if not a or not b:
        return g.burn(w, code)
    text = g.one_of("x = [%s, %s]", "%s; %s", "%s && %s", "%s and %s")
    code.at(w.line(text % (a.expr, b.expr), code), *a.steps, *b.steps)
    return a.cost + b.cost


@edge(5)
def sent(g, w, code, room):
    some = [t for t in g.targets if t.cost <= room and t.receiver]
    if not some:
        return g.burn(w, code)
    t = g.rnd.choice(some)
    method, to_proc = C("Kernel#method"), C("Method#to_proc", C(NEW_LAMBDA))
    through_c = C(IFUNC, *t.steps)
    text, *steps = g.one_of(
        ("%s.send(:%s, n)", *t.steps),
        ("%s.__send__(:%s, n)", *t.steps),
        ("%s.public_send(:%s, n)", C("Kernel#public_send", *t.steps)),
        ("%s.method(:%s).call(n)", C("Method#call", *t.steps), method),
        ("%s.method(:%s).to_proc.call(n)", method, to_proc, through_c),
        ("%s.method(:%s) === n", method, C("Method#===", *t.steps)),
        ("[n].each(&%s.method(:%s))", method, to_proc, C("Array#each", through_c)),
        # Where a refinement is in force, a symbol becomes a block in C.
        ("[%s].each(&:%s)", C("Array#each", through_c, *t.steps)),
        ("[%s].map(&:%s)", C("Array#map", through_c, *t.steps)),
        ("%s&.%s(n)", *t.steps),
        ("%s.%s(*[n])", *t.steps),
    )
    code.at(w.line(text % (t.receiver, t.name), code), *steps)
    return t.cost + 10


@edge(3)
def evaluated(g, w, code, room):
    """A string, with a file name of its own; one call in it."""
    t = g.target(room)
    if not t or not t.receiver:
        return g.burn(w, code)
    k = g.number("string")
    path, line = "/evaluated/string%d.rb" % k, g.rnd.choice([1, 40, 3000])
    inner = code.evaluated(path)
    before = g.rnd.choice([0, 1, 3])
    inner.lines.update(range(line, line + before + 1))
    inner.at(line + before, *t.steps)
    text = "i = 0\\n" * before + t.expr
    code.at(w.line('eval("%s", binding, "%s", %d)' % (text, path, line), code),
            C("Kernel#binding"), C("Kernel#eval", Call(inner)))
    return t.cost + 800


