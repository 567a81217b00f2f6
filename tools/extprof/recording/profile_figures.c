/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory processes had, for timelines. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "recording/profile_parts.h"
#include "recording/schema.h"

struct figures {
	struct input *in;
	struct timeline *t;
	struct diag *d;
	uint32_t *last;		/* by id of the process: number of its last point, from 1; 0 none */
	uint64_t step;		/* ns for which one point stands */
};

/* What the process had most within a step is what is shown of it. */
static int take(struct figures *w, sqlite3_stmt *s)
{
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

static int read_all(struct figures *w)
{
	sqlite3 *db = recording_reader__database(w->in->reader);
	sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(db, "SELECT time_ns, process, resident FROM figures WHERE time_ns BETWEEN ? AND ? ORDER BY id",
				      -1, &s, NULL), err = 0;

	if (code == SQLITE_OK) {
		sqlite3_bind_int64(s, 1, w->in->since > INT64_MAX ? INT64_MAX : (int64_t)w->in->since);
		sqlite3_bind_int64(s, 2, w->in->until > INT64_MAX ? INT64_MAX : (int64_t)w->in->until);
	}
	while (!err && code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		code = SQLITE_OK;
		err = take(w, s);
	}
	if (!err && code != SQLITE_DONE)
		err = schema__fail(db, code, DIAG_RECORDING, "the recording cannot be read", w->d);
	sqlite3_finalize(s);
	return err;
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
	err = w.last ? read_all(&w) : recording_profile__no_memory(d);
	free(w.last);
	return err;
}
