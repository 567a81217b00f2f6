/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "process/remains.h"

static struct remains remains;
static uint64_t sum;
static char out[64];

static void add(uint64_t address, const char *bytes)
{
	remains__add(&remains, &sum, address, bytes, (uint32_t)strlen(bytes));
}

static const char *read_at(uint64_t address, size_t length)
{
	memset(out, 0, sizeof(out));
	return remains__read(&remains, address, out, length) ? "none" : out;
}

TEST(remains_are_read_over_pieces_in_any_order)
{
	CHECK_STRING(read_at(100, 1), "none");
	add(110, "klmno");
	add(100, "abcdefghij");
	add(200, "xyz");
	CHECK_STRING(read_at(100, 15), "abcdefghijklmno");
	CHECK_STRING(read_at(108, 4), "ijkl");
	CHECK_STRING(read_at(108, 8), "none");
	CHECK_STRING(read_at(99, 2), "none");
	CHECK_STRING(read_at(202, 1), "z");
	CHECK_STRING(read_at(203, 1), "none");
	/* A short piece inside of a long one. */
	add(102, "cd");
	CHECK_STRING(read_at(100, 10), "abcdefghij");
	CHECK_STRING(read_at(104, 3), "efg");
	CHECK_INT(sum, 20);
	remains__free(&remains);
	CHECK_INT(sum, 0);
	CHECK_STRING(read_at(100, 1), "none");
}

TEST(remains_have_bounds)
{
	static char piece[4096];
	struct remains others = { 0 };

	remains__add(&remains, &sum, UINT64_MAX - 10, piece, sizeof(piece));
	CHECK_INT(remains.count, 0);
	for (uint32_t i = 0; i < REMAINS_BYTES_MAX / sizeof(piece) + 10; i++)
		remains__add(&remains, &sum, i * sizeof(piece), piece, sizeof(piece));
	CHECK_INT(sum, REMAINS_BYTES_MAX);
	/* Others have used up what is for all. */
	sum += REMAINS_ALL_BYTES_MAX - REMAINS_BYTES_MAX;
	remains__add(&others, &sum, 0, piece, 1);
	CHECK_INT(others.count, 0);
	sum -= REMAINS_ALL_BYTES_MAX - REMAINS_BYTES_MAX;
	remains__free(&remains);
	CHECK_INT(sum, 0);
}
