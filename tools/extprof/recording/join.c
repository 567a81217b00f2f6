/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map64.h"
#include "base/strings.h"
#include "recording/schema.h"

#define SECOND 1000000000ll
/* Clocks of the day of one machine are put right slowly: recordings whose clocks differ by less are of one time. */
#define SAME_CLOCK (2 * SECOND)

/* What a column has. */
enum meaning {
	STRING, FRAME, STACK,	/* numbers of rows of which equal ones are there once */
	PROCESS, THREAD, ACCOUNT, NUMBERED,	/* of others, which are moved to follow those of the recordings before */
	MODE = NUMBERED, STATE, KIND,	/* numbers that have names */
	TIME,
	KEEP
};
#define EQUAL_ONCE PROCESS

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
	struct strings rows[STACK];	/* texts, and the rest of rows of frames, each once: their numbers + 1 */
	struct map64 stacks;		/* parent and frame -> number */
	uint32_t counts[EQUAL_ONCE];	/* of them all */
	uint32_t *numbers[EQUAL_ONCE];	/* of this recording: by its number; 0: there is no such row */
	uint32_t sizes[EQUAL_ONCE];	/* of these */
	int64_t moved[NUMBERED];	/* by which others are moved, of this recording ... */
	int64_t largest[NUMBERED];	/* ... and the largest that there is now */
	int64_t names[KIND - MODE + 1][BLOCK_MODES];	/* of this recording: its number here */
	int64_t later;			/* ns that are added to its times */
	int64_t wall;			/* ns since 1970 less its times */
	int64_t first_wall;		/* the same of the recording that began first */
	bool is_first;			/* it is that one */
	bool several;
	uint64_t begin;			/* of what is wanted of it, in the times of the first; ns */
	int64_t blocks, first_block;	/* that there are; the first one that it has */
	uint8_t heap;			/* its mode of that number is left out; 0: none */
	struct block_codec in, out;
	sqlite3_stmt *put_block;
	struct diag *d;
};

/* The error of a database.  Returns a negative errno. */
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
	/* For requests_table.c. */
	if (code == SQLITE_OK)
		code = sqlite3_exec(j->db, "CREATE TABLE parts(first_block INTEGER, begin_ns INTEGER); BEGIN", NULL, NULL, NULL);
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

	if (what < EQUAL_ONCE)
		return value > 0 && value < j->sizes[what] ? j->numbers[what][value] : 0;
	if (what < NUMBERED)
		return value <= 0 || __builtin_add_overflow(value, j->moved[what], &sum) ? value : sum;
	/* 0 is no time.  What was before the first machine has begun is at its begin. */
	if (what == TIME)
		return value <= 0 || __builtin_add_overflow(value, j->later, &sum) ? value : sum > 0 ? sum : 1;
	return value >= 0 && value < (int64_t)BLOCK_MODES ? j->names[what - MODE][value] : value;
}

/* Of a time that the recording has. */
static bool is_at_wanted(const struct joining *j, uint64_t time)
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
			row[i] = moved(j, t->columns[i], row[i]);
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

	if (t->columns[0] == TIME && !is_at_wanted(j, row__amount(s, 0)))
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
	return code == SQLITE_OK ? 0 : fail(j, j->db, code);
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
		err = fail(j, j->db, sqlite3_errcode(j->db));
	while (code == SQLITE_OK && !err && (code = sqlite3_step(row)) == SQLITE_ROW) {
		err = put_row(j, t, row, put);
		code = SQLITE_OK;
	}
	sqlite3_finalize(row);
	sqlite3_finalize(put);
	sqlite3_free(select);
	sqlite3_free(insert);
	return err || code == SQLITE_DONE || code == SQLITE_OK ? err : fail(j, from, code);
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
	       sqlite3_mprintf("%s%lld%s", prefix, (long long)moved(j, what, id), rest) : NULL;
}

/* What is of a process or a mode.  What is of the whole recording is that of the one that began first. */
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
	return written != SQLITE_OK ? fail(j, j->db, written) : code != SQLITE_DONE ? fail(j, from, code) : 0;
}

/* -- samples ----------------------------------------------------------------------------------- */

/* What lives is a state of each recording, and not to be added up. */
static bool is_wanted(const struct joining *j, const struct recording_sample *s)
{
	return is_at_wanted(j, s->time) && !(j->heap && s->mode == j->heap);
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
	j->blocks++;
	return code == SQLITE_DONE ? 0 : fail(j, j->db, code);
}

/* -- all --------------------------------------------------------------------------------------- */

static int64_t wall_of(const struct recording_reader *r)
{
	return (int64_t)(recording_reader__wall(r) - recording_reader__begin(r));
}

static int no_memory(struct joining *j)
{
	return diag__set(j->d, DIAG_INTERNAL, ENOMEM, "out of memory for the recordings");
}

/* Its numbers have no meaning here yet. */
static int begin_numbers(struct joining *j, const struct recording_tables *t)
{
	const uint32_t sizes[EQUAL_ONCE] = { t->string_count, t->frame_count, t->stack_count };

	for (int i = 0; i < EQUAL_ONCE; i++) {
		free(j->numbers[i]);
		j->numbers[i] = calloc(sizes[i] + 1u, sizeof(*j->numbers[i]));
		j->sizes[i] = sizes[i];
		if (!j->numbers[i])
			return no_memory(j);
	}
	memcpy(j->moved, j->largest, sizeof(j->moved));
	return 0;
}

/* Its times, in those of the recording that began first. */
static void place(struct joining *j, const struct recording_reader *r)
{
	int64_t begin = (int64_t)recording_reader__begin(r), since;

	j->wall = wall_of(r);
	/* The clocks of a file that lies can be anything.  One that has not begun says nothing of them. */
	if (!recording_reader__wall(r) || __builtin_sub_overflow(j->wall, j->first_wall, &j->later) ||
	    (j->later < SAME_CLOCK && j->later > -SAME_CLOCK))
		j->later = 0;
	if (j->since && !__builtin_sub_overflow((int64_t)j->since, j->wall, &since) && since > begin)
		begin = since;
	j->begin = (uint64_t)moved(j, TIME, begin);
}

/* Requests are told apart in each recording by itself. */
static int put_part(struct joining *j)
{
	char *sql = sqlite3_mprintf("INSERT INTO parts SELECT %lld, %lld WHERE EXISTS (SELECT 1 FROM blocks WHERE id >= %lld)", j->first_block,
				    (long long)j->begin, j->first_block);
	int code = sql ? sqlite3_exec(j->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return code == SQLITE_OK ? 0 : fail(j, j->db, code);
}

/* The number of mode heap in it; 0: it has none. */
static uint8_t heap_of(const struct recording_tables *t)
{
	for (uint32_t i = 0; i < BLOCK_MODES; i++)
		if (t->modes[i].name && !strcmp(t->modes[i].name, "heap"))
			return (uint8_t)t->modes[i].id;
	return 0;
}

/* The time of its clock that is at a time since 1970; `most`: there is none. */
static uint64_t time_at(const struct joining *j, uint64_t at, uint64_t most)
{
	int64_t time;

	return !at || __builtin_sub_overflow((int64_t)at, j->wall, &time) ? most : time > 0 ? (uint64_t)time : 0;
}

static int add_awake(struct joining *j, struct recording_reader *r)
{
	sqlite3 *from = recording_reader__database(r);
	struct recording_tables t = { 0 };
	int err = recording_reader__load(r, &t, j->d);

	if (err)
		return err;
	place(j, r);
	j->heap = j->several ? heap_of(&t) : 0;
	err = begin_numbers(j, &t);
	if (!err)
		err = take_names(j, from);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !err; i++)
		if (recording_reader__version(r) >= tables[i].version)
			err = copy_table(j, from, &tables[i]);
	if (!err)
		err = copy_meta(j, from);
	if (!err) {
		j->in.period = (uint64_t)recording_reader__number(r, "period_ns");
		j->first_block = j->blocks + 1;
		err = recording_reader__samples(r, &t, time_at(j, j->since, 0), time_at(j, j->until, UINT64_MAX), copy_samples, j, j->d);
	}
	if (!err)
		err = put_part(j);
	recording_tables__free(&t);
	return err;
}

static int add(struct joining *j, struct recording_reader *r)
{
	bool sleeps = !recording_reader__awake(r);
	int err = recording_reader__wake(r, j->d);

	if (!err)
		err = add_awake(j, r);
	if (err && j->several)
		diag__name(j->d, recording_reader__name(r));
	if (sleeps)
		recording_reader__sleep(r);
	return err;
}

static void free_joining(struct joining *j)
{
	sqlite3_finalize(j->put_block);
	block_codec__free(&j->in);
	block_codec__free(&j->out);
	for (int i = 0; i < EQUAL_ONCE; i++)
		free(j->numbers[i]);
	for (int i = 0; i < STACK; i++)
		strings__free(&j->rows[i]);
	map64__free(&j->stacks);
	free(j);
}

/* The one that began first, of those of which that is known. */
static uint32_t find_first(struct recording_reader *const *readers, uint32_t count)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < count; i++) {
		uint64_t wall = recording_reader__wall(readers[i]), least = recording_reader__wall(readers[first]);

		first = wall && (!least || wall < least) ? i : first;
	}
	return first;
}

int recording_join(sqlite3 **db, struct recording_reader *const *readers, uint32_t count, uint64_t since, uint64_t until,
		   struct deadline *deadline, struct diag *d)
{
	struct joining *j = calloc(1, sizeof(*j));
	uint32_t first = find_first(readers, count);
	int err;

	*db = NULL;
	if (!j)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the recordings");
	j->deadline = deadline;
	j->since = since;
	j->until = until;
	j->several = count > 1;
	j->d = d;
	j->first_wall = wall_of(readers[first]);
	err = block_codec__init(&j->in) || block_codec__init(&j->out) ? no_memory(j) : make_tables(j);
	*db = j->db;
	j->is_first = true;
	if (!err)
		err = add(j, readers[first]);
	j->is_first = false;
	for (uint32_t i = 0; i < count && !err; i++)
		if (i != first)
			err = add(j, readers[i]);
	if (!err && sqlite3_exec(j->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		err = fail(j, j->db, sqlite3_errcode(j->db));
	free_joining(j);
	return err;
}
