/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/account.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock_steps.h"
#include "recording/meta.h"
#include "recording/schema.h"
#include "wire/gc.h"

#ifndef EXTPROF_VERSION
#define EXTPROF_VERSION "unknown"
#endif

#define SECOND 1000000000ull

/* -- writing --------------------------------------------------------------------------------------- */

static int put(struct recording_writer *w, uint32_t process, uint32_t mode, const char *prefix, const char *reason,
	       uint64_t samples)
{
	char text[64];

	if (!samples)
		return 0;
	snprintf(text, sizeof(text), "%s%s", prefix, reason);
	return recording_writer__account(w, process, mode, text, samples);
}

static int write_accounting(struct recording_writer *w, uint32_t process, uint32_t mode, const struct accounting *a)
{
	int err = put(w, process, mode, "", "taken", a->taken);

	if (!err)
		err = put(w, process, mode, "", "cpu taken", a->cpu_taken);
	if (!err)
		err = put(w, process, mode, "", "whole", a->whole);
	for (unsigned int i = 0; i < TRUNC_MAX && !err; i++)
		err = a->truncated[i] ? put(w, process, mode, "truncated ", trunc__key(i), a->truncated[i]) : 0;
	for (unsigned int i = 0; i < LOSS_MAX && !err; i++)
		err = a->lost[i] ? put(w, process, mode, "lost ", loss__key(i), a->lost[i]) : 0;
	return err;
}

static int write_thread(struct recording_writer *w, const struct thread_account *a, const char *name, bool ended,
			uint32_t threads)
{
	char comm[sizeof(a->comm) + 1] = "";

	memcpy(comm, a->comm, sizeof(a->comm));
	return recording_writer__thread_account(w, &(struct recording_thread_account){
		.process = a->process, .tid = a->tid, .serial = a->thread, .name = name, .comm = comm,
		.first = a->first, .until = a->until, .ended = ended, .voluntary = a->voluntary,
		.involuntary = a->involuntary, .threads = threads, .time = a->time, .waits = a->waits,
		.states = STATE_ROOM });
}

static int write_threads(struct recording_writer *w, const struct thread_rows *threads)
{
	int err = recording_writer__set_number(w, "threads", 1);

	for (uint32_t i = 0; i < threads->count && !err; i++)
		err = write_thread(w, &threads->rows[i].account, threads->rows[i].name, threads->rows[i].ended, 0);
	if (threads->other_count && !err)
		err = write_thread(w, &threads->others, NULL, false, threads->other_count);
	return err ? err : recording_writer__set_number(w, "threads_lost", threads->lost);
}

static int write_processes(struct recording_writer *w, const struct processes *p)
{
	int err = 0;

	for (uint32_t i = 0; i < p->count && !err; i++) {
		struct accounting a = { 0 };

		process_row__account(&p->rows[i], &a);
		err = write_accounting(w, i + 1, 0, &a);
		if (!err)
			err = put(w, i + 1, 0, "", "missed", p->rows[i].kernel.missed);
		if (!err)
			err = put(w, i + 1, 0, "", "unfollowed", p->rows[i].kernel.unfollowed);
	}
	return err;
}

int recording_account__set_begin(struct recording_writer *w, uint64_t started_monotonic, time_t started)
{
	int err = recording_writer__set_number(w, "started_monotonic_ns", started_monotonic);

	if (!err)
		err = recording_writer__set_number(w, "started_unix_s", (uint64_t)started);
	return err ? err : recording_writer__set_number(w, "started_unix_ns", started_monotonic + (uint64_t)clock_offsets__read().wall);
}

int recording_account__begin(struct recording_writer *w, const struct recording_view *view, uint64_t started_monotonic,
			     time_t started, uint64_t period)
{
	struct text groups = { 0 };
	int err;

	groups__add_text(&view->groups, &groups);
	err = recording_writer__set_text(w, "extprof", EXTPROF_VERSION);
	if (!err)
		err = recording_writer__set_text(w, "groups", text__string(&groups));
	if (!err)
		err = recording_writer__set_number(w, "groups_by_default", view->group_by_default);
	if (!err)
		err = recording_writer__set_number(w, "groups_by_pattern", view->groups.patterns_allowed);
	if (!err)
		err = recording_writer__set_number(w, "lines", view->lines);
	if (!err)
		err = recording_account__set_begin(w, started_monotonic, started);
	if (!err)
		err = recording_writer__set_number(w, "period_ns", period);
	text__free(&groups);
	return err;
}

int recording_account__end(struct recording_writer *w, const struct reports *reports)
{
	bool threads = false, pauses = false;
	int err = 0;

	for (uint32_t i = 0; i < reports->count && !err; i++) {
		const struct report *r = &reports->list[i];
		char key[32];

		err = recording_meta__write(w, i + 1, &r->meta);
		if (!err)
			err = write_accounting(w, 0, i + 1, &r->meta.accounting);
		snprintf(key, sizeof(key), "mode.%u.threads", i + 1);
		if (!err && r->threads)
			err = recording_writer__set_number(w, key, 1);
		snprintf(key, sizeof(key), "mode.%u.pauses", i + 1);
		if (!err && r->pauses)
			err = recording_writer__set_number(w, key, 1);
		/* They are the same for all modes. */
		if (!err && !i)
			err = write_accounting(w, 0, 0, &r->meta.all_modes);
		if (!err && !i)
			err = write_processes(w, &r->processes);
		if (!err && r->threads && !threads)
			err = write_threads(w, r->threads);
		threads |= r->threads != NULL;
		pauses |= r->pauses != NULL;
	}
	return err ? err : recording_writer__set_number(w, "ended", 1);
}

/* -- reading --------------------------------------------------------------------------------------- */

static int damaged(struct diag *d, const char *what)
{
	return diag__set(d, DIAG_RECORDING, EBADMSG, "the recording is damaged: %s", what);
}

static int no_memory(struct diag *d)
{
	return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the report");
}

int recording_account__view(struct recording_reader *r, struct recording_view *view, struct diag *d)
{
	char *groups = recording_reader__text(r, "groups");
	int err = 0;

	memset(view, 0, sizeof(*view));
	/* An empty list has another word. */
	if (groups && *groups && groups__parse(groups, &view->groups))
		err = damaged(d, "its groups are unknown");
	view->groups.patterns_allowed = recording_reader__number(r, "groups_by_pattern");
	view->group_by_default = recording_reader__number(r, "groups_by_default");
	view->lines = recording_reader__number(r, "lines");
	free(groups);
	return err;
}

static void take_reason(struct accounting *a, struct source_counters *kernel, const char *reason, uint64_t samples)
{
	if (!strcmp(reason, "taken"))
		a->taken = samples;
	else if (!strcmp(reason, "cpu taken"))
		a->cpu_taken = samples;
	else if (!strcmp(reason, "whole"))
		a->whole = samples;
	else if (!strcmp(reason, "missed") && kernel)
		kernel->missed = samples;
	else if (!strcmp(reason, "unfollowed") && kernel)
		kernel->unfollowed = samples;
	else if (!strncmp(reason, "truncated ", 10))
		for (unsigned int i = 0; i < TRUNC_MAX; i++)
			a->truncated[i] += trunc__key(i) && !strcmp(reason + 10, trunc__key(i)) ? samples : 0;
	else if (!strncmp(reason, "lost ", 5))
		for (unsigned int i = 0; i < LOSS_MAX; i++)
			a->lost[i] += loss__key(i) && !strcmp(reason + 5, loss__key(i)) ? samples : 0;
}

/* Counters from which process_row__account() makes the same account again. */
static void give_account(struct process_row *row, const struct accounting *a)
{
	row->kernel.taken = a->taken;
	row->kernel.whole = row->received.whole = a->whole;
	for (int i = 0; i < TRUNC_MAX; i++)
		row->kernel.truncated[i] = row->received.truncated[i] = a->truncated[i];
	memcpy(row->kernel.lost, a->lost, sizeof(a->lost));
}

static sqlite3_stmt *prepare(struct recording_reader *r, const char *sql, int *code)
{
	sqlite3_stmt *s = NULL;

	*code = sqlite3_prepare_v2(recording_reader__database(r), sql, -1, &s, NULL);
	return s;
}

static int done(struct recording_reader *r, sqlite3_stmt *s, int code, struct diag *d)
{
	int err = code == SQLITE_DONE ? 0 : schema__fail(recording_reader__database(r), code, DIAG_RECORDING,
							 "the recording cannot be read", d);

	sqlite3_finalize(s);
	return err;
}

static int read_accounts(struct recording_reader *r, uint32_t mode, struct report *report, struct diag *d)
{
	struct processes *p = &report->processes;
	struct accounting *of = calloc(p->count + 1, sizeof(*of));
	sqlite3_stmt *s;
	int code;

	if (!of)
		return no_memory(d);
	s = prepare(r, "SELECT process, mode, reason, samples FROM accounts", &code);
	while (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		uint64_t process = row__amount(s, 0), number = row__amount(s, 1);
		const char *reason = (const char *)sqlite3_column_text(s, 2);

		code = SQLITE_OK;
		if (!reason || process > p->count)
			continue;
		if (!process && number == mode)
			take_reason(&report->meta.accounting, NULL, reason, row__amount(s, 3));
		else if (!process && !number)
			take_reason(&report->meta.all_modes, NULL, reason, row__amount(s, 3));
		else if (process && !number)
			take_reason(&of[process], &p->rows[process - 1].kernel, reason, row__amount(s, 3));
	}
	for (uint32_t i = 0; i < p->count; i++)
		give_account(&p->rows[i], &of[i + 1]);
	free(of);
	return done(r, s, code, d);
}

/* How long it says that it lasted, with its pauses, ns: the last of its threads may have slept.  0: it has not ended. */
static uint64_t own_length(struct recording_reader *r)
{
	const char *why;
	double length;

	if (!recording_reader__ended(r, &why))
		return 0;
	length = recording_reader__real(r, "mode.1.duration") + (double)(uint64_t)recording_reader__number(r, "mode.1.paused") / 1e9;
	/* No recording lasts that long: the number is damaged. */
	return length > 0 && length < 9e9 ? (uint64_t)(length * 1e9) : 0;
}

int recording_account__times(struct recording_reader *r, uint64_t *begin, uint64_t *end, struct diag *d)
{
	uint64_t began = recording_reader__begin(r), length = own_length(r), last = 0;
	sqlite3_stmt *s;
	int code;

	*begin = *end = recording_reader__wall(r);
	s = prepare(r, "SELECT max(last_ns) FROM blocks", &code);
	while (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		last = row__amount(s, 0);
		code = SQLITE_OK;
	}
	/* All are below 2^63. */
	if (last > began && last - began > length)
		length = last - began;
	*end += length;
	return done(r, s, code, d);
}

int recording_account__paused(struct recording_reader *r, uint64_t from, uint64_t until, uint64_t *ns, struct diag *d)
{
	sqlite3_stmt *s;
	int code;

	*ns = 0;
	s = prepare(r, "SELECT time_ns, number FROM events WHERE kind=(SELECT id FROM strings WHERE text='" RECORDING_PAUSED "')",
		    &code);
	while (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		uint64_t begin = row__amount(s, 0), end = begin + row__amount(s, 1);

		code = SQLITE_OK;
		begin = begin < from ? from : begin;
		end = end > until ? until : end;
		/* They do not overlap, unless somebody has made them up. */
		if (end > begin && end - begin <= until - from - *ns)
			*ns += end - begin;
	}
	return done(r, s, code, d);
}

/* A text of a process in the table `meta`; NULL: there is none. */
static char *process_text(struct recording_reader *r, const char *form, uint32_t process)
{
	char key[40];

	snprintf(key, sizeof(key), form, process);
	return recording_reader__text(r, key);
}

char *recording_account__cwd(struct recording_reader *r, uint32_t process)
{
	return process_text(r, RECORDING_CWD_KEY, process);
}

char *recording_account__directory(struct recording_reader *r)
{
	struct text text = { 0 };
	sqlite3_stmt *s;
	int code, rows = 0;

	s = prepare(r, "SELECT DISTINCT value FROM meta WHERE key GLOB 'process.*.cwd' LIMIT 2", &code);
	while (code == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
		const char *data = (const char *)sqlite3_column_text(s, 0);

		if (data && !rows++)
			text__add_clean(&text, data, (size_t)sqlite3_column_bytes(s, 0), RECORDING_TEXT_MAX);
	}
	sqlite3_finalize(s);
	if (rows != 1 || text.failed)
		text__free(&text);
	return text.data;
}

static uint64_t length_of(const char *text)
{
	return text ? strlen(text) : 0;
}

static int read_processes(struct recording_reader *r, const struct recording_tables *t, struct report *report,
			  struct diag *d)
{
	struct processes *p = &report->processes;
	uint64_t bytes = 0;

	for (uint32_t id = 1; id < t->process_count; id++) {
		const struct process_entry *from = &t->processes[id];
		struct process_row *row;

		/* A profile has no more. */
		if (processes__add(p) == PROCESS_NONE)
			return diag__set(d, DIAG_RECORDING, E2BIG, "the recording has too many processes");
		row = &p->rows[id - 1];
		row->pid = from->pid;
		row->parent = from->parent ? from->parent - 1 : PROCESS_NONE;
		row->uid = from->uid;
		/* Texts that are longer than here end with a whole character. */
		text__clean(row->command, sizeof(row->command), from->command);
		text__clean(row->ruby_version, sizeof(row->ruby_version), from->ruby);
		text__clean(row->ended, sizeof(row->ended), from->ended);
		row->replaced = from->flags & RECORDING_REPLACED;
		row->watched = from->flags & RECORDING_WATCHED;
		row->started = from->began;
		row->ended_at = from->ended_at;
		row->cpu_time = from->cpu;
		row->cpu_time_unfollowed = from->cpu_unfollowed;
		row->cpu_taken = from->cpu_samples;
		row->cwd = recording_account__cwd(r, id);
		row->executable = process_text(r, RECORDING_EXECUTABLE_KEY, id);
		if (from->resource && !(row->resource = strdup(from->resource)))
			return no_memory(d);
		bytes += strlen(from->cgroup) + length_of(row->cwd) + length_of(row->executable) + length_of(row->resource);
		if (bytes > RECORDING_TEXTS_MAX)
			return damaged(d, "the texts of its processes are too long");
		if (*from->cgroup && !(row->cgroup = strdup(from->cgroup)))
			return no_memory(d);
	}
	return 0;
}

static struct thread_row *add_thread(struct thread_rows *rows)
{
	struct thread_row *row;

	if (rows->count == rows->room)
		return NULL;
	row = &rows->rows[rows->count++];
	memset(row, 0, sizeof(*row));
	return row;
}

static int read_threads(struct recording_reader *r, struct report *report, struct diag *d)
{
	struct thread_rows *rows = report->threads = calloc(1, sizeof(*rows));
	struct thread_account *account = NULL;
	uint64_t bytes = 0;
	int64_t last = -1;
	sqlite3_stmt *s;
	int code, err = 0;

	if (!rows)
		return no_memory(d);
	rows->lost = (uint64_t)recording_reader__number(r, "threads_lost");
	s = prepare(r, "SELECT count(*) FROM thread_accounts", &code);
	if (code == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		rows->room = row__amount(s, 0);
	sqlite3_finalize(s);
	if (rows->room > RECORDING_THREADS_MAX)
		return damaged(d, "it has too many threads");
	rows->rows = calloc(rows->room + 1, sizeof(*rows->rows));
	if (!rows->rows)
		return no_memory(d);
	s = prepare(r, "SELECT a.id, a.process, tid, serial, n.text, c.text, first_ns, until_ns, ended, voluntary, "
		    "involuntary, threads, state, ns, waits FROM thread_accounts a LEFT JOIN strings n ON n.id=a.name "
		    "LEFT JOIN strings c ON c.id=comm LEFT JOIN thread_states ON account=a.id ORDER BY a.id", &code);
	while (!err && code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		uint64_t state = row__amount(s, 12);

		code = SQLITE_OK;
		if (sqlite3_column_int64(s, 0) != last) {
			const char *name = (const char *)sqlite3_column_text(s, 4);
			const char *comm = (const char *)sqlite3_column_text(s, 5);
			struct thread_row *row = NULL;

			last = sqlite3_column_int64(s, 0);
			rows->other_count += (uint32_t)row__amount(s, 11);
			if (!row__amount(s, 11) && !(row = add_thread(rows)))
				break;
			account = row ? &row->account : &rows->others;
			account->process = (uint32_t)row__amount(s, 1);
			account->tid = (uint32_t)row__amount(s, 2);
			account->thread = row__amount(s, 3);
			account->first = row__amount(s, 6);
			account->until = row__amount(s, 7);
			account->voluntary = row__amount(s, 9);
			account->involuntary = row__amount(s, 10);
			snprintf(account->comm, sizeof(account->comm), "%s", comm ? comm : "");
			if (row) {
				struct text clean = { 0 };

				row->ended = row__amount(s, 8);
				if (name)
					text__add_clean(&clean, name, strlen(name), RECORDING_TEXT_MAX);
				row->name = clean.data;
				bytes += clean.length;
				err = clean.failed ? no_memory(d) : bytes <= RECORDING_TEXTS_MAX ? 0 :
				      damaged(d, "the names of its threads are too long");
			}
		}
		/* An id of -1 is none of ours. */
		if (!account || sqlite3_column_type(s, 12) == SQLITE_NULL || state >= STATE_ROOM)
			continue;
		account->time[state] = row__amount(s, 13);
		account->waits[state] = row__amount(s, 14);
	}
	if (err) {
		sqlite3_finalize(s);
		return err;
	}
	return done(r, s, code, d);
}

/* The pauses are added up as they were when they came. */
static int read_pauses(struct recording_reader *r, const struct recording_tables *t, uint64_t since, uint64_t until,
		       struct report *report, struct diag *d)
{
	struct gc_pauses *p = report->pauses = calloc(1, sizeof(*p));
	sqlite3_stmt *s;
	int code, err = 0;

	if (!p)
		return no_memory(d);
	s = prepare(r, "SELECT thread, length_ns, waited_ns, mark_ns, sweep_ns, compact_ns, cause FROM pauses "
		    "WHERE time_ns BETWEEN ? AND ?", &code);
	if (code == SQLITE_OK) {
		sqlite3_bind_int64(s, 1, since > INT64_MAX ? INT64_MAX : (int64_t)since);
		sqlite3_bind_int64(s, 2, until > INT64_MAX ? INT64_MAX : (int64_t)until);
	}
	while (!err && code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		uint64_t thread = row__amount(s, 0);
		struct sample_event e = {
			.source = SOURCE_GC, .value = row__amount(s, 1), .more = row__amount(s, 2), .extra = (uint32_t)row__amount(s, 6),
			.detail = (row__amount(s, 3) / GC_UNIT & 0xffffffff) | row__amount(s, 4) / GC_UNIT << 32,
			.state = (uint32_t)(row__amount(s, 5) / GC_UNIT),
		};

		code = SQLITE_OK;
		if (gc_pauses__add(p, &e, thread < t->thread_count ? t->threads[thread].frame : 0))
			err = no_memory(d);
	}
	if (err) {
		sqlite3_finalize(s);
		return err;
	}
	for (uint32_t i = 0; i < p->thread_count; i++)
		if (p->threads[i].frame && gc_pauses__set_name(p, p->threads[i].frame,
							       t->texts[p->threads[i].frame]))
			err = no_memory(d);
	return done(r, s, code, d) ? -EBADMSG : err;
}

int recording_account__read(struct recording_reader *r, const struct recording_tables *t, uint32_t mode, uint64_t since,
			    uint64_t until, struct report *report, struct diag *d)
{
	char key[32];
	int err = read_processes(r, t, report, d);

	if (err)
		return err;
	recording_meta__read(r, mode, &report->meta);
	err = read_accounts(r, mode, report, d);
	snprintf(key, sizeof(key), "mode.%u.threads", mode);
	if (!err && recording_reader__number(r, key))
		err = read_threads(r, report, d);
	snprintf(key, sizeof(key), "mode.%u.pauses", mode);
	if (!err && recording_reader__number(r, key))
		err = read_pauses(r, t, since, until, report, d);
	return err;
}
