#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""next_minor.py HEADER: print a made-up next minor version of the contract: one more, and each structure that tells its
size has 24 bytes more at its tail. What reads either of the two must read the other (grow.c)."""
import re
import sys

STRUCTS = ("section", "record", "jit_entry", "thread", "ec", "ractor")


def main(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    text, n = re.subn(r"(#define RB_DEBUG_EXT_ABI_MINOR) (\d+)", lambda m: "%s %d" % (m[1], int(m[2]) + 1), text)
    for name in STRUCTS:
        text, one = re.subn(r"(^struct rb_debug_ext_%s \{\n.*?)^\};" % name, r"\1    uint64_t next_minor[3];\n};", text,
                            flags=re.M | re.S)
        text, two = re.subn(r"(sizeof\(struct rb_debug_ext_%s\) == )(\d+)" % name,
                            lambda m: "%s%d" % (m[1], int(m[2]) + 24), text)
        n += one + two
    if n != 1 + 2 * len(STRUCTS):
        sys.exit("%s is not understood: %d places" % (path, n))
    sys.stdout.write(text)


if __name__ == "__main__":
    main(sys.argv[1])
