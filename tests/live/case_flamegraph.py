"""The flame graph in a browser: its views have the sums of `extprof report`, by keys and for assistive technology too."""
import json
import os
import re
from collections import Counter

import case_diff
import chromium
import harness
from harness import case, check

# Frames that call themselves, a method with many callers, C methods, and threads.
PROGRAM = """
def leaf(n) = (i = 0; i += 1 while i < n)
def again(n) = n > 0 ? (leaf(2000); again(n - 1)) : leaf(3000)
def parse(n) = n.times { |i| "a,b,c#{i}".split(",").map { |x| x.upcase }.join }
def render = (parse(200); again(5))
def index = (render; leaf(20000))
def show = (again(3); parse(500); [3, 1, 2].sort_by { |x| leaf(3000); x })
def handle = (index; show)
3.times { |i| Thread.new { Thread.current.name = "</script>worker #{i}"; loop { handle } } }
puts "ready"
$stdout.flush
loop { show; sleep 0.001 }
"""
SECONDS = 3
# What is drawn, as the browser has it.
FRAMES = """Array.from(document.querySelectorAll("g.f")).map(function (g) {
  var r = g.querySelector("rect");
  return [g.querySelector("title").textContent, +r.getAttribute("x"), +r.getAttribute("y"), +r.getAttribute("width"),
          g.getAttribute("class")];
})"""


def record(ctx, name="graph", program=PROGRAM, *options):
    path = ctx.path(name + ".extprof")
    ruby = ctx.ruby(ctx.write(name + ".rb", program))
    ruby.expect("ready")
    run = ctx.extprof("record", "-q", "-p", ruby.pid, "-F", "499", "-d", SECONDS, *options, "-o", path)
    check(run.status == 0, "record: %d: %s", run.status, run.err)
    ruby.kill()
    return path


def page(ctx, recording, name, *options):
    path = ctx.path(name)
    run = ctx.extprof("report", recording, *options, "-o", path)
    check(run.status == 0, "report: %d: %s", run.status, run.err)
    return "file://" + path


def folded(ctx, recording, *options):
    """{path: samples}"""
    run = ctx.extprof("report", recording, *options, "-f", "folded")
    check(run.status == 0, "report: %d: %s", run.status, run.err)
    stacks = Counter()
    for line in run.out.splitlines():
        stack, count = line.rsplit(" ", 1)
        stacks[tuple(stack.split(";"))] += int(count)
    return stacks


class Box:
    def __init__(self, title, x, y, width, classes):
        m = re.match(r"(.*?)(?: \(((?:/|<internal)[^()]*|[^()]+:~?\d+)\))?(?: \u2014 |: )(\d+) samples", title)
        check(m, "a title without samples: %s", title)
        # As in folded stacks.
        self.name, self.samples = m.group(1).replace(";", ":"), int(m.group(3))
        self.x, self.y, self.width, self.parent, self.inner, self.classes = x, y, width, None, 0, classes


def boxes(browser, url):
    browser.open(url)
    return [Box(*b) for b in browser.run(FRAMES)]


def paths(drawn, root_y, down):
    """The stacks that are drawn from a row on, by where the boxes are."""
    rows = {}
    for b in drawn:
        rows.setdefault(b.y, []).append(b)
    step, stacks, y = 17 if down else -17, Counter(), root_y
    for b in drawn:
        b.parent, b.inner = None, 0
    order = list(rows[root_y])
    while rows.get(y + step):
        y += step
        for b in rows[y]:
            middle = b.x + b.width / 2
            b.parent = next(p for p in rows[y - step] if p.x - 0.01 <= middle <= p.x + p.width + 0.5)
            b.parent.inner += b.samples
            order.append(b)
    for b in order:
        own, path, at = b.samples - b.inner, [], b
        check(own >= 0, "%s has %d samples, and what is on it %d", b.name, b.samples, b.inner)
        while at:
            path.insert(0, at.name)
            at = at.parent
        if own:
            stacks[tuple(path)] += own
    return stacks


def without_root(stacks):
    return Counter({s[1:]: n for s, n in stacks.items()})


def same(got, wanted, text):
    wanted = Counter({s: n for s, n in wanted.items() if n})
    check(got == wanted, "%s: only in the page %s, only in the report %s", text, dict(list((got - wanted).items())[:4]),
          dict(list((wanted - got).items())[:4]))
    check(sum(wanted.values()) > 50, "%s: %d samples are too few", text, sum(wanted.values()))


@case(timeout=120, patient=True)
def details_are_whole_in_a_narrow_window(ctx):
    """What is said of a frame is in the window, letter by letter what its title has, also on 420 pixels."""
    if not chromium.find():
        return "NOT run: there is no browser here"
    said = []
    with chromium.Browser(ctx.directory) as browser:
        url = page(ctx, record(ctx), "narrow.html")
        for width in (420, 2400):
            browser.window(width, 800)
            browser.open(url + "#zoom=Object%23leaf")
            browser.press("ArrowUp")
            told, title, right, left, lines = browser.run("""(() => {
                const at = document.querySelector("#details");
                const frame = document.activeElement.closest(".f") || document.querySelector('.f[tabindex="0"]');
                frame.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
                const now = at.getBoundingClientRect();
                return [at.textContent, frame.querySelector("title").textContent, now.right, now.left, at.querySelectorAll("tspan").length];
            })()""")
            check(told == title and len(told) > 60, "%s is not %s", told, title)
            check(0 <= left and right <= width, "from %d to %d of %d: %s", left, right, width, told)
            check(bool(lines) == (width == 420), "%d lines of %d pixels: %s", lines, width, told)
            said.append("%d lines" % max(1, lines))
    return ", ".join(said)


@case(timeout=180, patient=True)
def views_have_the_sums_of_the_report(ctx):
    """Inverted, around a method, and of one thread: each stack has the samples of `extprof report`."""
    if not chromium.find():
        return "NOT run: there is no browser here"
    recording, said = record(ctx), []
    with chromium.Browser(ctx.directory) as browser:
        # So wide that no frame is left out.
        browser.window(12000, 900)
        for name, options in (("all.html", ()), ("all.svg", ()), ("threads.html", ("--group-by", "thread"))):
            url = page(ctx, recording, name, *options)
            drawn = boxes(browser, url)
            root = max(b.y for b in drawn)
            same(without_root(paths(drawn, root, False)), folded(ctx, recording, *options), name)
            drawn = boxes(browser, url + "#invert=1")
            root = min(b.y for b in drawn)
            wanted = folded(ctx, recording, *options, "--invert")
            same(without_root(paths(drawn, root, True)), wanted, name + " inverted")
            said.append("%s: %d stacks, %d inverted" % (name, sum(1 for _ in folded(ctx, recording, *options)), len(wanted)))
            for method in ("Object#again", "Object#leaf", "Array#map", "block in Object#parse"):
                drawn = boxes(browser, url + "#sandwich=" + method.replace("#", "%23"))
                middle = next(b for b in drawn if "pivot" in b.classes)
                check(middle.name == method, "%s is in the middle, not %s", middle.name, method)
                callees = paths(drawn, middle.y, True)
                callers = paths(drawn, middle.y, False)
                # The report has groups before all; around a method they are its outermost callers.
                groups = len(options) // 2
                wanted = Counter()
                for stack, count in folded(ctx, recording, *options, "--callers-of", method).items():
                    wanted[stack[groups:] + stack[:groups][::-1]] += count
                same(callers, wanted, "%s: callers of %s" % (name, method))
                wanted = Counter()
                for stack, count in folded(ctx, recording, *options, "--callees-of", method).items():
                    wanted[stack[groups:]] += count
                same(callees, wanted, "%s: callees of %s" % (name, method))
                check(middle.samples == sum(wanted.values()), "%s has %d samples", method, middle.samples)
        url = page(ctx, recording, "threads.html", "--group-by", "thread")
        browser.open(url)
        parts = browser.run('Array.from(document.querySelectorAll("#part option")).map(o => [o.value, o.textContent.trim()])')
        check(parts[0][1] == "apart" and parts[1] == ["all", "all together"] and len(parts) >= 6, "parts: %s", parts)
        drawn = boxes(browser, url + "#part=all")
        same(without_root(paths(drawn, max(b.y for b in drawn), False)), folded(ctx, recording), "all threads together")
        for value, name in parts[2:]:
            if "worker" not in name:
                continue
            thread = re.fullmatch(r"\[thread (.*) \(\d+\)\]", name).group(1)
            for view, more in (("", ()), ("&invert=1", ("--invert",))):
                drawn = boxes(browser, url + "#part=" + value + view)
                root = (min if view else max)(b.y for b in drawn)
                same(without_root(paths(drawn, root, bool(view))), folded(ctx, recording, "--filter", "thread=" + thread, *more), name)
        check(browser.run("getComputedStyle(document.getElementById('parts')).display") != "none", "threads cannot be chosen")
        # By hand: the choice of a part is in the link.
        browser.run("""(function () { var s = document.getElementById("part"); s.value = "%s";
            s.dispatchEvent(new Event("change")); })()""" % parts[-1][0])
        check(browser.run("location.hash") == "#invert=1&part=" + parts[-1][0], "the link is %s", browser.run("location.hash"))
    return "; ".join(said)


def frame_at(browser, name):
    """Where the browser has the middle of the widest frame of that name."""
    return browser.run("""(function () {
      var all = Array.from(document.querySelectorAll("g.f")).filter(g => g.querySelector("title").textContent.startsWith(%s));
      var r = all.map(g => g.querySelector("rect").getBoundingClientRect()).sort((a, b) => b.width - a.width)[0];
      return [r.x + r.width / 2, r.y + r.height / 2];
    })()""" % json.dumps(name))


@case(timeout=120, patient=True)
def by_keys_and_for_all_readers(ctx):
    """Everything is reached by keys, has a role and a name, and the link gives the same picture again."""
    if not chromium.find():
        return "NOT run: there is no browser here"
    recording, links = record(ctx), []
    with chromium.Browser(ctx.directory) as browser:
        browser.window(1200, 800)
        # As a server would send it that trusts no page: the page has a policy of its own as well.
        for name in ("keys.html", "keys.svg"):
            url = page(ctx, recording, name, "--group-by", "thread")
            browser.open(url)
            tree = browser.read()
            roles = Counter(role for role, _, _ in tree)
            frames = browser.run("document.querySelectorAll('g.f').length")
            check(roles["treeitem"] == frames > 20 and roles["tree"] == 1, "roles: %s", roles)
            items = [(text, more) for role, text, more in tree if role == "treeitem"]
            check(all(" samples" in text and more.get("level") for text, more in items), "items: %s", items[:3])
            named = {text.split(":")[0]: more for role, text, more in tree if role in ("button", "searchbox", "combobox")}
            check(set(named) == {"flip", "invert", "sandwich", "search", "threads and other groups"}, "controls: %s", named)
            check(named["invert"].get("pressed") == "false", "invert: %s", named["invert"])
            # The tabulator goes through the controls and one frame.
            seen = []
            for _ in range(6):
                browser.press("Tab")
                seen.append(browser.run("document.activeElement.id || document.activeElement.getAttribute('class')"))
            check(set(seen) == {"search", "part", "flip", "invert", "sandwich", "f"}, "by the tabulator: %s", seen)
            # From the root up to the thread, and on to its first frame.
            browser.run("document.querySelector('g.f[tabindex=\"0\"]').focus()")
            browser.press("ArrowUp")
            browser.press("ArrowUp")
            check("block (2 levels) in <main>" in browser.run("document.getElementById('details').textContent"), "two up: %s",
                  browser.run("document.getElementById('details').textContent"))
            browser.press("ArrowDown")
            first = browser.run("document.activeElement.textContent")
            check("[thread " in first, "one down: %s", first)
            browser.press("ArrowRight")
            second = browser.run("document.activeElement.textContent")
            check("[thread " in second and second != first, "to the right: %s", second)
            browser.press("ArrowLeft")
            check(browser.run("document.activeElement.textContent") == first, "and back")
            browser.press("Enter")
            check(re.fullmatch(r"#zoom=\d+", browser.run("location.hash")), "zoomed: %s", browser.run("location.hash"))
            check(browser.run("document.activeElement.getAttribute('aria-current')") == "true", "the keys stay at the frame")
            links.append((url + browser.run("location.hash"), browser.run(FRAMES)))
            # Around a frame by its key: the threads above it, then one further.
            for _ in range(5):
                browser.press("ArrowUp")
            wanted = browser.run("document.activeElement.textContent").split(" (")[0].split(" \u2014")[0]
            browser.press("s")
            check(browser.run("decodeURIComponent(location.hash)") == "#sandwich=" + wanted, "around: %s, wanted %s",
                  browser.run("location.hash"), wanted)
            links.append((url + browser.run("location.hash"), browser.run(FRAMES)))
            pressed = {text.split(":")[0]: more.get("pressed") for role, text, more in browser.read() if role == "button"}
            check(pressed["sandwich"] == "true" and pressed["invert"] == "false", "pressed: %s", pressed)
            browser.press("i")
            browser.press("f")
            browser.press("/")
            for letter in "again":
                browser.press(letter)
            browser.press("Escape")
            check(browser.run("location.hash") == "#search=again&flip=1&invert=1", "the link is %s", browser.run("location.hash"))
            links.append((url + browser.run("location.hash"), browser.run(FRAMES)))
            browser.run("document.getElementById('sandwich').focus()")
            browser.press("Enter")
            check("choose a frame first" in browser.run("document.getElementById('details').textContent"), "without a frame")
            # The mouse, with shift.
            browser.open(url)
            at = frame_at(browser, "Object#again")
            browser.click(*at, modifiers=8)
            check(browser.run("location.hash") == "#sandwich=Object%23again", "by the mouse: %s", browser.run("location.hash"))
            browser.run("document.getElementById('sandwich').focus()")
            browser.press(" ")
            check(browser.run("location.hash") == "", "left: %s", browser.run("location.hash"))
            # What was linked.
            for link, drawn in links:
                browser.open(link)
                check(browser.run(FRAMES) == drawn, "%s is another picture", link)
            links.clear()
            check(all(r == "about:blank" or r.startswith(url) for r in browser.requests()), "asked for %s", browser.requests())
            if name.endswith("html"):
                policy(ctx, browser, url)
    return "SVG and HTML: keys, roles, links; no other address, no script of others"


def policy(ctx, browser, url):
    """What somebody managed to put into the page does not run, and nothing is loaded."""
    with open(url[len("file://"):], encoding="utf-8") as f:
        text = f.read()
    evil = ('<script>document.title = "run"</script><img src="http://127.0.0.1:9/x.png" onerror="document.title = \'error\'">'
            '<p style="color: red">p</p>')
    path = ctx.write("evil.html", text.replace("<body>", "<body>" + evil))
    browser.open("file://" + path)
    check(browser.run("document.title") not in ("run", "error"), "a foreign script has run: %s", browser.run("document.title"))
    check(browser.run("document.getElementById('graph').getAttribute('data-shown')"), "the own script has not run")
    check(browser.run("fetch('http://127.0.0.1:9/').then(() => 'loaded', e => String(e))").startswith("TypeError"), "a request")
    blocked = [e["params"]["entry"]["text"] for e in browser.events if e.get("method") == "Log.entryAdded"]
    for what in ("script-src", "default-src 'none'", "style-src"):
        check(any(what in b for b in blocked), "nothing was blocked by %s: %s", what, blocked)


# Of each text its colour, what is behind it and the page; of fills with opacity, too.
COLORS = """(function () {
  function of(e, name) { return getComputedStyle(e).getPropertyValue(name); }
  var page = of(document.getElementById("graph"), "background-color");
  var list = [];
  document.querySelectorAll("#graph text").forEach(function (t) {
    var g = t.closest("g.f"), r = g && g.querySelector("rect");
    if (!t.textContent || t.getBoundingClientRect().width === 0) { return; }
    list.push([t.textContent.slice(0, 30), of(t, "fill"), r ? of(r, "fill") : page, r ? +of(r, "fill-opacity") : 1, page]);
  });
  document.querySelectorAll("#graph input, #graph select").forEach(function (e) {
    if (!e.getBoundingClientRect().width) { return; }
    list.push([e.id, of(e, "color"), of(e, "background-color"), 1, page]);
    list.push([e.id + " placeholder", getComputedStyle(e, "::placeholder").color, of(e, "background-color"), 1, page]);
  });
  return list;
})()"""


def rgb(text):
    m = re.match(r"rgba?\(([\d.]+), ([\d.]+), ([\d.]+)", text)
    check(m, "a colour: %s", text)
    return [float(v) for v in m.groups()]


def luminance(color):
    parts = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a, b):
    """The ratio of WCAG 2."""
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@case(timeout=180, patient=True)
def contrast_is_that_of_wcag(ctx):
    """Each text has 4.5 to 1 against what is behind it: light, dark, zoomed, searched, inverted, compared."""
    if not chromium.find():
        return "NOT run: there is no browser here"
    check(abs(contrast((0, 0, 0), (255, 255, 255)) - 21) < 0.01 and abs(contrast((119, 119, 119), (255, 255, 255)) - 4.478) < 0.01,
          "the formula")
    recording = record(ctx, "colors", PROGRAM, "-n", "-m", "cpu,wall")
    after, _ = case_diff.record(ctx, "after", 20, 60)
    before, _ = case_diff.record(ctx, "before", 60, 20)
    run = ctx.extprof("diff", before, after, "-o", ctx.path("change.html"))
    check(run.status == 0, "diff: %s", run.err)
    pages = [page(ctx, recording, "cpu.html", "-m", "cpu"),
             page(ctx, recording, "wall.html", "-m", "wall", "--group-by", "process,thread", "--idle"), "file://" + ctx.path("change.html")]
    least, count = (99, ""), 0
    with chromium.Browser(ctx.directory) as browser:
        for dark in (False, True):
            browser.window(3000, 900, dark)
            for url in pages:
                for link in ("", "#zoom=Object%23show", "#zoom=Object%23slow&search=slow|main", "#search=.", "#invert=1",
                             "#sandwich=Object%23leaf", "#sandwich=Object%23other"):
                    browser.open(url + link)
                    for text, fore, back, opacity, under in browser.run(COLORS):
                        behind = [b * opacity + u * (1 - opacity) for b, u in zip(rgb(back), rgb(under))]
                        ratio = contrast(rgb(fore), behind)
                        count += 1
                        least = min(least, (ratio, text))
                        check(ratio >= 4.5, "%s%s, %s: %s on %s (%.2f of %s) has %.2f", os.path.basename(url), link,
                              "dark" if dark else "light", text, back, opacity, under, ratio)
    return "%d texts, the least has %.2f to 1: %s" % (count, least[0], least[1])


@case(timeout=120, patient=True)
def of_a_comparison(ctx):
    """Around a method there are the shares, and the judgement, that `extprof diff` has of the method; inverted, of its self."""
    if not chromium.find():
        return "NOT run: there is no browser here"
    before, _ = case_diff.record(ctx, "before", 60, 20)
    after, _ = case_diff.record(ctx, "after", 20, 60)
    for name in ("change.html", "change.json"):
        run = ctx.extprof("diff", before, after, "-o", ctx.path(name))
        check(run.status == 0, "diff: %s", run.err)
    with open(ctx.path("change.json"), encoding="utf-8") as f:
        methods = {m["method"]: m for m in json.load(f)["methods"]}
    with chromium.Browser(ctx.directory) as browser:
        browser.window(4000, 900)
        said, checked = [], 0
        for method, truth in methods.items():
            browser.open("file://%s#sandwich=%s" % (ctx.path("change.html"), method.replace("#", "%23")))
            title = browser.run('(document.querySelector("g.pivot title") || {}).textContent')
            if title is None:
                continue
            m = re.search(r" \u2014 before ([\d.]+) %, after ([\d.]+) % \([-+\d.]+(, may be noise)?\)", title)
            wanted = truth["total"]
            check(m and abs(float(m.group(1)) - 100 * wanted["before"]["share"]) <= 0.0051 and
                  abs(float(m.group(2)) - 100 * wanted["after"]["share"]) <= 0.0051 and
                  bool(m.group(3)) == (not wanted["decided"]), "%s: %s, not %s", method, title, wanted)
            checked += 1
            if wanted["decided"]:
                said.append(method)
        check(checked >= 4 and {"Object#fast", "Object#slow"} <= set(said), "%d methods, %s decided", checked, said)
        # All that C methods and Ruby methods are the innermost frame of adds up to the whole.
        browser.open("file://%s#invert=1" % ctx.path("change.html"))
        titles = browser.run("""(function () {
          var all = Array.from(document.querySelectorAll("g.f")), ys = all.map(g => +g.querySelector("rect").getAttribute("y"));
          var first = Math.min(...ys) + 17;
          return all.filter((g, i) => ys[i] === first).map(g => g.querySelector("title").textContent);
        })()""")
        sums = [sum(float(re.search(side + r" ([\d.]+) %", t).group(1)) for t in titles) for side in ("before", "after")]
        check(all(abs(s - 100) < 0.3 for s in sums) and len(titles) >= 3, "inverted, sums are %s of %s", sums, titles[:4])
    return "%d methods as in the table, %s beyond the noise; %d innermost frames are %.2f and %.2f %%" % (
        checked, ", ".join(said), len(titles), *sums)


def frames_in(url):
    with open(url[len("file://"):], encoding="utf-8") as f:
        runs = json.loads("[" + re.search(r'"runs":\[(.*?)\]\s*\};?\s*$', f.read(), re.S | re.M).group(1) + "]")
    return sum(1 if label >= 0 else -label for r in runs for label in r[3:])


@case(timeout=180, alone=True)
def fifty_thousand_frames_open_within_two_seconds(ctx):
    """From the begin of the navigation to the picture; then other views of it."""
    if not chromium.find():
        return "NOT run: there is no browser here"
    recording, seconds = ctx.path("many.extprof"), 1.5
    ruby = ctx.program("parting.rb", 100)
    ruby.expect("ready")
    run = ctx.extprof("record", "-q", "-p", ruby.pid, "-F", "997", "-d", seconds, "-o", recording)
    check(run.status == 0, "record: %s", run.err)
    ruby.kill()
    # How many samples a second has depends on the machine, and each has frames of its own: a part of them is shown.
    least, most = 0, seconds
    for _ in range(20):
        until = (least + most) / 2
        count = frames_in(page(ctx, recording, "part.svg", "--until", "%.4f" % until))
        if count <= 50000:
            least = until
        elif count >= 53000:
            most = until
        else:
            break
    times = {}
    with chromium.Browser(ctx.directory) as browser:
        browser.window(1200, 900)
        for name in ("many.svg", "many.html"):
            url = page(ctx, recording, name, "--until", "%.4f" % until)
            count = frames_in(url)
            check(50000 < count < 54000, "%d frames are in the file", count)
            for view in ("", "#invert=1", "#sandwich=Object%23work"):
                # A busy machine makes one of them slow, and not each of four.
                for _ in range(4):
                    if times.get(name + view, 9) >= 2:
                        times[name + view] = min(times.get(name + view, 9), browser.open(url + view))
                check(browser.run("document.getElementById('graph').getAttribute('data-shown')"), "%s is not drawn", view)
    slow = {k: t for k, t in times.items() if t >= 2}
    check(not slow, "%d frames: %s", count, slow)
    return "%d frames: %s" % (count, ", ".join("%s %.2f s" % item for item in times.items()))
