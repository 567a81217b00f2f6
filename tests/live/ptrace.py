"""Holds a child before its first own step."""
import ctypes
import os
import signal

PTRACE_CONT, PTRACE_DETACH, PTRACE_GETEVENTMSG, PTRACE_SEIZE, PTRACE_INTERRUPT = 7, 17, 0x4201, 0x4206, 0x4207
# The option of an event is 1 << event.
FORK, VFORK = 1, 2
WALL = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid, data=0):
    if libc.ptrace(request, pid, None, data) == -1:
        raise OSError(ctypes.get_errno(), "ptrace(%#x, %d)" % (request, pid))


class HeldChild:
    """In the body the thread `tid` of a process has forked, and its child stands still; `child` is its
    pid.  After it nothing is traced any more.  `event` is FORK or VFORK, `begin` makes the thread do it."""

    def __init__(self, tid, event, begin):
        self.tid, self.event, self.begin, self.child = tid, event, begin, None

    def __enter__(self):
        ptrace(PTRACE_SEIZE, self.tid, 1 << FORK | 1 << VFORK)
        try:
            self.hold()
        except BaseException:
            # The case ends the process, but we have to wait for the child too.
            if self.child:
                os.kill(self.child, signal.SIGKILL)
                os.waitpid(self.child, WALL)
            raise
        return self

    def hold(self):
        self.begin()
        while True:
            _, status = os.waitpid(self.tid, WALL)
            if not os.WIFSTOPPED(status):
                raise ChildProcessError("the thread ended before it forked")
            event = status >> 16
            if event in (FORK, VFORK):
                break
            ptrace(PTRACE_CONT, self.tid, 0 if event else os.WSTOPSIG(status))
        child = ctypes.c_ulong()
        ptrace(PTRACE_GETEVENTMSG, self.tid, ctypes.addressof(child))
        self.child = child.value
        os.waitpid(self.child, WALL)
        if event != self.event:
            raise ChildProcessError("the thread forked by event %d, not %d" % (event, self.event))
        ptrace(PTRACE_DETACH, self.tid)

    def __exit__(self, *_):
        ptrace(PTRACE_DETACH, self.child)
