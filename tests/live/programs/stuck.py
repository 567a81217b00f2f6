"""Somebody's process with a page that nobody fills: who reads it by process_vm_readv waits for ever.
Says "ready", or why this kernel does not let it."""
import ctypes
import fcntl
import os
import struct
import time

SIZE = 4096
NOBODY = 65534
PR_SET_DUMPABLE = 4
MISSING = 1
# linux/userfaultfd.h: _IOWR(0xAA, 0x3F, 24 bytes), _IOWR(0xAA, 0x00, 32 bytes)
API, REGISTER = 0xC018AA3F, 0xC020AA00

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]


def main():
    # A file, as libraries are: they are looked into.
    memory = os.memfd_create("libmissing.so")
    os.ftruncate(memory, SIZE)
    address = libc.mmap(None, SIZE, 3, 1, memory, 0)  # read, write; shared
    faults = libc.syscall(323 if os.uname().machine == "x86_64" else 282, os.O_CLOEXEC)
    if faults < 0:
        return "no userfaultfd: " + os.strerror(ctypes.get_errno())
    fcntl.ioctl(faults, API, struct.pack("QQQ", 0xAA, 0, 0))
    fcntl.ioctl(faults, REGISTER, struct.pack("QQQQ", address, SIZE, MISSING, 0))
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    libc.prctl(PR_SET_DUMPABLE, 1)  # its files in /proc are its own
    return "ready"


print(main(), flush=True)
time.sleep(600)
