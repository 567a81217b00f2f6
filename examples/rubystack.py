#!/usr/bin/env python3
"""Print the Ruby stacks of a process, from include/ruby/debug_external.h alone.

    rubystack.py PID

Every thread and fiber is shown, innermost frame first.  The process is not
stopped: a thread that runs while it is read can give a torn stack, so its
frames are read twice and such a stack is marked.  (extprof takes its samples
from inside the interrupted thread and has no such problem.)

Needs no package beyond Python 3.7, and the right to read /proc/PID/mem.
"""
import os
import re
import struct
import sys

# struct rb_debug_ext_section, field by field in the order of the header
SECTION = [
    ("magic", "8s"), ("abi_major", "H"), ("abi_minor", "H"), ("section_size", "I"),
    ("state", "I"), ("pid", "I"),
    ("record_size", "H"), ("ec_slot_size", "H"), ("thread_slot_size", "H"), ("jit_entry_size", "H"),
    ("tls_current_ec", "q"),
    ("ec_vm_stack", "H"), ("ec_vm_stack_size", "H"), ("ec_cfp", "H"), ("ec_slot", "H"),
    ("ec_label", "H"), ("ec_jit_entry_sp", "H"),
    ("frame_size", "H"), ("frame_pc", "H"), ("frame_ext_debug", "H"), ("frame_jit_return", "H"),
    ("frame_self", "H"), ("frame_ep", "H"), ("thread_ec", "H"),
    ("lines_entries", "H"), ("lines_count", "H"), ("lines_index", "H"),
    ("lines_entry_size", "H"), ("lines_entry_line", "H"), ("ec_resume_pc", "H"), ("reserved16", "H"),
    ("records_dir", "Q"), ("records_end", "I"), ("names_generation", "I"),
    ("ec_dir", "Q"), ("thread_dir", "Q"), ("ec_slots_end", "I"), ("thread_slots_end", "I"),
    ("gc_phase", "I"), ("gc_tid", "I"), ("gc_count", "Q"),
    ("gvl_thread_slot", "I"), ("jit_compile_tid", "I"),
    ("jit_start", "Q"), ("jit_end", "Q"), ("jit_log", "Q"), ("jit_log_len", "I"),
    ("jit_log_generation", "I"),
    ("records_live", "Q"), ("records_retired", "Q"), ("records_expired", "Q"),
    ("records_failed", "Q"), ("bytes", "Q"), ("grace_seconds", "I"), ("grace_records", "I"),
    ("ruby_version", "32s"), ("ruby_description", "128s"),
    ("grace_until", "Q"), ("grace_records_unasked", "I"), ("grace_bytes", "I"),
    ("alloc_semaphore", "Q"), ("ec_semaphore", "Q"), ("thread_semaphore", "Q"), ("gc_semaphore", "Q"),
    ("alloc_interval", "Q"), ("jit_leaf_start", "Q"), ("jit_leaf_end", "Q"),
]
RECORDS_PER_CHUNK = 1024
SLOTS_PER_CHUNK = 64
NAME_DEPTH_MAX = 64
NAME_MAX = 16 << 10
STRING_MAX = 65535
LINES_MAX = 16 << 20
STACK_MAX = 256 << 20

# The least of version 1.0, and the most that any version may have
SIZES = [
    ("record_size", 64, 4096), ("ec_slot_size", 64, 4096), ("thread_slot_size", 192, 4096),
    ("frame_size", 32, 256), ("lines_entry_size", 4, 4096),
]

METHOD, CMETHOD, BMETHOD, BLOCK, RESCUE, ENSURE, EVAL, BODY, INTERNAL = range(1, 10)
SHARED, LINES_INSNS = 2, 8  # flags
NAMED, ANON_CLASS, ANON_MODULE, SINGLETON, INSTANCE_SINGLETON, REFINEMENT, NESTED = range(16, 23)
STATES = ["", "created", "running", "waiting for GVL", "blocked", "sleeping", "dead"]


class Gone(Exception):
    """What was to be read is not there (any more)."""


class Process:
    def __init__(self, pid):
        self.pid = pid
        self.mem = open("/proc/%d/mem" % pid, "rb", buffering=0)
        self.section = self.find_section()

    def read(self, address, size):
        try:
            data = os.pread(self.mem.fileno(), size, address)
        except (OSError, OverflowError):
            raise Gone(hex(address))
        if len(data) != size:
            raise Gone(hex(address))
        return data

    def u64(self, address):
        return struct.unpack("<Q", self.read(address, 8))[0]

    def own_pid(self):
        """Its pid as itself sees it: the one in the innermost pid namespace."""
        with open("/proc/%d/status" % self.pid) as f:
            innermost = re.search(r"^NStgid:.*?(\d+)$", f.read(), re.M)
        return int(innermost.group(1)) if innermost else self.pid

    def ip(self, tid):
        """Native instruction pointer of a thread that is stopped or waits; None unknown."""
        try:
            with open("/proc/%d/task/%d/syscall" % (self.pid, tid)) as f:
                return int(f.read().split()[-1], 16)
        except (OSError, ValueError, IndexError):  # gone, or "running"
            return None

    def find_section(self):
        """Look for the ELF note in each file that is mapped from its start."""
        for line in open("/proc/%d/maps" % self.pid):
            m = re.match(r"([0-9a-f]+)-[0-9a-f]+ r\S+ 00000000 \S+ (\d+) *(/.*)?", line)
            if not m or m.group(2) == "0":
                continue
            try:
                address = self.section_by_note(int(m.group(1), 16))
            except Gone:
                continue
            if address:
                return address
        sys.exit("%d: not a ruby with the external debugging interface" % self.pid)

    def section_by_note(self, base):
        ehdr = self.read(base, 64)
        if ehdr[:6] != b"\x7fELF\x02\x01":
            return None
        phoff, = struct.unpack_from("<Q", ehdr, 32)
        phentsize, phnum = struct.unpack_from("<HH", ehdr, 54)
        phdrs = [struct.unpack("<IIQQQQQQ", self.read(base + phoff + i * phentsize, 56))
                 for i in range(min(phnum, 64))]
        bias = base - min([p[3] for p in phdrs if p[0] == 1], default=0)
        for kind, _, _, vaddr, _, _, size, _ in phdrs:
            if kind != 4 or size > 1 << 16:
                continue
            data = self.read(bias + vaddr, size)
            at = 0
            while at + 12 <= size:
                namesz, descsz, note = struct.unpack_from("<III", data, at)
                name = data[at + 12:at + 12 + namesz].rstrip(b"\0")
                desc = at + 12 + (namesz + 3 & ~3)
                if name == b"ruby-debug-ext" and note == 0x52444558 and descsz == 8 and desc + 8 <= size:
                    return bias + vaddr + desc + struct.unpack_from("<q", data, desc)[0]
                at = desc + (descsz + 3 & ~3)
        return None


class Ruby:
    def __init__(self, process):
        self.p = process
        fmt = "<" + "".join(f for _, f in SECTION)
        (size,) = struct.unpack("<I", process.read(process.section + 12, 4))
        data = process.read(process.section, min(size, struct.calcsize(fmt)))
        # What an earlier ruby has not is 0.
        values = struct.unpack(fmt, data.ljust(struct.calcsize(fmt), b"\0"))
        for (name, _), value in zip(SECTION, values):
            setattr(self, name, value)
        if self.magic != b"RBDBGEXT" or self.abi_major != 1:
            sys.exit("interface version %d is not supported" % self.abi_major)
        if self.state == 3:
            sys.exit("this ruby cannot be read: it was started with RUBY_EXTERNAL_DEBUG=0, it got no memory, "
                     "or its address space is limited (ulimit -v)")
        if self.state != 1:
            sys.exit("the process is starting or ending")
        # A section that is damaged must not lead this reader astray.
        for name, least, most in SIZES:
            if not least <= getattr(self, name) <= most:
                sys.exit("the interface is damaged: %s is %d" % (name, getattr(self, name)))
        if self.pid != process.own_pid():
            sys.exit("the process is between fork and its first own step")
        self.cache = {}  # records by id, names by (id, depth)

    def element(self, directory, per_chunk, size, i):
        chunk = self.p.u64(directory + 8 * (i // per_chunk))
        if not chunk:
            raise Gone("element %d" % i)
        return chunk + i % per_chunk * size

    def string(self, address):
        if not address:
            return ""
        length, = struct.unpack("<I", self.p.read(address, 4))
        if length > STRING_MAX:
            raise Gone("string")
        text = self.p.read(address + 4, length).decode("utf-8", "backslashreplace")
        return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)

    def pairs(self, data, first_line):
        """Line table of code that is gone: [(position, line)]."""
        at, position, line, found = 0, 0, first_line, []
        while at < len(data):
            numbers = []
            for signed in (False, True):
                value = shift = 0
                while at < len(data):
                    byte = data[at]
                    at += 1
                    value |= (byte & 0x7f) << shift
                    shift += 7
                    if not byte & 0x80:
                        break
                if signed and byte & 0x40:
                    value -= 1 << shift
                numbers.append(value)
            position += numbers[0]
            line += numbers[1]
            found.append((position, line))
        return found

    def vm_pairs(self, lines, code_size):
        """Line table of code that lives: [(position, line)]."""
        entries, index = self.p.u64(lines + self.lines_entries), self.p.u64(lines + self.lines_index)
        count, = struct.unpack("<I", self.p.read(lines + self.lines_count, 4))
        if not count:
            return []
        if count * self.lines_entry_size > LINES_MAX or code_size > LINES_MAX:
            raise Gone("lines")
        data = self.p.read(entries, count * self.lines_entry_size)
        line = [struct.unpack_from("<i", data, i * self.lines_entry_size + self.lines_entry_line)[0]
                for i in range(count)]
        if count == 1:
            return [(0, line[0])]
        words = (code_size + 8) // 9 if code_size < 54 else 6
        blocks = (code_size - 54 + 511) // 512 if code_size > 54 else 0
        data = self.p.read(index, words * 8 + blocks * 80)
        found, last = [], 0
        for i in range(code_size):
            k = i - 54
            if k < 0:
                rank = struct.unpack_from("<Q", data, i // 9 * 8)[0] >> i % 9 * 7 & 127
            else:
                block = struct.unpack_from("<IIQ8Q", data, 48 + k // 512 * 80)
                word = k // 64 % 8
                rank = block[0] + (block[2] >> (word - 1) * 9 & 511 if word else 0) + \
                    bin(block[3 + word] & (2 << k % 64) - 1).count("1")
            if rank != last and 0 < rank <= count:
                found.append((i, line[rank - 1]))
            last = rank
        return found

    def record(self, rid):
        """(kind, level, ref1, ref2, name, path, lines, code, code_size, first_line, flags)"""
        if rid not in self.cache:
            self.cache[rid] = self.read_record(rid)
        return self.cache[rid]

    def read_record(self, rid):
        for _ in range(4):
            try:
                at = self.element(self.records_dir, RECORDS_PER_CHUNK, self.record_size, rid)
                (generation, kind, flags, level, ref1, ref2, name, path, lines, code, code_size,
                 first_line) = struct.unpack("<IBBHIIQQQQII", self.p.read(at, 56))
                name, path = self.string(name), self.string(path)
                if lines and flags & LINES_INSNS:
                    lines = self.vm_pairs(lines, code_size)
                elif lines:
                    size, = struct.unpack("<I", self.p.read(lines, 4))
                    lines = self.pairs(self.p.read(lines + 4, min(size, LINES_MAX)), first_line)
                again, = struct.unpack("<I", self.p.read(at, 4))
                same = self.element(self.records_dir, RECORDS_PER_CHUNK, self.record_size, rid) == at
                if generation == again and generation % 2 == 0 and same:
                    return (kind, level, ref1, ref2, name, path, lines or [], code, code_size,
                            first_line, flags)
            except Gone:
                pass
        return 0, 0, 0, 0, "", "", [], 0, 0, 0, 0

    def code(self, rid):
        """The record that has the path, the lines and the code of a record."""
        record = self.record(rid)
        return self.record(record[3]) if record[0] in (METHOD, BMETHOD) and record[3] else record

    def name(self, rid, depth=0):
        """Each once: that of a refinement can hold the one before twice, and that again."""
        if depth >= NAME_DEPTH_MAX:
            return "?"
        if (rid, depth) not in self.cache:
            text = self.compose(rid, depth).encode()
            self.cache[rid, depth] = text[:NAME_MAX].decode("utf-8", "ignore")
        return self.cache[rid, depth]

    def compose(self, rid, depth):
        kind, level, ref1, ref2, name = self.record(rid)[:5]

        def text(ref):
            return self.name(ref, depth + 1)

        if kind in (METHOD, CMETHOD, BMETHOD):
            if not ref1:
                return name
            owner = self.record(ref1)
            if owner[0] == SINGLETON:
                return text(owner[2]) + "." + name
            if owner[0] == INSTANCE_SINGLETON:
                return "#<instance of " + text(owner[2]) + ">." + name
            return text(ref1) + "#" + name
        def place(ref):
            record = self.record(ref)
            shared = record[0] == METHOD and record[10] & SHARED and depth + 1 < NAME_DEPTH_MAX
            return record[4] if shared else text(ref)

        if kind == BLOCK:
            return ("block in " if level <= 1 else "block (%d levels) in " % level) + place(ref1)
        if kind in (RESCUE, ENSURE, EVAL):
            return {RESCUE: "rescue", ENSURE: "ensure", EVAL: "eval"}[kind] + " in " + place(ref1)
        if kind in (BODY, INTERNAL, NAMED):
            return name
        if kind == ANON_CLASS:
            return "#<anonymous subclass of " + text(ref1) + ">" if ref1 else "#<anonymous class>"
        if kind == ANON_MODULE:
            return "#<anonymous module>"
        if kind == SINGLETON:
            return "#<singleton of " + text(ref1) + ">"
        if kind == INSTANCE_SINGLETON:
            return "#<singleton of #<instance of " + text(ref1) + ">>"
        if kind == REFINEMENT:
            return "#<refinement " + text(ref1) + " of " + text(ref2) + ">"
        if kind == NESTED:
            return text(ref1) + "::" + name
        return "?"

    def line(self, rid, pc):
        lines, code, code_size = self.code(rid)[6:9]
        if not code <= pc <= code + 8 * code_size:
            return 0
        index = max((pc - code) // 8 - 1, 0)
        return max([pair for pair in lines if pair[0] <= index], default=(0, 0))[1]

    def frames(self, ec):
        """[(id, pc, jit_return)], innermost first, and the pc that says nothing."""
        base = self.p.u64(ec + self.ec_vm_stack)
        end = base + 8 * self.p.u64(ec + self.ec_vm_stack_size)
        cfp = self.p.u64(ec + self.ec_cfp)
        resume_pc = self.p.u64(ec + self.ec_resume_pc) if self.ec_resume_pc else 0
        if not base or not cfp:
            return [], resume_pc
        size = end - cfp
        if not base <= cfp <= end or size % self.frame_size or size > STACK_MAX:
            raise Gone("frames")
        data = self.p.read(cfp, size)

        def field(at, offset):
            return struct.unpack_from("<Q", data, at + offset)[0]
        frames, left = [], 0
        for at in range(0, size, self.frame_size):
            word = field(at, self.frame_ext_debug)
            # Below a rescue or ensure clause: where the frame was left, not where it goes on.
            frames.append((word & 0xffffffff, field(at, self.frame_pc) + 8 * left, field(at, self.frame_jit_return)))
            left = struct.unpack("<i", struct.pack("<I", word >> 32))[0] if self.abi_minor >= 1 else 0
        return frames, resume_pc

    def approximate(self, pc, jit_return, resume_pc, ip):
        """Is the pc of the innermost frame perhaps not that of what runs?"""
        if resume_pc and pc == resume_pc:
            return True
        if not jit_return:
            return False
        # The JIT code log, which has the lines of JIT code, is not read here.
        return (not ip or not self.jit_leaf_end or self.jit_start <= ip < self.jit_end or
                self.jit_leaf_start <= ip < self.jit_leaf_end)

    def stack(self, ec, tid=0):
        """`tid`: the thread that runs the EC, 0 unknown or none."""
        torn = ""
        (frames, resume_pc), ip, still = self.frames(ec), self.p.ip(tid), False
        for _ in range(10):
            (again, resume_again), ip_again = self.frames(ec), self.p.ip(tid)
            # It runs, perhaps in one frame: its line is that of a moment, and the ip that of another one.
            still = again[:1] == frames[:1] and resume_again == resume_pc and ip_again == ip
            if [f[0] for f in again] == [f[0] for f in frames]:
                break
            frames, resume_pc, ip = again, resume_again, ip_again
        else:
            torn = "  (torn: it ran while it was read)"
        shown = []
        for depth, (rid, pc, jit_return) in enumerate(frames):
            if rid == 1 or not rid and depth == len(frames) - 1:
                continue
            if not rid:
                shown.append("?")  # there was no memory to describe it
                continue
            path = self.code(rid)[5]
            if path:
                line = self.line(rid, pc)
                exact = depth or still and not self.approximate(pc, jit_return, resume_pc, ip)
                mark = "" if exact else "~"
                shown.append("%s %s:%s%d" % (self.name(rid), path, mark, line))
            else:
                shown.append(self.name(rid))
        return shown, torn

    def slots(self, directory, size, end):
        """(index, bytes) of each slot, all of one moment; not of those that do not hold still."""
        for i in range(1, end):
            at = self.element(directory, SLOTS_PER_CHUNK, size, i)
            for _ in range(10):
                data = self.p.read(at, size)
                if data[0] % 2 == 0 and self.p.read(at, 4) == data[:4]:
                    yield i, data
                    break

    def threads(self):
        for i, data in self.slots(self.thread_dir, self.thread_slot_size, self.thread_slots_end):
            (_, state, since, tid, ractor, serial, thread, _tp, flags, _) = \
                struct.unpack_from("<IIQIIQQQII", data)
            name = data[128:192].split(b"\0")[0].decode("utf-8", "backslashreplace")
            if thread:
                yield i, state, tid, ractor, serial, thread, name

    def ecs(self):
        for _, data in self.slots(self.ec_dir, self.ec_slot_size, self.ec_slots_end):
            _, thread_slot, ec, serial, flags, _ = struct.unpack_from("<IIQQII", data)
            if ec:
                yield ec, thread_slot, serial, flags


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    ruby = Ruby(Process(int(sys.argv[1])))
    print(ruby.ruby_description.split(b"\0")[0].decode())
    ecs = list(ruby.ecs())
    for slot, state, tid, ractor, serial, thread, name in ruby.threads():
        print("\nthread %d%s tid %d ractor %d: %s" %
              (serial, " " + repr(name) if name else "", tid, ractor,
               STATES[state] if state < len(STATES) else state))
        current = ruby.p.u64(thread + ruby.thread_ec)
        for ec, thread_slot, ec_serial, flags in ecs:
            if thread_slot != slot:
                continue
            try:
                # A tid is the thread's number in the innermost pid namespace.
                known = ec == current and ruby.pid == ruby.p.pid
                stack, torn = ruby.stack(ec, tid if known else 0)
            except Gone as e:
                stack, torn = [], "  (not readable: %s)" % e
            print("  %s %d%s%s" % ("root fiber" if flags & 1 else "fiber", ec_serial,
                                   "" if ec == current else " parked", torn))
            for frame in stack:
                print("    " + frame)


if __name__ == "__main__":
    try:
        main()
    except (Gone, struct.error, IndexError, OverflowError, UnicodeDecodeError) as e:
        sys.exit("the process is ending, or its interface is damaged: %s" % e)
