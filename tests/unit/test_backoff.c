/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "base/backoff.h"

#define MS 1000000ull

/* How often it looks between two times. */
static int looks(struct backoff *b, uint64_t now, uint64_t end, bool starting)
{
	int n = 0;

	for (; now < end; now = b->next, n++)
		backoff__failed(b, now, starting);
	return n;
}

TEST(backoff_looks_often_at_first)
{
	struct backoff b;
	uint64_t now = 5000 * MS;

	backoff__reset(&b, now);
	CHECK_INT(b.next, now);
	backoff__failed(&b, now, false);
	CHECK_INT(b.next, now + 2 * MS);
	backoff__failed(&b, now + 16 * MS, false);
	CHECK_INT(b.next, now + 18 * MS);
	backoff__failed(&b, now + 80 * MS, false);
	CHECK_INT(b.next, now + 90 * MS);
	backoff__failed(&b, now + 3600000 * MS, false);
	CHECK_INT(b.next, now + 3600100 * MS);
	backoff__reset(&b, now);
	/* 5000 if it never tired. */
	CHECK(looks(&b, now, now + 10000 * MS, false) < 150);
	/* Another program: as at first. */
	backoff__reset(&b, now + 10000 * MS);
	backoff__failed(&b, now + 10001 * MS, false);
	CHECK_INT(b.next, now + 10003 * MS);
}

TEST(backoff_does_not_miss_a_ruby_that_starts)
{
	struct backoff b;

	backoff__reset(&b, 0);
	backoff__failed(&b, 999 * MS, true);
	CHECK_INT(b.next, 1001 * MS);
	/* A process that starts for ever must not make it look for ever. */
	backoff__failed(&b, 2000 * MS, true);
	CHECK_INT(b.next, 2100 * MS);
	CHECK(looks(&b, 0, 10000 * MS, true) < 700);
}
