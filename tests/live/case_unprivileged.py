"""Containers without privileges: what works without any capability, and what is missing is said."""
import os
import re
import shutil
import subprocess
import tempfile

import harness
from binaries import Binary
from case_dump import NOBODY
from harness import case, check

PROGRAM = """
def hot = 1000.times { }
Thread.new { Thread.current.name = "popper"; Queue.new.pop }
$stdout.puts "ready"; $stdout.flush
loop { hot }"""

# A user with nothing: no capability, and no way to get one.
NOTHING = ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups", "--bounding-set=-all", "--no-new-privs"]
USERS = ["unshare", "-Ur"]
PIDS = ["unshare", "-Urpf", "--mount-proc"]

COMMANDS = (("dump",), ("stat", "-d", "0.5"), ("top", "-b", "--count", "1", "-i", "0.5"), ("record", "-d", "0.5"),
            ("record", "-d", "0.5", "-m", "wall"), ("record", "-d", "0.5", "--reader", "stop"), ("record", "-d", "2", "--native"))

# The program and all commands in one namespace: each command's status, output and errors in files of its own.
SCRIPT = """
dir=$1 ruby=$2; shift 2
$ruby --disable=gems -W0 -e "$PROGRAM" >$dir/said & pid=$!
until grep -q ready $dir/said; do sleep 0.1; done
n=0
for command; do
  $dir/extprof $command -p $pid >$dir/out$n 2>$dir/err$n
  echo $? >$dir/status$n
  n=$((n + 1))
done
kill $pid
"""


class Place:
    """A directory that anybody can read, with copies of extprof and ruby."""

    def __init__(self, ctx):
        self.ctx = ctx
        check(os.geteuid() == 0, "this needs root, to become somebody else")
        self.path = tempfile.mkdtemp(prefix="extprof-test-", dir="/tmp")
        os.chmod(self.path, 0o777)
        self.binary = Binary(ctx, self.path)
        self.reader = os.path.join(self.path, "extprof")
        shutil.copy(harness.EXTPROF, self.reader)
        os.chmod(self.reader, 0o755)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def ruby(self, *before):
        p = self.ctx.start([*NOTHING, *before, self.binary.ruby, "--disable=gems", "-W0", "-e", PROGRAM],
                           env=self.binary.env, cwd=self.path)
        p.expect("ready")
        return p

    def run(self, pid, *command, before=()):
        """(status, standard output, standard error)"""
        p = self.ctx.start([*NOTHING, *before, self.reader, *command, "-p", str(pid)], cwd=self.path, stderr=subprocess.PIPE)
        out, err = p.communicate(60)
        return p.p.returncode, out, err

    def together(self, *before):
        """The same of each command, with the program in the same namespaces."""
        env = {**(self.binary.env or os.environ), "PROGRAM": PROGRAM}
        p = self.ctx.start([*NOTHING, *before, "sh", "-c", SCRIPT, "sh", self.path, self.binary.ruby, *map(" ".join, COMMANDS)],
                           env=env, cwd=self.path, stderr=subprocess.PIPE)
        _, err = p.communicate(120)
        if p.p.returncode and "unshare" in err:
            return None

        def text(name, n):
            with open(os.path.join(self.path, "%s%d" % (name, n)), encoding="utf-8") as f:
                return f.read()
        return [(int(text("status", n)), text("out", n), text("err", n)) for n in range(len(COMMANDS))]


def right(command, got):
    """It worked, and if it had to choose another reader it said so."""
    status, out, err = got
    check(status == 0 and "Object#hot" in out, "%s: status %d: %s%s", command, status, out[:600], err[-600:])
    if command[0] == "dump" or command[0] == "stat" or "wall" in command:
        check("popper" in out or "queue" in out, "%s: %s", command, out)
    if command[0] == "stat":
        heap = re.search(r"^heap +([\d,]+)   live slots", out, re.M)
        check(heap and int(heap.group(1).replace(",", "")) > 5000, "%s: %s", command, out)
    if "--native" in command:
        check("is stopped for it (--reader stop)" in err and re.search(r"in [1-9]\d* samples joined with the Ruby frames", out),
              "%s: %s%s", command, out, err)
    elif command[0] in ("stat", "record") and "--reader" not in command:
        check("read from outside instead (--reader nonblocking)" in err, "%s: %s", command, err)


@case(timeout=120, bpf=False)
def without_capabilities(ctx):
    """The same user without a capability, and without a way to get one, reads its processes; also those in a container."""
    said = []
    with Place(ctx) as place:
        for name, before in (("beside", ()), ("in a user namespace", USERS), ("in a container", PIDS)):
            p = place.ruby(*before)
            pid = p.pid
            if before == PIDS:
                with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
                    pid = int(f.read().split()[0])
            for command in COMMANDS if not before else COMMANDS[:2]:
                right(command, place.run(pid, *command))
            for command in (("record", "-d", "0.5", "--reader", "ebpf"), ("stat", "-d", "0.5", "--syscalls")) if not before else ():
                status, _, err = place.run(pid, *command)
                check(status == harness.PERMISSION and "CAP_BPF" in err, "%s: status %d: %s", command, status, err)
            p.kill()
            said.append(name)
    return "works for a program " + ", ".join(said)


@case(timeout=120, bpf=False)
def user_namespace(ctx):
    """In a container, with and without pids of its own, all works as outside. A process outside is not of its user."""
    said = []
    with Place(ctx) as place:
        for name, before in (("user namespace", USERS), ("user and pid namespace", PIDS)):
            results = place.together(*before)
            if results is None:
                return harness.Counted(0, 0, 1, "cannot make a user namespace here")
            for command, got in zip(COMMANDS, results):
                right(command, got)
            said.append(name)
        outside = place.ruby()
        for before, text in ((USERS, "user namespace"), (["unshare", "-Urpf"], "another pid namespace")):
            for command in COMMANDS[:4:3]:
                status, _, err = place.run(outside.pid, *command, before=before)
                check(status in (harness.PERMISSION, harness.NO_PROCESS) and text in err, "%s %s: status %d: %s", before, command,
                      status, err)
    return ", ".join(said) + "; a process outside is refused, with the reason"
