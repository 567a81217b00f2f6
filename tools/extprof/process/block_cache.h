/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies of blocks of memory that is slow to read (process/guarded.h).  The memory changes meanwhile, so a copy is only
 * good for a reader who proves afterwards, without the cache, that what he read was still the same.
 */
#ifndef EXTPROF_BLOCK_CACHE_H
#define EXTPROF_BLOCK_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "process/memory.h"

#define BLOCK_CACHE_BYTES 16384u	/* of one block */
#define BLOCK_CACHE_PAGE 4096u
#define BLOCK_CACHE_BLOCKS 64u		/* of all memories */

struct block_cache {
	struct {
		const struct memory *of;	/* NULL none */
		uint64_t start;		/* address */
		uint64_t length;	/* BLOCK_CACHE_BYTES or BLOCK_CACHE_PAGE */
		uint64_t stamp;		/* number of the read; 0 none */
	} blocks[BLOCK_CACHE_BLOCKS];
	uint8_t *bytes;			/* of all blocks */
	uint64_t stamp;			/* number of the last read that was made */
};

/*
 * Read from copies that were made after the read with the number `after`; 0: from any.  Bytes without such a copy are
 * read now.  *stamp is the number of the oldest read that the bytes come from.  0 or -errno of memory__read().
 */
int block_cache__read(struct block_cache *c, const struct memory *of, uint64_t address, void *to, size_t length,
		      uint64_t after, uint64_t *stamp);

/* The memory is of no use any more. */
void block_cache__forget(struct block_cache *c, const struct memory *of);
void block_cache__free(struct block_cache *c);

#endif /* EXTPROF_BLOCK_CACHE_H */
