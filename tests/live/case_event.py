"""Mode event: as many samples as the program and the kernel count events, each below the method in which it happens."""
import os
import signal

import native
from harness import NO_BPF_STATUS, NO_INTERFACE, USAGE, Profile, case, check, timers, until, waits

LIBRARY = """
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>

__attribute__((noinline)) int counted(int i)
{
	__asm__ volatile("");
	return i + 1;
}

int counted_calls(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += counted(i);
	return sum;
}

int touch_pages(int n)
{
	size_t size = (size_t)n * 4096;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -1;
	madvise(p, size, MADV_NOHUGEPAGE);
	for (int i = 0; i < n; i++)
		p[(size_t)i * 4096] = 1;
	return munmap(p, size);
}

static struct rusage usage(void)
{
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	return r;
}

long faults(void)
{
	struct rusage r = usage();

	return r.ru_minflt + r.ru_majflt;
}

long switches(void)
{
	struct rusage r = usage();

	return r.ru_nvcsw + r.ru_nivcsw;
}
"""


class Program:
    """A program that does what it is told, with an extprof that looks on."""

    def __init__(self, ctx):
        self.ctx = ctx
        self.library = native.library(ctx, LIBRARY)
        self.p = ctx.program("events.rb", self.library)
        self.p.expect("ready")

    def record(self, what, n, *args):
        """(the profile, how many there were by the program's own count)"""
        reader = self.ctx.extprof_start("-p", self.p.pid, *args, "-o", self.ctx.path("out.folded"))
        self.ctx.attached(reader)
        if any(self.library in str(a) or "ruby:" in str(a) for a in args):
            self.ctx.check_links(reader)
        self.p.tell("%s %d" % (what, n))
        count = int(self.p.line())
        reader.signal(signal.SIGINT)
        profile = self.ctx.profile_of(reader, path=self.ctx.path("out.folded"))
        # Without samples there is no file, which is status 1.
        check(profile.status == (0 if profile.sums.taken else 1), "status %d: %s", profile.status, profile.err)
        check(profile.sums.balanced, "the sums are wrong: %s", profile.sums.text)
        return profile, count


def total(profile, method, event):
    return sum(s.count for s in profile.stacks
               if "Object#" + method in s.labels() and s.frames[-1].label == "[%s]" % event)


@case(timeout=60)
def function(ctx):
    """A uprobe on a function of a library that the program calls through Fiddle."""
    program = Program(ctx)
    profile, n = program.record("calls", 20000, "-e", program.library + ":counted")
    found = total(profile, "calls", "library.so:counted")
    check(found + profile.sums.lost == n, "%d of %d calls are shown, %d are lost", found, n, profile.sums.lost)
    check(profile.sums.taken == n, "%d samples of %d calls", profile.sums.taken, n)
    # Every 7th of each CPU: what is left on a CPU is fewer than 7.
    profile, n = program.record("calls", 20000, "-e", program.library + ":counted", "-c", "7")
    seventh = total(profile, "calls", "library.so:counted")
    check(seventh % 7 == 0 and n - 6 * os.cpu_count() <= seventh + 7 * profile.sums.lost <= n,
          "every 7th of %d calls stands for %d", n, seventh)
    return "%d calls of %d; with -c 7 %d samples stand for %d" % (found, n, profile.sums.taken, seventh)


@case(timeout=60)
def page_faults(ctx):
    program = Program(ctx)
    profile, count = program.record("touch", 5000, "-e", "page-faults")
    inner, outer = total(profile, "touch", "page-faults"), total(profile, "measured", "page-faults")
    lost = profile.sums.lost
    check(count >= 5000, "the kernel counts %d faults of 5000 pages", count)
    check(inner <= count <= outer + lost, "the kernel counts %d faults; in the method are %d, around it %d, lost %d",
          count, inner, outer, lost)
    check(inner + lost >= 5000, "only %d of 5000 pages are shown, %d lost", inner, lost)
    return "5000 pages: %d faults by the kernel's count, %d in the method that touches them" % (count, inner)


@case(timeout=60)
def context_switches(ctx):
    program = Program(ctx)
    profile, count = program.record("naps", 100, "-e", "context-switches")
    inner, outer = total(profile, "naps", "context-switches"), total(profile, "measured", "context-switches")
    lost = profile.sums.lost
    check(inner <= count <= outer + lost, "the kernel counts %d switches; in the method are %d, around it %d, lost %d",
          count, inner, outer, lost)
    check(inner + lost >= 100, "100 sleeps are only %d switches", inner)
    return "100 sleeps: %d switches by the kernel's count, %d in the method that sleeps" % (count, inner)


@case(timeout=60)
def tracepoint_is_syscall(ctx):
    """One recording, two sources, the same calls: stack by stack."""
    program = Program(ctx)
    profile, n = program.record("opens", 3000, "-m", "syscall,event", "--syscall", "openat", "-e", "syscalls:sys_enter_openat")
    calls, events = {}, {}
    for s in profile.stacks:
        mode, labels = s.labels()[0], tuple(s.labels()[1:-1])
        side = events if "event" in mode else calls
        side[labels] = side.get(labels, 0) + s.count
    check(profile.sums.lost == 0, "samples are lost: %s", profile.sums.text)
    check(calls == events, "the calls %r are not the events %r", calls, events)
    mine = sum(c for labels, c in calls.items() if "Object#opens" in labels)
    check(mine == n, "%d of %d opens are shown", mine, n)
    return "%d opens, the same by both" % mine


@case(timeout=60)
def usdt(ctx):
    """The VM's own probe. Each collection goes through the same phases."""
    program = Program(ctx)
    profile, n = program.record("collect", 20, "-e", "ruby:ruby_ext:gc_phase")
    found = total(profile, "collect", "ruby_ext:gc_phase")
    check(found and found % n == 0 and profile.sums.lost == 0 and found == profile.sums.taken,
          "%d collections are %d phases in the method: %s", n, found, profile.sums.text)
    inside = sum(s.count for s in profile.stacks if any(l.startswith("[GC") for l in s.labels()))
    check(0 < inside < found, "%d of %d phases have a frame of the collection", inside, found)
    return "%d collections, %d changes of phase" % (n, found)


@case(timeout=60)
def by_perf_events(ctx):
    """The same counts, on a kernel that has no link for several places."""
    ctx.without_one_link()
    return function(ctx) + "; " + usdt(ctx)


@case(timeout=60)
def several(ctx):
    program = Program(ctx)
    profile, n = program.record("touch", 500, "-e", program.library + ":touch_pages", "-e", "page-faults",
                                "-e", "libc.so.6:mmap")
    calls, maps = total(profile, "touch", "library.so:touch_pages"), total(profile, "touch", "libc.so.6:mmap")
    faults = total(profile, "touch", "page-faults")
    check((calls, maps) == (1, 1), "%d calls, %d of mmap, where each is one", calls, maps)
    check(500 <= faults <= n, "%d faults of %d", faults, n)
    return "1 call, 1 mmap, %d faults" % faults


@case(timeout=60)
def children(ctx):
    """A child has the breakpoints and the stacks of its parent from its first instruction."""
    program = Program(ctx)
    profile, n = program.record("forked", 300, "-s", "-m", "syscall,event", "--syscall", "openat", "-e",
                                program.library + ":counted")
    calls, opens = total(profile, "calls", "library.so:counted"), total(profile, "opens", "openat")
    check((calls, opens) == (n, n) and profile.sums.lost == 0, "%d calls and %d opens of %d, %s", calls, opens, n,
          profile.sums.text)
    # Without -s it is not sampled.
    profile, n = program.record("forked", 300, "-e", program.library + ":counted")
    check(profile.sums.taken == 0, "a child is sampled that was not to be: %s", profile.sums.text)
    return "%d calls and %d opens in a child" % (calls, opens)


@case(timeout=60)
def profile_so_far(ctx):
    """The sources are stopped and started again for it: nothing is counted twice."""
    program = Program(ctx)
    out = ctx.path("out.folded")
    reader = ctx.extprof_start("-p", program.p.pid, "-e", program.library + ":counted", "-e", "page-faults",
                               "-e", "syscalls:sys_enter_openat", "-e", "ruby:ruby_ext:gc_phase", "-o", out)
    ctx.attached(reader)
    counts = []
    for i in range(3):
        for what in ("calls 1000", "opens 100", "collect 2", "touch 100"):
            program.p.tell(what)
            program.p.line()
        if i == 2:
            break
        os.path.exists(out) and os.unlink(out)
        reader.signal(signal.SIGUSR1)
        until(lambda: os.path.exists(out), "there is no profile so far")
        # Then the sources run again.
        until(lambda: waits(reader.pid) and timers(reader.pid) > 8, "the events are not open again")
        counts.append(Profile(0, "", "", out))
        counts[-1] = {e: sum(s.count for s in counts[-1].stacks if s.frames[-1].label == "[%s]" % e and
                             any(m in s.labels() for m in ("Object#calls", "Object#opens")))
                      for e in ("library.so:counted", "syscalls:sys_enter_openat")}
    reader.signal(signal.SIGINT)
    profile = ctx.profile_of(reader, path=out).ok()
    check(profile.sums.balanced, "the sums are wrong: %s", profile.sums.text)
    check(counts == [{"library.so:counted": 1000 * i, "syscalls:sys_enter_openat": 100 * i} for i in (1, 2)],
          "the profiles so far have %r", counts)
    got = total(profile, "calls", "library.so:counted"), total(profile, "opens", "syscalls:sys_enter_openat")
    check(got == (3000, 300), "at the end there are %r of 3000 and 300", got)
    return "1000, 2000 and 3000 calls in three profiles of one recording"


@case(timeout=60)
def errors(ctx):
    p = ctx.ruby("-e", 'puts "ready"; $stdout.flush; gets')
    p.expect("ready")
    for args, status, words in (
            (("-e", "pagefaults"), USAGE, ['"pagefaults" is no event', "page-faults", "CATEGORY:NAME"]),
            (("-e", ":x"), USAGE, ["a part of the event is empty"]),
            (("-m", "event"), USAGE, ["mode event: which event?"]),
            (("-c", "5"), USAGE, ["--period is for the modes event and syscall"]),
            (("-e", "page-faults", "-c", "0"), USAGE, ["0 is no number from 1"]),
            (("-e", "page-faults", "-m", "cpu"), USAGE, ["--event is for mode event"]),
            (("-e", "page-faults") * 9, USAGE, ["at most 8"]),
            (("-e", "nonsense:open"), USAGE, ["no tracepoint nonsense:open", "no category nonsense"]),
            (("-e", "sched:nonsense"), USAGE, ["no tracepoint sched:nonsense", "in that category are"]),
            (("-e", "/does/not/exist:f"), USAGE, ["cannot open /does/not/exist: No such file"]),
            (("-e", "libnone.so:f"), USAGE, ["cannot open libnone.so", "directories of libraries"]),
            (("-e", "/etc/passwd:f"), USAGE, ["it is no ELF file"]),
            (("-e", "libc.so.6:no_such"), USAGE, ["there is no function no_such"]),
            (("-e", "libc.so.6:memcpy"), USAGE, ["memcpy has several versions"]),
            (("-e", "libc.so.6:libc:no_such"), USAGE, ["no probe libc:no_such"]),
            (("-e", "ruby:no_such"), NO_INTERFACE, ["there is no function no_such"])):
        r = ctx.extprof(*args, "-p", p.pid, "-d", "300ms")
        check(r.status == status, "%s: status %d: %s", " ".join(args), r.status, r.err)
        for word in words:
            check(word in r.err, "%s does not say %r: %s", " ".join(args), word, r.err)
    r = ctx.extprof("-e", "cycles", "-p", p.pid, "-d", "300ms")
    if os.path.exists("/sys/bus/event_source/devices/cpu"):
        check(r.status == 0, "cycles: status %d: %s", r.status, r.err)
        return "16 mistakes, each with its message"
    check(r.status == NO_BPF_STATUS and "this machine has no such counter" in r.err, "cycles: %d, %s", r.status, r.err)
    return "16 mistakes and a counter that is not there, each with its message"
