"""A file system (FUSE) with one file, "library.so", that has the content of another one.  While the file HOLD is there nobody
gets an answer: who opens or reads the file waits for ever.  Says "ready", or why this kernel does not let it."""
import ctypes
import errno
import os
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, INTERRUPT, FORGETS = 1, 2, 3, 14, 15, 18, 25, 26, 36, 42
KEEP_CACHE = 2
WRITE_MAX = 65536


def attributes(node, size):
    mode = 0o40755 if node == 1 else 0o100755
    return struct.pack("6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode, node, body, content):
    """(error, data)"""
    if opcode == INIT:
        minor = min(struct.unpack_from("II", body)[1], 31)
        return 0, struct.pack("4I2H2I2H8I", 7, minor, 0, 0, 0, 0, WRITE_MAX, 0, 0, 0, *[0] * 8)
    if opcode == LOOKUP:
        if body.rstrip(b"\0") != b"library.so":
            return errno.ENOENT, b""
        return 0, struct.pack("4Q2I", 2, 0, 100, 100, 0, 0) + attributes(2, len(content))
    if opcode == GETATTR:
        return 0, struct.pack("Q2I", 100, 0, 0) + attributes(node, len(content))
    if opcode == OPEN:
        return 0, struct.pack("Q2I", 0, KEEP_CACHE, 0)
    if opcode == READ:
        _, offset, size = struct.unpack_from("QQI", body)
        return 0, content[offset:offset + size]
    return (0 if opcode in (RELEASE, FLUSH) else errno.ENOSYS), b""


def main(folder, path, hold):
    with open(path, "rb") as f:
        content = f.read()
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError as e:
        print("no /dev/fuse: %s" % e.strerror, flush=True)
        return
    libc = ctypes.CDLL(None, use_errno=True)
    options = "fd=%d,rootmode=40000,user_id=0,group_id=0" % device
    if libc.mount(b"test", folder.encode(), b"fuse", 0, options.encode()):
        print("no FUSE: %s" % os.strerror(ctypes.get_errno()), flush=True)
        return
    print("ready", flush=True)
    while True:
        try:
            request = os.read(device, 1 << 20)
        except OSError as e:
            if e.errno in (errno.EINTR, errno.ENOENT):
                continue
            return  # it is unmounted
        opcode, unique, node = struct.unpack_from("4xIQQ", request)
        if opcode in (FORGET, FORGETS, INTERRUPT) or os.path.exists(hold):
            continue
        error, data = answer(opcode, node, request[40:], content)
        os.write(device, struct.pack("IiQ", 16 + len(data), -error, unique) + data)


main(*sys.argv[1:])
