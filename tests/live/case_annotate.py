"""Source beside what its lines took: lines whose share the program knows."""
import os
import re

import chromium
import harness
from case_graph import browse
from harness import case, check

# Line 3 has three quarters of the work, line 4 one.
PROGRAM = """def work(n)
  s = 0
  (3 * n).times { |i| s += i & 3 }
  n.times { |i| s += i & 3 }
  "<b>&amp;" # \tnothing
end
puts "ready"; $stdout.flush
loop { work(20_000) }
"""
ROW = re.compile(r"^ *(?:(\S+ \S+) +([\d.]+) %)? *(?:(\S+ \S+) +([\d.]+) %)? +~?(\d+) \| (.*)$")


def record(ctx, *options):
    source, path = ctx.write("work.rb", PROGRAM), ctx.path("a.extprof")
    ruby = ctx.ruby(source)
    ruby.expect("ready")
    run = ctx.extprof("record", "-q", "-p", ruby.pid, "-d", "2", "-F", harness.rate(1000), *options, "-o", path)
    check(run.status == 0, "%d: %s", run.status, run.err)
    ruby.kill()
    return source, path


def rows(run):
    check(run.status == 0, "%d: %s", run.status, run.err)
    found = {}
    for line in run.out.splitlines():
        m = ROW.match(line)
        if m:
            # One amount alone is a total.
            shares = [float(x) for x in (m.group(2), m.group(4)) if x]
            found[int(m.group(5))] = (shares[0] if len(shares) > 1 else 0, shares[-1] if shares else 0, m.group(6))
    return found


@case(timeout=60)
def known_lines(ctx):
    """Three quarters are in line 3 and a quarter in line 4, and the loop has all of it as total."""
    source, path = record(ctx, "--sources")
    lines = rows(ctx.extprof("annotate", path, "work.rb"))
    check(len(lines) == 8, "lines: %s", lines)
    check(all(lines[n][2].strip() == text.replace("\t", "").strip() or n == 5
              for n, text in enumerate(PROGRAM.splitlines(), 1)), "text: %s", lines)
    share = lines[3][0] / (lines[3][0] + lines[4][0])
    check(abs(share - 0.75) < 0.06, "line 3 has %.2f of both", share)
    check(lines[8][1] > 90 and lines[8][0] < 10, "the loop: %s", lines[8])
    method = rows(ctx.extprof("annotate", path, "Object#work"))
    # Two lines are shown behind the last one with a sample: seldom is that line 5 or 6, and the loop in line 8 is one of the two.
    last = max(n for n, row in method.items() if row[1] and n <= 6)
    check(set(method) == set(range(1, last + 3)) and 4 <= last, "the method: %s", method)
    return "line 3 has %.3f of the work" % share


@case(timeout=60)
def views(ctx):
    """--focus and --hide, as report has them: the caller of the focus has nothing, and what is hidden is in the line that called it."""
    _, path = record(ctx, "--sources")
    every = rows(ctx.extprof("annotate", path, "work.rb"))
    focused = ctx.extprof("annotate", path, "work.rb", "--focus", "Object#work")
    lines = rows(focused)
    check(every[8][1] > 90 and not lines[8][1], "the loop calls what is in focus: %s", focused.out)
    share = lines[3][0] / (lines[3][0] + lines[4][0])
    check(abs(share - every[3][0] / (every[3][0] + every[4][0])) < 0.002, "line 3 has %.3f of both, and had %s", share, every)
    hidden = rows(ctx.extprof("annotate", path, "work.rb", "--hide", "*work"))
    check(hidden[8][0] > 90 and not any(hidden[n][1] for n in (3, 4) if n in hidden), "hidden: %s", hidden)
    # Each block by itself: what the rest is, is said.
    one = ctx.extprof("annotate", path, "work.rb", "--focus", "block in Object#work")
    left = re.search(r"^left out by --focus: ([\d.]+) % of all; shares are of the rest$", one.out, re.M)
    check(left and 20 < float(left.group(1)) < 95, "%s", one.out)
    check(abs(sum(row[0] for row in rows(one).values()) - 100) < 1, "shares of the rest: %s", one.out)
    for options, status, said in ((("--collapse", "gems"), harness.USAGE, "one frame of several, which is of no line"),
                                  (("--focus", "Nobody#here"), 74, "no stack goes through what --focus names"),
                                  (("--hide", "work.rb"), harness.USAGE, "no sample is in a file"),
                                  (("--hide", "app"), harness.USAGE, "not gem:NAME")):
        run = ctx.extprof("annotate", path, "work.rb", *options)
        check(run.status == status and said in run.err.replace("\n", " "), "%s: %d: %s", options, run.status, run.err)
    for command in (["stat", "-p", "1"], ["dump", "-p", "1"]):
        run = ctx.extprof(*command, "--focus", "app")
        check(run.status == harness.USAGE and "among the stacks of a profile" in run.err.replace("\n", " "), "%s: %d: %s", command, run.status, run.err)
    return "line 3 has %.3f of the work in focus" % share


@case(timeout=60)
def source_that_has_changed(ctx):
    """The text of the recording is shown whatever becomes of the file, and it is said that the file is another one."""
    source, path = record(ctx, "--sources")
    _, bare = ctx.path("x"), ctx.path("bare.extprof")
    run = ctx.extprof("annotate", path, "work.rb")
    check("source: the recording" in run.out and "CHANGED" not in run.out, "%s", run.out)
    with open(source, "a", encoding="utf-8") as f:
        f.write("# more\n")
    run = ctx.extprof("annotate", path, "work.rb")
    check("CHANGED" in run.out and "# more" not in run.out and "(3 * n).times" in run.out, "%s", run.out)
    os.unlink(source)
    run = ctx.extprof("annotate", path, "work.rb")
    check("(3 * n).times" in run.out, "without the file: %s", run.out)
    source, path = ctx.write("work.rb", PROGRAM), bare
    ruby = ctx.ruby(source)
    ruby.expect("ready")
    check(ctx.extprof("record", "-q", "-p", ruby.pid, "-d", "1", "-o", path).status == 0, "record")
    run = ctx.extprof("annotate", path, source)
    check("source: the file of this machine" in run.out and "CHANGED" not in run.out, "%s", run.out)
    ctx.write("work.rb", "# other\n" * 8)
    run = ctx.extprof("annotate", path, source)
    check("CHANGED" in run.out and "# other" in run.out, "%s", run.out)
    os.unlink(source)
    run = ctx.extprof("annotate", path, source)
    check(run.status == 0 and "source: none" in run.out, "%s", run.out)
    return "told each time"


def amounts_of_page(text):
    """{line: [self, its share, total, its share]}"""
    rows = re.findall(r'<tr id="L(\d+)"[^>]*>(.*?)<td class="n">', text)
    cells = {int(n): [c for c in re.findall(r"<td[^>]*>([^<]*)</td>", row) if c] for n, row in rows}
    return {n: c for n, c in cells.items() if c}


def amounts_of_text(text):
    rows = [re.match(r"(.*?) +~?(\d+) \|", line) for line in text.splitlines()]
    return {int(m.group(2)): re.findall(r"[\d.]+ [^\s\d]+", m.group(1)) for m in rows if m and m.group(1).strip()}


def narrow(ctx, page):
    """On 420 pixels what is above the source is not cut, and shares remain of the amounts."""
    if not chromium.find():
        return
    with chromium.Browser(ctx.directory) as browser:
        browser.window(420, 800)
        browser.open("file://" + os.path.abspath(page))
        wide = browser.run("document.querySelector('pre').scrollWidth")
        check(wide <= 420, "what is above the source is %d pixels wide", wide)
        check(browser.run("[...document.querySelectorAll('.a')].every(cell => !cell.offsetWidth)"), "amounts are shown")


@case(timeout=60)
def page_and_errors(ctx):
    """The page has the source as text, and what is wrong is said."""
    _, path = record(ctx, "--sources")
    page = ctx.path("work.html")
    run = ctx.extprof("annotate", path, "work.rb", "-o", page)
    check(run.status == 0 and not run.out, "%d: %s", run.status, run.err)
    with open(page, encoding="utf-8") as f:
        text = f.read()
    check("&lt;b&gt;&amp;amp;" in text and "<b>" not in text and "Content-Security-Policy" in text, "%s", text[-600:])
    check(amounts_of_page(text) == amounts_of_text(ctx.extprof("annotate", path, "work.rb").ok().out), "%s", text[-1500:])
    narrow(ctx, page)
    dom = browse(ctx, page)
    check(dom is None or 'id="L3"' in dom, "in the browser: %s", dom)
    for wrong, status in ((["none.rb"], harness.USAGE), (["Object#none"], harness.USAGE), ([], harness.USAGE),
                          (["work.rb", "-m", "wall"], harness.USAGE), (["work.rb", "--filter", "thread=nobody"], 74)):
        run = ctx.extprof("annotate", path, *wrong)
        check(run.status == status and run.err, "%s: %d: %s", wrong, run.status, run.err)
    return "a page%s" % ("" if dom else "; NOT opened: there is no browser here")
