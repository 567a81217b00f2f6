# SPDX-License-Identifier: BSD-2-Clause
"""What bash, fish and zsh complete of a command line, each asked itself."""
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time


def bash(printer, script, *words):
    """The last word is where the cursor is."""
    line = """source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _extprof; printf '%s\\n' "${COMPREPLY[@]}" """
    return subprocess.run(["bash", "-c", line, "bash", script, printer, *words], stdout=subprocess.PIPE, check=True,
                          text=True).stdout.split()


class Shell:
    """A folder in which the program has its name."""

    name = ""

    def __init__(self, printer):
        self.folder = tempfile.TemporaryDirectory()
        os.symlink(os.path.abspath(printer), os.path.join(self.folder.name, "extprof"))
        self.environment = dict(os.environ, PATH=self.folder.name + ":" + os.environ["PATH"], HOME=self.folder.name,
                                XDG_CONFIG_HOME=self.folder.name, XDG_DATA_HOME=self.folder.name, TERM="xterm")

    @classmethod
    def is_there(cls):
        return shutil.which(cls.name) is not None

    def close(self):
        self.folder.cleanup()


class Fish(Shell):
    name = "fish"

    def __init__(self, printer, script):
        super().__init__(printer)
        self.script = os.path.abspath(script)

    def complete(self, lines):
        """{line: words}"""
        ask = "source $argv[1]; for line in $argv[2..-1]; complete -C $line | string split -f 1 \\t; echo -- -end-; end"
        run = subprocess.run(["fish", "-N", "-c", ask, str(self.script), *lines], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             cwd=self.folder.name, env=self.environment, text=True, timeout=60)
        if run.stderr:
            raise RuntimeError("fish: " + run.stderr[-500:])
        return dict(zip(lines, (part.split() for part in run.stdout.split("-end-\n"))))


class Zsh(Shell):
    """A terminal in which the keys are typed: zsh completes nowhere else."""

    name = "zsh"
    END = "<end>"

    def __init__(self, printer, script):
        super().__init__(printer)
        # Lists are not cut, and a line that is typed is seen once.
        setup = """PS1='%s' PS2= LISTMAX=10000; unset zle_bracketed_paste; unsetopt prompt_cr beep always_last_prompt; bindkey -e
fpath=(%s $fpath); autoload -Uz compinit; compinit -u -d %s/dump; zstyle ':completion:*' list-prompt ''
zstyle ':completion:*' menu no; zstyle ':completion:*' insert-tab no; setopt no_list_ambiguous
""" % (self.END, pathlib.Path(script).resolve().parent, self.folder.name)
        with open(os.path.join(self.folder.name, ".zshrc"), "w", encoding="utf-8") as f:
            f.write(setup)
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.chdir(self.folder.name)
            os.execvpe("zsh", ["zsh", "-i", "-d"], dict(self.environment, COLUMNS="160", LINES="400", ZDOTDIR=self.folder.name))
        # Keys before the prompt would be for nobody.
        self.until(re.escape(self.END))

    def until(self, end):
        """What it writes, to the first text after which `end` has come."""
        text, late = "", time.monotonic() + 30
        while not re.search(end, text):
            if not select.select([self.terminal], [], [], max(0, late - time.monotonic()))[0]:
                raise RuntimeError("zsh does not answer: " + text[-500:])
            # Without colours and movements.
            text += os.read(self.terminal, 65536).decode("utf-8", "replace")
            text = re.sub(r"\x1b\[[\d;?]*[A-Za-z]|\x1b[=>]|\r", "", text)
        return text

    def complete(self, lines):
        """{line: words}: what is listed."""
        found = {}
        for line in lines:
            # List what there is, and again: keys that wait would keep it from listing.
            os.write(self.terminal, line.encode() + b"\x1b\x04")
            text = self.until(r"(?s)\n.*-- .*" + re.escape(line.strip()) + r"\s*\Z")
            os.write(self.terminal, b"\x15")
            found[line] = re.findall(r"(?m)^((?:\S+ +)+?)-- ", text.partition("\n")[2])
            found[line] = " ".join(found[line]).split()
        return found

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)
        super().close()
