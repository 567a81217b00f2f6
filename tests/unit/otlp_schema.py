#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""otlp_schema.py DIRECTORY TOP: the field numbers of OTLP profiles are those of the table in docs/otlp.md, in the descriptor that
the compiler of protocol buffers makes of output/otlp_profiles.proto and in the tests' own reader; and each rule of
tests/live/otlp.py refuses a file that breaks it. DIRECTORY is that of formats.py. Ends with "N passed, N failed"."""
import copy
import os
import re
import subprocess
import sys

directory, top = sys.argv[1:]
sys.path.insert(0, os.path.join(top, "tests", "live"))
sys.dont_write_bytecode = True
import otlp  # noqa: E402

# Of descriptor.proto.
SCALARS = {1: "double", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 8: "bool", 9: "string", 12: "bytes", 13: "uint32"}
MESSAGE, REPEATED = 11, 3


def camel(name):
    return re.sub("_([a-z])", lambda m: m.group(1).upper(), name)


def parts(data, number):
    return [value for n, _, value in otlp.fields(data) if n == number]


def descriptor():
    """{message: {number: (name, type, is it a list?)}}"""
    path = os.path.join(directory, "otlp.descriptor")
    subprocess.run([os.environ.get("PROTOC_C", "protoc-c"), "--proto_path=" + os.path.join(top, "tools", "extprof", "output"),
                    "--descriptor_set_out=" + path, "otlp_profiles.proto"], check=True, timeout=60)
    with open(path, "rb") as f:
        file, = parts(f.read(), 1)
    result = {}
    for message in parts(file, 4):
        name = parts(message, 1)[0].decode()
        result[name] = {}
        for field in parts(message, 2):
            kind = parts(field, 5)[0]
            kind = parts(field, 6)[0].decode().rpartition(".")[2] if kind == MESSAGE else SCALARS[kind]
            result[name][parts(field, 3)[0]] = (parts(field, 1)[0].decode(), kind, parts(field, 4)[0] == REPEATED)
    return result


def table():
    """{message: {number: name}} of the docs"""
    with open(os.path.join(top, "docs", "otlp.md"), encoding="utf-8") as f:
        text = f.read().partition("## Field numbers")[2]
    return {m: {int(n): name for n, name in (item.split(" ") for item in fields.split(", "))}
            for m, fields in re.findall(r"^\| (\w+) \| (\d.*) \|$", text, re.M)}


def numbers():
    """the descriptor has the numbers of the docs, and the reader of the tests those of the descriptor"""
    made, docs = descriptor(), table()
    for name in sorted(set(made) | set(docs)):
        have = {n: field[0] for n, field in made.get(name, {}).items()}
        assert have == docs.get(name), "%s: the descriptor has %s, the docs %s" % (name, have, docs.get(name))
    reader = {m: {n: (camel(name), kind, many) for n, (name, kind, many) in fields.items()} for m, fields in made.items()}
    assert reader == otlp.SCHEMA, "the reader of the tests has other fields"
    # Those that have moved: a reader of 1.9 is silent about them.
    assert [docs["Sample"][n] for n in range(1, 6)] == ["stack_index", "attribute_indices", "link_index", "values", "timestamps_unix_nano"]
    return "%d messages, %d fields" % (len(docs), sum(map(len, docs.values())))


def first(d):
    return d["resourceProfiles"][0]["scopeProfiles"][0]["profiles"][0]


def attribute(d, key, value):
    strings, attributes = d["dictionary"]["stringTable"], d["dictionary"]["attributeTable"]
    strings.append(key)
    attributes.append({"keyStrindex": len(strings) - 1, "value": value})
    return len(attributes) - 1


def own(d):
    return d["resourceProfiles"][0]["resource"]["attributes"]


# What breaks each rule.  The file has processes and threads.
def break_index(d): first(d)["samples"][0]["stackIndex"] = 10**6
def break_zero(d): d["dictionary"]["linkTable"][0] = {"traceId": "00" * 16, "spanId": "00" * 8}
def break_twice(d): d["dictionary"]["stringTable"].append(d["dictionary"]["stringTable"][1])
def break_orphan(d): d["dictionary"]["stringTable"].append("of nobody")
def break_type(d): first(d)["sampleType"].pop("unitStrindex")
def break_keys(d): first(d)["samples"][0]["attributeIndices"] *= 2
def break_identity(d): first(d)["samples"].append(copy.deepcopy(first(d)["samples"][0]))
def break_function(d): d["dictionary"]["functionTable"].append({"startLine": "1"})
def break_time(d): first(d)["samples"][0]["timestampsUnixNano"] = ["1"]
def break_values(d): first(d)["samples"][0]["values"] = ["1", "2"]
def break_positive(d): first(d)["samples"][0]["values"] = ["0"]
def break_empty(d): first(d)["samples"] = []
def break_period_type(d): first(d).pop("periodType")
def break_period(d): first(d).pop("period"), first(d)["sampleType"].update(d["resourceProfiles"][0]["scopeProfiles"][0]["profiles"][1]["sampleType"])
def break_name_once(d): first(d).update({k: copy.deepcopy(v) for k, v in d["resourceProfiles"][0]["scopeProfiles"][0]["profiles"][1].items()})
def break_scope(d): d["resourceProfiles"][0]["scopeProfiles"][0]["scope"]["name"] = "process.cpu"
def break_version(d): d["resourceProfiles"][0]["scopeProfiles"][0]["scope"]["version"] = "1"
def break_service(d): own(d)[:] = [a for a in own(d) if a["key"] != "service.name"]
def break_resource_twice(d): own(d).append(copy.deepcopy(own(d)[0]))
def break_many(d): own(d).extend({"key": "k%d" % i, "value": {"stringValue": "v"}} for i in range(30))
def break_process(d): d["resourceProfiles"].append(copy.deepcopy(d["resourceProfiles"][0]))
def break_link(d): d["dictionary"]["linkTable"].append({"traceId": "00" * 15, "spanId": "00" * 8})
def break_thread(d): first(d)["samples"][0]["attributeIndices"] = [attribute(d, "thread.id", {"stringValue": "7"})]
def break_label(d): first(d)["samples"][0]["attributeIndices"].append(attribute(d, "tenant", {"intValue": "7"}))
def break_location(d): d["dictionary"]["locationTable"][1]["lines"] = []


def break_frame(d):
    kind = attribute(d, "profile.frame.type", {"stringValue": "yjit"})
    d["dictionary"]["locationTable"][1]["attributeIndices"][0] = kind


BROKEN = {
    "each_index_has_its_element": break_index, "element_0_is_the_zero_value": break_zero, "nothing_is_twice_in_a_table": break_twice,
    "nothing_in_a_table_is_of_nobody": break_orphan, "a_profile_has_one_sample_type": break_type,
    "keys_of_attributes_are_there_once": break_keys, "samples_of_one_identity_are_one": break_identity,
    "a_function_has_a_name": break_function, "timestamps_are_in_the_time_of_the_profile": break_time,
    "a_sample_has_one_value": break_values, "values_are_more_than_0": break_positive, "a_profile_has_samples": break_empty,
    "a_profile_has_a_period_type": break_period_type, "a_profile_has_a_name_there": break_period, "a_name_is_there_once": break_name_once,
    "a_scope_has_a_name": break_scope, "a_scope_has_the_version_of_the_schema": break_version, "a_resource_has_a_service": break_service,
    "attributes_of_a_resource_are_there_once_and_have_values": break_resource_twice,
    "a_resource_has_few_and_short_labels": break_many, "a_process_is_one_resource": break_process,
    "a_link_has_16_and_8_bytes": break_link, "threads_are_a_number_and_a_text": break_thread, "labels_are_texts": break_label,
    "a_location_has_one_function": break_location, "a_frame_has_a_known_type": break_frame,
}


def rules():
    """each rule refuses what breaks it"""
    with open(os.path.join(directory, "all.lines.otlp"), "rb") as f:
        document = otlp.decode(f.read())
    otlp.check(document)
    functions = {function.__name__: function for _, function in otlp.RULES}
    assert set(functions) == set(BROKEN), "%s" % (set(functions) ^ set(BROKEN))
    for name, function in functions.items():
        broken = copy.deepcopy(document)
        BROKEN[name](broken)
        try:
            function(broken)
        except otlp.Refused:
            continue
        raise AssertionError("%s takes what breaks it" % name)
    return "%d rules" % len(functions)


def main():
    passed = failed = 0
    for function in (numbers, rules):
        try:
            print("ok   %s: %s" % (function.__doc__, function()))
            passed += 1
        except (AssertionError, otlp.Refused, LookupError, ValueError, OSError, subprocess.SubprocessError) as e:
            print("FAIL %s: %s %s" % (function.__doc__, type(e).__name__, e))
            failed += 1
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
