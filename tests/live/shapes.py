"""Ways to define a method. Each name is used once in a program."""
from graphgen import Target, shape
from model import Block, C, Call, Code


def define(g, label, opener, room=None, name_in=None):
    """Write a method; the writer is where it is to be. Returns (code, cost)."""
    w = g.w
    code = Code(label, w.path)
    w.open(opener, code)
    w.line("$count += 1", code)
    cost = g.body(w, code, room or g.CAP)
    w.close("end", code)
    return code, cost + 10


def holder(g, name, keyword="class"):
    return "%s%s" % (keyword[0].upper(), name[1:])


@shape
def instance_method(g, name):
    k = holder(g, name)
    g.w.open("class %s" % k)
    code, cost = define(g, "%s#%s" % (k, name), "def %s(n = 1)" % name)
    g.w.close("end")
    g.w.line("O%s = %s.new" % (k, k))
    return Target("O%s.%s(n)" % (k, name), [Call(code)], cost, "O%s" % k, name)


@shape
def private_toplevel(g, name):
    code, cost = define(g, "Object#%s" % name, "def %s(n = 1)" % name)
    return Target("%s(n)" % name, [Call(code)], cost)


@shape
def class_method(g, name):
    k = holder(g, name)
    g.w.open("class %s" % k)
    code, cost = define(g, "%s.%s" % (k, name), "def self.%s(n = 1)" % name)
    g.w.close("end")
    return Target("%s.%s(n)" % (k, name), [Call(code)], cost, k, name)


@shape
def nested_singleton(g, name):
    k = holder(g, name)
    g.w.open("module N%s" % k)
    g.w.open("class %s" % k)
    g.w.open("class << self")
    code, cost = define(g, "N%s::%s.%s" % (k, k, name), "def %s(n = 1)" % name)
    g.w.close("end")
    g.w.close("end")
    g.w.close("end")
    full = "N%s::%s" % (k, k)
    return Target("%s.%s(n)" % (full, name), [Call(code)], cost, full, name)


@shape
def singleton_of_singleton(g, name):
    k = holder(g, name)
    g.w.line("class %s; end" % k)
    g.w.open("class << %s.singleton_class" % k)
    code, cost = define(g, "#<singleton of %s>.%s" % (k, name), "def %s(n = 1)" % name)
    g.w.close("end")
    return Target("%s.singleton_class.%s(n)" % (k, name), [Call(code), C("Kernel#singleton_class")],
                  cost)


@shape
def instance_singleton(g, name):
    k = holder(g, name)
    g.w.line("class %s; end" % k)
    g.w.line("O%s = %s.new" % (k, k))
    code, cost = define(g, "#<instance of %s>.%s" % (k, name), "def O%s.%s(n = 1)" % (k, name))
    return Target("O%s.%s(n)" % (k, name), [Call(code)], cost, "O%s" % k, name)


@shape
def anonymous_class(g, name):
    k = holder(g, name)
    g.w.line("class %s; end" % k)
    g.w.open("O%s = Class.new(%s) do" % (k, k))
    code, cost = define(g, "#<anonymous subclass of %s>#%s" % (k, name), "def %s(n = 1)" % name)
    g.w.close("end.new")
    return Target("O%s.%s(n)" % (k, name), [Call(code)], cost, "O%s" % k, name)


@shape
def anonymous_module(g, name):
    k = holder(g, name)
    g.w.open("O%s = Object.new.extend(Module.new do" % k)
    code, cost = define(g, "#<anonymous module>#%s" % name, "def %s(n = 1)" % name)
    g.w.close("end)")
    return Target("O%s.%s(n)" % (k, name), [Call(code)], cost, "O%s" % k, name)


@shape
def named_later(g, name):
    k = holder(g, name)
    g.w.open("klass = Class.new do")
    code, cost = define(g, "%s#%s" % (k, name), "def %s(n = 1)" % name)
    g.w.close("end")
    g.w.line("%s = klass" % k)
    g.w.line("O%s = %s.new" % (k, k))
    return Target("O%s.%s(n)" % (k, name), [Call(code)], cost, "O%s" % k, name)


@shape
def module_function(g, name):
    k = holder(g, name, "module")
    g.w.open("module %s" % k)
    g.w.line("module_function")
    code, cost = define(g, "%s.%s" % (k, name), "def %s(n = 1)" % name)
    g.w.close("end")
    return Target("%s.%s(n)" % (k, name), [Call(code)], cost, k, name)


@shape
def alias(g, name):
    k = holder(g, name)
    g.w.open("class %s" % k)
    code, cost = define(g, "%s#%s" % (k, name), "def %s(n = 1)" % name)
    g.w.line(g.one_of("alias %s_other %s", "alias_method :%s_other, :%s") % (name, name))
    g.w.close("end")
    g.w.line("O%s = %s.new" % (k, k))
    return Target("O%s.%s_other(n)" % (k, name), [Call(code)], cost, "O%s" % k, name + "_other")


@shape
def struct_method(g, name):
    k = holder(g, name)
    g.w.open(g.one_of("%s = Struct.new(:a, :b) do", "%s = Data.define(:a, :b) do") % k)
    code, cost = define(g, "%s#%s" % (k, name), "def %s(n = a)" % name)
    g.w.close("end")
    g.w.line("O%s = %s.new(1, 2)" % (k, k))
    return Target("O%s.%s(n)" % (k, name), [Call(code)], cost, "O%s" % k, name)


@shape
def defined_by_block(g, name):
    """define_method: the code is a block of the class body, and is called after the method."""
    k, w = holder(g, name), g.w
    w.open("class %s" % k)
    base = "<class:%s>" % k
    code = Code("%s#%s" % (k, name), w.path, base, 1, "block in " + base)
    w.open("define_method(:%s) do |n = 1|" % name, code)
    w.line("$count += 1", code)
    cost = g.body(w, code, g.CAP)
    w.close("end", code)
    w.close("end")
    w.line("O%s = %s.new" % (k, k))
    return Target("O%s.%s(n)" % (k, name), [Call(code)], cost + 10, "O%s" % k, name)


@shape
def defined_singleton(g, name):
    k, w = holder(g, name), g.w
    w.line("class %s; end" % k)
    code = Code("%s.%s" % (k, name), w.path, "<main>", 1, "block in <main>")
    w.open("%s.define_singleton_method(:%s) do |n = 1|" % (k, name), code)
    w.line("$count += 1", code)
    cost = g.body(w, code, g.CAP)
    w.close("end", code)
    return Target("%s.%s(n)" % (k, name), [Call(code)], cost + 10, k, name)


@shape
def refinement(g, name):
    """`using` is lexical: code after it sees the method, also through send."""
    k = holder(g, name)
    g.w.line("class %s; end" % k)
    g.w.open("module R%s" % k)
    of, to = g.one_of((k, "O%s" % k), (k + ".singleton_class", k))
    g.w.open("refine %s do" % of)
    owner = k if of == k else "#<singleton of %s>" % k
    code, cost = define(g, "#<refinement R%s of %s>#%s" % (k, owner, name), "def %s(n = 1)" % name)
    g.w.close("end")
    g.w.close("end")
    g.w.line("using R%s" % k)
    g.w.line("O%s = %s.new" % (k, k))
    return Target("%s.%s(n)" % (to, name), [Call(code)], cost)


@shape
def super_chain(g, name):
    """A superclass, an included and a prepended module, each with the method."""
    k, w = holder(g, name), g.w
    codes, total = [], 0
    for owner, opener in (("B" + k, "class B%s"), ("I" + k, "module I%s"), (k, "class %s < B%s"),
                          ("P" + k, "module P%s")):
        w.open(opener % ((k,) * opener.count("%s")))
        if owner == k:
            w.line("include I%s" % k)
        code = Code("%s#%s" % (owner, name), w.path)
        w.open("def %s(n = 1)" % name, code)
        total += g.body(w, code, (g.CAP - total) // 2, 1)
        if codes:
            text = g.one_of("super", "super(n)", "n + super")
            code.at(w.line(text, code), Call(codes[-1]))
        else:
            w.line("$count += 1", code)
        w.line("n", code)
        w.close("end", code)
        w.close("end")
        codes.append(code)
    w.line("%s.prepend(P%s)" % (k, k))
    w.line("O%s = %s.new" % (k, k))
    return Target("O%s.%s(n)" % (k, name), [Call(codes[-1])], total + 30, "O%s" % k, name)


@shape
def method_missing(g, name):
    k, w = holder(g, name), g.w
    w.open("class %s" % k)
    w.line("def respond_to_missing?(*) = true")
    code = Code("%s#method_missing" % k, w.path)
    w.open("def method_missing(name, n = 1)", code)
    w.line("$count += 1", code)
    cost = g.body(w, code, g.CAP)
    w.close("end", code)
    w.close("end")
    w.line("O%s = %s.new" % (k, k))
    return Target("O%s.%s(n)" % (k, name), [Call(code)], cost + 20)


@shape
def evaluated_method(g, name):
    """Defined by a string with a file name and lines of its own."""
    k, outer = holder(g, name), g.w
    g.w = inner = g.evaluated()
    code, cost = define(g, "%s#%s" % (k, name), "def %s(n = 1)" % name)
    g.w = outer
    outer.line("class %s; end" % k)
    g.embed(inner, k + ".class_eval(%s, %s, %d)")
    outer.line("O%s = %s.new" % (k, k))
    return Target("O%s.%s(n)" % (k, name), [Call(code)], cost, "O%s" % k, name)


@shape
def optional_and_keywords(g, name):
    """The values of parameters that are not given are computed by the method itself."""
    k, w = holder(g, name), g.w
    first, second = g.target(g.CAP // 4), g.target(g.CAP // 4)
    w.open("class %s" % k)
    code = Code("%s#%s" % (k, name), w.path)
    a, b = (t.expr if t else "1" for t in (first, second))
    code.at(w.open("def %s(n = 1, a = %s, *rest, k: %s, **others)" % (name, a, b), code),
            *(s for t in (first, second) if t for s in t.steps))
    w.line("$count += 1", code)
    cost = g.body(w, code, g.CAP // 2) + sum(t.cost for t in (first, second) if t)
    w.close("end", code)
    w.close("end")
    w.line("O%s = %s.new" % (k, k))
    return Target("O%s.%s(n)" % (k, name), [Call(code)], cost + 30, "O%s" % k, name)


@shape
def recursive(g, name):
    """Calls itself to a known depth from one of two lines."""
    k, w = holder(g, name), g.w
    deep = g.rnd.choice([3, 10, 60])
    w.open("class %s" % k)
    code = Code("%s.%s" % (k, name), w.path)
    w.open("def self.%s(n = 1, depth = %d)" % (name, deep), code)
    w.open("if depth > 0", code)
    w.open("if depth % 3 == 0", code)
    code.at(w.line("return %s(n, depth - 1)" % name, code), Call(code))
    w.middle("else", code)
    code.at(w.line("n + %s(n, depth - 1)" % name, code), Call(code))
    w.close("end", code)
    w.middle("else", code)
    w.line("$count += 1", code)
    cost = g.body(w, code, g.CAP, 1)
    w.close("end", code)
    w.line("n", code)
    w.close("end", code)
    w.close("end")
    return Target("%s.%s(n)" % (k, name), [Call(code)], cost + 10 * deep, k, name)


@shape
def tail_calls(g, name):
    """Compiled with tail calls: the frame in the middle gives way to what it calls."""
    k, outer = holder(g, name), g.w
    t = g.target(g.CAP)
    # Calls of blocks, of C and through method_missing are no tail calls.
    if not t or not t.receiver or len(t.steps) > 1 or t.steps[0].code.level:
        return instance_method(g, name)
    g.w = w = g.evaluated()
    w.open("class %s" % k)
    code = Code("%s.%s" % (k, name), w.path)
    w.open("def self.%s(n = 1)" % name, code)
    cost = g.burn(w, code)
    w.line(t.expr, code)
    w.close("end", code)
    w.close("end")
    g.w = outer
    g.embed(w, "RubyVM::InstructionSequence.compile(%s, %s, nil, %d, tailcall_optimization: true).eval")
    return Target("%s.%s(n)" % (k, name), [Call(code), *t.steps], cost + t.cost + 10)


@shape
def proc_constant(g, name):
    """Not a method: a proc or lambda that is called from anywhere."""
    w = g.w
    main = Code("<main>", w.path)
    code = main.block()
    w.open("P%s = %s" % (name, g.one_of("proc do |n|", "lambda do |n|", "->(n) do")), code)
    w.line("$count += 1", code)
    cost = g.body(w, code, g.CAP)
    w.close("end", code)
    how = g.one_of("P%s.call(n)", "P%s.(n)", "P%s[n]", "P%s.yield(n)")
    return Target(how % name, [Block(code)], cost + 10)
