"""Ways to use some time in one place."""
from graphgen import burn
from model import C


@burn
def count_up(g, w, code):
    v, times = g.locals(), g.rnd.choice([20, 40, 80])
    w.line("%s = 0" % v, code)
    w.open("while %s < %d" % (v, times), code)
    w.line("%s += 1" % v, code)
    w.close("end", code)
    return times


@burn
def count_down(g, w, code):
    v, times = g.locals(), g.rnd.choice([20, 40, 80])
    w.line("%s = %d" % (v, times), code)
    w.line("%s -= 1 until %s == 0" % (v, v), code)
    return times


@burn
def many_lines(g, w, code):
    v = g.locals()
    w.line("%s = 0" % v, code)
    w.open("while %s < 20" % v, code)
    w.line("x = %s & 3" % v, code)
    w.line("y = x * 2 +", code)
    w.line("  x * 5", code)
    w.line("z = x > 2 ? y : x", code)
    w.line("%s += 1" % v, code)
    w.close("end", code)
    return 80


@burn
def allocate(g, w, code):
    v = g.locals()
    w.line("%s = 0" % v, code)
    w.open("while %s < 10" % v, code)
    w.line("x = [%s, n]" % v, code)
    w.line("%s += 1" % v, code)
    w.close("end", code)
    return 50


@burn
def in_c(g, w, code):
    text, label, cost = g.one_of(
        ('"ab" * 300', "String#*", 10), ('"%d" % 12', "String#%", 20),
        ("[5, 3, 4].sort!", "Array#sort!", 10), ("Integer.sqrt(10 ** 40)", "Integer.sqrt", 30),
        ("('x' * 200).count('y')", "String#count", 20), ("3 ** 200", "Integer#**", 30),
        ('"a b c".split', "String#split", 20))
    beside = {"Integer.sqrt": "Integer#**", "String#count": "String#*"}.get(label)
    code.at(w.line(text, code), C(label), *([C(beside)] if beside else []))
    return cost
