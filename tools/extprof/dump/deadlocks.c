/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump/deadlocks.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY SIZE_MAX

static size_t number_of(struct extprof_dump_thread *const *threads, size_t count, uint64_t serial)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (threads[middle]->serial < serial)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && threads[low]->serial == serial ? low : NOBODY;
}

/* Timeout.timeout ends any wait below it, from another thread. */
static bool is_in_timeout(const struct extprof_dump_thread *t)
{
	const struct extprof_stack *stack = t->fiber_count ? t->fibers[0]->stack : NULL;

	for (size_t i = 0; stack && i < stack->count; i++)
		if (!strcmp(stack->frames[i]->name, "Timeout.timeout"))
			return true;
	return false;
}

/* Whom does it wait for, until that one does something? */
static size_t waits_for(struct extprof_dump_thread *const *threads, size_t count, const struct extprof_dump_thread *t)
{
	bool endless = (t->wait == EXTPROF_WAIT_JOIN && t->wait_limit == EXTPROF_LIMIT_NONE) ||
		(t->wait == EXTPROF_WAIT_MUTEX && t->wait_owner == EXTPROF_OWNER_NOW);

	return endless && !is_in_timeout(t) ? number_of(threads, count, t->wait_thread) : NOBODY;
}

int deadlocks__find(struct extprof_dump_thread *const *threads, size_t count)
{
	/* seen: number of the walk that came by, from 1. */
	size_t *next = malloc((count + 1) * sizeof(*next)), *seen = calloc(count + 1, sizeof(*seen));
	int err = next && seen ? 0 : -ENOMEM;
	uint32_t found = 0;

	for (size_t i = 0; i < count && !err; i++)
		next[i] = waits_for(threads, count, threads[i]);
	for (size_t i = 0; i < count && !err; i++) {
		size_t at = i;

		while (at != NOBODY && !seen[at]) {
			seen[at] = i + 1;
			at = next[at];
		}
		/* A walk that comes upon itself has found a circle. */
		if (at == NOBODY || seen[at] != i + 1)
			continue;
		found++;
		for (; !threads[at]->deadlocked; at = next[at]) {
			threads[at]->deadlocked = true;
			threads[at]->deadlock = found;
		}
	}
	free(next);
	free(seen);
	return err;
}
