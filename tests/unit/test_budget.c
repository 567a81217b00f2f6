/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares of memory. */
#include "test.h"

#include "base/budget.h"

TEST(budget_leaves_half_for_others)
{
	struct budget b = { .max = 1000 };
	struct budget_share one = { .of = &b, .user = 1 }, other = { .of = &b, .user = 1 }, third = { .of = &b, .user = 2 };

	/* All of one user together have half of it, and one has half of that. */
	CHECK(budget__take(&one, 250));
	CHECK(!budget__take(&one, 1));
	CHECK(budget__take(&other, 125));
	CHECK(!budget__take(&other, 1));
	CHECK(budget__take(&third, 156));
	CHECK(!budget__take(&third, 1));
	CHECK_INT(b.used, 531);
	budget__add(&one, -200);
	CHECK_INT(b.used, 331);
	CHECK(budget__take(&other, 50));
	/* What is not counted in a budget has no bound. */
	CHECK(budget__take(&(struct budget_share){ 0 }, UINT64_MAX / 2));
	b.max = 0;
	CHECK(budget__has(&one, UINT64_MAX / 2));
}

/* It is the largest number that may be taken. */
TEST(budget_tells_what_is_left)
{
	struct budget b = { .max = 1000 };
	struct budget_share shares[] = { { .of = &b, .user = 1 }, { .of = &b, .user = 1 }, { .of = &b, .user = 2 }, { .of = &b, .user = 2 } };

	for (uint32_t i = 0; i < 100; i++) {
		struct budget_share *s = &shares[test__random() % 4];
		uint64_t left = budget__left(s);

		CHECK(!left || budget__has(s, left));
		/* Halves are rounded down: one more may be just enough. */
		CHECK(!budget__has(s, left + 2));
		budget__add(s, (int64_t)(test__random() % (left + 1)));
	}
	CHECK_INT(budget__left(&(struct budget_share){ .of = &b, .user = 3, .used = 2000 }), 0);
	CHECK(budget__left(NULL) == UINT64_MAX && budget__left(&(struct budget_share){ 0 }) == UINT64_MAX);
}

TEST(budget_of_many_users)
{
	static struct budget b = { .max = 1 << 20 };
	uint64_t sum = 0;

	for (uint32_t user = 0; user < 1000; user++) {
		struct budget_share s = { .of = &b, .user = user };

		while (budget__take(&s, 16))
			;
		sum += s.used;
		CHECK(user >= BUDGET_USERS_MAX || s.used > 0 || b.used + 16 > b.max / 2);
	}
	CHECK_INT(sum, b.used);
	CHECK(b.used <= b.max);
	/* Who comes when all places are taken shares the last one. */
	b = (struct budget){ .max = 1 << 20 };
	for (uint32_t user = 0; user < 1000; user++)
		CHECK(budget__take(&(struct budget_share){ .of = &b, .user = user }, 16));
	CHECK_INT(b.user_count, BUDGET_USERS_MAX);
	CHECK_INT(b.users[0].used, 16);
	CHECK_INT(b.users[BUDGET_USERS_MAX - 1].used, 16 * (1000 - BUDGET_USERS_MAX + 1));
}
