"""What is joined in one stack, and what is not: files of one name, threads of one pattern."""
import os
from collections import Counter

import harness
from case_proportions import enough, truth_of, within
from harness import case, check


def compare(counted, truth, profile, rate):
    total, cpu, missed = sum(counted.values()), sum(truth.values()), profile.sums.missed
    enough(total, missed, rate, cpu)
    worst = max(abs(within(counted[name], total, ns / cpu, name, missed)) for name, ns in truth.items())
    return "%d samples, shown/true %%: %s; worst %.1f sigma" % (total, ", ".join(
        "%s %.1f/%.1f" % (n, 100 * counted[n] / total, 100 * truth[n] / cpu) for n in sorted(truth)), worst)


@case(timeout=60)
def files_of_one_name(ctx):
    """Three files at their top level and one method of two templates: five frames, each with its share."""
    for name in ("a", "b"):
        os.mkdir(ctx.path(name))
    ruby = ctx.program("same_names.rb", ctx.directory)
    ruby.expect("ready")
    rate = harness.rate(5000)
    reader = ctx.extprof_start("-p", ruby.pid, "-F", rate, "-o", ctx.path("out.folded"))
    harness.prefer(ruby.pid)
    harness.prefer(reader.pid)
    ctx.attached(reader)
    ruby.tell("2")
    truth = truth_of(ruby, 2)
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    labels = {"<top (required)> a/init.rb": "a/init.rb", "<top (required)> b/init.rb": "b/init.rb",
              "<top (required)> main.rb": "main.rb", "Templates.__tilt_16 a/show.erb": "views/a/show.erb",
              "Templates.__tilt_16 b/show.erb": "views/b/show.erb"}
    counted, others = Counter(), set()
    for s in profile.stacks:
        for label in s.labels():
            if label in labels:
                counted[labels[label]] += s.count
            elif "(required)" in label or "__tilt" in label:
                others.add(label)
    check(not others, "frames that are of no file, or of another: %s", others)
    return compare(counted, truth, profile, rate)


@case(timeout=60)
def patterns_of_many_threads(ctx):
    """With -t, 63 threads whose names differ in numbers are two rows; the note says so."""
    ruby = ctx.program("numbered_threads.rb")
    ruby.expect("ready")
    rate = harness.rate(5000)
    reader = ctx.extprof_start("-p", ruby.pid, "-F", rate, "-t", "-o", ctx.path("out.folded"))
    harness.prefer(ruby.pid)
    harness.prefer(reader.pid)
    ctx.attached(reader)
    ruby.tell("go")
    truth = truth_of(ruby, 3)
    reader.signal(2)
    profile = ctx.profile_of(reader).ok()
    rows = {"job-*": "job-%d", "io *": "io_%d", "other": "other"}
    counted, names = Counter(), set()
    for s in profile.stacks:
        check(s.thread and s.thread[1] == 0, "a thread with a tid: %s", s.text)
        names.add(s.thread[0])
        if s.thread[0] in rows and "Object#work" in s.labels():
            counted[rows[s.thread[0]]] += s.count
    numbered = [n for n in names if any(c.isdigit() for c in n)]
    check(not numbered, "threads one by one: %s", numbered)
    nameless = [n for n in names if n.startswith("#")]
    check(not nameless, "threads that have lost their names: %s", nameless)
    check("threads by pattern: " in profile.out, "the summary does not say so: %s", profile.out[-1500:])
    return compare(counted, truth, profile, rate)
