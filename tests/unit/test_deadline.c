/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <unistd.h>

#include "base/deadline.h"

TEST(patience_ends_in_time)
{
	struct deadline p;
	uint64_t start = deadline__now();

	deadline__start(&p, -1, UINT64_MAX);
	CHECK(!deadline__over(&p));
	deadline__start(&p, -1, start + 20000000);
	while (!deadline__over(&p))
		CHECK(deadline__now() < start + 10000000000ull);
	CHECK(deadline__now() >= start + 20000000);
	CHECK(deadline__over(&p));
	deadline__start(&p, -1, UINT64_MAX);
	CHECK(!deadline__over(&p));
	deadline__start(&p, -1, 0);
	CHECK(deadline__over(&p));
}

TEST(patience_ends_when_somebody_asks_for_it)
{
	uint64_t start = deadline__now();
	struct deadline p;
	int fds[2];
	char byte;

	CHECK_INT(pipe(fds), 0);
	deadline__start(&p, fds[0], UINT64_MAX);
	CHECK(!deadline__over(&p));
	CHECK_INT(write(fds[1], "", 1), 1);
	while (!deadline__over(&p))
		CHECK(deadline__now() < start + 10000000000ull);
	/* Once it has said that the time is over, it says so until it begins again. */
	CHECK_INT(read(fds[0], &byte, 1), 1);
	CHECK(deadline__over(&p));
	deadline__start(&p, fds[0], UINT64_MAX);
	CHECK(!deadline__over(&p));
	/* Nobody has asked yet: it is over at the first look. */
	CHECK_INT(write(fds[1], "", 1), 1);
	deadline__start(&p, fds[0], UINT64_MAX);
	CHECK(deadline__over(&p));
	close(fds[0]);
	close(fds[1]);
}
