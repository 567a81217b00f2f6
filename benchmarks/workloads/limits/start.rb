# Memory of a process that has started.
Workload.report(Workload.memory)
