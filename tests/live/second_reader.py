"""examples/rubystack.py: a reader that knows the header and nothing of extprof."""
import importlib.util
import os
import subprocess
import sys

from harness import TOP

PATH = os.path.join(TOP, "examples", "rubystack.py")


def load():
    spec = importlib.util.spec_from_file_location("rubystack", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(pid):
    return subprocess.run([sys.executable, PATH, str(pid)], capture_output=True, text=True, timeout=20)
