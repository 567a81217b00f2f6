/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory processes have, and how full their heaps are, now and then, for a recording. */
#include "engine/state.h"
#include "profile/figures.h"

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
		const struct process *p = e->set.list[e->figures_turn++ % count];
		struct process_memory m;
		struct heap_size h;

		if (!p || p->freed || p->row == PROCESS_NONE || !p->vm)
			continue;
		left--;
		if (!engine__read_memory(p, &m))
			err = recording_sink__figure(&e->recording, now, p->row, m.resident);
		if (!err && !engine__read_heap(p, &h))
			err = recording_sink__heap(&e->recording, now, p->row, &h);
	}
	return err;
}
