#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compatible.py OLD.h NEW.h CC: a reader that was built with OLD.h reads what a process with NEW.h publishes, and the
reverse. Every field, constant and enumerator of the old header is in the new one, with the same offset, size and value.
What is new is at the tail of a structure that tells its size, or in a word that was reserved. Ends with "N passed,
N failed"."""
import re
import subprocess
import sys
import tempfile

STRUCT = re.compile(r"^struct (rb_debug_ext_\w+) \{\n(.*?)^\};", re.M | re.S)
FIELD = re.compile(r"^\s*(?:const\s+)?(?:u?int\d+_t|char)\s+(\w+)(?:\[[^\]]*\])?;", re.M)
# Names that a minor version may give another meaning to: reserved ones, and a word of the VM's own.
OPEN = re.compile(r"(^|_)reserved\d*$|^vm_private$")
# A structure that grows needs a size that the process publishes.
GROWS = {"rb_debug_ext_section": "section_size", "rb_debug_ext_record": "record_size", "rb_debug_ext_ec": "ec_slot_size",
         "rb_debug_ext_ractor": "ractor_slot_size", "rb_debug_ext_thread": "thread_slot_size", "rb_debug_ext_jit_entry": "jit_entry_size"}


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def names(path):
    """({structure: [field]}, [constant])"""
    with open(path, encoding="utf-8") as f:
        text = without_comments(f.read())
    structs = {name: FIELD.findall(body) for name, body in STRUCT.findall(text)}
    constants = re.findall(r"^#define (RB_DEBUG_EXT_\w+)\s+[\d(]", text, re.M)
    for body in re.findall(r"^enum \w+ \{\n(.*?)^\};", text, re.M | re.S):
        constants += re.findall(r"\b(RB_DEBUG_EXT_\w+)\s*=", body)
    return structs, constants


def measure(path, structs, constants, cc):
    """{structure or structure.field: (offset, size)}, {constant: value}"""
    lines = ["#include <stddef.h>", "#include <stdio.h>", '#include "%s"' % path, "int main(void) {"]
    for s, fields in structs.items():
        lines.append('printf("%s 0 %%zu\\n", sizeof(struct %s));' % (s, s))
        for f in fields:
            lines.append('printf("%s.%s %%zu %%zu\\n", offsetof(struct %s, %s), sizeof(((struct %s *)0)->%s));' % (s, f, s, f, s, f))
    for c in constants:
        lines.append('printf("%s %%lld\\n", (long long)(%s));' % (c, c))
    lines.append("return 0; }")
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/m.c", "w", encoding="utf-8") as f:
            f.write("\n".join(lines))
        subprocess.run(cc.split() + ["-o", d + "/m", d + "/m.c"], check=True)
        printed = subprocess.run([d + "/m"], stdout=subprocess.PIPE, check=True, text=True).stdout
    rows = [line.split() for line in printed.splitlines()]
    return ({r[0]: (int(r[1]), int(r[2])) for r in rows if len(r) == 3}, {r[0]: int(r[1]) for r in rows if len(r) == 2})


def main(old, new, cc):
    failures = passed = 0
    old_structs, old_constants = names(old)
    new_structs, new_constants = names(new)
    if sum(map(len, old_structs.values())) < 90 or len(old_constants) < 50:
        sys.exit("%s: fields and constants are not understood" % old)
    a, x = measure(old, old_structs, old_constants, cc)
    b, y = measure(new, new_structs, [c for c in new_constants], cc)

    def check(what, ok, why):
        nonlocal failures, passed
        passed, failures = passed + bool(ok), failures + (not ok)
        if not ok:
            print("FAIL %s: %s" % (what, why))

    for name, place in a.items():
        field = name.partition(".")[2]
        if not field:
            check(name, name in b and b[name][1] >= place[1] and (b[name] == place or name in GROWS),
                  "its size was %s and is %s" % (place, b.get(name)))
        elif not OPEN.search(field):
            check(name, b.get(name) == place, "it was at %s and is at %s" % (place, b.get(name)))
    # A new field takes no place of one that has a meaning.
    for name, (offset, size) in b.items():
        struct, _, field = name.partition(".")
        if field and name not in a and struct in a:
            taken = [n for n, (o, s) in a.items() if n.startswith(struct + ".") and o < offset + size and offset < o + s]
            check(name, all(OPEN.search(n.partition(".")[2]) for n in taken), "it is in the place of %s" % taken)
    for name, value in x.items():
        if name != "RB_DEBUG_EXT_ABI_MINOR":
            check(name, y.get(name) == value, "it was %s and is %s" % (value, y.get(name)))
    check("abi_minor", y["RB_DEBUG_EXT_ABI_MINOR"] > x["RB_DEBUG_EXT_ABI_MINOR"] or a == b, "there are new fields, and it is the same")
    print("%d passed, %d failed" % (passed, failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
