/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lets the calling thread run on one CPU for a moment.  While it runs there, no other thread does: one whose
 * CPU is the same is off the CPU.  Nothing is needed for that but to be allowed on that CPU.
 */
#ifndef EXTPROF_OWN_CPU_H
#define EXTPROF_OWN_CPU_H

#include <sched.h>

struct own_cpu {
	cpu_set_t *before;	/* where the thread was allowed to run; NULL: not saved yet */
	size_t size;
	int cpu;		/* -1: it has not moved */
};

/* Zero-initialise with this. */
#define OWN_CPU_INIT { .cpu = -1 }

/* Go to the CPU.  When this returns 0, the thread runs there.  -EINVAL: it may not, or somebody has chosen other CPUs
 * for it (taskset, a cpuset); -ENOMEM. */
int own_cpu__go(struct own_cpu *o, int cpu);
/* Set back what was allowed before. */
void own_cpu__leave(struct own_cpu *o);

#endif /* EXTPROF_OWN_CPU_H */
