#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""lint_versions.py TOOLS/EXTPROF: the reader depends on the interface, not on a version of Ruby or a layout of its internals.
This is a lint: it reads the source. scripts/check-layout is the test, with a ruby whose structures have another order.
One result for each rule. Ends with "N passed, N failed"."""
import pathlib
import re
import sys

CONTRACT = "ruby/debug_external.h"
# What the reader's code must not have, with comments left out.
RULES = {
    "decides by Ruby's version": r"(?:strn?(?:case)?cmp|strstr|sscanf|atoi|atof|strto\w+|fnmatch|memcmp)\s*\([^;]*?"
                                 r"\bruby_version\b(?!\")|\bruby_version\s*\[\s*[1-9]\d*\s*\]\s*(?:[=!]=|[<>])",
    "has a version of Ruby": r"\"[^\"]*\b[34]\.[0-9]+(?:\.[0-9]+)?\b[^\"]*\"|\bRUBY_(?:API_)?VERSION\w*",
    "names a structure of Ruby's own": r"\brb_(?:control_frame|execution_context|thread|native_thread|ractor|fiber|vm|iseq|"
                                       r"callable_method_entry|method_entry|method_definition|class|classext|objspace|serial)"
                                       r"(?:_t|_struct|_constant_body)?\b",
    "includes a header of Ruby": r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:ruby\.h|ruby/|vm_|iseq|internal/)[^>\"]*[>\"]",
}
# The room ruby/ has headers of its own, and the contract is read.
OWN = r"#\s*include\s*\"(ruby/\w+\.h)\""
# Texts with numbers that are no versions of Ruby: kernels.
ALLOWED = r"\b(?:kernel|Linux|Debian)\b"


def code(text):
    """Without comments; the lines stay."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)


def found(text, top):
    for what, rule in RULES.items():
        for m in re.finditer(rule, text, re.M | re.S):
            own = re.search(OWN, m.group())
            if own and (own.group(1) == CONTRACT or (top / own.group(1)).exists()):
                continue
            if not re.search(ALLOWED, m.group()):
                yield what, text.count("\n", 0, m.start()) + 1, m.group().strip().splitlines()[0][:60]


# Each rule finds what it is for.
PLANTED = {
    "decides by Ruby's version": ["if (!strncmp(row->ruby_version, x, 3))", "if (s->ruby_version[2] >= c)"],
    "has a version of Ruby": ['x = "3.4.5";', "#if RUBY_API_VERSION_CODE > 30400"],
    "names a structure of Ruby's own": ["sizeof(rb_control_frame_t)", "struct rb_thread_struct *t;"],
    "includes a header of Ruby": ['#include "vm_core.h"', "#include <ruby/ruby.h>", '#include "ruby/internal/core.h"'],
}


def main(top):
    passed = failed = 0

    def result(ok, text):
        nonlocal passed, failed
        print(("ok   " if ok else "FAIL ") + text)
        passed, failed = passed + ok, failed + (not ok)

    for what, lines in PLANTED.items():
        for line in lines:
            if what not in {w for w, _, _ in found(line, top)}:
                result(False, "the lint does not notice: " + line)
    paths = sorted(p for p in top.rglob("*.[ch]"))
    if len(paths) <= 100:
        result(False, "only %d files of the reader were found" % len(paths))
    wrong = {what: [] for what in RULES}
    for path in paths:
        for what, line, text in found(code(path.read_text()), top):
            wrong[what].append("%s:%d: %s" % (path.relative_to(top), line, text))
    for what, places in wrong.items():
        result(not places, "no file of the reader %s%s" % (what, "".join("; " + p for p in places)))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
