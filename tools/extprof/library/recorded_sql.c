/* SPDX-License-Identifier: BSD-2-Clause */
/* Recordings are asked in SQL. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "library/error.h"
#include "library/recorded.h"
#include "recording/join.h"
#include "recording/samples_table.h"

/* No statement has more memory of SQLite, bytes. */
#define MEMORY_MAX (512ll << 20)
/* Columns that are shown of a statement. */
#define COLUMNS_MAX 128

/* The file is at fault, or who asks. */
static enum diag_code code_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_IOERR: return DIAG_RECORDING;
	default: return DIAG_USAGE;
	}
}

/* A file that is damaged, and one that cannot be read now, are known by it. */
static int errno_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB: return -EBADMSG;
	case SQLITE_IOERR: return -EIO;
	default: return -EINVAL;
	}
}

/* A value as a text that a terminal can show; NULL: it is NULL. */
static const char *value_text(sqlite3_stmt *s, int column, struct text *text)
{
	const char *data;

	text__clear(text);
	switch (sqlite3_column_type(s, column)) {
	case SQLITE_NULL:
		return NULL;
	case SQLITE_BLOB:
		text__addf(text, "[%d bytes]", sqlite3_column_bytes(s, column));
		return text__string(text);
	default:
		data = (const char *)sqlite3_column_text(s, column);
		text__add_clean(text, data ? data : "", data ? (size_t)sqlite3_column_bytes(s, column) : 0, 65536);
		return text__string(text);
	}
}

static int give_row(sqlite3_stmt *s, int columns, bool names, struct text *texts, const char **values,
		    int (*row)(void *context, int columns, const char *const *values), void *context)
{
	for (int i = 0; i < columns; i++) {
		if (names) {
			const char *name = sqlite3_column_name(s, i);

			text__clear(&texts[i]);
			text__add_clean(&texts[i], name ? name : "", name ? strlen(name) : 0, 256);
			values[i] = text__string(&texts[i]);
		} else {
			values[i] = value_text(s, i, &texts[i]);
		}
		if (texts[i].failed)
			return -ENOMEM;
	}
	return row(context, columns, values);
}

void recorded_sql__free(struct recorded_sql *s)
{
	sqlite3_close_v2(s->joined);
	s->joined = NULL;
	s->of_joined = false;
}

/* The database for these times: that of the file, or all files put together. */
static int choose(struct extprof_recorded *r, const struct extprof_recorded_options *o, sqlite3 **db, struct extprof_error *error)
{
	struct recorded_sql *s = recorded__sql(r);
	struct recording_reader *const *readers;
	struct diag d = { 0 };
	uint32_t count;
	int code, err;
	bool *has;

	readers = recorded__readers(r, &count);
	has = count > 1 || o->since_at || o->until_at ? &s->of_joined : &s->of_one;
	recorded__start_time(r, count - 1);
	if (has == &s->of_joined && (!s->joined || s->count != count || s->since != o->since_at || s->until != o->until_at)) {
		recorded_sql__free(s);
		err = recording_join(&s->joined, readers, count, o->since_at, o->until_at, recorded__deadline(r), &d);
		if (err) {
			recorded_sql__free(s);
			return error__from(error, err, &d);
		}
		s->since = o->since_at;
		s->until = o->until_at;
		s->count = count;
	}
	*db = has == &s->of_joined ? s->joined : recording_reader__database(readers[0]);
	code = *has ? SQLITE_OK : samples_table__register(*db);
	*has = code == SQLITE_OK;
	return code == SQLITE_OK ? 0 : error__set(error, code_of(code), -errno_of(code), "%s", sqlite3_errmsg(*db));
}

/* Nothing but the time is chosen for a statement, which chooses all else. */
static int check_options(const struct extprof_recorded_options *o, struct extprof_error *error)
{
	struct extprof_recorded_options rest = *o;
	const char *bytes = (const char *)&rest;

	rest.size = 0;
	rest.since_at = rest.until_at = 0;
	for (size_t i = 0; i < sizeof(rest); i++)
		if (bytes[i])
			return error__set(error, DIAG_USAGE, EINVAL, "only since_at and until_at choose samples for a statement of SQL");
	return 0;
}

struct asking {
	sqlite3 *db;
	int (*row)(void *context, int columns, const char *const *values);
	void *context;
	struct text texts[COLUMNS_MAX];
	const char *values[COLUMNS_MAX];
};

/* One statement, of which *tail is the rest.  An SQLite code; *err is the caller's. */
static int ask(struct asking *a, const char **tail, int *err, struct extprof_error *error)
{
	sqlite3_stmt *s = NULL;
	int columns, code = sqlite3_prepare_v2(a->db, *tail, -1, &s, tail);

	if (code != SQLITE_OK)
		error__set(error, code_of(code), -errno_of(code), "%s", sqlite3_errmsg(a->db));
	if (code != SQLITE_OK || !s)
		return code;
	columns = sqlite3_column_count(s);
	if (columns > COLUMNS_MAX)
		columns = COLUMNS_MAX;
	if (columns)
		*err = give_row(s, columns, true, a->texts, a->values, a->row, a->context);
	while (!*err && (code = sqlite3_step(s)) == SQLITE_ROW)
		*err = give_row(s, columns, false, a->texts, a->values, a->row, a->context);
	if (code == SQLITE_DONE || code == SQLITE_ROW)
		code = SQLITE_OK;
	if (code != SQLITE_OK)
		error__set(error, code_of(code), EINVAL, "%s",
			   code == SQLITE_INTERRUPT ? "the statement was ended: it takes too long, or it was to end" :
			   code == SQLITE_NOMEM ? "the statement needs more memory than it may have" : sqlite3_errmsg(a->db));
	sqlite3_finalize(s);
	return code;
}

int extprof_recorded_sql_of(struct extprof_recorded *r, const struct extprof_recorded_options *options, const char *sql,
			    int (*row)(void *context, int columns, const char *const *values), void *context, struct extprof_error *error)
{
	struct asking a = { .row = row, .context = context };
	struct extprof_recorded_options o;
	int code = SQLITE_OK, err = OPTIONS_TAKE(&o, options, error);
	bool chosen;

	/* It is one for the whole process, as SQLite has it. */
	sqlite3_hard_heap_limit64(MEMORY_MAX);
	if (!err)
		err = check_options(&o, error);
	if (!err)
		err = choose(r, &o, &a.db, error);
	chosen = !err;
	while (!err && code == SQLITE_OK && *sql)
		code = ask(&a, &sql, &err, error);
	if (code != SQLITE_OK && !err)
		err = errno_of(code);
	else if (err == -ENOMEM && chosen)
		error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
	for (int i = 0; i < COLUMNS_MAX; i++)
		text__free(&a.texts[i]);
	return err;
}

int extprof_recorded_sql(struct extprof_recorded *r, const char *sql,
			 int (*row)(void *context, int columns, const char *const *values), void *context,
			 struct extprof_error *error)
{
	return extprof_recorded_sql_of(r, NULL, sql, row, context, error);
}
