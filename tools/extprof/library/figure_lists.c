/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures that are lists: who had the GVL, why collections ran, states of threads, system calls. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "library/figures_parts.h"
#include "source/mode.h"
#include "source/syscall_set.h"

static int by_looks(const void *a, const void *b)
{
	const struct extprof_holder *x = *(void *const *)a, *y = *(void *const *)b;

	return x->looks < y->looks ? 1 : x->looks > y->looks ? -1 : 0;
}

int figures_parts__build_holders(struct building *b)
{
	struct built *to = b->to;
	size_t count = 0, used = 0;

	for (uint32_t i = 0; i < b->count; i++)
		count += b->list[i]->holder_count;
	to->holders = calloc(count + 1, sizeof(*to->holders));
	to->holder_list = calloc(count + 1, sizeof(*to->holder_list));
	if (!to->holders || !to->holder_list)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++) {
		const struct figures_process *p = b->list[i];

		for (uint32_t j = 0; j < p->holder_count; j++) {
			const struct holder *h = &p->holders[j];
			uint64_t looks = h->looks - (b->interval ? h->looks_before : 0);

			if (!looks)
				continue;
			to->holders[used] = (struct extprof_holder){ .thread = h->name, .pid = p->pid, .looks = looks };
			to->holder_list[used] = &to->holders[used];
			used++;
		}
	}
	qsort(to->holder_list, used, sizeof(*to->holder_list), by_looks);
	b->f->holders = to->holder_list;
	b->f->holder_count = used;
	return 0;
}

static int by_reason_time(const void *a, const void *b)
{
	const struct extprof_gc_reason *x = *(void *const *)a, *y = *(void *const *)b;

	return x->time < y->time ? 1 : x->time > y->time ? -1 : 0;
}

static int by_reason_looks(const void *a, const void *b)
{
	const struct extprof_gc_reason *x = *(void *const *)a, *y = *(void *const *)b;

	return x->looks < y->looks ? 1 : x->looks > y->looks ? -1 : 0;
}

void figures_parts__build_gc_reasons(struct building *b)
{
	const struct sums *s = &b->sums;
	struct extprof_figures *f = b->f;
	struct built *to = b->to;

	for (int i = 0; i < 2 * GC_REASONS; i++) {
		int major = i / GC_REASONS, reason = i % GC_REASONS;
		struct extprof_gc_reason *r = &to->reasons[i];

		*r = (struct extprof_gc_reason){
			.name = gc_reason__name(reason), .major = major, .pauses = s->gc_reason_pauses[major][reason],
			.time = s->gc_reason_time[major][reason], .looks = s->gc_reason_looks[major][reason],
		};
		if (r->pauses)
			to->reasons_by_time[f->gc_reason_count++] = r;
		if (r->looks)
			to->reasons_by_looks[f->gc_reason_met_count++] = r;
	}
	qsort(to->reasons_by_time, f->gc_reason_count, sizeof(*to->reasons_by_time), by_reason_time);
	qsort(to->reasons_by_looks, f->gc_reason_met_count, sizeof(*to->reasons_by_looks), by_reason_looks);
	f->gc_reasons = to->reasons_by_time;
	f->gc_reasons_met = to->reasons_by_looks;
	figures_parts__set(b, EXTPROF_GC_REASONS, f->gc_reason_count);
}

/*
 * A look at a random moment of a time t tells its state: the variance is t * t * p * (1 - p), at most a quarter of the
 * square.  So 1.96 standard deviations are at most the root of the sum of the squares.
 */
static uint64_t state_error(const struct building *b, int state)
{
	/* The kernel counts these. */
	if (!b->all->looks_only || state == STATE_RUNNING || state == STATE_RUNNABLE)
		return 0;
	return (uint64_t)(0.98 * sqrt((double)b->sums.doubts[state]) * 1e3);
}

void figures_parts__build_states(struct building *b)
{
	struct extprof_figures *f = b->f;
	struct built *to = b->to;

	for (int i = 0; i < STATE_MAX; i++) {
		if (!figures_parts__growth(b->sums.time[i]))
			continue;
		to->states[i] = (struct extprof_state_figures){
			.state = state__name(i), .time = figures_parts__growth(b->sums.time[i]), .count = figures_parts__growth(b->sums.waits[i]),
			.error = state_error(b, i),
		};
		to->state_list[f->state_count++] = &to->states[i];
	}
	f->states = to->state_list;
}

static int by_call_time(const void *a, const void *b)
{
	const struct extprof_call_figures *x = *(void *const *)a, *y = *(void *const *)b;

	return x->time < y->time ? 1 : x->time > y->time ? -1 : 0;
}

int figures_parts__build_calls(struct building *b)
{
	const struct engine_figures *all = b->all;
	struct built *to = b->to;
	size_t used = 0;

	to->calls = calloc(all->call_count + 1, sizeof(*to->calls));
	to->call_list = calloc(all->call_count + 1, sizeof(*to->call_list));
	if (!to->calls || !to->call_list)
		return -ENOMEM;
	for (uint32_t i = 0; i < all->call_count; i++) {
		const struct call_sum *c = &all->calls[i];
		bool compat = c->number & SYSCALL_SUM_COMPAT;
		uint64_t count = c->now.count - (b->interval ? c->before.count : 0);

		if (!count)
			continue;
		to->calls[used] = (struct extprof_call_figures){
			.name = compat ? NULL : syscall__name(c->number), .compat = compat,
			.number = c->number & ~SYSCALL_SUM_COMPAT, .count = count,
			.time = c->now.ns - (b->interval ? c->before.ns : 0),
		};
		to->call_list[used] = &to->calls[used];
		used++;
	}
	qsort(to->call_list, used, sizeof(*to->call_list), by_call_time);
	b->f->calls = to->call_list;
	b->f->call_count = used;
	return 0;
}
