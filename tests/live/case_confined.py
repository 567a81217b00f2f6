"""What reads recordings and core files confines itself, since anybody can have made those. A debugger makes each command try, while it
writes its result, what an attacker would do who has taken it over."""
import ctypes
import errno
import os
import re
import subprocess

import harness
import native
from case_power import PROGRAM, Full, powers, writes
from harness import case, check, until

# Asked with "PID TRY;TRY;...", each of which is a call: the answer is a line "result errno" for each.
SCRIPT = """
python
import sys
gdb.execute("set pagination off")
gdb.execute("set confirm off")
for line in sys.stdin:
    pid, _, tries = line.strip().partition(" ")
    gdb.execute("attach " + pid, to_string=True)
    print("BEGIN")
    for call in tries.split(";"):
        try:
            result = int(gdb.parse_and_eval(call))
            error = int(gdb.parse_and_eval("*((int *(*)(void))__errno_location)()"))
            print("%d %d" % (result, error if result < 0 else 0))
        except gdb.error as e:
            print("failed: " + str(e).replace(chr(10), " "))
    gdb.execute("detach", to_string=True)
    print("END", flush=True)
end
"""
O_WRONLY, O_RDWR, O_CREAT = os.O_WRONLY, os.O_RDWR, os.O_CREAT
DENIED = errno.EACCES
NOBODY = 65534


def landlock():
    """Its version; 0: this kernel has none."""
    return max(0, ctypes.CDLL(None).syscall(444, 0, 0, 1))


def open_(path, flags):
    return '((int(*)(const char*,int,int))open)("%s",%d,384)' % (path, flags)


class Tries:
    def __init__(self, ctx):
        self.ctx, self.gdb, self.landlock = ctx, native.Gdb(ctx, "tries.gdb", SCRIPT), landlock()
        self.inside, self.outside = ctx.path("in"), ctx.path("out")
        for folder in self.inside, self.outside:
            os.makedirs(folder, exist_ok=True)
        with open(os.path.join(self.outside, "secret"), "w", encoding="utf-8") as f:
            f.write("secret\n")
        os.chmod(os.path.join(self.outside, "secret"), 0o600)
        self.other = ctx.start(["sleep", "600"])
        self.count = 0

    def expect(self, what, pid, files, inside=None):
        """`files`: it reads files anywhere, by helpers that it starts. `inside`: the folder that it may write to; "": none."""
        outside = os.path.join(self.outside, "made")
        inside = os.path.join(self.inside if inside is None else inside, "new") if inside != "" else outside
        secret = os.path.join(self.outside, "secret")
        tries = [
            (open_(inside, O_RDWR | O_CREAT), DENIED if inside == outside else 0, 1 if inside == outside else 0),
            (open_(outside, O_WRONLY | O_CREAT), DENIED, 1),
            (open_(secret, O_WRONLY), DENIED, 1),
            (open_(secret, os.O_RDONLY), 0 if files else DENIED, 1),
            (open_("/dev/full", os.O_RDONLY), 0 if files else DENIED, 1),
            ('((int(*)(const char*))unlink)("%s")' % secret, DENIED, 1),
            ('((int(*)(const char*,const char*))symlink)("/etc/passwd","%s-link")' % inside, DENIED, 1),
            ('((int(*)(int,int,int))socket)(2,1,0)', DENIED, 0),
            ('((int(*)(int,int,int))socket)(1,2,0)', DENIED, 0),
            ('((int(*)(int,void*,int))connect)(0,(void*)0,0)', DENIED, 0),
            ('((int(*)(int,int,void*,void*))ptrace)(16,%d,(void*)0,(void*)0)' % self.other.pid, DENIED, 0),
            ('((int(*)(int,int))kill)(%d,0)' % self.other.pid, (errno.EPERM if files else DENIED), 6 if files else 0),
            ('((int(*)(int))unshare)(0)', DENIED, 0),
        ]
        if not files:
            tries += [('((int(*)(void))vfork)()', DENIED, 0),
                      ('((int(*)(const char*,void*,void*))execve)("/bin/true",(void*)0,(void*)0)', DENIED, 0)]
        answers = self.gdb.ask("%d %s" % (pid, ";".join(t[0] for t in tries)))
        # Before that it says where the process is.
        answers = answers[answers.index("BEGIN") + 1:]
        check(len(answers) == len(tries), "%s: %s", what, answers)
        for (call, error, version), answer in zip(tries, answers):
            check(re.match(r"-?\d+ \d+$", answer), "%s: %s: %s", what, call, answer)
            result, got = map(int, answer.split())
            if version > self.landlock:
                continue
            check(got == error and (result < 0) == bool(error), "%s: %s is %d with errno %d, not %d", what, call, result, got, error)
            self.count += 1
        check(powers(pid)["Seccomp"] == {"2"}, "%s: no filter", what)
        check(not os.path.exists(outside) or not self.landlock, "%s made a file", what)
        check(os.path.exists(secret), "%s removed a file", what)


def recorded(ctx, folder):
    recording, ruby = os.path.join(folder, "one.extprof"), ctx.ruby(ctx.write("program.rb", PROGRAM))
    ruby.expect("ready")
    ctx.extprof("record", "-q", "-d", "0.4", "-n", "-p", ruby.pid, "--sources", "-o", recording).ok()
    return recording, ruby


def at_its_output(ctx, tries, args, says, status=0, **expected):
    """It is looked at where it writes into a pipe that is full, and goes on then. The end of what it says on stderr."""
    pipe = Full()
    p = ctx.start([harness.EXTPROF, *args], stdout=pipe.write, stderr=subprocess.PIPE, cwd=ctx.directory)
    until(lambda: writes(p.pid) or p.p.poll() is not None, "%s writes nothing" % (args,), 30)
    if p.p.poll() is None:
        tries.expect(args[0], p.pid, **expected)
    out = pipe.drain()
    err = p.communicate()[1]
    check(says in out and p.p.returncode == status, "%s: status %d: %s%s", args, p.p.returncode, out[-300:], err[-300:])
    return err


@case(timeout=180, patient=True)
def what_an_attacker_cannot_do(ctx):
    """Recordings: while the result is written, by each command."""
    tries = Tries(ctx)
    recording, _ = recorded(ctx, tries.inside)
    for args, says in ((("report", recording), "hot"), (("report", recording, "-f", "folded", "-o", "-"), "hot"), (("diff", recording, recording), ""),
                       (("sql", recording, "select count(*) from samples"), ""), (("verify", recording), "all right"),
                       (("top", "-b", "--at", "-1ms", recording), "hot")):
        at_its_output(ctx, tries, args, says, files=False)
    for args, says in (("annotate", recording, "Object#hot"), "hot"), (("report", recording, "--inline", "-f", "folded", "-o", "-"), "hot"):
        at_its_output(ctx, tries, args, says, files=True)
    p = ctx.start([harness.EXTPROF, "mcp", tries.inside], stderr=subprocess.PIPE)
    until(lambda: powers(p.pid).get("Seccomp") == {"2"}, "mcp is not confined")
    tries.expect("mcp", p.pid, files=True)
    return "%d tries; Landlock %d" % (tries.count, tries.landlock)


@case(timeout=90, patient=True)
def core_files(ctx):
    tries = Tries(ctx)
    ruby = ctx.ruby(ctx.write("program.rb", PROGRAM))
    ruby.expect("ready")
    made = subprocess.run(["gcore", "-o", os.path.join(tries.inside, "core"), str(ruby.pid)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    core = os.path.join(tries.inside, "core.%d" % ruby.pid)
    check(os.path.exists(core), "%s", made.stdout)
    at_its_output(ctx, tries, ("dump", "--core", core), "hot", files=True)
    return "%d tries" % tries.count


@case(timeout=90, patient=True)
def links_of_others_give_nothing(ctx):
    """In a folder of all users somebody has put links to what is not theirs: as the recording that is named, and beside others."""
    tries = Tries(ctx)
    shared = ctx.path("shared")
    os.makedirs(shared)
    recording, _ = recorded(ctx, tries.outside)
    os.chmod(shared, 0o777)
    link = os.path.join(shared, "link.extprof")
    os.symlink(recording, link)
    os.lchown(link, NOBODY, NOBODY)
    at_its_output(ctx, tries, ("report", link, "-f", "folded", "-o", "-"), "hot", files=False, inside="")
    # Of a folder it is left out, and another recording is shown.
    own, _ = recorded(ctx, shared)
    os.unlink(link)
    # One that is young may be about to begin.
    os.utime(os.path.join(tries.outside, "secret"), (0, 0))
    link = os.path.join(shared, "secret.extprof")
    os.symlink(os.path.join(tries.outside, "secret"), link)
    os.lchown(link, NOBODY, NOBODY)
    err = at_its_output(ctx, tries, ("report", shared, "-f", "folded", "-o", "-"), "hot", status=74, files=False, inside=shared)
    check("secret.extprof is left out" in err, "%s", err)
    os.unlink(own)
    return "%d tries" % tries.count


@case(timeout=60)
def outputs_go_where_they_went(ctx):
    """Another folder, a link into another folder, a FIFO, a file that is open, a file of the folder of the recording; and a
    folder that has links to recordings."""
    folder = ctx.path("in")
    os.makedirs(folder)
    recording, _ = recorded(ctx, folder)
    for name in "other", "far":
        os.makedirs(ctx.path(name))
    os.symlink(os.path.join(ctx.path("far"), "linked.folded"), ctx.path("link.folded"))
    for path in ("other/a.folded", "link.folded", "in/b.folded", "here.folded"):
        ctx.extprof("report", recording, "-o", ctx.path(path)).ok()
        with open(ctx.path(path), encoding="utf-8") as f:
            check("hot" in f.read(), "%s has no stacks", path)
    check(os.path.exists(os.path.join(ctx.path("far"), "linked.folded")), "nothing is where the link leads to")
    os.mkfifo(ctx.path("fifo"))
    reader = subprocess.Popen(["cat", ctx.path("fifo")], stdout=subprocess.PIPE, text=True)
    ctx.extprof("report", recording, "-f", "folded", "-o", ctx.path("fifo")).ok()
    check("hot" in reader.communicate(timeout=30)[0], "nothing came through the FIFO")
    with open(ctx.path("far/open.folded"), "w+", encoding="utf-8") as f:
        p = ctx.start([harness.EXTPROF, "report", recording, "-f", "folded", "-o", "/dev/fd/%d" % f.fileno()], pass_fds=[f.fileno()],
                      stderr=subprocess.PIPE)
        err = p.communicate()[1]
        f.seek(0)
        check(p.p.returncode == 0 and "hot" in f.read(), "an open file: status %d: %s", p.p.returncode, err)
    links = ctx.path("links")
    os.makedirs(links)
    os.symlink(recording, os.path.join(links, "one.extprof"))
    check("hot" in ctx.extprof("report", links, "-f", "folded", "-o", "-").ok().out, "a link in a folder")
    copy = ctx.path("far/copy.extprof")
    ctx.extprof("redact", recording, "-o", copy).ok()
    ctx.extprof("verify", copy).ok()
    return "8 places"


@case(timeout=60)
def a_recording_that_goes_on(ctx):
    """SQLite makes a file beside it, also in a folder that is not the output's."""
    folder = ctx.path("in")
    os.makedirs(folder)
    ruby = ctx.ruby(ctx.write("program.rb", PROGRAM))
    ruby.expect("ready")
    live = os.path.join(folder, "live.extprof")
    reader = ctx.extprof_start("record", "-q", "-p", ruby.pid, "-o", live)
    ctx.attached(reader)
    until(lambda: "hot" in ctx.extprof("report", live, "-f", "folded", "-o", "-").out, "it shows nothing", 30)
    reader.signal(9)
    reader.communicate()
    # Nobody has it open any more: what was not moved into the file yet is in the one beside it.
    for name in os.listdir(folder):
        if name.endswith("-shm"):
            os.unlink(os.path.join(folder, name))
    check("hot" in ctx.extprof("report", live, "-f", "folded", "-o", "-").out, "it shows nothing after kill -9")
    check(ctx.extprof("verify", live).status == 0, "it is not right")
    return "live, and after kill -9"
