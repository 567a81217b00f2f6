#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""options.py TOOLS/EXTPROF PRINT_OPTIONS: the man pages have the options, arguments, values, defaults and commands of the
program, no more and no less, and bash, fish and zsh complete them. A shell that is not here is skipped. Ends with
"N passed, N failed, N skipped"."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import shells

LONG = r"(?<![\w-])--[a-z][a-z-]*"
COMMANDS = ("record", "top", "dump", "stat", "diff", "annotate", "report", "daemon", "push", "serve")
# Their arguments are recordings, or a folder of them.
OF_FILES = ("diff", "annotate", "report", "daemon", "push", "serve")
# Those that argp reads by itself.
OTHERS = ("doctor", "sql", "verify", "redact", "mcp", "heatmap")
ALL = (*COMMANDS, *OTHERS)


class Truth:
    def __init__(self, printer, cli):
        rows = [line.split("\t") for line in subprocess.check_output([printer], text=True).splitlines()]
        self.lists = {c: [line.split("\t") for line in subprocess.check_output([printer, "help", "--list", c], text=True).splitlines()]
                      for c in ALL}
        self.of = {c: self.table(rows) for c, rows in self.lists.items()}
        self.options = self.of["record"]
        self.formats = {r[1] for r in rows if r[0] == "format"}
        self.suffixes = {s for r in rows if r[0] == "format" for s in r[2:]}
        self.timers = {r[1] for r in rows if r[0] == "timer"}
        self.groups = {r[1] for r in rows if r[0] == "group"}
        self.modes = {r[1] for r in rows if r[0] == "mode"}
        self.units = {r[1] for r in rows if r[0] == "unit"}
        self.summaries = {name: summary for f in sorted(cli.glob("*.c"))
                          for name, summary in re.findall(r'\.name = "(\w+)",\s*\.summary = "([^"]*)"', f.read_text())}
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
        self.passed = self.failed = self.skipped = 0

    def skip(self, what, why):
        self.skipped += 1
        print("SKIP %s: %s" % (what, why))

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


def check_man(c, truth, folder):
    """A page for each command, and one that names them all."""
    page = {f.stem: f.read_text() for f in folder.glob("*.1")}
    c.same("man pages", page, {"extprof", *("extprof-" + command for command in (*COMMANDS, *OTHERS))})
    # Its page says so.
    c.same("heatmap has the options of report", truth.of["heatmap"], truth.of["report"])
    options = {command: sections(page["extprof-" + command], "SH")["OPTIONS"] for command in ALL if command != "heatmap"}
    for command in options:
        if command != "top":
            c.same("man page of %s: options and arguments" % command, options_of(entries(options[command])), truth.of[command])
    # It names those that it has in common with record.
    c.same("man page of top: names of options", names_in(" ".join(map(plain, options["top"]))), {o for o, _ in truth.of["top"]})
    c.same("man page of top: options that only top has", options_of(entries(options["top"])) - truth.options,
           truth.of["top"] - truth.options)
    entry = {o: text for tags, text in entries(options["record"]) for o, _ in tags}
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
    lines = sections(page["extprof"], "SH")["COMMANDS"]
    commands = [plain(line) for before, line in zip(lines, lines[1:]) if before == ".TP"]
    c.same("man page: commands", (line.split()[0] for line in commands), {*COMMANDS, *OTHERS, "help"})
    named = re.findall(r"(extprof-\w+) \(1\)", " ".join(plain(line).replace("(1)", " (1)") for text in page.values() for line in text.splitlines()))
    c.same("man pages: those that they name", named, set(page) - {"extprof"})
    for name, text in page.items():
        command = name.partition("-")[2]
        if command:
            c.same("man page of %s: its name" % command, [plain(line) for line in sections(text, "SH")["NAME"]],
                   ["%s - %s" % (name, truth.summaries[command])])
    check_roff(c, folder)


def check_roff(c, folder):
    """groff has nothing to say of them."""
    if not shutil.which("groff"):
        c.skip("groff: the man pages", "groff is not installed")
        return
    for f in sorted(folder.glob("*.1")):
        run = subprocess.run(["groff", "-man", "-Tutf8", "-z", "-ww", "-rCHECKSTYLE=0", str(f)], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=60)
        c.same("groff: " + f.name, [run.returncode, *run.stdout.splitlines()], [0])


class Named:
    """A program of the name ruby that runs under the name of a script, as one does whose first line is #!/usr/bin/ruby."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.folder.name)
        shutil.copy(shutil.which("sleep"), folder / "ruby3.4")
        (folder / "puma").symlink_to(folder / "ruby3.4")
        self.process = subprocess.Popen([str(folder / "puma"), "300"])
        self.pid = str(self.process.pid)
        # Until it runs it is still this program.
        comm = pathlib.Path("/proc", self.pid, "comm")
        while comm.read_text().strip() != "puma":
            pass
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


def check_bash(c, truth, printer, script):
    for command, rows in truth.lists.items():
        wanted = {o for o, _ in truth.of[command]} - {"-?"} | (set() if command in ("dump", *OF_FILES, *OTHERS) else {"--"})
        c.same("bash: options of " + command, shells.bash(printer, script, command, "-"), wanted)
        for letters, name, argument, words, *_ in rows:
            if words and name != "help":
                for option in ["--" + name] + ["-" + letter for letter in letters]:
                    c.same("bash: %s %s" % (command, option), shells.bash(printer, script, command, option, ""), words.split())
    c.same("bash: commands and options", shells.bash(printer, script, ""),
           {o for o, _ in truth.options} - {"-?"} | {"--", "help", *COMMANDS, *OTHERS})
    c.same("bash: help", shells.bash(printer, script, "help", ""), {"help", *COMMANDS, *OTHERS})
    c.same("bash: after an argument", shells.bash(printer, script, "record", "-p", "1", "--mo"), ["--mode"])
    c.same("bash: after an argument behind =", shells.bash(printer, script, "top", "--pid", "=", "1", "--view", "=", "li"), ["line"])
    with Named() as program:
        c.same("bash: a ruby of another name", {program.pid} & set(shells.bash(printer, script, "record", "-p", "")), {program.pid})
    c.same("bash: recordings", shells.bash(printer, script, "verify", __file__[:-1]), [__file__])
    c.same("bash: no program for mcp", shells.bash(printer, script, "mcp", "printen") or ["none"], ["none"])
    c.same("bash: an option of redact", shells.bash(printer, script, "redact", "a", "--what", "paths,ar"), ["paths,argv"])
    c.same("bash: lists", shells.bash(printer, script, "record", "-m", "cpu,wa"), ["cpu,wall"])
    c.same("bash: an option of the command that is run", shells.bash(printer, script, "record", "--", "printf", "--mode") or ["none"], ["none"])


def check_fish(c, truth, printer, script):
    if not shells.Fish.is_there():
        c.skip("fish", "it is not installed")
        return
    shell = shells.Fish(printer, script)
    wanted = {"extprof ": {"help", *COMMANDS, *OTHERS}, "extprof help ": {*COMMANDS, *OTHERS}, "extprof record --mo": {"--mode"},
              "extprof --mo": {"--mode"}, "extprof record -m cpu,wa": {"cpu,wall"}, "extprof top --view=li": {"--view=line"},
              "extprof record -- printen": {"printenv"}}
    for command, rows in truth.lists.items():
        wanted["extprof %s -" % command] = {o for o, _ in truth.of[command] if not o.startswith("--")} - {"-?"}
        wanted["extprof %s --" % command] = {"--" + row[1] for row in rows}
        for letters, name, argument, words, *_ in rows:
            if words and name != "help":
                for option in ["--" + name] + ["-" + letter for letter in letters]:
                    wanted["extprof %s %s " % (command, option)] = set(words.split())
    with Named() as program:
        found = shell.complete([*wanted, "extprof record -p "])
    c.same("fish: a ruby of another name", {program.pid} & set(found["extprof record -p "]), {program.pid})
    for line, words in wanted.items():
        # With one hyphen all options are listed, or the letters alone if there are some.
        got = {w for w in found[line] if not w.startswith("--")} if line.endswith(" -") else found[line]
        c.same("fish: " + line, {"nothing", *got}, {"nothing", *words})
    shell.close()


def check_zsh(c, truth, printer, script):
    if not shells.Zsh.is_there():
        c.skip("zsh", "it is not installed")
        return
    shell = shells.Zsh(printer, script)
    wanted = {"extprof %s -" % command: {o for o, _ in truth.of[command]} for command in ALL}
    wanted["extprof "] = {o for o, _ in truth.options} | {"help", *COMMANDS, *OTHERS}
    wanted["extprof help "] = {"help", *COMMANDS, *OTHERS}
    for line, words in shell.complete(list(wanted)).items():
        c.same("zsh: " + line, words, wanted[line])
    shell.close()


def main(top, printer):
    cli = pathlib.Path(top) / "cli"
    checks = Checks()
    truth = Truth(printer, cli)
    check_man(checks, truth, cli / "man")
    check_bash(checks, truth, printer, cli / "completions" / "extprof.bash")
    check_fish(checks, truth, printer, cli / "completions" / "extprof.fish")
    check_zsh(checks, truth, printer, cli / "completions" / "_extprof")
    print("%d passed, %d failed, %d skipped" % (checks.passed, checks.failed, checks.skipped))
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
