"""A file system whose server stops answering: FUSE, spoken by hand."""
import ctypes
import mmap
import os
import signal
import stat
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
LOOKUP, FORGET, GETATTR, OPEN, READ, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 15, 26, 36, 42
ENOENT, ENOSYS = 2, 38
MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
SIZE = 1 << 20


def attributes(node):
    mode = stat.S_IFDIR | 0o755 if node == 1 else stat.S_IFREG | 0o644
    return struct.pack("<6Q10I", node, SIZE, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


class Held:
    """A directory with one file, "page", of zeros, which `user` may open. After hold() no read of it is answered."""

    def __init__(self, directory, user):
        self.directory, self.user = directory, user
        self.held = mmap.mmap(-1, 4096)

    def __enter__(self):
        os.mkdir(self.directory)
        device = os.open("/dev/fuse", os.O_RDWR)
        options = "fd=%d,rootmode=40000,user_id=%d,group_id=%d" % (device, self.user, self.user)
        if LIBC.mount(b"extprof-test", self.directory.encode(), b"fuse", MS_NOSUID | MS_NODEV, options.encode()):
            raise OSError(ctypes.get_errno(), "mount of FUSE")
        self.server = os.fork()
        if not self.server:
            try:
                self.serve(device)
            finally:
                os._exit(0)
        os.close(device)
        return self

    def __exit__(self, *_):
        # What waits for it gets an error then.
        os.kill(self.server, signal.SIGKILL)
        os.waitpid(self.server, 0)
        LIBC.umount2(self.directory.encode(), MNT_DETACH)

    @property
    def page(self):
        return os.path.join(self.directory, "page")

    def hold(self):
        self.held[0] = 1

    def serve(self, device):
        while True:
            request = os.read(device, SIZE)
            operation, unique, node = struct.unpack_from("<4xIQQ", request)
            body = request[40:]
            if operation in (FORGET, BATCH_FORGET, INTERRUPT) or (operation == READ and self.held[0]):
                continue
            error, data = self.answer(operation, node, body)
            os.write(device, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)

    @staticmethod
    def answer(operation, node, body):
        if operation == INIT:
            return 0, struct.pack("<4I2H2I2H8I", 7, min(struct.unpack_from("<4xI", body)[0], 31), 0, 0, 0, 0, 65536, 0, 0,
                                  0, *[0] * 8)
        if operation == LOOKUP:
            if body.rstrip(b"\0") != b"page":
                return ENOENT, b""
            return 0, struct.pack("<4Q2I", 2, 0, 100, 100, 0, 0) + attributes(2)
        if operation == GETATTR:
            return 0, struct.pack("<Q2I", 100, 0, 0) + attributes(node)
        if operation == OPEN:
            return 0, bytes(16)
        if operation == READ:
            return 0, bytes(struct.unpack_from("<16xI", body)[0])
        return ENOSYS, b""
