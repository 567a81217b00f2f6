"""Methods that an operator or the VM calls. Each such method is made for one call."""
from graphgen import edge
from model import Block, C, Call, Code, Yield, c_chain
from edges_blocks import IFUNC

# method, its parameters, what calls it, what it returns, C frames between the two,
# C frames that can run beside it
IMPLICIT = [
    ("to_s", "", '"#{%s}"', '"s"', [], []),
    ("inspect", "", "%s.then(&:inspect)", '"s"', ["Kernel#then"], []),
    ("hash", "", "{n => n}[%s]", "7", [], ["Kernel#eql?"]),
    ("<=>", "o", "x = [%s, %s]; x.min", "0", ["Array#min"], []),
    ("coerce", "o", "n + %s", "[n, n]", ["Integer#+"], []),
    ("===", "o", "case n when %s then n end", "true", [], []),
    ("deconstruct", "", "case %s; in [1] then n end", "[1]", [],
     ["Kernel#respond_to?", "Integer#===", "Array#length"]),
    ("call", "o", "%s.(n)", "n", [], []),
    ("[]", "o", "%s[n]", "n", [], []),
    ("[]=", "o, v", "%s[n] = n", "n", [], []),
    ("-@", "", "-%s", "n", [], []),
    ("<<", "o", "%s << n", "n", [], []),
    ("+", "o", "%s + n", "n", [], []),
    ("to_proc", "", "[].each(&%s)", ":a.to_proc", [], ["Array#each"]),
    ("to_ary", "", "x, y = %s", "[1, 2]", [], []),
    ("to_str", "", "'a' + %s", '"s"', ["String#+"], []),
    ("!", "", "!%s", "n", [], []),
    ("!=", "o", "%s != n", "n", [], []),
    ("=~", "o", "%s =~ n", "n", [], []),
    ("each", "", "for x in %s do n end", "n", [], []),
]
RETURNS = {":a.to_proc": C("Symbol#to_proc")}


@edge(8)
def implicit(g, w, code, room):
    name, parameters, text, value, between, beside = g.rnd.choice(IMPLICIT)
    k = "V%d" % g.number("implicit")

    def write(inner):
        method = Code("%s#%s" % (k, name), inner.path)
        inner.open("class %s" % k)
        inner.open("def %s(%s)" % (name, parameters), method)
        inner.line("n = 1", method)
        cost = g.body(inner, method, room - 50, 1)
        method.at(inner.line(value, method), *([RETURNS[value]] if value in RETURNS else []))
        inner.close("end", method)
        inner.close("end")
        inner.line("O%s = %s.new" % (k, k))
        return method, cost
    method, cost = g.aside(write)
    call = Call(method)
    # As in `sent`: "&:inspect" can become a block in C.
    after = [call, C(IFUNC, call)] + ([C(between[0])] if name == "coerce" else [])
    steps = [c_chain(between, *after) if between else call]
    code.at(w.line(text.replace("%s", "O" + k), code), *steps, *(C(label) for label in beside))
    return cost + 20


@edge(2)
def initializer(g, w, code, room):
    k = "I%d" % g.number("initialize")
    opener, new, parameters, between = g.one_of(
        ("class %s", "%s.new(n)", "n", "Class#new"),
        ("%s = Struct.new(:a) do", "%s.new(n)", "n", "%s.new"),
        ("%s = Data.define(:a) do", "%s.new(a: n)", "a:", "%s.new"))

    def write(inner):
        method = Code("%s#initialize" % k, inner.path)
        inner.open(opener % k)
        inner.open("def initialize(%s)" % parameters, method)
        inner.line("n = 1", method)
        cost = g.body(inner, method, room - 50, 1)
        if parameters == "a:":
            method.at(inner.line("super(a: n)", method), C("Data#initialize"))
        inner.close("end", method)
        inner.close("end")
        return method, cost
    method, cost = g.aside(write)
    code.at(w.line(new % k, code), C(between.replace("%s", k), Call(method)))
    return cost + 20


@edge(3)
def mixed_in(g, w, code, room):
    """Comparable and Enumerable call back into the class that includes them."""
    k = "E%d" % g.number("enumerable")

    def write(inner):
        each, compare = Code("%s#each" % k, inner.path), Code("%s#<=>" % k, inner.path)
        inner.open("class %s" % k)
        inner.line("include Enumerable, Comparable")
        inner.open("def each", each)
        inner.line("n = 1", each)
        cost = g.body(inner, each, room // 3, 1)
        each.at(inner.line("yield n", each), Yield())
        inner.close("end", each)
        inner.open("def <=>(other)", compare)
        inner.line("n = 1", compare)
        cost += g.body(inner, compare, room // 3, 1)
        inner.line("0", compare)
        inner.close("end", compare)
        inner.close("end")
        inner.line("O%s = %s.new" % (k, k))
        return each, compare, 2 * cost
    each, compare, cost = g.aside(write)
    op = g.one_of("<", ">", "<=", "==")
    code.at(w.line("O%s %s %s" % (k, op, k + ".new" if op == "==" else "O" + k), code),
            C("Class#new", C("BasicObject#initialize")), C("Comparable#" + op, Call(compare)))
    block = code.block()
    name = g.one_of("map", "each_with_index", "find", "sum", "to_a")
    if name == "to_a":
        code.at(w.line("O%s.to_a" % k, code), C("Enumerable#to_a", Call(each, C(IFUNC))))
        return cost + 20
    code.at(w.open("O%s.%s do |v|" % (k, name), code, block),
            C("Enumerable#" + name, Call(each, C(IFUNC, Block(block)))))
    cost += g.body(w, block, room // 3)
    w.line("1", block)
    w.close("end", code, block)
    return cost + 30


@edge(1)
def hooks(g, w, code, room):
    """const_missing: called by the VM at the place of a constant."""
    k = "H%d" % g.number("hook")

    def write(inner):
        method = Code("%s.const_missing" % k, inner.path)
        inner.open("class %s" % k)
        inner.open("def self.const_missing(name)", method)
        inner.line("n = 1", method)
        cost = g.body(inner, method, room - 50, 1)
        inner.line("n", method)
        inner.close("end", method)
        inner.close("end")
        return method, cost
    method, cost = g.aside(write)
    code.at(w.line("%s::Nothing" % k, code), Call(method))
    return cost + 50
