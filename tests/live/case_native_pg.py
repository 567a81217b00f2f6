"""--native with the gem pg and a real PostgreSQL server: which functions of libpq wait and work below a query, and in the same profile
what the server does meanwhile.  The program's clocks say how long each kind of query took, the kernel what CPU time each process had."""
import os

import case_servers
import harness
import postgres
from case_native import end, is_marked, watch
from case_native_waits import parts
from harness import Counted, case, check

GEMS = {"pg": "1.7.0"}
# Some functions below each kind of query, in their order. `exec` waits as Ruby itself does, so that other fibers can run; the functions
# of the extension have no names.
SYNC = ["PG::Connection#sync_exec", "[pg_ext.so]", "PQexec", "PQgetResult", "pqWait", "poll"]
ASYNC = ["PG::Connection#exec", "[pg_ext.so]", "[pg_ext.so]", "ppoll"]
# How many ms each query waits in the server.
SLEEP = 50


class Program:
    def __init__(self, ctx, server):
        home = case_servers.gems(GEMS)
        self.ctx = ctx
        self.p = ctx.start([harness.RUBY, "-W0", os.path.join(harness.PROGRAMS, "native_pg.rb"), server.folder],
                           env={"GEM_HOME": home, "GEM_PATH": home})
        self.backend = int(self.p.line(60).split()[1])

    def profile(self, seconds, *args):
        """The profile, {kind: (us, us of CPU time, number of queries)}."""
        out = self.ctx.path("out.folded")
        reader, said = watch(self.ctx, self.p.pid, *args, "-o", out)
        self.p.tell(str(seconds))
        took = {}
        for word in self.p.line(60).split():
            kind, _, figures = word.partition("=")
            ns, cpu, count = map(int, figures.split("/"))
            took[kind] = ns / 1000, cpu / 1000, count
        return end(reader, said, out), took


def in_order(wanted, labels):
    rest = iter(labels)
    return all(any(l == w for l in rest) for w in wanted)


def cpu_of(pid):
    """In us."""
    with open("/proc/%d/schedstat" % pid, encoding="ascii") as f:
        return int(f.read().split()[0]) / 1000


@case(timeout=150)
def queries(ctx):
    if not postgres.find():
        return Counted(0, 0, 1, "there is no PostgreSQL server: apt-get install postgresql")
    with postgres.Server(ctx) as server:
        program = Program(ctx, server)
        before = cpu_of(program.backend)
        profile, took = program.profile(3, "-p", program.backend, "--all-native", "-m", "wall", "-F", harness.rate(997))
        worked = cpu_of(program.backend) - before
    told = []
    below = {kind: [] for kind in took}
    backend, marked, total = [], 0, 0
    for stack in profile.stacks:
        labels = stack.labels() + ([stack.gc] if stack.gc else [])
        total += stack.count
        marked += stack.count * is_marked(labels)
        code, state = parts([l for l in labels if not l.startswith(("[process ", "[native thread "))])
        method = next((l for l in labels if l.startswith("Object#") and l[len("Object#"):] in took), None)
        if method:
            below[method[len("Object#"):]].append((code[code.index(method) + 1:], state, stack.count))
        # A wait of the server that is not over when the recording ends has no functions.
        elif not is_marked(labels) and labels[0] == "[process %d postgres]" % program.backend:
            backend.append((code, state, stack.count))
    check(marked < 0.01 * total, "%d of %d us are marked", marked, total)
    # A query that begins before the first look, or ends after the last one, is in none.
    for kind, (us, _, count) in took.items():
        ours = sum(n for _, _, n in below[kind])
        check(abs(ours - us) < 0.05 * us + 5000, "%s: %d us, by its clock %d", kind, ours, us)
        told.append("%s %d of %d ms" % (kind, ours / 1000, us / 1000))
    for kind, way in (("sleeps", ASYNC), ("counts", ASYNC), ("sync_sleeps", SYNC)):
        us, cpu, count = took[kind]
        stacks = [s for s in below[kind] if s[1] and s[1].startswith("[io ")]
        wrong = [s for s in stacks if not in_order(way, s[0]) or s[0][-1] != way[-1]]
        waited = sum(n for _, _, n in stacks)
        # The query is sent by a call that does not wait.
        check(sum(n for _, _, n in wrong) < 0.002 * us, "%s: %s", kind, wrong[:2])
        check(waited < us - cpu + 5000 and waited > (0.95 * 1000 * SLEEP * count if "sleeps" in kind else 0.5 * us), "%s waited %d us of %d",
              kind, waited, us)
    for kind, way in (("rows", ["PG::Connection#exec", "[pg_ext.so]"]), ("values", ["PG::Result#values", "[pg_ext.so]"])):
        wrong = [s for s in below[kind] if s[1] != "[runnable]" and not in_order(way, s[0]) and not (s[0] or [""])[-1].startswith(("PG::", "[GC"))]
        check(sum(n for _, _, n in wrong) < 0.05 * took[kind][0], "%s: %s", kind, wrong[:2])
    of_libpq = {l for code, _, _ in below["rows"] + below["values"] for l in code if l.lower().startswith("pq")}
    check({"PQgetvalue", "PQgetisnull", "pqParseInput3", "PQconsumeInput", "pqReadData", "PQisBusy"} & of_libpq, "only %s", of_libpq)
    # The server, beside it.
    slept = sum(n for code, state, n in backend if "pg_sleep" in code and state != "[runnable]")
    wanted = 1000 * SLEEP * (took["sleeps"][2] + took["sync_sleeps"][2])
    check(abs(slept - wanted) < 0.05 * wanted, "the server slept %d us, by the queries %d", slept, wanted)
    ran = sum(n for _, state, n in backend if state is None)
    check(abs(ran - worked) < 0.1 * worked + 5 * (1000 * worked) ** 0.5, "the server ran for %d us, by the kernel %d", ran, worked)
    wrong = [s for s in backend if "main" not in s[0]]
    check(not wrong, "%s", wrong[:2])
    return "%s; the server slept %d of %d ms, and ran for %d of %d; %.2f %% marked" % (
        ", ".join(told), slept / 1000, wanted / 1000, ran / 1000, worked / 1000, 100 * marked / total)
