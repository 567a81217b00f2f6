/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that wait for one another. */
#include "test.h"

#include "dump/deadlocks.h"

#define THREADS 6

static struct extprof_dump_thread threads[THREADS], *list[THREADS];

/* Thread i waits for a mutex that thread next[i] has; 0: it does not.  Serials are 10, 20, ... */
static void set_up(const int next[THREADS])
{
	memset(threads, 0, sizeof(threads));
	for (int i = 0; i < THREADS; i++) {
		list[i] = &threads[i];
		threads[i].serial = 10 * ((uint64_t)i + 1);
		if (!next[i])
			continue;
		threads[i].wait = EXTPROF_WAIT_MUTEX;
		threads[i].wait_owner = EXTPROF_OWNER_NOW;
		threads[i].wait_thread = 10 * (uint64_t)next[i];
	}
}

/* As digits: the threads that are in a deadlock, from 1. */
static int found(void)
{
	int all = 0;

	if (deadlocks__find(list, THREADS))
		return -1;
	for (int i = 0; i < THREADS; i++)
		all = threads[i].deadlocked ? 10 * all + i + 1 : all;
	return all;
}

TEST(deadlocks_are_circles_and_nothing_else)
{
	static const struct {
		int next[THREADS], deadlocked;
	} cases[] = {
		{ { 0 }, 0 },
		{ { 2, 1 }, 12 },
		{ { 2, 3, 1, 1, 4 }, 123 },		/* 4 and 5 only wait for those who are in it */
		{ { 2, 1, 4, 3, 6, 0 }, 1234 },		/* two of them, and a chain that ends */
		{ { 2, 3, 4, 5, 6, 99 }, 0 },		/* of one who is not there */
		{ { 0, 0, 3 }, 3 },
		{ { 6, 6, 6, 6, 6, 5 }, 56 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_up(cases[i].next);
		CHECK_INT(found(), cases[i].deadlocked);
	}
	CHECK_INT(deadlocks__find(NULL, 0), 0);
}

TEST(deadlocks_are_of_waits_without_an_end)
{
	static const int circle[THREADS] = { 2, 1 };

	/* Whose the mutex was when the wait began says nothing of now. */
	set_up(circle);
	threads[0].wait_owner = EXTPROF_OWNER_BEFORE;
	CHECK_INT(found(), 0);
	set_up(circle);
	threads[0].wait = EXTPROF_WAIT_QUEUE;
	CHECK_INT(found(), 0);
	set_up(circle);
	threads[0].wait = EXTPROF_WAIT_JOIN;
	CHECK_INT(found(), 0);
	threads[0].wait_limit = EXTPROF_LIMIT_TIME;
	CHECK_INT(found(), 0);
	threads[0].wait_limit = EXTPROF_LIMIT_NONE;
	CHECK_INT(found(), 12);
}

TEST(deadlocks_end_by_a_timeout)
{
	static const int circle[THREADS] = { 2, 1 };
	struct extprof_frame outer = { .name = "Timeout.timeout" }, inner = { .name = "Thread::Mutex#lock" };
	const struct extprof_frame *frames[] = { &outer, &inner };
	struct extprof_stack stack = { .frames = frames, .count = 2 };
	const struct extprof_dump_fiber fiber = { .stack = &stack }, *const fibers[] = { &fiber };

	set_up(circle);
	threads[1].fibers = fibers;
	threads[1].fiber_count = 1;
	CHECK_INT(found(), 0);
	stack.frames++;
	stack.count--;
	CHECK_INT(found(), 12);
}
