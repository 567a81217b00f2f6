/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory processes have, and how full their heaps are, now and then, for a recording. */
#include "engine/state.h"

/* How often each process is looked at. */
#define FIGURES_INTERVAL SECOND
/* Processes of one look.  Of more, each has its turn less often. */
#define FIGURES_AT_ONCE 64u

int engine__record_figures(struct engine *e, uint64_t now, bool last)
{
	uint32_t count = e->set.count, left = last ? count : FIGURES_AT_ONCE;
	int err = 0;

	if (!last && now < e->next_record_figures)
		return 0;
	e->next_record_figures = now + FIGURES_INTERVAL;
	for (uint32_t i = 0; i < count && left && !err; i++) {
		struct process *p = e->set.list[e->figures_turn++ % count];
		struct run_mark mark;
		uint64_t resident;
		struct heap_size h;

		if (!p || p->freed || p->row == PROCESS_NONE || !p->vm)
			continue;
		/* It has hardly run since, so its figures are those of the look before. */
		if (!last && !vm__is_due(p->vm, &p->figures_mark, &mark))
			continue;
		left--;
		if (!engine__read_resident(p, &resident))
			err = recording_sink__figure(&e->recording, now, p->row, resident);
		if (!err && !engine__read_heap(p, &h))
			err = recording_sink__heap(&e->recording, now, p->row, &h);
		if (!last)
			p->figures_mark = mark;
	}
	return err;
}
