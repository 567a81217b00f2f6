/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at parked fibers, which there may be no time to end. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "base/deadline.h"
#include "fake.h"
#include "memory_fake.h"
#include "remote/parked.h"

#define FIBERS 9
#define BEFORE 100000000ull	/* ns */

static struct rb_debug_ext_section section;
static struct fake vm;
static struct layout layout;
static struct memory_fake memory;
static struct fake_ec *root, *fibers[FIBERS];
static struct event_queue queue;
static struct source_counters counters;
static struct parked parked;
static struct rb_debug_ext_thread *first;
static uint64_t began;

static bool set_up(void)
{
	struct diag d = { 0 };

	fake__init(&vm, &section);
	root = fake__ec(20);
	fake__push(root, 1, 0x1000);
	first = fake__thread(&vm, 5, 70, "first", root);
	fake__ec_slot(&vm, root, 2, 5)->flags = RB_DEBUG_EXT_EC_ROOT;
	for (uint32_t i = 0; i < FIBERS; i++) {
		struct rb_debug_ext_ec *slot;

		fibers[i] = fake__ec(20);
		fake__push(fibers[i], 100 + i, 0x1000);
		slot = fake__ec_slot(&vm, fibers[i], 10 + i, 5);
		slot->serial = 500 + i;
		slot->thread_serial = 70;
		slot->flags = RB_DEBUG_EXT_EC_NONBLOCKING;
	}
	memory_fake__init(&memory);
	counters = (struct source_counters){ 0 };
	event_queue__init(&queue, 1 << 20);
	began = deadline__now() - BEFORE;
	parked = (struct parked){
		.process = 1, .vm = 2, .layout = &layout, .memory = &memory.memory, .walker = walker__new(), .queue = &queue,
		.counters = &counters, .looked_at = began,
	};
	return !layout__read(&layout, &memory.memory, (uintptr_t)&section, &d) && parked.walker;
}

static void tear_down(void)
{
	parked__free(&parked);
	walker__free(parked.walker);
	event_queue__free(&queue);
}

/* Each that is in the list waited from the begin until it was seen last. */
static void check_times(void)
{
	for (uint32_t i = 0; i < parked.count; i++)
		CHECK(parked.list[i].stack && parked.list[i].ns == parked.list[i].seen - began);
}

TEST(parked_fibers_of_one_look)
{
	CHECK(set_up());
	CHECK_INT(parked__look(&parked, deadline__now()), 0);
	CHECK_INT(parked.count, FIBERS);
	CHECK_INT(parked.next, 0);
	check_times();
	CHECK(parked.list[0].ns >= BEFORE);
	/* One of them runs now, and its time until then counts. */
	((struct fake_thread *)(uintptr_t)first->thread)->ec = (uintptr_t)fibers[3];
	CHECK_INT(parked__look(&parked, deadline__now()), 0);
	CHECK_INT(parked.count, FIBERS - 1);
	CHECK_INT(counters.taken, 1);
	check_times();
	tear_down();
	CHECK_INT(counters.taken, FIBERS);
	CHECK_INT(counters.whole, FIBERS);
}

/* Where the time of a look is over, the next one goes on there: no fiber drops out. */
TEST(parked_fibers_of_a_look_without_time)
{
	int whole, looks = 0;

	CHECK(set_up());
	CHECK_INT(parked__look(&parked, deadline__now()), 0);
	whole = memory.reads;
	memory.reads = 0;
	CHECK_INT(parked__look(&parked, deadline__now()), 0);
	/* The stacks are known. */
	CHECK(memory.reads < whole);
	whole = memory.reads;
	CHECK_INT(parked.pass, 2);
	memory.error = -EINTR;
	do {
		memory.reads = 0;
		memory.fail_at = whole - 6;
		CHECK_INT(parked__look(&parked, deadline__now()), 0);
		CHECK_INT(parked.count, FIBERS);
		check_times();
		looks++;
	} while (parked.next && looks < 20);
	CHECK(looks == 2);
	CHECK_INT(parked.pass, 3);
	/* There is no time at all. */
	for (int at = 1; at < 5; at++) {
		memory.reads = 0;
		memory.fail_at = at;
		parked__look(&parked, deadline__now());
		CHECK_INT(parked.count, FIBERS);
	}
	memory.fail_at = 0;
	CHECK_INT(parked__look(&parked, deadline__now()), 0);
	check_times();
	/* It was never resumed: it is no failure, and it waits for nothing. */
	fibers[2]->cfp = 0;
	CHECK_INT(parked__look(&parked, deadline__now()), 0);
	CHECK_INT(parked.count, FIBERS - 1);
	check_times();
	tear_down();
	CHECK_INT(counters.taken, FIBERS);
}

/* What was before a pause does not count. */
TEST(parked_fibers_after_a_pause)
{
	CHECK(set_up());
	CHECK_INT(parked__look(&parked, deadline__now()), 0);
	parked__flush(&parked);
	CHECK_INT(counters.taken, FIBERS);
	parked.looked_at = began = deadline__now();
	CHECK_INT(parked__look(&parked, deadline__now()), 0);
	check_times();
	CHECK(parked.list[0].ns < BEFORE);
	tear_down();
}

static bool is_shared(const struct rb_debug_ext_thread *t)
{
	return t->flags & RB_DEBUG_EXT_THREAD_MN;
}

static int any(void)
{
	memory.reads = 0;
	return tables__any(&layout, &memory.memory, is_shared, parked__can_park);
}

/* Is there a fiber that a scheduler may park, or a thread that shares a native one? */
TEST(tables_at_a_glance)
{
	CHECK(set_up());
	CHECK_INT(any(), 1);
	/* Each table is two reads: where its slots are, and the slots. */
	CHECK_INT(memory.reads, 4);
	for (uint32_t i = 0; i < FIBERS; i++)
		fake__ec_slot(&vm, fibers[i], 10 + i, 5)->flags = i % 2 ? RB_DEBUG_EXT_EC_ROOT | RB_DEBUG_EXT_EC_NONBLOCKING : 0;
	CHECK_INT(any(), 0);
	CHECK_INT(memory.reads, 4);
	/* Those of threads that are gone do not count. */
	first->flags |= RB_DEBUG_EXT_THREAD_MN;
	CHECK_INT(any(), 1);
	CHECK_INT(memory.reads, 2);
	first->state = RB_DEBUG_EXT_THREAD_DEAD;
	CHECK_INT(any(), 0);
	first->state = RB_DEBUG_EXT_THREAD_RUNNING;
	/* The slots of threads are not mapped: the others are looked at. */
	memory.fail_at = 2;
	CHECK_INT(any(), 0);
	fake__ec_slot(&vm, fibers[4], 14, 5)->flags = RB_DEBUG_EXT_EC_NONBLOCKING;
	CHECK_INT(any(), 1);
	memory.error = -ESRCH;
	CHECK_INT(any(), -ESRCH);
	memory.fail_at = 0;
	/* It says that there is none. */
	layout.section.ec_slots_end = 14;
	first->flags = 0;
	CHECK_INT(any(), 0);
	tear_down();
}
