#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""options.py TOOLS/EXTPROF PRINT_OPTIONS: the man page has the options, arguments, values, defaults and commands of the
program, no more and no less, and bash completes them. Ends with "N passed, N failed"."""
import pathlib
import re
import subprocess
import sys

LONG = r"(?<![\w-])--[a-z][a-z-]*"
COMMANDS = ("record", "top", "dump", "stat", "diff", "annotate", "report", "daemon", "push", "serve")
# Their arguments are recordings, or a folder of them.
OF_FILES = ("diff", "annotate", "report", "daemon", "push", "serve")
# Without options.
OTHERS = ("doctor", "sql", "verify", "redact", "mcp")


class Truth:
    def __init__(self, printer):
        rows = [line.split("\t") for line in subprocess.check_output([printer], text=True).splitlines()]
        self.lists = {c: [line.split("\t") for line in subprocess.check_output([printer, "help", "--list", c], text=True).splitlines()]
                      for c in COMMANDS}
        self.of = {c: self.table(rows) for c, rows in self.lists.items()}
        self.options = self.of["record"]
        self.formats = {r[1] for r in rows if r[0] == "format"}
        self.suffixes = {s for r in rows if r[0] == "format" for s in r[2:]}
        self.timers = {r[1] for r in rows if r[0] == "timer"}
        self.groups = {r[1] for r in rows if r[0] == "group"}
        self.modes = {r[1] for r in rows if r[0] == "mode"}
        self.units = {r[1] for r in rows if r[0] == "unit"}
        self.defaults = {r[1]: r[4] for r in self.lists["record"] if r[4]}

    @staticmethod
    def table(rows):
        """{(option, argument)} of one command."""
        options = set()
        for letters, name, argument, *_ in rows:
            # The argument of --help is optional, which the man page writes in another way.
            argument = "" if name == "help" else argument
            options |= {("-" + letter, argument) for letter in letters} | {("--" + name, argument)}
        return options


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def same(self, what, got, wanted):
        got, wanted = set(got), set(wanted)
        if got == wanted and wanted:
            self.passed += 1
            print("ok   " + what)
            return
        self.failed += 1
        show = lambda items: ", ".join(sorted(map(str, items))) or "nothing"
        print("FAIL %s: missing: %s; too much: %s" % (what, show(wanted - got), show(got - wanted)))


def plain(roff):
    """A line of roff as text."""
    macro = re.match(r"\.[A-Z]+ ?", roff)
    if macro:
        roff = roff[macro.end():]
        parts = re.findall(r'"([^"]*)"|(\S+)', roff)
        joined = re.match(r"\.(BR|RB|BI|IB|IR|RI)\b", macro.group())
        roff = ("" if joined else " ").join(a or b for a, b in parts)
    return re.sub(r"\\f.|\\&", "", roff).replace("\\-", "-")


def sections(man, macro):
    """{title: lines} of what a macro begins."""
    found, lines = {}, None
    for line in man.splitlines():
        if line.startswith("." + macro + " "):
            lines = found.setdefault(plain(line).strip(), [])
        elif lines is not None:
            lines.append(line)
    return found


def entries(lines):
    """[(options, text lines)] of the tagged paragraphs that begin with an option."""
    found, tags, text, depth = [], [], [], 0
    for i, line in enumerate(lines):
        depth += (line == ".RS") - (line == ".RE")
        tag = not depth and i and lines[i - 1] in (".TP", ".TQ") and "\\-" in line and line.startswith(".B")
        if tag and lines[i - 1] == ".TP":
            tags, text = [], []
            found.append((tags, text))
        if tag:
            tags += [tuple((part.split("=") + [""])[:2]) for part in plain(line).split(", ")]
        elif found:
            text.append(line)
    return found


def values(text):
    """The tagged words of an entry."""
    return {plain(line) for before, line in zip(text, text[1:]) if before == ".TP" and line.startswith(".B ")}


def options_of(found):
    """{(option, argument)} of entries. An argument stands behind the last of the names."""
    options = set()
    for tags, _ in found:
        argument = next((a for _, a in reversed(tags) if a), "")
        options |= {(o, argument) for o, _ in tags}
    return options


def names_in(text):
    """All options that a text names."""
    return set(re.findall(LONG, text)) | set(re.findall(r"(?<![\w-])-[a-zA-Z?](?![\w-])", text))


def check_man(c, truth, man):
    found = entries(sections(man, "SH")["OPTIONS"])
    c.same("man page: options and arguments", options_of(found), truth.options)
    for command in ("dump", "stat", *OF_FILES):
        own = entries(sections(man, "SH")["OPTIONS OF " + command.upper()])
        c.same("man page: options of " + command, options_of(own), truth.of[command])
    # It names those that it has in common with record.
    top, options = sections(man, "SH")["OPTIONS OF TOP"], truth.of["top"]
    c.same("man page: names of options of top", names_in(" ".join(map(plain, top))), {o for o, _ in options})
    c.same("man page: options that only top has", options_of(entries(top)) - truth.options, options - truth.options)
    entry = {o: text for tags, text in found for o, _ in tags}
    c.same("man page: formats", values(entry.get("--format", [])), truth.formats)
    c.same("man page: timers", values(entry.get("--timer", [])), truth.timers)
    c.same("man page: keys of groups", values(entry.get("--group-by", [])), truth.groups)
    c.same("man page: modes", values(entry.get("--mode", [])), truth.modes)
    c.same("man page: units", values(entry.get("--unit", [])), truth.units)
    said = " ".join(map(plain, entry.get("--format", [])))
    c.same("man page: suffixes", re.findall(r"(?<!\w)\.[a-z][a-z.]*[a-z]", said.rpartition("suffix")[2]), truth.suffixes)
    for name, value in truth.defaults.items():
        text = " ".join(map(plain, entry.get("--" + name, [])))
        c.same("man page: default of --" + name, re.findall(r"[Dd]efault is (\d+)", text), {value})
    commands = [plain(line) for before, line in zip(sections(man, "SH")["COMMANDS"],
                                                    sections(man, "SH")["COMMANDS"][1:]) if before == ".TP"]
    c.same("man page: commands", (line.split()[0] for line in commands), {*COMMANDS, *OTHERS, "help"})


def completed(printer, script, *words):
    """What bash completes of a command line; the last word is where the cursor is."""
    line = """source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _extprof; printf '%s\\n' "${COMPREPLY[@]}" """
    return subprocess.run(["bash", "-c", line, "bash", script, printer, *words], stdout=subprocess.PIPE, check=True,
                          text=True).stdout.split()


def check_bash(c, truth, printer, script):
    for command, rows in truth.lists.items():
        wanted = {o for o, _ in truth.of[command]} - {"-?"} | (set() if command in ("dump", *OF_FILES) else {"--"})
        c.same("bash: options of " + command, completed(printer, script, command, ""), wanted)
        for letters, name, argument, words, *_ in rows:
            if words and name != "help":
                for option in ["--" + name] + ["-" + letter for letter in letters]:
                    c.same("bash: %s %s" % (command, option), completed(printer, script, command, option, ""), words.split())
    c.same("bash: commands and options", completed(printer, script, ""),
           {o for o, _ in truth.options} - {"-?"} | {"--", "help", *COMMANDS, *OTHERS})
    c.same("bash: help", completed(printer, script, "help", ""), {"help", *COMMANDS, *OTHERS})
    c.same("bash: after an argument", completed(printer, script, "record", "-p", "1", "--mo"), ["--mode"])
    c.same("bash: after an argument behind =", completed(printer, script, "top", "--pid", "=", "1", "--view", "=", "li"), ["line"])
    c.same("bash: lists", completed(printer, script, "record", "-m", "cpu,wa"), ["cpu,wall"])
    c.same("bash: an option of the command that is run", completed(printer, script, "record", "--", "printf", "--mode") or ["none"], ["none"])


def main(top, printer):
    cli = pathlib.Path(top) / "cli"
    checks = Checks()
    truth = Truth(printer)
    check_man(checks, truth, (cli / "extprof.1").read_text())
    check_bash(checks, truth, printer, cli / "completions" / "extprof.bash")
    print("%d passed, %d failed" % (checks.passed, checks.failed))
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
