/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/join_parts.h"
#include "recording/profile_parts.h"
#include "recording/schema.h"

#define SECOND 1000000000ll
/* Clocks of the day of one machine are put right slowly: recordings whose clocks differ by less are of one time. */
#define SAME_CLOCK (2 * SECOND)

int join__fail(struct joining *j, sqlite3 *db, int code)
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
	return code == SQLITE_OK ? 0 : join__fail(j, j->db, code);
}

/* -- samples ----------------------------------------------------------------------------------- */

static bool is_wanted(const struct joining *j, const struct recording_sample *s)
{
	return join__wants(j, s->time) && !j->left_out[s->mode];
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
		to[n].time = (uint64_t)join__moved(j, TIME, (int64_t)samples[i].time);
		to[n].thread = (uint32_t)join__moved(j, THREAD, samples[i].thread);
		to[n].stack = (uint32_t)join__moved(j, STACK, samples[i].stack);
		to[n].labels = (uint32_t)join__moved(j, STACK, samples[i].labels);
		to[n].mode = (uint8_t)join__moved(j, MODE, samples[i].mode);
		to[n].state = (uint8_t)join__moved(j, STATE, samples[i].state);
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
	return code == SQLITE_DONE ? 0 : join__fail(j, j->db, code);
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
	j->begin = (uint64_t)join__moved(j, TIME, begin);
}

/* Requests are told apart in each recording by itself. */
static int put_part(struct joining *j, int64_t first_block)
{
	char *sql = sqlite3_mprintf("INSERT INTO parts VALUES(%lld, %lld)", (long long)first_block, (long long)j->begin);
	int code = sql ? sqlite3_exec(j->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return code == SQLITE_OK ? 0 : join__fail(j, j->db, code);
}

/* Leave out live objects: they are a state of each recording, and cannot be added up. */
static void leave_out(struct joining *j, const struct recording_tables *t)
{
	for (uint32_t i = 0; i < BLOCK_MODES; i++) {
		const struct mode *mode = t->modes[i].id ? recording_profile__mode(&t->modes[i]) : NULL;

		j->left_out[i] = j->several && mode && mode->lives;
	}
}

/* The time of its clock that is at a time since 1970; `most`: there is none. */
static uint64_t time_at(const struct joining *j, uint64_t at, uint64_t most)
{
	int64_t time;

	return !at || __builtin_sub_overflow((int64_t)at, j->wall, &time) ? most : time > 0 ? (uint64_t)time : 0;
}

static int add_awake(struct joining *j, struct recording_reader *r)
{
	struct recording_tables t = { 0 };
	int64_t blocks = j->blocks;
	int err = recording_reader__load(r, &t, j->d);

	if (err)
		return err;
	place(j, r);
	leave_out(j, &t);
	err = begin_numbers(j, &t);
	if (!err)
		err = join__tables(j, r);
	if (!err) {
		j->in.period = (uint64_t)recording_reader__number(r, "period_ns");
		err = recording_reader__samples(r, &t, time_at(j, j->since, 0), time_at(j, j->until, UINT64_MAX), copy_samples, j, j->d);
	}
	if (!err && j->blocks > blocks)
		err = put_part(j, blocks + 1);
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
		err = join__fail(j, j->db, sqlite3_errcode(j->db));
	free_joining(j);
	return err;
}
