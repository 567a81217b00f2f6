/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"

/* Both return how many bytes they took; 0: the bytes are no number of 32 bits. */
static size_t uleb(const uint8_t *data, size_t size, uint32_t *value)
{
	uint64_t v = 0;

	for (size_t i = 0; i < size && i < 5; i++) {
		v |= (uint64_t)(data[i] & 0x7f) << (7 * i);
		if (!(data[i] & 0x80)) {
			*value = (uint32_t)v;
			return v > UINT32_MAX ? 0 : i + 1;
		}
	}
	return 0;
}

static size_t sleb(const uint8_t *data, size_t size, int64_t *value)
{
	uint64_t v = 0;

	for (size_t i = 0; i < size && i < 5; i++) {
		v |= (uint64_t)(data[i] & 0x7f) << (7 * i);
		if (!(data[i] & 0x80)) {
			if (data[i] & 0x40)
				v |= ~0ull << (7 * (i + 1));
			*value = (int64_t)v;
			return i + 1;
		}
	}
	return 0;
}

/* Give back the memory that the pairs did not need. */
static void shrink(struct lines *l)
{
	struct line_pair *smaller;

	if (!l->count) {
		lines__free(l);
		return;
	}
	smaller = realloc(l->pairs, l->count * sizeof(*l->pairs));
	if (smaller)
		l->pairs = smaller;
}

int lines__decode(struct lines *l, const uint8_t *data, size_t size, uint32_t first_line)
{
	uint64_t position = 0;
	int64_t line = (int32_t)first_line;
	size_t at = 0, count = 0;

	memset(l, 0, sizeof(*l));
	if (!size)
		return 0;
	/* A pair takes two bytes at least. */
	l->pairs = malloc((size / 2 + 1) * sizeof(*l->pairs));
	if (!l->pairs)
		return -ENOMEM;
	while (at < size) {
		uint32_t skip;
		int64_t delta;
		size_t n;

		n = uleb(data + at, size - at, &skip);
		if (!n)
			goto malformed;
		at += n;
		n = sleb(data + at, size - at, &delta);
		if (!n)
			goto malformed;
		at += n;
		position += skip;
		line += delta;
		if (position > UINT32_MAX || line > INT32_MAX || line < INT32_MIN)
			goto malformed;
		l->pairs[count].position = (uint32_t)position;
		l->pairs[count].line = (int32_t)line;
		count++;
	}
	l->count = count;
	shrink(l);
	return 0;
malformed:
	lines__free(l);
	return -EINVAL;
}

/* The layout of the index is rank words, then bit blocks; see "Lines" in debug_external.h. */
#define BLOCK_BITS 16u

static uint64_t word_at(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

/* The next entry begins at the position. */
static int add_entry(struct lines *l, const struct lines_insns *insns, uint32_t *n, uint32_t position)
{
	int32_t line;

	if (*n >= insns->count)
		return -EINVAL;
	memcpy(&line, insns->entries + (size_t)*n * insns->entry_size + insns->entry_line, sizeof(line));
	++*n;
	if (l->count && l->pairs[l->count - 1].line == line)
		return 0;
	l->pairs[l->count].position = position;
	l->pairs[l->count].line = line;
	l->count++;
	return 0;
}

int lines__decode_insns(struct lines *l, const struct lines_insns *insns)
{
	uint32_t n = 0, rank, before = 0;
	int err = 0;

	memset(l, 0, sizeof(*l));
	if (!insns->count)
		return 0;
	if (insns->entry_size < sizeof(int32_t) || insns->entry_line > insns->entry_size - sizeof(int32_t))
		return -EINVAL;
	l->pairs = malloc(insns->count * sizeof(*l->pairs));
	if (!l->pairs)
		return -ENOMEM;
	if (insns->count == 1) {
		err = add_entry(l, insns, &n, 0);
		goto out;
	}
	for (uint32_t i = 0; i < insns->code_size && i < LINES_IMMEDIATE && !err; i++) {
		rank = word_at(insns->index + i / 9 * 8) >> (i % 9 * 7) & 127;
		if (rank != before)
			err = rank == before + 1 ? add_entry(l, insns, &n, i) : -EINVAL;
		before = rank;
	}
	for (uint64_t i = LINES_IMMEDIATE; i < insns->code_size && !err; i += 64) {
		uint64_t k = i - LINES_IMMEDIATE;
		uint64_t bits = word_at(insns->index + LINES_IMMEDIATE / 9 * 8 + k / LINES_BLOCK_POSITIONS * LINES_BLOCK_SIZE +
					BLOCK_BITS + k % LINES_BLOCK_POSITIONS / 64 * 8);

		for (; bits && !err; bits &= bits - 1)
			err = add_entry(l, insns, &n, (uint32_t)(i + (uint32_t)__builtin_ctzll(bits)));
	}
	if (!err && n != insns->count)
		err = -EINVAL;
out:
	if (err)
		lines__free(l);
	else
		shrink(l);
	return err;
}

void lines__free(struct lines *l)
{
	if (!l)
		return;
	free(l->pairs);
	memset(l, 0, sizeof(*l));
}

int32_t lines__at(const struct lines *l, uint32_t position)
{
	size_t until = SORTED__UNTIL(l->pairs, l->count, position, position);

	return until ? l->pairs[until - 1].line : 0;
}

int64_t lines__position(uint64_t pc, uint64_t code, uint32_t code_size)
{
	uint64_t i;

	if (!code || pc < code || pc - code > 8ull * code_size)
		return -1;
	i = (pc - code) / 8;
	return (int64_t)(i > 0 ? i - 1 : 0);
}
