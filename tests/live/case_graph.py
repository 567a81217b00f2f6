"""Random programs of which every possible stack is known: no sample may be impossible."""
import os
import re
import shutil
import unicodedata
from collections import Counter

import burns  # noqa: F401
import edges_blocks  # noqa: F401
import edges_calls  # noqa: F401
import edges_control  # noqa: F401
import edges_vm  # noqa: F401
import graphgen
import harness
import shapes  # noqa: F401
import yielders  # noqa: F401
from harness import case, check

YJIT = ("--yjit", "--yjit-call-threshold=1")
WANTED = 36000  # samples of each of three programs: over 100,000 for each way to run them
ROUNDS = 8
OUTSIDE = 0.25  # of the samples, at most, are of the VM's own threads and the like
TOTALS = {}


class Tally:
    def __init__(self):
        self.samples = self.checked = self.impossible = self.stacks = 0
        self.approximate = self.unknown_line = self.gc = 0
        self.native = Counter()
        self.examples = []

    def add(self, model, stacks):
        for s in stacks:
            self.samples += s.count
            self.stacks += 1
            self.gc += s.count if s.gc else 0
            if s.native:
                self.native[s.frames[0].label.split(" ")[0].strip("[]")] += s.count
                continue
            self.checked += s.count
            if s.frames and s.frames[-1].path:
                self.approximate += s.count if s.frames[-1].approximate else 0
                self.unknown_line += s.count if not s.frames[-1].line else 0
            mismatch = model.check(s.frames) if not s.truncated else None
            if s.truncated or mismatch:
                self.impossible += s.count
                if len(self.examples) < 5:
                    self.examples.append(explain(s, mismatch))

    def text(self):
        text = "%d samples, %d impossible, %d different stacks" % (
            self.samples, self.impossible, self.stacks)
        if self.approximate or self.unknown_line:
            text += ", leaf lines %.0f %% exact" % (
                100 - 100 * (self.approximate + self.unknown_line) / max(self.checked, 1))
        return text


def explain(stack, mismatch):
    if not mismatch:
        return "truncated: " + stack.text[:300]
    shown = [str(f) for f in stack.frames]
    at = mismatch.depth
    expected = " or ".join(mismatch.expected[:4])
    return "%d times: %s\n    frame %d: expected %s" % (
        stack.count, ";".join(shown[:at] + [">>> " + shown[at]] + shown[at + 1:])[-700:], at, expected[:500])


def graph(ctx, seed, flags, wanted=WANTED):
    program = graphgen.Gen(seed, ctx.path("graph%d.rb" % seed))
    program.save()
    jit = "--yjit" in flags
    model = program.model(jit)
    ruby = ctx.ruby(*flags, program.path)
    ruby.expect("ready")
    rate = harness.rate(10000)
    tally, lost = Tally(), []
    for _ in range(ROUNDS):
        # The compiler is busy first; the rounds after see its code.
        profile = ctx.profile(ruby.pid, seconds=2, rate=rate)
        check(ruby.p.poll() is None, "the program ended with status %s", ruby.p.poll())
        sums = profile.sums
        check(sums.balanced, "sums: " + sums.text)
        tally.add(model, profile.stacks)
        if sums.lost or sums.truncated:
            lost.append(sums.text)
        if tally.samples >= wanted:
            break
    total = TOTALS.setdefault("YJIT" if jit else "interpreter", [0, 0])
    total[0] += tally.samples
    total[1] += tally.impossible
    check(not tally.impossible, "seed %d: %s\n%s", seed, tally.text(), "\n".join(tally.examples))
    check(tally.samples >= wanted, "seed %d: too few samples at %d Hz: %s", seed, rate, tally.text())
    check(not lost, "seed %d: %s: %s", seed, tally.text(), "; ".join(lost))
    outside = sum(tally.native.values())
    check(outside < OUTSIDE * tally.samples, "%d of %d samples show no Ruby: %s", outside, tally.samples,
          dict(tally.native))
    shown = "%.1f %% show no Ruby" % (100 * outside / tally.samples)
    if outside > 0.6 * OUTSIDE * tally.samples:
        shown += " (NEAR the bound of %.0f %%: %s)" % (100 * OUTSIDE, dict(tally.native))
    return "%s, %s; %d of %d edges seen" % ((tally.text(), shown) + model.coverage())


@case(timeout=60)
def interpreter_1(ctx):
    return graph(ctx, 1, ())


@case(timeout=60)
def interpreter_2(ctx):
    return graph(ctx, 2, ())


@case(timeout=60)
def interpreter_9(ctx):
    return graph(ctx, 9, ())


@case(timeout=60)
def yjit_1(ctx):
    return graph(ctx, 1, YJIT)


@case(timeout=60)
def yjit_5(ctx):
    return graph(ctx, 5, YJIT)


@case(timeout=60)
def yjit_9(ctx):
    return graph(ctx, 9, YJIT)


@case(timeout=60)
def compacting(ctx):
    """Every major collection moves objects."""
    compact = ctx.write("compact.rb", "GC.auto_compact = true\n")
    return graph(ctx, 12, ("-r" + compact,), 15000)


@case(timeout=60)
def yjit_code_gc(ctx):
    """All compiled code is thrown away now and then."""
    return graph(ctx, 12, YJIT + ("--yjit-exec-mem-size=2", "--yjit-code-gc"), 15000)


@case(timeout=60)
def yjit_default_threshold(ctx):
    """Part of the program is compiled, part is not."""
    return graph(ctx, 13, ("--yjit",), 15000)


MEMORY = 200 << 20  # bytes that extprof may have in use, whatever it samples


def peak(reader):
    """Wait for its end: the most memory that it had in use, in bytes."""
    status, most = harness.wait_for_peak(reader.pid)
    reader.p.returncode = os.waitstatus_to_exitcode(status)
    return most


@case(timeout=60)
def parting(ctx):
    """Nearly no two stacks of 1,200 frames are equal: the rarest are cut, and no sample is lost."""
    depth = 1200
    ruby = ctx.program("parting.rb", depth)
    ruby.expect("ready")
    reader = ctx.extprof_start("-p", ruby.pid, "-d", 6, "-F", harness.rate(2000), "-o", ctx.path("out.folded"))
    memory = peak(reader)
    profile = ctx.profile_of(reader).ok()
    sums, merged, whole, turns = profile.sums, 0, 0, Counter()
    check(sums.balanced and "no-memory" not in sums.text, "sums: " + sums.text)
    for s in profile.stacks:
        if s.native:
            continue
        labels = s.labels() + ([s.gc] if s.gc else [])
        ways = sum(label in ("Object#left", "Object#right") for label in labels)
        rest = labels[1 + ways:]
        check(labels[0] == "<main>" and set(labels[1:1 + ways]) <= {"Object#left", "Object#right"} and
              ways <= depth + 1 and len(rest) <= 2, "no stack of the program: %d ways, then %s", ways, rest)
        check("Object#work" not in rest or ways == depth + 1, "%s is below %d ways", rest, ways)
        merged += s.count if rest == ["[merged]"] else 0
        whole += s.count if "Object#work" in rest else 0
        turns[labels[2] if ways > 1 else None] += s.count
    total = sum(s.count for s in profile.stacks)
    check(total == sums.whole + sums.truncated, "%d samples are in the file: %s", total, sums.text)
    note = re.search(r"^stacks cut: (\d+) samples", profile.out, re.MULTILINE)
    check(note and int(note.group(1)) == merged > 0, "%d samples are [merged]: %s", merged, note)
    # Each way is as likely: what is merged is still where it was.
    left = turns["Object#left"] / (turns["Object#left"] + turns["Object#right"])
    check(abs(left - 0.5) < 0.1, "%.3f of the samples go left: %s", left, turns)
    check(memory < MEMORY, "extprof had %.0f MB in use", memory / (1 << 20))
    return "%d samples, %d of them merged, %d whole, none lost as no-memory; %.0f MB" % (
        total, merged, whole, memory / (1 << 20))


GRAPH_MAX = 7 << 20  # bytes of a flame graph: FLAME_DATA_MAX, FLAME_DRAWN_MAX and the page around them


def browse(ctx, path, fragment="", width=1200):
    """The page as a browser has it after its scripts have run; None: there is no browser."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not browser:
        return None
    p = ctx.start([browser, "--headless", "--no-sandbox", "--disable-gpu",
                   "--user-data-dir=" + ctx.path("chromium"),
                   "--virtual-time-budget=4000", "--window-size=%d,900" % width, "--dump-dom", "file://" + path + fragment])
    return p.communicate(timeout=60)[0]


def with_script(ctx, name, text, script):
    """The page with another script at its end, which its policy would not let run without the page's number."""
    nonce = re.search(r'<script nonce="(\w+)">', text).group(1)
    return ctx.write(name, text.replace("</body>", script.replace("<script>", '<script nonce="%s">' % nonce) + "</body>"))


@case(timeout=120)
def parting_flamegraph(ctx):
    """It has some MB, opens, and says how much of the stacks is not in it."""
    ruby = ctx.program("parting.rb", 1200)
    ruby.expect("ready")
    path = ctx.path("out.svg")
    reader = ctx.extprof_start("-p", ruby.pid, "-d", 6, "-F", harness.rate(2000), "-o", path)
    memory = peak(reader)
    profile = ctx.profile_of(reader).ok()
    ruby.kill()
    samples = profile.sums.whole + profile.sums.truncated
    size = os.path.getsize(path)
    check("no-memory" not in profile.sums.text, "sums: " + profile.sums.text)
    check(size < GRAPH_MAX, "the flame graph has %.1f MB", size / (1 << 20))
    check(memory < MEMORY, "extprof had %.0f MB in use", memory / (1 << 20))
    with open(path, encoding="utf-8") as f:
        hidden = re.search(r">not in this file: (\d+) frames of (\d+), with the ends of (\d+) samples", f.read())
    text = "%.1f MB, %.0f MB in use, " % (size / (1 << 20), memory / (1 << 20)) + (
        "%s of %s frames left out" % hidden.group(1, 2) if hidden else "nothing left out")
    page = browse(ctx, path)
    if page is None:
        return text + "; NOT opened: there is no browser here"
    shown = re.search(r'id="graph"[^>]* data-shown="(\d+)"', page)
    total = re.search(r'id="details"[^>]*>all: (\d+) samples(?:; (\d+) samples end in frames that are not in this file)?'
                      r"(?: \u2014 (\d+) narrower frames are not drawn: zoom in)?<", page)
    check(shown and total, "the script has not drawn: %s", page[:200])
    # Widths add up: the script has summed up what is in the file.
    check(int(total.group(1)) == samples, "the file has %s samples, not %d", total.group(1), samples)
    check(total.group(2) == (hidden.group(3) if hidden else None), "left out: %s, not %s", total.group(2), hidden)
    # A zoom to a frame shows all below it as parents, and above it what was too narrow before.  The stacks part at
    # random: which rows have something narrow above them is not known before, so the widest frames of some are tried.
    boxes = [(int(n), float(y), float(width)) for n, y, width in re.findall(
        r'<g class="f" data-n="(\d+)"[^>]*>.*?<rect x="[\d.]+" y="([\d.]+)" width="([\d.]+)"', page, re.S)]
    root = max(y for _, y, _ in boxes)
    rows = sorted({y for _, y, _ in boxes}, reverse=True)
    tried = []
    for row in (rows[min(n, len(rows) - 1)] for n in (40, 20, 10, 7, 5)):
        number = max((b for b in boxes if b[1] == row), key=lambda b: b[2])[0]
        depth = round((root - row) / 17)
        zoomed = browse(ctx, path, "#zoom=%d" % number)
        parents = zoomed.count('class="f parent"')
        new = {int(n) for n in re.findall(r'<g class="f[^"]*" data-n="(\d+)"[^>]*>', zoomed)} - {n for n, _, _ in boxes}
        check(parents == depth, "the zoom to frame %d, %d deep, shows %d as parents", number, depth, parents)
        tried.append((number, depth))
        if new:
            break
    else:
        check(False, "no zoom shows a frame that was not drawn: %s", tried)
    return "%s; opened, %s frames drawn, %s left for a zoom" % (text, shown.group(1), total.group(3) or "none")


# Writes where a text ends behind its frame, by what the browser measures, into the page.
MEASURE = """<script>
(function () {
  var texts = 0, cut = 0, wide = 0, over = [];
  document.querySelectorAll("g.f").forEach(function (g) {
    var text = g.querySelector("text"), rect = g.querySelector("rect");
    if (!text) { return; }
    texts++;
    if (/\u2026$/.test(text.textContent)) { cut++; }
    if (/[^\x20-\x7e\u2026]/.test(text.textContent)) { wide++; }
    if (text.getComputedTextLength() + 3 > +rect.getAttribute("width") + 1) { over.push(text.textContent); }
  });
  document.body.setAttribute("data-measured", [texts, cut, wide, over.length].join(" "));
  document.body.setAttribute("data-over", over.join("|"));
})();
</script>"""


@case(timeout=90)
def wide_letters(ctx):
    """Tables are aligned, and texts end within their frames, whatever the letters are."""
    ruby = ctx.program("wide.rb")
    ruby.expect("ready")
    path = ctx.path("out.html")
    profile = ctx.extprof("-p", ruby.pid, "-d", 3, "-F", harness.rate(2000), "--rows=40", "-o", path).ok()
    ruby.kill()
    table = profile.out.split("By time in the method and what it calls\n")[1].split("\n\n")[0].splitlines()
    table = [line for line in table if re.search(r" /\S*wide\.rb:\d+$", line)]
    check(len(table) >= 18, "the table has %d rows", len(table))
    starts = Counter(columns(line[:line.rindex(" /")]) for line in table)
    check(len(starts) == 1, "files begin in columns %s", dict(starts))
    with open(path, encoding="utf-8") as f:
        text = f.read()
    page = browse(ctx, with_script(ctx, "measured.html", text, MEASURE), width=3000)
    if page is None:
        return "%d rows aligned; NOT opened: there is no browser here" % len(table)
    measured = re.search(r'data-measured="(\d+) (\d+) (\d+) (\d+)"', page)
    check(measured, "the page was not measured")
    texts, cut, wide, over = map(int, measured.groups())
    check(cut > 5 and wide >= 8, "%d texts, %d cut, %d wide: too few to tell", texts, cut, wide)
    check(not over, "%d of %d texts go beyond their frames: %s", over, texts,
          re.search(r'data-over="([^"]*)"', page).group(1)[:300])
    return "%d rows aligned; %d texts within their frames, %d cut, %d of other letters" % (
        len(table), texts, cut, wide)


def columns(text):
    """What a terminal takes for it."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def summary():
    return "\n".join("graph, %s: %d samples, %d impossible" % (k, *v) for k, v in TOTALS.items())


harness.SUMMARY.append(summary)
