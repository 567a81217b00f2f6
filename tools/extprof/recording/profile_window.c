/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A time of a recording as if it alone had been recorded.  What lasted is cut to it, also if it ended later, and the
 * account is that of the samples and looks of the time: which processes there were, what each thread did, what was lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "base/utc.h"
#include "recording/profile_parts.h"
#include "recording/schema.h"

/* A look at the memory of a process is good for so long: of many processes each has its turn. */
#define LOOK_MAX (60 * 1000000000ull)
/* Threads of one time and mode. */
#define WINDOW_THREADS_MAX (256u << 10)

int recording_window__begin(const struct recording_profile *p, struct input *in, struct diag *d)
{
	struct window *w = &in->window;

	w->processes = calloc(in->tables->process_count, sizeof(*w->processes));
	if (!w->processes)
		return recording_profile__no_memory(d);
	w->process_count = in->tables->process_count;
	w->cpu_mode = -1;
	for (uint32_t i = 0; i < p->mode_count; i++)
		if (in->ids[i] && (p->modes[i] == &mode_cpu || (p->modes[i] == &mode_wall && w->cpu_mode < 0)))
			w->cpu_mode = (int)i;
	return 0;
}

void recording_window__free(struct window *w)
{
	free(w->threads);
	free(w->processes);
	map64__free(&w->map);
	memset(w, 0, sizeof(*w));
}

bool recording_window__cut(uint64_t since, uint64_t until, uint64_t begin, struct recording_sample *s)
{
	uint64_t end;

	if (begin >= s->time)
		return s->time >= since && s->time < until;
	end = begin + s->value < until ? begin + s->value : until;
	begin = begin > since ? begin : since;
	if (end <= begin)
		return false;
	s->value = end - begin;
	return true;
}

/* NULL: out of memory. */
static struct window_thread *thread_of(struct window *w, uint32_t thread, uint32_t mode)
{
	uint64_t key = (uint64_t)mode << 32 | thread;
	uint32_t i = map64__get(&w->map, key);

	if (i != MAP64_NONE)
		return &w->threads[i];
	if (array__reserve(&w->threads, w->thread_count, 1, &w->thread_room, WINDOW_THREADS_MAX, sizeof(*w->threads)) ||
	    map64__add(&w->map, key, w->thread_count))
		return NULL;
	w->threads[w->thread_count] = (struct window_thread){ .thread = thread, .mode = mode };
	return &w->threads[w->thread_count++];
}

int recording_window__add(struct recording_profile *p, struct input *in, const struct recording_sample *s)
{
	struct window *w = &in->window;
	struct window_process *process = &w->processes[in->tables->threads[s->thread].process];
	uint32_t mode = (uint32_t)in->number_of[s->mode];
	struct window_thread *thread;

	process->samples++;
	/* Sums are checked where all samples are added up; here nobody may make them too large either. */
	if (s->value > INT64_MAX)
		return -EOVERFLOW;
	if (in->number_of[s->mode] == w->cpu_mode && s->state == STATE_RUNNING)
		process->cpu += process->cpu < INT64_MAX ? s->value : 0;
	if (!p->modes[mode]->has_states || !s->thread || s->state >= STATE_ROOM)
		return 0;
	thread = thread_of(w, s->thread, mode);
	if (!thread)
		return -ENOMEM;
	thread->times[s->state] += thread->times[s->state] < INT64_MAX ? s->value : 0;
	return 0;
}

/* -- the account ---------------------------------------------------------------------------------- */

struct account {
	const struct input *in;
	struct report *report;
	struct diag *d;
};

/* They are told with the samples that are written together. */
static int take_loss(void *context, sqlite3_stmt *s)
{
	struct accounting *a = &((struct account *)context)->report->meta.accounting;
	const char *reason = (const char *)sqlite3_column_text(s, 0);
	uint64_t number = row__amount(s, 1);

	for (unsigned int i = 0; reason && i < LOSS_MAX; i++)
		if (loss__key(i) && !strcmp(reason, loss__key(i)) && number <= INT64_MAX - a->taken % INT64_MAX) {
			a->lost[i] += number;
			a->taken += number;
		}
	return 0;
}

/* The row of a process, if it lived at the end of the time.  NULL: it did not. */
static struct process_row *row_of(const struct account *a, uint64_t id)
{
	struct process_row *row = id && id <= a->report->processes.count ? &a->report->processes.rows[id - 1] : NULL;

	return row && !*row->ended ? row : NULL;
}

static int take_memory(void *context, sqlite3_stmt *s)
{
	struct process_row *row = row_of(context, row__amount(s, 0));

	if (row)
		row->resident = row__amount(s, 1);
	return 0;
}

static int take_heap(void *context, sqlite3_stmt *s)
{
	struct process_row *row = row_of(context, row__amount(s, 0));

	if (row)
		row->heap = (struct heap_size){ .live = row__amount(s, 1), .slots = row__amount(s, 2), .page_bytes = row__amount(s, 3) };
	return 0;
}

static void set_process(const struct account *a, uint32_t id, struct process_row *row)
{
	static const struct window_process nothing;
	/* One that is still being written can have more by now. */
	const struct window_process *had = id < a->in->window.process_count ? &a->in->window.processes[id] : &nothing;

	row->kernel = (struct source_counters){ .taken = had->samples, .whole = had->samples };
	row->received = (struct received){ .whole = had->samples };
	row->cpu_taken = 0;
	row->cpu_time = had->cpu;
	row->cpu_time_unfollowed = 0;
	if (row->ended_at <= a->in->until)
		return;
	/* It ended later. */
	row->ended_at = 0;
	*row->ended = '\0';
}

static int add_thread(const struct account *a, const struct window_thread *had)
{
	const struct recording_tables *t = a->in->tables;
	const struct thread_entry *entry = &t->threads[had->thread];
	struct thread_rows *rows = a->report->threads;
	struct thread_row *row = &rows->rows[rows->count++];
	uint64_t life = 0;

	*row = (struct thread_row){
		.pid = t->processes[entry->process].pid, .account.process = entry->process, .account.tid = t->frames[entry->frame].tid,
		.account.thread = entry->frame && t->frames[entry->frame].role == ROLE_RUBY,
	};
	for (int i = 0; i < STATE_ROOM; i++) {
		row->account.time[i] = had->times[i];
		life += had->times[i];
	}
	row->account.first = a->in->since > a->in->begin ? a->in->since : a->in->begin;
	row->account.until = row->account.first + life;
	row->name = strdup(entry->frame ? t->texts[entry->frame] : "");
	return row->name ? 0 : -ENOMEM;
}

static int set_threads(const struct account *a, uint32_t mode)
{
	const struct window *w = &a->in->window;
	struct thread_rows *rows = a->report->threads;
	int err = 0;

	thread_rows__free(rows);
	memset(rows, 0, sizeof(*rows));
	rows->rows = calloc(w->thread_count + 1u, sizeof(*rows->rows));
	if (!rows->rows)
		return -ENOMEM;
	rows->room = w->thread_count + 1u;
	for (uint32_t i = 0; i < w->thread_count && !err; i++)
		if (w->threads[i].mode == mode && w->threads[i].thread < a->in->tables->thread_count)
			err = add_thread(a, &w->threads[i]);
	return err;
}

/* The first one that fired in that time. */
static int take_trigger(void *context, sqlite3_stmt *s)
{
	const struct account *a = context;
	char at[UTC_SIZE], text[sizeof(a->report->meta.trigger)];
	uint64_t after = (uint64_t)sqlite3_column_int64(s, 1) - a->in->begin;
	const char *what = (const char *)sqlite3_column_text(s, 0);

	snprintf(text, sizeof(text), "%s %s", utc__text(at, a->in->wall + after, false), what ? what : "");
	text__clean(a->report->meta.trigger, sizeof(a->report->meta.trigger), text);
	return 0;
}

int recording_window__trigger(const struct input *in, struct report *report, struct diag *d)
{
	struct account a = { .in = in, .report = report, .d = d };

	*report->meta.trigger = '\0';
	return recording_profile__rows(in, "SELECT n.text, time_ns FROM events JOIN strings n ON n.id=events.text WHERE kind=(SELECT id "
				       "FROM strings WHERE text='" RECORDING_TRIGGER "') AND time_ns BETWEEN ? AND ? ORDER BY time_ns LIMIT 1",
				       take_trigger, &a, d);
}

int recording_window__account(const struct recording_profile *p, const struct input *in, uint32_t mode, struct report *report,
			      struct diag *d)
{
	struct account a = { .in = in, .report = report, .d = d };
	struct report_meta *m = &report->meta;
	uint64_t from = in->until > LOOK_MAX ? in->until - LOOK_MAX : 0;
	int version = recording_reader__version(in->reader), err;

	m->accounting = (struct accounting){ .taken = in->rows[mode], .whole = in->rows[mode] };
	m->cpu_time = 0;
	for (uint32_t id = 1; id < in->tables->process_count; id++) {
		set_process(&a, id, &report->processes.rows[id - 1]);
		m->cpu_time += report->processes.rows[id - 1].cpu_time;
	}
	/* The recording may not have ended. */
	if (p->modes[mode]->has_states && !report->threads && !(report->threads = calloc(1, sizeof(*report->threads))))
		return recording_profile__no_memory(d);
	if (report->threads && set_threads(&a, mode))
		return recording_profile__no_memory(d);
	err = recording_profile__rows(in, "SELECT n.text, number FROM events JOIN strings n ON n.id=events.text "
				      "WHERE kind=(SELECT id FROM strings WHERE text='lost') AND time_ns BETWEEN ? AND ?", take_loss, &a, d);
	/* Older recordings have no such tables. */
	if (!err && version >= 5)
		err = recording_profile__rows_of(in, from, in->until, "SELECT process, resident FROM figures WHERE time_ns BETWEEN ? AND ? "
						 "ORDER BY id", take_memory, &a, d);
	if (!err && version >= 6)
		err = recording_profile__rows_of(in, from, in->until, "SELECT process, live_slots, slots, bytes FROM heaps WHERE time_ns "
						 "BETWEEN ? AND ? ORDER BY id", take_heap, &a, d);
	return err;
}
