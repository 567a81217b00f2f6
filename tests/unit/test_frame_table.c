/* SPDX-License-Identifier: BSD-2-Clause */
#include "frames/frame_table.h"
#include "test.h"

/* A frame that differs in one part. */
static struct frame other(int part)
{
	struct frame f = FRAME_INIT(FRAME_LABEL);

	switch (part) {
	case 0: break;
	case 1: f.kind = FRAME_CGROUP; break;
	case 2: f.name = "name"; break;
	case 3: f.path = "name"; break;
	case 4: f.module = "name"; break;
	case 5: f.key = "name"; break;
	case 6: f.wider = "name"; break;
	case 7: f.address = 1; break;
	case 8: f.pid = 1; break;
	case 9: f.tid = 1; break;
	case 10: f.line = 1; break;
	case 11: f.first_line = 1; break;
	case 12: f.known = KNOWN_EXPIRED; break;
	case 13: f.role = ROLE_FIBERS; break;
	case 14: f.state = 1; break;
	case 15: f.missing = MISSING_LINE; break;
	case 16: f.approximate = true; break;
	case 17: f.bracketed = true; break;
	/* Parts that took each other away. */
	case 18: f.pid = 1; f.address = 1ull << 40; break;
	case 19: f.tid = 1; f.address = 1ull << 8; break;
	case 20: f.name = "na"; f.path = "me"; break;
	default: f.name = "nam"; f.path = "e"; break;
	}
	return f;
}

TEST(frame_table_tells_each_part_apart)
{
	struct frame_table t;
	uint32_t numbers[22];

	CHECK(!frame_table__init(&t));
	for (int i = 0; i < 22; i++) {
		struct frame f = other(i);

		numbers[i] = frame_table__add(&t, &f);
		CHECK(numbers[i] != FRAME_MERGED);
		for (int j = 0; j < i; j++) {
			struct frame g = other(j);

			CHECK(numbers[j] != numbers[i] && !frame__is_same(&f, &g) && frame__hash(&f) != frame__hash(&g));
		}
	}
	for (int i = 0; i < 22; i++) {
		struct frame f = other(i);

		CHECK_INT(frame_table__add(&t, &f), numbers[i]);
		CHECK_INT(frame_table__find(&t, &f), numbers[i]);
	}
	frame_table__free(&t);
}

/* Somebody chooses names so that others are searched for long: hashes that follow one another. */
TEST(frame_table_search_is_bounded)
{
	struct frame_table t;
	struct frame f = FRAME_INIT(FRAME_LABEL);
	uint64_t hash;

	CHECK(!frame_table__init(&t));
	f.name = "victim";
	hash = frame__hash(&f);
	for (uint32_t i = 0; i < 1000; i++)
		CHECK(!map64__add(&t.map, hash + i, 0));
	CHECK_INT(frame_table__add(&t, &f), FRAME_MERGED);
	CHECK_INT(frame_table__find(&t, &f), FRAME_MERGED);
	CHECK_INT(t.count, 1);
	f.name = "another";
	CHECK(frame_table__add(&t, &f) != FRAME_MERGED);
	frame_table__free(&t);
}
