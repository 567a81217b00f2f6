"""Machines of a fleet, simulated: what all of them send, against SQL on what each recorded."""
import os

import fleet
import harness
from case_push import history
from harness import case, check

HOSTS = 20


@case(timeout=120, patient=True)
def sums_of_twenty_machines(ctx):
    """Twenty recordings that differ in their machine: rows and sums of each come, as it recorded them; nothing comes a second time."""
    paths = history(ctx, seconds=4, rotate="20s", modes="cpu,wall,gvl,alloc")
    hosts = ["host%03d" % i for i in range(HOSTS)]
    os.mkdir(ctx.path("hosts"))
    for host in hosts:
        fleet.copy(paths[0], ctx.path("hosts"), host)
    truth = fleet.sums(paths[0])
    check(set(truth) == {"cpu", "wall", "gvl", "alloc"} and all(value for value, _ in truth.values()), "%s", truth)
    folders = [ctx.path("hosts/" + host) for host in hosts]
    with fleet.Receiver() as receiver:
        took, used = fleet.feed(receiver.url + "?database=profiles", folders, "--as", "clickhouse", "--span", "1s")
        fleet.compare(receiver, hosts, truth)
        inserts = dict(receiver.inserts)
        check(inserts["extprof_stacks"] == inserts["extprof_samples"] >= 4 * HOSTS and len(receiver.spans) == inserts["extprof_samples"],
              "%s, %d spans", inserts, len(receiver.spans))
        fleet.feed(receiver.url + "?database=profiles", folders, "--as", "clickhouse", "--span", "1s")
        check(dict(receiver.inserts) == inserts, "they were sent again: %s", receiver.inserts)
    return "%d machines, %d inserts in %.1f s, %.0f ms of CPU time a machine" % (HOSTS, sum(inserts.values()), took, 1000 * used / HOSTS)
