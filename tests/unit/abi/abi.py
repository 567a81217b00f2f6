# SPDX-License-Identifier: BSD-2-Clause
"""abi.py HEADER RECORD CC [--record]: can a program that was compiled with the recorded libextprof use this one?

The functions that extprof.h declares are compiled with empty bodies: that has the whole public ABI and nothing else.
abidw dumps it, and it is compared with RECORD: fields at the end of structures, new values of enums and new functions are
fine, all else is not; abidiff says what it is then. --record writes RECORD anew: for a version with another soname.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

DECLARATION = re.compile(r"^EXTPROF_API\s+([^;]*\))\s*;", re.M)
# A structure inside of another one, or an array of them: it could never become longer.
BY_VALUE = re.compile(r"^\tstruct extprof_\w+ [a-z]", re.M)


def compile_header(directory, name, text, cc):
    home = os.path.join(directory, name)
    os.mkdir(home)
    with open(os.path.join(home, "extprof.h"), "w") as f:
        f.write(text)
    stubs = [re.sub(r"/\*.*?\*/", "", d, flags=re.S) for d in DECLARATION.findall(text)]
    source, library = os.path.join(home, "stubs.c"), os.path.join(home, "stubs.so")
    with open(source, "w") as f:
        f.write('#include "extprof.h"\n' + "".join("%s\n{\n\t__builtin_trap();\n}\n" % s for s in stubs))
    subprocess.run([*cc.split(), "-g", "-O0", "-shared", "-fPIC", "-Wall", "-Werror", "-I" + home, "-o", library, source], check=True)
    dump = os.path.join(home, "dump.abi")
    subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed", "--no-architecture",
                    "--no-parameter-names", "--type-id-style", "hash", "--out-file", dump, library], check=True)
    return dump, len(stubs)


class Dump:
    """What abidw has written: types by id, functions by name."""

    def __init__(self, path):
        root = xml.etree.ElementTree.parse(path).getroot()
        self.types = {e.get("id"): e for e in root.iter() if e.get("id")}
        self.functions = {e.get("name"): e for e in root.iter("function-decl") if e.get("elf-symbol-id")}
        # A structure can be declared in one place and defined in another.
        for e in root.iter("class-decl"):
            if e.get("is-declaration-only") != "yes":
                self.types[e.get("id")] = e


class Growth:
    """Is the new dump the old one, with no more than fields, values of enums and functions that are new?"""

    def __init__(self, old, new):
        self.old, self.new, self.seen = old, new, set()

    def same_attributes(self, a, b, *names):
        return all(a.get(n) == b.get(n) for n in names)

    def type(self, old_id, new_id):
        a, b = self.old.types.get(old_id), self.new.types.get(new_id)
        if (old_id, new_id) in self.seen:
            return True
        self.seen.add((old_id, new_id))
        if a is None or b is None or a.tag != b.tag or a.get("name") != b.get("name"):
            return False
        if a.tag in ("class-decl", "union-decl"):
            return self.members(a, b)
        if a.tag == "enum-decl":
            values = {e.get("name"): e.get("value") for e in b.iter("enumerator")}
            return all(values.get(e.get("name")) == e.get("value") for e in a.iter("enumerator"))
        if a.tag == "function-type":
            return self.call(a, b)
        if a.tag == "array-type-def" and [dict(e.items()).get("length") for e in a] != [dict(e.items()).get("length") for e in b]:
            return False
        if not self.same_attributes(a, b, "size-in-bits", "const", "volatile"):
            return False
        inner = [e.get("type-id") or e.get("underlying-type") for e in (a, b)]
        return inner[0] is inner[1] is None or self.type(*inner)

    def members(self, a, b):
        fields = {}
        for e in b.iter("data-member"):
            fields[e[0].get("name")] = (e.get("layout-offset-in-bits"), e[0].get("type-id"))
        for e in a.iter("data-member"):
            at, of = fields.get(e[0].get("name"), (None, None))
            if at != e.get("layout-offset-in-bits") or not self.type(e[0].get("type-id"), of):
                return False
        # Nothing new lies before the end of what is recorded.
        recorded = {e[0].get("name") for e in a.iter("data-member")}
        end = int(a.get("size-in-bits") or 0)
        return all(int(at) >= end for name, (at, _) in fields.items() if name not in recorded)

    def call(self, a, b):
        old, new = ([e.get("type-id") or e.get("is-variadic") for e in x if e.tag in ("parameter", "return")] for x in (a, b))
        return len(old) == len(new) and all(self.type(x, y) for x, y in zip(old, new))

    def changed(self):
        return [name for name, f in self.old.functions.items()
                if name not in self.new.functions or not self.call(f, self.new.functions[name])]


def compare(old, new):
    """Functions that have changed, and what abidiff says of it."""
    changed = Growth(Dump(old), Dump(new)).changed()
    p = subprocess.run(["abidiff", old, new], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    if p.returncode & 3:
        raise RuntimeError("abidiff: " + p.stdout)
    if changed and not p.returncode:
        raise RuntimeError("abidiff sees no change of " + ", ".join(changed))
    return bool(changed), ", ".join(changed) + "\n" + p.stdout


def change(text, old, new):
    assert text.count(old) == 1, old
    return text.replace(old, new)


def checks(directory, text, record, cc):
    """(name, right, why)"""
    dump, count = compile_header(directory, "now", text, cc)
    changed, why = compare(record, dump)
    yield "%d functions and their structures are as recorded" % count, not changed, why
    found = BY_VALUE.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.S))
    yield "no structure is inside of another one", not found, str(found)
    # That the comparison can fail, and what it lets pass.
    progress = "	bool paused;		/* now */\n"
    total = "	const char *callee;	/* \"gem activerecord 8.1.0\", \"String#gsub\" */\n	uint64_t called;\n"
    changes = (
        ("field_at_the_end", change(text, total, total + "	uint64_t more;\n"), False),
        ("field_of_the_caller_at_the_end", change(text, progress, progress + "	uint64_t more;\n"), False),
        ("function", text.replace("/* NULL is accepted. */\nEXTPROF_API void extprof_dump_close",
                                  "EXTPROF_API void extprof_more(void);\nEXTPROF_API void extprof_dump_close"), False),
        ("field_before_others", change(text, progress, "	uint64_t more;\n" + progress), True),
        ("field_of_another_size", change(text, total, total.replace("uint64_t", "uint32_t")), True),
        ("value_of_an_enum", change(text, "	EXTPROF_READERS = 9\n", "	EXTPROF_READERS = 9,\n	EXTPROF_MORE = 10\n"), False),
        ("another_value_of_an_enum", change(text, "	EXTPROF_READERS = 9\n", "	EXTPROF_READERS = 10\n"), True),
        ("function_gone", re.sub(r"EXTPROF_API void extprof_dump_close\([^;]*;", "", text), True),
        ("argument", change(text, "extprof_version(void)", "extprof_version(int of)"), True),
    )
    for name, made, wrong in changes:
        other, _ = compile_header(directory, name, made, cc)
        changed, why = compare(dump, other)
        yield "%s is %s" % (name, "seen" if wrong else "no change"), changed == wrong, why


def main():
    header, record, cc = sys.argv[1:4]
    if not shutil.which("abidiff") or not shutil.which("abidw"):
        print("SKIP abi: abidiff is not installed (abigail-tools)\n0 passed, 0 failed, 1 skipped")
        return 0
    with open(header) as f:
        text = f.read()
    failed = passed = 0
    with tempfile.TemporaryDirectory() as directory:
        if "--record" in sys.argv[4:]:
            with open(compile_header(directory, "recorded", text, cc)[0], encoding="utf-8") as dump, open(record, "w", encoding="utf-8") as to:
                # The same header makes the same file.
                to.write(dump.read().replace(directory + "/", ""))
            return 0
        for name, right, why in checks(directory, text, record, cc):
            print("%s %s%s" % ("ok  " if right else "FAIL", name, "" if right else ": " + why))
            passed += right
            failed += not right
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return failed > 0


sys.exit(main())
