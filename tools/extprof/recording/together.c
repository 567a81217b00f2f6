/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/together.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "recording/meta.h"
#include "recording/schema.h"

static int no_memory(struct diag *d)
{
	return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the report");
}

/* A time that is not known stays 0. */
static uint64_t moved(uint64_t time, uint64_t later)
{
	return time ? time + later : 0;
}

static int add_processes(struct processes *sum, struct processes *part, uint64_t later, struct diag *d)
{
	uint32_t base = sum->count;

	for (uint32_t i = 0; i < part->count; i++) {
		struct process_row *from = &part->rows[i], *row;

		if (processes__add(sum) == PROCESS_NONE)
			return diag__set(d, DIAG_RECORDING, E2BIG, "the recordings have too many processes together");
		row = &sum->rows[base + i];
		*row = *from;
		from->cgroup = from->cwd = from->executable = from->resource = NULL;
		if (row->parent != PROCESS_NONE)
			row->parent += base;
		row->started = moved(row->started, later);
		row->ended_at = moved(row->ended_at, later);
	}
	return 0;
}

static void add_account(struct thread_account *sum, const struct thread_account *a)
{
	sum->until += a->until - a->first;
	sum->voluntary += a->voluntary;
	sum->involuntary += a->involuntary;
	for (int i = 0; i < STATE_ROOM; i++) {
		sum->time[i] += a->time[i];
		sum->waits[i] += a->waits[i];
	}
}

static int add_threads(struct report *sum, const struct thread_rows *part, uint64_t later, struct diag *d)
{
	struct thread_rows *to = sum->threads;

	if (!to)
		to = sum->threads = calloc(1, sizeof(*to));
	if (!to)
		return no_memory(d);
	if (to->count + part->count > RECORDING_THREADS_MAX)
		return diag__set(d, DIAG_RECORDING, E2BIG, "the recordings have too many threads together");
	if (array__reserve(&to->rows, to->count, part->count, &to->room, RECORDING_THREADS_MAX, sizeof(*to->rows)))
		return no_memory(d);
	for (uint32_t i = 0; i < part->count; i++) {
		struct thread_row *row = &to->rows[to->count++];

		*row = part->rows[i];
		part->rows[i].name = NULL;
		row->account.first = moved(row->account.first, later);
		row->account.until = moved(row->account.until, later);
	}
	add_account(&to->others, &part->others);
	to->other_count += part->other_count;
	to->lost += part->lost;
	return 0;
}

static int add_pauses(struct report *sum, const struct gc_pauses *part, uint64_t frames, struct diag *d)
{
	if (!sum->pauses)
		sum->pauses = calloc(1, sizeof(*sum->pauses));
	return sum->pauses && !gc_pauses__merge(sum->pauses, part, frames) ? 0 : no_memory(d);
}

static int add_row(struct report *sum, const struct report_meta *m, const char *name, struct diag *d)
{
	struct report_recording *list = realloc(sum->recordings, (sum->recording_count + 1) * sizeof(*list)), *row;

	if (!list)
		return no_memory(d);
	sum->recordings = list;
	row = &list[sum->recording_count];
	*row = (struct report_recording){
		.name = strdup(name), .pid = m->pid, .started = m->started, .duration = m->duration, .cpu_time = m->cpu_time,
		.missed = m->missed, .accounting = m->accounting,
	};
	if (!row->name)
		return no_memory(d);
	snprintf(row->command, sizeof(row->command), "%s", m->command);
	snprintf(row->ended, sizeof(row->ended), "%s", m->ended);
	sum->recording_count++;
	return 0;
}

int together__add(struct report *sum, struct report *part, const struct together_part *of, struct diag *d)
{
	int err = add_processes(&sum->processes, &part->processes, of->later, d);

	if (!err && part->threads)
		err = add_threads(sum, part->threads, of->later, d);
	if (!err && part->pauses)
		err = add_pauses(sum, part->pauses, of->frames, d);
	if (err)
		return err;
	recording_meta__add(&sum->meta, &part->meta, !sum->recording_count, of->first);
	return add_row(sum, &part->meta, of->name, d);
}
