/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/requests_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "recording/requests.h"
#include "recording/vtab.h"

enum column {
	COLUMN_BEGIN, COLUMN_SECONDS, COLUMN_DURATION, COLUMN_BEFORE, COLUMN_AFTER, COLUMN_WHOLE, COLUMN_PID, COLUMN_COMMAND,
	COLUMN_THREAD, COLUMN_TID, COLUMN_THREAD_NAME, COLUMN_FIBER, COLUMN_LABELS, COLUMN_REQUEST, COLUMN_SAMPLES,
	COLUMN_PARTS
};

static const char declaration[] =
	"CREATE TABLE requests(begin_ns INTEGER, seconds REAL, duration_ns INTEGER, before_ns INTEGER, after_ns INTEGER, "
	"whole INTEGER, pid INTEGER, command TEXT, thread INTEGER, tid INTEGER, thread_name TEXT, fiber INTEGER, "
	"labels INTEGER, request TEXT, samples INTEGER, run_ns INTEGER, gc_ns INTEGER, runnable_ns INTEGER, gvl_ns INTEGER, "
	"io_ns INTEGER, lock_ns INTEGER, sleep_ns INTEGER, parked_ns INTEGER, other_ns INTEGER)";

struct requests_vtab {
	sqlite3_vtab base;
	sqlite3 *db;
};

/* Each scan has the requests of the recording as it is then. */
struct requests_cursor {
	sqlite3_vtab_cursor base;
	struct recording_tables tables;
	struct requests requests;	/* of the part that was read last */
	struct request *list;		/* of all parts */
	uint32_t count;
	size_t room;
	uint64_t begin;			/* of the recording, CLOCK_MONOTONIC, ns */
	bool loaded;
	uint32_t at;
};

/* Samples without a hole between them: a recording is one, and several that were put together have a part each (recording/join.h). */
struct part {
	int64_t first, end;		/* blocks, the last one + 1 */
	uint64_t begin;			/* CLOCK_MONOTONIC, ns */
};

static int table__connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **vtab, char **message)
{
	int code = vtab__make(db, declaration, sizeof(struct requests_vtab), vtab);

	(void)context;
	(void)argc;
	(void)argv;
	(void)message;
	if (code == SQLITE_OK)
		((struct requests_vtab *)*vtab)->db = db;
	return code;
}

/* All of it is read, always: it is the inner table of no join, if there is a choice. */
static int table__best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	(void)vtab;
	info->estimatedRows = 1000;
	info->estimatedCost = 1e9;
	return SQLITE_OK;
}

static int table__open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
	struct requests_cursor *c = sqlite3_malloc64(sizeof(*c));

	(void)vtab;
	if (!c)
		return SQLITE_NOMEM;
	memset(c, 0, sizeof(*c));
	*cursor = &c->base;
	return SQLITE_OK;
}

static void unload(struct requests_cursor *c)
{
	if (c->loaded)
		recording_tables__free(&c->tables);
	requests__free(&c->requests);
	free(c->list);
	c->list = NULL;
	c->room = 0;
	c->count = c->at = 0;
	c->loaded = false;
}

static int table__close(sqlite3_vtab_cursor *cursor)
{
	unload((struct requests_cursor *)cursor);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

/* A number of the table `meta`; 0: it has none. */
static uint64_t meta(sqlite3 *db, const char *key)
{
	sqlite3_stmt *s = NULL;
	int64_t number = 0;

	if (sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key=?", -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		number = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return number > 0 ? (uint64_t)number : 0;
}

/* The samples of a row of `blocks`.  0; -EBADMSG: it is damaged; or as requests__add(). */
static int add_block(struct requests_cursor *c, struct block_codec *codec, sqlite3_stmt *s)
{
	const void *data = sqlite3_column_blob(s, 0);
	long count = data ? block__decode(codec, data, (size_t)sqlite3_column_bytes(s, 0)) : -1;

	for (long i = 0; i < count; i++)
		if (!recording_tables__has(&c->tables, &codec->samples[i]))
			return -EBADMSG;
	return count < 0 ? -EBADMSG : requests__add(&c->requests, codec->samples, (uint32_t)count);
}

/* 0, a negative errno, or an SQLite code. */
static int add_blocks(struct requests_cursor *c, sqlite3 *db, const struct part *part)
{
	struct block_codec codec = { 0 };
	sqlite3_stmt *s = NULL;
	int err = block_codec__init(&codec), code = SQLITE_OK;

	if (!err)
		code = sqlite3_prepare_v2(db, "SELECT data FROM blocks WHERE id >= ? AND id < ? ORDER BY id", -1, &s, NULL);
	if (!err && code == SQLITE_OK)
		code = sqlite3_bind_int64(s, 1, part->first);
	if (!err && code == SQLITE_OK)
		code = sqlite3_bind_int64(s, 2, part->end);
	while (!err && code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		err = add_block(c, &codec, s);
		code = SQLITE_OK;
	}
	sqlite3_finalize(s);
	block_codec__free(&codec);
	return err ? err : code == SQLITE_DONE ? 0 : code;
}

/* The requests of a part: one that is cut at its begin or its end is known as such. */
static int add_part(struct requests_cursor *c, sqlite3 *db, const struct part *part)
{
	int err;

	requests__free(&c->requests);
	err = requests__init(&c->requests, &c->tables, part->begin, meta(db, "period_ns"), NULL);
	if (!err)
		err = add_blocks(c, db, part);
	if (err)
		return err;
	requests__end(&c->requests);
	requests__choose(&c->requests, 0, 0);
	requests__sort(&c->requests, false);
	if (array__reserve(&c->list, c->count, c->requests.chosen, &c->room, UINT32_MAX, sizeof(*c->list)))
		return -ENOMEM;
	if (c->requests.chosen)
		memcpy(c->list + c->count, c->requests.list, c->requests.chosen * sizeof(*c->list));
	c->count += c->requests.chosen;
	return 0;
}

/* 0, a negative errno, or an SQLite code. */
static int add_parts(struct requests_cursor *c, sqlite3 *db)
{
	struct part part = { .first = INT64_MIN, .end = INT64_MAX, .begin = c->begin };
	sqlite3_stmt *s = NULL;
	int err = 0, code;

	code = sqlite3_prepare_v2(db, "SELECT first_block, begin_ns, lead(first_block, 1, 9223372036854775807) OVER (ORDER BY first_block) "
				  "FROM parts", -1, &s, NULL);
	/* A recording has no such table. */
	if (code == SQLITE_ERROR)
		return add_part(c, db, &part);
	if (code != SQLITE_OK)
		return code;
	while (!err && (code = sqlite3_step(s)) == SQLITE_ROW) {
		part.first = sqlite3_column_int64(s, 0);
		part.begin = row__amount(s, 1);
		part.end = sqlite3_column_int64(s, 2);
		err = add_part(c, db, &part);
	}
	sqlite3_finalize(s);
	return err ? err : code == SQLITE_DONE ? 0 : code;
}

static int load(struct requests_cursor *c, char **message)
{
	sqlite3 *db = ((struct requests_vtab *)c->base.pVtab)->db;
	struct diag d = { 0 };
	int err;

	unload(c);
	err = recording_tables__load(&c->tables, db, &d);
	if (err) {
		*message = sqlite3_mprintf("%s", d.text);
		return err;
	}
	c->loaded = true;
	c->begin = meta(db, "started_monotonic_ns");
	err = add_parts(c, db);
	if (err == -EBADMSG)
		*message = sqlite3_mprintf("the recording is damaged: a block cannot be read");
	else if (err == -E2BIG)
		*message = sqlite3_mprintf("the recording has more requests than can be told apart");
	return err;
}

static int table__filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int argc, sqlite3_value **argv)
{
	struct requests_cursor *c = (struct requests_cursor *)cursor;
	char *message = NULL;
	int err = load(c, &message);

	(void)number;
	(void)text;
	(void)argc;
	(void)argv;
	if (!err)
		return SQLITE_OK;
	sqlite3_free(cursor->pVtab->zErrMsg);
	cursor->pVtab->zErrMsg = message;
	return err > 0 ? err : err == -ENOMEM ? SQLITE_NOMEM : err == -E2BIG ? SQLITE_TOOBIG : SQLITE_CORRUPT_VTAB;
}

static int table__next(sqlite3_vtab_cursor *cursor)
{
	((struct requests_cursor *)cursor)->at++;
	return SQLITE_OK;
}

static int table__eof(sqlite3_vtab_cursor *cursor)
{
	struct requests_cursor *c = (struct requests_cursor *)cursor;

	return c->at >= c->count;
}

static void give_text(sqlite3_context *to, const char *text)
{
	if (text)
		sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
}

static void give_request(sqlite3_context *to, const struct requests_cursor *c, const struct request *q)
{
	struct text t = { .limit = 4096 };

	requests__add_labels(&c->requests, q->labels, &t);
	if (t.failed)
		sqlite3_result_error_nomem(to);
	else
		give_text(to, text__string(&t));
	text__free(&t);
}

static int table__column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column)
{
	struct requests_cursor *c = (struct requests_cursor *)cursor;
	const struct request *q = &c->list[c->at];
	const struct recording_tables *t = &c->tables;
	const struct thread_entry *thread = &t->threads[q->thread];
	int64_t number = 0;

	switch (column) {
	case COLUMN_SECONDS:
		sqlite3_result_double(to, ((double)q->begin - (double)c->begin) / 1e9);
		return SQLITE_OK;
	case COLUMN_COMMAND:
		give_text(to, t->processes[thread->process].command);
		return SQLITE_OK;
	case COLUMN_THREAD_NAME:
		give_text(to, t->frames[thread->frame].name);
		return SQLITE_OK;
	case COLUMN_REQUEST:
		give_request(to, c, q);
		return SQLITE_OK;
	case COLUMN_FIBER:
		if (!q->fiber)
			return SQLITE_OK;
		number = q->fiber;
		break;
	case COLUMN_BEGIN: number = (int64_t)q->begin; break;
	case COLUMN_DURATION: number = (int64_t)request__length(q); break;
	case COLUMN_BEFORE: number = (int64_t)q->before; break;
	case COLUMN_AFTER: number = (int64_t)q->after; break;
	case COLUMN_WHOLE: number = !q->cut_begin && !q->cut_end; break;
	case COLUMN_PID: number = t->processes[thread->process].pid; break;
	case COLUMN_THREAD: number = q->thread; break;
	case COLUMN_TID: number = t->frames[thread->frame].tid; break;
	case COLUMN_LABELS: number = q->labels; break;
	case COLUMN_SAMPLES: number = (int64_t)q->samples; break;
	default:
		number = (int64_t)q->parts[column - COLUMN_PARTS];
	}
	sqlite3_result_int64(to, number);
	return SQLITE_OK;
}

static int table__rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	*rowid = ((struct requests_cursor *)cursor)->at;
	return SQLITE_OK;
}

int requests_table__register(sqlite3 *db)
{
	static const sqlite3_module requests = {
		.iVersion = 0,
		.xConnect = table__connect,
		.xBestIndex = table__best_index,
		.xDisconnect = vtab__disconnect,
		.xOpen = table__open,
		.xClose = table__close,
		.xFilter = table__filter,
		.xNext = table__next,
		.xEof = table__eof,
		.xColumn = table__column,
		.xRowid = table__rowid,
	};

	return sqlite3_create_module_v2(db, "requests", &requests, NULL, NULL);
}
