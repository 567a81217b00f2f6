"""System calls that fail, as in a container or on an older kernel."""
import ctypes
import errno
import os
import struct

# Numbers on x86-64 and, where it is another, on aarch64.
ON_X86 = os.uname().machine == "x86_64"
BPF, PERF_EVENT_OPEN = (321, 298) if ON_X86 else (280, 241)

BPF_LINK_CREATE = 28
# extprof asks for a link of the kind uprobe_multi with as many bytes as that takes, and libbpf for all others with more.
UPROBE_MULTI_SIZE = 64

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7fff0000, 0x00050000


def install(*instructions):
    program = b"".join(struct.pack("HBBI", *i) for i in instructions)
    code = ctypes.create_string_buffer(program, len(program))
    filter = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, MODE_FILTER, filter, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def forbid(number):
    """This process, and what it becomes, may not make that call any more."""
    install((LOAD, 0, 0, 0),  # the number
            (EQUAL, 0, 1, number),
            (RETURN, 0, 0, ERRNO | errno.EPERM),
            (RETURN, 0, 0, ALLOW))


def without_uprobe_multi():
    """As before Linux 6.6."""
    install((LOAD, 0, 0, 0),
            (EQUAL, 0, 5, BPF),
            (LOAD, 0, 0, 16),  # the lower half of the first argument: the command; of the third one: the size
            (EQUAL, 0, 3, BPF_LINK_CREATE),
            (LOAD, 0, 0, 32),
            (EQUAL, 0, 1, UPROBE_MULTI_SIZE),
            (RETURN, 0, 0, ERRNO | errno.EINVAL),
            (RETURN, 0, 0, ALLOW))
