/* SPDX-License-Identifier: BSD-2-Clause */
/* Recordings: what was written is read to the last bit, and what somebody made up is refused within bounds. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "recording/reader.h"
#include "recording/redact.h"
#include "recording/samples_table.h"
#include "recording/writer.h"

#define PERIOD 1001001ull
/* Bytes of a block before the compressed part. */
#define OUTER 9
#define FILE_NAME "test_recording.extprof"
#define COPY_NAME "test_recording_copy.extprof"

static struct diag diag;

static void remove_file(void)
{
	unlink(FILE_NAME);
	unlink(FILE_NAME "-wal");
	unlink(FILE_NAME "-shm");
	unlink(FILE_NAME "-journal");
}

static uint64_t random64(void)
{
	return (uint64_t)test__random() << 32 | test__random();
}

/* Have samples traces?  Some of them have none. */
static bool with_traces;

/* Any sample: small numbers, large ones and the largest ones. */
static struct recording_sample random_sample(uint32_t threads, uint32_t stacks)
{
	unsigned int wide = test__random() % 64;
	uint8_t trace = with_traces ? (uint8_t)(test__random() % 200) : 0;

	return (struct recording_sample){
		.time = random64() >> 1 >> test__random() % 63,
		.value = test__random() % 3 ? PERIOD : random64() >> 1 >> wide,
		.count = test__random() % 4 ? 1 : random64() >> 1 >> wide,
		.thread = test__random() % threads,
		.stack = test__random() % stacks,
		.labels = test__random() % 3 ? 0 : test__random() % stacks,
		.fiber = test__random() % 3 ? 1 : test__random(),
		.mode = (uint8_t)(1 + test__random() % 3),
		.state = (uint8_t)(test__random() % 16),
		.context = { .trace = { [15] = trace / 2 }, .span = { trace } },
	};
}

static int compare_samples(const void *a, const void *b)
{
	const struct recording_sample *x = a, *y = b;
	const uint64_t fields[][2] = {
		{ x->thread, y->thread }, { x->time, y->time }, { x->mode, y->mode }, { x->stack, y->stack },
		{ x->state, y->state }, { x->labels, y->labels }, { x->fiber, y->fiber }, { x->value, y->value }, { x->count, y->count },
		{ x->marks, y->marks },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i][0] != fields[i][1])
			return fields[i][0] < fields[i][1] ? -1 : 1;
	return memcmp(&x->context, &y->context, sizeof(x->context));
}

/* Both are in the order of compare_samples(). */
static bool same_samples(const struct recording_sample *a, const struct recording_sample *b, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		if (compare_samples(&a[i], &b[i]))
			return false;
	return true;
}

TEST(recording_block_round_trip)
{
	struct recording_sample *given = malloc(BLOCK_SAMPLES_MAX * sizeof(*given));
	struct block_codec c = { 0 };

	CHECK(!block_codec__init(&c));
	for (int round = 0; round < 60; round++) {
		uint32_t count = round ? 1 + test__random() % 2000 : BLOCK_SAMPLES_MAX;
		uint64_t period = round % 3 ? PERIOD : round % 2 ? 0 : random64() >> 1;
		long size;

		bool with_marks = round % 5 == 4;

		with_traces = round / 2 % 2;
		for (uint32_t i = 0; i < count; i++)
			given[i] = random_sample(1 + round % 2 * UINT32_MAX / 2, UINT32_MAX);
		if (with_traces)
			given[0].context.span[7] = 1;
		for (uint32_t i = 0; i < count && with_marks; i++)
			given[i].marks = i % 3 ? i % 7 ? 5 : BLOCK_MARKS_MAX - i / 100 : 0;
		size = block__encode(&c, given, count, period);
		CHECK(size > 0 && size <= (long)BLOCK_SIZE_MAX);
		/* Without traces and marks it is what readers of before know. */
		if (with_marks && count > 1)
			CHECK_INT(c.data[0], with_traces ? BLOCK_FORMAT_WITH_BOTH : BLOCK_FORMAT_WITH_MARKS);
		else
			CHECK_INT(c.data[0], with_traces ? BLOCK_FORMAT_WITH_TRACES : BLOCK_FORMAT);
		CHECK_INT(block__decode(&c, c.data, (size_t)size), count);
		CHECK(same_samples(given, c.samples, count));
	}
	/* As many traces as samples, each with all bytes. */
	for (uint32_t i = 0; i < BLOCK_SAMPLES_MAX; i++) {
		given[i] = random_sample(UINT32_MAX, UINT32_MAX);
		for (int j = 0; j < 16; j++)
			given[i].context.trace[j] = (uint8_t)test__random();
		for (int j = 0; j < 8; j++)
			given[i].context.span[j] = (uint8_t)test__random();
		given[i].marks = BLOCK_MARKS_MAX - test__random() % 2;
	}
	CHECK_INT(block__decode(&c, c.data, (size_t)block__encode(&c, given, BLOCK_SAMPLES_MAX, PERIOD)), BLOCK_SAMPLES_MAX);
	CHECK(same_samples(given, c.samples, BLOCK_SAMPLES_MAX));
	with_traces = false;
	given[0].marks = BLOCK_MARKS_MAX + 1;
	CHECK_INT(block__encode(&c, given, 1, PERIOD), -EINVAL);
	given[0].marks = 0;
	/* Numbers that a database cannot have. */
	given[0].time = 1ull << 63;
	CHECK_INT(block__encode(&c, given, 1, PERIOD), -EINVAL);
	CHECK_INT(block__encode(&c, given, 0, PERIOD), -EINVAL);
	block_codec__free(&c);
	free(given);
}

/* As blocks were before: without the last column. */
TEST(recording_block_without_fibers)
{
	struct recording_sample given[200];
	struct block_codec c = { 0 };
	uint8_t *raw = malloc(BLOCK_RAW_MAX), *block = malloc(BLOCK_SIZE_MAX);
	uLongf length = BLOCK_RAW_MAX, packed = BLOCK_SIZE_MAX - OUTER;
	uint32_t fibers;
	long size;

	CHECK(!block_codec__init(&c));
	for (int i = 0; i < 200; i++)
		given[i] = random_sample(10, 100);
	size = block__encode(&c, given, 200, PERIOD);
	CHECK(uncompress(raw, &length, c.data + OUTER, (uLong)size - OUTER) == Z_OK);
	memcpy(&fibers, raw + 60, 4);
	memmove(raw + 60, raw + 64, length - 64);
	length -= 4 + fibers;
	CHECK(compress2(block + OUTER, &packed, raw, length, 1) == Z_OK);
	for (int i = 0; i < 4; i++) {
		block[1 + i] = (uint8_t)(length >> 8 * i);
		block[5 + i] = (uint8_t)(crc32(0, raw, (uInt)length) >> 8 * i);
	}
	block[0] = BLOCK_FORMAT;
	CHECK_INT(block__decode(&c, block, packed + OUTER), -EBADMSG);
	block[0] = BLOCK_FORMAT_WITHOUT_FIBERS;
	CHECK_INT(block__decode(&c, block, packed + OUTER), 200);
	for (int i = 0; i < 200; i++)
		given[i].fiber = 0;
	CHECK(same_samples(given, c.samples, 200));
	free(raw);
	free(block);
	block_codec__free(&c);
}

TEST(recording_block_damaged)
{
	struct recording_sample given[500];
	struct block_codec c = { 0 };
	uint8_t *good, *bad;
	long size;

	CHECK(!block_codec__init(&c));
	with_traces = true;
	for (int i = 0; i < 500; i++)
		given[i] = random_sample(10, 100);
	with_traces = false;
	size = block__encode(&c, given, 500, PERIOD);
	good = malloc((size_t)size);
	bad = malloc((size_t)size);
	memcpy(good, c.data, (size_t)size);
	/* Each prefix, and each byte changed: the checksum finds all changes but those that mean the same. */
	for (long i = 0; i < size; i++) {
		CHECK_INT(block__decode(&c, good, (size_t)i), -EBADMSG);
		memcpy(bad, good, (size_t)size);
		bad[i] ^= (uint8_t)(1u << test__random() % 8);
		if (block__decode(&c, bad, (size_t)size) == 500)
			CHECK(same_samples(given, c.samples, 500));
		else
			CHECK_INT(block__decode(&c, bad, (size_t)size), -EBADMSG);
	}
	CHECK_INT(block__decode(&c, good, (size_t)size), 500);
	free(good);
	free(bad);
	block_codec__free(&c);
}

/* Blocks of which the checksum is right, and something else is not. */
TEST(recording_block_made_up)
{
	struct recording_sample given[300];
	struct block_codec c = { 0 };
	uint8_t *raw = malloc(BLOCK_RAW_MAX), *block = malloc(BLOCK_SIZE_MAX);
	long decoded = 0;

	CHECK(!block_codec__init(&c));
	for (int round = 0; round < 5000; round++) {
		uLongf length = BLOCK_RAW_MAX, size = BLOCK_SIZE_MAX - OUTER;
		uint32_t count = 1 + test__random() % 300;
		long n;

		with_traces = round % 2;
		for (uint32_t i = 0; i < count; i++)
			given[i] = random_sample(5, 20);
		with_traces = false;
		n = block__encode(&c, given, count, PERIOD);
		CHECK(n > 0);
		CHECK_INT(uncompress(raw, &length, c.data + OUTER, (uLong)n - OUTER), Z_OK);
		for (uint32_t i = 0; i < 1 + test__random() % 4; i++)
			raw[test__random() % (test__random() % 2 ? length : 60)] = (uint8_t)test__random();
		block[0] = c.data[0];
		memcpy(block + 1, c.data + 1, 4);
		for (int i = 0; i < 4; i++)
			block[5 + i] = (uint8_t)(crc32(0, raw, (uInt)length) >> 8 * i);
		CHECK_INT(compress2(block + OUTER, &size, raw, length, 1), Z_OK);
		n = block__decode(&c, block, size + OUTER);
		CHECK(n == -EBADMSG || (n > 0 && n <= BLOCK_SAMPLES_MAX));
		decoded += n > 0;
		for (long i = 0; i < n; i++)
			CHECK(c.samples[i].time <= BLOCK_NUMBER_MAX && c.samples[i].value <= BLOCK_NUMBER_MAX);
	}
	/* Some changes only make another block. */
	CHECK(decoded > 25);
	free(raw);
	free(block);
	block_codec__free(&c);
}

TEST(recording_block_bomb)
{
	struct block_codec c = { 0 };
	uLongf size = BLOCK_SIZE_MAX;
	uint8_t *zeros = calloc(1, 64 << 20), *block = malloc(BLOCK_SIZE_MAX);

	CHECK(!block_codec__init(&c));
	size -= OUTER;
	CHECK_INT(compress2(block + OUTER, &size, zeros, 64 << 20, 9), Z_OK);
	block[0] = BLOCK_FORMAT;
	/* It says that it is 64 MiB, that it is the most that is allowed, and that it is small. */
	for (int i = 0; i < 3; i++) {
		uint32_t length = i == 0 ? 64u << 20 : i == 1 ? BLOCK_RAW_MAX : 100;

		for (int j = 0; j < 4; j++)
			block[1 + j] = (uint8_t)(length >> 8 * j);
		CHECK_INT(block__decode(&c, block, size + OUTER), -EBADMSG);
	}
	free(zeros);
	free(block);
	block_codec__free(&c);
}

/* -- a whole file ------------------------------------------------------------------------------ */

static const char *const frame_names[] = { "main", "Foo#bar", "Array#each", "io" };

/* Rows that samples refer to: 3 modes, 2 processes, 4 threads, 4 frames. */
static int write_tables(struct recording_writer *w)
{
	int err = recording_writer__set_number(w, "started_monotonic_ns", 1000) ||
		  recording_writer__kind(w, FRAME_RUBY, "Ruby", true) || recording_writer__kind(w, FRAME_STATE, "state", false) ||
		  recording_writer__kind(w, FRAME_THREAD, "thread", false) || recording_writer__state(w, 3, "io");

	for (uint32_t i = 1; i <= 3 && !err; i++)
		err = recording_writer__mode(w, &(struct recording_mode){
			.id = i, .name = i == 1 ? "cpu" : i == 2 ? "wall" : "alloc", .value_name = "cpu", .value_unit = "ns",
			.count_name = "samples", .count_unit = "count", .source = "" });
	for (uint32_t i = 0; i < 4 && !err; i++) {
		struct frame f = FRAME_INIT(i == 3 ? FRAME_STATE : FRAME_RUBY);

		f.name = frame_names[i];
		f.path = i < 2 ? "app.rb" : "";
		f.line = (int32_t)i + 10;
		f.bracketed = i == 3;
		err = recording_writer__frame(w, i + 1, &f);
	}
	if (!err) {
		struct frame f = FRAME_INIT(FRAME_THREAD);

		f.name = "worker";
		f.tid = 42;
		err = recording_writer__frame(w, 5, &f);
	}
	for (uint32_t i = 1; i <= 2 && !err; i++)
		err = recording_writer__process(w, &(struct recording_process){
			.id = i, .pid = 100 + (int)i, .command = "puma", .cgroup = i == 2 ? "/app/web" : NULL,
			.resource = i == 2 ? "a=b,vcs.ref.head.revision=0123456" : NULL });
	for (uint32_t i = 1; i <= 4 && !err; i++)
		err = recording_writer__thread(w, i, 1 + i % 2, 5);
	return err;
}

struct got {
	struct recording_sample *list;
	uint64_t count, room;
};

static int take(void *context, const struct recording_sample *samples, uint32_t count)
{
	struct got *g = context;

	if (g->count + count > g->room)
		return -ENOSPC;
	memcpy(g->list + g->count, samples, count * sizeof(*samples));
	g->count += count;
	return 0;
}

TEST(recording_file_round_trip)
{
	enum { COUNT = 40000 };
	struct recording_sample *given = malloc(COUNT * sizeof(*given)), *got = malloc(COUNT * sizeof(*got));
	struct got g = { .list = got, .room = COUNT };
	struct recording_tables t;
	struct recording_writer *w;
	struct recording_reader *r;
	struct recording_check check;
	uint64_t until = 0;
	const char *why;
	struct stat st;

	remove_file();
	CHECK(!recording_writer__create(&w, FILE_NAME, (uid_t)-1, (gid_t)-1, PERIOD, &diag));
	CHECK(!stat(FILE_NAME, &st) && (st.st_mode & 0777) == 0600);
	CHECK(!write_tables(w));
	for (int i = 0; i < COUNT; i++) {
		uint32_t frames[3] = { 1, 2 + test__random() % 2, 4 };

		given[i] = random_sample(5, 2);
		/* Two minutes, not in order. */
		given[i].time = (uint64_t)i * 3000000 + test__random() % 10000000;
		given[i].stack = recording_writer__stack(w, frames, 2 + (uint32_t)i % 2);
		given[i].labels = 0;
		CHECK(given[i].stack);
		if (given[i].time > until)
			until = given[i].time;
		CHECK(!recording_writer__sample(w, &given[i]));
	}
	CHECK_INT(recording_writer__samples(w), COUNT);
	CHECK(!recording_writer__set_number(w, "ended", 1));
	CHECK(!recording_writer__end(w));
	/* Nothing is written after its end. */
	CHECK_INT(recording_writer__sample(w, &given[0]), -EINVAL);
	recording_writer__destroy(w);
	/* One file is left. */
	CHECK(access(FILE_NAME "-wal", F_OK) && access(FILE_NAME "-shm", F_OK) && access(FILE_NAME "-journal", F_OK));

	CHECK(!recording_reader__open(&r, FILE_NAME, NULL, &diag));
	CHECK(recording_reader__ended(r, &why) && !why);
	CHECK_INT(recording_reader__number(r, "started_monotonic_ns"), 1000);
	CHECK(!recording_reader__load(r, &t, &diag));
	CHECK_STRING(t.frames[2].name, "Foo#bar");
	CHECK_STRING(t.frames[2].path, "app.rb");
	CHECK_INT(t.frames[2].line, 11);
	CHECK_INT(t.processes[2].pid, 102);
	CHECK_STRING(t.processes[2].command, "puma");
	CHECK_STRING(t.modes[3].name, "alloc");
	CHECK_INT(t.stack_count, 1 + 5);
	CHECK(!recording_reader__samples(r, &t, 0, UINT64_MAX, take, &g, &diag));
	CHECK_INT(g.count, COUNT);
	qsort(given, COUNT, sizeof(*given), compare_samples);
	qsort(got, COUNT, sizeof(*got), compare_samples);
	CHECK(same_samples(given, got, COUNT));
	CHECK(!recording_reader__verify(r, &check, &diag));
	CHECK_INT(check.samples, COUNT);
	CHECK_INT(check.last, until);
	CHECK(check.blocks > 10);
	/* A part of the time. */
	g.count = 0;
	CHECK(!recording_reader__samples(r, &t, 30000000000, 60000000000, take, &g, &diag));
	for (int i = 0; i < COUNT; i++)
		g.count -= given[i].time >= 30000000000 && given[i].time <= 60000000000;
	CHECK_INT(g.count, 0);
	recording_tables__free(&t);
	recording_reader__close(r);
	/* It is not written over. */
	CHECK_INT(recording_writer__create(&w, FILE_NAME, (uid_t)-1, (gid_t)-1, PERIOD, &diag), -EEXIST);
	CHECK(!w && strstr(diag.hint, "another name"));
	remove_file();
	free(given);
	free(got);
}

/* A copy without ids of traces has the marks, which stand in the same blocks. */
TEST(recording_redacted_traces_beside_marks)
{
	enum { COUNT = 3000 };
	struct recording_sample *got[2] = { malloc(COUNT * sizeof(**got)), malloc(COUNT * sizeof(**got)) };
	struct recording_writer *w;
	uint32_t frames[2] = { 1, 4 };

	remove_file();
	unlink(COPY_NAME);
	CHECK(!recording_writer__create(&w, FILE_NAME, (uid_t)-1, (gid_t)-1, PERIOD, &diag));
	CHECK(!write_tables(w));
	with_traces = true;
	for (uint32_t i = 0; i < COUNT; i++) {
		struct recording_sample s = random_sample(5, 2);

		s.time = (uint64_t)i * 3000000;
		s.stack = recording_writer__stack(w, frames, 2);
		s.labels = 0;
		s.marks = i % 3 ? random64() >> 16 : 0;
		CHECK(!recording_writer__sample(w, &s));
	}
	with_traces = false;
	CHECK(!recording_writer__end(w));
	recording_writer__destroy(w);
	for (int copy = 0; copy < 2; copy++) {
		struct got g = { .list = got[copy], .room = COUNT };
		struct recording_tables t;
		struct recording_reader *r;

		CHECK(!recording_reader__open(&r, copy ? COPY_NAME : FILE_NAME, NULL, &diag));
		CHECK(!recording_reader__load(r, &t, &diag));
		CHECK(!recording_reader__samples(r, &t, 0, UINT64_MAX, take, &g, &diag));
		CHECK_INT(g.count, COUNT);
		if (!copy)
			CHECK(!recording__redact(r, COPY_NAME, (uid_t)-1, (gid_t)-1, REDACT_TRACES, &diag));
		recording_tables__free(&t);
		recording_reader__close(r);
	}
	for (uint32_t i = 0, marked = 0; i < COUNT; i++) {
		struct recording_sample *x = &got[0][i], *y = &got[1][i];

		CHECK(x->marks == y->marks && x->time == y->time && x->stack == y->stack);
		/* An id is a number now: the first byte is 0.  A span of no trace is gone. */
		CHECK_INT(y->context.span[0], 0);
		CHECK(!x->context.trace[15] == !y->context.span[7]);
		CHECK(!x->context.trace[15] == !y->context.trace[15]);
		marked += x->marks != 0;
		CHECK(i + 1 < COUNT || marked > COUNT / 2);
	}
	remove_file();
	unlink(COPY_NAME);
	free(got[0]);
	free(got[1]);
}

/* The first number of the first row. */
static int64_t ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s = NULL;
	int64_t number = INT64_MIN;
	int code = sqlite3_prepare_v2(db, sql, -1, &s, NULL);

	if (code == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		number = sqlite3_column_int64(s, 0);
	else
		printf("  %s: %s\n", sql, sqlite3_errmsg(db));
	sqlite3_finalize(s);
	return number;
}

TEST(recording_virtual_table)
{
	struct recording_writer *w;
	struct frame label = FRAME_INIT(FRAME_LABEL);
	struct recording_reader *r;
	sqlite3 *db;

	remove_file();
	CHECK(!recording_writer__create(&w, FILE_NAME, (uid_t)-1, (gid_t)-1, PERIOD, &diag));
	CHECK(!write_tables(w));
	label.name = "GET /";
	label.key = "request";
	CHECK(!recording_writer__frame(w, 6, &label));
	/* One block an hour: blocks are no unit of time. */
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t frames[3] = { 1, 2 + i % 2, 4 };
		struct recording_sample s = {
			.time = 1000 + i * 3600000000000ull, .value = i, .count = 1, .thread = 1 + i % 4, .mode = 1 + i % 2,
			.state = i % 2 ? 3 : 0,
			.stack = recording_writer__stack(w, frames, i % 2 ? 3 : 2),
			.labels = i % 10 ? 0 : recording_writer__stack(w, &(uint32_t){ 6 }, 1),
		};

		CHECK(!recording_writer__sample(w, &s));
	}
	CHECK(!recording_writer__end(w));
	recording_writer__destroy(w);
	CHECK(!recording_reader__open(&r, FILE_NAME, NULL, &diag));
	db = recording_reader__database(r);
	CHECK_INT(samples_table__register(db), SQLITE_OK);
	CHECK_INT(ask(db, "SELECT count(*) FROM samples"), 1000);
	CHECK_INT(ask(db, "SELECT count(*) FROM blocks"), 1000);
	CHECK_INT(ask(db, "SELECT sum(value) FROM samples"), 499500);
	CHECK_INT(ask(db, "SELECT sum(value) FROM samples WHERE method='Foo#bar'"), 249500);
	CHECK_INT(ask(db, "SELECT count(*) FROM samples WHERE below='[io]' AND state='io' AND mode='wall'"), 500);
	CHECK_INT(ask(db, "SELECT count(*) FROM samples WHERE pid=101 AND tid=42 AND thread_name='worker'"), 500);
	CHECK_INT(ask(db, "SELECT count(*) FROM samples WHERE pid=102 AND cgroup='/app/web'"), 500);
	CHECK_INT(ask(db, "SELECT count(*) FROM samples WHERE pid=101 AND cgroup IS NULL"), 500);
	CHECK_INT(ask(db, "SELECT count(*) FROM samples WHERE pid=102 AND revision='0123456'"), 500);
	CHECK_INT(ask(db, "SELECT count(*) FROM samples WHERE pid=101 AND revision IS NULL"), 500);
	CHECK_INT(ask(db, "SELECT count(*) FROM samples WHERE line=11 AND path='app.rb'"), 500);
	CHECK_INT(ask(db, "SELECT count(*) FROM samples WHERE label(labels,'request')='GET /'"), 100);
	CHECK_INT(ask(db, "SELECT count(*) FROM samples WHERE stack_text(stack)='main;Array#each;[io]'"), 500);
	CHECK_INT(ask(db, "SELECT total FROM top_methods WHERE mode='cpu' AND method='Foo#bar'"), 249500);
	CHECK_INT(ask(db, "SELECT self FROM top_methods WHERE mode='cpu' AND method='main'"), 0);
	CHECK_INT(ask(db, "SELECT total FROM top_methods WHERE mode='wall' AND method='main'"), 250000);
	CHECK_INT(ask(db, "SELECT self FROM top_lines WHERE mode='cpu' AND path='app.rb' AND line=11"), 249500);
	CHECK_INT(ask(db, "SELECT value FROM samples WHERE time_ns=3600000001000"), 1);
	CHECK_INT(ask(db, "SELECT count(*) FROM samples WHERE time_ns>3600000001000 AND time_ns<=7200000001000"), 1);
	CHECK_INT(ask(db, "SELECT count(*) FROM samples WHERE time_ns>=1000.5"), 999);
	CHECK_INT(ask(db, "SELECT count(*) FROM samples WHERE seconds BETWEEN 3600 AND 36000"), 10);
	/* A join of the table with itself, and one that reads it again and again. */
	CHECK_INT(ask(db, "SELECT count(*) FROM samples a JOIN samples b USING(time_ns)"), 1000);
	CHECK_INT(ask(db, "SELECT count(*) FROM threads t, samples s WHERE s.thread=t.id"), 1000);
	CHECK_INT(ask(db, "WITH RECURSIVE up(id) AS (SELECT max(stack) FROM samples UNION ALL SELECT parent FROM stacks "
		      "JOIN up USING(id) WHERE parent>0) SELECT count(*) FROM up"), 3);
	recording_reader__close(r);
	remove_file();
}

/* Writes until it is killed.  It tells of each block that was written, after that. */
static void write_until_killed(int to)
{
	struct recording_writer *w;

	if (recording_writer__create(&w, FILE_NAME, (uid_t)-1, (gid_t)-1, PERIOD, &diag) || write_tables(w))
		_exit(1);
	for (uint64_t i = 0;; i++) {
		uint32_t frames[4] = { 1, 2, 3, 1 + test__random() % 4 };
		struct recording_sample s = {
			.time = i * PERIOD, .value = PERIOD, .count = 1, .thread = 1, .mode = 1,
			.stack = recording_writer__stack(w, frames, 1 + test__random() % 4),
		};

		if (recording_writer__sample(w, &s))
			_exit(1);
		if (i % 200 == 199 && (recording_writer__flush(w) || write(to, &(uint64_t){ i + 1 }, 8) != 8))
			_exit(1);
	}
}

/* What was written is there after a kill, and the file is whole. */
TEST(recording_killed)
{
	for (int round = 0; round < 40; round++) {
		struct recording_check check;
		struct recording_reader *r;
		uint64_t told = 0, number;
		const char *why;
		int fds[2];
		pid_t pid;

		remove_file();
		CHECK(!pipe(fds));
		pid = fork();
		CHECK(pid >= 0);
		if (!pid)
			write_until_killed(fds[1]);
		close(fds[1]);
		CHECK_INT(read(fds[0], &told, 8), 8);
		usleep(test__random() % 8000);
		kill(pid, SIGKILL);
		CHECK_INT(waitpid(pid, NULL, 0), pid);
		while (read(fds[0], &number, 8) == 8)
			told = number;
		close(fds[0]);
		CHECK(!recording_reader__open(&r, FILE_NAME, NULL, &diag));
		CHECK(!recording_reader__ended(r, &why) && strstr(why, "did not end"));
		CHECK(!recording_reader__verify(r, &check, &diag));
		CHECK(check.samples >= told && check.samples % 200 == 0);
		recording_reader__close(r);
	}
	/* Without the log beside it. */
	unlink(FILE_NAME "-wal");
	unlink(FILE_NAME "-shm");
	{
		struct recording_reader *r;
		const char *why;

		if (!recording_reader__open(&r, FILE_NAME, NULL, &diag)) {
			CHECK(!recording_reader__ended(r, &why) && strstr(why, "-wal file is not beside"));
			recording_reader__close(r);
		} else {
			CHECK_INT(diag.code, DIAG_RECORDING);
		}
	}
	remove_file();
}

static char *read_file(size_t *size)
{
	int fd = open(FILE_NAME, O_RDONLY);
	struct stat st;
	char *data;

	fstat(fd, &st);
	data = malloc((size_t)st.st_size);
	*size = (size_t)read(fd, data, (size_t)st.st_size);
	close(fd);
	return data;
}

static void write_file(const char *data, size_t size)
{
	int fd = open(FILE_NAME, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void make_small_file(void)
{
	struct recording_writer *w;

	remove_file();
	if (recording_writer__create(&w, FILE_NAME, (uid_t)-1, (gid_t)-1, PERIOD, &diag) || write_tables(w))
		abort();
	for (uint64_t i = 0; i < 3000; i++) {
		uint32_t frames[4] = { 1, 2, 3, 4 };
		struct recording_sample s = {
			.time = i * PERIOD * 10, .value = i, .count = 1, .thread = 1 + i % 4, .mode = 1,
			.stack = recording_writer__stack(w, frames, 1 + i % 4),
		};

		if (recording_writer__sample(w, &s))
			abort();
	}
	if (recording_writer__set_number(w, "ended", 1) || recording_writer__end(w))
		abort();
	recording_writer__destroy(w);
}

/* 0: it was read whole. */
static int read_all(uint64_t *samples)
{
	struct recording_reader *r;
	struct recording_check check = { 0 };
	int err = recording_reader__open(&r, FILE_NAME, NULL, &diag);

	*samples = 0;
	if (err)
		return err;
	err = recording_reader__verify(r, &check, &diag);
	if (samples_table__register(recording_reader__database(r)) == SQLITE_OK && !err)
		*samples = (uint64_t)ask(recording_reader__database(r), "SELECT count(*) FROM samples");
	recording_reader__close(r);
	return err;
}

TEST(recording_file_damaged)
{
	uint64_t samples, refused = 0;
	size_t size;
	char *good, *bad;

	make_small_file();
	good = read_file(&size);
	bad = malloc(size);
	CHECK(!read_all(&samples));
	CHECK_INT(samples, 3000);
	for (size_t length = 0; length < size; length += 1 + test__random() % 6000) {
		write_file(good, length);
		CHECK(read_all(&samples) < 0);
		CHECK_INT(diag.code, DIAG_RECORDING);
		CHECK(diag.text[0]);
	}
	for (int round = 0; round < 200; round++) {
		memcpy(bad, good, size);
		/* The first page has the tables: half of the changes are there. */
		for (uint32_t i = 0; i < 1 + test__random() % 3; i++)
			bad[test__random() % (round % 2 ? size : 4096)] ^= (char)(1 + test__random() % 255);
		write_file(bad, size);
		memset(&diag, 0, sizeof(diag));
		if (read_all(&samples)) {
			refused++;
			CHECK(diag.text[0]);
		} else {
			CHECK_INT(samples, 3000);
		}
	}
	CHECK(refused > 40);
	free(good);
	free(bad);
	remove_file();
}

static void change(const char *sql)
{
	sqlite3 *db;

	make_small_file();
	if (sqlite3_open(FILE_NAME, &db) != SQLITE_OK || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		test__fail(__FILE__, __LINE__, "%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* Databases that are whole, and are no recordings. */
TEST(recording_file_made_up)
{
	static const char *const changes[] = {
		"PRAGMA application_id=1",
		"PRAGMA user_version=99",
		"CREATE TABLE more(x)",
		"CREATE VIEW samples AS SELECT 1 AS time_ns",
		"CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM blocks; END",
		"CREATE INDEX i ON stacks(parent)",
		"CREATE VIRTUAL TABLE v USING fts3(x)",
		"DROP TABLE pauses",
		"ALTER TABLE frames ADD COLUMN more",
		"DROP TABLE blocks; CREATE TABLE blocks(id, first_ns, last_ns, samples, data)",
		"DROP TABLE blocks; CREATE VIEW blocks AS SELECT 1 id, 0 first_ns, 1 last_ns, 1 samples, x'00' data",
		"INSERT INTO stacks VALUES(1000000000, 1, 1)",
		"UPDATE stacks SET parent=4 WHERE id=2",
		"UPDATE stacks SET parent=id",
		"UPDATE stacks SET frame=77 WHERE id=2",
		"UPDATE stacks SET frame=0 WHERE id=2",
		"UPDATE stacks SET frame='x' WHERE id=2",
		"UPDATE threads SET process=77",
		"UPDATE frames SET name=77",
		"UPDATE frames SET name=-1",
		"UPDATE frames SET line=1e300",
		"UPDATE frames SET kind=200",
		"WITH RECURSIVE n(i) AS (SELECT (SELECT max(id) FROM stacks)+1 UNION ALL SELECT i+1 FROM n LIMIT 20000) "
		"INSERT INTO stacks SELECT i, i-1, 1 FROM n",
		"DELETE FROM frames WHERE id=2",
		"DELETE FROM strings WHERE id=2",
		"INSERT INTO strings(id, text) VALUES(-5, 'x')",
		"UPDATE strings SET text=zeroblob(70000) WHERE id=1",
		"DELETE FROM modes",
		"UPDATE blocks SET samples=samples+1",
		"UPDATE blocks SET last_ns=last_ns-1",
		"UPDATE blocks SET data=zeroblob(100)",
		"UPDATE blocks SET data=NULL",
		"UPDATE blocks SET data=zeroblob(3000000)",
	};
	uint64_t samples;

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		change(changes[i]);
		memset(&diag, 0, sizeof(diag));
		if (!read_all(&samples))
			test__fail(__FILE__, __LINE__, "taken: %s", changes[i]);
		CHECK_INT(diag.code, DIAG_RECORDING);
	}
	/* Names are clean whatever is in the file. */
	change("UPDATE strings SET text='a'||char(27)||'[31m'||char(10)||'b' WHERE text='Foo#bar'");
	{
		struct recording_reader *r;
		struct recording_tables t;

		CHECK(!recording_reader__open(&r, FILE_NAME, NULL, &diag));
		CHECK(!recording_reader__load(r, &t, &diag));
		CHECK_STRING(t.frames[2].name, "a\\x1B[31m\\x0Ab");
		recording_tables__free(&t);
		/* It is read only, and nothing else can be reached. */
		CHECK(sqlite3_exec(recording_reader__database(r), "DELETE FROM blocks", NULL, NULL, NULL) != SQLITE_OK);
		CHECK(sqlite3_exec(recording_reader__database(r), "PRAGMA writable_schema=1; UPDATE sqlite_schema SET sql='x'",
				   NULL, NULL, NULL) != SQLITE_OK);
		CHECK(sqlite3_exec(recording_reader__database(r), "ATTACH 'other' AS x", NULL, NULL, NULL) != SQLITE_OK);
		CHECK(sqlite3_exec(recording_reader__database(r), "SELECT load_extension('x')", NULL, NULL, NULL) !=
		      SQLITE_OK);
		recording_reader__close(r);
	}
	/* A statement that does not end is ended. */
	{
		struct deadline d;
		struct recording_reader *r;

		deadline__start(&d, -1, deadline__now() + 300000000);
		CHECK(!recording_reader__open(&r, FILE_NAME, &d, &diag));
		CHECK_INT(sqlite3_exec(recording_reader__database(r), "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 "
				       "FROM n) SELECT count(*) FROM n", NULL, NULL, NULL), SQLITE_INTERRUPT);
		recording_reader__close(r);
	}
	/* Neither a device nor a FIFO is waited for. */
	{
		struct recording_reader *r;

		remove_file();
		CHECK(!mkfifo(FILE_NAME, 0600));
		CHECK_INT(recording_reader__open(&r, FILE_NAME, NULL, &diag), -EBADMSG);
		CHECK_INT(recording_reader__open(&r, "/dev/zero", NULL, &diag), -EBADMSG);
		CHECK_INT(recording_reader__open(&r, "no such file", NULL, &diag), -ENOENT);
	}
	remove_file();
}

/* Recordings of before have no table of them, and no other one lacks it. */
TEST(recording_figures)
{
	uint64_t samples;

	for (int version = 2; version < 6; version++) {
		static const char *const older[] = {
			"DROP TABLE heaps; DROP TABLE figures; PRAGMA user_version=2",
			"DROP TABLE heaps; DROP TABLE figures; PRAGMA user_version=3",
			"DROP TABLE heaps; DROP TABLE figures; PRAGMA user_version=4", "DROP TABLE heaps; PRAGMA user_version=5",
		};

		change(older[version - 2]);
		CHECK(!read_all(&samples));
		CHECK_INT(samples, 3000);
	}
	change("DROP TABLE figures");
	CHECK_INT(read_all(&samples), -EBADMSG);
	change("DROP TABLE heaps");
	CHECK_INT(read_all(&samples), -EBADMSG);
	change("DROP TABLE heaps; PRAGMA user_version=4");
	CHECK_INT(read_all(&samples), -EBADMSG);
	change("PRAGMA user_version=5");
	CHECK_INT(read_all(&samples), -EBADMSG);
	remove_file();
}

/* The text of a source that the recording has, or why there is none. */
static const char *source_of(const char *path)
{
	static char text[1024];
	struct recording_source_file f;
	struct recording_reader *r;
	int err = recording_reader__open(&r, FILE_NAME, NULL, &diag);

	if (err)
		return diag.text;
	err = recording_source__read(r, path, &f, &diag);
	snprintf(text, sizeof(text), "%s", err == -ENOENT ? "none" : err ? diag.text : f.text ? f.text : "no text");
	if (!err)
		recording_source__free(&f);
	recording_reader__close(r);
	return text;
}

/* Recordings of before have no table of them; rows that were made up are refused within their bounds. */
TEST(recording_sources)
{
	static const char *const wrong[] = {
		"UPDATE sources SET hash=hash+1", "UPDATE sources SET length=1000000000", "UPDATE sources SET length=-1",
		"UPDATE sources SET length=length+1", "UPDATE sources SET length=length-1",
		"UPDATE sources SET data=x'00'", "UPDATE sources SET data=substr(data, 1, 5)",
	};
	uint64_t samples;

	change("DROP TABLE sources; DROP TABLE figures; DROP TABLE heaps; PRAGMA user_version=1");
	CHECK(!read_all(&samples));
	CHECK_INT(samples, 3000);
	CHECK_STRING(source_of("a.rb"), "none");
	change("DROP TABLE sources");
	CHECK_INT(read_all(&samples), -EBADMSG);
	/* No file of version 1 has it. */
	change("PRAGMA user_version=1");
	CHECK_INT(read_all(&samples), -EBADMSG);
	for (size_t i = 0; i <= sizeof(wrong) / sizeof(wrong[0]); i++) {
		char text[] = "puts 1\nputs 2\n";
		const struct recording_source_file f = {
			.path = "a.rb", .size = sizeof(text) - 1, .time = 5, .text = text, .length = sizeof(text) - 1,
			.hash = source__hash(text, sizeof(text) - 1),
		};
		struct recording_writer *w;
		sqlite3 *db;

		remove_file();
		CHECK(!recording_writer__create(&w, FILE_NAME, (uid_t)-1, (gid_t)-1, PERIOD, &diag));
		CHECK(!write_tables(w) && !recording_writer__source(w, &f) &&
		      !recording_writer__source(w, &(struct recording_source_file){ .path = "b.rb", .size = 7 }));
		CHECK(!recording_writer__end(w));
		recording_writer__destroy(w);
		if (!i) {
			CHECK_STRING(source_of("a.rb"), text);
			CHECK_STRING(source_of("b.rb"), "no text");
			CHECK_STRING(source_of("c.rb"), "none");
			CHECK(!read_all(&samples));
			continue;
		}
		CHECK(sqlite3_open(FILE_NAME, &db) == SQLITE_OK);
		CHECK(sqlite3_exec(db, wrong[i - 1], NULL, NULL, NULL) == SQLITE_OK);
		sqlite3_close(db);
		if (!strstr(source_of("a.rb"), "a source file is not as expected"))
			test__fail(__FILE__, __LINE__, "%s: %s", wrong[i - 1], source_of("a.rb"));
		CHECK_INT(read_all(&samples), -EBADMSG);
	}
	remove_file();
}
