/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory processes had, and how full their heaps were, for timelines. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "recording/profile_parts.h"

struct figures {
	struct input *in;
	struct figure_points *to;
	struct diag *d;
	uint32_t *last;		/* by id of the process: number of its last point, from 1; 0 none */
	uint64_t step;		/* ns for which one point stands */
};

/* Of each step the largest value of a process is shown. */
static int take(void *context, sqlite3_stmt *s)
{
	struct figures *w = context;
	const struct recording_tables *tables = w->in->tables;
	int64_t at = sqlite3_column_int64(s, 0), id = sqlite3_column_int64(s, 1), value = sqlite3_column_int64(s, 2);
	struct figure_point point;
	struct figure_point *last;

	if (at < 0 || value < 0 || id < 1 || (uint64_t)id >= tables->process_count || tables->processes[id].pid <= 0)
		return 0;
	point = (struct figure_point){
		.time = recording_profile__time(w->in, (uint64_t)at), .pid = (uint32_t)tables->processes[id].pid,
		.value = (uint64_t)value,
	};
	last = w->last[id] ? &w->to->list[w->last[id] - 1] : NULL;
	if (last && last->time / w->step == point.time / w->step) {
		if (point.value >= last->value)
			*last = point;
		return 0;
	}
	/* Only a recording that somebody made up has so many. */
	if (w->to->count == TIMELINE_FIGURES_MAX)
		return 0;
	if (array__reserve(&w->to->list, w->to->count, 1, &w->to->room, TIMELINE_FIGURES_MAX, sizeof(point)))
		return recording_profile__no_memory(w->d);
	w->to->list[w->to->count++] = point;
	w->last[id] = w->to->count;
	return 0;
}

static int take_all(struct figures *w, struct figure_points *to, const char *sql)
{
	memset(w->last, 0, (w->in->tables->process_count + 1u) * sizeof(*w->last));
	w->to = to;
	return recording_profile__rows(w->in, sql, take, w, w->d);
}

int recording_profile__figures(struct input *in, struct timeline *t, struct diag *d)
{
	struct figures w = { .in = in, .d = d };
	uint64_t length = t->until > t->from ? t->until - t->from : 0;
	int version = recording_reader__version(in->reader), err = 0;

	w.step = length / TIMELINE_FIGURES + 1;
	w.last = malloc((in->tables->process_count + 1u) * sizeof(*w.last));
	if (!w.last)
		return recording_profile__no_memory(d);
	/* Older recordings have no such tables. */
	if (version >= 5)
		err = take_all(&w, &t->resident, "SELECT time_ns, process, resident FROM figures WHERE time_ns BETWEEN ? AND ? ORDER BY id");
	if (!err && version >= 6)
		err = take_all(&w, &t->live_slots, "SELECT time_ns, process, live_slots FROM heaps WHERE time_ns BETWEEN ? AND ? ORDER BY id");
	free(w.last);
	return err;
}
