/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces of a memory that is gone, as they were before. */
#ifndef EXTPROF_REMAINS_H
#define EXTPROF_REMAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REMAINS_PIECES_MAX 65536u		/* of one memory */
#define REMAINS_BYTES_MAX (4u << 20)
#define REMAINS_ALL_BYTES_MAX (64u << 20)	/* of all that have the same sum */

struct remains {
	struct remains_piece *list;	/* by address, once it is sorted */
	size_t count, room;
	uint64_t bytes;
	uint64_t *sum;		/* of these bytes and of others' */
	bool sorted;
};

/* `length` bytes from that address, which are copied and count in *sum.  Bytes above the bounds, or without memory for
 * them, are left out.  *sum must live as long. */
void remains__add(struct remains *r, uint64_t *sum, uint64_t address, const void *bytes, uint32_t length);
/* 0, or -ESRCH: not all of it is there. */
int remains__read(const struct remains *r, uint64_t address, void *to, size_t length);
/* *r is empty afterwards. */
void remains__free(struct remains *r);

#endif /* EXTPROF_REMAINS_H */
