"""Ways to call a block that a method is given."""
from graphgen import Target, yielder
from model import PASS, Block, C, Call, Code, Param, Yield
from shapes import holder


def yielding(g, name, parameters, write):
    k, w = holder(g, name), g.w
    w.open("class %s" % k)
    code = Code("%s.%s" % (k, name), w.path)
    w.open("def self.%s(n = 1%s)" % (name, parameters), code)
    w.line("$count += 1", code)
    cost = g.burn(w, code) + (write(w, code) or 0)
    w.line("n", code)
    w.close("end", code)
    w.close("end")
    return code, "%s.%s" % (k, name), cost + 10


def with_block(code, expr, cost):
    """steps is called with the block's code."""
    return Target(expr, lambda block: [Call(code, block)], cost)


@yielder
def plain_yield(g, name):
    def write(w, code):
        code.at(w.line("yield n", code), Yield())
    return with_block(*yielding(g, name, "", write))


@yielder
def two_yields(g, name):
    def write(w, code):
        w.open("if n.odd?", code)
        code.at(w.line("yield n + 1", code), Yield())
        w.middle("else", code)
        code.at(w.line("yield(n - 1)", code), Yield())
        w.close("end", code)
    return with_block(*yielding(g, name, "", write))


@yielder
def called_block(g, name):
    def write(w, code):
        code.at(w.line(g.one_of("b.call(n)", "b.(n)", "b[n]"), code), Yield())
    return with_block(*yielding(g, name, ", &b", write))


@yielder
def yield_in_block(g, name):
    def write(w, code):
        block = code.block()
        code.at(w.open("[n].each do |n|", code, block), C("Array#each", Block(block)))
        cost = g.burn(w, block)
        block.at(w.line("yield n", block), Yield())
        w.close("end", block)
        return cost
    return with_block(*yielding(g, name, "", write))


@yielder
def passed_on(g, name):
    known = [t for t in g.yielders if not t.by_keyword]
    if not known:
        return plain_yield(g, name)
    t = g.rnd.choice(known)

    def write(w, code):
        code.at(w.line("%s(n, &b)" % t.expr, code), *t.steps(PASS))
        return t.cost
    return with_block(*yielding(g, name, ", &b", write))


@yielder
def wrapped(g, name):
    known = [t for t in g.yielders if not t.by_keyword]
    if not known:
        return plain_yield(g, name)
    t = g.rnd.choice(known)

    def write(w, code):
        block = code.block()
        line = w.line("%s(n) { |n| yield n }" % t.expr, code, block)
        code.at(line, *t.steps(block))
        block.at(line, Yield())
        return t.cost
    return with_block(*yielding(g, name, "", write))


@yielder
def super_with_block(g, name):
    """super passes the block on by itself."""
    k, w = holder(g, name), g.w
    base = Code("B%s#%s" % (k, name), w.path)
    w.open("class B%s" % k)
    w.open("def %s(n = 1)" % name, base)
    base.at(w.line("yield n", base), Yield())
    w.line("n", base)
    w.close("end", base)
    w.close("end")
    code = Code("%s#%s" % (k, name), w.path)
    w.open("class %s < B%s" % (k, k))
    w.open("def %s(n = 1)" % name, code)
    cost = g.burn(w, code)
    code.at(w.line("super", code), Call(base, PASS))
    w.line("$count += 1", code)
    w.close("end", code)
    w.close("end")
    w.line("O%s = %s.new" % (k, k))
    return with_block(code, "O%s.%s" % (k, name), cost + 20)


@yielder
def given_as_keyword(g, name):
    """The caller passes a lambda by keyword instead of a block; expr ends in ("""
    def write(w, code):
        code.at(w.line("f.call(n)", code), Param("f"))
    code, expr, cost = yielding(g, name, ", f:", write)
    t = Target(expr, lambda block: [Call(code, None, {"f": block})], cost)
    t.by_keyword = True
    return t
