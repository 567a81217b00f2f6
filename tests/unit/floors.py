#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""floors.py TOOLS/EXTPROF: a room includes only rooms on lower floors. docs/architecture.md
shows the floors. What shows reports sees no process. Ends with "N passed, N failed"."""
import pathlib
import re
import sys

# From the ground up. Rooms on one floor do not include each other.
FLOORS = [{"base", "wire"}, {"parser", "frames"}, {"process", "source", "bpf", "lines"}, {"ruby", "native"}, {"remote"}, {"profile"}, {"output", "recording"}, {"engine", "dump", "analysis"}, {"options", "confine"}, {"library"}, {"daemon", "send", "serve"}, {"cli"}]
# The contract is not a file of the room ruby/.
CONTRACT = "ruby/debug_external.h"

# cli is a program on libextprof: of the library it includes extprof.h, and the contract for its version. It may also
# include headers that are whole without the library's objects, the room that is linked into both, and that of the program alone.
ALONE = {"base/number.h", "base/path.h", "base/share.h", "base/uprobe_multi.h", "base/utc.h", "confine/calls.h", "confine/places.h", "options/time_point.h", "options/table.h", "options/modes.h", "daemon/config.h", "daemon/dumps.h", "daemon/folder.h", "daemon/metrics.h", "daemon/notify.h", "daemon/own_cost.h", "daemon/stillness.h", "daemon/stuck.h",
         "send/answer.h", "send/body.h", "send/header.h", "send/http.h", "send/receiver.h", "send/state.h", "send/url.h", "serve/listen.h", "serve/recordings.h", "serve/request.h", "serve/server.h"}

# A report borrows nothing, so who shows one sees neither processes nor VMs, not even by the headers that its headers include. Of
# these rooms they have modes, and the figures of a heap, which are numbers.
DETACHED, HIDDEN, SHOWN = {"output", "analysis", "daemon", "send", "serve"}, {"process", "source", "bpf", "ruby", "native", "remote", "engine"}, {"source/mode.h", "source/modes.def", "ruby/heap_size.h", CONTRACT}

# A file that a target names is opened by process/target_file.h alone: no other code follows a path below the root of a
# process, or the links to what it has mapped, nor opens a path that is in a structure. cli opens what its user names.
OPENER = "process/target_opener.c"
# It names calls that it forbids.
FORBIDS = "confine/calls.c"
OPENS = [r"\bopenat2\b", r"\bRESOLVE_(IN_ROOT|BENEATH|NO_)", r"map_files", r'\bopen\w*\([^;"]*"(root|exe)"',
         r"\b(open|openat|fopen|fopen64)\([^;]*(->|\.)(path|name|file)\b"]
# Files of /proc that show memory of a process can make a read wait for ever: these files alone name them, and have that
# memory read by a helper where it is not trusted.
READERS = ["process/address_space.c", "process/guarded.c"]
SHOWS_MEMORY = r'"(mem|maps|smaps\w*|environ|cmdline|auxv)"'

# What is at the end of this link is on a file system that may never answer.
ASKS_FILE_SYSTEM = r'proc__path\([^;]*"exe"'


def opens_for_targets(path, name):
    text = path.read_text()
    for pattern in OPENS:
        for found in re.finditer(pattern, text):
            begin = text.rfind("\n", 0, found.start()) + 1
            line = text[begin:text.find("\n", found.start())].strip()
            if not line.startswith(("*", "/*", "//")):
                yield "%s opens what a target may name (%s): use process/target_file.h" % (name, line)
    if name not in READERS and re.search(SHOWS_MEMORY, text):
        yield "%s opens memory of a process: use process/address_space.h or proc__open()" % name
    if re.search(ASKS_FILE_SYSTEM, text):
        yield "%s asks a file system that a target may have chosen: use proc__exe()" % name


def included(path):
    """The headers that a file includes."""
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.M)


def sees(top, path, seen):
    """Add all headers that a file includes, and those include: {header: the file that includes it}."""
    for header in included(path):
        if header not in seen:
            seen[header] = str(path.relative_to(top))
            if (top / header).exists():
                sees(top, top / header, seen)
    return seen


def floor(room):
    return next((i for i, rooms in enumerate(FLOORS) if room in rooms), None)


def main(top):
    passed = failed = 0
    rooms = {p.name for p in top.iterdir() if p.is_dir()}
    for room in sorted(rooms):
        wrong = []
        if floor(room) is None:
            wrong.append("it has no floor: give it one in tests/unit/floors.py")
        for path in sorted((top / room).glob("*.[ch]")):
            name = str(path.relative_to(top))
            wrong += opens_for_targets(path, name) if room != "cli" and name not in (OPENER, FORBIDS) else []
            if room in DETACHED:
                wrong += ["%s sees %s: %s includes it" % (name, header, by) for header, by in sees(top, path, {}).items()
                          if header.split("/")[0] in HIDDEN and header not in SHOWN]
            for used in included(path):
                if room == "cli" and used.split("/")[0] in rooms - {"cli"} and used not in ALONE | {CONTRACT}:
                    wrong.append("%s includes %s: of the library only extprof.h is public" % (path.relative_to(top), used))
                other = used.split("/")[0] if "/" in used and used != CONTRACT else room
                if other != room and other in rooms and None not in (floor(other), floor(room)) and floor(other) >= floor(room):
                    wrong.append("%s includes %s" % (path.relative_to(top), used))
        print("FAIL %s: %s" % (room, "; ".join(wrong)) if wrong else "ok   " + room)
        passed, failed = passed + (not wrong), failed + bool(wrong)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
