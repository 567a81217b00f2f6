/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/block_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *bytes_of(struct block_cache *c, uint32_t i)
{
	return c->bytes + (size_t)i * BLOCK_CACHE_BYTES;
}

/* The place of the copy that has the address, or of the one that is the oldest. */
static uint32_t place_of(const struct block_cache *c, const struct memory *of, uint64_t address)
{
	uint32_t oldest = 0;

	for (uint32_t i = 0; i < BLOCK_CACHE_BLOCKS; i++) {
		if (c->blocks[i].of == of && address - c->blocks[i].start < c->blocks[i].length)
			return i;
		if (c->blocks[i].stamp < c->blocks[oldest].stamp)
			oldest = i;
	}
	return oldest;
}

/* At the end of a mapping, which may grow, a page is what can be read. */
static int copy(struct block_cache *c, uint32_t i, const struct memory *of, uint64_t address)
{
	static const uint32_t lengths[] = { BLOCK_CACHE_BYTES, BLOCK_CACHE_PAGE };
	int err = -EFAULT;

	for (uint32_t n = 0; n < 2 && err == -EFAULT; n++) {
		c->blocks[i].of = of;
		c->blocks[i].start = address / lengths[n] * lengths[n];
		c->blocks[i].length = lengths[n];
		c->blocks[i].stamp = ++c->stamp;
		err = memory__read(of, c->blocks[i].start, bytes_of(c, i), lengths[n]);
	}
	if (err)
		c->blocks[i].of = NULL;
	return err;
}

int block_cache__read(struct block_cache *c, const struct memory *of, uint64_t address, void *to, size_t length,
		      uint64_t after, uint64_t *stamp)
{
	uint64_t oldest = UINT64_MAX;
	int err;

	if (!c->bytes && !(c->bytes = malloc((size_t)BLOCK_CACHE_BLOCKS * BLOCK_CACHE_BYTES)))
		return -ENOMEM;
	/* A larger read would push out all other blocks. */
	if (length > BLOCK_CACHE_BYTES) {
		*stamp = ++c->stamp;
		return memory__read(of, address, to, length);
	}
	while (length) {
		uint32_t i = place_of(c, of, address);
		uint64_t at, part;

		at = address - c->blocks[i].start;
		if (c->blocks[i].of != of || at >= c->blocks[i].length || c->blocks[i].stamp <= after) {
			err = copy(c, i, of, address);
			if (err)
				return err;
			at = address - c->blocks[i].start;
		}
		part = c->blocks[i].length - at;
		if (part > length)
			part = length;
		memcpy(to, bytes_of(c, i) + at, part);
		if (c->blocks[i].stamp < oldest)
			oldest = c->blocks[i].stamp;
		address += part;
		to = (uint8_t *)to + part;
		length -= part;
	}
	*stamp = oldest;
	return 0;
}

void block_cache__forget(struct block_cache *c, const struct memory *of)
{
	for (uint32_t i = 0; i < BLOCK_CACHE_BLOCKS; i++)
		if (c->blocks[i].of == of)
			memset(&c->blocks[i], 0, sizeof(c->blocks[i]));
}

void block_cache__free(struct block_cache *c)
{
	free(c->bytes);
	memset(c, 0, sizeof(*c));
}
