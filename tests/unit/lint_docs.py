#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""lint_docs.py [--wrap] TOP: prose has lines of 100 columns at most, so that it can be read in a terminal and in a diff.
This is a lint. Tables, code, headings and what cannot be broken may be longer. --wrap wraps the paragraphs that have a longer
line. Ends with "N passed, N failed"."""
import pathlib
import re
import sys

COLUMNS = 100
# Not ours, or made when it is needed.
OTHERS = {"build", "ruby", "patches", ".git"}
LIST = re.compile(r"(?:[-*+]|\d+\.) +")
# Words that would begin a list, a heading, a quotation or a table at the begin of a line.
BEGINS = re.compile(r"(?:[-+*]|\d+[.)]|#{1,6}|>.*|\|.*|=+|-+)$")
# Code is not broken, nor is the address of a link.
WORD = re.compile(r"(?:`[^`]*`|\]\([^)]*\)|[^\s`])+|`")


def blocks(lines):
    """Yields (first, end, indent of the first line, that of the others): a paragraph, or an item of a list."""
    fenced, start = False, None
    kinds = []
    inner = 0
    for line in lines:
        bare = line.strip()
        if bare.startswith("```"):
            fenced = not fenced
            kinds.append("other")
        elif fenced or not bare or bare.startswith(("|", "#", "<!--", "<")) or (line[:inner + 4].isspace() and len(line) > inner + 4):
            kinds.append("other")
            inner = inner if not bare or line[0] == " " else 0
        elif LIST.match(bare):
            kinds.append("item")
            inner = len(line) - len(line.lstrip()) + LIST.match(bare).end()
        else:
            kinds.append("text")
            if line[0] != " " and (not kinds[:-1] or kinds[-2] == "other"):
                inner = 0
    for i, kind in enumerate(kinds + ["other"]):
        if start is not None and kind != "text":
            head = lines[start]
            first = len(head) - len(head.lstrip())
            item = LIST.match(head.lstrip())
            yield start, i, " " * first, " " * (first + item.end() if item else first)
            start = None
        if kind == "item" or (kind == "text" and start is None):
            start = i


def wrap(text, first, rest):
    lines, words = [], WORD.findall(text)
    line = first + words[0]
    for i, word in enumerate(words[1:], 1):
        # A word that begins something is put behind the one before it, whatever is longer then.
        ahead = word + (" " + words[i + 1] if i + 1 < len(words) and BEGINS.match(words[i + 1]) else "")
        if len(line) + 1 + len(ahead) > COLUMNS and not BEGINS.match(word):
            lines.append(line)
            line = rest + word
        else:
            line += " " + word
    return lines + [line]


def check(path, name, write):
    lines = path.read_text(encoding="utf-8").split("\n")
    wrong, wrapped, last = [], [], 0
    for start, end, first, rest in blocks(lines):
        wrapped += lines[last:start]
        last = end
        paragraph = lines[start:end]
        # Two blanks at the end of a line are a break.
        if any(len(line) > COLUMNS for line in paragraph) and not any(line.endswith("  ") for line in paragraph[:-1]):
            marker = LIST.match(paragraph[0].lstrip())
            text = " ".join(line.strip() for line in paragraph)
            if marker:
                text = text[marker.end():]
            better = wrap(text, first + marker.group() if marker else first, rest)
            if better != paragraph:
                wrong += ["%s:%d: %d columns" % (name, start + 1 + i, len(line)) for i, line in enumerate(paragraph) if len(line) > COLUMNS]
                paragraph = better
        wrapped += paragraph
    wrapped += lines[last:]
    if write and wrapped != lines:
        path.write_text("\n".join(wrapped), encoding="utf-8")
    return wrong


def planted():
    """The lint finds what it is for, and leaves the rest alone."""
    long = "word " * 30
    for text, found in (("%s\n" % long, 1), ("- %s\n" % long, 1), ("| %s |\n" % long, 0), ("```\n%s\n```\n" % long, 0),
                        ("    %s\n" % long, 0), ("# %s\n" % long, 0), ("- item\n\n      %s\n" % long, 0), ("- item\n  %s\n" % long, 1), ("x" * 150 + "\n", 0)):
        lines = text.split("\n")
        n = 0
        for start, end, first, rest in blocks(lines):
            n += any(len(line) > COLUMNS for line in lines[start:end]) and len(WORD.findall("".join(lines[start:end]))) > 1
        if n != found:
            return False
    lines = wrap("a " * 48 + "bbbb - c `%s` d" % ("e " * 20), "- ", "  ")
    return all(len(line) <= COLUMNS for line in lines) and lines[1].startswith("  ") and not any(LIST.match(line.strip()) for line in lines[1:]) and \
        any("`%s`" % ("e " * 20) in line for line in lines)


def main(arguments):
    write = "--wrap" in arguments
    top = pathlib.Path(arguments[-1])
    passed = failed = 0
    paths = list(top.glob("*.md"))
    for directory in top.iterdir():
        paths += directory.rglob("*.md") if directory.is_dir() and directory.name not in OTHERS else []
    for name in sorted(str(p.relative_to(top)) for p in paths):
        wrong = check(top / name, name, write)
        print("FAIL " + "; ".join(wrong) if wrong and not write else "ok   " + name)
        passed, failed = passed + (write or not wrong), failed + bool(wrong and not write)
    ok = planted()
    print("ok   it finds what it is for" if ok else "FAIL it does not find what it is for")
    passed, failed = passed + ok, failed + (not ok)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
