/* SPDX-License-Identifier: BSD-2-Clause */
/* Cells of time: each amount is in its columns, and the parts add up to it. */
#include "test.h"

#include <string.h>

#include "profile/cells.h"

static uint64_t sum(const struct cells_row *row, unsigned int kind)
{
	uint64_t all = row->outside[kind];

	for (uint32_t i = 0; row->amounts[kind] && i < CELLS_COLUMNS; i++)
		all += row->amounts[kind][i];
	return all;
}

TEST(cells_spread_what_lasts)
{
	static struct cells c;

	cells__set_time(&c, 1000, 1000 + 10 * CELLS_COLUMNS);
	CHECK_INT(c.width, 10);
	/* Within a column, over two, over all, and beyond both ends. */
	CHECK_INT(cells__add(&c, 1, STATE_GVL, 1002, 1005, 7), 0);
	CHECK_INT(c.rows[0].amounts[STATE_GVL][0], 7);
	CHECK_INT(cells__add(&c, 1, STATE_IO, 1005, 1015, 101), 0);
	CHECK_INT(c.rows[0].amounts[STATE_IO][0], 50);
	CHECK_INT(c.rows[0].amounts[STATE_IO][1], 51);
	CHECK_INT(cells__add(&c, 1, STATE_SLEEP, 1000, 1000 + 10 * CELLS_COLUMNS, CELLS_COLUMNS * 3 + 1), 0);
	CHECK_INT(c.rows[0].amounts[STATE_SLEEP][0], 3);
	CHECK_INT(c.rows[0].outside[STATE_SLEEP], 0);
	CHECK_INT(sum(&c.rows[0], STATE_SLEEP), CELLS_COLUMNS * 3 + 1);
	CHECK_INT(cells__add(&c, 1, STATE_MUTEX, 0, 2000 + 20 * CELLS_COLUMNS, 1000003), 0);
	CHECK(c.rows[0].outside[STATE_MUTEX] > 500000);
	CHECK_INT(sum(&c.rows[0], STATE_MUTEX), 1000003);
	/* Moments: at the first time, at the last one, and outside. */
	CHECK_INT(cells__add(&c, 1, STATE_RUNNING, 1000, 1000, 1), 0);
	CHECK_INT(cells__add(&c, 1, STATE_RUNNING, c.until, c.until, 2), 0);
	CHECK_INT(cells__add(&c, 1, STATE_RUNNING, 999, 999, 4), 0);
	CHECK_INT(cells__add(&c, 1, STATE_RUNNING, c.until + 1, 0, 8), 0);
	CHECK_INT(c.rows[0].amounts[STATE_RUNNING][0], 1);
	CHECK_INT(c.rows[0].amounts[STATE_RUNNING][CELLS_COLUMNS - 1], 2);
	CHECK_INT(c.rows[0].outside[STATE_RUNNING], 12);
	CHECK_INT(c.rows[0].sums[STATE_RUNNING], 15);
	/* All of it before, or behind. */
	CHECK_INT(cells__add(&c, 1, CELL_IDLE, 10, 20, 5), 0);
	CHECK_INT(cells__add(&c, 1, CELL_IDLE, c.until + 10, c.until + 20, 6), 0);
	CHECK_INT(c.rows[0].outside[CELL_IDLE], 11);
	CHECK_INT(c.count, 1);
	cells__free(&c);
}

TEST(cells_add_up_whatever_comes)
{
	static struct cells c;
	static uint64_t sums[CELL_KINDS];
	uint64_t x = 88172645463325252ull, all = 0;

	cells__set_time(&c, 1u << 20, 5u << 20);
	for (int i = 0; i < 20000; i++) {
		uint64_t begin, end, amount;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		begin = x % (6u << 20);
		end = begin + (x >> 24) % (1u << 19);
		amount = (x >> 11) % 1000003;
		CHECK_INT(cells__add(&c, (uint32_t)(x % 100), (unsigned int)(x >> 40) % CELL_KINDS, begin, x & 1 ? end : begin, amount), 0);
		sums[(x >> 40) % CELL_KINDS] += amount;
		all += amount;
	}
	/* Of 100 keys the last row has what found no room. */
	CHECK_INT(c.count, CELLS_ROWS_MAX);
	for (unsigned int kind = 0; kind < CELL_KINDS; kind++) {
		uint64_t of_kind = 0;

		for (uint32_t i = 0; i < c.count; i++) {
			CHECK_INT(sum(&c.rows[i], kind), c.rows[i].sums[kind]);
			of_kind += c.rows[i].sums[kind];
		}
		CHECK_INT(of_kind, sums[kind]);
		all -= of_kind;
	}
	CHECK_INT(all, 0);
	cells__free(&c);
}

TEST(cells_have_the_ends_of_numbers)
{
	static struct cells c;

	cells__set_time(&c, 5, 5);
	CHECK_INT(c.until, 6);
	CHECK_INT(c.width, 1);
	/* Fewer columns than there is room for; the last one has the last moment, and ends there. */
	cells__set_time(&c, 0, 1001);
	CHECK_INT(c.width, 2);
	CHECK_INT(c.columns, 501);
	cells__set_time(&c, 0, 1000);
	CHECK_INT(c.columns, 500);
	CHECK_INT(cells__add(&c, 0, STATE_GVL, 1000, 1000, 4), 0);
	CHECK_INT(c.rows[0].amounts[STATE_GVL][499], 4);
	CHECK_INT(cells__add(&c, 0, STATE_GVL, 999, 1003, 8), 0);
	CHECK_INT(c.rows[0].amounts[STATE_GVL][499], 6);
	CHECK_INT(c.rows[0].outside[STATE_GVL], 6);
	cells__free(&c);
	cells__set_time(&c, 0, INT64_MAX);
	CHECK_INT(cells__add(&c, 0, STATE_IO, 0, INT64_MAX, UINT64_MAX), 0);
	CHECK(sum(&c.rows[0], STATE_IO) == UINT64_MAX);
	CHECK_INT(cells__add(&c, 0, STATE_GVL, INT64_MAX, UINT64_MAX, 3), 0);
	CHECK_INT(sum(&c.rows[0], STATE_GVL), 3);
	CHECK_STRING(cell_kind__name(CELL_GC), "gc");
	CHECK_STRING(cell_kind__name(STATE_GVL), "gvl");
	cells__free(&c);
}

TEST(cells_keep_rows_for_those_that_have_most)
{
	static struct cells c;

	memset(&c, 0, sizeof(c));
	cells__set_time(&c, 0, 1000);
	cells__keep(&c, 7000);
	for (uint32_t key = 1; key <= 200; key++)
		CHECK_INT(cells__add(&c, key, STATE_RUNNING, 1, 1, 1), 0);
	CHECK_INT(cells__add(&c, 7000, STATE_RUNNING, 999, 999, 5), 0);
	CHECK_INT(c.count, CELLS_ROWS_MAX);
	CHECK_INT(c.rows[0].key, 7000);
	CHECK_INT(c.rows[0].sums[STATE_RUNNING], 5);
	CHECK_INT(c.rows[CELLS_ROWS_MAX - 1].sums[STATE_RUNNING], 200 - (CELLS_ROWS_MAX - 2));
	cells__free(&c);
}
