#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""options.py TOOLS/EXTPROF PRINT_OPTIONS: man page and completions have the options, arguments,
values, defaults and commands of the program, no more and no less. Ends with "N passed, N failed"."""
import pathlib
import re
import subprocess
import sys

# What argp adds to each command.
COMMON = {("-?", ""), ("--help", ""), ("--usage", ""), ("-V", ""), ("--version", "")}
LONG = r"(?<![\w-])--[a-z][a-z-]*"


class Truth:
    def __init__(self, printed, main):
        rows = [line.split("\t") for line in printed.splitlines()]
        self.options = self.table(rows, "option")
        # Commands with options of their own.
        self.others = {kind: self.table(rows, kind) for kind in ("dump", "stat", "top")}
        self.formats = {r[1] for r in rows if r[0] == "format"}
        self.suffixes = {s for r in rows if r[0] == "format" for s in r[2:]}
        self.timers = {r[1] for r in rows if r[0] == "timer"}
        self.groups = {r[1] for r in rows if r[0] == "group"}
        self.modes = {r[1] for r in rows if r[0] == "mode"}
        self.views = {r[1] for r in rows if r[0] == "view"}
        self.sorts = {r[1] for r in rows if r[0] == "sort"}
        self.units = {r[1] for r in rows if r[0] == "unit"}
        self.defaults = {r[1]: r[2] for r in rows if r[0] == "default"}
        table = re.search(r"commands\[\] = \{([^}]*)\}", main).group(1)
        self.commands = set(re.findall(r"&command_(\w+)", table)) | {"help"}
        self.longs = {o for o, _ in self.options if o.startswith("--")}
        self.shorts = {o for o, _ in self.options} - self.longs
        self.with_argument = {o for o, argument in self.options if argument}

    @staticmethod
    def table(rows, kind):
        """{(option, argument)} of one command."""
        options = set(COMMON)
        for _, short, name, argument in (r for r in rows if r[0] == kind):
            options |= {("-" + short, argument)} if short else set()
            options |= {("--" + name, argument)} if name else set()
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
    for command, options in truth.others.items():
        if command == "top":
            continue
        own = entries(sections(man, "SH")["OPTIONS OF " + command.upper()])
        c.same("man page: options of " + command, options_of(own), options)
    # It names those that it has in common with record.
    top, options = sections(man, "SH")["OPTIONS OF TOP"], truth.others["top"]
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
    c.same("man page: commands", (line.split()[0] for line in commands), truth.commands)


def words_of(text, pattern):
    """The words of compgen -W or _extprof_list behind a pattern of a case."""
    found = re.search(re.escape(pattern) + r"\)\s*(?:COMPREPLY=\(\$\(compgen -W|_extprof_list) '([^']*)'", text)
    return found.group(1).split() if found else []


def check_bash_command(c, command, options, text):
    """The function of bash for a command with options of its own. A command that runs programs takes -- too."""
    words = re.search(r"words='([^']*)'", text).group(1).split()
    c.same("bash: options of " + command, set(words) - {"--"}, {o for o, _ in options} - {"-?"})
    cases = text[text.index("case $prev in"):text.index("*)", text.index("case $prev in"))]
    c.same("bash: arguments of " + command, re.findall(r"(?<![\w-])--?[a-zA-Z][a-z-]*(?=[ |]*[)|])", re.sub(r"'[^']*'", "", cases)),
           {o for o, argument in options if argument})


def check_bash(c, truth, text):
    text = re.sub(r"^\s*#.*", "", text, flags=re.M)
    text, *functions = re.split(r"^_extprof_(?=(?:%s)\(\)$)" % "|".join(truth.others), text, flags=re.M)
    for command, options in truth.others.items():
        check_bash_command(c, command, options, next((f for f in functions if f.startswith(command)), "words=''case $prev in*)"))
    top = next(f for f in functions if f.startswith("top"))
    c.same("bash: views of top", words_of(top, "--view"), truth.views)
    c.same("bash: keys that top sorts by", words_of(top, "--sort"), truth.sorts)
    words = re.search(r"words='([^']*)'", text).group(1).split()
    c.same("bash: options", words, (truth.longs | truth.shorts | {"--"}) - {"-?"})
    takes = re.search(r"-\[(\w+)\]((?:[^)]*))\)\n\s*\(\(i\+\+\)\)", text)
    c.same("bash: options with an argument", ["-" + letter for letter in takes.group(1)] + re.findall(LONG, takes.group(2)),
           truth.with_argument)
    case = text[text.index("case $prev in"):]
    c.same("bash: completed arguments", re.findall(r"(?<![\w-])--?[a-zA-Z][a-z-]*(?=[ |]*[)|])", re.sub(r"'[^']*'", "", case[:case.index("*)")])),
           truth.with_argument)
    c.same("bash: formats", words_of(text, "-f | --format"), truth.formats)
    c.same("bash: timers", words_of(text, "--timer"), truth.timers)
    c.same("bash: keys of groups", words_of(text, "--group-by"), truth.groups)
    c.same("bash: modes", words_of(text, "-m | --mode"), truth.modes)
    c.same("bash: units", words_of(text, "--unit"), truth.units)
    c.same("bash: commands", re.search(r'words="([^$"]*) \$words"', text).group(1).split(), truth.commands)


def zsh_table(text, name):
    """{option: (takes an argument, as it is written)} of an array."""
    options = {}
    for line in re.search(r"^  %s=\(\n(.*?)\n  \)" % name, text, re.S | re.M).group(1).splitlines():
        exclusive, rest = re.match(r"\s*'(\([^)]*\)|\*)?'?(.*)", line).groups()
        names = re.match(r"\{([^}]*)\}", rest)
        takes = "]:" in rest
        for name in names.group(1).split(",") if names else [re.match(r"[^[]*", rest).group()]:
            options[name.rstrip("+=").replace("\\", "")] = (takes, name)
    return options


def check_zsh(c, truth, text):
    text = re.sub(r"^\s*#.*", "", text, flags=re.M)
    for command, wanted in truth.others.items():
        own = zsh_table(text, command + "_options")
        c.same("zsh: options of " + command, own, {o for o, _ in wanted})
        c.same("zsh: options of %s with an argument" % command, (o for o, (takes, name) in own.items() if takes and name[-1] in "+="),
               {o for o, argument in wanted if argument})
    c.same("zsh: views of top", re.search(r":view:\(([^)]*)\)", text).group(1).split(), truth.views)
    c.same("zsh: keys that top sorts by", re.search(r"--sort=[^:]*:key:\(([^)]*)\)", text).group(1).split(), truth.sorts)
    options = zsh_table(text, "options")
    c.same("zsh: options", options, truth.longs | truth.shorts)
    c.same("zsh: options with an argument", (o for o, (takes, _) in options.items() if takes), truth.with_argument)
    c.same("zsh: options that are marked so", (o for o, (_, name) in options.items() if name[-1] in "+="), truth.with_argument)
    c.same("zsh: formats", re.search(r":format:\(([^)]*)\)", text).group(1).split(), truth.formats)
    c.same("zsh: timers", re.search(r":timer:\(([^)]*)\)", text).group(1).split(), truth.timers)
    c.same("zsh: keys of groups", re.search(r"-s , key ([^']*)'", text).group(1).split(), truth.groups)
    c.same("zsh: modes", re.search(r"-s , mode ([^']*)'", text).group(1).split(), truth.modes)
    c.same("zsh: units", re.search(r":unit:\(([^)]*)\)", text).group(1).split(), truth.units)
    commands = re.search(r"commands=\(\n(.*?)\n  \)", text, re.S).group(1)
    c.same("zsh: commands", re.findall(r"'(\w+):", commands), truth.commands)


def main(top, printer):
    printed = subprocess.run([printer], stdout=subprocess.PIPE, check=True, text=True).stdout
    cli = pathlib.Path(top) / "cli"
    truth = Truth(printed, (cli / "main.c").read_text())
    checks = Checks()
    check_man(checks, truth, (cli / "extprof.1").read_text())
    # As they are installed.
    bash, zsh = (subprocess.run(["sh", cli / "completions/fill.sh", cli / "completions" / name, top], stdout=subprocess.PIPE,
                                check=True, text=True).stdout for name in ("extprof.bash", "_extprof"))
    check_bash(checks, truth, bash)
    check_zsh(checks, truth, zsh)
    print("%d passed, %d failed" % (checks.passed, checks.failed))
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
