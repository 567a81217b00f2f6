/* SPDX-License-Identifier: BSD-2-Clause */
/* The VM's table of sampled objects that live: "Objects that live" of the contract. */
#ifndef EXTPROF_LIVE_TABLE_H
#define EXTPROF_LIVE_TABLE_H

#include <stdint.h>

#include "process/address_space.h"
#include "ruby/layout.h"

/* Ask again after this long, ns. */
#define LIVE_TABLE_INTERVAL 5000000000ull

/* A copy.  Zero-initialise. */
struct live_table {
	struct rb_debug_ext_live *list;	/* in the order of their serials, each sound */
	uint32_t count;
	uint32_t max;		/* for which there is memory */
	uint32_t clears;	/* how often the VM has emptied it */
};

/* Have the VM keep it for some time; who else asks for a later time gets that.  0 or -errno; -EACCES, -EBADF: its memory cannot be written; -ESTALE: that section is
 * not there any more. */
int live_table__ask(struct address_space *space, const struct layout *l);

/*
 * Read it, again and again until `until` (CLOCK_MONOTONIC, ns) if it changes.  0; -EAGAIN: it changed all the time; -EPROTO: it makes no sense, and nothing of it is taken; -ENOMEM; or why
 * the memory cannot be read, -errno.
 */
int live_table__read(struct live_table *t, const struct memory *m, const struct layout *l, uint64_t until);
void live_table__free(struct live_table *t);

#endif /* EXTPROF_LIVE_TABLE_H */
