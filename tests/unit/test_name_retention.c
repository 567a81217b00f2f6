/* SPDX-License-Identifier: BSD-2-Clause */
/* Asking a process to keep names; the process is this one. */
#include "test.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/deadline.h"
#include "fake.h"
#include "ruby/name_retention.h"

static struct rb_debug_ext_section section;
static struct fake vm;
static struct layout layout;

static void set_up(void)
{
	fake__init(&vm, &section);
	section.grace_seconds = 60;
	section.grace_until = 0;
	layout.section = section;
	layout.address = (uint64_t)(uintptr_t)&section;
}

static int ask(void)
{
	struct address_space *space;
	int err;

	space = address_space__open(getpid(), &err);
	if (!space)
		return err;
	err = name_retention__ask(space, &layout);
	address_space__close(space);
	return err;
}

TEST(grace_is_asked_for_half_of_what_is_honoured)
{
	struct rb_debug_ext_section before;
	struct timespec now;

	set_up();
	before = section;
	clock_gettime(CLOCK_MONOTONIC, &now);
	CHECK_INT(ask(), 0);
	CHECK(section.grace_until >= (uint64_t)now.tv_sec + 30);
	CHECK(section.grace_until <= (uint64_t)now.tv_sec + 32);
	CHECK(NAME_RETENTION_INTERVAL < 15000000000ull);
	/* nothing else is written */
	before.grace_until = section.grace_until;
	CHECK(!memcmp(&before, &section, sizeof(section)));
}

TEST(grace_is_asked_for_when_no_time_is_left)
{
	struct address_space *space;
	struct deadline over;
	int err;

	set_up();
	space = address_space__open(getpid(), &err);
	CHECK(space);
	deadline__start(&over, -1, 1);
	space->deadline = &over;
	CHECK_INT(name_retention__ask(space, &layout), 0);
	CHECK(section.grace_until);
	CHECK(space->deadline == &over);
	address_space__close(space);
}

TEST(grace_is_not_written_into_another_program)
{
	set_up();
	section.magic[0]++;
	CHECK_INT(ask(), -ESTALE);
	CHECK_INT(section.grace_until, 0);
	set_up();
	section.abi_minor++;
	CHECK_INT(ask(), -ESTALE);
	CHECK_INT(section.grace_until, 0);
	layout.address = 8;	/* not mapped */
	CHECK(ask() < 0);
}

TEST(grace_takes_any_number_of_seconds)
{
	set_up();
	section.grace_seconds = layout.section.grace_seconds = 0;
	CHECK_INT(ask(), 0);
	CHECK(section.grace_until > 0);
	section.grace_seconds = layout.section.grace_seconds = UINT32_MAX;
	CHECK_INT(ask(), 0);
	CHECK(section.grace_until >= UINT32_MAX / 2);
}
