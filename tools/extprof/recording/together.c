/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/together.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "recording/meta.h"
#include "recording/schema.h"

/* Rows that are looked at for one: somebody can have made up many that are alike. */
#define STEPS_MAX 256
/* Rows of threads, 140 MB; more are summed up. */
#define TOGETHER_THREADS_MAX (256u << 10)

static int no_memory(struct diag *d)
{
	return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the report");
}

/* A time that is not known stays 0. */
static uint64_t moved(uint64_t time, uint64_t later)
{
	return time ? time + later : 0;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static uint64_t hash_of_text(const char *text, uint64_t seed)
{
	return hash__bytes(text ? text : "", text ? strlen(text) : 0, seed);
}

/* Does a process that lived at the end of its recording go on in this row of another one? */
static bool goes_on(const struct process_row *row, const struct process_row *next)
{
	return row->pid == next->pid && row->uid == next->uid && !*row->ended && !row->replaced && !strcmp(row->command, next->command) &&
	       is_same_text(row->cgroup, next->cgroup) && is_same_text(row->executable, next->executable) &&
	       is_same_text(row->resource, next->resource);
}

static void continue_process(struct process_row *row, const struct process_row *next)
{
	if (next->started && (!row->started || next->started < row->started))
		row->started = next->started;
	row->ended_at = next->ended_at > row->ended_at ? next->ended_at : row->ended_at;
	memcpy(row->ended, next->ended, sizeof(row->ended));
	row->replaced = next->replaced;
	row->watched &= next->watched;
	if (*next->ruby_version)
		memcpy(row->ruby_version, next->ruby_version, sizeof(row->ruby_version));
	row->cpu_time += next->cpu_time;
	row->cpu_time_unfollowed += next->cpu_time_unfollowed;
	row->cpu_taken += next->cpu_taken;
	source_counters__add(&row->kernel, &next->kernel);
	received__add(&row->received, &next->received);
}

/* The number of the row that it is part of; PROCESS_NONE: it needs one of its own, which goes under *hash; 0: under none. */
static uint32_t find_process(const struct processes *sum, const struct together_part *of, const struct process_row *row, uint64_t *hash)
{
	uint32_t number, steps = 0;

	*hash = hash__mix((uint64_t)(uint32_t)row->pid << 32 | row->uid);
	*hash = hash_of_text(row->command, *hash);
	/* Another machine has other processes. */
	*hash = hash_of_text(of->host, *hash);
	while (of->maps && (number = map64__get(&of->maps->processes, *hash)) != MAP64_NONE) {
		if (goes_on(&sum->rows[number], row))
			return number;
		*hash = ++steps < STEPS_MAX ? *hash + 1 : 0;
		if (!*hash)
			break;
	}
	return PROCESS_NONE;
}

/* The parent of a process that goes on may have ended before this recording: then the process keeps the one that it had. */
static void set_parent(struct process_row *row, uint32_t parent, uint32_t number, const struct together_part *of)
{
	if (!of->maps || (parent != PROCESS_NONE && parent < number))
		row->parent = parent;
	else if (row->parent >= number)
		row->parent = PROCESS_NONE;
}

/* to[i]: the row that row i of the part has in the sum; PROCESS_NONE: there is no room for it. */
static int add_processes(struct report *sum, struct processes *part, const struct together_part *of, uint32_t *to, struct diag *d)
{
	struct processes *rows = &sum->processes;

	for (uint32_t i = 0; i < part->count; i++) {
		struct process_row *from = &part->rows[i];
		uint64_t hash;

		from->started = moved(from->started, of->later);
		from->ended_at = moved(from->ended_at, of->later);
		to[i] = find_process(rows, of, from, &hash);
		if (to[i] != PROCESS_NONE) {
			continue_process(&rows->rows[to[i]], from);
			continue;
		}
		to[i] = processes__add(rows);
		if (to[i] == PROCESS_NONE) {
			if (rows->count < PROCESSES_MAX)
				return no_memory(d);
			/* Their samples are those of others. */
			continue;
		}
		rows->rows[to[i]] = *from;
		from->cgroup = from->cwd = from->executable = from->resource = NULL;
		if (of->maps && hash && map64__add(&of->maps->processes, hash, to[i]))
			return no_memory(d);
	}
	for (uint32_t i = 0; i < part->count; i++)
		if (to[i] != PROCESS_NONE)
			set_parent(&rows->rows[to[i]], part->rows[i].parent < part->count ? to[part->rows[i].parent] : PROCESS_NONE, to[i], of);
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

/* The row of a thread that goes on; NULL: it needs one of its own, which goes under *hash; 0: under none. */
static struct thread_row *find_thread(struct thread_rows *sum, const struct together_part *of, const struct thread_row *row, uint64_t *hash)
{
	const struct thread_account *a = &row->account;
	uint32_t number, steps = 0;

	*hash = hash__mix((uint64_t)a->tid << 32 | a->process);
	*hash = hash_of_text(row->name, hash__bytes(a->comm, sizeof(a->comm), *hash ^ a->thread));
	while (of->maps && (number = map64__get(&of->maps->threads, *hash)) != MAP64_NONE) {
		const struct thread_row *old = &sum->rows[number];

		if (!old->ended && old->account.process == a->process && old->account.tid == a->tid && old->account.thread == a->thread &&
		    !memcmp(old->account.comm, a->comm, sizeof(a->comm)) && is_same_text(old->name, row->name))
			return &sum->rows[number];
		*hash = ++steps < STEPS_MAX ? *hash + 1 : 0;
		if (!*hash)
			break;
	}
	return NULL;
}

/* An account that has no row of its own. */
static void add_to_others(struct thread_rows *to, const struct thread_account *a, uint32_t threads)
{
	add_account(&to->others, a);
	to->other_count += threads;
}

static int add_threads(struct report *sum, const struct thread_rows *part, const struct together_part *of, struct diag *d)
{
	struct thread_rows *to = sum->threads;

	if (!to)
		to = sum->threads = calloc(1, sizeof(*to));
	if (!to)
		return no_memory(d);
	for (uint32_t i = 0; i < part->count; i++) {
		struct thread_row *from = &part->rows[i], *row;
		uint64_t hash;

		from->account.first = moved(from->account.first, of->later);
		from->account.until = moved(from->account.until, of->later);
		row = find_thread(to, of, from, &hash);
		if (row) {
			/* Its life is what was recorded of it. */
			add_account(&row->account, &from->account);
			row->ended = from->ended;
			continue;
		}
		if (to->count == TOGETHER_THREADS_MAX) {
			add_to_others(to, &from->account, 1);
			continue;
		}
		if (array__reserve(&to->rows, to->count, 1, &to->room, TOGETHER_THREADS_MAX, sizeof(*to->rows)) ||
		    (of->maps && hash && map64__add(&of->maps->threads, hash, to->count)))
			return no_memory(d);
		to->rows[to->count++] = *from;
		from->name = NULL;
	}
	add_to_others(to, &part->others, part->other_count);
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
		.name = strdup(name), .pid = m->pid, .period = m->period, .started = m->started, .duration = m->duration, .cpu_time = m->cpu_time,
		.missed = m->missed, .accounting = m->accounting,
	};
	if (!row->name)
		return no_memory(d);
	snprintf(row->command, sizeof(row->command), "%s", m->command);
	snprintf(row->ended, sizeof(row->ended), "%s", m->ended);
	sum->recording_count++;
	return 0;
}

void together_maps__free(struct together_maps *m)
{
	map64__free(&m->processes);
	map64__free(&m->threads);
}

void together__move(struct report *to, struct report *from)
{
	to->processes = from->processes;
	to->threads = from->threads;
	to->pauses = from->pauses;
	to->recordings = from->recordings;
	to->recording_count = from->recording_count;
	memset(from, 0, sizeof(*from));
}

int together__add(struct report *sum, struct report *part, const struct together_part *of, struct diag *d)
{
	uint32_t *rows = malloc((part->processes.count + 1u) * sizeof(*rows));
	int err = rows ? add_processes(sum, &part->processes, of, rows, d) : no_memory(d);

	free(rows);
	if (!err && part->threads)
		err = add_threads(sum, part->threads, of, d);
	if (!err && part->pauses)
		err = add_pauses(sum, part->pauses, of->frames, d);
	if (err)
		return err;
	recording_meta__add(&sum->meta, &part->meta, !sum->recording_count, of->first);
	return add_row(sum, &part->meta, of->name, d);
}
