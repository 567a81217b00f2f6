"""Packages of npm that open what extprof writes."""
import os
import shutil
import subprocess

import harness


def folder_of(name, packages, parts, variable):
    """(folder, why it does not have all parts; None: it has). The variable can name a folder that has them."""
    folder = os.environ.get(variable) or os.path.join(harness.BUILD, name)
    parts = [os.path.join(folder, "node_modules", part) for part in parts]
    if all(os.path.exists(part) for part in parts):
        return folder, None
    if not shutil.which("npm"):
        return folder, "there is no npm, which gets " + " and ".join(packages)
    os.makedirs(folder, exist_ok=True)
    try:
        run = subprocess.run(["npm", "install", "--prefix", folder, "--loglevel=error", "--no-audit", "--no-fund", "--fetch-retries=0",
                              *packages], capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return folder, "npm has not got %s after 240 s" % " and ".join(packages)
    if run.returncode or not all(os.path.exists(part) for part in parts):
        return folder, "npm cannot get %s (status %d): %s" % (" and ".join(packages), run.returncode, " ".join(run.stderr.split())[:200])
    return folder, None
