/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/own_cpu.h"

#include <errno.h>

/* No kernel has more. */
#define CPUS_MAX 8192

static int save(struct own_cpu *o)
{
	if (o->before)
		return 0;
	o->size = CPU_ALLOC_SIZE(CPUS_MAX);
	o->before = CPU_ALLOC(CPUS_MAX);
	if (!o->before)
		return -ENOMEM;
	if (!sched_getaffinity(0, o->size, o->before))
		return 0;
	CPU_FREE(o->before);
	o->before = NULL;
	return -EINVAL;
}

int own_cpu__go(struct own_cpu *o, int cpu)
{
	cpu_set_t *one;
	int err;

	if (cpu == o->cpu)
		return 0;
	err = save(o);
	if (err)
		return err;
	/* The user may have restricted this thread to some CPUs: do not leave them. */
	if (cpu < 0 || cpu >= CPUS_MAX || !CPU_ISSET_S((size_t)cpu, o->size, o->before))
		return -EINVAL;
	one = CPU_ALLOC(CPUS_MAX);
	if (!one)
		return -ENOMEM;
	CPU_ZERO_S(o->size, one);
	CPU_SET_S((size_t)cpu, o->size, one);
	/* The kernel moves the thread before the call returns. */
	err = sched_setaffinity(0, o->size, one) ? -EINVAL : 0;
	CPU_FREE(one);
	if (err)
		return err;
	o->cpu = cpu;
	/* The CPU may have been taken away from this process since. */
	return sched_getcpu() == cpu ? 0 : -EINVAL;
}

void own_cpu__leave(struct own_cpu *o)
{
	if (!o->before)
		return;
	if (o->cpu >= 0)
		sched_setaffinity(0, o->size, o->before);
	CPU_FREE(o->before);
	o->before = NULL;
	o->cpu = -1;
}
