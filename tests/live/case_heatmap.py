"""The heat map: what the page shows of a time is what the recording has of it, and what the program's clock says."""
import re

import case_graph
from case_rotate import end, number
from harness import case, check

# By its own clock, CLOCK_MONOTONIC in ns, it says when each began and ended.  It burns CPU time.
PHASES = """
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
def burn(ns) = (t = cpu; nil while cpu - t < ns)
def first(ns) = burn(ns)
def second(ns) = burn(ns)
def pause = sleep(0.4)
def say(name, from) = puts("#{name} #{from} #{now}")
STDOUT.sync = true
beats = Queue.new
Thread.new { Thread.current.name = "</script>beats"; loop { beats.pop; second(40_000_000) } }
puts "ready"
gets
3.times do
  t = now; first(400_000_000); say "first", t
  t = now; pause; say "pause", t
  t = now; second(200_000_000); say "second", t
end
beats << 1
sleep 0.3
puts "done"
sleep
"""

# Selects by the mouse and by keys as a user does, and writes what the page says then.
HANDS = """<script>
window.addEventListener("load", function () {
  var canvas = document.getElementById("cells"), box = canvas.getBoundingClientRect(), view = document.getElementById("view");
  function point(type, x, y) {
    canvas.dispatchEvent(new PointerEvent(type, { clientX: box.left + x, clientY: box.top + y, pointerId: 1, buttons: 1 }));
  }
  function say(name) { document.body.setAttribute("data-" + name, document.getElementById("span").textContent + "|" + location.hash); }
  view.value = "thread";
  view.dispatchEvent(new Event("change"));
  box = canvas.getBoundingClientRect();
  point("pointerdown", box.width - 3, 2);
  point("pointermove", 300, 2);
  point("pointerup", 300, 2);
  say("drag");
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  say("escape");
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", shiftKey: true }));
  say("keys");
});
</script>"""
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def ns(text):
    value, unit = text.split(" ")
    return float(value) * UNITS[unit]


def shown(page, name):
    """ns of the widest frame of that name, 0 without one."""
    found = re.findall(r"<title>%s \([^<]*\) \u2014 ([\d.]+ \w+), " % re.escape(name), page)
    return max(map(ns, found), default=0)


def total(page):
    m = re.search(r'id="details"[^>]*>all: ([\d.]+ \w+)', page)
    check(m, "the script has not drawn: %s", page[-600:])
    return ns(m.group(1))


def record(ctx):
    """A recording, and the times of its program: (name, from, until) in ns."""
    ruby = ctx.ruby(ctx.write("phases.rb", PHASES))
    ruby.expect("ready")
    path = ctx.path("heat.extprof")
    reader = ctx.extprof_start("record", "-m", "cpu,wall", "-F", "997", "-p", ruby.pid, "-o", path, "-v")
    reader.says("it is measured")
    ruby.tell("go")
    times = []
    while (line := ruby.line(60)) != "done":
        name, since, until = line.split()
        times.append((name, int(since), int(until)))
    end(reader)
    return path, times


@case(timeout=180, patient=True)
def a_time_has_what_was_recorded_of_it(ctx):
    """The graph of a selected time, beside SQL and the program's own clock; a wait that goes beyond it counts in part."""
    path, times = record(ctx)
    begin = number(ctx, path, "SELECT value FROM meta WHERE key='started_monotonic_ns'")
    pages = {}
    for mode in ("cpu", "wall"):
        pages[mode] = ctx.path(mode + ".heatmap.html")
        run = ctx.extprof("report", path, "-m", mode, "-o", pages[mode])
        check(run.status == 0, "report: status %d: %s", run.status, run.err)
    if case_graph.browse(ctx, pages["cpu"]) is None:
        check(False, "there is no browser here")
    said = []
    for mode, name, since, until in [("cpu", *times[0]), ("cpu", *times[5]), ("wall", *times[1]),
                                     ("wall", "pause", times[1][1], (times[1][1] + times[1][2]) // 2)]:
        span = [int((t - begin) / 1e3) for t in (since, until)]
        page = case_graph.browse(ctx, pages[mode], "#span=%d-%d" % tuple(span))
        length = {"first": 4e8, "second": 2e8, "pause": until - since}[name]
        if mode == "cpu":
            wanted = number(ctx, path, "SELECT sum(value) FROM samples WHERE mode='cpu' AND time_ns>=%d AND time_ns<%d" % (
                begin + span[0] * 1e3, begin + span[1] * 1e3))
            # Three decimals are shown at most.
            check(abs(total(page) - wanted) <= 0.006 * wanted, "%s: the page has %.0f ns, SQL %.0f", name, total(page), wanted)
        got = shown(page, "Object#" + name)
        check(abs(got - length) < 0.06 * length + 4e6, "%s in mode %s: %.0f ns of %d by the clock", name, mode, got, length)
        other = shown(page, "Object#first" if name != "first" else "Object#second")
        check(other < 0.02 * length, "%.0f ns of another phase are in the time of %s", other, name)
        said.append("%s %s %.1f of %.1f ms" % (mode, name, got / 1e6, length / 1e6))
    # Waits are in all cells that they lasted in: together the cells have what the graph has.
    for view in ("", "#view=thread"):
        page = case_graph.browse(ctx, pages["wall"], view)
        cells = int(re.search(r'data-sum="(\d+)"', page).group(1))
        check(abs(cells - total(page)) < 0.006 * cells, "%s: the cells have %d ns, the graph %.0f", view, cells, total(page))
    return "; ".join(said)


@case(timeout=180, patient=True)
def selects_by_hand(ctx):
    """By the mouse, by keys, by a link; rows are threads, and the cells of the map have what the recording has."""
    path, times = record(ctx)
    page_path = ctx.path("cpu.heatmap.html")
    check(ctx.extprof("report", path, "-m", "cpu", "-o", page_path).status == 0, "there is no page")
    with open(page_path, encoding="utf-8") as f:
        text = f.read()
    check("<script nonce=" in text and "</script>beats" not in text and "http://" not in text.replace("http://www.w3.org/", ""),
          "a name ends the script, or the page loads something")
    wanted = number(ctx, path, "SELECT sum(value) FROM samples WHERE mode='cpu'")
    for view in ("", "#view=thread"):
        page = case_graph.browse(ctx, page_path, view)
        cells = int(re.search(r'data-sum="(\d+)"', page).group(1))
        check(abs(cells - wanted) < 1e-6 * wanted + 1e3, "%s: the cells have %d of %d ns", view, cells, wanted)
    page = case_graph.browse(ctx, case_graph.with_script(ctx, "hands.html", text, HANDS))
    said = dict(re.findall(r' data-(drag|escape|keys)="([^"]*)"', page))
    check(re.search(r"1 thread: .*\|#span=\d+-\d+&amp;rows=thread%3A\d+&amp;view=thread$", said["drag"]), "the mouse: %s", said)
    check(re.search(r"^whole time .*\|#view=thread$", said["escape"]), "Escape: %s", said)
    check(re.search(r"\|#span=\d+-\d+&amp;rows=", said["keys"]), "keys: %s", said)
    # The link of what was dragged shows the same.
    hash_ = said["drag"].split("|")[1].replace("&amp;", "&")
    again = case_graph.browse(ctx, page_path, hash_)
    check(re.search(r'id="span"[^>]*>([^<]*)<', again).group(1) == said["drag"].split("|")[0], "the link shows another time")
    # Another thread alone, which worked for 40 ms.  Ruby has threads of its own, which may have a sample: they run no methods.
    alone = {i: case_graph.browse(ctx, page_path, "#rows=thread:%d&view=thread" % i) for i in range(int(re.search(r'data-rows="(\d+)"', page).group(1)))}
    of = {i: (shown(p, "Object#first"), shown(p, "Object#second")) for i, p in alone.items()}
    main = int(re.search(r"thread%3A(\d+)", hash_).group(1))
    others = [ns for i, ns in of.items() if i != main and any(ns)]
    check(len(others) == 1 and not others[0][0] and abs(others[0][1] - 4e7) < 8e6, "first and second of each thread: %s", of)
    zoomed = case_graph.browse(ctx, page_path, "#zoom=Object%23first")
    check(re.search(r'id="details"[^>]*>Object#first \(', zoomed), "the link zooms to another frame")
    wrong = case_graph.browse(ctx, page_path, "#zoom=99999999&view=process")
    check(total(wrong) and 'data-sum="%d"' % wanted in wrong, "a link that is wrong shows nothing")
    apart = case_graph.browse(ctx, page_path, "#apart=1")
    check(apart.count("[thread ") > page.count("<title>[thread "), "no tree for each thread")
    return said["drag"].split("|")[0]
