/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/samples_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/requests_table.h"
#include "recording/samples_parts.h"
#include "recording/vtab.h"

static const char declaration[] =
	"CREATE TABLE samples(time_ns INTEGER, seconds REAL, mode TEXT, process INTEGER, pid INTEGER, command TEXT, "
	"thread INTEGER, tid INTEGER, thread_name TEXT, state TEXT, method TEXT, path TEXT, line INTEGER, below TEXT, "
	"value INTEGER, count INTEGER, stack INTEGER, labels INTEGER, fiber INTEGER, cgroup TEXT, revision TEXT, "
	"ruby_method TEXT, ruby_path TEXT, ruby_line INTEGER, trace_id TEXT, span_id TEXT)";

static int64_t one_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s = NULL;
	int64_t number = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		number = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return number;
}

int samples_module__load(struct samples_module *m, char **message)
{
	int64_t version = one_number(m->db, "PRAGMA data_version");
	struct diag d = { 0 };
	int err;

	if (m->loaded && (m->cursors || m->version == version))
		return 0;
	if (m->loaded)
		recording_tables__free(&m->tables);
	m->loaded = false;
	err = recording_tables__load(&m->tables, m->db, &d);
	if (err) {
		*message = sqlite3_mprintf("%s", d.text);
		return err;
	}
	m->loaded = true;
	m->version = version;
	m->begin = one_number(m->db, "SELECT value FROM meta WHERE key='started_monotonic_ns'");
	if (m->begin < 0)
		m->begin = 0;
	return 0;
}

static int samples__connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **vtab,
			    char **message)
{
	int code = vtab__make(db, declaration, sizeof(struct samples_vtab), vtab);

	(void)argc;
	(void)argv;
	(void)message;
	if (code == SQLITE_OK)
		((struct samples_vtab *)*vtab)->module = context;
	return code;
}

/* Only bounds of the time spare blocks.  idxNum: 1 there is a lower one, 2 an upper one. */
static int samples__best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	struct samples_module *m = ((struct samples_vtab *)vtab)->module;
	double rows = (double)one_number(m->db, "SELECT total(samples) FROM blocks") + 1;
	int low = -1, high = -1, n = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		int op = info->aConstraint[i].op;

		if (!info->aConstraint[i].usable || info->aConstraint[i].iColumn != COLUMN_TIME)
			continue;
		if (op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_GE ||
		    op == SQLITE_INDEX_CONSTRAINT_GT)
			low = low < 0 ? i : low;
		else if (op == SQLITE_INDEX_CONSTRAINT_LE || op == SQLITE_INDEX_CONSTRAINT_LT)
			high = high < 0 ? i : high;
	}
	info->idxNum = 0;
	if (low >= 0) {
		info->aConstraintUsage[low].argvIndex = ++n;
		info->idxNum |= info->aConstraint[low].op == SQLITE_INDEX_CONSTRAINT_EQ ? 4 : 1;
		rows /= 4;
	}
	if (high >= 0) {
		info->aConstraintUsage[high].argvIndex = ++n;
		info->idxNum |= 2;
		rows /= 4;
	}
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = rows * 2 + 1000;
	return SQLITE_OK;
}

static int samples__open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
	struct samples_module *m = ((struct samples_vtab *)vtab)->module;
	struct samples_cursor *c;
	char *message = NULL;
	int err = samples_module__load(m, &message);

	if (err) {
		sqlite3_free(vtab->zErrMsg);
		vtab->zErrMsg = message;
		return err == -ENOMEM ? SQLITE_NOMEM : SQLITE_CORRUPT_VTAB;
	}
	c = sqlite3_malloc64(sizeof(*c));
	if (!c)
		return SQLITE_NOMEM;
	memset(c, 0, sizeof(*c));
	if (block_codec__init(&c->codec)) {
		block_codec__free(&c->codec);
		sqlite3_free(c);
		return SQLITE_NOMEM;
	}
	m->cursors++;
	*cursor = &c->base;
	return SQLITE_OK;
}

static int samples__close(sqlite3_vtab_cursor *cursor)
{
	struct samples_cursor *c = (struct samples_cursor *)cursor;

	((struct samples_vtab *)cursor->pVtab)->module->cursors--;
	sqlite3_finalize(c->blocks);
	block_codec__free(&c->codec);
	sqlite3_free(c);
	return SQLITE_OK;
}

static int damaged(struct samples_cursor *c, int64_t block)
{
	sqlite3_free(c->base.pVtab->zErrMsg);
	c->base.pVtab->zErrMsg = sqlite3_mprintf("the recording is damaged: block %lld cannot be read", block);
	return SQLITE_CORRUPT_VTAB;
}

static int next_block(struct samples_cursor *c)
{
	struct samples_module *m = ((struct samples_vtab *)c->base.pVtab)->module;
	int code = sqlite3_step(c->blocks);
	const void *data;

	c->at = c->count = 0;
	if (code == SQLITE_DONE) {
		c->end = true;
		return SQLITE_OK;
	}
	if (code != SQLITE_ROW)
		return code;
	data = sqlite3_column_blob(c->blocks, 1);
	c->count = data ? block__decode(&c->codec, data, (size_t)sqlite3_column_bytes(c->blocks, 1)) : -1;
	if (c->count < 0)
		return damaged(c, sqlite3_column_int64(c->blocks, 0));
	for (long i = 0; i < c->count; i++)
		if (!recording_tables__has(&m->tables, &c->codec.samples[i]))
			return damaged(c, sqlite3_column_int64(c->blocks, 0));
	return SQLITE_OK;
}

/* Go to a sample that is wanted, from c->at on. */
static int settle(struct samples_cursor *c)
{
	int code = SQLITE_OK;

	while (!c->end && code == SQLITE_OK) {
		for (; c->at < c->count; c->at++) {
			int64_t time = (int64_t)c->codec.samples[c->at].time;

			if (time >= c->low && time <= c->high)
				return SQLITE_OK;
		}
		code = next_block(c);
	}
	return code;
}

static int samples__filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int argc, sqlite3_value **argv)
{
	struct samples_cursor *c = (struct samples_cursor *)cursor;
	struct samples_module *m = ((struct samples_vtab *)cursor->pVtab)->module;
	int code = SQLITE_OK, n = 0;

	(void)text;
	(void)argc;
	/* Bounds that are no integers (a REAL, a text) are left to SQLite, which checks each row again. */
	c->low = 0;
	c->high = INT64_MAX;
	if (number & 5) {
		if (sqlite3_value_type(argv[n]) == SQLITE_INTEGER) {
			c->low = sqlite3_value_int64(argv[n]);
			if (number & 4)
				c->high = c->low;
		}
		n++;
	}
	if (number & 2 && sqlite3_value_type(argv[n]) == SQLITE_INTEGER && sqlite3_value_int64(argv[n]) < c->high)
		c->high = sqlite3_value_int64(argv[n]);
	if (!c->blocks)
		code = sqlite3_prepare_v2(m->db, "SELECT id, data FROM blocks WHERE last_ns>=? AND first_ns<=? "
					  "ORDER BY id", -1, &c->blocks, NULL);
	if (code != SQLITE_OK)
		return code;
	sqlite3_reset(c->blocks);
	sqlite3_bind_int64(c->blocks, 1, c->low);
	sqlite3_bind_int64(c->blocks, 2, c->high);
	c->at = c->count = 0;
	c->rowid = 0;
	c->end = false;
	return settle(c);
}

static int samples__next(sqlite3_vtab_cursor *cursor)
{
	struct samples_cursor *c = (struct samples_cursor *)cursor;

	c->at++;
	c->rowid++;
	return settle(c);
}

static int samples__eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct samples_cursor *)cursor)->end;
}

static int samples__rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	*rowid = ((struct samples_cursor *)cursor)->rowid;
	return SQLITE_OK;
}

static void free_module(void *context)
{
	struct samples_module *m = context;

	if (m->loaded)
		recording_tables__free(&m->tables);
	free(m);
}

int samples_table__register(sqlite3 *db)
{
	static const sqlite3_module samples = {
		.iVersion = 0,
		.xConnect = samples__connect,
		.xBestIndex = samples__best_index,
		.xDisconnect = vtab__disconnect,
		.xOpen = samples__open,
		.xClose = samples__close,
		.xFilter = samples__filter,
		.xNext = samples__next,
		.xEof = samples__eof,
		.xColumn = samples_columns__give,
		.xRowid = samples__rowid,
	};
	struct samples_module *m = calloc(1, sizeof(*m));
	int code;

	if (!m)
		return SQLITE_NOMEM;
	m->db = db;
	/* The module owns `m`, also if this fails. */
	code = sqlite3_create_module_v2(db, "samples", &samples, m, free_module);
	if (code == SQLITE_OK)
		code = requests_table__register(db);
	if (code == SQLITE_OK)
		code = samples_functions__register(m);
	for (int i = 0; code == SQLITE_OK && samples_views[i][0]; i++) {
		char *sql = sqlite3_mprintf("CREATE TEMP VIEW IF NOT EXISTS %s AS %s", samples_views[i][0],
					    samples_views[i][1]);

		code = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
		sqlite3_free(sql);
	}
	return code;
}
