/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ruby/lines.h"

TEST(lines_decode_as_the_header_says)
{
	/* (0, +0), (2, +3), (130, -1), (5, +200) from line 10 */
	static const uint8_t data[] = {
		0x00, 0x00, 0x02, 0x03, 0x82, 0x01, 0x7f, 0x05, 0xc8, 0x01
	};
	struct lines l;

	CHECK_INT(lines__decode(&l, data, sizeof(data), 10), 0);
	CHECK_INT(l.count, 4);
	CHECK_INT(lines__at(&l, 0), 10);
	CHECK_INT(lines__at(&l, 1), 10);
	CHECK_INT(lines__at(&l, 2), 13);
	CHECK_INT(lines__at(&l, 131), 13);
	CHECK_INT(lines__at(&l, 132), 12);
	CHECK_INT(lines__at(&l, 136), 12);
	CHECK_INT(lines__at(&l, 137), 212);
	CHECK_INT(lines__at(&l, 4000000000u), 212);
	lines__free(&l);
}

TEST(lines_before_the_first_pair_are_unknown)
{
	static const uint8_t data[] = { 3, 1 };
	struct lines l;

	CHECK_INT(lines__decode(&l, data, sizeof(data), 1), 0);
	CHECK_INT(lines__at(&l, 2), 0);
	CHECK_INT(lines__at(&l, 3), 2);
	lines__free(&l);
	CHECK_INT(lines__decode(&l, data, 0, 1), 0);
	CHECK_INT(lines__at(&l, 0), 0);
	lines__free(&l);
}

TEST(lines_refuse_what_is_malformed)
{
	static const struct {
		const char *what;
		size_t size;
		uint8_t data[16];
	} cases[] = {
		{ "half a pair", 1, { 0 } },
		{ "half a pair after a good one", 3, { 0, 0, 1 } },
		{ "unfinished number", 2, { 0, 0x80 } },
		{ "unfinished position", 1, { 0x80 } },
		{ "endless number", 8, { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0 } },
		{ "position of more than 32 bits", 6, { 0xff, 0xff, 0xff, 0xff, 0x7f, 0 } },
		{ "endless line", 8, { 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0 } },
		{ "line beyond 32 bits", 6, { 0, 0xff, 0xff, 0xff, 0xff, 0x3f } },
		{ "line below 32 bits", 6, { 0, 0x80, 0x80, 0x80, 0x80, 0x40 } },
		{ "sum of positions beyond 32 bits", 12,
		  { 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0 } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lines l;
		int err = lines__decode(&l, cases[i].data, cases[i].size, 1);

		if (err != -EINVAL || l.pairs)
			test__fail(__FILE__, __LINE__, "%s: %d", cases[i].what, err);
	}
}

TEST(lines_survive_random_tables)
{
	for (int i = 0; i < 100000; i++) {
		size_t size = test__random() % 24;
		uint8_t *data = malloc(size ? size : 1);	/* exact: ASan sees overruns */
		struct lines l;

		for (size_t j = 0; j < size; j++)
			data[j] = (uint8_t)test__random();
		if (!lines__decode(&l, data, size, test__random())) {
			for (size_t j = 1; j < l.count; j++)
				CHECK(l.pairs[j].position >= l.pairs[j - 1].position);
			lines__at(&l, test__random());
			lines__free(&l);
		}
		free(data);
	}
}

/* An index as the header describes it: the ranks and the bits, from positions. */
static uint8_t *make_index(const uint32_t *positions, uint32_t count, uint32_t code_size)
{
	uint8_t *index = calloc(1, lines__index_size(code_size) + 1);
	uint32_t rank = 0;

	for (uint32_t i = 0; i < code_size; i++) {
		bool begins = rank < count && positions[rank] == i;
		uint32_t k = i - 54;
		uint64_t word;
		uint8_t *at;

		if (i >= 54 && k % 512 == 0)
			memcpy(index + 48 + k / 512 * 80, &rank, sizeof(rank));
		rank += begins;
		at = i < 54 ? index + i / 9 * 8 : index + 48 + k / 512 * 80 + 16 + k % 512 / 64 * 8;
		memcpy(&word, at, sizeof(word));
		word |= i < 54 ? (uint64_t)rank << (i % 9 * 7) : (uint64_t)begins << (k % 64);
		memcpy(at, &word, sizeof(word));
	}
	return index;
}

TEST(lines_of_the_vm_are_those_of_its_entries)
{
	static const uint32_t sizes[] = { 1, 2, 8, 9, 10, 53, 54, 55, 63, 118, 119, 565, 566, 567, 3000 };

	for (int round = 0; round < 3000; round++) {
		uint32_t size = sizes[test__random() % (sizeof(sizes) / sizeof(*sizes))];
		uint32_t density = test__random() % 8 + 1, count = 0;
		uint32_t *positions = calloc(size, sizeof(*positions));
		int32_t *entries = calloc(size, 3 * sizeof(*entries));
		struct lines_insns insns = { .entry_size = 12, .entry_line = 4, .code_size = size };
		uint8_t *index;
		struct lines l;

		for (uint32_t i = 0; i < size; i++) {
			/* the ranks of the first part have 7 bits */
			if (i && test__random() % density)
				continue;
			positions[count] = i;
			entries[3 * count++ + 1] = (int32_t)(test__random() % 5);
		}
		index = make_index(positions, count, size);
		insns.entries = (uint8_t *)entries;
		insns.index = index;
		insns.count = count;
		CHECK_INT(lines__decode_insns(&l, &insns), 0);
		for (uint32_t i = 0, n = 0; i < size; i++) {
			if (n + 1 < count && positions[n + 1] == i)
				n++;
			CHECK_INT(lines__at(&l, i), entries[3 * n + 1]);
		}
		lines__free(&l);
		/* More entries than begin, or fewer. */
		if (count > 2) {
			insns.count = count - 1;
			CHECK(lines__decode_insns(&l, &insns));
		}
		insns.count = 1;
		insns.entry_line = 9;
		CHECK(lines__decode_insns(&l, &insns));
		free(index);
		free(entries);
		free(positions);
	}
}

TEST(lines_of_the_vm_survive_random_memory)
{
	for (int i = 0; i < 20000; i++) {
		uint32_t size = test__random() % 700, count = test__random() % 60;
		size_t index_size = lines__index_size(size);
		uint8_t *entries = malloc(12 * count + 1), *index = malloc(index_size + 1);
		struct lines_insns insns = { entries, count, 12, 0, index, size };
		struct lines l;

		for (size_t j = 0; j < 12 * count; j++)
			entries[j] = (uint8_t)test__random();
		for (size_t j = 0; j < index_size; j++)
			index[j] = test__random() % 3 ? 0 : (uint8_t)test__random();
		if (!lines__decode_insns(&l, &insns))
			lines__free(&l);
		free(entries);
		free(index);
	}
}

TEST(lines_position_of_a_pc)
{
	/* pc is after the instruction that runs, except before the first. */
	CHECK_INT(lines__position(0x1000, 0x1000, 10), 0);
	CHECK_INT(lines__position(0x1008, 0x1000, 10), 0);
	CHECK_INT(lines__position(0x1010, 0x1000, 10), 1);
	CHECK_INT(lines__position(0x1050, 0x1000, 10), 9);
	CHECK_INT(lines__position(0x1051, 0x1000, 10), -1);
	CHECK_INT(lines__position(0x1058, 0x1000, 10), -1);
	CHECK_INT(lines__position(0xff8, 0x1000, 10), -1);
	CHECK_INT(lines__position(0, 0, 10), -1);
	CHECK_INT(lines__position(~0ull, 0x1000, 0xffffffff), -1);
	CHECK_INT(lines__position(0x1000, 0x1000, 0), 0);
}
