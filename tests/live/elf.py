"""Changes copies of a ruby in the ways of strip, packers and other builds."""
import os
import struct

SECTION_NAME = b"rb_debug_ext\0"
SYMBOL_NAME = b"rb_debug_ext_root\0"
NOTE_OWNER = b"ruby-debug-ext\0"
MAGIC = b"RBDBGEXT"
MAJOR, MINOR = 8, 10  # offsets in the section


class Elf:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            self.data = bytearray(f.read())
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("%s is no 64 bit little endian ELF file" % path)

    def save(self, path=None):
        path = path or self.path
        new = path + ".new"  # the old one may be running
        with open(new, "wb") as f:
            f.write(self.data)
        os.chmod(new, 0o755)
        os.rename(new, path)
        return path

    def has_interface(self):
        return SECTION_NAME in self.data and self.section_offset() is not None

    def section_offset(self):
        """Where in the file the section's contents are."""
        shoff, = struct.unpack_from("<Q", self.data, 40)
        shentsize, shnum, shstrndx = struct.unpack_from("<HHH", self.data, 58)
        if not shoff:
            return None
        strings, = struct.unpack_from("<Q", self.data, shoff + shstrndx * shentsize + 24)
        for i in range(shnum):
            name, _, _, _, offset = struct.unpack_from("<IIQQQ", self.data, shoff + i * shentsize)
            if self.data[strings + name:strings + name + len(SECTION_NAME)] == SECTION_NAME:
                return offset
        return None

    def build_id(self):
        """GNU note 3, as bytes, or None."""
        phoff, = struct.unpack_from("<Q", self.data, 32)
        phentsize, phnum = struct.unpack_from("<HH", self.data, 54)
        for i in range(phnum):
            kind, _, at, _, _, size = struct.unpack_from("<IIQQQQ", self.data, phoff + i * phentsize)
            end = at + size
            while kind == 4 and at + 12 <= end:
                name, desc, note = struct.unpack_from("<III", self.data, at)
                to = at + 12 + (name + 3 & ~3)
                if note == 3 and self.data[at + 12:at + 16] == b"GNU\0":
                    return bytes(self.data[to:to + desc])
                at = to + (desc + 3 & ~3)
        return None

    def without_section_headers(self):
        struct.pack_into("<Q", self.data, 40, 0)
        struct.pack_into("<HHH", self.data, 58, 64, 0, 0)
        return self

    def _replace(self, old, new):
        at, n = self.data.find(old), 0
        while at >= 0:
            self.data[at:at + len(old)] = new
            at, n = self.data.find(old, at + 1), n + 1
        if not n:
            raise ValueError("%r is not in %s" % (old, self.path))

    def without(self, *names):
        """Make names of the interface into others of the same length."""
        for name in names:
            self._replace(name, b"x" * (len(name) - 1) + b"\0")
        return self

    def with_version(self, major, minor):
        at = self.section_offset()
        if self.data[at:at + 8] != MAGIC:
            raise ValueError("no magic in the file's section")
        struct.pack_into("<HH", self.data, at + MAJOR, major, minor)
        return self

    def with_magic(self, magic):
        at = self.section_offset()
        self.data[at:at + 8] = magic
        return self
