/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "recording/schema.h"

#define SECOND 1000000000ll
/* Clocks of the day of one machine are put right slowly: recordings whose clocks differ by less are of one time. */
#define SAME_CLOCK (2 * SECOND)

/* What a column has.  Those up to NUMBERED are numbers of rows, which are moved to follow those of the recordings before. */
enum meaning {
	STRING, FRAME, STACK, PROCESS, THREAD, ACCOUNT, NUMBERED,
	MODE = NUMBERED, STATE, KIND,	/* numbers that have names */
	TIME,
	KEEP
};

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
	/* What is of no process is added up. */
	{ "accounts", 1, "process, mode, reason, samples", COLUMNS(PROCESS, MODE, KEEP, KEEP), KEEP,
	  " ON CONFLICT DO UPDATE SET samples = samples + excluded.samples" },
};

struct joining {
	sqlite3 *db;
	struct deadline *deadline;
	uint64_t since, until;		/* ns since 1970 */
	int64_t moved[NUMBERED];	/* by which numbers of rows are moved, of this recording ... */
	int64_t largest[NUMBERED];	/* ... and the largest that there is now */
	int64_t names[KIND - MODE + 1][BLOCK_MODES];	/* of this recording: its number here */
	int64_t later;			/* ns that are added to its times */
	int64_t wall;			/* how far its clock of the day is before its times, ns */
	int64_t first_wall;		/* the same of the recording that began first */
	struct block_codec in, out;
	sqlite3_stmt *put_block;
	struct diag *d;
};

static int fail(struct joining *j, sqlite3 *db, int code)
{
	if (code == SQLITE_INTERRUPT)
		return diag__set(j->d, DIAG_RECORDING, ETIME, "to put the recordings together takes too long, or it was to end");
	if (code == SQLITE_NOMEM)
		return diag__set(j->d, DIAG_RECORDING, ENOMEM, "the recordings need more memory than a statement may have: choose a time with "
				 "--since and --until");
	return schema__fail(db, code, DIAG_RECORDING, "the recordings cannot be put together", j->d);
}

/* The tables, without the index of texts, which nobody looks up here. */
static int make_tables(struct joining *j)
{
	int code = sqlite3_open_v2(":memory:", &j->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_PRIVATECACHE, NULL);

	if (code == SQLITE_OK)
		code = recording_reader__harden(j->db, j->deadline);
	for (int i = 0; code == SQLITE_OK && recording_schema[i]; i++)
		code = sqlite3_exec(j->db, strncmp(recording_schema[i], "CREATE TABLE strings(", 21) ? recording_schema[i] :
				    "CREATE TABLE strings(id INTEGER PRIMARY KEY, text TEXT NOT NULL)", NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(j->db, "BEGIN", NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(j->db, "INSERT INTO blocks(first_ns, last_ns, samples, data) VALUES(?, ?, ?, ?)", -1, &j->put_block, NULL);
	return code == SQLITE_OK ? 0 : fail(j, j->db, code);
}

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
			return fail(j, code == put ? j->db : from, code);
	}
	return 0;
}

/* -- tables ------------------------------------------------------------------------------------ */

static int64_t moved(struct joining *j, enum meaning what, int64_t value)
{
	int64_t sum;

	if (what < NUMBERED)
		return value <= 0 || __builtin_add_overflow(value, j->moved[what], &sum) ? value : sum;
	if (what == TIME)
		return value <= 0 || __builtin_add_overflow(value, j->later, &sum) ? value : sum;
	return value >= 0 && value < (int64_t)BLOCK_MODES ? j->names[what - MODE][value] : value;
}

static int put_row(struct joining *j, const struct table *t, sqlite3_stmt *row, sqlite3_stmt *put)
{
	int code = SQLITE_OK;

	for (int i = 0; i < t->count && code == SQLITE_OK; i++) {
		sqlite3_value *value = sqlite3_column_value(row, i);
		int64_t number;

		if (t->columns[i] == KEEP || sqlite3_value_type(value) != SQLITE_INTEGER) {
			code = sqlite3_bind_value(put, i + 1, value);
			continue;
		}
		number = moved(j, t->columns[i], sqlite3_value_int64(value));
		if (!i && t->own < NUMBERED && number > j->largest[t->own])
			j->largest[t->own] = number;
		code = sqlite3_bind_int64(put, i + 1, number);
	}
	if (code == SQLITE_OK && (code = sqlite3_step(put)) == SQLITE_DONE)
		code = SQLITE_OK;
	sqlite3_reset(put);
	return code;
}

static int copy_table(struct joining *j, sqlite3 *from, const struct table *t)
{
	char *select = sqlite3_mprintf("SELECT %s FROM %s", t->select, t->name), *places = sqlite3_mprintf("?"), *insert;
	sqlite3_stmt *row = NULL, *put = NULL;
	int code, written = SQLITE_OK;

	for (int i = 1; i < t->count && places; i++)
		places = sqlite3_mprintf("%z,?", places);
	insert = sqlite3_mprintf("INSERT INTO %s(%s) VALUES(%z)%s", t->name, t->select, places, t->put);
	code = select && insert ? sqlite3_prepare_v2(from, select, -1, &row, NULL) : SQLITE_NOMEM;
	if (code == SQLITE_OK)
		written = sqlite3_prepare_v2(j->db, insert, -1, &put, NULL);
	while (code == SQLITE_OK && written == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
		written = put_row(j, t, row, put);
		code = SQLITE_OK;
	}
	sqlite3_finalize(row);
	sqlite3_finalize(put);
	sqlite3_free(select);
	sqlite3_free(insert);
	return written != SQLITE_OK ? fail(j, j->db, written) : code != SQLITE_DONE ? fail(j, from, code) : 0;
}

/* Numbers of processes in keys are moved.  What is of the whole recording stays that of the first one. */
static int copy_meta(struct joining *j, sqlite3 *from)
{
	sqlite3_stmt *row = NULL, *put = NULL;
	int code = sqlite3_prepare_v2(from, "SELECT key, value FROM meta", -1, &row, NULL), written;

	written = sqlite3_prepare_v2(j->db, "INSERT OR IGNORE INTO meta VALUES(?, ?)", -1, &put, NULL);
	while (code == SQLITE_OK && written == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
		const char *key = (const char *)sqlite3_column_text(row, 0);
		char *rest = NULL, *other = NULL;
		long long id = key && !strncmp(key, "process.", 8) ? strtoll(key + 8, &rest, 10) : 0;

		if (id > 0 && *rest == '.')
			other = sqlite3_mprintf("process.%lld%s", (long long)moved(j, PROCESS, id), rest);
		written = sqlite3_bind_text(put, 1, other ? other : key ? key : "", -1, SQLITE_TRANSIENT);
		if (written == SQLITE_OK)
			written = sqlite3_bind_value(put, 2, sqlite3_column_value(row, 1));
		if (written == SQLITE_OK && (written = sqlite3_step(put)) == SQLITE_DONE)
			written = SQLITE_OK;
		sqlite3_reset(put);
		sqlite3_free(other);
		code = SQLITE_OK;
	}
	sqlite3_finalize(row);
	sqlite3_finalize(put);
	return written != SQLITE_OK ? fail(j, j->db, written) : code != SQLITE_DONE ? fail(j, from, code) : 0;
}

/* -- samples ----------------------------------------------------------------------------------- */

static bool is_wanted(const struct joining *j, const struct recording_sample *s)
{
	int64_t at;

	if (!j->since && !j->until)
		return true;
	return !__builtin_add_overflow((int64_t)s->time, j->wall, &at) && (!j->since || at >= (int64_t)j->since) && (!j->until || at <= (int64_t)j->until);
}

static int copy_samples(void *context, const struct recording_sample *samples, uint32_t count)
{
	struct joining *j = context;
	struct recording_sample *to = j->in.samples;
	uint64_t first = UINT64_MAX, last = 0;
	uint32_t n = 0;
	long size;
	int code;

	for (uint32_t i = 0; i < count && n < BLOCK_SAMPLES_MAX; i++) {
		if (!is_wanted(j, &samples[i]))
			continue;
		to[n] = samples[i];
		to[n].time = (uint64_t)moved(j, TIME, (int64_t)samples[i].time);
		to[n].thread = (uint32_t)moved(j, THREAD, samples[i].thread);
		to[n].stack = (uint32_t)moved(j, STACK, samples[i].stack);
		to[n].labels = (uint32_t)moved(j, STACK, samples[i].labels);
		to[n].mode = (uint8_t)moved(j, MODE, samples[i].mode);
		to[n].state = (uint8_t)moved(j, STATE, samples[i].state);
		first = to[n].time < first ? to[n].time : first;
		last = to[n].time > last ? to[n].time : last;
		n++;
	}
	if (!n)
		return 0;
	size = block__encode(&j->out, to, n, j->in.period);
	if (size < 0)
		return diag__set(j->d, DIAG_RECORDING, EBADMSG, "the recordings cannot be put together: a time or an amount is too large");
	sqlite3_bind_int64(j->put_block, 1, (int64_t)first);
	sqlite3_bind_int64(j->put_block, 2, (int64_t)last);
	sqlite3_bind_int64(j->put_block, 3, n);
	sqlite3_bind_blob(j->put_block, 4, j->out.data, (int)size, SQLITE_STATIC);
	code = sqlite3_step(j->put_block);
	sqlite3_reset(j->put_block);
	return code == SQLITE_DONE ? 0 : fail(j, j->db, code);
}

/* -- all --------------------------------------------------------------------------------------- */

static int64_t wall_of(const struct recording_reader *r)
{
	return (int64_t)(recording_reader__wall(r) - recording_reader__begin(r));
}

static int add(struct joining *j, struct recording_reader *r)
{
	bool sleeps = !recording_reader__awake(r);
	struct recording_tables t = { 0 };
	int err = recording_reader__wake(r, j->d);
	sqlite3 *from;

	if (err)
		return err;
	from = recording_reader__database(r);
	j->wall = wall_of(r);
	/* The clocks of a file that lies can be anything. */
	if (__builtin_sub_overflow(j->wall, j->first_wall, &j->later) || (j->later < SAME_CLOCK && j->later > -SAME_CLOCK))
		j->later = 0;
	memcpy(j->moved, j->largest, sizeof(j->moved));
	err = take_names(j, from);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !err; i++)
		if (recording_reader__version(r) >= tables[i].version)
			err = copy_table(j, from, &tables[i]);
	if (!err)
		err = copy_meta(j, from);
	if (!err)
		err = recording_reader__load(r, &t, j->d);
	if (!err) {
		j->in.period = (uint64_t)recording_reader__number(r, "period_ns");
		err = recording_reader__samples(r, &t, 0, UINT64_MAX, copy_samples, j, j->d);
		recording_tables__free(&t);
	}
	if (sleeps)
		recording_reader__sleep(r);
	return err;
}

int recording_join(sqlite3 **db, struct recording_reader *const *readers, uint32_t count, uint64_t since, uint64_t until,
		   struct deadline *deadline, struct diag *d)
{
	struct joining *j = calloc(1, sizeof(*j));
	uint32_t first = 0;
	int err;

	*db = NULL;
	if (!j)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the recordings");
	j->deadline = deadline;
	j->since = since;
	j->until = until;
	j->d = d;
	for (uint32_t i = 1; i < count; i++)
		first = recording_reader__wall(readers[i]) < recording_reader__wall(readers[first]) ? i : first;
	j->first_wall = wall_of(readers[first]);
	err = block_codec__init(&j->in) || block_codec__init(&j->out) ?
	      diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the recordings") : make_tables(j);
	*db = j->db;
	/* The one that began first says of the whole what it is. */
	if (!err)
		err = add(j, readers[first]);
	for (uint32_t i = 0; i < count && !err; i++)
		if (i != first)
			err = add(j, readers[i]);
	if (!err && sqlite3_exec(j->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		err = fail(j, j->db, sqlite3_errcode(j->db));
	sqlite3_finalize(j->put_block);
	block_codec__free(&j->in);
	block_codec__free(&j->out);
	free(j);
	return err;
}
