/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Room for the mappings of processes in the memory that the kernel reads: blocks of 2^n mappings.  The kernel can be in the
 * middle of a walk, so what is given back is used again only after a while.
 */
#ifndef EXTPROF_NATIVE_BLOCKS_H
#define EXTPROF_NATIVE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "source/unwind_maps.h"

/* 2^0 to 2^(UNWIND_MAPPING_STEPS - 1). */
#define NATIVE_BLOCK_SIZES UNWIND_MAPPING_STEPS

/* Zero-initialise. */
struct native_blocks {
	uint32_t given;		/* mappings that have ever been given out */
	struct native_block_list {
		uint32_t *list;
		uint32_t count;
		size_t room;
	} free[NATIVE_BLOCK_SIZES];
	/* Given back, in the order of the time. */
	struct native_late_block {
		uint32_t class, first;
		uint64_t at;
	} *late;
	uint32_t late_begin, late_count;
	size_t late_room;
	uint32_t *users;	/* by first mapping: processes that have the block */
	struct budget budget;	/* mappings of blocks that cannot be given out */
	uint32_t *owners;	/* by first mapping: the user who took it */
};

struct native_block {
	uint32_t class;		/* it has 2^class mappings */
	uint32_t first;
	bool is;		/* false: there is no block */
};

void native_blocks__free(struct native_blocks *b);
/* A block for so many mappings, for that user.  False: there is no room. */
bool native_blocks__take(struct native_blocks *b, uint32_t count, uint32_t user, uint64_t now, struct native_block *block);
/* One user more, who gives it back too. */
void native_blocks__share(struct native_blocks *b, const struct native_block *block);
void native_blocks__give_back(struct native_blocks *b, struct native_block *block, uint64_t now);

#endif /* EXTPROF_NATIVE_BLOCKS_H */
