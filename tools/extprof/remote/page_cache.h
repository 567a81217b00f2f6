/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads of memory that does not change: what is near to what has been read costs no call of the kernel. */
#ifndef EXTPROF_PAGE_CACHE_H
#define EXTPROF_PAGE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "process/memory.h"

#define PAGE_CACHE_PAGES 256u
#define PAGE_CACHE_BYTES 4096u	/* of one page; a part of the machine's pages, or one of them */

struct page_cache {
	struct memory memory;		/* reads through the cache */
	const struct memory *under;	/* of the caller, who keeps it for as long */
	struct {
		uint64_t address;
		bool valid;
	} pages[PAGE_CACHE_PAGES];
	uint8_t bytes[PAGE_CACHE_PAGES][PAGE_CACHE_BYTES];
};

/* About 1 MiB.  NULL: out of memory.  The caller frees it with free(). */
struct page_cache *page_cache__new(const struct memory *under);

/* From now on it is read through to this one. */
void page_cache__use(struct page_cache *c, const struct memory *under);

/* The memory may have changed since. */
void page_cache__forget(struct page_cache *c);

#endif /* EXTPROF_PAGE_CACHE_H */
