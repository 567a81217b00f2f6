#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""formats.py DIRECTORY: compares what the program formats wrote there. The same report is there in
folded form, which is the truth, for pprof and for speedscope. The readers are `go tool pprof`, and
speedscope's own schema and page of its npm package. A reader that is not here is skipped, with the
reason. Ends with "N passed, N failed, N skipped"."""
import base64
import functools
import glob
import html
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
sys.dont_write_bytecode = True
import otlp  # noqa: E402

PERIOD = 10101010
# How many outermost frames are groups.
PROFILES = {"empty": 1, "plain": 0, "threads": 1, "patterns": 2, "all": 3, "deep": 1}
# What the frames of groups in formats.c stand for.
GROUPS = {
    "[cgroup /system.slice/web.service]": {"cgroup": "/system.slice/web.service"},
    "[unknown cgroup]": {"cgroup": "unknown cgroup"},
    "[process 10 puma]": {"process": "puma", "pid": "10"},
    '[process 11 11 "x"]': {"process": '11 "x"', "pid": "11"},
    "[process 12]": {"process": "12", "pid": "12"},
    "[process idle.rb]": {"process": "idle.rb"},
    "[thread main (42)]": {"thread": "main", "tid": "42"},
    "[thread main]": {"thread": "main"},
    "[thread worker 1 (43)]": {"thread": "worker 1", "tid": "43"},
    "[thread worker *]": {"thread": "worker *"},
    "[thread x (7) (44)]": {"thread": "x (7)", "tid": "44"},
    "[thread x (7)]": {"thread": "x (7)"},
    "[thread #3 (gone)]": {"thread": "#3 (gone)"},
    "[thread ractor 2 main (45)]": {"thread": "ractor 2 main", "tid": "45"},
    "[native thread ruby (42)]": {"thread": "native thread ruby", "tid": "42"},
    "[unknown thread y (46)]": {"thread": "unknown thread y", "tid": "46"},
    "[unknown thread]": {"thread": "unknown thread"},
    "[one of too many threads]": {"thread": "one of too many threads"},
    "[thread (5)]": {"thread": "(5)"},
    '[thread a:b "c" (47)]': {"thread": 'a:b "c"', "tid": "47"},
    "[thread thread z (48)]": {"thread": "thread z", "tid": "48"},
}
ACCOUNT = re.compile(r"samples taken (\d+) = whole (\d+) \+ truncated (\d+)( \(too-deep: 1\))? \+ lost 5 \(ring-full: 5\)")


class Skip(Exception):
    pass


class Failed(Exception):
    pass


def check(condition, text, *values):
    if not condition:
        raise Failed(text % values if values else text)


def same(got, expected, what):
    if got == expected:
        return
    missing, extra = Counter(expected) - Counter(got), Counter(got) - Counter(expected)
    raise Failed("%s: %d missing, such as %s; %d extra, such as %s" % (
        what, len(missing), list(missing.items())[:2], len(extra), list(extra.items())[:2]))


# -- the truth ------------------------------------------------------------------

def folded(path):
    """{(frames, outermost first): samples}"""
    stacks = Counter()
    with open(path, encoding="utf-8") as f:
        for line in f.read().split("\n")[:-1]:
            head, _, count = line.rpartition(" ")
            stacks[tuple(head.split(";"))] += int(count)
    return stacks


def as_folded(name):
    return name.replace(";", ":")


def exact(frame):
    """pprof has no mark for an approximate line."""
    return re.sub(r":~(\d+)$", r":\1", frame)


class Texts:
    """The names and paths in formats.c, without which a name cannot be told from a place."""

    def __init__(self, directory):
        def read(name):
            with open(os.path.join(directory, name), encoding="utf-8") as f:
                return sorted(f.read().split("\n")[:-1], key=len, reverse=True)
        self.names, self.paths = read("names"), read("paths")

    def bare(self, name, path):
        """The name without the end of the path that may follow it."""
        for n in self.names:
            end = name[len(n) + 1:]
            if name == n or name.startswith(n + " ") and (path.endswith(end) or
                                                           path.endswith(end.replace("(eval at ", "")) and "eval" in path):
                return n
        return name

    def split(self, text):
        """(name, path) of "name path" """
        path = next(p for p in self.paths if text.endswith(" " + p))
        return text[:-len(path) - 1], path


def labelled(stacks, levels):
    """{(labels, frames)}: as pprof has them."""
    result = Counter()
    for frames, count in stacks.items():
        labels = {}
        for f in frames[:levels]:
            # Of two of the same kind, the inner one.
            labels.update(GROUPS[f])
        # A thread without a frame is one.
        result[tuple(sorted(labels.items())), frames[levels:] or frames[-1:]] += count
    return result


# -- pprof ------------------------------------------------------------------------

def pprof(path, *args):
    if not shutil.which("go"):
        raise Skip("there is no go: Debian's golang-go has `go tool pprof`")
    env = {**os.environ, "HOME": os.path.dirname(path), "GOFLAGS": "", "GOTOOLCHAIN": "local",
           "PPROF_TMPDIR": os.path.dirname(path), "LC_ALL": "C.UTF-8"}
    run = subprocess.run(["go", "tool", "pprof", *args, path], env=env, capture_output=True, timeout=300)
    err = run.stderr.decode("utf-8", "replace")
    check(run.returncode == 0, "pprof %s ended with status %d: %s", " ".join(args), run.returncode, err[-500:])
    # It complains about what it does not find, and goes on.
    check(not re.sub(r"(Main b|B)inary filename not available\.\n", "", err).strip(), "pprof says: %s", err[-500:])
    return run.stdout.decode("utf-8")


LOCATION = re.compile(r"^ +(\d+): 0x0 M=1 (.*):(\d+):?\d* s=(\d+)\((.*)\)$")


class Raw:
    """What -raw prints: {(labels, frames): (samples, nanoseconds)}."""

    def __init__(self, text, texts):
        head, _, rest = text.partition("\nSamples:\n")
        samples, _, rest = rest.partition("\nLocations\n")
        locations, _, self.mappings = ("\n" + rest).partition("\nMappings\n")
        self.head = head.split("\n")
        # By id: as folded has it; by that and as pprof shows it.
        self.frames, self.shown, self.start_lines = {}, {}, set()
        for line in filter(None, locations.split("\n")):
            m = LOCATION.match(line)
            check(m, "location: %r", line)
            place = ":" + m.group(3)
            name, path = texts.split(m.group(2))
            bare = texts.bare(name, path)
            kind = next((k for k in ("Ruby ", "C method ", "thread ", "process ") if m.group(5) == k + bare), None)
            check(kind, "system name: %r of %r", m.group(5), bare)
            frame = bare + (" " + path + (place if place != ":0" else "") if path else "")
            self.frames[m.group(1)] = as_folded(frame)
            self.shown[as_folded(m.group(2) + (place if place != ":0" or not path else ""))] = as_folded(frame)
            self.start_lines.add(int(m.group(4)))
        lines = samples.split("\n")
        self.types, self.stacks, self.cpu = lines[0], Counter(), Counter()
        current = None
        for line in lines[1:]:
            m = re.match(r"^ +(\d+) +(\d+): ((?:\d+ )+)$", line)
            if m:
                self.add(current)
                frames = tuple(self.frames[i] for i in reversed(m.group(3).split()))
                current = [int(m.group(1)), int(m.group(2)), frames, {}]
                continue
            check(current and line.startswith(" " * 16), "sample: %r", line)
            # Texts are on one line, and the numbers on another.
            for key, label in re.findall(r"(\w+):\[(.*?)\](?= \w+:\[|$)", line.strip()):
                check(key not in current[3], "two labels %s: %r", key, line)
                current[3][key] = label
        self.add(current)

    def add(self, sample):
        if sample:
            key = tuple(sorted(sample[3].items())), sample[2]
            self.stacks[key] += sample[0]
            self.cpu[key] += sample[1]


def value(text, unit):
    """0, 12, 12count, 3ns"""
    check(text == "0" or text.endswith(unit), "value: %r", text)
    return int(text[:len(text) - len(unit)] if unit and text != "0" else text)


def top(path, *args):
    """[(flat, cumulative, text)] in samples; all rows, none dropped."""
    text = pprof(path, "-top", "-sample_index=samples", "-unit=count", "-nodecount=0", "-nodefraction=0",
                 "-edgefraction=0", *args)
    rows = text.partition("cum%\n")[2].split("\n")[:-1]
    total = re.search(r"of (\d+) total", text)
    result = []
    for row in rows:
        m = re.match(r"^ *(\S+) +\S+% +\S+% +(\S+) +\S+%  (.*)$", row)
        check(m, "row: %r", row)
        result.append((value(m.group(1), ""), value(m.group(2), ""), m.group(3)))
    return int(total.group(1)) if total else 0, result


def pprof_file(directory, profile):
    return os.path.join(directory, profile + ".lines.pprof")


def pprof_stacks(directory, profile):
    """-raw: every stack with its labels and its count; nothing more, nothing less"""
    raw = Raw(pprof(pprof_file(directory, profile), "-raw"), Texts(directory))
    truth = folded(os.path.join(directory, profile + ".lines.folded"))
    expected = Counter()
    for (labels, frames), n in labelled(truth, PROFILES[profile]).items():
        expected[labels, tuple(exact(f) for f in frames)] += n
    same(raw.stacks, expected, "stacks")
    same(raw.cpu, Counter({k: n * PERIOD for k, n in expected.items()}), "nanoseconds")
    check(raw.types == "samples/count cpu/nanoseconds[dflt]", "sample types: %s", raw.types)
    check("Period: %d" % PERIOD in raw.head and "PeriodType: cpu nanoseconds" in raw.head, "head: %s", raw.head)
    check("Time: 2023-11-14 22:13:20 +0000 UTC" in raw.head and "Duration: 12.5" in raw.head, "head: %s", raw.head)
    check(re.fullmatch(r"1: 0x0/0x0/0x0 ruby +\[FN\]\[FL\]\[LN\]", raw.mappings.strip()), "mappings: %r", raw.mappings)
    if profile == "plain":
        check(raw.start_lines == {0, 10, 20}, "start lines: %s", raw.start_lines)
    return "%d samples in %d stacks" % (sum(truth.values()), len(truth))


def pprof_top(directory, profile):
    """-top: flat and cumulative of each method"""
    truth = folded(os.path.join(directory, profile + ".code.folded"))
    flat, inside = Counter(), Counter()
    for frames, n in truth.items():
        frames = frames[PROFILES[profile]:] or frames[-1:]
        flat[frames[-1]] += n
        for f in set(frames):
            inside[f] += n
    total, rows = top(pprof_file(directory, profile))
    check(total == sum(truth.values()), "total %d, not %d", total, sum(truth.values()))
    got, cumulative = Counter(), {}
    for row_flat, row_cumulative, text in rows:
        got[as_folded(text)] += row_flat
        cumulative.setdefault(as_folded(text), []).append(row_cumulative)
    # Rows with 0 are equal to what is not there.
    same(+got, +flat, "flat")
    check(set(cumulative) == set(inside), "methods: %s", set(cumulative) ^ set(inside))
    exactly = 0
    for text, values in cumulative.items():
        # A name with several rows is of blocks that begin on different lines, or of different kinds.
        check(max(values) <= inside[text] <= sum(values), "cumulative %s of %s, which has %d", values, text, inside[text])
        exactly += len(values) == 1
    return "%d samples, %d methods, %d with one row" % (total, len(cumulative), exactly)


def pprof_lines(directory, profile):
    """-lines: flat of each line"""
    truth = folded(os.path.join(directory, profile + ".lines.folded"))
    shown = Raw(pprof(pprof_file(directory, profile), "-raw"), Texts(directory)).shown
    flat = Counter()
    for frames, n in truth.items():
        flat[exact(frames[-1])] += n
    total, rows = top(pprof_file(directory, profile), "-lines")
    check(total == sum(truth.values()), "total %d, not %d", total, sum(truth.values()))
    got = Counter()
    for row_flat, _, text in rows:
        text = as_folded(text)
        got[shown.get(text) or shown.get(text + " :0", text)] += row_flat
    same(+got, +flat, "flat")
    return "%d samples, %d lines" % (total, len(rows))


def pprof_tags(directory, profile):
    """-tags: samples of each value of each label"""
    truth = folded(os.path.join(directory, profile + ".lines.folded"))
    expected = Counter()
    for (labels, _), n in labelled(truth, PROFILES[profile]).items():
        for item in labels:
            expected[item] += n
    text = pprof(pprof_file(directory, profile), "-tags", "-sample_index=samples", "-unit=count")
    got, key = Counter(), None
    for line in text.split("\n"):
        head = re.match(r"^ (\w+): Total ", line)
        row = re.match(r"^ +(\d+)(?:\.0)? \( *\S+%\): (.*)$", line)
        if head:
            key = head.group(1)
        elif row:
            got[key, row.group(2)] += int(row.group(1))
    same(got, expected, "tags")
    return "%d values" % len(got)


def pprof_comments(directory, profile):
    """-comments: the account, the command, the version of Ruby, what is approximate"""
    truth = folded(os.path.join(directory, profile + ".lines.folded"))
    text = pprof(pprof_file(directory, profile), "-comments")
    m = ACCOUNT.search(text)
    total = sum(truth.values())
    check(m and int(m.group(1)) == total + 5 == int(m.group(2)) + int(m.group(3)) + 5, "account: %s", text)
    check('command: ruby app.rb "quoted" <b> (pid 42)\n' in text, "command: %s", text)
    check("ruby: ruby 3.4.5 (2025-07-16) +YJIT [x86_64-linux]\n" in text and "missed besides: 3\n" in text, text)
    check("samples: on-CPU at 99 Hz by the clock\n" in text, text)
    approximate = len({f for s in truth for f in s if ":~" in f})
    m = re.search("locations whose line is approximate: (\\d+)", text)
    check(int(m.group(1)) >= approximate if approximate else not m, "%s approximate lines: %s", approximate, text)
    return m.group(0) if m else "no approximate line"


# -- speedscope -------------------------------------------------------------------

def speedscope_file(directory, profile, detail):
    with open(os.path.join(directory, "%s.%s.speedscope" % (profile, detail)), encoding="utf-8") as f:
        return json.load(f)


def speedscope_frame(frame, by_line, texts):
    """As folded has it."""
    if not by_line or "file" not in frame:
        return as_folded(frame["name"])
    path = re.sub(r":~\d+$", "", frame["file"])
    line = ":%d" % frame["line"] if "line" in frame else ""
    return as_folded(texts.bare(frame["name"], path) + " " + frame["file"] + line)


def events(profile, frames):
    """{stack: weight}; every frame that opens closes, in order"""
    stacks, stack, at = Counter(), [], profile["startValue"]
    for e in profile["events"]:
        check(e["at"] >= at, "an event at %d after %d", e["at"], at)
        if stack and e["at"] > at:
            stacks[tuple(frames[f] for f in stack)] += e["at"] - at
        check(stack or e["at"] == at, "%d in no frame", e["at"] - at)
        at = e["at"]
        if e["type"] == "O":
            stack.append(e["frame"])
        else:
            check(stack and stack.pop() == e["frame"], "%d closes, and is not the last that opened", e["frame"])
    check(not stack and at == profile["endValue"], "it ends at %d, not %d, in %s", at, profile["endValue"], stack)
    return stacks


def speedscope_stacks(directory, profile):
    """every stack and its weight, in the profile of its group"""
    levels = PROFILES[profile]
    for detail in ("lines", "code"):
        document = speedscope_file(directory, profile, detail)
        truth = folded(os.path.join(directory, "%s.%s.folded" % (profile, detail)))
        expected = Counter()
        for frames, n in truth.items():
            groups = []
            for f in frames[:levels]:
                labels = dict(GROUPS[f])
                number = labels.pop("tid", None) or labels.pop("pid", None)
                groups.append(*labels.values())
                groups[-1] += " (%s)" % number if number else ""
            name = " / ".join(groups) or 'ruby app.rb "quoted" <b>'
            expected[name, frames[levels:] or frames[-1:]] += n * PERIOD
        frames = [speedscope_frame(f, detail == "lines", Texts(directory)) for f in document["shared"]["frames"]]
        got, totals = Counter(), []
        for p in document["profiles"]:
            check(p["unit"] == "nanoseconds" and p["startValue"] == 0, "%s", p["name"])
            totals.append(p["endValue"])
            for stack, weight in events(p, frames).items():
                got[p["name"], stack] += weight
        same(got, expected, "stacks by " + detail)
        check(totals == sorted(totals, reverse=True), "profiles in the order %s", totals)
        check(document["activeProfileIndex"] == 0 and document["exporter"].startswith("extprof@"), "head")
        m = ACCOUNT.search(document["name"])
        mode = document["extprof"]["modes"]["cpu"]
        check(m and m.group(0) == mode["account"], "account: %s", document["name"])
        check(mode["total"] == sum(truth.values()) * PERIOD and mode["metric"] == "cpu", "total: %s", mode)
        check(sum(truth.values()) == int(m.group(2)) + int(m.group(3)), "samples")
    return "%d profiles" % len(document["profiles"])


@functools.lru_cache(maxsize=None)
def get_package(path):
    """Get the npm package of the registry and unpack it. Why not, or None."""
    if os.path.exists(os.path.join(path, "package", "package.json")):
        return None
    if not shutil.which("npm"):
        return "there is no npm, which gets the package speedscope"
    os.makedirs(path, exist_ok=True)
    try:
        run = subprocess.run(["npm", "pack", "--loglevel=error", "--fetch-retries=0", "speedscope@1.25.0"], cwd=path,
                             capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "npm has not got the package speedscope after 120 s"
    archives = glob.glob(os.path.join(path, "*.tgz"))
    if run.returncode or not archives:
        return "npm cannot get the package speedscope (status %d): %s" % (
            run.returncode, " ".join(run.stderr.split())[:200])
    shutil.unpack_archive(archives[0], path)
    return None


def package(directory):
    """Where the viewer is."""
    path = os.path.join(os.path.dirname(directory), "speedscope")
    why_not = get_package(path)
    if why_not:
        raise Skip(why_not)
    return os.path.join(path, "package", "dist", "release")


def speedscope_schema(directory, profile):
    """valid by the schema that the npm package has"""
    schema_path = os.path.join(package(directory), "file-format-schema.json")
    try:
        import jsonschema
    except ImportError:
        raise Skip("there is no python3-jsonschema")
    with open(schema_path, encoding="utf-8") as f:
        validator = jsonschema.Draft7Validator(json.load(f))
    # That it can fail at all:
    check(not validator.is_valid({"$schema": "x", "profiles": [], "shared": {"frames": []}}), "everything is valid")
    for detail in ("lines", "code"):
        for error in validator.iter_errors(speedscope_file(directory, profile, detail)):
            raise Failed("%s at %s" % (error.message[:200], list(error.path)))
    return "lines and code"


def seconds(text):
    """of "81.82ms (3.8%)" """
    m = re.match(r"([\d.]+)(ms|s|µs|min) \(", text)
    return float(m.group(1)) * {"ms": 1e-3, "s": 1, "µs": 1e-6, "min": 60}[m.group(2)]


def totals(document):
    """{name: [(total, self)] in seconds} of the first profile, for each frame; recursion counts once"""
    total, own = Counter(), Counter()
    for stack, weight in events(document["profiles"][0], range(len(document["shared"]["frames"]))).items():
        own[stack[-1]] += weight
        for f in set(stack):
            total[f] += weight
    result = {}
    for f, weight in total.items():
        name = document["shared"]["frames"][f]["name"]
        result.setdefault(name, []).append((weight / 1e9, own[f] / 1e9))
    return result


class Page:
    """speedscope's page in a browser, with a file of ours."""

    def __init__(self, directory, profile):
        browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        if not browser:
            raise Skip("there is no chromium")
        self.viewer = "file://%s/index.html" % os.path.abspath(package(directory))
        self.script = os.path.join(directory, profile + ".js")
        with open(os.path.join(directory, profile + ".code.speedscope"), "rb") as f:
            content = base64.b64encode(f.read()).decode()
        with open(self.script, "w", encoding="utf-8") as f:
            f.write('speedscope.loadFileFromBase64("x.speedscope.json", "%s")' % content)
        self.command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader",
                        "--allow-file-access-from-files", "--virtual-time-budget=10000",
                        "--user-data-dir=" + os.path.join(directory, "chromium")]

    def run(self, view, *options):
        url = "%s#localProfilePath=%s&view=%s" % (self.viewer, self.script, view)
        run = subprocess.run([*self.command, *options, url], capture_output=True, timeout=120)
        check(run.returncode == 0, "the browser ended with status %d: %s", run.returncode, run.stderr[-300:])
        return run.stdout.decode("utf-8")


def speedscope_page(directory, profile):
    """speedscope's page: its title, its list of profiles, and the table of all frames (the sandwich)"""
    page, document = Page(directory, profile), speedscope_file(directory, profile, "code")
    text = page.run("sandwich", "--window-size=1400,4000", "--dump-dom")
    texts = [html.unescape(t) for t in re.findall(r">([^<>]+)<", text)]
    check(document["name"] + " - speedscope" in texts, "title: %s", texts[:3])
    for p in document["profiles"]:
        check(any(t.strip() == p["name"] for t in texts), "profile %s is not listed", p["name"])
    truth = totals(document)
    most, shown = sorted((x[1] for frames in truth.values() for x in frames), reverse=True), []
    # What looks like a mangled name is shown as that of C++.
    truth.setdefault("foo::bar()", []).extend(truth.pop("_ZN3foo3barEv", []))
    number = re.compile(r"[\d.]+(ms|s|µs|min) \(")
    for i in range(len(texts) - 2):
        if not (number.match(texts[i]) and number.match(texts[i + 1])):
            continue
        total, own, name = seconds(texts[i]), seconds(texts[i + 1]), texts[i + 2]
        near = [x for x in truth.get(name, ()) if abs(x[0] - total) <= 0.0051 and abs(x[1] - own) <= 0.0051]
        check(near, "%s: total %s, self %s, not one of %s", name, texts[i], texts[i + 1], truth.get(name))
        truth[name].remove(near[0])
        shown.append(own)
    # The table makes elements of the rows that are in the window only; they begin with the most.
    check(len(shown) >= 10, "%d of %d frames in the table", len(shown), len(most))
    check(all(abs(a - b) <= 0.0051 for a, b in zip(shown, most)), "self of the rows: %s, not %s", shown, most[:len(shown)])
    picture = os.path.join(directory, profile + ".png")
    page.run("left-heavy", "--window-size=1400,900", "--screenshot=" + picture)
    size = os.path.getsize(picture)
    # A page without its graph, for want of WebGL, has 12 kB.
    check(size > 20000, "the picture of the flame graph has %d bytes", size)
    return "%d profiles, %d of %d frames, picture of %d kB" % (
        len(document["profiles"]), len(shown), len(most), size // 1000)


# -- callgrind ----------------------------------------------------------------------

def callgrind_file(directory, profile):
    return os.path.join(directory, profile + ".lines.callgrind")


class Callgrind:
    """The format as its manual has it: header lines, then positions with costs; a name is "(number) text" at first."""

    def __init__(self, path):
        self.own, self.lines, self.calls, self.head, self.names = Counter(), Counter(), Counter(), {}, {}
        function = callee = None
        calls = False
        with open(path, encoding="utf-8") as f:
            check(f.readline() == "# callgrind format\n", "the first line")
            for line in f:
                line = line.rstrip("\n")
                position = re.match(r"(fl|fn|cfi|cfn)=\((\d+)\)(?: (.+))?$", line)
                cost = re.match(r"(\d+) (\d+)$", line)
                header = re.match(r"(version|creator|pid|cmd|desc|positions|event|events|summary): (.*)$", line)
                if position:
                    text = self.name(position.group(1), position.group(2), position.group(3))
                    if position.group(1) == "fl":
                        path, function = text, None
                    elif position.group(1) == "fn":
                        function = path, position.group(2), text
                    elif position.group(1) == "cfi":
                        callee = text
                    else:
                        callee = callee, position.group(2), text
                elif line.startswith("calls="):
                    check(re.match(r"calls=1 \d+$", line) and callee and not calls, "calls: %r", line)
                    calls = True
                elif cost and calls:
                    self.calls[function, callee] += int(cost.group(2))
                    calls, callee = False, None
                elif cost:
                    check(function, "a cost of no function: %r", line)
                    self.own[function] += int(cost.group(2))
                    self.lines[function[0], int(cost.group(1))] += int(cost.group(2))
                else:
                    check(header or not line, "line: %r", line)
                    if header:
                        self.head[header.group(1)] = header.group(2)
        check(not calls, "calls without a cost")
        self.inclusive, self.called = Counter(self.own), Counter()
        for (caller, callee), n in self.calls.items():
            self.inclusive[caller] += n
            self.called[callee] += n
        # What calls all is called by nothing.
        check(all(self.called[f] == n for f, n in self.inclusive.items() if f[2] != "[all]"), "calls to functions and from them differ")

    def name(self, key, number, text):
        space = "file" if key in ("fl", "cfi") else "function"
        if text is not None:
            check((space, number) not in self.names, "%s %s has two names", space, number)
            self.names[space, number] = text
        check((space, number) in self.names, "%s %s has no name", space, number)
        return self.names[space, number]


def callgrind_truth(directory, profile):
    """{(path, name): own}, {the same: total}, of methods"""
    texts, own, total = Texts(directory), Counter(), Counter()
    for frames, n in folded(os.path.join(directory, profile + ".lines.folded")).items():
        methods = []
        for f in frames[PROFILES[profile]:]:
            m = re.match(r"(.*?)(?::~?\d+)?$", f)
            path = next((p for p in texts.paths if p and m.group(1).endswith(" " + p)), "")
            methods.append((path or "???", m.group(1)[:-len(path) - 1] if path else m.group(1)))
        if methods:
            own[methods[-1]] += n * PERIOD
            for method in set(methods):
                total[method] += n * PERIOD
    return own, total


def callgrind_costs(directory, profile):
    """own and inclusive costs of each method; recursion counts once"""
    c = Callgrind(callgrind_file(directory, profile))
    own, total = callgrind_truth(directory, profile)
    texts = Texts(directory)
    got, inclusive = Counter(), {}
    for (path, _, name), n in c.own.items():
        got[path, as_folded(texts.bare(name, path))] += n
    for (path, _, name), n in c.inclusive.items():
        if name == "[all]":
            check(n == sum(own.values()), "all: %d", n)
            continue
        inclusive.setdefault((path, as_folded(texts.bare(name, path))), []).append(n)
    same(+got, +own, "own costs")
    check(set(inclusive) == set(total), "methods: %s", list(set(inclusive) ^ set(total))[:3])
    for method, values in inclusive.items():
        check(values == [total[method]], "inclusive costs %s of %s, which has %d", values, method, total[method])
    check(c.head["events"] == "cpu" and c.head["positions"] == "line", "head: %s", c.head)
    check(int(c.head["summary"]) >= sum(own.values()), "summary: %s", c.head)
    return "%d methods, %d calls" % (len(total), len(c.calls))


def callgrind_annotate(directory, profile):
    """callgrind_annotate shows the same own and inclusive costs"""
    if not shutil.which("callgrind_annotate"):
        raise Skip("there is no callgrind_annotate: Debian's valgrind has it")
    c = Callgrind(callgrind_file(directory, profile))
    if not c.own:
        raise Skip("it has no costs")
    for option, truth in (("--inclusive=no", c.own), ("--inclusive=yes", c.inclusive)):
        run = subprocess.run(["callgrind_annotate", "--threshold=100", "--show-percs=no", option, callgrind_file(directory, profile)],
                             capture_output=True, timeout=120)
        check(run.returncode == 0 and not run.stderr, "status %d: %s", run.returncode, run.stderr[-300:])
        rows = run.stdout.decode("utf-8", "replace").rpartition("file:function\n")[2].split("\n")
        shown = Counter()
        for row in rows:
            m = re.match(r"^ *([\d,]+) +(\S.*)$", row)
            if m:
                shown[int(m.group(1).replace(",", ""))] += 1
        same(shown, Counter(n for n in truth.values() if n), option)
    return "%d functions" % len(c.inclusive)


# -- for scripts ----------------------------------------------------------------------

def script_formats(directory, profile):
    """json and table: self of methods with the rest is all of it, totals are those of the stacks"""
    own, total = callgrind_truth(directory, profile)
    texts = Texts(directory)
    with open(os.path.join(directory, profile + ".code.json"), encoding="utf-8") as f:
        mode = json.load(f)["modes"][0]
    check(mode["unit"] == "ns" and mode["mode"] == "cpu" and mode["summary"], "%s", mode["summary"])
    methods = mode["methods"]
    check(sum(r["self"] for r in methods["rows"]) + methods["other"]["self"] == sum(own.values()), "self of methods")
    check(methods["count"] == len(methods["rows"]) + methods["other"]["rows"] and len(methods["rows"]) <= 50, "rows")
    check([r["self"] for r in methods["rows"]] == sorted((r["self"] for r in methods["rows"]), reverse=True), "order")
    for r in methods["rows"]:
        key = r["path"] or "???", as_folded(texts.bare(r["name"], r["path"]))
        check(r["self"] <= r["total"] <= total[key], "%s: %d of %d", key, r["total"], total[key])
    # The application's are some of all; whose code there is adds up to no more than all.
    def key(r):
        return r["name"], r["path"], r["line"], r["self"], r["total"]
    some = {key(r) for r in methods["rows"]}
    # Of those beyond the rows it is only known that they have no more self.
    least = min((r["self"] for r in methods["rows"]), default=0) if methods["other"]["rows"] else -1
    for r in mode["application"]["methods"]["rows"]:
        check(key(r) in some or r["self"] <= least, "%s is not among all", r)
    gems = mode["gems"]
    check(sum(r["self"] for r in gems["rows"]) + gems["other"]["self"] <= sum(own.values()), "self of gems")
    with open(os.path.join(directory, profile + ".code.table"), encoding="utf-8") as f:
        lines = f.read().split("\n")[:-1]
    check(lines[0].startswith("# ") and lines[1].split("\t")[0] == "kind", "head: %s", lines[:2])
    rows = [line.split("\t") for line in lines[2:]]
    check(all(len(r) == 7 for r in rows), "columns")
    of = [r for r in rows if r[0] == "method"]
    # By count: the mode is shown so.
    check(sum(int(r[1]) for r in of) * PERIOD == sum(own.values()), "self in the table")
    check(("(other" in of[-1][5]) == (methods["other"]["rows"] > 0) if of else not methods["rows"], "the rest")
    return "%d methods" % methods["count"]


def lines_of_json(directory, profile):
    """jsonl: a stack a line, as in folded stacks, and all of it; the tree: no call has more than its caller"""
    own, _ = callgrind_truth(directory, profile)
    found = Counter()
    with open(os.path.join(directory, profile + ".lines.jsonl"), encoding="utf-8") as f:
        for line in f:
            stack = json.loads(line)
            check(stack["unit"] == "ns" and stack["mode"] == "cpu" and stack["stack"], "%s", line)
            # Callgrind has no groups, so nothing of samples that are of a group alone.
            if stack["stack"][-1]["kind"] not in ("process", "thread", "cgroup", "label"):
                found[len(stack["stack"])] += stack["amount"]
    check(sum(found.values()) == sum(own.values()), "%d ns, not %d", sum(found.values()), sum(own.values()))
    with open(os.path.join(directory, profile + ".code.tree"), encoding="utf-8") as f:
        shares = [(len(m.group(3)), float(m.group(1)), float(m.group(2))) for m in
                  (re.match(r"^ *\S+(?: \S+)? +([\d.]+) % +([\d.]+) %  ( *)\S", line) for line in f) if m]
    check(bool(shares) == bool(found) and all(total >= self for _, total, self in shares), "%s of %d", shares[:9], len(found))
    for (depth, total, _), (deeper, less, _) in zip(shares, shares[1:]):
        check(deeper <= depth or less <= total, "a call of %.1f %% has one of %.1f %%", total, less)
    return "%d stacks by length, %d calls" % (len(found), len(shares))


# -- OTLP -----------------------------------------------------------------------------

def otlp_file(directory, profile, detail):
    """Both forms of it: they say the same, and break no rule."""
    path = os.path.join(directory, "%s.%s.otlp" % (profile, detail))
    with open(path, "rb") as f:
        document = otlp.decode(f.read())
    with open(path + "-json", encoding="utf-8") as f:
        check(json.load(f) == document, "JSON and protocol buffers differ")
    try:
        otlp.check(document)
    except otlp.Refused as e:
        raise Failed(str(e)) from e
    return document


def otlp_frame(f):
    """As folded has it."""
    name = f.system or f.name
    line = ":%s%d" % ("~" if f.approximate else "", f.line) if f.line else ""
    return as_folded(name + (" " + f.path + line if f.path else ""))


def otlp_stacks(directory, profile):
    """every stack with whose it is, its count and its time"""
    document = otlp_file(directory, profile, "lines")
    truth = folded(os.path.join(directory, profile + ".lines.folded"))
    expected, got = Counter(), Counter()
    for (labels, frames), n in labelled(truth, PROFILES[profile]).items():
        of = dict(labels)
        service = of.get("process", "")
        key = ("unknown_service:ruby" if service in ("", "12") else service, of.get("pid"), of.get("thread"), of.get("tid"),
               of.get("cgroup"), frames)
        expected[("samples", "count"), key] += n
        expected[("cpu", "nanoseconds"), key] += n * PERIOD
    for resource, scope, kind, labels, stack, link, amount in otlp.samples(document):
        check(scope == "process_cpu" and link == (None, None), "%s %s", scope, link)
        frames = tuple(map(otlp_frame, stack))
        if stack[-1].kind in ("thread", "process"):
            check(len(stack) == 1 and stack[0].type is None, "%s", stack)
            frames = (as_folded(stack[0].name),)
        number = lambda x: None if x is None else str(x)  # noqa: E731
        got[kind, (resource["service.name"], number(resource.get("process.pid")), labels.get("thread.name"),
                   number(labels.get("thread.id")), labels.get("extprof.cgroup"), frames)] += amount
    same(got, expected, "stacks")
    for _, _, p in otlp.profiles(document):
        check(p["timeUnixNano"] == "1700000000000000000" and p["durationNano"] == "12500000000" and p["period"] == str(PERIOD), "head: %s",
              {k: v for k, v in p.items() if k != "samples"})
        of = otlp.attributes(document, p)
        check((of["extprof.recording.taken"], of["extprof.recording.lost"], of["extprof.recording.lost.ring-full"]) ==
              (sum(truth.values()) + 5, 5, 5) and of["extprof.recording.missed"] == 3, "account: %s", of)
    return "%d samples, %d stacks, %d locations" % (sum(truth.values()), len(document["dictionary"]["stackTable"]) - 1,
                                                    len(document["dictionary"]["locationTable"]) - 1)


# -- ClickHouse -----------------------------------------------------------------------------

def clickhouse_rows(directory, profile):
    """every stack with whose it is, its count and its time; a hash for each, and methods each once"""
    tables, now = {}, None
    with open(os.path.join(directory, profile + ".lines.clickhouse"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("INSERT INTO "):
                now = tables[line.split()[2]] = []
                check(line.endswith(" FORMAT JSONEachRow\n"), "%s", line)
            else:
                now.append(json.loads(line))
    check(list(tables) == ["extprof_stacks", "extprof_samples"], "%s", list(tables))
    stacks, expected, got = {}, Counter(), Counter()
    for row in tables["extprof_stacks"]:
        check(stacks.setdefault((row["ServiceName"], row["Hash"]), row) is row, "%s is there twice", row["Hash"])
        check(0 < int(row["Hash"]) < 2**64, "hash %s", row["Hash"])
        code = list(zip(row["Methods"], row["Paths"]))
        check(len(set(code)) == len(code) == len(row["Paths"]), "%s", code)
        texts = [f"{m} {p}" if p else m for m, p in code]
        check(all(any(s == t or s.startswith(t + ":") for s in row["Stack"]) for t in texts), "%s of %s", texts, row["Stack"])
        check(not row["RubyLine"] or any(s.endswith(" %s:%d" % (row["RubyPath"], row["RubyLine"])) for s in row["Stack"]), "%s", row)
    for (labels, frames), n in labelled(folded(os.path.join(directory, profile + ".lines.folded")), PROFILES[profile]).items():
        of = dict(labels)
        # A thread without a frame has none here.
        frames = () if frames[-1] in GROUPS else tuple(re.sub(r":~(?=\d+$)", ":", f) for f in frames)
        expected[of.get("pid", "0"), of.get("tid", "0"), of.get("cgroup"), frames] += n
    for row in tables["extprof_samples"]:
        stack = stacks[row["ServiceName"], row["StackHash"]]["Stack"]
        check(int(row["Value"]) == int(row["Count"]) * PERIOD and row["Type"] == "cpu" and row["State"] == "running", "%s", row)
        check((row["StartNs"], row["EndNs"]) == ("1700000000000000000", "1700000012750000000"), "%s", row)
        got[str(row["Pid"]), str(row["ThreadId"]), dict(zip(row["LabelNames"], row["LabelValues"])).get("cgroup"),
            tuple(map(as_folded, reversed(stack)))] += int(row["Count"])
    same(got, expected, "stacks")
    return "%d samples, %d stacks" % (sum(got.values()), len(stacks))


CHECKS = [clickhouse_rows, otlp_stacks, callgrind_costs, callgrind_annotate, script_formats, lines_of_json, pprof_stacks, pprof_top, pprof_lines, pprof_tags, pprof_comments, speedscope_stacks, speedscope_schema]


def main(directory):
    passed = failed = skipped = 0
    todo = [(c, p) for c in CHECKS for p in PROFILES] + [(speedscope_page, p) for p in ("plain", "all")]
    for function, profile in todo:
        name = "%s of %s" % (function.__name__.replace("_", ": "), profile)
        try:
            print("ok   %s: %s" % (name, function(directory, profile)))
            passed += 1
        except Skip as e:
            print("SKIP %s: %s" % (name, e))
            skipped += 1
        except (Failed, otlp.Refused, AttributeError, KeyError, ValueError, subprocess.TimeoutExpired) as e:
            print("FAIL %s: %s %s" % (name, type(e).__name__, e))
            failed += 1
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
