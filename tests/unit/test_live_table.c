/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of what lives, read from a process that writes it meanwhile, or writes what it wants. */
#include "test.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/deadline.h"
#include "fake.h"
#include "memory_fake.h"
#include "ruby/live_table.h"

static struct rb_debug_ext_section section;
static struct fake vm;
static struct layout layout;
static struct memory_fake memory;
static struct live_table live;
static struct {
	struct rb_debug_ext_live entry;
	uint64_t later[2];	/* what a later version has there */
} entries[16];

static void set_up(void)
{
	fake__init(&vm, &section);
	memory_fake__init(&memory);
	memset(&live, 0, sizeof(live));
	layout.section = section;
	layout.address = (uint64_t)(uintptr_t)&section;
	for (uint32_t i = 0; i < 16; i++) {
		memset(&entries[i], 0xff, sizeof(entries[i]));
		entries[i].entry = (struct rb_debug_ext_live){ .serial = 10 + 2 * i, .id = 3, .size = 40, .weight = 4096 };
	}
	section.live = (uint64_t)(uintptr_t)entries;
	section.live_end = 16;
	section.live_entry_size = sizeof(entries[0]);
	section.live_generation = 4;
	section.live_clears = 2;
}

static int read_table(void)
{
	return live_table__read(&live, &memory.memory, &layout, deadline__now() + 50000000);
}

TEST(live_table_is_read)
{
	set_up();
	CHECK_INT(read_table(), 0);
	CHECK_INT(live.count, 16);
	CHECK_INT(live.list[15].serial, 40);
	CHECK_INT(live.clears, 2);
	/* None yet. */
	section.live = 0;
	CHECK_INT(read_table(), 0);
	CHECK_INT(live.count, 0);
	live_table__free(&live);
}

TEST(live_table_that_makes_no_sense_is_not_taken)
{
	static const struct {
		size_t at, size;
		uint64_t value;
	} wrong[] = {
		{ offsetof(struct rb_debug_ext_section, live_end), 4, RB_DEBUG_EXT_LIVE_MAX + 1 },
		{ offsetof(struct rb_debug_ext_section, live_end), 4, UINT32_MAX },
		{ offsetof(struct rb_debug_ext_section, live_entry_size), 4, 0 },
		{ offsetof(struct rb_debug_ext_section, live_entry_size), 4, sizeof(struct rb_debug_ext_live) - 8 },
		{ offsetof(struct rb_debug_ext_section, live_entry_size), 4, RB_DEBUG_EXT_STRIDE_MAX + 8 },
	}, wrong_entries[] = {
		{ offsetof(struct rb_debug_ext_live, serial), 8, 0 },
		{ offsetof(struct rb_debug_ext_live, serial), 8, 10 },
		{ offsetof(struct rb_debug_ext_live, size), 8, 0 },
		{ offsetof(struct rb_debug_ext_live, size), 8, 1ull << 32 },
		{ offsetof(struct rb_debug_ext_live, weight), 8, 0 },
		{ offsetof(struct rb_debug_ext_live, weight), 8, 1ull << 49 },
		{ offsetof(struct rb_debug_ext_live, bytes), 8, UINT64_MAX },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		set_up();
		memcpy((char *)&section + wrong[i].at, &wrong[i].value, wrong[i].size);
		CHECK_INT(read_table(), -EPROTO);
		CHECK_INT(live.count, 0);
		live_table__free(&live);
	}
	for (size_t i = 0; i < sizeof(wrong_entries) / sizeof(wrong_entries[0]); i++) {
		set_up();
		memcpy((char *)&entries[5] + wrong_entries[i].at, &wrong_entries[i].value, wrong_entries[i].size);
		CHECK_INT(read_table(), -EPROTO);
		CHECK_INT(live.count, 0);
		live_table__free(&live);
	}
	/* An address where nothing is. */
	set_up();
	section.live = 64;
	CHECK_INT(read_table(), -EFAULT);
	live_table__free(&live);
}

static int changes_until;

static void change(int read)
{
	if (read <= changes_until)
		section.live_generation += 2;
}

TEST(live_table_that_changes_is_read_again)
{
	set_up();
	memory.before = change;
	changes_until = 6;
	CHECK_INT(read_table(), 0);
	CHECK_INT(live.count, 16);
	/* All the time. */
	changes_until = INT32_MAX;
	memory.reads = 0;
	CHECK_INT(read_table(), -EAGAIN);
	CHECK_INT(live.count, 0);
	CHECK(memory.reads > 6 && memory.reads < 1000);
	/* The collector is in the middle of it. */
	memory.before = NULL;
	section.live_generation = 5;
	CHECK_INT(read_table(), -EAGAIN);
	live_table__free(&live);
}

TEST(live_table_is_asked_for)
{
	struct rb_debug_ext_section before;
	struct address_space *space;
	struct timespec now;
	int err;

	set_up();
	space = address_space__open(getpid(), &err);
	CHECK(space);
	before = section;
	CHECK_INT(live_table__ask(space, &layout), 0);
	clock_gettime(CLOCK_MONOTONIC, &now);
	CHECK(section.live_until > (uint64_t)now.tv_sec + 20 && section.live_until < (uint64_t)now.tv_sec + RB_DEBUG_EXT_LIVE_SECONDS);
	/* Another reader wants it for longer; what no reader can have meant is no wish. */
	section.live_until = (uint64_t)now.tv_sec + RB_DEBUG_EXT_LIVE_SECONDS - 5;
	CHECK_INT(live_table__ask(space, &layout), 0);
	CHECK_INT(section.live_until, (uint64_t)now.tv_sec + RB_DEBUG_EXT_LIVE_SECONDS - 5);
	section.live_until = UINT64_MAX;
	CHECK_INT(live_table__ask(space, &layout), 0);
	CHECK(section.live_until < (uint64_t)now.tv_sec + RB_DEBUG_EXT_LIVE_SECONDS);
	section.live_until = before.live_until;
	CHECK(!memcmp(&before, &section, sizeof(before)));
	/* Another program is there. */
	section.magic[0]++;
	CHECK_INT(live_table__ask(space, &layout), -ESTALE);
	CHECK_INT(section.live_until, before.live_until);
	address_space__close(space);
}
