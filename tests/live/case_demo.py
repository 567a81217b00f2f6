"""make demo: it shows the application, and leaves nothing behind but the flame graph."""
import os

import harness
from harness import case, check

RUN = os.path.join(harness.TOP, "demo", "run")


def demo(ctx, extprof):
    p = ctx.start(["bash", RUN], stderr=-1, env={
        "RUBY": harness.RUBY, "EXTPROF": extprof, "OUT": ctx.path("out"), "SECONDS_OF_DEMO": "2"})
    out, err = p.communicate(60)
    left = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as f:
                # The session is the fourth field after the name.
                if int(f.read().rpartition(")")[2].split()[3]) == p.pid:
                    left.append(pid)
        except OSError:
            continue
    check(not left, "processes left: %s", left)
    return p.p.returncode, out, err


@case(timeout=90)
def works(ctx):
    status, out, err = demo(ctx, harness.EXTPROF)
    check(status == 0, "status %d: %s%s", status, out[-500:], err[-500:])
    for text in ("Catalog#search", "Page#render", "JSON", "whole", "flamegraph.svg"):
        check(text in out, "no %s in: %s", text, out)
    with open(ctx.path("out/flamegraph.svg"), encoding="utf-8") as f:
        svg = f.read()
    check(svg.lstrip().startswith("<?xml") or "<svg" in svg[:500], "no SVG: %s", svg[:100])
    check("Catalog#search" in svg, "no Catalog#search in the flame graph")
    requests = [line for line in (out + err).splitlines() if "requests in" in line]
    check(requests and int(requests[0].split()[0]) > 100, "the load: %s", err)
    return "%s; flame graph of %d KB" % (requests[0], len(svg) >> 10)


@case(timeout=90, bpf=False)
def fails_when_extprof_does(ctx):
    status, out, err = demo(ctx, "false")
    check(status not in (0, None), "status %s", status)
    check("demo: extprof failed" in err, "it does not say so: %s", err)
    check(not os.path.exists(ctx.path("out/flamegraph.svg")), "there is a flame graph")
