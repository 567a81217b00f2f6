"""Runs cases, and shows their results."""
import fcntl
import json
import os
import re
import resource
import select
import shutil
import signal
import sys
import time
import traceback

import harness
from harness import BUILD, CASES, EXTPROF, MAIN, NO_BPF, PATIENCE, PATIENT, RUBY, SUMMARY, WAITS, Context, Counted, Failed, Timeout

# So many cases that failed run a second time, after the others: the machine was busy, or a random figure was out of its
# bounds, once. Where more have failed, none does.
AGAIN = int(os.environ.get("EXTPROF_TESTS_AGAIN", "0"))


def on_alarm(*_):
    raise Timeout()


# 1: the line of a case has the CPU time of its processes, too: cases that mostly wait can run beside others.
CPU = os.environ.get("EXTPROF_TESTS_CPU") == "1"


def cpu_time():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def run_case(c):
    """Counted, and the seconds that it took."""
    start, cpu = time.monotonic(), cpu_time()
    result = result_of(c)
    if CPU:
        result.text = "[CPU %.1f s] %s" % (cpu_time() - cpu, result.text)
    return result, time.monotonic() - start


def result_of(c):
    directory = os.path.join(BUILD, "live", c.name)
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    context = Context(directory)
    signal.signal(signal.SIGALRM, on_alarm)
    timeout = c.timeout * PATIENCE
    signal.alarm(timeout)
    try:
        result = c.run(context) or ""
        if not isinstance(result, Counted):
            result = Counted(1, 0, 0, result)
    except Failed as e:
        result = Counted(0, 1, 0, str(e))
    except Timeout:
        result = Counted(0, 1, 0, "not done after %d s, at %s" % (timeout, innermost()))
    except (Exception, SystemExit):  # the second reader ends so
        result = Counted(0, 1, 0, traceback.format_exc().rstrip())
    finally:
        signal.alarm(0)
        context.close()
    if not result.failed:
        shutil.rmtree(directory, ignore_errors=True)
    elif context.complaints():
        result.text += "\nstderr: " + context.complaints()
    return result


def innermost():
    for frame in reversed(traceback.extract_tb(sys.exc_info()[2])):
        if "case_" in frame.filename:
            return "%s:%d" % (os.path.basename(frame.filename), frame.lineno)
    return "?"


def heed_signals():
    """A background job of a script ignores SIGINT. Its children would inherit that."""
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def main(args):
    if args[:1] == ["-l"]:
        print("\n".join(c.name for c in CASES))
        return 0
    known = {c.name for c in CASES} | {c.group for c in CASES}
    for a in args:
        if a not in known:
            print("no such case: %s (tests/live/run -l lists them)" % a, file=sys.stderr)
            return 2
    for variable, path in (("RUBY", RUBY), ("EXTPROF", EXTPROF)):
        if not shutil.which(path):
            print("FAIL  there is no %s (%s)\n0 passed, 1 failed" % (path, variable))
            return 1
    heed_signals()
    cases = [c for c in CASES if not args or c.name in args or c.group in args]
    sums = Counted(0, 0, 0, "")
    for c in cases:
        if c.bpf and NO_BPF:
            show(sums, c, Counted(0, 0, 1, "needs BPF (EXTPROF_TESTS_NO_BPF=1)"))
    cases = [c for c in cases if not (c.bpf and NO_BPF)]
    failed = run_all(cases, sums)
    if len(failed) <= AGAIN:
        for c, first in failed:
            run_again(c, first, sums)
    for text in SUMMARY:
        if text():
            print(text())
    print("%d passed, %d failed%s" % (sums.passed, sums.failed, ", %d skipped" % sums.skipped if sums.skipped else ""))
    return 1 if sums.failed else 0


def run_all(cases, sums):
    """[(case, Counted)] of those that failed."""
    failed = []

    def ended(c, result, seconds=None):
        show(sums, c, result, seconds)
        if result.failed:
            failed.append((c, result))

    lanes = [Beside(lane, [c for c in cases if c.lane == lane]) for lane in (PATIENT, WAITS)]
    try:
        for c in cases:
            if c.lane == MAIN:
                for lane in lanes:
                    lane.hold_up(c.alone)
                ended(c, *run_case(c))
                for lane in lanes:
                    for done in lane.done(wait=False):
                        ended(*done)
        for lane in lanes:
            lane.hold_up(False)
        for lane in lanes:
            for done in lane.done(wait=True):
                ended(*done)
    finally:
        for lane in lanes:
            lane.end()
    return failed


def run_again(c, first, sums):
    """The second run counts. That the first one failed is said beside it."""
    result, seconds = run_case(c)
    if not result.failed:
        result.text = "UNSTEADY: passed in its second run: %s\n%s" % (result.text, first.text)
    sums.passed, sums.failed, sums.skipped = (sums.passed - first.passed, sums.failed - first.failed,
                                              sums.skipped - first.skipped)
    show(sums, c, result, seconds)


def show(sums, c, result, seconds=None):
    """The line of a case."""
    sums.passed, sums.failed, sums.skipped = (sums.passed + result.passed, sums.failed + result.failed,
                                              sums.skipped + result.skipped)
    text = re.sub(r"\n(?=.)", "\n        ", result.text)
    mark = "FAIL" if result.failed else "ok  " if result.passed else "SKIP"
    took = "" if seconds is None else "%5.1f s  " % seconds
    print("%s  %-28s %s%s" % (mark, c.name, took, text), flush=True)


class Turn:
    """Two processes take turns. Who waits for its turn comes next: it has the gate meanwhile."""

    def __init__(self, lane):
        self.gate, self.turn = (open(os.path.join(BUILD, "live.%s.%s" % (lane, name)), "w", encoding="utf-8") for name in ("gate", "turn"))

    def take(self):
        fcntl.flock(self.gate, fcntl.LOCK_EX)
        fcntl.flock(self.turn, fcntl.LOCK_EX)
        fcntl.flock(self.gate, fcntl.LOCK_UN)

    def give(self):
        fcntl.flock(self.turn, fcntl.LOCK_UN)


class Beside:
    """Runs the cases of a lane one after the other in a process of its own, beside those of this process."""

    def __init__(self, lane, cases):
        self.left, self.pid, self.pipe, self.rest = list(cases), 0, -1, b""
        self.turn, self.held = None, False
        if not cases:
            return
        os.makedirs(BUILD, exist_ok=True)
        self.turn = Turn(lane)
        self.pipe, end = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid:
            os.close(end)
            return
        status = 1
        try:
            os.close(self.pipe)
            os.nice(5)  # the others measure times
            # What our cases leave behind is ours: the end of another case does not kill it.
            harness.MARK_VALUE = "%d-%d" % (os.getpid(), time.time_ns())
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            turn = Turn(lane)
            for c in cases:
                turn.take()
                result, seconds = run_case(c)
                turn.give()
                line = json.dumps([result.passed, result.failed, result.skipped, result.text, seconds])
                os.write(end, line.encode() + b"\n")
            status = 0
        finally:
            os._exit(status)

    def hold_up(self, hold):
        """Hold: the case that runs ends, and no other one begins. Not: they go on."""
        if self.turn and hold != self.held:
            self.turn.take() if hold else self.turn.give()
            self.held = hold

    def done(self, wait):
        """[(case, Counted, seconds)] of those that have ended. Wait: of all."""
        found = []
        while self.left and (wait or select.select([self.pipe], [], [], 0)[0]):
            data = os.read(self.pipe, 65536)
            if not data:
                found += [(c, Counted(0, 1, 0, "the process that runs these cases has ended before its result"))
                          for c in self.left]
                self.left = []
                break
            *lines, self.rest = (self.rest + data).split(b"\n")
            for line in lines:
                *result, seconds = json.loads(line)
                found.append((self.left.pop(0), Counted(*result), seconds))
        return found

    def end(self):
        """Nothing of it goes on."""
        if not self.pid:
            return
        if self.left:
            os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)
