"""A copy of a recording has the same sums, and no trace of what it is not to tell."""
import collections
import os
import re
import socket

import harness
from case_rotate import sql, verify
from harness import case, check

SECRET = "topsecret"
PROGRAM = """
STDOUT.sync = true
require "socket"
require_relative "../gems/shop-1.2.3/lib/shop"
def burn(s) = (t = Process.clock_gettime(Process::CLOCK_MONOTONIC) + s; 1 while Process.clock_gettime(Process::CLOCK_MONOTONIC) < t)
def order(n) = burn(0.02 + 0.01 * (n % 3))
pipe = File.open(ARGV[0], File::RDWR)
reader = Thread.new { Thread.current.name = "reader"; loop { pipe.read(1) } }
writer = Thread.new { loop { sleep 0.02; pipe.syswrite("x") } }
puts "ready"
n = 0
loop do
  Fiber.new { Fiber.with_labels(request: "topsecret-#{n % 4}") { order(n); Shop.sell(n); eval("order(n)") } }.resume
  n += 1
end
"""
GEM = "module Shop\n  def self.sell(n) = 60_000.times { |i| i.to_s }\nend\n"


def record(ctx):
    folder = ctx.path(SECRET + "-app")
    os.makedirs(folder + "/lib")
    os.makedirs(ctx.path("gems/shop-1.2.3/lib"))
    ctx.write("gems/shop-1.2.3/lib/shop.rb", GEM)
    fifo = ctx.path(SECRET + ".fifo")
    os.mkfifo(fifo)
    script = ctx.write(SECRET + "-app/orders.rb", PROGRAM)
    ruby = ctx.ruby(script, fifo, "--token=" + SECRET)
    ruby.expect("ready")
    path = ctx.path("app.extprof")
    run = ctx.extprof("record", "-p", ruby.pid, "-m", "cpu,wall", "--fd", "--native", "--sources", "-d", "3", "-F", "199", "-q", "-o", path)
    check(run.status == 0, "record: %d: %s", run.status, run.err)
    return path, script


def redact(ctx, path, name, *options):
    to = ctx.path(name)
    run = ctx.extprof("redact", path, "-o", to, *options)
    check(run.status == 0 and "is written" in run.err, "redact: %d: %s", run.status, run.err)
    check(os.stat(to).st_mode & 0o777 == 0o600, "mode %o", os.stat(to).st_mode)
    verify(ctx, [to])
    return to


def sums(ctx, path):
    """By mode and method: what is in the stacks whose innermost frame that is."""
    return sql(ctx, path, "SELECT mode, method, sum(value), sum(count), count(*) FROM samples GROUP BY mode, method ORDER BY 1, 2, 3")


def by_label(ctx, path):
    """Amounts of the values, without their names."""
    run = ctx.extprof("report", path, "-m", "wall", "--group-by", "label:request", "-f", "folded", "--unit", "ns", "--idle")
    check(run.status == 0, "%s", run.err)
    amounts = collections.Counter()
    for line in run.out.splitlines():
        stack, _, amount = line.rpartition(" ")
        amounts[stack.split(";")[0]] += int(amount)
    return amounts


@case(timeout=120)
def tells_nothing(ctx):
    """No byte of what is secret is left; sums, requests, gems and lines are those of the recording."""
    path, script = record(ctx)
    before = open(path, "rb").read()
    host = socket.gethostname()
    for secret in (SECRET, "token", script):
        check(secret.encode() in before, "%s is not in the recording: the test shows nothing", secret)
    copy = redact(ctx, path, "public.extprof")
    after = open(copy, "rb").read()
    for secret in (SECRET, "token", ctx.directory, "def order"):
        check(secret.encode() not in after, "%s is left", secret)
    hosts = "SELECT value FROM meta WHERE key LIKE '%.host' AND value='" + host + "'"
    check(sql(ctx, path, hosts) and not sql(ctx, copy, hosts), "the host is left")
    check(sums(ctx, copy) == sums(ctx, path), "other sums")
    labels, wanted = by_label(ctx, copy), by_label(ctx, path)
    check(sorted(labels.values()) == sorted(wanted.values()) and len(wanted) >= 4, "%s, and they were %s", labels, wanted)
    check(sum("request=value " in name for name in labels) == sum("request=" + SECRET in name for name in wanted) == 4, "%s", labels)
    count = "SELECT count(*), sum(duration_ns) FROM requests"
    check(sql(ctx, copy, count) == sql(ctx, path, count) and int(sql(ctx, copy, count)[0][0]) > 10, "%s requests", sql(ctx, copy, count))
    tables = {p: ctx.extprof("report", p, "-m", "cpu") for p in (path, copy)}
    for p, run in tables.items():
        check(run.status == 0, "%s", run.err)
        check("gem shop 1.2.3" in run.out, "%s: the gem is missing: %s", p, run.out[:2000])
    first = lambda p: re.search(r"The application's lines by total\n.*\n +(\d+ +[\d.]+ % +[\d.]+ %) +(\S+):(\d+)", tables[p].out).groups()
    check(first(copy)[0] == first(path)[0] and first(copy)[2] == first(path)[2] and first(copy)[1].endswith("/orders.rb"),
          "%s, and it was %s", first(copy), first(path))
    left = [f for f in os.listdir(ctx.directory) if f.endswith(("-wal", "-shm"))]
    check(not left, "files are left: %s", left)
    return "%d bytes for %d; first line %s" % (len(after), len(before), first(copy)[1])


@case(timeout=120)
def a_part(ctx):
    """What is not named stays."""
    path, script = record(ctx)
    labels = open(redact(ctx, path, "labels.extprof", "--what", "labels"), "rb").read()
    check((SECRET + "-1").encode() not in labels and script.encode() in labels and b"token" in labels, "labels")
    argv = open(redact(ctx, path, "argv.extprof", "-w", "argv,host"), "rb").read()
    check(b"token" not in argv and (SECRET + "-1").encode() in argv and script.encode() in argv, "argv")
    run = ctx.extprof("annotate", ctx.path("argv.extprof"), "Object#order", "-m", "cpu")
    check(run.status == 0 and "def order" in run.out, "%d: %s", run.status, run.err)
    paths = redact(ctx, path, "paths.extprof", "-w", "paths")
    check(b"token" in open(paths, "rb").read(), "argv is gone, too")
    files = sql(ctx, paths, "SELECT count(*) FROM frames f JOIN strings s ON s.id=f.path WHERE s.text LIKE '%%%s%%'" % SECRET)
    check(files == [["0"]], "%s paths are left", files)
    return "labels, argv, paths"


@case(timeout=60)
def errors(ctx):
    """What cannot be copied says so, and leaves no file."""
    path, _ = record(ctx)
    there = ctx.write("there.extprof", "mine")
    for arguments, status, text in ((["-o", there], harness.OUTPUT, "exists already"), (["-o", path], harness.OUTPUT, "exists already"),
                                    ([], harness.USAGE, "where to?"), (["-o", ctx.path("x"), "-w", "names"], harness.USAGE, "paths, argv"),
                                    (["-o", ctx.path("none/x")], harness.OUTPUT, "No such file")):
        run = ctx.extprof("redact", path, *arguments)
        check(run.status == status and text in run.err, "%s: %d: %s", arguments, run.status, run.err)
    check(open(there).read() == "mine", "it is written over")
    data = bytearray(open(path, "rb").read())
    for i in range(8192, len(data), 4096):
        data[i:i + 64] = b"\xff" * 64
    bad = ctx.path("bad.extprof")
    open(bad, "wb").write(data)
    run = ctx.extprof("redact", bad, "-o", ctx.path("x"))
    check(run.status == 74, "%d: %s", run.status, run.err)
    check(not os.path.exists(ctx.path("x")), "a file is left")
    return "6 are told"
