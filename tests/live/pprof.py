"""A reader of pprof's profiles by the schema alone."""
import collections
import gzip

import otlp


def parts(data):
    """Field number -> values of a message, in order."""
    found = collections.defaultdict(list)
    for number, _, value in otlp.fields(data):
        found[number].append(value)
    return found


def packed(values):
    """The numbers of a list, packed or not."""
    result = []
    for value in values:
        if isinstance(value, int):
            result.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = otlp.varint(value, at)
            result.append(number)
    return result


def one(message, number):
    return message[number][0] if message[number] else 0


def content(data):
    """What a compressed profile says, whatever the order of its tables: (stacks with their values, about)."""
    profile = parts(gzip.decompress(data))
    strings = [s.decode() for s in profile[6]]

    def by_id(number):
        return {one(p, 1): p for p in map(parts, profile[number])}

    mappings, locations, functions = (by_id(n) for n in (3, 4, 5))

    def text(message, number):
        return strings[one(message, number)]

    def type_of(data):
        return text(parts(data), 1), text(parts(data), 2)

    def mapping(number):
        m = mappings.get(number)
        return m and (one(m, 2), one(m, 3), one(m, 4), text(m, 5), text(m, 6), one(m, 7), one(m, 8), one(m, 9))

    def location(number):
        at = locations[number]
        lines = []
        for line in map(parts, at[4]):
            f = functions[one(line, 1)]
            lines.append((text(f, 2), text(f, 3), text(f, 4), one(f, 5), one(line, 2)))
        return mapping(one(at, 2)), one(at, 3), tuple(lines)

    stacks = {}
    for sample in map(parts, profile[2]):
        labels = tuple(sorted((text(l, 1), text(l, 2), one(l, 3)) for l in map(parts, sample[3])))
        key = tuple(map(location, packed(sample[1]))), labels
        values = packed(sample[2])
        stacks[key] = [a + b for a, b in zip(stacks.get(key, [0] * len(values)), values)]
    about = ([type_of(t) for t in profile[1]], one(profile, 9), one(profile, 10), [type_of(t) for t in profile[11]], one(profile, 12),
             [strings[n] for n in packed(profile[13])], text(profile, 14), sorted(strings), len(functions), len(locations))
    return stacks, about
