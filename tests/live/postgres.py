"""A PostgreSQL server of its own, in a new folder, with a socket there and no port.  It ends with its case."""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile

import harness
from harness import check


def find():
    """The directory with its programs, the newest one that Debian's packages have; None: there is no server."""
    found = sorted((p for p in glob.glob("/usr/lib/postgresql/*/bin") if os.path.exists(p + "/initdb") and os.path.exists(p + "/postgres")),
                   key=lambda p: int(p.split("/")[4].partition(".")[0]))
    return found[-1] if found else None


def user():
    """It does not run as root."""
    if os.geteuid():
        return pwd.getpwuid(os.geteuid())
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


class Server:
    def __init__(self, ctx):
        self.ctx, owner = ctx, user()
        # The path of a socket has to be short.
        self.folder = tempfile.mkdtemp(prefix="extprof-pg-")
        self.user = owner.pw_name
        self.other = ["setpriv", "--reuid=%d" % owner.pw_uid, "--regid=%d" % owner.pw_gid, "--clear-groups"] if not os.geteuid() else []
        if self.other:
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        data = self.folder + "/data"
        run = subprocess.run([*self.other, find() + "/initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"],
                             cwd="/", env=harness.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        check(run.returncode == 0, "initdb: %s", run.stdout[-800:])
        # By default a query has helpers in other processes, and is compiled.
        self.process = ctx.start([*self.other, find() + "/postgres", "-D", data, "-k", self.folder, "-c", "listen_addresses=", "-c", "fsync=off",
                                  "-c", "jit=off", "-c", "max_parallel_workers_per_gather=0", "-c", "shared_buffers=16MB"], cwd="/")
        harness.until(lambda: os.path.exists(self.folder + "/.s.PGSQL.5432") and self.is_ready(), lambda: ctx.complaints(), 30)

    def is_ready(self):
        check(self.process.p.poll() is None, "the server ended: %s", self.ctx.complaints())
        return not subprocess.run([find() + "/pg_isready", "-q", "-h", self.folder, "-U", "postgres"], cwd="/", env=harness.environment()).returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Its shared memory is in no folder.
        self.process.signal(signal.SIGINT)
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            shutil.rmtree(self.folder, ignore_errors=True)
