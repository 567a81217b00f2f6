"""ClickHouse's servers and their ZooKeeper, on free ports of this machine, in a folder of the test."""
import contextlib
import os
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import harness
from harness import check

SCHEMA = os.path.join(harness.TOP, "packaging", "clickhouse", "schema.sql")
VIEWS = os.path.join(harness.TOP, "packaging", "clickhouse", "views.sql")
ZOOKEEPER = "/usr/share/java/zookeeper.jar"
# It is in a folder that not each user looks into.
SERVER = shutil.which("clickhouse-server") or shutil.which("clickhouse-server", path="/usr/sbin")
PASSWORD = "sesame & \"quotes\""


def missing():
    """What is not installed; "": nothing."""
    found = {"clickhouse-server": SERVER, "clickhouse-client": shutil.which("clickhouse-client"), "zookeeper": os.path.exists(ZOOKEEPER),
             "default-jre-headless": shutil.which("java")}
    return " ".join(name for name, there in found.items() if not there)


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]


class Server:
    """One replica of a shard."""

    def __init__(self, cluster, shard, replica, ports):
        self.cluster, self.shard, self.replica = cluster, shard, replica
        self.http, self.tcp, self.interserver = ports
        self.url = "http://127.0.0.1:%d/" % self.http
        self.folder = cluster.ctx.path("clickhouse-%d-%d" % (shard, replica))
        self.process = None

    def configure(self):
        os.mkdir(self.folder)
        shards = "".join("<shard><internal_replication>true</internal_replication>%s</shard>" % "".join(
            "<replica><host>127.0.0.1</host><port>%d</port></replica>" % s.tcp for s in self.cluster.servers if s.shard == shard)
            for shard in range(self.cluster.shards))
        self.write("config.xml", f"""<?xml version="1.0"?><yandex>
<logger><level>information</level><log>{self.folder}/log</log><errorlog>{self.folder}/errors</errorlog></logger>
<http_port>{self.http}</http_port><tcp_port>{self.tcp}</tcp_port><interserver_http_port>{self.interserver}</interserver_http_port>
<interserver_http_host>127.0.0.1</interserver_http_host><listen_host>127.0.0.1</listen_host><timezone>UTC</timezone>
<max_connections>64</max_connections><max_concurrent_queries>50</max_concurrent_queries>
<uncompressed_cache_size>8388608</uncompressed_cache_size><mark_cache_size>8388608</mark_cache_size>
<path>{self.folder}/data/</path><tmp_path>{self.folder}/tmp/</tmp_path><user_files_path>{self.folder}/files/</user_files_path>
<users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
<remote_servers><extprof>{shards}</extprof></remote_servers>
<zookeeper><node><host>127.0.0.1</host><port>{self.cluster.zookeeper_port}</port></node><session_timeout_ms>3000</session_timeout_ms></zookeeper>
<macros><shard>{self.shard}</shard><replica>{self.replica}</replica></macros></yandex>""")
        user = "<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>"
        self.write("users.xml", f"""<?xml version="1.0"?><yandex>
<profiles><default><max_memory_usage>500000000</max_memory_usage><max_threads>2</max_threads></default></profiles>
<users><default><password></password>{user}</default><writer><password>{PASSWORD.replace("&", "&amp;")}</password>{user}</writer></users>
<quotas><default></default></quotas></yandex>""")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
            f.write(text)

    def start(self):
        self.process = self.cluster.ctx.start([SERVER, "--config-file", self.folder + "/config.xml"], cwd=self.folder,
                                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()

    def is_there(self):
        check(self.process.p.poll() is None, "clickhouse-server ended: %s", self.complaints())
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(self.url, timeout=5).read() == b"Ok.\n"
        return False

    def complaints(self):
        with contextlib.suppress(OSError), open(self.folder + "/errors", encoding="utf-8", errors="replace") as f:
            return f.read()[-1000:]
        return ""

    def ask(self, query, **parameters):
        """Rows of texts."""
        url = self.url + "?" + urllib.parse.urlencode(parameters)
        try:
            text = urllib.request.urlopen(url, data=query.encode(), timeout=30).read().decode()
        except urllib.error.HTTPError as e:
            raise harness.Failed("%s: %s" % (query, e.read().decode(errors="replace")[:500]))
        return [tuple(map(unescape, line.split("\t"))) for line in text.splitlines()]

    def is_synced(self):
        """It has looked at all that its shard has, and has all of it. After a start it is for a while without ZooKeeper."""
        waits = "is_readonly OR is_session_expired OR queue_size > 0 OR log_pointer <= log_max_index"
        with contextlib.suppress(harness.Failed):
            return self.ask("SELECT count(), countIf(%s) FROM system.replicas" % waits) == [("2", "0")]
        return False

    def run_file(self, path, database="default"):
        with open(path, encoding="utf-8") as f:
            run = subprocess.run(["clickhouse-client", "--host", "127.0.0.1", "--port", str(self.tcp), "-d", database, "--multiquery"], stdin=f, text=True,
                                 capture_output=True, timeout=60, cwd=self.folder, env=dict(os.environ, HOME=self.folder))
        check(run.returncode == 0, "%s: %s%s", path, run.stdout, run.stderr)


def unescape(text):
    """Of a column with tabs between."""
    letters = {"b": "\b", "f": "\f", "r": "\r", "n": "\n", "t": "\t", "0": "\0"}
    parts, at = [], 0
    while (found := text.find("\\", at)) >= 0:
        parts += [text[at:found], letters.get(text[found + 1], text[found + 1])]
        at = found + 2
    return "".join(parts) + text[at:]


class Cluster:
    """So many shards with so many replicas each, with the tables and views of this repository."""

    def __init__(self, ctx, shards, replicas):
        self.ctx, self.shards = ctx, shards
        ports = free_ports(1 + 3 * shards * replicas)
        self.zookeeper_port = ports.pop()
        self.servers = [Server(self, shard, replica, [ports.pop() for _ in range(3)]) for shard in range(shards) for replica in range(replicas)]
        self.begin_zookeeper()
        for server in self.servers:
            server.configure()
            server.start()

    def begin_zookeeper(self):
        os.mkdir(self.ctx.path("zookeeper"))
        path = self.ctx.write("zookeeper/zoo.cfg", "tickTime=500\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n" % (
            self.ctx.path("zookeeper/data"), self.zookeeper_port))
        self.ctx.start(["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", ZOOKEEPER,
                        "org.apache.zookeeper.server.quorum.QuorumPeerMain", path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       cwd=self.ctx.path("zookeeper"))

    def ready(self):
        """Once everything answers: the tables."""
        harness.until(lambda: all(s.is_there() for s in self.servers), "clickhouse-server does not answer", timeout=30)
        harness.until(lambda: all(map(self.has_zookeeper, self.servers)), "ZooKeeper does not answer", timeout=30)
        for server in self.servers:
            server.run_file(SCHEMA)
            server.run_file(VIEWS)

    @staticmethod
    def has_zookeeper(server):
        with contextlib.suppress(harness.Failed):
            return bool(server.ask("SELECT name FROM system.zookeeper WHERE path = '/'"))
        return False

    def at(self, shard, replica=0):
        return next(s for s in self.servers if (s.shard, s.replica) == (shard, replica))

    def synced(self, shard):
        """Each replica of the shard has all of it: (rows, ns, samples)."""
        found = set()
        for server in (s for s in self.servers if s.shard == shard):
            harness.until(lambda s=server: s.is_synced(), "a replica of shard %d does not get its rows" % shard, timeout=30)
            found.update(server.ask("SELECT count(), sum(Value), sum(Count) FROM extprof_samples_local"))
        check(len(found) == 1, "the replicas of shard %d have %s", shard, found)
        return found.pop()
