/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of one result of a dump, which is freed as a whole. */
#ifndef EXTPROF_DUMP_PARTS_H
#define EXTPROF_DUMP_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Zero-initialise. */
struct dump_parts {
	void **list;
	uint32_t count;
	size_t room;
};

/* Zeroed memory.  NULL: out of memory. */
void *dump_parts__new(struct dump_parts *p, size_t count, size_t size);
/* A text.  It takes *t.  NULL: out of memory. */
const char *dump_parts__text(struct dump_parts *p, struct text *t);

/* Free all parts.  *p can be used again. */
void dump_parts__clear(struct dump_parts *p);
void dump_parts__free(struct dump_parts *p);

#endif /* EXTPROF_DUMP_PARTS_H */
