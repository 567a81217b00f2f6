"""An agent's questions: the answers are those of the commands, and nothing else can be asked."""
import json
import os
import subprocess

import harness
from case_recording import record
from harness import case, check


class Server:
    def __init__(self, ctx):
        self.process = subprocess.Popen([harness.EXTPROF, "mcp", ctx.directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=harness.environment())
        self.id = 0

    def raw(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def ask(self, method, **params):
        self.id += 1
        reply = self.raw(json.dumps({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).encode())
        check(reply["id"] == self.id and reply["jsonrpc"] == "2.0", "%s", reply)
        return reply

    def call(self, name, **arguments):
        result = self.ask("tools/call", name=name, arguments=arguments)["result"]
        return result["isError"], result["content"][0]["text"]


@case(timeout=90)
def answers(ctx):
    """list, top, tree, requests, diff, annotate and sql say what the commands say; what is wrong is refused."""
    path = ctx.path("a.extprof")
    record(ctx, "-q", "-m", "cpu", "-o", path)
    s = Server(ctx)
    try:
        hello = s.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
        check(hello["result"]["serverInfo"]["name"] == "extprof", "%s", hello)
        s.process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        names = [t["name"] for t in s.ask("tools/list")["result"]["tools"]]
        check(names == ["list", "top", "tree", "requests", "diff", "annotate", "sql"], "%s", names)
        check(s.call("list") == (False, "a.extprof\n"), "list")
        check(s.call("top", recording="a.extprof", rows=5) == (False, ctx.extprof("report", path, "-f", "json", "--rows", "5").out), "top")
        check(s.call("tree", recording="a.extprof") == (False, ctx.extprof("report", path, "-f", "folded").out), "tree")
        check(s.call("sql", recording="a.extprof", statement="SELECT count(*) AS n FROM samples") ==
              (False, ctx.extprof("sql", path, "SELECT count(*) AS n FROM samples").out), "sql")
        cut = s.call("sql", recording="a.extprof", statement="SELECT value FROM samples", rows=3)[1].splitlines()
        check(len(cut) == 5 and cut[-1].startswith("(more rows"), "%s", cut)
        check(s.call("diff", before="a.extprof", after="a.extprof") ==
              (False, ctx.extprof("diff", "a.extprof", "a.extprof", "-f", "json", "--rows", "20", cwd=ctx.directory).out), "diff")
        failed, text = s.call("annotate", recording="a.extprof", what="Object#left")
        check(not failed and text == ctx.extprof("annotate", path, "Object#left").out, "annotate: %s", text[:200])
        check(not json.loads(s.call("requests", recording="a.extprof")[1])["requests"], "requests")
        for name, arguments in (("top", {"recording": "../a.extprof"}), ("top", {"recording": path}), ("top", {}), ("sql", {"recording": "a.extprof"}),
                                ("top", {"recording": "none.extprof"}), ("sql", {"recording": "a.extprof", "statement": "DELETE FROM blocks"}),
                                ("top", {"recording": "a.extprof", "filters": [1]})):
            failed, text = s.call(name, **arguments)
            check(failed and text, "%s %s: %s", name, arguments, text)
        check(s.ask("tools/call", name="nothing")["error"]["code"] == -32602, "a tool that is not there")
        check(s.ask("nothing")["error"]["code"] == -32601, "a method that is not there")
        check(s.raw(b"{")["error"]["code"] == -32700, "no JSON")
        check(s.raw(b"[" * 100000)["error"]["code"] == -32700, "deep JSON")
        check(s.raw(b"[]")["error"]["code"] == -32600, "no request")
        check(s.raw(b'"' + b"x" * (2 << 20) + b'"')["error"]["code"] == -32600, "a line that is too long")
        check(s.ask("ping")["result"] == {}, "it goes on")
        s.process.stdin.close()
        check(s.process.wait(10) == 0, "status %d", s.process.returncode)
    finally:
        s.process.kill()
    check(os.listdir(ctx.directory).count("a.extprof") == 1, "the recording")
    return "%d tools" % len(names)
