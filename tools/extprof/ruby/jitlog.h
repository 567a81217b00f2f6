/* SPDX-License-Identifier: BSD-2-Clause */
/* From a native instruction pointer in JIT code to an instruction of Ruby's. */
#ifndef EXTPROF_JITLOG_H
#define EXTPROF_JITLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/budget.h"
#include "ruby/layout.h"
#include "process/memory.h"

/* Entries kept; with more, leaves are approximate (64 MiB here). */
#define JITLOG_ENTRIES_MAX (4u << 20)
/* Bytes of a log that are read in one tick: half a million entries.  The rest is read
 * later; until then leaves in that code have approximate lines. */
#define JITLOG_TICK_BYTES (8ll << 20)
#define JITLOG_READ_BYTES 512	/* what one read costs besides */

struct jitlog {
	struct rb_debug_ext_jit_entry *entries;	/* the first `sorted` by offset */
	uint32_t count, sorted;
	size_t room;
	uint32_t read;		/* entries of the target's log that we have */
	uint32_t generation;
	uint64_t valid_since;	/* samples before are of an older generation */
	int64_t left;		/* bytes that may be read until jitlog__renew() */
	struct budget_share *share;	/* NULL: no other bound than JITLOG_ENTRIES_MAX */
	uint64_t checked;	/* when the generation was last seen unchanged */
};

/* `layout` has just been read. */
void jitlog__init(struct jitlog *j, const struct layout *layout, struct budget_share *share);
void jitlog__free(struct jitlog *j);

/* To be called at each tick: renews the budget. */
void jitlog__renew(struct jitlog *j);

/*
 * The log entry for an ip at a time in the past (CLOCK_MONOTONIC ns).  False
 * when nothing certain is known: the log is not published, has no such entry, or
 * the code may have been thrown away since.  `layout` is refreshed as needed.
 */
bool jitlog__find(struct jitlog *j, struct layout *layout, const struct memory *m,
		  uint64_t ip, uint64_t time, struct rb_debug_ext_jit_entry *entry);

#endif /* EXTPROF_JITLOG_H */
