"""Reads what extprof writes: stacks in folded form, and its sums."""
import re

from model import Frame

# A place is the last word of a frame: no path here has blanks in it.
PLACE = re.compile(r"^(.*) (\S+):(~?)(\d+)$")
BARE_PATH = re.compile(r"^(.*) (/\S+|<internal:\S+)$")
# Of a thread that moves between native threads, no tid is shown.
THREAD = re.compile(r"^\[(?:(native|unknown) )?thread (.*?)(?: \((\d+)\))?\]$")
SUMS = re.compile(r"samples taken (\d+) = whole (\d+) \+ truncated (\d+)(?: \([^)]*\))? \+ lost (\d+)(.*)")


def frame(text):
    m = PLACE.match(text)
    if m:
        return Frame(m.group(1), m.group(2), int(m.group(4)), bool(m.group(3)))
    m = BARE_PATH.match(text)
    if m:
        return Frame(m.group(1), m.group(2))  # a file, but no line
    return Frame(text)


class Stack:
    """Outermost frame first. `thread`: (name, tid) if it was asked for, and `no_thread`:
    "native" or "unknown" if the name is not that of a Ruby thread; `gc`: the text of the frame
    that says so; `compiles`: YJIT compiles the innermost frame."""

    def __init__(self, text, count):
        self.text, self.count = text, count
        self.frames = [frame(f) for f in text.split(";")]
        self.thread = self.no_thread = self.gc = self.truncated = None
        m = THREAD.match(self.frames[0].label)
        # By itself it stands for the stack of such a thread.
        if m and len(self.frames) > 1:
            self.no_thread, self.thread = m.group(1), (m.group(2), int(m.group(3) or 0))
            del self.frames[0]
        if self.frames and self.frames[0].label.startswith("[truncated: "):
            self.truncated = self.frames.pop(0).label
        if self.frames and self.frames[-1].label.startswith("[GC"):
            self.gc = self.frames.pop().label
        self.compiles = len(self.frames) > 1 and self.frames[-1].label == "[YJIT compile]"
        if self.compiles:
            self.frames.pop()

    @property
    def native(self):
        """No Ruby frame: a thread of the VM's own, the start or the end of the process."""
        return len(self.frames) == 1 and self.frames[0].label.startswith(
            ("[native thread ", "[ruby starting]", "[ruby ending]", "[thread ending]", "[no ruby code]"))

    def labels(self):
        return [f.label for f in self.frames]


def parse(text):
    stacks = []
    for line in text.splitlines():
        head, _, count = line.rpartition(" ")
        stacks.append(Stack(head, int(count)))
    return stacks


class Sums:
    """The line of the summary that says what became of the samples."""

    def __init__(self, output):
        m = SUMS.search(output)
        if not m:
            raise ValueError("no line of sums in: " + output[-400:])
        self.taken, self.whole, self.truncated, self.lost = map(int, m.groups()[:4])
        self.text = m.group(0)
        self.balanced = (self.taken == self.whole + self.truncated + self.lost
                         and "do not agree" not in m.group(5))
        m = re.search(r"^missed besides: (\d+)", output, re.MULTILINE)
        self.missed = int(m.group(1)) if m else 0
