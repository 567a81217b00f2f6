"""Exceptions, jumps, loops, fibers, threads."""
from graphgen import edge
from edges_blocks import IFUNC, NEW_IFUNC
from model import Block, C, c_chain

# What Kernel#raise calls, with a class and a message.
RAISE = C("Kernel#raise", C("Exception.exception", C("Exception#initialize")), C("Exception#initialize"),
          C("Exception#exception"))
MATCH = C("Module#===")


def goes_on(code, *lines):
    """Just before a clause begins and just after it has ended, the innermost frame is that of the method, with the
    line where it goes on."""
    for line in lines:
        code.at(line)


@edge(6)
def rescued(g, w, code, room):
    """While a rescue clause runs, its method is at the line of the call that raised."""
    handler = code.handler("rescue")
    goes_on(code, w.open("begin", code))
    code.at(w.line('raise Err, "x"', code), RAISE, Block(handler))
    w.middle("rescue Err => e", code, handler)
    handler.at(w.first + len(w.lines) - 1, MATCH)
    cost = g.body(w, handler, room - 100)
    w.close("end", code, handler)
    return cost + 100


@edge(2)
def rescued_from_below(g, w, code, room):
    """The exception comes out of a block in a method in C."""
    block, handler = code.block(), code.handler("rescue")
    goes_on(code, w.open("begin", code))
    code.at(w.open("[n].each do |v|", code, block), C("Array#each", Block(block)), Block(handler))
    cost = g.body(w, block, room // 2)
    block.at(w.line('raise Err, "x"', block), RAISE)
    w.close("end", code, block)
    w.middle("rescue Err2, Err", code, handler)
    handler.at(w.first + len(w.lines) - 1, MATCH)
    cost += g.body(w, handler, room // 2)
    w.close("end", code, handler)
    return cost + 150


@edge(2)
def retried(g, w, code, room):
    handler = code.handler("rescue")
    v = g.locals()
    w.line("%s = 0" % v, code)
    goes_on(code, w.open("begin", code))
    w.line("%s += 1" % v, code)
    cost = g.call(w, code, room // 3) * 2
    code.at(w.line('raise Err, "x" if %s == 1' % v, code), RAISE, Block(handler))
    cost += g.call(w, code, room // 3)
    w.middle("rescue Err", code, handler)
    handler.at(w.first + len(w.lines) - 1, MATCH)
    w.line("retry", handler)
    w.close("end", code, handler)
    return cost + 100


@edge(3)
def ensured(g, w, code, room):
    """Nothing is raised: the clause is part of the method's own code."""
    w.open("begin", code)
    cost = g.call(w, code, room // 2)
    w.middle("ensure", code)
    cost += g.call(w, code, room // 2)
    w.close("end", code)
    return cost


@edge(3)
def ensured_by_raise(g, w, code, room):
    """When an exception passes, the clause runs as code of its own. Its method contains the clause a second
    time, for when there is no exception."""
    clause, handler = code.handler("ensure"), code.handler("rescue")
    goes_on(code, w.open("begin", code))
    w.open("begin", code)
    # Also while the clause at the end of the outer one runs: the method itself has done nothing since.
    code.at(w.line('raise Err, "x"', code), RAISE, Block(clause), Block(handler))
    first = w.middle("ensure", code, clause)
    cost = g.burn(w, clause)
    t = g.target(room - 100)
    last = w.line(t.expr if t else "n = n", clause)
    if t:
        clause.at(last, *t.steps)
        cost += t.cost
    goes_on(code, *range(first, w.close("end", clause) + 1))
    w.middle("rescue Err", code, handler)
    handler.at(w.first + len(w.lines) - 1, MATCH)
    w.line("x = n", handler)
    w.close("end", code, handler)
    return cost + 150


@edge(2)
def thrown(g, w, code, room):
    block = code.block()
    code.at(w.open("catch(:done) do", code, block), C("Kernel#catch", Block(block)))
    cost = g.body(w, block, room)
    block.at(w.line("throw :done, n", block), C("Kernel#throw"))
    w.line("x = n", block)
    w.close("end", code, block)
    return cost + 60


@edge(3)
def case_when(g, w, code, room):
    t = [g.target(room // 2), g.target(room // 2)]
    if None in t:
        return g.burn(w, code)
    w.line("case n % 2", code)
    for value, x in zip(("0", "1"), t):
        w.line("when " + value, code)
        code.at(w.line("  " + x.expr, code), *x.steps)
    w.line("end", code)
    return max(x.cost for x in t)


@edge(2)
def while_loop(g, w, code, room):
    v = g.locals()
    t = g.target(room // 3)
    w.line("%s = 0" % v, code)
    condition = "while (%s += 1) < 3" % v
    if t and g.rnd.random() < 0.5:
        code.at(w.open("%s && (%s; true)" % (condition, t.expr), code), *t.steps)
        cost = g.burn(w, code) * 2 + t.cost * 2
    else:
        w.open(condition, code)
        cost = g.call(w, code, room // 2) * 2
    w.close("end", code)
    return cost


@edge(3)
def in_a_fiber(g, w, code, room):
    """A fiber has a stack of its own: its block is the outermost frame."""
    block, f = code.block(), g.locals()
    code.at(w.open("%s = Fiber.new do |n|" % f, code, block), C("Class#new", C("Fiber#initialize")))
    cost = g.body(w, block, room // 2)
    block.at(w.line("n = Fiber.yield(n)", block), C("Fiber.yield"))
    cost += g.body(w, block, room // 2)
    w.close("end", block, code)
    code.at(w.line("%s.resume(n)" % f, code), C("Fiber#resume"))
    code.at(w.line("%s.resume(n)" % f, code), C("Fiber#resume"))
    g.roots.append(Block(block))
    return cost + 300


@edge(2)
def external_enumerator(g, w, code, room):
    """Enumerator#next runs the enumeration in a fiber."""
    block, f = code.block(), g.locals()
    made = C("Class#new", C("Enumerator#initialize"))
    code.at(w.open("%s = Enumerator.new do |to|" % f, code, block), made)
    cost = g.body(w, block, room)
    block.at(w.line("to << n", block), c_chain(["Enumerator::Yielder#<<", IFUNC, IFUNC, "Fiber.yield"]))
    w.close("end", block, code)
    code.at(w.line("%s.next" % f, code), C("Enumerator#next", C(NEW_IFUNC), C("Fiber#resume")))
    g.roots.append(c_chain([IFUNC, "Enumerator#each", "Enumerator::Generator#each"],
                           C(NEW_IFUNC), Block(block)))
    return cost + 400


@edge(1)
def in_a_thread(g, w, code, room):
    block = code.block()
    v = g.locals()
    code.at(w.open("%s = Thread.new do" % v, code, block), C("Thread.new", C("Thread#initialize")))
    cost = g.body(w, block, room)
    w.close("end", block, code)
    code.at(w.line("%s.%s" % (v, g.one_of("join", "value")), code), C("Thread#join"), C("Thread#value"))
    g.roots.append(Block(block))
    return cost + 2500
