"""The questions of docs/queries.md, asked of a recording."""
import json
import os
import re
import shutil
import signal
import subprocess

import harness
from case_several import sql
from harness import Counted, case, check

DOCS = os.path.join(harness.TOP, "docs", "queries.md")


def questions():
    """[(title, command, answer)]"""
    with open(DOCS, encoding="utf-8") as f:
        return re.findall(r"^### ([^\n]*)\n    extprof ([^\n]*)\n\n```\n(.*?)\n```$", f.read(), re.M | re.S)


@case(timeout=90, waits=True)
def of_the_docs(ctx):
    """Each command answers, with the columns of the page; and what can be known is right."""
    if not shutil.which("jq"):
        return Counted(0, 0, 1, "there is no jq")
    path = ctx.path("shop.extprof")
    ruby = ctx.program("queries.rb", "5")
    ruby.expect("ready")
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-m", "cpu,wall,alloc,gc", "--waits", "each", "-F", harness.rate(199), "-o", path)
    ctx.attached(reader)
    ruby.tell("go")
    known = {kind: int(n) for kind, n in (pair.split("=") for pair in ruby.line(60).split())}
    reader.signal(signal.SIGINT)
    check(reader.wait() == 0, "the recording failed")
    asked = questions()
    check(len(asked) >= 14, "%d questions are on the page", len(asked))
    answers = {}
    for title, command, answer in asked:
        run = subprocess.run(["sh", "-c", '"$0" ' + command, harness.EXTPROF], cwd=ctx.directory, env=harness.environment(),
                             capture_output=True, timeout=60, universal_newlines=True)
        lines = run.stdout.splitlines()
        check(run.returncode == 0 and not run.stderr, "%s: status %d: %s", title, run.returncode, run.stderr[-600:])
        if command.startswith("sql "):
            check(lines[0].split("\t") == re.split(r"  +", answer.splitlines()[0]), "%s: columns %s", title, lines[0])
            check(len(lines) > 1, "%s: no row", title)
        else:
            check(lines and lines[0] not in ("", "null", "0", "[]"), "%s: %s", title, run.stdout)
        answers[title] = [line.split("\t") for line in lines]
    # Of each thread the first and the last request can be cut.
    requests = {row[0][len("request="):]: int(row[1]) for row in answers["Which requests are slow, and what is their time?"][1:]}
    check(set(requests) == set(known) and all(known[k] - 6 <= requests[k] <= known[k] for k in known), "%s requests, not %s", requests, known)
    locked = answers["What is the time of one kind of request?"][1:]
    check({row[1] for row in locked} >= {"sleep", "mutex"}, "%s", locked)
    pools = [row[:3] for row in answers["Which pools have more threads than work?"][1:]]
    check(pools == [["puma srv tp", "1", "3"]], "%s", pools)
    count = sql(ctx, path, "SELECT count(*) FROM requests WHERE duration_ns > 100000000")
    check(answers["How many requests took more than 100 ms?"] == [[str(count)]] and count >= known["shop#remote"] - 6,
          "%s above 100 ms, not %d", answers["How many requests took more than 100 ms?"], count)
    folded = ctx.extprof("report", path, "-m", "cpu", "-f", "folded", "--unit", "ns").ok().out
    through = sum(int(line.rpartition(" ")[2]) for line in folded.splitlines() if ";String#gsub" in line)
    check(answers["The time of all stacks through a method, ns"] == [[str(through)]] and through, "%s ns, not %d",
          answers["The time of all stacks through a method, ns"], through)
    top = json.loads(ctx.extprof("report", path, "-m", "cpu", "-f", "json").ok().out)["modes"][0]["methods"]["rows"]
    check(answers["The methods with most CPU time of their own"][0][0] == top[0]["name"], "%s", top[0])
    return "%d questions, %s" % (len(asked), known)
