/* SPDX-License-Identifier: BSD-2-Clause */
/* How full the heap of a process is: "The heap" in ruby/debug_external.h. */
#ifndef EXTPROF_HEAP_SIZE_H
#define EXTPROF_HEAP_SIZE_H

#include <stdint.h>

struct layout;
struct memory;

/* Sums of all pools. */
struct heap_size {
	uint64_t live;		/* slots of objects that live, or have died and were not swept yet */
	uint64_t ended;		/* slots of objects that wait for their finalizers */
	uint64_t slots;		/* all */
	uint64_t allocated;	/* objects that were made in them, ever; in a child of fork from its parent's number on */
	uint64_t pages, page_bytes;	/* those without slots too; bytes of all of them */
	uint64_t malloc_bytes;	/* of malloc since the last collection, less what was freed */
	uint64_t malloc_limit;	/* and when a collection begins */
};

/*
 * Read it.  While the process runs it may be off by what is allocated at this moment.  0; -ENOTSUP: its collector, or
 * its ruby, does not tell, or it has ended; -EAGAIN: it is about to end; -EBADMSG: what is there is no heap; -errno of the
 * read.  After an error *h is all 0.  It checks what the section says of the heap: see "The heap".
 */
int heap_size__read(struct heap_size *h, const struct memory *m, const struct layout *l);

#endif /* EXTPROF_HEAP_SIZE_H */
