/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby/heap_size.h"

#include <errno.h>
#include <string.h>

#include "ruby/layout.h"

/* Bytes of all pools: Ruby 3.4 has five of 144 bytes. */
#define POOLS_SIZE_MAX 8192u
#define PAGE_SIZE_MAX (1u << 24)
/* More of anything than there can be: of slots of 8 bytes in 128 TiB. */
#define COUNT_MAX (1ull << 39)
/* The same, of bytes: sums of all processes stay numbers. */
#define BYTES_MAX (1ull << 48)

static bool is_inside(uint16_t offset, size_t size, const struct rb_debug_ext_heap *at)
{
	return offset + size <= at->pool_size && offset % size == 0;
}

static bool is_sound(const struct rb_debug_ext_heap *at)
{
	return at->pool_count && at->pool_size && (uint32_t)at->pool_count * at->pool_size <= POOLS_SIZE_MAX && at->pools % 8 == 0 &&
	       at->pool_size % 8 == 0 && at->page_size && at->page_size <= PAGE_SIZE_MAX && is_inside(at->slot_size, 2, at) &&
	       is_inside(at->slots, 8, at) && is_inside(at->pages, 8, at) && is_inside(at->allocated, 8, at) &&
	       is_inside(at->freed, 8, at) && is_inside(at->ended, 8, at);
}

static uint64_t word_at(const char *pool, uint16_t offset)
{
	uint64_t word;

	memcpy(&word, pool + offset, sizeof(word));
	return word;
}

static int add_pool(struct heap_size *h, const char *pool, const struct rb_debug_ext_heap *at, int64_t *live)
{
	uint64_t slots = word_at(pool, at->slots), pages = word_at(pool, at->pages), ended = word_at(pool, at->ended);
	/* Objects that were made or freed between two loads: some few. */
	int64_t in_use = (int64_t)(word_at(pool, at->allocated) - word_at(pool, at->freed) - ended);

	if (slots > COUNT_MAX || pages > COUNT_MAX || ended > COUNT_MAX || in_use > (int64_t)COUNT_MAX || in_use < -(int64_t)COUNT_MAX)
		return -EBADMSG;
	*live += in_use;
	h->ended += ended;
	h->slots += slots;
	h->allocated += word_at(pool, at->allocated);
	h->pages += pages;
	return 0;
}

static int read_counters(struct heap_size *h, const struct memory *m, const struct layout *l)
{
	const struct rb_debug_ext_heap *at = &l->section.heap;
	char pools[POOLS_SIZE_MAX];
	uint64_t empty = 0;
	int64_t live = 0;
	int err;

	/* At its end Ruby gives the heap back. */
	if (!at->pools || l->section.state != RB_DEBUG_EXT_READY)
		return -ENOTSUP;
	if (!is_sound(at))
		return -EBADMSG;
	/* One read, for counters of one moment. */
	err = memory__read(m, at->pools, pools, (size_t)at->pool_count * at->pool_size);
	for (uint16_t i = 0; i < at->pool_count && !err; i++)
		err = add_pool(h, pools + (size_t)i * at->pool_size, at, &live);
	if (!err && at->empty_pages)
		err = memory__read(m, at->empty_pages, &empty, sizeof(empty));
	if (!err && at->malloc_bytes)
		err = memory__read(m, at->malloc_bytes, &h->malloc_bytes, sizeof(h->malloc_bytes));
	if (!err && at->malloc_bytes_limit)
		err = memory__read(m, at->malloc_bytes_limit, &h->malloc_limit, sizeof(h->malloc_limit));
	if (err)
		return err;
	if (empty > COUNT_MAX || h->malloc_bytes > BYTES_MAX || h->malloc_limit > BYTES_MAX)
		return -EBADMSG;
	h->pages += empty;
	/* Nobody has a heap without slots, which are in pages, but who is about to end. */
	if (!h->slots || !h->pages)
		return -EAGAIN;
	h->live = live > 0 ? (uint64_t)live : 0;
	if (h->pages > BYTES_MAX / at->page_size)
		return -EBADMSG;
	h->page_bytes = h->pages * at->page_size;
	return 0;
}

int heap_size__read(struct heap_size *h, const struct memory *m, const struct layout *l)
{
	int err;

	memset(h, 0, sizeof(*h));
	err = read_counters(h, m, l);
	if (err)
		memset(h, 0, sizeof(*h));
	return err;
}
