"""Addresses and build ids of native functions: other programs find lines by them, those of inlined functions too."""
import collections
import os
import re
import shutil
import subprocess

import harness
import native
import otlp
from case_native import FLAGS, end, extension, headers, watch
from case_otlp import read
from harness import Counted, case, check

SOURCE = os.path.join(harness.PROGRAMS, "native_lines.c")
SCRIPT = """
require ARGV[0]
$stdout.sync = true
# Of no period, which samples could follow.
def works = Lines.work(rand(50_000..400_000))
puts "ready"
seconds = $stdin.gets.to_f
before = Lines.spent
t = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
works while Process.clock_gettime(Process::CLOCK_MONOTONIC) < t
puts Lines.spent.zip(before).map { |a, b| a - b }.join(" ")
sleep
"""


def line_of(mark):
    with open(SOURCE, encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if "/* %s */" % mark in line)


def build_id(path):
    """As binutils have it."""
    text = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", text)[1]


def recorded(ctx, path, *args):
    """A recording of the program, and the ns that it has spent in its two loops."""
    recording = ctx.path("out.extprof")
    if os.path.exists(recording):
        os.unlink(recording)
    p = ctx.ruby("-e", SCRIPT, path)
    p.expect("ready")
    reader, said = watch(ctx, p.pid, "-F", harness.rate(1500), *args, "-o", ctx.path("out.folded"), "-o", recording)
    p.tell("1.5")
    spent = list(map(int, p.line().split()))
    end(reader, said, ctx.path("out.folded"))
    return spent


def near(what, got, wanted):
    check(abs(got - wanted) < 0.05, "%s: %.1f %%, not %.1f %%", what, 100 * got, 100 * wanted)


@case(timeout=120)
def by_pprof(ctx):
    """go tool pprof, told to look for lines in the files, shows those that ran, each with the share of the program's own clock."""
    if not shutil.which("go") or not shutil.which("addr2line"):
        return Counted(0, 0, 1, "there is no go or no addr2line, by which `go tool pprof` finds lines")
    path = extension(ctx, "-g", source=SOURCE)
    inlined, own = recorded(ctx, path)
    profile = ctx.path("out.pb.gz")
    ctx.extprof("report", ctx.path("out.extprof"), "-o", profile).ok()
    run = subprocess.run(["go", "tool", "pprof", "-symbolize=local:force", "-top", "-lines", "-sample_index=cpu", "-unit=ns", "-nodecount=0",
                          "-nodefraction=0", "-edgefraction=0", profile], capture_output=True, timeout=100, text=True,
                         env=harness.environment())
    check(run.returncode == 0, "pprof: %s", run.stderr[-500:])
    found = collections.Counter()
    for flat, line in re.findall(r"^ *(\d+)ns +\S+ +\S+ +\d+ns +\S+ +\S+ \S*native_lines\.c:(\d+)", run.stdout, re.M):
        found[int(line)] += int(flat)
    # A loop's own instructions are those of the line above.
    of = {mark: found[line_of(mark) - 1] + found[line_of(mark)] for mark in ("inlined", "own")}
    total = sum(found.values())
    check(total > 1e9, "%s: %s", found, run.stdout[:2000])
    near("the inlined line", of["inlined"] / total, inlined / (inlined + own))
    near("the line of the function itself", of["own"] / total, own / (inlined + own))
    # Without being told, it shows what the file has.
    plain = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=cpu", "-unit=ns", "-nodecount=0", "-nodefraction=0", profile],
                           capture_output=True, timeout=100, text=True, env=harness.environment())
    check(not plain.stderr, "it says %s", plain.stderr)
    sums = {name: int(flat) for flat, name in re.findall(r"^ *(\d+)ns +\S+ +\S+ +\d+ns +\S+ +(work)$", plain.stdout, re.M)}
    check(list(sums) == ["work"] and abs(sums["work"] - total) < 0.01 * total, "%s, not %d: %s", sums, total, plain.stdout[:1000])
    return "inlined %.1f %% of %.1f %%, own %.1f %% of %.1f %%" % (
        100 * of["inlined"] / total, 100 * inlined / (inlined + own), 100 * of["own"] / total, 100 * own / (inlined + own))


@case(timeout=120)
def addresses_and_build_ids(ctx):
    """Each address of the recording is in the function that it is named by, as addr2line says; the build id is that of binutils. A file
    without one has none. Tables and graphs do not know addresses."""
    path, bare = extension(ctx, "-g", source=SOURCE), ctx.path("bare.so")
    recorded(ctx, path)
    recording = ctx.path("out.extprof")
    # The entry of an imported function has an address, and no name but that of the file.
    every = frames_of(ctx, recording, "native_lines.so")
    rows = [r for r in every if r[0] != "native_lines.so"]
    check(len(rows) >= 2 and {r[2] for r in rows} == {build_id(path)}, "%s, not %s", rows[:3], build_id(path))
    told = subprocess.run(["addr2line", "-f", "-e", path, *(hex(int(r[1])) for r in rows)], stdout=subprocess.PIPE, universal_newlines=True,
                          check=True).stdout.splitlines()[::2]
    # The innermost function of an address can be an inlined one.
    of = {"work": {"work", "spin", "turn", "now"}, "ext_work": {"ext_work", "NUM2LONG", "rb_num2long_inline"}}
    check(len(told) == len(rows) and all(name in of.get(r[0], {r[0]}) for r, name in zip(rows, told)), "%s", list(zip(rows, told)))
    with open(ctx.path("out.folded"), encoding="utf-8") as f:
        stacks = [line.rpartition(" ")[0] for line in f]
    check(len(stacks) == len(set(stacks)) and sum(s.endswith(";work") for s in stacks) == 1, "stacks are there twice: %s", stacks)
    data = ctx.path("out.otlp")
    ctx.extprof("report", recording, "-o", data).ok()
    d = read(ctx, data)
    found = set()
    for location in d["dictionary"]["locationTable"][1:]:
        mapping = d["dictionary"]["mappingTable"][location.get("mappingIndex", 0)]
        if otlp.string(d, mapping.get("filenameStrindex", 0)).endswith("/native_lines.so"):
            check(otlp.attributes(d, mapping) == {"process.executable.build_id.gnu": build_id(path)}, "%s", mapping)
            found.add(int(location["address"]))
        elif not location.get("mappingIndex", 0):
            check(not location.get("address", 0), "an address of %s", location)
    check(found == {int(r[1]) for r in every}, "OTLP has %s, and the recording %s", found, every)
    native.run(native.tool("CC"), *FLAGS, *headers(), "-Wl,--build-id=none", "-o", bare, SOURCE)
    os.rename(bare, path)
    recorded(ctx, path)
    rows = frames_of(ctx, recording, "native_lines.so")
    check(len(rows) >= 2 and {r[2] for r in rows} == {""} and all(int(r[1]) for r in rows), "%s", rows)
    return "%d addresses" % len(rows)


def frames_of(ctx, recording, module):
    """(name, address, build id) of the frames of a file."""
    run = ctx.extprof("sql", "-H", recording, "SELECT n.text, f.address, coalesce(b.text, '') FROM frames f JOIN strings m ON m.id=f.module "
                      "JOIN strings n ON n.id=f.name LEFT JOIN strings b ON b.id=f.key WHERE m.text LIKE '%/" + module + "'").ok()
    return [line.split("\t") for line in run.out.splitlines()]
