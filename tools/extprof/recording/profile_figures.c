/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory processes had, for timelines. */
#include <stdlib.h>

#include "base/array.h"
#include "recording/profile_parts.h"

struct figures {
	struct input *in;
	struct timeline *t;
	struct diag *d;
	uint32_t *last;		/* by id of the process: number of its last point, from 1; 0 none */
	uint64_t step;		/* ns for which one point stands */
};

/* What the process had most within a step is what is shown of it. */
static int take(void *context, sqlite3_stmt *s)
{
	struct figures *w = context;
	const struct recording_tables *tables = w->in->tables;
	int64_t at = sqlite3_column_int64(s, 0), id = sqlite3_column_int64(s, 1), resident = sqlite3_column_int64(s, 2);
	struct figure_point point;
	struct figure_point *last;

	if (at < 0 || resident < 0 || id < 1 || (uint64_t)id >= tables->process_count || tables->processes[id].pid <= 0)
		return 0;
	point = (struct figure_point){
		.time = recording_profile__time(w->in, (uint64_t)at), .pid = (uint32_t)tables->processes[id].pid,
		.resident = (uint64_t)resident,
	};
	last = w->last[id] ? &w->t->figures[w->last[id] - 1] : NULL;
	if (last && last->time / w->step == point.time / w->step) {
		if (point.resident >= last->resident)
			*last = point;
		return 0;
	}
	/* Only a recording that somebody made up has so many. */
	if (w->t->figure_count == TIMELINE_FIGURES_MAX)
		return 0;
	if (array__reserve(&w->t->figures, w->t->figure_count, 1, &w->t->figure_room, TIMELINE_FIGURES_MAX, sizeof(point)))
		return recording_profile__no_memory(w->d);
	w->t->figures[w->t->figure_count++] = point;
	w->last[id] = w->t->figure_count;
	return 0;
}

int recording_profile__figures(struct input *in, struct timeline *t, struct diag *d)
{
	struct figures w = { .in = in, .t = t, .d = d };
	uint64_t length = t->until > t->from ? t->until - t->from : 0;
	int err;

	/* Recordings of these versions have none. */
	if (recording_reader__version(in->reader) < 5)
		return 0;
	w.step = length / TIMELINE_FIGURES + 1;
	w.last = calloc(in->tables->process_count + 1u, sizeof(*w.last));
	err = !w.last ? recording_profile__no_memory(d) :
	      recording_profile__rows(in, "SELECT time_ns, process, resident FROM figures WHERE time_ns BETWEEN ? AND ? ORDER BY id", take, &w, d);
	free(w.last);
	return err;
}
