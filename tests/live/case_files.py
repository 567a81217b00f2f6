"""Files that a process names: extprof opens them with the rights of the process, where the process sees them."""
import json
import os
import stat
import subprocess

import harness
from harness import case, check

NOBODY = 65534


def sources(ctx, pid):
    """The source line of each thread, by name; None: it is not shown."""
    d = json.loads(ctx.extprof("dump", "-p", pid, "--source", "--json").ok().out)
    process = d["processes"][0] if "processes" in d else d
    return {t.get("name"): t["fibers"][0].get("source") for t in process["threads"]}


def program(names):
    """One thread for each file, which sleeps in a method that the file is named for."""
    threads = ['Thread.new { Thread.current.name = "%s"; eval("sleep", nil, "%s", 1) }' % n for n in names.items()]
    return "; ".join(threads + ['puts "ready"', "$stdout.flush", "sleep"])


@case(timeout=120, bpf=False)
def rights(ctx):
    """extprof runs as root. Of a process of nobody's it shows what nobody may read, and opens nothing but regular files."""
    check(os.getuid() == 0, "this needs root")
    os.chmod(ctx.directory, 0o755)
    ctx.write("open.rb", "sleep # open\n")
    ctx.write("closed.rb", "sleep # closed\n", 0o600)
    os.chown(ctx.write("group.rb", "sleep # group\n", 0o640), 0, 4242)
    os.mkfifo(ctx.path("fifo.rb"), 0o600)
    os.mknod(ctx.path("device.rb"), 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    os.symlink(ctx.path("closed.rb"), ctx.path("link.rb"))
    os.symlink(ctx.path("open.rb"), ctx.path("link_open.rb"))
    names = {n: ctx.path(n + ".rb") for n in ("open", "closed", "group", "fifo", "device", "link", "link_open")}
    names.update(shadow="/etc/shadow", environ="/proc/self/environ")
    expected = dict.fromkeys(names)
    expected.update(open="sleep # open", link_open="sleep # open")
    writer = subprocess.Popen(["sh", "-c", "exec 3> %s" % ctx.path("fifo.rb")])    # waits until somebody reads
    try:
        for groups, group in (("--clear-groups", None), ("--groups=4242", "sleep # group")):
            p = ctx.start(["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, groups, harness.RUBY,
                           "--disable=gems", "-W0", "-e", program(names)])
            p.expect("ready")
            got = sources(ctx, p.pid)
            for name, line in dict(expected, group=group).items():
                check(got[name] == line, "%s: %s is %r, not %r", groups, name, got[name], line)
            p.kill()
        check(writer.poll() is None, "the FIFO was opened")
    finally:
        writer.kill()
        writer.wait()
    return "%d files" % len(names)


@case(timeout=120, bpf=False)
def mount_namespace(ctx):
    """A path means the file that the process sees there, and not the one that extprof sees."""
    directory = ctx.path("mounted")
    os.mkdir(directory)
    ctx.write("mounted/a.rb", "sleep # outside\n")
    script = ("mount -t tmpfs none '%s' && echo 'sleep # inside' > '%s/a.rb' && exec \"$@\"" % (directory, directory))
    p = ctx.start(["unshare", "-m", "sh", "-c", script, "sh", harness.RUBY, "--disable=gems", "-W0", "-e",
                   program({"here": directory + "/a.rb"})])
    p.expect("ready")
    check(sources(ctx, p.pid)["here"] == "sleep # inside", "%s", sources(ctx, p.pid))
    return "inside"
