/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/page_cache.h"

#include <stdlib.h>
#include <string.h>

/* The page of the address, or NULL: it cannot be read as a whole. */
static const uint8_t *page(struct page_cache *c, uint64_t address)
{
	uint64_t number = address / PAGE_CACHE_BYTES;
	uint32_t i = (uint32_t)(number ^ number >> 8) % PAGE_CACHE_PAGES;

	if (!c->pages[i].valid || c->pages[i].address != number) {
		c->pages[i].valid = false;
		if (memory__read(c->under, number * PAGE_CACHE_BYTES, c->bytes[i], PAGE_CACHE_BYTES))
			return NULL;
		c->pages[i].address = number;
		c->pages[i].valid = true;
	}
	return c->bytes[i];
}

static int page_cache__read(const struct memory *m, uint64_t address, void *to, size_t length)
{
	struct page_cache *c = (struct page_cache *)(uintptr_t)m->context;
	uint64_t at = address % PAGE_CACHE_BYTES;
	const uint8_t *bytes;

	/* Larger reads bypass the cache: they would push out all other pages. */
	if (length > PAGE_CACHE_BYTES - at || !(bytes = page(c, address)))
		return memory__read(c->under, address, to, length);
	memcpy(to, bytes + at, length);
	return 0;
}

struct page_cache *page_cache__new(const struct memory *under)
{
	struct page_cache *c = malloc(sizeof(*c));

	if (!c)
		return NULL;
	memset(c->pages, 0, sizeof(c->pages));
	c->memory.read = page_cache__read;
	c->memory.context = c;
	c->under = under;
	return c;
}

void page_cache__use(struct page_cache *c, const struct memory *under)
{
	c->under = under;
	page_cache__forget(c);
}

void page_cache__forget(struct page_cache *c)
{
	for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++)
		c->pages[i].valid = false;
}
