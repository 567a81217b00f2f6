/* SPDX-License-Identifier: BSD-2-Clause */
/* A high-resolution timer of our own on each CPU, which runs a BPF program. */
#ifndef EXTPROF_CPU_TIMERS_H
#define EXTPROF_CPU_TIMERS_H

#include <stdint.h>

#include "base/diag.h"

struct bpf_link;
struct bpf_program;

/* All zero: none are open. */
struct cpu_timers {
	struct bpf_program *program;
	uint32_t type;		/* of the perf event */
	uint64_t config;
	uint64_t period;	/* ns; of another event than the clock, how many of it */
	int *fds;		/* perf events by CPU, -1 none */
	struct bpf_link **links;
	int cpus;		/* possible ones: length of the arrays */
	int online;
	char online_text[4096];	/* when last looked at */
	uint32_t unsampled;	/* CPUs that came and could not be sampled */
};

/* Open one on every CPU that is online; they do not run yet.  Close them after an error, too. */
int cpu_timers__open(struct cpu_timers *t, struct bpf_program *program, int cpus, uint64_t period,
		     struct diag *d);
/* The same for another event of perf: `type` and `config` as in struct perf_event_attr. */
int cpu_timers__open_event(struct cpu_timers *t, struct bpf_program *program, int cpus, uint64_t period,
			   uint32_t type, uint64_t config, struct diag *d);
int cpu_timers__start(struct cpu_timers *t, struct diag *d);
/* After this the program does not run any more. */
void cpu_timers__stop(struct cpu_timers *t);
/* While they are stopped: another period.  0 or -errno of the first that did not take it. */
int cpu_timers__set_period(struct cpu_timers *t, uint64_t period);
/* While they run: open and close those of CPUs that have come or gone. */
void cpu_timers__follow(struct cpu_timers *t);
void cpu_timers__close(struct cpu_timers *t);

#endif /* EXTPROF_CPU_TIMERS_H */
