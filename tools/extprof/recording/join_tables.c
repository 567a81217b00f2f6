/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of recordings that are put together: numbers of rows get the meaning that they have here. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording/join_parts.h"
#include "recording/schema.h"

#define COLUMNS_MAX 18

struct table {
	const char *name;
	int version;		/* of recordings that have it */
	const char *select;	/* its columns */
	enum meaning columns[COLUMNS_MAX];
	int count;
	enum meaning own;	/* which numbers its rows have; KEEP: nobody names them */
	const char *put;	/* what follows VALUES(...) */
};

#define COUNT(...) (int)(sizeof((enum meaning[]){ __VA_ARGS__ }) / sizeof(enum meaning))
#define COLUMNS(...) { __VA_ARGS__ }, COUNT(__VA_ARGS__)

static const struct table tables[] = {
	{ "strings", 1, "id, text", COLUMNS(STRING, KEEP), STRING, "" },
	{ "frames", 1, "id, kind, name, path, line, first_line, exact, module, address, key, wider, number, known, role, state, missing, "
	  "bracketed", COLUMNS(FRAME, KIND, STRING, STRING, KEEP, KEEP, KEEP, STRING, KEEP, STRING, STRING, KEEP, KEEP, KEEP, STATE, KEEP,
	  KEEP), FRAME, "" },
	{ "stacks", 1, "id, parent, frame", COLUMNS(STACK, STACK, FRAME), STACK, "" },
	{ "processes", 1, "id, frame, pid, parent, uid, command, ruby, cgroup, ended, flags, began_ns, ended_ns, cpu_ns, cpu_unfollowed_ns, "
	  "cpu_samples", COLUMNS(PROCESS, FRAME, KEEP, PROCESS, KEEP, STRING, STRING, STRING, STRING, KEEP, TIME, TIME, KEEP, KEEP, KEEP),
	  PROCESS, "" },
	{ "threads", 1, "id, process, frame", COLUMNS(THREAD, PROCESS, FRAME), THREAD, "" },
	{ "pauses", 1, "time_ns, thread, length_ns, waited_ns, mark_ns, sweep_ns, compact_ns, major, reason, cause",
	  COLUMNS(TIME, THREAD, KEEP, KEEP, KEEP, KEEP, KEEP, KEEP, STRING, KEEP), KEEP, "" },
	{ "events", 1, "time_ns, process, kind, text, number", COLUMNS(TIME, PROCESS, STRING, STRING, KEEP), KEEP, "" },
	{ "thread_accounts", 1, "id, process, tid, serial, name, comm, first_ns, until_ns, ended, voluntary, involuntary, threads",
	  COLUMNS(ACCOUNT, PROCESS, KEEP, KEEP, STRING, STRING, TIME, TIME, KEEP, KEEP, KEEP, KEEP), ACCOUNT, "" },
	{ "thread_states", 1, "account, state, ns, waits", COLUMNS(ACCOUNT, STATE, KEEP, KEEP), KEEP, "" },
	{ "figures", 5, "time_ns, process, resident", COLUMNS(TIME, PROCESS, KEEP), KEEP, "" },
	{ "heaps", 6, "time_ns, process, live_slots, slots, bytes, malloc_bytes", COLUMNS(TIME, PROCESS, KEEP, KEEP, KEEP, KEEP), KEEP, "" },
	/* Counts of no process are added up. */
	{ "accounts", 1, "process, mode, reason, samples", COLUMNS(PROCESS, MODE, KEEP, KEEP), KEEP,
	  " ON CONFLICT DO UPDATE SET samples = samples + excluded.samples" },
};

/* -- numbers with names ------------------------------------------------------------------------ */

static const struct named {
	const char *select, *find, *put;
} named[] = {
	[MODE - MODE] = { "SELECT id, name, value_name, value_unit, count_name, count_unit, source FROM modes",
			  "SELECT id FROM modes WHERE name IS ?",
			  "INSERT INTO modes(id, name, value_name, value_unit, count_name, count_unit, source) VALUES("
			  "(SELECT ifnull(max(id), 0) + 1 FROM modes), ?, ?, ?, ?, ?, ?)" },
	[STATE - MODE] = { "SELECT id, name FROM states", "SELECT id FROM states WHERE name IS ?",
			   "INSERT INTO states(id, name) VALUES((SELECT ifnull(max(id), -1) + 1 FROM states), ?)" },
	[KIND - MODE] = { "SELECT id, name, code FROM kinds", "SELECT id FROM kinds WHERE name IS ?",
			  "INSERT INTO kinds(id, name, code) VALUES((SELECT ifnull(max(id), -1) + 1 FROM kinds), ?, ?)" },
};

/* The number that has this name here; -1: none, if *code is SQLITE_DONE. */
static int64_t find_number(struct joining *j, const struct named *n, sqlite3_stmt *row, int *code)
{
	sqlite3_stmt *s = NULL;
	int64_t number = -1;

	*code = sqlite3_prepare_v2(j->db, n->find, -1, &s, NULL);
	if (*code == SQLITE_OK)
		*code = sqlite3_bind_value(s, 1, sqlite3_column_value(row, 1));
	if (*code == SQLITE_OK && (*code = sqlite3_step(s)) == SQLITE_ROW)
		number = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return number;
}

/* The number that it has here, of a row of the recording; -1 and *code. */
static int64_t number_of(struct joining *j, const struct named *n, sqlite3_stmt *row, int *code)
{
	int64_t number = find_number(j, n, row, code);
	sqlite3_stmt *s = NULL;

	if (number >= 0 || *code != SQLITE_DONE)
		return number;
	*code = sqlite3_prepare_v2(j->db, n->put, -1, &s, NULL);
	for (int i = 1; i < sqlite3_column_count(row) && *code == SQLITE_OK; i++)
		*code = sqlite3_bind_value(s, i, sqlite3_column_value(row, i));
	if (*code == SQLITE_OK)
		*code = sqlite3_step(s);
	sqlite3_finalize(s);
	return *code == SQLITE_DONE ? find_number(j, n, row, code) : -1;
}

static int take_names(struct joining *j, sqlite3 *from)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		sqlite3_stmt *s = NULL;
		int code = sqlite3_prepare_v2(from, named[i].select, -1, &s, NULL), put = SQLITE_OK;

		for (int k = 0; k < (int)BLOCK_MODES; k++)
			j->names[i][k] = k;
		while (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
			int64_t id = sqlite3_column_int64(s, 0), number = number_of(j, &named[i], s, &put);

			code = number < 0 && put != SQLITE_OK ? put : SQLITE_OK;
			if (id >= 0 && id < (int64_t)BLOCK_MODES && number >= 0 && number < (int64_t)BLOCK_MODES)
				j->names[i][id] = number;
		}
		sqlite3_finalize(s);
		if (code != SQLITE_DONE)
			return join__fail(j, code == put ? j->db : from, code);
	}
	return 0;
}

/* -- tables ------------------------------------------------------------------------------------ */

int64_t join__moved(struct joining *j, enum meaning what, int64_t value)
{
	int64_t sum;

	if (what < EQUAL_ONCE)
		return value > 0 && value < j->sizes[what] ? j->numbers[what][value] : 0;
	if (what < NUMBERED)
		return value <= 0 || __builtin_add_overflow(value, j->moved[what], &sum) ? value : sum;
	/* 0 is no time.  What was before the first machine has begun is at its begin. */
	if (what == TIME)
		return value <= 0 || __builtin_add_overflow(value, j->later, &sum) ? value : sum > 0 ? sum : 1;
	return value >= 0 && value < (int64_t)BLOCK_MODES ? j->names[what - MODE][value] : value;
}

bool join__wants(const struct joining *j, uint64_t time)
{
	int64_t at;

	if (!j->since && !j->until)
		return true;
	return !__builtin_add_overflow((int64_t)time, j->wall, &at) && (!j->since || at >= (int64_t)j->since) &&
	       (!j->until || at <= (int64_t)j->until);
}

/* All of a row but its number. */
static const char *text_of(const struct table *t, const int64_t *row, char to[COLUMNS_MAX * 21])
{
	size_t length = 0;

	for (int i = 1; i < t->count; i++)
		length += (size_t)snprintf(to + length, COLUMNS_MAX * 21 - length, "%lld ", (long long)row[i]);
	return to;
}

/* The number of what is there once; *is_new: it has to be put there.  0: there is no memory, or there are too many. */
static uint32_t number_once(struct joining *j, const struct table *t, const int64_t *row, sqlite3_stmt *s, bool *is_new)
{
	static const uint32_t most[EQUAL_ONCE] = { RECORDING_STRINGS_MAX, RECORDING_FRAMES_MAX, RECORDING_STACKS_MAX };
	char all[COLUMNS_MAX * 21];
	uint32_t number;

	if (t->own == STACK) {
		uint64_t key = (uint64_t)row[1] << 32 | (uint64_t)row[2];

		number = map64__get(&j->stacks, key);
		number = number == MAP64_NONE ? j->counts[STACK] : number;
		*is_new = number == j->counts[STACK];
		if (*is_new && map64__add(&j->stacks, key, number))
			return 0;
	} else {
		const char *text = t->own == STRING ? (const char *)sqlite3_column_text(s, 1) : text_of(t, row, all);

		number = strings__number(&j->rows[t->own], text ? text : "", text ? strlen(text) : 0);
		if (number == MAP64_NONE)
			return 0;
		*is_new = number == j->counts[t->own];
	}
	if (*is_new && ++j->counts[t->own] >= most[t->own])
		return 0;
	return number + 1;
}

/* Take the number of a row that may be there already. */
static int take_once(struct joining *j, const struct table *t, int64_t *row, sqlite3_stmt *s, bool *is_new)
{
	int64_t id = row[0];
	uint32_t number = number_once(j, t, row, s, is_new);

	if (!number)
		return diag__set(j->d, DIAG_RECORDING, ENOMEM, "the recordings have more %s together than a statement can have: choose a time "
				 "with --since and --until", t->name);
	/* The tables were checked before. */
	if (id > 0 && id < j->sizes[t->own])
		j->numbers[t->own][id] = number;
	row[0] = number;
	return 0;
}

/* Read a row, and have its numbers those of here.  NULL is -1 in what tells rows apart. */
static void read_row(struct joining *j, const struct table *t, sqlite3_stmt *s, int64_t *row)
{
	for (int i = 0; i < t->count; i++) {
		bool is_number = sqlite3_column_type(s, i) == SQLITE_INTEGER, own = !i && t->own < EQUAL_ONCE;

		row[i] = is_number ? sqlite3_column_int64(s, i) : -1;
		if (is_number && !own && t->columns[i] != KEEP)
			row[i] = join__moved(j, t->columns[i], row[i]);
	}
}

static int bind_row(const struct table *t, sqlite3_stmt *s, const int64_t *row, sqlite3_stmt *put)
{
	int code = SQLITE_OK;

	for (int i = 0; i < t->count && code == SQLITE_OK; i++)
		code = t->columns[i] == KEEP || sqlite3_column_type(s, i) != SQLITE_INTEGER ?
		       sqlite3_bind_value(put, i + 1, sqlite3_column_value(s, i)) : sqlite3_bind_int64(put, i + 1, row[i]);
	return code;
}

/* 0, or negative errno with the error. */
static int put_row(struct joining *j, const struct table *t, sqlite3_stmt *s, sqlite3_stmt *put)
{
	int64_t row[COLUMNS_MAX];
	bool is_new = true;
	int code;

	if (t->columns[0] == TIME && !join__wants(j, row__amount(s, 0)))
		return 0;
	memset(row, 0, sizeof(row));
	read_row(j, t, s, row);
	if (t->own < EQUAL_ONCE) {
		int err = take_once(j, t, row, s, &is_new);

		if (err || !is_new)
			return err;
	} else if (t->own < NUMBERED && row[0] > j->largest[t->own]) {
		j->largest[t->own] = row[0];
	}
	code = bind_row(t, s, row, put);
	if (code == SQLITE_OK && (code = sqlite3_step(put)) == SQLITE_DONE)
		code = SQLITE_OK;
	sqlite3_reset(put);
	return code == SQLITE_OK ? 0 : join__fail(j, j->db, code);
}

static int copy_table(struct joining *j, sqlite3 *from, const struct table *t)
{
	/* The parent of a stack is there before it. */
	char *select = sqlite3_mprintf("SELECT %s FROM %s%s", t->select, t->name, t->own == KEEP ? "" : " ORDER BY id");
	char *places = sqlite3_mprintf("?"), *insert;
	sqlite3_stmt *row = NULL, *put = NULL;
	int code, err = 0;

	for (int i = 1; i < t->count && places; i++)
		places = sqlite3_mprintf("%z,?", places);
	insert = sqlite3_mprintf("INSERT INTO %s(%s) VALUES(%z)%s", t->name, t->select, places, t->put);
	code = select && insert ? sqlite3_prepare_v2(from, select, -1, &row, NULL) : SQLITE_NOMEM;
	if (code == SQLITE_OK && sqlite3_prepare_v2(j->db, insert, -1, &put, NULL) != SQLITE_OK)
		err = join__fail(j, j->db, sqlite3_errcode(j->db));
	while (code == SQLITE_OK && !err && (code = sqlite3_step(row)) == SQLITE_ROW) {
		err = put_row(j, t, row, put);
		code = SQLITE_OK;
	}
	sqlite3_finalize(row);
	sqlite3_finalize(put);
	sqlite3_free(select);
	sqlite3_free(insert);
	return err || code == SQLITE_DONE || code == SQLITE_OK ? err : join__fail(j, from, code);
}

/* The key that is of row `what` of the recording, "process.3.cwd", with its number here; sqlite3_free(). NULL: it is of none. */
static char *moved_key(struct joining *j, const char *key, const char *prefix, enum meaning what)
{
	size_t length = strlen(prefix);
	char *rest;
	long long id;

	if (strncmp(key, prefix, length))
		return NULL;
	id = strtoll(key + length, &rest, 10);
	return id > 0 && rest != key + length && *rest == '.' ?
	       sqlite3_mprintf("%s%lld%s", prefix, (long long)join__moved(j, what, id), rest) : NULL;
}

/* Copy the texts about processes and modes.  Those about a whole recording are copied from the one that began first. */
static int copy_meta(struct joining *j, sqlite3 *from)
{
	sqlite3_stmt *row = NULL, *put = NULL;
	int code = sqlite3_prepare_v2(from, "SELECT key, value FROM meta", -1, &row, NULL), written;

	written = sqlite3_prepare_v2(j->db, "INSERT OR IGNORE INTO meta VALUES(?, ?)", -1, &put, NULL);
	while (code == SQLITE_OK && written == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
		const char *key = (const char *)sqlite3_column_text(row, 0);
		char *other = key ? moved_key(j, key, "process.", PROCESS) : NULL;

		other = key && !other ? moved_key(j, key, "mode.", MODE) : other;
		code = SQLITE_OK;
		if (!key || (!other && !j->is_first))
			continue;
		written = sqlite3_bind_text(put, 1, other ? other : key, -1, SQLITE_TRANSIENT);
		if (written == SQLITE_OK)
			written = sqlite3_bind_value(put, 2, sqlite3_column_value(row, 1));
		if (written == SQLITE_OK && (written = sqlite3_step(put)) == SQLITE_DONE)
			written = SQLITE_OK;
		sqlite3_reset(put);
		sqlite3_free(other);
	}
	sqlite3_finalize(row);
	sqlite3_finalize(put);
	return written != SQLITE_OK ? join__fail(j, j->db, written) : code != SQLITE_DONE ? join__fail(j, from, code) : 0;
}

int join__tables(struct joining *j, struct recording_reader *r)
{
	sqlite3 *from = recording_reader__database(r);
	int err = take_names(j, from);

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !err; i++)
		if (recording_reader__version(r) >= tables[i].version)
			err = copy_table(j, from, &tables[i]);
	return err ? err : copy_meta(j, from);
}
