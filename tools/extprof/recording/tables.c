/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/text.h"
#include "recording/schema.h"
#include "wire/states.h"

struct load {
	struct recording_tables *t;
	sqlite3 *db;
	sqlite3_stmt *row;
	struct diag *d;
	uint64_t text_bytes, frame_bytes;
};

static int bad(struct load *l, const char *what)
{
	return diag__set(l->d, DIAG_RECORDING, EBADMSG, "the recording is damaged: %s", what);
}

static int no_memory(struct load *l)
{
	return diag__set(l->d, DIAG_INTERNAL, ENOMEM, "out of memory for the tables of the recording");
}

/* NULL is 0. */
static bool number(struct load *l, int column, int64_t low, int64_t high, int64_t *to)
{
	*to = sqlite3_column_int64(l->row, column);
	return (sqlite3_column_type(l->row, column) == SQLITE_INTEGER ||
		(sqlite3_column_type(l->row, column) == SQLITE_NULL && low <= 0)) && *to >= low && *to <= high;
}

static bool number32(struct load *l, int column, uint32_t below, uint32_t *to)
{
	int64_t value;

	if (!number(l, column, 0, (int64_t)below - 1, &value))
		return false;
	*to = (uint32_t)value;
	return true;
}

static bool number8(struct load *l, int column, uint8_t *to)
{
	uint32_t value;

	if (!number32(l, column, 256, &value))
		return false;
	*to = (uint8_t)value;
	return true;
}

static bool line(struct load *l, int column, int32_t *to)
{
	int64_t value;

	if (!number(l, column, 0, INT32_MAX, &value))
		return false;
	*to = (int32_t)value;
	return true;
}

static bool amount(struct load *l, int column, uint64_t *to)
{
	int64_t value;

	if (!number(l, column, 0, INT64_MAX, &value))
		return false;
	*to = (uint64_t)value;
	return true;
}

static bool string(struct load *l, int column, const char **to)
{
	uint32_t id;

	if (!number32(l, column, l->t->string_count ? l->t->string_count : 1, &id))
		return false;
	*to = id ? l->t->strings[id] : "";
	return *to != NULL;
}

/* Room for all rows of a table, zeroed: *count is the largest id + 1. */
static int make_room(struct load *l, const char *table, uint32_t max, void *list, size_t size, uint32_t *count)
{
	char *sql = sqlite3_mprintf("SELECT count(*), max(id), min(id) FROM %s", table);
	int code = sql ? sqlite3_prepare_v2(l->db, sql, -1, &l->row, NULL) : SQLITE_NOMEM;
	int64_t rows = 0;
	bool dense = false;
	void *room;

	sqlite3_free(sql);
	if (code == SQLITE_OK && (code = sqlite3_step(l->row)) == SQLITE_ROW) {
		rows = sqlite3_column_int64(l->row, 0);
		dense = !rows || (sqlite3_column_int64(l->row, 1) == rows && sqlite3_column_int64(l->row, 2) == 1);
		code = SQLITE_OK;
	}
	sqlite3_finalize(l->row);
	l->row = NULL;
	if (code != SQLITE_OK)
		return schema__fail(l->db, code, DIAG_RECORDING, "the recording cannot be read", l->d);
	if (!dense || rows > max)
		return diag__set(l->d, DIAG_RECORDING, EBADMSG, "the recording is damaged: table %s has %s", table,
				 dense ? "too many rows" : "no row for some of its ids");
	*count = (uint32_t)rows + 1;
	room = calloc(*count, size);
	if (!room)
		return no_memory(l);
	memcpy(list, &room, sizeof(room));
	return 0;
}

static int make_texts(struct load *l)
{
	l->t->texts = calloc(l->t->frame_count, sizeof(*l->t->texts));
	return l->t->texts ? 0 : no_memory(l);
}

/* Call `take` for each row.  It gives 0 or a negative errno. */
static int each(struct load *l, const char *sql, int (*take)(struct load *l))
{
	int code = sqlite3_prepare_v2(l->db, sql, -1, &l->row, NULL), err = 0;

	while (!err && code == SQLITE_OK && (code = sqlite3_step(l->row)) == SQLITE_ROW) {
		code = SQLITE_OK;
		err = take(l);
	}
	if (!err && code != SQLITE_DONE)
		err = schema__fail(l->db, code, DIAG_RECORDING, "the recording cannot be read", l->d);
	sqlite3_finalize(l->row);
	l->row = NULL;
	return err;
}

static int take_string(struct load *l)
{
	const char *data = (const char *)sqlite3_column_text(l->row, 1);
	int64_t length = sqlite3_column_bytes(l->row, 1);
	struct text t = { 0 };
	uint32_t id;

	l->text_bytes += (uint64_t)length;
	if (!number32(l, 0, l->t->string_count, &id) || !id || l->t->strings[id] || !data || length > RECORDING_TEXT_MAX ||
	    l->text_bytes > RECORDING_TEXTS_MAX)
		return bad(l, "a text is too long, or there are too many");
	text__add_clean(&t, data, (size_t)length, RECORDING_TEXT_MAX);
	l->t->strings[id] = t.failed ? NULL : t.data ? t.data : strdup("");
	return l->t->strings[id] ? 0 : no_memory(l);
}

/* A text of table `modes` is in the row itself. */
static bool own_text(struct load *l, int column, const char **to)
{
	const char *data = (const char *)sqlite3_column_text(l->row, column);
	char clean[256], **strings;

	text__clean(clean, sizeof(clean), data ? data : "");
	strings = realloc(l->t->strings, (l->t->string_count + 1u) * sizeof(*strings));
	if (!strings)
		return false;
	l->t->strings = strings;
	*to = strings[l->t->string_count] = strdup(clean);
	l->t->string_count += *to != NULL;
	return *to != NULL;
}

static int take_mode(struct load *l)
{
	struct mode_row *m;
	uint32_t id;

	if (!number32(l, 0, BLOCK_MODES, &id) || !id)
		return bad(l, "a mode is not as expected");
	m = &l->t->modes[id];
	m->id = id;
	return own_text(l, 1, &m->name) && own_text(l, 2, &m->value_name) && own_text(l, 3, &m->value_unit) &&
	       own_text(l, 4, &m->count_name) && own_text(l, 5, &m->count_unit) && own_text(l, 6, &m->source) ?
	       0 : no_memory(l);
}

static int take_kind(struct load *l)
{
	uint8_t id, code;

	if (!number8(l, 0, &id) || !number8(l, 2, &code))
		return bad(l, "a kind of frames is not as expected");
	l->t->kinds[id].code = code;
	return own_text(l, 1, &l->t->kinds[id].name) ? 0 : no_memory(l);
}

static int take_state(struct load *l)
{
	uint8_t id;

	if (!number8(l, 0, &id))
		return bad(l, "a state is not as expected");
	return own_text(l, 1, &l->t->states[id]) ? 0 : no_memory(l);
}

static int take_frame(struct load *l)
{
	uint8_t exact, bracketed;
	struct text text = { 0 };
	uint32_t id, group;
	struct frame *f;

	/* Damaged pages can give an id twice. */
	if (!number32(l, 0, l->t->frame_count, &id) || !id || l->t->texts[id])
		return bad(l, "a frame is not as expected");
	f = &l->t->frames[id];
	if (!number8(l, 1, &f->kind) || !string(l, 2, &f->name) || !string(l, 3, &f->path) || !line(l, 4, &f->line) ||
	    !line(l, 5, &f->first_line) || !number8(l, 6, &exact) || !string(l, 7, &f->module) ||
	    !string(l, 9, &f->key) || !string(l, 10, &f->wider) || !number32(l, 11, UINT32_MAX, &group) ||
	    !number8(l, 12, &f->known) || !number8(l, 13, &f->role) || !number8(l, 14, &f->state) ||
	    !number8(l, 15, &f->missing) || !number8(l, 16, &bracketed) || f->kind >= FRAME_KINDS ||
	    f->known > KNOWN_MERGED || f->role > ROLE_UNKNOWN || f->missing >= MISSING_KINDS)
		return bad(l, "a frame is not as expected");
	/* An address can have its highest bit set. */
	f->address = (uint64_t)sqlite3_column_int64(l->row, 8);
	f->approximate = !exact;
	f->bracketed = bracketed;
	*(f->kind == FRAME_PROCESS ? &f->pid : &f->tid) = group;
	frame__add_text(f, &text);
	/* Many frames can share one long text, and each has a copy. */
	l->frame_bytes += text.length;
	l->t->texts[id] = text.failed ? NULL : text.data ? text.data : strdup("");
	if (!l->t->texts[id])
		return no_memory(l);
	return l->frame_bytes > RECORDING_TEXTS_MAX ? bad(l, "the texts of its frames are too long") : 0;
}

static int take_process(struct load *l)
{
	struct process_entry *p;
	int64_t pid;
	uint32_t id;

	if (!number32(l, 0, l->t->process_count, &id) || !id)
		return bad(l, "a process is not as expected");
	p = &l->t->processes[id];
	if (!number32(l, 1, l->t->frame_count, &p->frame) || !number(l, 2, 0, INT32_MAX, &pid) ||
	    !number32(l, 3, l->t->process_count, &p->parent) || !number32(l, 4, UINT32_MAX, &p->uid) ||
	    !string(l, 5, &p->command) || !string(l, 6, &p->ruby) || !string(l, 7, &p->cgroup) ||
	    !string(l, 8, &p->ended) || !number32(l, 9, UINT32_MAX, &p->flags) || !amount(l, 10, &p->began) ||
	    !amount(l, 11, &p->ended_at) || !amount(l, 12, &p->cpu) || !amount(l, 13, &p->cpu_unfollowed) ||
	    !amount(l, 14, &p->cpu_samples))
		return bad(l, "a process is not as expected");
	p->pid = (int)pid;
	p->id = id;
	return 0;
}

/* Keys are "process.ID.resource". */
static int take_resource(struct load *l)
{
	const char *key = (const char *)sqlite3_column_text(l->row, 0), *list = (const char *)sqlite3_column_text(l->row, 1);
	char same[40], commit[136];
	struct text text = { 0 };
	uint32_t id;

	if (!key || !list || sscanf(key, RECORDING_RESOURCE_KEY, &id) != 1)
		return 0;
	snprintf(same, sizeof(same), RECORDING_RESOURCE_KEY, id);
	if (strcmp(same, key) || !id || id >= l->t->process_count || l->t->processes[id].resource)
		return 0;
	text__add_clean(&text, list, (size_t)sqlite3_column_bytes(l->row, 1), ATTRIBUTES_LIST_MAX);
	l->text_bytes += text.length;
	if (l->text_bytes > RECORDING_TEXTS_MAX) {
		text__free(&text);
		return bad(l, "a text is too long, or there are too many");
	}
	if (text.failed) {
		text__free(&text);
		return no_memory(l);
	}
	l->t->processes[id].resource = text.data;
	if (attributes__find(text.data, ATTRIBUTES_COMMIT, commit, sizeof(commit)) &&
	    !(l->t->processes[id].commit = strdup(commit)))
		return no_memory(l);
	return 0;
}

static int take_thread(struct load *l)
{
	struct thread_entry *t;
	uint32_t id;

	if (!number32(l, 0, l->t->thread_count, &id) || !id)
		return bad(l, "a thread is not as expected");
	t = &l->t->threads[id];
	if (!number32(l, 1, l->t->process_count, &t->process) || !number32(l, 2, l->t->frame_count, &t->frame))
		return bad(l, "a thread is not as expected");
	t->id = id;
	return 0;
}

static int take_stack(struct load *l)
{
	uint32_t id, parent, frame;

	/* A parent before its child: so the way to the root has an end.  Damaged pages can give rows in another order. */
	if (!number32(l, 0, l->t->stack_count, &id) || !id || !number32(l, 1, id, &parent) ||
	    !number32(l, 2, l->t->frame_count, &frame) || !frame || l->t->stacks[id].frame ||
	    (parent && !l->t->stacks[parent].frame) || l->t->stacks[parent].depth == RECORDING_DEPTH_MAX)
		return bad(l, "a stack is not as expected");
	l->t->stacks[id] = (struct stack_entry){
		.parent = parent, .frame = frame, .depth = l->t->stacks[parent].depth + 1,
	};
	return 0;
}

/* A table whose pages are damaged can count other rows than it gives: has each id its row? */
static int check_rows(struct load *l)
{
	const struct recording_tables *t = l->t;
	bool missing = false;

	for (uint32_t id = 1; id < t->frame_count; id++)
		missing |= !t->texts[id];
	for (uint32_t id = 1; id < t->process_count; id++)
		missing |= !t->processes[id].id;
	for (uint32_t id = 1; id < t->thread_count; id++)
		missing |= !t->threads[id].id;
	for (uint32_t id = 1; id < t->stack_count; id++)
		missing |= !t->stacks[id].frame;
	return missing ? bad(l, "a table has fewer rows than it counts") : 0;
}

int recording_tables__load(struct recording_tables *t, sqlite3 *db, struct diag *d)
{
	struct load l = { .t = t, .db = db, .d = d };
	int err;

	memset(t, 0, sizeof(*t));
	if ((err = make_room(&l, "strings", RECORDING_STRINGS_MAX, &t->strings, sizeof(*t->strings),
			     &t->string_count)) ||
	    (err = make_room(&l, "processes", RECORDING_PROCESSES_MAX, &t->processes, sizeof(*t->processes),
			     &t->process_count)) ||
	    (err = make_room(&l, "threads", RECORDING_THREADS_MAX, &t->threads, sizeof(*t->threads),
			     &t->thread_count)) ||
	    (err = make_room(&l, "frames", RECORDING_FRAMES_MAX, &t->frames, sizeof(*t->frames),
			     &t->frame_count)) ||
	    (err = make_room(&l, "stacks", RECORDING_STACKS_MAX, &t->stacks, sizeof(*t->stacks),
			     &t->stack_count)) ||
	    (err = make_texts(&l)) || (err = each(&l, "SELECT * FROM strings", take_string)) ||
	    (err = each(&l, "SELECT * FROM frames", take_frame)) ||
	    (err = each(&l, "SELECT * FROM processes", take_process)) ||
	    (err = each(&l, "SELECT key, value FROM meta WHERE key GLOB 'process.*.resource'", take_resource)) ||
	    (err = each(&l, "SELECT * FROM threads", take_thread)) ||
	    (err = each(&l, "SELECT * FROM stacks ORDER BY id", take_stack)) ||
	    (err = each(&l, "SELECT * FROM kinds", take_kind)) ||
	    (err = each(&l, "SELECT * FROM states", take_state)) ||
	    (err = each(&l, "SELECT * FROM modes", take_mode)) || (err = check_rows(&l)))
		recording_tables__free(t);
	return err;
}

void recording_tables__free(struct recording_tables *t)
{
	for (uint32_t i = 0; t->strings && i < t->string_count; i++)
		free(t->strings[i]);
	for (uint32_t i = 0; t->texts && i < t->frame_count; i++)
		free(t->texts[i]);
	for (uint32_t i = 0; t->processes && i < t->process_count; i++) {
		free(t->processes[i].resource);
		free(t->processes[i].commit);
	}
	free(t->texts);
	free(t->strings);
	free(t->processes);
	free(t->threads);
	free(t->frames);
	free(t->stacks);
	memset(t, 0, sizeof(*t));
}

bool recording_tables__has(const struct recording_tables *t, const struct recording_sample *s)
{
	return s->thread < t->thread_count && s->stack < t->stack_count && s->labels < t->stack_count &&
	       t->modes[s->mode].id;
}

uint64_t recording_tables__wait_begin(const struct recording_tables *t, const struct recording_sample *s)
{
	if (s->state == STATE_RUNNING || s->state == STATE_PARKED || s->count > 1 || s->value >= s->time ||
	    strcmp(t->modes[s->mode].value_unit, "ns"))
		return s->time;
	return s->time - s->value;
}
