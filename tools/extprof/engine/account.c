/* SPDX-License-Identifier: BSD-2-Clause */
/* Accounts CPU time and the kernel's counters to the rows of processes. */
#include <string.h>

#include "engine/state.h"
#include "process/proc.h"

void engine__account_cpu(struct engine *e, struct process *p, uint64_t cpu_time)
{
	/* Nothing is measured any more. */
	if (p->cpu_ended)
		return;
	/* CPU time from before the recording, or from a pause, counts for nobody. */
	if (!e->started || e->paused)
		p->cpu_seen = cpu_time;
	else
		process__account_cpu(&e->set, p, cpu_time);
}

bool engine__read_cpu_time(struct engine *e, struct process *p)
{
	uint64_t used = p->freed ? 0 : proc__cpu_time(p->pid);

	if (!used)
		return false;
	/* Until here the pid was its own. */
	if (p->target.pidfd >= 0 && !target__has_pid(&p->target))
		return false;
	engine__account_cpu(e, p, used);
	return true;
}

void engine__take_counters(struct engine *e, struct process *p)
{
	struct source_counters c[SOURCE_MAX], sum = { 0 };
	struct process_row *row;

	if (p->freed || p->refused)
		return;
	for (uint32_t i = 0; i < SOURCE_MAX; i++) {
		if (!(e->sources & 1u << i))
			continue;
		session__counters(e->session, p->number, i, &c[i]);
		source_counters__add(&sum, &c[i]);
	}
	/* A stranger has a row if it is a ruby. */
	if (p->row == PROCESS_NONE && !sum.taken && (!sum.unfollowed || (!p->wanted && !p->followed)))
		return;
	if (!process__row(&e->set, p))
		return;
	/* Several processes may share the row. */
	row = &e->rows.rows[p->row];
	for (uint32_t i = 0; i < SOURCE_MAX; i++) {
		if (!(e->sources & 1u << i))
			continue;
		if (i == SOURCE_CPU)
			row->cpu_taken += c[i].taken - p->taken[i].taken;
		/* A pause of the collector is no sample of the process. */
		if (i != SOURCE_GC) {
			source_counters__add(&row->kernel, &c[i]);
			source_counters__subtract(&row->kernel, &p->taken[i]);
		}
		source_counters__add(&e->kernel[i], &c[i]);
		source_counters__subtract(&e->kernel[i], &p->taken[i]);
		p->taken[i] = c[i];
	}
}

void engine__total(const struct engine *e, uint32_t sources, struct source_counters *kernel,
		   struct received *received)
{
	memset(kernel, 0, sizeof(*kernel));
	memset(received, 0, sizeof(*received));
	for (uint32_t i = 0; i < SOURCE_MAX; i++) {
		if (!(sources & 1u << i))
			continue;
		source_counters__add(kernel, &e->kernel[i]);
		received__add(received, &e->resolver.received[i]);
	}
}

void engine__each_loss(struct engine *e, engine_loss each, void *context)
{
	e->losses.each = each;
	e->losses.context = context;
}

static uint64_t lost_of(const struct process_row *row, bool settled)
{
	struct accounting a;

	if (!settled)
		return accounting__known_losses(&row->kernel, &row->received);
	process_row__account(row, &a);
	return accounting__lost(&a);
}

void engine__tell_losses(struct engine *e, bool settled)
{
	for (uint32_t i = 0; e->losses.each && i < e->rows.count; i++) {
		struct process_row *row = &e->rows.rows[i];
		uint64_t lost = lost_of(row, settled);

		if (lost <= row->lost_told)
			continue;
		e->losses.each(e->losses.context, row, lost - row->lost_told);
		row->lost_told = lost;
	}
}
