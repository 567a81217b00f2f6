/* SPDX-License-Identifier: BSD-2-Clause */
/* What the rows of processes have of CPU time and of the kernel's counters. */
#include <string.h>
#include <time.h>

#include "engine/state.h"

void engine__account_cpu(struct engine *e, struct process *p, uint64_t cpu_time)
{
	/* What was used before the recording is nobody's. */
	if (!e->started)
		p->cpu_seen = cpu_time;
	else
		process__account_cpu(&e->set, p, cpu_time);
}

void engine__read_cpu_time(struct engine *e, struct process *p)
{
	struct timespec t;
	clockid_t clock;

	if (p->freed || clock_getcpuclockid(p->pid, &clock) || clock_gettime(clock, &t))
		return;
	/* Until here the pid was its own. */
	if (p->target.pidfd >= 0 && !target__has_pid(&p->target))
		return;
	engine__account_cpu(e, p, (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec);
}

void engine__take_counters(struct engine *e, struct process *p)
{
	struct source_counters c, *k;

	if (p->freed)
		return;
	session__counters(e->session, p->number, &c);
	/* A stranger has a row if it is a ruby. */
	if (p->row == PROCESS_NONE && !c.taken && (!c.unfollowed || (!p->wanted && !p->followed)))
		return;
	if (!process__row(&e->set, p))
		return;
	/* Several processes may share the row. */
	k = &e->rows.rows[p->row].kernel;
	source_counters__add(k, &c);
	source_counters__subtract(k, &p->taken);
	p->taken = c;
}

void engine__total(const struct engine *e, struct source_counters *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (uint32_t i = 0; i < e->rows.count; i++)
		source_counters__add(sum, &e->rows.rows[i].kernel);
}
