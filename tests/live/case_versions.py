"""Which commit was it?  Programs in repositories that git makes, against the program's clock; and files that are not git's."""
import json
import os
import signal
import subprocess
import tempfile
import time

import case_otlp
import case_rotate
import harness
from harness import case, check

CPU = """
CPU = Process::CLOCK_PROCESS_CPUTIME_ID
def now = Process.clock_gettime(CPU, :nanosecond)
def work(ms) = (t = now + ms * 1_000_000; 1 while now < t)
"""
# It works until the input ends, with children that live for 30 ms, and says what it took, and what they took.
PROGRAM = CPU + """
STDOUT.sync = true
puts "ready"
$stdin.gets
before, times = now, Process.times
10.times do
  work(30)
  Process.wait(fork { work(10); exit!(0) })
end
after = Process.times
puts "#{now - before} #{((after.cutime + after.cstime - times.cutime - times.cstime) * 1e9).round}"
$stdin.gets
"""
ONCE = CPU + "work(300)\n"


def git(folder, *args):
    run = subprocess.run(["git", "-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "init.defaultBranch=main",
                          "-c", "safe.directory=*", "-C", folder, *args], capture_output=True, text=True, check=False)
    check(run.returncode == 0, "git %s: %s", args, run.stderr)
    return run.stdout.strip()


def repository(ctx, name, files):
    """A folder with a commit of these files, and the commit."""
    folder = ctx.path(name)
    os.mkdir(folder)
    git(folder, "init", "-q")
    return folder, commit(folder, files)


def commit(folder, files):
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "change")
    return git(folder, "rev-parse", "HEAD")


def resource(ctx, path):
    return dict(pair.split("=", 1) for (text,) in case_rotate.sql(ctx, path, "SELECT value FROM meta WHERE key='process.1.resource'")
                for pair in reversed(text.split(",")))


def version_of(ctx, folder, script, *args, env=None):
    """The commit and branch that a recording has of a program in that folder."""
    path = ctx.path("one.extprof")
    if os.path.exists(path):
        os.unlink(path)
    run = ctx.extprof("record", "-q", *args, "-o", path, "--", harness.RUBY, "--disable=gems", script, cwd=folder, env=env)
    check(run.status == 0, "status %d: %s", run.status, run.err)
    found = resource(ctx, path)
    return found.get("vcs.ref.head.revision"), found.get("vcs.ref.head.name")


@case(timeout=90, patient=True)
def checkouts_of_git(ctx):
    """A branch, packed references, a detached commit, a worktree, a submodule, a folder within it; and without git."""
    folder, first = repository(ctx, "app", {"app.rb": ONCE, "sub/app.rb": ONCE})
    seen = [("branch", version_of(ctx, folder, "app.rb"), (first, "main"))]
    seen.append(("folder", version_of(ctx, os.path.join(folder, "sub"), "app.rb"), (first, "main")))
    git(folder, "checkout", "-q", "-b", "feature/x,y=z")
    second = commit(folder, {"app.rb": ONCE + "# 2\n"})
    git(folder, "pack-refs", "--all")
    check(not os.path.exists(os.path.join(folder, ".git/refs/heads/main")), "references are not packed")
    branch = version_of(ctx, folder, "app.rb")
    seen.append(("packed", branch, (second, "feature/x%2Cy%3Dz")))
    git(folder, "checkout", "-q", "--detach", first)
    seen.append(("detached", version_of(ctx, folder, "app.rb"), (first, None)))
    git(folder, "worktree", "add", "-q", ctx.path("tree"), "main")
    seen.append(("worktree", version_of(ctx, ctx.path("tree"), "app.rb"), (first, "main")))
    outer, _ = repository(ctx, "outer", {"x": ""})
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", folder, "inner")
    inner = git(os.path.join(outer, "inner"), "rev-parse", "HEAD")
    seen.append(("submodule", version_of(ctx, os.path.join(outer, "inner"), "app.rb")[0], inner))
    # The directory of the tests may be in a repository itself.
    with tempfile.TemporaryDirectory() as plain:
        script = os.path.join(folder, "app.rb")
        seen.append(("no repository", version_of(ctx, plain, script), (None, None)))
        with open(os.path.join(plain, "REVISION"), "w", encoding="utf-8") as f:
            f.write(second + "\n")
        seen.append(("REVISION", version_of(ctx, plain, script), (second, None)))
        env = {"KAMAL_VERSION": first}
        seen.append(("environment", version_of(ctx, plain, script, env=env)[0], first))
        env["OTEL_RESOURCE_ATTRIBUTES"] = "service.name=shop,vcs.ref.head.revision=abcdef0"
        seen.append(("attributes", version_of(ctx, plain, script, env=env)[0], "abcdef0"))
    for what, got, wanted in seen:
        check(got == wanted, "%s: %s, not %s", what, got, wanted)
    return ", ".join(what for what, _, _ in seen)


@case(timeout=120, patient=True)
def time_of_each_commit(ctx):
    """Two versions run at once, with children that live for 10 ms: filters, SQL, OTLP, the trend and the comparison tell them apart."""
    folder, first = repository(ctx, "app", {"app.rb": PROGRAM})
    old = ctx.ruby("app.rb", cwd=folder)
    old.expect("ready")
    path = ctx.path("both.extprof")
    # It tells of all processes of the machine, more than a pipe has room for.
    log = ctx.path("log")
    with open(log, "wb") as f:
        live = ctx.extprof_start("record", "-v", "-a", "--name", "app.rb", "-F", harness.rate(2000), "-o", path, stderr=f)

    def has_read(name):
        with open(log, encoding="utf-8") as f:
            return "its files: vcs.ref.head.revision=" + name in f.read()

    harness.until(lambda: has_read(first), "it has not read the commit")
    ctx.attached(live)
    second = commit(folder, {"app.rb": PROGRAM + "# 2\n"})
    new = ctx.ruby("app.rb", cwd=folder)
    new.expect("ready")
    harness.until(lambda: has_read(second), "it has not read the commit")
    truth = {}
    for name, ruby in ((first, old), (second, new)):
        ruby.tell("go")
        truth[name] = list(map(int, ruby.line(60).split()))
    live.signal(signal.SIGTERM)
    check(live.wait() == 0, "status %s: %s", live.p.returncode, log)
    sums = {}
    for name, (own, children) in truth.items():
        rows = case_rotate.sql(ctx, path, "SELECT sum(value), count(DISTINCT pid) FROM samples WHERE revision='%s'" % name)
        sums[name] = int(rows[0][0])
        check(abs(sums[name] - own - children) <= 0.1 * (own + children) + 3e7, "%s: %s, not %s", name, rows, truth)
        check(int(rows[0][1]) == 11, "%s: %s processes, not 11", name, rows)
        for pattern in (name, name[:9], name[:5] + "*"):
            folded = ctx.extprof("report", path, "--unit", "ns", "-f", "folded", "--filter", "commit=" + pattern)
            got = sum(int(line.rpartition(" ")[2]) for line in folded.out.splitlines())
            check(got == sums[name], "%s: %d, not %d", pattern, got, sums[name])
    check(case_rotate.sql(ctx, path, "SELECT count(*) FROM samples WHERE revision IS NULL") == [["0"]], "samples without a commit")
    by_commit = {}
    for found, _, kind, _, _, _, amount in case_otlp.otlp.samples(case_otlp.report(ctx, path)):
        if kind == ("cpu", "nanoseconds"):
            key = found.get("vcs.ref.head.revision")
            by_commit[key] = by_commit.get(key, 0) + amount
    check(by_commit == sums, "OTLP: %s, not %s", by_commit, sums)
    shown = ctx.extprof("report", path)
    check("several commits, first %s, last %s\n" % (first[:12], second[:12]) in shown.out, "%s", shown.out[:400])
    return "; ".join("%s %.2f of %.2f s" % (n[:7], sums[n] / 1e9, sum(t) / 1e9) for n, t in truth.items())


@case(timeout=90, patient=True)
def deployments_in_a_trend(ctx):
    """Three recordings of two commits, each with the name of its deployment."""
    folder, first = repository(ctx, "app", {"app.rb": ONCE})
    files, commits = [], []
    for name in ("v1", "v2", "v3"):
        if name == "v3":
            commit(folder, {"app.rb": ONCE.replace("300", "200")})
        files.append(ctx.path(name + ".extprof"))
        commits.append(git(folder, "rev-parse", "HEAD"))
        run = ctx.extprof("record", "-q", "-F", "997", "--deploy", name, "-o", files[-1], "--", harness.RUBY, "--disable=gems", "app.rb", cwd=folder)
        check(run.status == 0, "status %d: %s", run.status, run.err)
    check(commits[0] == commits[1] == first != commits[2], "%s", commits)
    run = ctx.extprof("report", *reversed(files), "--trend", "Object#work", "-f", "json")
    check(run.status == 0, "status %d: %s", run.status, run.err)
    got = [(r["version"]["commit"], r["version"]["last_commit"], r["version"]["deployment"]) for r in json.loads(run.out)["recordings"]]
    check(got == [(c, c, d) for c, d in zip(commits, ("v1", "v2", "v3"))], "%s", got)
    text = ctx.extprof("report", *files, "--trend", "Object#work").out
    for c, d in zip(commits, ("v1", "v2", "v3")):
        check("  %s %s " % (c[:12], d) in text, "%s", text)
    change = json.loads(ctx.extprof("diff", files[1], files[2], "-f", "json").out)
    check([change[s]["version"]["commit"] for s in ("before", "after")] == [first, commits[2]], "%s", change["before"])
    check("(commit %s; deployment v3)" % commits[2][:12] in ctx.extprof("diff", files[1], files[2]).out, "diff")
    some = ctx.extprof("report", *files, "--filter", "resource:deployment.name=v[12]", "--trend", "Object#work", "-f", "json")
    check([r["all"] > 0 for r in json.loads(some.out)["recordings"]] == [True, True, False], "%s", some.out)
    none = ctx.extprof("report", *files, "--filter", "commit=0000000")
    check(none.status == 74 and "no such samples" in none.err, "%d %s", none.status, none.err)
    for wrong in ("", "x" * 129):
        check(ctx.extprof("record", "--deploy", wrong, "--", harness.RUBY, "-e", "1").status == harness.USAGE, "--deploy %s", wrong)
    shown = ctx.extprof("redact", files[2], "-o", ctx.path("redacted.extprof"))
    check(shown.status == 0, "redact: %s", shown.err)
    with open(ctx.path("redacted.extprof"), "rb") as f:
        data = f.read()
    check(commits[2].encode() not in data and b"deployment.name" not in data, "a redacted recording has the commit")
    return "3 recordings"


@case(timeout=90, patient=True)
def files_that_are_not_gits(ctx):
    """FIFOs, links to what the process may not read, references that lead elsewhere, 50 MB: nothing hangs, and nothing is told."""
    secret = ctx.write("secret", "0123456789abcdef0123456789abcdef01234567\n", 0o600)
    folder = ctx.path("app")
    os.makedirs(os.path.join(folder, ".git/refs/heads"))
    script = os.path.join(folder, "app.rb")
    with open(script, "w", encoding="utf-8") as f:
        f.write(ONCE)
    nobody = 65534
    for top, folders, names in os.walk(folder):
        for name in ["."] + folders + names:
            os.chown(os.path.join(top, name), nobody, nobody)
    os.chmod(os.path.dirname(folder), 0o755)
    head, branch = os.path.join(folder, ".git/HEAD"), os.path.join(folder, ".git/refs/heads/main")

    def put(path, text):
        if os.path.lexists(path):
            os.unlink(path)
        if text is None:
            os.mkfifo(path)
        elif text.startswith("link "):
            os.symlink(text[5:], path)
        else:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)

    # As nobody: root's files are not the process's.
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    def look():
        path = ctx.path("one.extprof")
        if os.path.exists(path):
            os.unlink(path)
        begin = time.monotonic()
        run = ctx.extprof("record", "-q", "-o", path, "--", *as_nobody, harness.RUBY, "--disable=gems", script, cwd=folder)
        check(run.status == 0, "status %d: %s", run.status, run.err)
        check(time.monotonic() - begin < 10, "it took %.1f s", time.monotonic() - begin)
        return [text for (text,) in case_rotate.sql(ctx, path, "SELECT value FROM meta WHERE key GLOB 'process.*.resource'")]

    put(head, "ref: refs/heads/main\n")
    put(branch, "f" * 40 + "\n")
    check(any("f" * 40 in text for text in look()), "the program's own files are not read")
    for what, path, text in (("a FIFO", head, None), ("a link to a secret", head, "link " + secret), ("a FIFO", branch, None),
                             ("a link to a secret", branch, "link " + secret), ("a way out", head, "ref: refs/heads/../../../../secret\n"),
                             ("50 MB", branch, "f" * 50_000_000), ("controls", head, "ref: refs/heads/\x1b[31m\n")):
        put(head, "ref: refs/heads/main\n")
        put(branch, "f" * 40 + "\n")
        put(path, text)
        check(not look(), "%s: %s", what, look())
    return "7 kinds of files"
