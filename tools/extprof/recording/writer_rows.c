/* SPDX-License-Identifier: BSD-2-Clause */
/* The statements of a writer, and the rows that it writes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/deadline.h"
#include "recording/schema.h"
#include "recording/writer_parts.h"

static const char *const statements[STATEMENTS] = {
	[PUT_META] = "INSERT OR REPLACE INTO meta VALUES(?,?)",
	[PUT_MODE] = "INSERT OR REPLACE INTO modes VALUES(?,?,?,?,?,?,?)",
	[PUT_KIND] = "INSERT OR REPLACE INTO kinds VALUES(?,?,?)",
	[PUT_STATE] = "INSERT OR REPLACE INTO states VALUES(?,?)",
	[FIND_STRING] = "SELECT id FROM strings WHERE text=?",
	[PUT_STRING] = "INSERT INTO strings(text) VALUES(?)",
	[PUT_PROCESS] = "INSERT OR REPLACE INTO processes VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[PUT_THREAD] = "INSERT OR REPLACE INTO threads VALUES(?,?,?)",
	[PUT_FRAME] = "INSERT OR REPLACE INTO frames VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[PUT_STACK] = "INSERT INTO stacks VALUES(?,?,?)",
	[PUT_BLOCK] = "INSERT INTO blocks(first_ns,last_ns,samples,data) VALUES(?,?,?,?)",
	[PUT_PAUSE] = "INSERT INTO pauses(time_ns,thread,length_ns,waited_ns,mark_ns,sweep_ns,compact_ns,major,cause,"
		      "reason) VALUES(?,?,?,?,?,?,?,?,?,?)",
	[PUT_EVENT] = "INSERT INTO events(time_ns,process,kind,text,number) VALUES(?,?,?,?,?)",
	[PUT_FIGURE] = "INSERT INTO figures(time_ns,process,resident) VALUES(?,?,?)",
	[PUT_HEAP] = "INSERT INTO heaps(time_ns,process,live_slots,slots,bytes,malloc_bytes) VALUES(?,?,?,?,?,?)",
	[PUT_THREAD_ACCOUNT] = "INSERT INTO thread_accounts(process,tid,serial,first_ns,until_ns,ended,voluntary,"
			       "involuntary,threads,name,comm) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
	[PUT_THREAD_STATE] = "INSERT OR REPLACE INTO thread_states VALUES(?,?,?,?)",
	[PUT_ACCOUNT] = "INSERT OR REPLACE INTO accounts VALUES(?,?,?,?)",
	[PUT_SOURCE] = "INSERT INTO sources(size,time_ns,hash,length,data,path) VALUES(?,?,?,?,?,?)",
	[BEGIN] = "BEGIN",
	[COMMIT] = "COMMIT",
	[COUNT_PAGES] = "SELECT page_count*page_size FROM pragma_page_count, pragma_page_size",
};

int recording_writer__prepare(struct recording_writer *w)
{
	int err = 0;

	for (int i = 0; i < STATEMENTS && !err; i++) {
		int code = sqlite3_prepare_v3(w->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT, &w->statements[i], NULL);

		err = code == SQLITE_OK ? 0 : recording_writer__fail(w, code);
	}
	return err;
}

static int run(struct recording_writer *w, enum statement number)
{
	sqlite3_stmt *s = w->statements[number];
	int code = sqlite3_step(s);

	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	return code == SQLITE_DONE ? 0 : recording_writer__fail(w, code);
}

int recording_writer__ready(struct recording_writer *w)
{
	if (w->err || w->in_transaction)
		return w->err;
	if (!w->db)
		return w->err = diag__set(&w->why, DIAG_INTERNAL, EINVAL, "the recording has ended already");
	w->began = deadline__now();
	w->in_transaction = true;
	return run(w, BEGIN);
}

int recording_writer__commit(struct recording_writer *w)
{
	w->in_transaction = false;
	return run(w, COMMIT);
}

static void bind_text(struct recording_writer *w, enum statement number, int place, const char *text)
{
	if (text)
		sqlite3_bind_text(w->statements[number], place, text, (int)strnlen(text, RECORDING_TEXT_MAX),
				  SQLITE_STATIC);
}

static void bind(struct recording_writer *w, enum statement number, int place, uint64_t value)
{
	sqlite3_bind_int64(w->statements[number], place, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

/* The id of a text is bound; that of NULL is NULL. */
static int bind_string(struct recording_writer *w, enum statement number, int place, const char *text)
{
	sqlite3_stmt *find = w->statements[FIND_STRING];
	sqlite3_int64 id = 0;
	int code;

	if (!text)
		return 0;
	bind_text(w, FIND_STRING, 1, text);
	code = sqlite3_step(find);
	if (code == SQLITE_ROW)
		id = sqlite3_column_int64(find, 0);
	sqlite3_reset(find);
	sqlite3_clear_bindings(find);
	if (code == SQLITE_DONE) {
		bind_text(w, PUT_STRING, 1, text);
		if (run(w, PUT_STRING))
			return w->err;
		id = sqlite3_last_insert_rowid(w->db);
	} else if (code != SQLITE_ROW) {
		return recording_writer__fail(w, code);
	}
	sqlite3_bind_int64(w->statements[number], place, id);
	return 0;
}

int recording_writer__set_number(struct recording_writer *w, const char *key, uint64_t number)
{
	if (recording_writer__ready(w))
		return w->err;
	bind_text(w, PUT_META, 1, key);
	bind(w, PUT_META, 2, number);
	return run(w, PUT_META);
}

int recording_writer__set_real(struct recording_writer *w, const char *key, double number)
{
	if (recording_writer__ready(w))
		return w->err;
	bind_text(w, PUT_META, 1, key);
	sqlite3_bind_double(w->statements[PUT_META], 2, number);
	return run(w, PUT_META);
}

int recording_writer__set_text(struct recording_writer *w, const char *key, const char *text)
{
	if (recording_writer__ready(w))
		return w->err;
	bind_text(w, PUT_META, 1, key);
	bind_text(w, PUT_META, 2, text);
	return run(w, PUT_META);
}

int recording_writer__mode(struct recording_writer *w, const struct recording_mode *row)
{
	if (recording_writer__ready(w))
		return w->err;
	bind(w, PUT_MODE, 1, row->id);
	bind_text(w, PUT_MODE, 2, row->name);
	bind_text(w, PUT_MODE, 3, row->value_name);
	bind_text(w, PUT_MODE, 4, row->value_unit);
	bind_text(w, PUT_MODE, 5, row->count_name);
	bind_text(w, PUT_MODE, 6, row->count_unit);
	bind_text(w, PUT_MODE, 7, row->source);
	return run(w, PUT_MODE);
}

/* Ids that a reader would refuse are not written. */
static int check_id(struct recording_writer *w, uint32_t id, uint32_t max, const char *what)
{
	if (!w->err && (!id || id > max))
		w->err = diag__set(&w->why, DIAG_OUTPUT, E2BIG, "the recording has too many %s", what);
	return w->err;
}

int recording_writer__kind(struct recording_writer *w, uint32_t kind, const char *name, bool code)
{
	if (recording_writer__ready(w))
		return w->err;
	bind(w, PUT_KIND, 1, kind);
	bind_text(w, PUT_KIND, 2, name);
	bind(w, PUT_KIND, 3, code);
	return run(w, PUT_KIND);
}

int recording_writer__state(struct recording_writer *w, uint32_t state, const char *name)
{
	if (recording_writer__ready(w))
		return w->err;
	bind(w, PUT_STATE, 1, state);
	bind_text(w, PUT_STATE, 2, name);
	return run(w, PUT_STATE);
}

/* The values of a row from a place on. */
static void bind_all(struct recording_writer *w, enum statement number, int place, const uint64_t *values, int count)
{
	for (int i = 0; i < count; i++)
		bind(w, number, place + i, values[i]);
}

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int recording_writer__process(struct recording_writer *w, const struct recording_process *row)
{
	const uint64_t values[] = {
		row->flags, row->began, row->ended_at, row->cpu, row->cpu_unfollowed, row->cpu_samples,
	};
	char key[40];

	if (check_id(w, row->id, RECORDING_PROCESSES_MAX, "processes") || recording_writer__ready(w) ||
	    bind_string(w, PUT_PROCESS, 6, row->command) || bind_string(w, PUT_PROCESS, 7, row->ruby) ||
	    bind_string(w, PUT_PROCESS, 8, row->cgroup) || bind_string(w, PUT_PROCESS, 9, row->ended))
		return w->err;
	bind(w, PUT_PROCESS, 1, row->id);
	bind(w, PUT_PROCESS, 2, row->frame);
	sqlite3_bind_int(w->statements[PUT_PROCESS], 3, row->pid);
	if (row->parent)
		bind(w, PUT_PROCESS, 4, row->parent);
	bind(w, PUT_PROCESS, 5, row->uid);
	bind_all(w, PUT_PROCESS, 10, values, COUNT(values));
	if (run(w, PUT_PROCESS))
		return w->err;
	snprintf(key, sizeof(key), RECORDING_CWD_KEY, row->id);
	if (row->cwd && recording_writer__set_text(w, key, row->cwd))
		return w->err;
	snprintf(key, sizeof(key), RECORDING_EXECUTABLE_KEY, row->id);
	if (row->executable && recording_writer__set_text(w, key, row->executable))
		return w->err;
	snprintf(key, sizeof(key), RECORDING_RESOURCE_KEY, row->id);
	return row->resource ? recording_writer__set_text(w, key, row->resource) : 0;
}

int recording_writer__thread(struct recording_writer *w, uint32_t id, uint32_t process, uint32_t frame)
{
	const uint64_t values[] = { id, process, frame };

	if (check_id(w, id, RECORDING_THREADS_MAX, "threads") || recording_writer__ready(w))
		return w->err;
	bind_all(w, PUT_THREAD, 1, values, COUNT(values));
	return run(w, PUT_THREAD);
}

static const char *text_or_null(const char *text)
{
	return *text ? text : NULL;
}

int recording_writer__frame(struct recording_writer *w, uint32_t id, const struct frame *f)
{
	const uint64_t values[] = { frame__number(f), f->known, f->role, f->state, f->missing, f->bracketed };

	if (check_id(w, id, RECORDING_FRAMES_MAX, "frames") || recording_writer__ready(w) || bind_string(w, PUT_FRAME, 3, f->name) ||
	    bind_string(w, PUT_FRAME, 4, text_or_null(f->path)) ||
	    bind_string(w, PUT_FRAME, 8, f->kind == FRAME_PROCESS ? NULL : text_or_null(f->module)) ||
	    bind_string(w, PUT_FRAME, 10, text_or_null(f->key)) ||
	    bind_string(w, PUT_FRAME, 11, text_or_null(f->wider)))
		return w->err;
	bind(w, PUT_FRAME, 1, id);
	bind(w, PUT_FRAME, 2, f->kind);
	if (f->line > 0)
		bind(w, PUT_FRAME, 5, (uint64_t)f->line);
	if (f->first_line > 0)
		bind(w, PUT_FRAME, 6, (uint64_t)f->first_line);
	bind(w, PUT_FRAME, 7, !f->approximate);
	/* An address can have its highest bit set. */
	if (f->address)
		sqlite3_bind_int64(w->statements[PUT_FRAME], 9, (int64_t)f->address);
	bind_all(w, PUT_FRAME, 12, values, COUNT(values));
	return run(w, PUT_FRAME);
}

int recording_writer__put_stack(struct recording_writer *w, uint32_t id, uint32_t parent, uint32_t frame)
{
	if (check_id(w, id, RECORDING_STACKS_MAX, "stacks") || recording_writer__ready(w))
		return w->err;
	bind(w, PUT_STACK, 1, id);
	bind(w, PUT_STACK, 2, parent);
	bind(w, PUT_STACK, 3, frame);
	return run(w, PUT_STACK);
}

int recording_writer__put_block(struct recording_writer *w, int size)
{
	bind(w, PUT_BLOCK, 1, w->first);
	bind(w, PUT_BLOCK, 2, w->last);
	bind(w, PUT_BLOCK, 3, w->count);
	sqlite3_bind_blob(w->statements[PUT_BLOCK], 4, w->codec.data, size, SQLITE_STATIC);
	return run(w, PUT_BLOCK);
}

int recording_writer__pause(struct recording_writer *w, const struct recording_pause *row)
{
	const uint64_t values[] = {
		row->time, row->thread, row->length, row->waited, row->mark, row->sweep, row->compact, row->major,
		row->cause,
	};

	if (recording_writer__ready(w) || bind_string(w, PUT_PAUSE, 10, row->reason))
		return w->err;
	bind_all(w, PUT_PAUSE, 1, values, COUNT(values));
	return run(w, PUT_PAUSE);
}

int recording_writer__event(struct recording_writer *w, const struct recording_event *row)
{
	if (recording_writer__ready(w) || bind_string(w, PUT_EVENT, 3, row->kind) || bind_string(w, PUT_EVENT, 4, row->text))
		return w->err;
	bind(w, PUT_EVENT, 1, row->time);
	bind(w, PUT_EVENT, 2, row->process);
	bind(w, PUT_EVENT, 5, row->number);
	return run(w, PUT_EVENT);
}

int recording_writer__figure(struct recording_writer *w, const struct recording_figure *row)
{
	if (recording_writer__ready(w))
		return w->err;
	bind(w, PUT_FIGURE, 1, row->time);
	bind(w, PUT_FIGURE, 2, row->process);
	bind(w, PUT_FIGURE, 3, row->resident);
	return run(w, PUT_FIGURE);
}

int recording_writer__heap(struct recording_writer *w, const struct recording_heap *row)
{
	const uint64_t values[] = { row->time, row->process, row->live_slots, row->slots, row->bytes, row->malloc_bytes };

	if (recording_writer__ready(w))
		return w->err;
	for (int i = 0; i < (int)(sizeof(values) / sizeof(values[0])); i++)
		bind(w, PUT_HEAP, i + 1, values[i] <= INT64_MAX ? values[i] : INT64_MAX);
	return run(w, PUT_HEAP);
}

int recording_writer__thread_account(struct recording_writer *w, const struct recording_thread_account *row)
{
	const uint64_t values[] = {
		row->process, row->tid, row->serial, row->first, row->until, row->ended, row->voluntary, row->involuntary,
		row->threads,
	};
	uint64_t id;

	if (recording_writer__ready(w) || bind_string(w, PUT_THREAD_ACCOUNT, 10, row->name) ||
	    bind_string(w, PUT_THREAD_ACCOUNT, 11, row->comm))
		return w->err;
	bind_all(w, PUT_THREAD_ACCOUNT, 1, values, COUNT(values));
	if (run(w, PUT_THREAD_ACCOUNT))
		return w->err;
	id = (uint64_t)sqlite3_last_insert_rowid(w->db);
	for (uint32_t i = 0; i < row->states; i++) {
		const uint64_t state[] = { id, i, row->time[i], row->waits[i] };

		if (!row->time[i] && !row->waits[i])
			continue;
		bind_all(w, PUT_THREAD_STATE, 1, state, COUNT(state));
		if (run(w, PUT_THREAD_STATE))
			return w->err;
	}
	return 0;
}

int recording_writer__account(struct recording_writer *w, uint32_t process, uint32_t mode, const char *reason,
			      uint64_t samples)
{
	if (recording_writer__ready(w))
		return w->err;
	bind(w, PUT_ACCOUNT, 1, process);
	bind(w, PUT_ACCOUNT, 2, mode);
	bind_text(w, PUT_ACCOUNT, 3, reason);
	bind(w, PUT_ACCOUNT, 4, samples);
	return run(w, PUT_ACCOUNT);
}

int recording_writer__source(struct recording_writer *w, const struct recording_source_file *f)
{
	uLongf size = compressBound((uLong)f->length);
	void *data = f->text ? malloc(size) : NULL;
	int err;

	if (recording_writer__ready(w) || bind_string(w, PUT_SOURCE, 6, f->path)) {
		free(data);
		return w->err;
	}
	bind(w, PUT_SOURCE, 1, f->size);
	bind(w, PUT_SOURCE, 2, f->time);
	bind(w, PUT_SOURCE, 3, f->hash);
	bind(w, PUT_SOURCE, 4, f->length);
	if (f->text && (!data || compress2(data, &size, (const Bytef *)f->text, (uLong)f->length, 6) != Z_OK)) {
		free(data);
		return recording_writer__no_memory(w);
	}
	if (data)
		sqlite3_bind_blob(w->statements[PUT_SOURCE], 5, data, (int)size, SQLITE_STATIC);
	err = run(w, PUT_SOURCE);
	free(data);
	return err;
}
