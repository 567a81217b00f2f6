/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that exist already: the children of those that are wanted, or all of them. */
#include <errno.h>

#include "engine/relations.h"
#include "engine/state.h"

/* While they are read, others are made: after so many rounds the kernel has told of those. */
#define ROUNDS_MAX 8

/* Is one of its ancestors followed? */
static struct process *followed_ancestor(struct engine *e, const struct relations *r, const struct relation *of)
{
	/* The table is no snapshot: it may have a circle in it. */
	for (int depth = 0; of && depth < 256; depth++) {
		struct process *p = process_set__by_pid(&e->set, of->parent);

		if (p)
			return p;
		of = relations__find(r, of->parent);
	}
	return NULL;
}

/* It was not followed: extprof has no descriptor left for it, which is counted, or it has ended. */
static void not_followed(struct engine *e, int err, const struct diag *d, uint32_t *count)
{
	if (err != -EMFILE && err != -ENFILE)
		return;
	if (!e->not_added && !*count)
		e->why_not_added = *d;
	++*count;
}

void engine__discover_children(struct engine *e, pid_t of)
{
	struct relations r = { 0 };
	uint32_t missing = 0;
	struct diag d;

	for (int round = 0; round < ROUNDS_MAX; round++) {
		uint32_t found = 0;

		missing = 0;
		if (relations__read(&r, true))
			break;
		for (uint32_t i = 0; i < r.count; i++) {
			struct process *p, *ancestor;
			int err;

			if (process_set__by_pid(&e->set, r.list[i].pid) || (of && !relation__is_below(&r, &r.list[i], of)))
				continue;
			ancestor = followed_ancestor(e, &r, &r.list[i]);
			if (!ancestor)
				continue;
			err = engine__follow_pid(e, r.list[i].pid, false, &p, &d);
			if (err) {
				not_followed(e, err, &d, &missing);
				continue;
			}
			p->followed = true;
			p->parent = ancestor->number;
			found++;
		}
		/* Their children are told by the kernel from now on, but for those that were
		 * made between the reading and this. */
		if (!found)
			break;
	}
	e->not_added += missing;
	relations__free(&r);
}

void engine__discover_all(struct engine *e)
{
	struct relations r = { 0 };
	uint32_t missing = 0;
	struct process *p;
	struct diag d;

	if (!relations__read(&r, false))
		for (uint32_t i = 0; i < r.count; i++)
			if (!process_set__by_pid(&e->set, r.list[i].pid))
				not_followed(e, engine__follow_pid(e, r.list[i].pid, false, &p, &d), &d, &missing);
	e->not_added += missing;
	relations__free(&r);
}
