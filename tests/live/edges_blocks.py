"""Calls through methods that take a block."""
from graphgen import edge
from model import Block, C, c_chain

IFUNC = "[block in C]"
# `lambda` and `proc` as the VM calls them, on an object of its own.
NEW_LAMBDA, NEW_IFUNC = "RubyVM::FrozenCore.lambda", "RubyVM::FrozenCore.proc"

# (opener, C frames above the block, how often the block runs, what they call besides it)
ITERATORS = [
    ("[n, n].each", ["Array#each"], 2),
    ("[n, n].map", ["Array#map"], 2),
    ("[n].select", ["Array#select"], 1),
    ("[n].reject", ["Array#reject"], 1),
    ("[n].each_index", ["Array#each_index"], 1),
    ("[n].reverse_each", ["Array#reverse_each"], 1),
    ("[n].any?", ["Array#any?"], 1),
    ("[n].all?", ["Array#all?"], 1),
    ("[n].count", ["Array#count"], 1),
    ("[n].find_index", ["Array#find_index"], 1),
    ("[n].delete_if", ["Array#delete_if"], 1),
    ("[n].zip([n])", ["Array#zip"], 1),
    ("[n].cycle(1)", ["Array#cycle"], 1),
    ("[n].each_with_index", ["Enumerable#each_with_index", "Array#each", IFUNC], 1),
    ("[n].each_with_object([])", ["Enumerable#each_with_object", "Array#each", IFUNC], 1),
    ("[n].flat_map", ["Enumerable#flat_map", "Array#each", IFUNC], 1),
    ("[n].find", ["Enumerable#find", "Array#each", IFUNC], 1),
    ("[n].group_by", ["Enumerable#group_by", "Array#each", IFUNC], 1),
    ("[n].partition", ["Enumerable#partition", "Array#each", IFUNC], 1),
    ("[n].each_entry", ["Enumerable#each_entry", "Array#each", IFUNC], 1),
    ("(n..n).each", ["Range#each"], 1),
    ("(n..n).map", ["Enumerable#map", "Range#each", IFUNC], 1),
    ("n.upto(n)", ["Integer#upto"], 1),
    ("n.downto(n)", ["Integer#downto"], 1, "Integer#pred"),
    ("n.step(n, 1)", ["Numeric#step"], 1),
    ("2.times", ["Integer#times"], 2),
    ("n.tap", ["Kernel#tap"], 1),
    ("n.then", ["Kernel#then"], 1),
    ("n.instance_exec(n)", ["BasicObject#instance_exec"], 1),
    ("Err.class_exec(n)", ["Module#class_exec"], 1),
    ("'ab'.each_char", ["String#each_char"], 2),
    ("'ab'.each_byte", ["String#each_byte"], 2),
    ("'a'.gsub(/a/)", ["String#gsub"], 1),
    ("'a'.scan('a')", ["String#scan"], 1),
    ("{n => n}.each_key", ["Hash#each_key"], 1),
    ("{n => n}.transform_values", ["Hash#transform_values"], 1),
    ("{}.fetch(n)", ["Hash#fetch"], 1),
    ("Array.new(1)", ["Array.new", "Array#initialize"], 1),
    ("catch(:nothing)", ["Kernel#catch"], 1),
]
NEEDS_VALUE = {"'a'.gsub(/a/)": '""'}

PAIRS = [
    ("{n => n}.each", ["Hash#each"], 1),
    ("{n => n}.each_pair", ["Hash#each_pair"], 1),
    ("{n => n}.map", ["Enumerable#map", "Hash#each", IFUNC], 1),
    ("{n => n}.to_h", ["Hash#to_h"], 1),
    ("{n => n}.select", ["Hash#select"], 1),
    ("[n].inject(n)", ["Enumerable#inject", "Array#each", IFUNC], 1),
]
PAIR_VALUE = {"{n => n}.to_h": "[n, m]"}


@edge(16)
def iterator(g, w, code, room):
    text, labels, times, *beside = g.rnd.choice(ITERATORS)
    return with_block(g, w, code, room, text, labels, times, "|v|", NEEDS_VALUE.get(text, "n"), *beside)


@edge(4)
def pairs(g, w, code, room):
    text, labels, times = g.rnd.choice(PAIRS)
    return with_block(g, w, code, room, text, labels, times, "|m, v|", PAIR_VALUE.get(text, "n"))


def with_block(g, w, code, room, text, labels, times, parameters, value, *beside):
    # Blocks take n from the method around them.
    block = code.block()
    step = c_chain(labels, Block(block), *(C(label) for label in beside))
    if g.rnd.random() < 0.3:
        t = g.target(room // times)
        if t:
            line = w.line("%s { %s %s; %s }" % (text, parameters, t.expr, value.replace("m", "n")),
                          code, block)
            code.at(line, step)
            block.at(line, *t.steps)
            return t.cost * times + 20
    code.at(w.open("%s do %s" % (text, parameters), code, block), step)
    cost = g.body(w, block, room // times) * times
    w.line(value, block)
    w.close("end", code, block)
    return cost + 20


@edge(2)
def loop_and_break(g, w, code, room):
    block = code.block()
    i = g.locals()
    w.line("%s = 0" % i, code)
    code.at(w.open("loop do", code, block), C("Kernel#loop", Block(block)))
    w.line("%s += 1" % i, block)
    cost = g.body(w, block, room // 2) * 2
    w.line("break if %s == 2" % i, block)
    w.close("end", code, block)
    return cost + 20


@edge(1)
def for_loop(g, w, code, room):
    block = code.block()
    code.at(w.open("for %s in [n, n]" % g.locals(), code, block), C("Array#each", Block(block)))
    cost = g.body(w, block, room // 2) * 2
    w.close("end", code, block)
    return cost + 20


@edge(2)
def sorting(g, w, code, room):
    """The number of calls is fixed for so few elements."""
    block = code.block()
    text, chains, times = g.one_of(
        ("[n, n].sort", [["Array#sort"]], 1),
        ("[n, n].sort_by", [["Enumerable#sort_by", "Array#each", IFUNC]], 2),
        ("[n, n].max_by", [["Enumerable#max_by", "Array#each", IFUNC]], 2),
        ("[n, n].min", [["Array#min"]], 1),
        ("[n, n].sum", [["Array#sum"]], 2))
    code.at(w.open("%s do" % text, code, block), *(c_chain(x, Block(block)) for x in chains))
    cost = g.body(w, block, room // times) * times
    w.line("0", block)
    w.close("end", code, block)
    return cost + 20


@edge(3)
def numbered_parameter(g, w, code, room):
    t = g.target(room)
    if not t:
        return g.burn(w, code)
    block = code.block()
    line = w.line("[n].each { %s; %s }" % (g.one_of("_1", "it"), t.expr), code, block)
    code.at(line, C("Array#each", Block(block)))
    block.at(line, *t.steps)
    return t.cost + 10


@edge(2)
def local_lambda(g, w, code, room):
    """Made on one line, called on others: directly, by each, by define_method's kin."""
    block, f = code.block(), g.locals()
    opener = g.one_of("%s = lambda do |v|", "%s = proc do |v|", "%s = ->(v) do") % f
    made = {"l": "Kernel#lambda", "p": "Kernel#proc", "-": NEW_LAMBDA}[opener.split(" = ")[1][0]]
    code.at(w.open(opener, code, block), C(made))
    cost = g.body(w, block, room // 2)
    w.close("end", code, block)
    code.at(w.line("%s.call(n)" % f, code), Block(block))
    code.at(w.line("[n].each(&%s)" % f, code), C("Array#each", Block(block)))
    return 2 * cost + 20


@edge(1)
def nested_lambda(g, w, code, room):
    outer = code.block()
    inner = outer.block()
    f = g.locals()
    code.at(w.open("%s = ->(v) do" % f, code, outer), C(NEW_LAMBDA))
    outer.at(w.open("->(v) do", outer, inner), C(NEW_LAMBDA))
    cost = g.body(w, inner, room)
    w.close("end", inner)
    w.close("end", outer)
    line = w.line("%s.(n).(n)" % f, code)
    code.at(line, Block(outer), Block(inner))
    return cost + 20


@edge(6)
def with_yielder(g, w, code, room):
    some = [t for t in g.yielders if t.cost <= room]
    if not some:
        return g.burn(w, code)
    t = g.rnd.choice(some)
    block = code.block()
    if t.by_keyword:
        line = w.open("%s(n, f: ->(v) do" % t.expr, code, block)
        code.at(line, C(NEW_LAMBDA), *t.steps(block))
    else:
        line = w.open("%s(n) do |v|" % t.expr, code, block)
        code.at(line, *t.steps(block))
    cost = g.body(w, block, room - t.cost)
    w.close("end)" if t.by_keyword else "end", code, block)
    return cost + t.cost + 10


@edge(2)
def default_proc(g, w, code, room):
    """Hash#[] itself has no frame when it is an instruction, and one when it is sent."""
    block, h = code.block(), g.locals()
    new = C("Hash.new", C("Hash#initialize"))
    code.at(w.open("%s = Hash.new do |hash, key|" % h, code, block), new, C("Class#new", *new.then))
    cost = g.body(w, block, room)
    w.line("key", block)
    w.close("end", code, block)
    text, *steps = g.one_of(("%s[n]", Block(block), C("Hash#[]", Block(block))),
                            ("%s.public_send(:[], n)", C("Kernel#public_send", C("Hash#[]", Block(block)))))
    code.at(w.line(text % h, code), *steps)
    return cost + 20


@edge(1)
def lazily(g, w, code, room):
    block = code.block()
    code.at(w.open("[n].lazy.map do |v|", code, block), C("Enumerable#lazy", *LAZY),
            C("Enumerator::Lazy#map", *LAZY))
    cost = g.body(w, block, room)
    code.at(w.close("end.to_a", code, block),
            c_chain(["Enumerable#to_a", "Enumerator#each"],
                    C("Enumerator::Generator#each", C(NEW_IFUNC),
                      c_chain([IFUNC, "Enumerator#each", "Array#each", IFUNC], Block(block),
                              C("Enumerator::Yielder#<<", C(IFUNC, C(IFUNC)))))))
    return cost + 40


# What making an enumerator calls.
LAZY = [C("Enumerator::Generator#initialize"), C("Class#new", C("Enumerator#initialize")),
        C("Enumerator::Lazy#initialize", C("Enumerator::Generator#initialize")), C(NEW_IFUNC)]
