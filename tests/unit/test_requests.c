/* SPDX-License-Identifier: BSD-2-Clause */
/* Where requests begin and end, by samples of which that is known. */
#include "test.h"

#include <errno.h>

#include "recording/requests.h"
#include "wire/states.h"

enum { FRAME_MAIN = 1, FRAME_PARKED, FRAME_A, FRAME_B, FRAME_UNREAD, FRAME_STEP, FRAME_COLLECTOR, FRAME_POOL, FRAME_WAIT, FRAMES };
enum { A = 1, B, UNREAD, A_STEP, COLLECTOR, STEP, STEP_A, POOL, POOL_WAIT, STACKS };
enum { MAIN = 1, PARKED, THREADS };

static struct frame frames[FRAMES];
static struct stack_entry stacks[STACKS] = {
	[A] = { .frame = FRAME_A, .depth = 1 }, [B] = { .frame = FRAME_B, .depth = 1 },
	[UNREAD] = { .frame = FRAME_UNREAD, .depth = 1 }, [A_STEP] = { .parent = A, .frame = FRAME_STEP, .depth = 2 },
	[COLLECTOR] = { .frame = FRAME_COLLECTOR, .depth = 1 },
	[STEP] = { .frame = FRAME_STEP, .depth = 1 }, [STEP_A] = { .parent = STEP, .frame = FRAME_A, .depth = 2 },
	[POOL] = { .frame = FRAME_POOL, .depth = 1 }, [POOL_WAIT] = { .parent = POOL, .frame = FRAME_WAIT, .depth = 2 },
};
static struct thread_entry threads[THREADS] = {
	[MAIN] = { .id = MAIN, .process = 1, .frame = FRAME_MAIN }, [PARKED] = { .id = PARKED, .process = 1, .frame = FRAME_PARKED },
};
static struct process_entry processes[2];
static struct recording_tables tables;
static struct requests requests;
static struct recording_sample samples[64];
static uint32_t count;

static struct frame label(const char *key, const char *name, uint8_t known)
{
	struct frame f = FRAME_INIT(FRAME_LABEL);

	f.key = key;
	f.name = name;
	f.known = known;
	return f;
}

static void begin(const char *key)
{
	requests__free(&requests);
	frames[0] = frames[FRAME_MAIN] = frames[FRAME_PARKED] = (struct frame)FRAME_INIT(FRAME_THREAD);
	frames[FRAME_PARKED].role = ROLE_FIBERS;
	frames[FRAME_A] = label("request", "a", KNOWN);
	frames[FRAME_B] = label("request", "b", KNOWN);
	frames[FRAME_UNREAD] = label("", "", KNOWN_UNREAD);
	frames[FRAME_STEP] = label("step", "1", KNOWN);
	frames[FRAME_COLLECTOR] = (struct frame)FRAME_INIT(FRAME_GC);
	frames[FRAME_POOL] = frames[FRAME_WAIT] = (struct frame)FRAME_INIT(FRAME_RUBY);
	frames[FRAME_POOL].name = "block in Async::Pool::Controller#start_gardener";
	frames[FRAME_POOL].path = "/gems/async-pool-0.11.0/lib/async/pool/controller.rb";
	tables = (struct recording_tables){
		.frames = frames, .frame_count = FRAMES, .stacks = stacks, .stack_count = STACKS, .threads = threads,
		.thread_count = THREADS, .processes = processes, .process_count = 2,
	};
	tables.modes[1] = (struct mode_row){ .id = 1, .name = "wall", .value_unit = "ns" };
	count = 0;
	requests__init(&requests, &tables, 50, 0, key);
	requests.settled = 50;
}

static void add(uint64_t time, uint32_t fiber, uint32_t labels, uint8_t state, uint64_t value)
{
	samples[count++] = (struct recording_sample){
		.time = time, .fiber = fiber, .labels = labels, .state = state, .value = value, .count = 1, .mode = 1,
		.thread = state == STATE_PARKED ? PARKED : MAIN,
	};
}

static void run(uint64_t time, uint32_t fiber, uint32_t labels)
{
	add(time, fiber, labels, STATE_RUNNING, 10);
}

/* 0, and the requests are in order of the time. */
static int end(void)
{
	int err = requests__add(&requests, samples, count);

	requests__end(&requests);
	requests__choose(&requests, 0, 0);
	requests__sort(&requests, false);
	return err;
}

TEST(requests_gaps)
{
	const struct request *q;

	begin(NULL);
	run(100, 1, 0);
	add(150, 1, A, STATE_IO, 40);
	run(160, 1, A);
	samples[count - 1].stack = COLLECTOR;
	run(165, 1, A);
	run(180, 1, 0);
	CHECK(!end());
	CHECK_INT(requests.chosen, 1);
	q = requests.list;
	CHECK_INT(q->begin, 110);
	CHECK_INT(q->end, 165);
	CHECK_INT(q->before, 10);
	CHECK_INT(q->after, 15);
	CHECK(!q->cut_begin && !q->cut_end);
	CHECK_INT(q->parts[PART_IO], 40);
	CHECK_INT(q->parts[PART_GC], 10);
	CHECK_INT(q->parts[PART_RUN], 10);
	CHECK_INT(q->samples, 3);
	/* What goes beyond the recording. */
	begin(NULL);
	run(100, 1, A);
	run(120, 1, 0);
	run(130, 1, B);
	CHECK(!end());
	CHECK_INT(requests.chosen, 2);
	CHECK(requests.list[0].cut_begin && !requests.list[0].cut_end);
	CHECK_INT(requests.list[0].before, 50);
	CHECK(!requests.list[1].cut_begin && requests.list[1].cut_end);
	requests__free(&requests);
}

TEST(requests_with_equal_labels)
{
	begin(NULL);
	run(100, 1, A);
	run(110, 1, A);
	run(120, 1, 0);
	run(130, 1, A);
	CHECK(!end());
	/* Something was seen between them. */
	CHECK_INT(requests.chosen, 2);
	begin(NULL);
	run(100, 1, A);
	run(110, 1, A);
	/* Its labels are not known. */
	run(120, 1, UNREAD);
	run(130, 1, A);
	CHECK(!end());
	CHECK_INT(requests.chosen, 1);
	CHECK_INT(requests.list[0].samples, 4);
	requests__free(&requests);
}

static void run_marked(uint64_t time, uint32_t labels, uint64_t marks)
{
	run(time, 1, labels);
	samples[count - 1].marks = marks;
}

/* A label that is set again within a request is no longer outside of it: the request has another place in its set. */
TEST(requests_with_marks_at_two_places)
{
	begin("request");
	run_marked(100, STEP_A, 5ull << 16 | 1);
	run_marked(110, A_STEP, 9ull << 16 | 5);
	run_marked(120, STEP_A, 5ull << 16 | 1);
	/* The next one, which begins at the other place. */
	run_marked(130, A_STEP, 11ull << 16 | 6);
	run_marked(140, STEP_A, 6ull << 16 | 1);
	run_marked(150, 0, 0);
	CHECK(!end());
	CHECK_INT(requests.chosen, 2);
	CHECK(requests.list[0].begin == 100 && requests.list[0].samples == 3 && requests.list[0].end == 120);
	CHECK(requests.list[1].begin == 130 && requests.list[1].samples == 2 && requests.list[1].after == 10);
	CHECK(requests__has(&requests, &samples[2]) && requests__has(&requests, &samples[3]));
	requests__free(&requests);
}

TEST(requests_with_marks)
{
	/* Nothing was seen between them. */
	begin(NULL);
	run_marked(100, A, 5);
	run_marked(110, A, 5);
	run_marked(120, A, 6);
	run_marked(130, A, 6);
	/* Not known: it can be the same. */
	run_marked(140, A, 0);
	run_marked(150, A, 6);
	run_marked(160, 0, 0);
	CHECK(!end());
	CHECK_INT(requests.chosen, 2);
	CHECK_INT(requests.list[0].samples, 2);
	CHECK_INT(requests.list[0].end, 110);
	CHECK_INT(requests.list[0].after, 10);
	CHECK_INT(requests.list[1].begin, 120);
	CHECK_INT(requests.list[1].before, 10);
	CHECK_INT(requests.list[1].samples, 4);
	CHECK(requests__has(&requests, &samples[1]) && requests__has(&requests, &samples[2]));
	/* The mark is that of the label which makes the request, not of others inside. */
	begin("request");
	run_marked(100, A, 5);
	run_marked(110, A_STEP, 5 | 1 << 16);
	run_marked(120, A_STEP, 5 | 2 << 16);
	run_marked(130, A, 5);
	run_marked(140, A_STEP, 6 | 3 << 16);
	run_marked(150, A, 6);
	CHECK(!end());
	CHECK_INT(requests.chosen, 2);
	CHECK_INT(requests.list[0].samples, 4);
	CHECK_INT(requests.list[1].begin, 140);
	CHECK_INT(requests.list[1].samples, 2);
	/* The inner one. */
	begin("step");
	run_marked(100, A_STEP, 5 | 1 << 16);
	run_marked(110, A_STEP, 5 | 2 << 16);
	run_marked(120, A_STEP, 5 | 2 << 16);
	CHECK(!end());
	CHECK_INT(requests.chosen, 2);
	CHECK_INT(requests.list[1].samples, 2);
	/* With all labels, whichever of them came into force again: labels of groups are listed first. */
	begin(NULL);
	run_marked(100, A_STEP, 5 | 1 << 16);
	run_marked(110, A_STEP, 6 | 1 << 16);
	run_marked(120, A_STEP, 6 | 1 << 16);
	run_marked(130, A_STEP, 6 | 2 << 16);
	CHECK(!end());
	CHECK_INT(requests.chosen, 3);
	CHECK_INT(requests.list[1].samples, 2);
	/* One that is told late is of the request before. */
	begin(NULL);
	run_marked(100, A, 5);
	run_marked(120, A, 6);
	CHECK(!requests__add(&requests, samples, count));
	count = 0;
	run_marked(110, A, 5);
	run_marked(130, A, 6);
	CHECK(!end());
	CHECK_INT(requests.chosen, 2);
	CHECK_INT(requests.list[1].begin, 120);
	CHECK_INT(requests.list[1].samples, 2);
	/* A wait that begins where the request before ended: each sample is of its own. */
	begin(NULL);
	run_marked(100, A, 5);
	add(150, 1, A, STATE_IO, 50);
	samples[count - 1].marks = 6;
	CHECK(!end());
	requests__choose(&requests, 0, 1);
	CHECK_INT(requests.list[0].end, 150);
	CHECK(!requests__has(&requests, &samples[0]) && requests__has(&requests, &samples[1]));
	/* A wait goes as far back as the sample before that is not of it. */
	begin(NULL);
	run_marked(100, A, 5);
	add(200, 1, A, STATE_IO, 90);
	samples[count - 1].marks = 6;
	CHECK(!end());
	CHECK_INT(requests.chosen, 2);
	CHECK_INT(requests.list[1].begin, 110);
	requests__free(&requests);
}

TEST(requests_of_fibers)
{
	begin(NULL);
	/* Two fibers of one thread in turn. */
	run(100, 1, A);
	run(105, 2, A);
	add(150, 1, A, STATE_PARKED, 45);
	run(160, 2, 0);
	run(170, 1, A);
	run(180, 1, 0);
	CHECK(!end());
	CHECK_INT(requests.chosen, 2);
	CHECK_INT(requests.list[0].fiber, 1);
	CHECK_INT(requests.list[0].begin, 100);
	CHECK_INT(requests.list[0].end, 170);
	CHECK_INT(requests.list[0].samples, 3);
	CHECK_INT(requests.list[0].parts[PART_PARKED], 45);
	CHECK_INT(requests.list[1].fiber, 2);
	CHECK_INT(requests.list[1].after, 55);
	/* It can have waited while its thread was seen in the first one. */
	CHECK(!requests.list[1].cut_begin);
	CHECK_INT(requests.list[1].before, 55);
	requests__free(&requests);
}

TEST(requests_by_one_label)
{
	for (int i = 0; i < 2; i++) {
		begin(i ? "request" : NULL);
		run(100, 1, A);
		run(110, 1, A_STEP);
		run(120, 1, A);
		run(130, 1, 0);
		CHECK(!end());
		CHECK_INT(requests.chosen, i ? 1 : 3);
	}
	begin("step");
	run(100, 1, A);
	run(110, 1, A_STEP);
	run(120, 1, A);
	CHECK(!end());
	CHECK_INT(requests.chosen, 1);
	requests__free(&requests);
}

/* A timer comes before the end of the wait is taken. */
TEST(requests_wait_and_timer)
{
	begin(NULL);
	run(100, 1, 0);
	run(149, 1, A);
	add(150, 1, A, STATE_SLEEP, 45);
	run(160, 1, 0);
	CHECK(!end());
	CHECK_INT(requests.chosen, 1);
	CHECK_INT(requests.list[0].begin, 105);
	CHECK_INT(requests.list[0].before, 5);
	CHECK_INT(requests.list[0].end, 150);
	/* A wait that stands for others has no begin. */
	begin(NULL);
	run(100, 1, 0);
	add(150, 1, A, STATE_SLEEP, 45);
	samples[count - 1].count = 3;
	run(160, 1, 0);
	CHECK(!end());
	CHECK_INT(requests.list[0].begin, 150);
	CHECK_INT(requests.list[0].before, 50);
	requests__free(&requests);
}

static bool is_b(void *context, const struct recording_sample *s)
{
	(void)context;
	return s->labels == B;
}

TEST(requests_choice)
{
	begin(NULL);
	for (int i = 1; i <= 5; i++) {
		run((uint64_t)i * 1000, 1, i % 2 ? A : B);
		run((uint64_t)i * 1000 + 100 * (uint64_t)i, 1, i % 2 ? A : B);
		run((uint64_t)i * 1000 + 900, 1, 0);
	}
	CHECK(!end());
	CHECK_INT(requests.chosen, 5);
	requests__choose(&requests, 200, 2);
	CHECK_INT(requests.chosen, 2);
	CHECK_INT(requests.list[0].begin, 4000);
	CHECK(requests__has(&requests, &samples[9]) && requests__has(&requests, &samples[10]));
	/* Of no request, of a shorter one, and of another fiber. */
	CHECK(!requests__has(&requests, &samples[11]) && !requests__has(&requests, &samples[0]));
	samples[9].fiber = 7;
	CHECK(!requests__has(&requests, &samples[9]));
	requests__sort(&requests, true);
	CHECK_INT(requests.list[0].begin, 5000);
	begin(NULL);
	requests.wants = is_b;
	run(100, 1, A);
	run(110, 1, B);
	run(120, 1, A);
	CHECK(!end());
	CHECK_INT(requests.chosen, 1);
	requests__free(&requests);
}

static bool is_late(void *context, const struct recording_sample *s)
{
	return s->time >= *(const uint64_t *)context;
}

/* So many requests, one after the other, and one beside them that lasts as long as all. */
static int add_many(uint32_t n)
{
	static struct recording_sample block[BLOCK_SAMPLES_MAX];
	uint32_t filled = 0;
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		block[filled++] = (struct recording_sample){
			.time = 100 + 10 * (uint64_t)i, .fiber = 1, .labels = i % 2 ? A : B, .value = 1, .count = 1, .mode = 1, .thread = MAIN,
			.state = STATE_RUNNING,
		};
		if (!i || i == n - 1) {
			block[filled] = block[filled - 1];
			block[filled++].fiber = 2;
		}
		if (filled + 2 > BLOCK_SAMPLES_MAX || i == n - 1) {
			err = requests__add(&requests, block, filled);
			filled = 0;
		}
	}
	return err;
}

/* Requests that nobody asks for take no room from others. */
TEST(requests_more_than_have_room)
{
	enum { MANY = REQUESTS_MAX + REQUESTS_MAX / 8 + 1 };
	uint64_t since = 100 + 10 * (uint64_t)(MANY - 1000);

	begin(NULL);
	requests.wants = is_late;
	requests.context = &since;
	CHECK(!add_many(MANY));
	requests__end(&requests);
	requests__choose(&requests, 0, 0);
	requests__sort(&requests, true);
	CHECK_INT(requests.chosen, 1001);
	CHECK_INT(requests.count + requests.dropped, MANY + 1);
	CHECK(requests.dropped >= REQUESTS_MAX / 16);
	CHECK(requests.list[0].fiber == 2 && requests.list[0].begin == 100 && requests.list[0].samples == 2);
	CHECK_INT(requests.list[0].end, 100 + 10 * (uint64_t)(MANY - 1));
	CHECK(requests.list[1].begin >= since && requests.list[1000].begin >= since);
	begin(NULL);
	CHECK_INT(add_many(MANY), -E2BIG);
	CHECK_INT(requests.count, REQUESTS_MAX);
	requests__free(&requests);
}

/* A wait has parts, one after the other, that all have the time of its end. */
TEST(requests_wait_of_parts)
{
	begin(NULL);
	run(100, 1, 0);
	add(200, 1, A, STATE_SLEEP, 60);
	add(200, 1, A, STATE_RUNNABLE, 30);
	run(210, 1, 0);
	CHECK(!end());
	CHECK_INT(requests.chosen, 1);
	CHECK(requests.list[0].begin == 110 && requests.list[0].end == 200 && requests.list[0].before == 10 && requests.list[0].after == 10);
	CHECK(requests.list[0].parts[PART_SLEEP] == 60 && requests.list[0].parts[PART_RUNNABLE] == 30);
	/* Two modes have the same wait; the parts are longer than there is time. */
	begin(NULL);
	tables.modes[2] = (struct mode_row){ .id = 2, .name = "offcpu", .value_unit = "ns" };
	run(100, 1, 0);
	add(200, 1, A, STATE_SLEEP, 60);
	add(200, 1, A, STATE_SLEEP, 60);
	samples[count - 1].mode = 2;
	run(300, 1, 0);
	add(400, 1, B, STATE_SLEEP, 390);
	add(400, 1, B, STATE_RUNNABLE, 390);
	CHECK(!end());
	CHECK_INT(requests.chosen, 2);
	CHECK(requests.list[0].begin == 140 && requests.list[1].begin == 300);
	tables.modes[2] = (struct mode_row){ 0 };
	requests__free(&requests);
}

/* A fiber that is first seen soon after the begin may have had its labels before. */
TEST(requests_fibers_from_before)
{
	begin(NULL);
	requests.settled = 150;
	run(100, 1, A);
	run(120, 2, A);
	run(160, 3, A);
	run(200, 1, 0);
	run(200, 2, 0);
	run(200, 3, 0);
	CHECK(!end());
	CHECK_INT(requests.chosen, 3);
	CHECK(requests.list[0].cut_begin && requests.list[1].cut_begin && !requests.list[2].cut_begin);
	requests__free(&requests);
}

/* A fiber that a request has made, and that rests for good, is no request; what it does between is. */
TEST(requests_of_fibers_that_rest)
{
	for (int rests = 0; rests < 2; rests++) {
		begin(NULL);
		if (!rests)
			frames[FRAME_POOL].path = "/app/pool.rb";
		run(100, 1, A);
		run(110, 2, A);
		for (uint64_t time = 150; time <= 900; time += 250) {
			add(time, 2, A, STATE_PARKED, 40);
			samples[count - 1].stack = POOL_WAIT;
		}
		run(1000, 1, 0);
		CHECK(!end());
		CHECK_INT(requests.chosen, 2);
		CHECK(requests.list[1].fiber == 2 && requests.list[1].begin == 110);
		CHECK_INT(requests.list[1].end, rests ? 110 : 900);
		CHECK_INT(requests.list[1].parts[PART_PARKED], rests ? 0 : 160);
		/* Nor are its samples those of a request. */
		requests__choose(&requests, 0, 0);
		CHECK_INT(requests__has(&requests, &samples[3]), !rests);
		requests__free(&requests);
	}
}

/* When its thread was seen in another fiber, a new one can have waited for some time: no look has met it yet. */
TEST(requests_fibers_that_nobody_looked_at)
{
	for (uint32_t thread = MAIN; thread <= PARKED; thread++) {
		begin(NULL);
		requests.unseen = 300;
		run(1000, 1, 0);
		samples[count - 1].thread = thread;
		run(1100, 2, A);
		samples[count - 1].thread = thread;
		run(1200, 2, 0);
		CHECK(!end());
		CHECK_INT(requests.chosen, 1);
		CHECK_INT(requests.list[0].before, 300);
		CHECK(!requests.list[0].cut_begin);
		requests__free(&requests);
	}
	/* It waited for a while before that look. */
	begin(NULL);
	requests.unseen = 300;
	add(1000, 2, A, STATE_PARKED, 500);
	CHECK(!end());
	CHECK(requests.list[0].begin == 1000 && requests.list[0].before == 800);
	requests__free(&requests);
}
