"""The files that a running ruby is made of, and copies of them."""
import os
import shutil

from elf import Elf
from harness import Failed


class Binary:
    """A copy of the tested ruby in the case's directory. `self.changed` is the file
    that holds the VM: the executable, or libruby.so."""

    def __init__(self, ctx, directory=None):
        probe = ctx.ruby("-e", "puts 'ready'; $stdout.flush; sleep")
        probe.expect("ready")
        exe = os.readlink("/proc/%d/exe" % probe.pid)
        with open("/proc/%d/environ" % probe.pid, "rb") as f:
            variables = dict(v.split(b"=", 1) for v in f.read().split(b"\0") if b"=" in v)
        with open("/proc/%d/maps" % probe.pid) as f:
            libruby = {line.split(None, 5)[5].strip() for line in f if "/libruby" in line}
        probe.kill()
        # What a wrapper script may have set.
        self.env = {k: variables[k.encode()].decode() for k in ("RUBYLIB", "LD_LIBRARY_PATH")
                    if k.encode() in variables}
        directory = directory or ctx.directory
        self.ruby = os.path.join(directory, "ruby-copy")
        shutil.copy(exe, self.ruby)
        self.changed = self.ruby
        for path in libruby:
            self.changed = os.path.join(directory, os.path.basename(path))
            shutil.copy(path, self.changed)
            before = self.env.get("LD_LIBRARY_PATH")
            self.env["LD_LIBRARY_PATH"] = directory + (":" + before if before else "")
        if not Elf(self.changed).has_interface():
            raise Failed("%s has no section rb_debug_ext" % self.changed)

    def elf(self):
        return Elf(self.changed)
