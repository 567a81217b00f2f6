/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/timeline.h"

#include <stdlib.h>
#include <string.h>

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

/* Equal times are in an order, too: two files of one recording are the same. */
static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;
	int c = COMPARE(x->time, y->time);

	if (!c)
		c = COMPARE(x->node, y->node);
	if (!c)
		c = COMPARE(x->state, y->state);
	return c ? c : COMPARE(x->amount, y->amount);
}

static int by_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	int c = COMPARE(x->begin, y->begin);

	if (!c)
		c = COMPARE(x->kind, y->kind);
	if (!c)
		c = COMPARE(x->report, y->report);
	if (!c)
		c = COMPARE(x->node, y->node);
	return c ? c : COMPARE(x->end, y->end);
}

static int by_pid(const void *a, const void *b)
{
	const struct figure_point *x = a, *y = b;
	int c = COMPARE(x->pid, y->pid);

	if (!c)
		c = COMPARE(x->time, y->time);
	return c ? c : COMPARE(x->value, y->value);
}

void timeline__sort(struct timeline *t)
{
	if (t->resident.count)
		qsort(t->resident.list, t->resident.count, sizeof(*t->resident.list), by_pid);
	if (t->live_slots.count)
		qsort(t->live_slots.list, t->live_slots.count, sizeof(*t->live_slots.list), by_pid);
	if (t->span_count)
		qsort(t->spans, t->span_count, sizeof(*t->spans), by_begin);
	if (t->count)
		qsort(t->moments, t->count, sizeof(*t->moments), by_time);
}

void timeline__free(struct timeline *t)
{
	free(t->moments);
	free(t->spans);
	free(t->resident.list);
	free(t->live_slots.list);
	strings__free(&t->strings);
	memset(t, 0, sizeof(*t));
}
