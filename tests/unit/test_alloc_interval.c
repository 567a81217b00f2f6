/* SPDX-License-Identifier: BSD-2-Clause */
/* The distance of samples of allocations in a process, which is this one. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/deadline.h"
#include "fake.h"
#include "ruby/alloc_interval.h"

static struct rb_debug_ext_section section;
static struct fake vm;
static struct layout layout;
static struct address_space *space;

static void set_up(void)
{
	int err;

	fake__init(&vm, &section);
	section.alloc_interval = 524288;
	layout.section = section;
	layout.address = (uint64_t)(uintptr_t)&section;
	space = address_space__open(getpid(), &err);
	CHECK(space);
}

TEST(alloc_interval_is_set_and_given_back)
{
	struct rb_debug_ext_section before;
	uint64_t old = 1;

	set_up();
	before = section;
	CHECK_INT(alloc_interval__set(space, &layout, 4096, &old), 0);
	CHECK_INT(old, 524288);
	CHECK_INT(section.alloc_interval, 4096);
	section.alloc_interval = old;
	CHECK(!memcmp(&before, &section, sizeof(before)));
	section.alloc_interval = 4096;
	CHECK_INT(alloc_interval__restore(space, &layout, 4096, old), 0);
	CHECK_INT(section.alloc_interval, 524288);
	/* The default is 0 in a process that has never used it. */
	section.alloc_interval = 0;
	CHECK_INT(alloc_interval__set(space, &layout, 4096, &old), 0);
	CHECK_INT(alloc_interval__restore(space, &layout, 4096, old), 0);
	CHECK_INT(section.alloc_interval, 0);
	address_space__close(space);
}

/* That of samples may not have begun when a process is found. */
TEST(alloc_interval_needs_no_time_that_is_left)
{
	struct deadline over;
	uint64_t old = 1;

	set_up();
	deadline__start(&over, -1, 1);
	space->deadline = &over;
	CHECK_INT(alloc_interval__set(space, &layout, 4096, &old), 0);
	CHECK_INT(section.alloc_interval, 4096);
	CHECK_INT(alloc_interval__restore(space, &layout, 4096, old), 0);
	CHECK_INT(section.alloc_interval, 524288);
	CHECK(space->deadline == &over);
	address_space__close(space);
}

TEST(alloc_interval_of_somebody_else_is_left)
{
	uint64_t old;

	set_up();
	CHECK_INT(alloc_interval__set(space, &layout, 4096, &old), 0);
	section.alloc_interval = 8192;
	CHECK_INT(alloc_interval__restore(space, &layout, 4096, old), 0);
	CHECK_INT(section.alloc_interval, 8192);
	address_space__close(space);
}

TEST(alloc_interval_of_another_program_is_left)
{
	uint64_t old;

	set_up();
	close(space->mem);
	space->mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	CHECK_INT(alloc_interval__set(space, &layout, 4096, &old), -EBADF);
	layout.section.magic[0] ^= 1;
	CHECK_INT(alloc_interval__set(space, &layout, 4096, &old), -ESTALE);
	CHECK_INT(alloc_interval__restore(space, &layout, 524288, 4096), -ESTALE);
	CHECK_INT(section.alloc_interval, 524288);
	address_space__leave(space);
	CHECK_INT(alloc_interval__set(space, &layout, 4096, &old), -ESRCH);
	address_space__close(space);
}
