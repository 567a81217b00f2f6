#!/usr/bin/env python3
"""The stack of BPF programs: each chain of functions that call one another fits into 512 bytes, as kernels before 6.13 demand.

    bpf_stack.py TOOLS CLANG DIRECTORY

Kernels since then give each program of tracing a stack of its own, and do not tell that an older one refuses it. Each function
counts with the lowest place of its stack that it uses, in units of 32 bytes."""
import glob
import os
import struct
import subprocess
import sys

MOST, UNIT = 512, 32
CALL, MOVE, ADD, LOAD_64 = 0x85, 0xBF, 0x07, 0x18
MEMORY = (1, 2, 3)  # classes of instructions: ldx, st, stx
FRAME = 10          # the register that is the end of the stack


class Elf:
    def __init__(self, data):
        self.data = data
        at, size, count, names = struct.unpack_from("<Q10xHHH", data, 40)[0], *struct.unpack_from("<HHH", data, 58)
        self.sections = [dict(zip(("name", "type", "flags", "addr", "offset", "size", "link", "info", "align", "entry"),
                                  struct.unpack_from("<IIQQQQIIQQ", data, at + i * size))) for i in range(count)]
        for s in self.sections:
            s["label"] = self.text(self.sections[names], s["name"])
        symbols = next(s for s in self.sections if s["type"] == 2)
        self.symbols = []
        for i in range(symbols["size"] // 24):
            name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", data, symbols["offset"] + 24 * i)
            self.symbols.append((self.text(self.sections[symbols["link"]], name), info & 15, section, value, length))

    def text(self, section, offset):
        begin = section["offset"] + offset
        return self.data[begin:self.data.index(b"\0", begin)].decode()

    def functions(self):
        """{(section, offset): (name, size)}"""
        return {(section, value): (name, size) for name, kind, section, value, size in self.symbols if kind == 2}

    def calls(self):
        """{(section, offset of an instruction): (section, offset) or section that is called}, of relocations"""
        found = {}
        for s in self.sections:
            if s["type"] not in (4, 9):
                continue
            for i in range(s["size"] // s["entry"]):
                offset, info = struct.unpack_from("<QQ", self.data, s["offset"] + i * s["entry"])
                name, kind, section, value, _ = self.symbols[info >> 32]
                found[s["info"], offset] = (section, value) if kind == 2 else (section, None)
        return found


def look(elf, section, begin, size, relocated):
    """(bytes of the stack, places of functions that are called)"""
    depth, calls, copies = 0, set(), set()
    code = elf.data[elf.sections[section]["offset"]:]
    at = begin
    while at < begin + size:
        op, regs, offset, value = struct.unpack_from("<BBhi", code, at)
        target, source = regs & 15, regs >> 4
        if op & 7 in MEMORY and (source if op & 7 == 1 else target) == FRAME:
            depth = max(depth, -offset)
        if op == MOVE and source == FRAME:  # to the address of a variable
            copies.add(target)
        elif op == ADD and target in copies:
            depth = max(depth, -value)
            copies.discard(target)
        elif op == CALL and source == 1:
            to = relocated.get((section, at))
            if to is None:
                calls.add((section, at + 8 * (value + 1)))
            else:
                calls.add(to if to[1] is not None else (to[0], 8 * (value + 1)))
            calls.discard((0, 0))  # a function of the kernel
        elif op == LOAD_64 and source == 4:  # the address of a function, for bpf_loop()
            to = relocated.get((section, at))
            if to:
                calls.add(to if to[1] is not None else (to[0], value))
        elif op == LOAD_64 and (section, at) in relocated:
            to = relocated[section, at]
            place = to if to[1] is not None else (to[0], value)
            if place in elf.functions():
                calls.add(place)
        at += 16 if op == LOAD_64 else 8
    return depth, calls


def chains(path):
    """[(bytes, chain of functions)] of each program in an object, or None if that is not understood."""
    with open(path, "rb") as f:
        elf = Elf(f.read())
    functions, relocated = elf.functions(), elf.calls()
    known = {place: look(elf, *place, size, relocated) for place, (_, size) in functions.items()}
    if any(c not in known for _, calls in known.values() for c in calls):
        return None

    def deepest(place, seen=()):
        depth, calls = known[place]
        own = max(UNIT, -(-depth // UNIT) * UNIT)
        total, chain = max((deepest(c, seen + (place,)) for c in calls if c not in seen), default=(0, []))
        return own + total, ["%s %d" % (functions[place][0], own)] + chain

    return [deepest(p) for p in functions if elf.sections[p[0]]["label"] != ".text"]


def main():
    tools, clang, directory = sys.argv[1:]
    passed = failed = 0
    for source in sorted(glob.glob(os.path.join(tools, "bpf", "*.bpf.c"))):
        path = os.path.join(directory, os.path.basename(source)[:-1] + "o")
        subprocess.run([clang, "-target", "bpf", "-D__TARGET_ARCH_x86", "-O2", "-g", "-I" + tools, "-I" + os.path.join(tools, "../../include"),
                        *["-I" + os.path.dirname(d) for d in glob.glob("/usr/include/*-linux-gnu/asm")], "-c", "-o", path, source], check=True)
        found = chains(path)
        if not found:
            print("FAIL %s is not understood" % path)
            failed += 1
            continue
        for total, chain in found:
            if total > MOST:
                print("FAIL %d bytes: %s" % (total, ", ".join(chain)))
            passed += total <= MOST
            failed += total > MOST
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
