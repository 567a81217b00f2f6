/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/clock_steps.h"

#include <string.h>

#include "test.h"

#define SECOND 1000000000ll

TEST(clock_steps_are_told)
{
	const struct clock_offsets then = { .wall = 1700000000 * SECOND, .boot = 5 * SECOND };
	const struct {
		int64_t wall, boot;	/* what was added */
		const char *told;
	} cases[] = {
		{ 0, 0, NULL },
		{ SECOND, 0, NULL },		/* put right slowly */
		{ -SECOND, 0, NULL },
		{ 3 * SECOND, 0, "the clock was set by +3 s" },
		{ -3600 * SECOND, 0, "the clock was set by -3600 s" },
		/* The time of the day goes on meanwhile. */
		{ 7200 * SECOND, 7200 * SECOND, "the machine was suspended for 7200 s" },
		{ 10 * SECOND, 3600 * SECOND, "the machine was suspended for 3600 s" },
		{ SECOND, SECOND, NULL },
	};
	char text[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct clock_offsets now = { then.wall + cases[i].wall, then.boot + cases[i].boot };
		const char *told = clock_offsets__step(&then, &now, text, sizeof(text));

		CHECK(cases[i].told ? told && !strcmp(told, cases[i].told) : !told);
	}
}

TEST(clock_steps_are_none_while_nothing_happens)
{
	struct clock_offsets none = { 0 }, then = clock_offsets__read(), now = clock_offsets__read();
	char text[64];

	CHECK(then.wall > 1600000000 * SECOND && then.boot >= 0);
	CHECK(!clock_offsets__step(&then, &now, text, sizeof(text)));
	/* Nothing was read before. */
	CHECK(!clock_offsets__step(&none, &now, text, sizeof(text)));
}
