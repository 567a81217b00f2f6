"""A reader of OTLP profiles by the schema alone, and the rules of receivers, each as a function that names who has it.

The rules were read in the sources of the receivers: opentelemetry-proto 1.10.0 and 1.11.0 (profiles.proto), Pyroscope
(pkg/ingester/otlp, of August 2026), Parca (pkg/normalizer/otel.go, of July 2026), OpenTelemetry's collector (pdata)."""
import collections
import struct

# message -> field number -> (its name in JSON, its type, is it a list?)
SCHEMA = {
    "ProfilesData": {1: ("resourceProfiles", "ResourceProfiles", True), 2: ("dictionary", "ProfilesDictionary", False)},
    "ProfilesDictionary": {
        1: ("mappingTable", "Mapping", True), 2: ("locationTable", "Location", True), 3: ("functionTable", "Function", True),
        4: ("linkTable", "Link", True), 5: ("stringTable", "string", True), 6: ("attributeTable", "KeyValueAndUnit", True),
        7: ("stackTable", "Stack", True)},
    "ResourceProfiles": {
        1: ("resource", "Resource", False), 2: ("scopeProfiles", "ScopeProfiles", True), 3: ("schemaUrl", "string", False)},
    "ScopeProfiles": {
        1: ("scope", "InstrumentationScope", False), 2: ("profiles", "Profile", True), 3: ("schemaUrl", "string", False)},
    "Profile": {
        1: ("sampleType", "ValueType", False), 2: ("samples", "Sample", True), 3: ("timeUnixNano", "fixed64", False),
        4: ("durationNano", "uint64", False), 5: ("periodType", "ValueType", False), 6: ("period", "int64", False),
        7: ("profileId", "bytes", False), 8: ("droppedAttributesCount", "uint32", False),
        9: ("originalPayloadFormat", "string", False), 10: ("originalPayload", "bytes", False),
        11: ("attributeIndices", "int32", True)},
    "Link": {1: ("traceId", "bytes", False), 2: ("spanId", "bytes", False)},
    "ValueType": {1: ("typeStrindex", "int32", False), 2: ("unitStrindex", "int32", False)},
    "Sample": {
        1: ("stackIndex", "int32", False), 2: ("attributeIndices", "int32", True), 3: ("linkIndex", "int32", False),
        4: ("values", "int64", True), 5: ("timestampsUnixNano", "fixed64", True)},
    "Mapping": {
        1: ("memoryStart", "uint64", False), 2: ("memoryLimit", "uint64", False), 3: ("fileOffset", "uint64", False),
        4: ("filenameStrindex", "int32", False), 5: ("attributeIndices", "int32", True)},
    "Stack": {1: ("locationIndices", "int32", True)},
    "Location": {
        1: ("mappingIndex", "int32", False), 2: ("address", "uint64", False), 3: ("lines", "Line", True),
        4: ("attributeIndices", "int32", True)},
    "Line": {1: ("functionIndex", "int32", False), 2: ("line", "int64", False), 3: ("column", "int64", False)},
    "Function": {
        1: ("nameStrindex", "int32", False), 2: ("systemNameStrindex", "int32", False), 3: ("filenameStrindex", "int32", False),
        4: ("startLine", "int64", False)},
    "KeyValueAndUnit": {1: ("keyStrindex", "int32", False), 2: ("value", "AnyValue", False), 3: ("unitStrindex", "int32", False)},
    "KeyValue": {1: ("key", "string", False), 2: ("value", "AnyValue", False), 3: ("keyStrindex", "int32", False)},
    "AnyValue": {
        1: ("stringValue", "string", False), 2: ("boolValue", "bool", False), 3: ("intValue", "int64", False),
        4: ("doubleValue", "double", False), 5: ("arrayValue", "ArrayValue", False), 6: ("kvlistValue", "KeyValueList", False),
        7: ("bytesValue", "bytes", False), 8: ("stringValueStrindex", "int32", False)},
    "ArrayValue": {1: ("values", "AnyValue", True)},
    "KeyValueList": {1: ("values", "KeyValue", True)},
    "InstrumentationScope": {
        1: ("name", "string", False), 2: ("version", "string", False), 3: ("attributes", "KeyValue", True),
        4: ("droppedAttributesCount", "uint32", False)},
    "EntityRef": {
        1: ("schemaUrl", "string", False), 2: ("type", "string", False), 3: ("idKeys", "string", True),
        4: ("descriptionKeys", "string", True)},
    "Resource": {
        1: ("attributes", "KeyValue", True), 2: ("droppedAttributesCount", "uint32", False), 3: ("entityRefs", "EntityRef", True)},
}
TABLES = ["mappingTable", "locationTable", "functionTable", "linkTable", "attributeTable", "stackTable"]
VARINTS = {"int32", "uint32", "int64", "uint64", "bool"}


class Refused(Exception):
    """A receiver, or the schema, does not take it."""


def need(condition, text, *values):
    if not condition:
        raise Refused(text % values if values else text)


# -- protocol buffers -----------------------------------------------------------------------------

def varint(data, at):
    number = shift = 0
    while True:
        need(at < len(data) and shift < 64, "a number that does not end")
        byte = data[at]
        at += 1
        number |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def number_of(kind, number):
    """As JSON has it."""
    if kind == "bool":
        need(number < 2, "a bool of %d", number)
        return bool(number)
    if kind.startswith("int"):
        bits = 64
        number -= (number >> (bits - 1)) << bits
        need(kind == "int64" or -2**31 <= number < 2**31, "%s of %d", kind, number)
    return str(number) if kind.endswith("64") else number


def fields(data):
    """(number, wire type, value) of a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = data[at:at + 8], at + 8
        else:
            need(wire == 2, "wire type %d", wire)
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        need(at <= len(data), "a field that is cut off")
        yield number, wire, value


def scalar(kind, wire, value):
    if kind == "string":
        need(wire == 2, "a text of wire type %d", wire)
        return value.decode("utf-8")
    if kind == "bytes":
        need(wire == 2, "bytes of wire type %d", wire)
        return value.hex()
    if kind in ("fixed64", "double"):
        need(wire == 1, "%s of wire type %d", kind, wire)
        return str(struct.unpack("<Q", value)[0]) if kind == "fixed64" else struct.unpack("<d", value)[0]
    need(wire == 0 and kind in VARINTS, "%s of wire type %d", kind, wire)
    return number_of(kind, value)


def values_of(kind, wire, value, repeated):
    """What one field has: a list may be packed."""
    if kind in SCHEMA:
        need(wire == 2, "a message of wire type %d", wire)
        return [decode(value, kind)]
    if not (repeated and wire == 2 and kind in VARINTS | {"fixed64"}):
        return [scalar(kind, wire, value)]
    if kind == "fixed64":
        return [str(n) for n, in struct.iter_unpack("<Q", value)]
    result, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        result.append(number_of(kind, number))
    return result


def decode(data, message="ProfilesData"):
    """A message as JSON has it. A field that the schema has not, and one value twice, is refused."""
    result = {}
    for number, wire, value in fields(data):
        need(number in SCHEMA[message], "%s has no field %d", message, number)
        name, kind, repeated = SCHEMA[message][number]
        found = values_of(kind, wire, value, repeated)
        if repeated:
            result.setdefault(name, []).extend(found)
        else:
            need(name not in result, "%s has %s twice", message, name)
            result[name] = found[-1]
    return result


# -- what a file says ------------------------------------------------------------------------------

def profiles(d):
    """(resource, scope, profile)"""
    for rp in d["resourceProfiles"]:
        for sp in rp.get("scopeProfiles", []):
            for p in sp["profiles"]:
                yield rp["resource"], sp["scope"], p


def value(v):
    """Of an attribute, as a text or a number."""
    (kind, content), = v.items()
    return int(content) if kind == "intValue" else content


def resource_of(r):
    return {a["key"]: value(a["value"]) for a in r.get("attributes", [])}


def string(d, i):
    return d["dictionary"]["stringTable"][i]


def attributes(d, of):
    result = {}
    for i in of.get("attributeIndices", []):
        a = d["dictionary"]["attributeTable"][i]
        result[string(d, a["keyStrindex"])] = value(a["value"])
    return result


def type_of(d, t):
    return string(d, t.get("typeStrindex", 0)), string(d, t.get("unitStrindex", 0))


Frame = collections.namedtuple("Frame", "name path line kind type approximate module start system")


def frame(d, i):
    location = d["dictionary"]["locationTable"][i]
    line, = location["lines"]
    f = d["dictionary"]["functionTable"][line["functionIndex"]]
    a = attributes(d, location)
    module = d["dictionary"]["mappingTable"][location.get("mappingIndex", 0)]
    return Frame(string(d, f["nameStrindex"]), string(d, f.get("filenameStrindex", 0)), int(line.get("line", 0)),
                 a["extprof.frame.kind"], a.get("profile.frame.type"), a.get("extprof.line.approximate", False),
                 string(d, module.get("filenameStrindex", 0)), int(f.get("startLine", 0)), string(d, f.get("systemNameStrindex", 0)))


def stack(d, sample):
    """Outermost first."""
    return tuple(frame(d, i) for i in reversed(d["dictionary"]["stackTable"][sample.get("stackIndex", 0)]["locationIndices"]))


def samples(d):
    """(resource, scope's name, (type, unit), labels, stack, link, value)"""
    for r, scope, p in profiles(d):
        for s in p["samples"]:
            link = d["dictionary"]["linkTable"][s.get("linkIndex", 0)]
            yield (resource_of(r), scope["name"], type_of(d, p["sampleType"]), attributes(d, s), stack(d, s),
                   (link.get("traceId"), link.get("spanId")), int(s["values"][0]))


# -- rules -------------------------------------------------------------------------------------------

RULES = []


def rule(receiver):
    def take(function):
        RULES.append((receiver, function))
        return function
    return take


def indices(d):
    """(what, index, length of its table) of each that the file has."""
    tables = d["dictionary"]
    lengths = {"Strindex": "stringTable", "attributeIndices": "attributeTable", "locationIndices": "locationTable",
               "mappingIndex": "mappingTable", "functionIndex": "functionTable", "stackIndex": "stackTable", "linkIndex": "linkTable"}
    todo = [d]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo.extend(n for n in node if isinstance(n, (dict, list)))
            continue
        for name, content in node.items():
            for end, table in lengths.items():
                if name.endswith(end):
                    for i in content if isinstance(content, list) else [content]:
                        yield name, i, len(tables[table])
            if isinstance(content, (dict, list)):
                todo.append(content)


@rule("schema")
def each_index_has_its_element(d):
    for name, i, length in indices(d):
        need(0 <= i < length, "%s %d of %d", name, i, length)


@rule("schema, Parca")
def element_0_is_the_zero_value(d):
    for name in TABLES:
        table = d["dictionary"].get(name)
        # Parca wants no bytes of 0 in the link, though the schema would rather have them.
        need(table and table[0] == {}, "%s: %s", name, table and table[0])
    need(d["dictionary"]["stringTable"][0] == "", "the first text is %r", d["dictionary"]["stringTable"][0])


@rule("schema")
def nothing_is_twice_in_a_table(d):
    for name in TABLES + ["stringTable"]:
        seen = collections.Counter(map(repr, d["dictionary"][name]))
        need(max(seen.values()) == 1, "%s: %s", name, seen.most_common(1))


@rule("schema")
def nothing_in_a_table_is_of_nobody(d):
    used = collections.defaultdict(set)
    for name, i, length in indices(d):
        used["stringTable" if name.endswith("Strindex") else name].add(i)
    for name, table in (("stringTable", "stringTable"), ("attributeIndices", "attributeTable"), ("locationIndices", "locationTable"),
                        ("mappingIndex", "mappingTable"), ("functionIndex", "functionTable"), ("stackIndex", "stackTable"),
                        ("linkIndex", "linkTable")):
        orphans = set(range(1, len(d["dictionary"][table]))) - used[name]
        need(not orphans, "%s: %s are of nobody", table, sorted(orphans)[:5])


@rule("schema")
def a_profile_has_one_sample_type(d):
    for _, _, p in profiles(d):
        need(all(type_of(d, p["sampleType"])), "a sample type without %s", p["sampleType"])


@rule("schema")
def keys_of_attributes_are_there_once(d):
    for thing in [p for _, _, p in profiles(d)] + [s for _, _, p in profiles(d) for s in p["samples"]] + \
            d["dictionary"]["locationTable"] + d["dictionary"]["mappingTable"]:
        keys = [d["dictionary"]["attributeTable"][i]["keyStrindex"] for i in thing.get("attributeIndices", [])]
        need(len(keys) == len(set(keys)) and 0 not in keys, "%s", keys)


@rule("schema")
def samples_of_one_identity_are_one(d):
    for _, _, p in profiles(d):
        seen = collections.Counter((s.get("stackIndex"), tuple(sorted(s.get("attributeIndices", []))), s.get("linkIndex"))
                                   for s in p["samples"])
        need(max(seen.values()) == 1, "%s", seen.most_common(1))


@rule("schema")
def a_function_has_a_name(d):
    for f in d["dictionary"]["functionTable"][1:]:
        need(f.get("nameStrindex") or f.get("systemNameStrindex") or f.get("filenameStrindex"), "%s", f)


@rule("schema, Parca, Pyroscope")
def timestamps_are_in_the_time_of_the_profile(d):
    """extprof writes none: Parca refuses those outside, Pyroscope several values with a period."""
    for _, _, p in profiles(d):
        begin, end = int(p["timeUnixNano"]), int(p["timeUnixNano"]) + int(p["durationNano"])
        need(begin > 0 and end > begin, "from %d to %d", begin, end)
        for s in p["samples"]:
            times = list(map(int, s.get("timestampsUnixNano", [])))
            need(all(begin <= t < end for t in times), "%s, from %d to %d", times, begin, end)
            need(not times or len(s.get("values", times)) == len(times), "%d times of %d values", len(times), len(s["values"]))


@rule("Pyroscope")
def a_sample_has_one_value(d):
    """With a period set it refuses others: "sample values length mismatch"."""
    for _, _, p in profiles(d):
        for s in p["samples"]:
            need(len(s.get("values", [])) == 1, "%s", s)


@rule("Parca")
def values_are_more_than_0(d):
    for _, _, p in profiles(d):
        for s in p["samples"]:
            need(0 < int(s["values"][0]), "%s", s)


@rule("Parca")
def a_profile_has_samples(d):
    need(d["resourceProfiles"], "no resource")
    for _, _, p in profiles(d):
        need(p["samples"], "none")


@rule("Parca")
def a_profile_has_a_period_type(d):
    for _, _, p in profiles(d):
        need("periodType" in p and all(type_of(d, p["periodType"])), "%s", p.get("periodType"))
        need(int(p.get("period", 0)) >= 0, "%s", p)


@rule("Pyroscope")
def a_profile_has_a_name_there(d):
    for _, _, p in profiles(d):
        need(pyroscope_name(d, p)[0], "%s has no name", type_of(d, p["sampleType"]))


@rule("Pyroscope")
def a_name_is_there_once(d):
    """Of one service, two sample types of one name and type would be added up."""
    for rp in d["resourceProfiles"]:
        names = [pyroscope_name(d, p) for sp in rp.get("scopeProfiles", []) for p in sp["profiles"]]
        need(len(names) == len(set(names)), "%s", names)


@rule("Parca")
def a_scope_has_a_name(d):
    """It is that of the profile."""
    for _, scope, _ in profiles(d):
        need(scope["name"].isidentifier(), "%s", scope)


@rule("extprof")
def a_scope_has_the_version_of_the_schema(d):
    for _, scope, _ in profiles(d):
        need(scope["version"].endswith("+otlp.1.10"), "%s", scope)


@rule("Pyroscope, Parca")
def a_resource_has_a_service(d):
    """Else it is an unknown_service there."""
    for rp in d["resourceProfiles"]:
        need(resource_of(rp["resource"]).get("service.name"), "%s", rp["resource"])


@rule("Parca")
def attributes_of_a_resource_are_there_once_and_have_values(d):
    for rp in d["resourceProfiles"]:
        keys = [a["key"] for a in rp["resource"]["attributes"]]
        need(len(keys) == len(set(keys)) and all(keys), "%s", keys)
        need(all(a["value"] and "" not in a["value"].values() for a in rp["resource"]["attributes"]), "%s", rp["resource"])


@rule("Pyroscope")
def a_resource_has_few_and_short_labels(d):
    """30 by default, of which five are its own, names of 1,024 bytes and values of 2,048."""
    for rp in d["resourceProfiles"]:
        of = resource_of(rp["resource"])
        need(len(of) <= 25, "%d labels", len(of))
        need(all(len(k.encode()) <= 1024 and len(str(v).encode()) <= 2048 for k, v in of.items()), "%s", of)


@rule("schema")
def a_process_is_one_resource(d):
    pids = [resource_of(rp["resource"]).get("process.pid") for rp in d["resourceProfiles"]]
    names = [(pid, resource_of(rp["resource"])["service.name"]) for pid, rp in zip(pids, d["resourceProfiles"])]
    need(len(names) == len(set(names)), "%s", names)


@rule("Parca")
def a_link_has_16_and_8_bytes(d):
    for link in d["dictionary"]["linkTable"][1:]:
        need(len(link["traceId"]) == 32 and len(link["spanId"]) == 16, "%s", link)


@rule("OpenTelemetry's eBPF profiler")
def threads_are_a_number_and_a_text(d):
    for _, _, p in profiles(d):
        for s in p["samples"]:
            of = attributes(d, s)
            need(isinstance(of.get("thread.id", 1), int) and isinstance(of.get("thread.name", ""), str), "%s", of)


@rule("Parca")
def labels_are_texts(d):
    """It reads no others."""
    for _, _, p in profiles(d):
        for s in p["samples"]:
            need(all(isinstance(v, str) for k, v in attributes(d, s).items() if k != "thread.id"), "%s", attributes(d, s))


@rule("Pyroscope, Parca")
def a_location_has_one_function(d):
    """Without, its mapping has no names, and they look for them."""
    for location in d["dictionary"]["locationTable"][1:]:
        need(len(location["lines"]) == 1 and location["lines"][0].get("functionIndex"), "%s", location)


@rule("semantic conventions")
def a_frame_has_a_known_type(d):
    for i in range(1, len(d["dictionary"]["locationTable"])):
        need(frame(d, i).type in ("ruby", "native", "kernel", None), "%s", frame(d, i))


def check(d):
    """All rules: Refused says which one is broken."""
    for receiver, function in RULES:
        try:
            function(d)
        except (Refused, KeyError, IndexError, TypeError, ValueError, AttributeError) as e:
            raise Refused("%s (%s): %s %s" % (function.__name__.replace("_", " "), receiver, type(e).__name__, e)) from e


# -- what receivers make of it ---------------------------------------------------------------------

def pyroscope_name(d, p):
    """The type that Pyroscope stores a profile under: its name, type, unit, period type and unit."""
    kind, unit = type_of(d, p["sampleType"])
    period, period_unit = type_of(d, p["periodType"]) if int(p.get("period", 0)) else ("", "")
    if (kind, unit, period, period_unit) == ("samples", "count", "cpu", "nanoseconds"):
        return "process_cpu", "cpu", "nanoseconds", period, period_unit
    if (kind, unit, period) == ("off_cpu", "nanoseconds", ""):
        return "off_cpu", kind, unit, "", ""
    return period, kind, unit, period, period_unit


def pyroscope(d):
    """{(service, the type): {names of the stack: value}}: what Pyroscope stores."""
    result = collections.defaultdict(collections.Counter)
    for r, _, p in profiles(d):
        name = pyroscope_name(d, p)
        times = int(p["period"]) if name[0] == "process_cpu" else 1
        for s in p["samples"]:
            key = resource_of(r)["service.name"], ":".join(name)
            result[key][tuple(f.name for f in stack(d, s))] += sum(map(int, s["values"])) * times
    return result


def content(d):
    """What it says, whatever the order of its tables."""
    result = collections.Counter()
    for resource, scope, kind, labels, frames, link, amount in samples(d):
        result[tuple(sorted(resource.items())), scope, kind, tuple(sorted(labels.items())), frames, link] += amount
    about = sorted((tuple(sorted(resource_of(r).items())), scope["name"], scope["version"], type_of(d, p["sampleType"]),
                    type_of(d, p["periodType"]), p.get("period"), p["timeUnixNano"], p["durationNano"],
                    tuple(sorted(attributes(d, p).items()))) for r, scope, p in profiles(d))
    return result, about
