/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of a snapshot that is being taken, for the files that take it. */
#ifndef EXTPROF_SNAPSHOT_PARTS_H
#define EXTPROF_SNAPSHOT_PARTS_H

#include "remote/own_cpu.h"
#include "remote/page_cache.h"
#include "remote/snapshot.h"
#include "remote/stop.h"

struct reading {
	struct snapshot *s;
	const struct snapshot_source *source;
	struct walker *walker;
	struct target_config config;
	struct own_cpu own;
	struct page_cache *cache;	/* for native functions; NULL: they are not wanted */
	enum { MAPPINGS_UNKNOWN, MAPPINGS_SAME, MAPPINGS_CHANGED } mappings;
	struct stop_later later;
};

/* The part of a thread that is read now. */
struct part {
	struct snapshot_thread *thread;
	struct snapshot_ec *ecs;
	uint32_t count;
};

/* An error after which nothing more can be read. */
bool reading__is_fatal(int err);
/* Which one of the ECs is the thread's own now?  0 or -errno. */
int reading__find_current(struct reading *r, struct part *p);
/* Read the slot again.  -ENOENT: the thread has ended. */
int reading__look_at_slot(struct reading *r, struct snapshot_thread *thread);
/* Copy the stacks once, with native functions if the registers are known.  0 or -errno. */
int reading__copy(struct reading *r, struct part *p);
void part__set_proof(struct part *p, enum snapshot_proof proof);

/* Follow the native stack of the current EC whose Ruby frames the walker has, in a thread that does not run. */
void reading__unwind(struct reading *r, const struct snapshot_thread *thread, struct snapshot_ec *ec, const struct memory *memory);
/* A try begins: what was against native functions in the one before may not be any more. */
void part__judge_anew(struct part *p);
/*
 * If native functions are wanted, and need registers that only a stopped thread has: stop it and read the part.  `read`: it has
 * been read without them.  1: it has been read now; 0: it has not, and what was read before is kept; or -errno.
 */
int reading__stop_for_native(struct reading *r, struct part *p, bool read);
/* The snapshot is over: why does the current stack have no native functions, if it has none?  `mapped`: mappings are known. */
void snapshot_ec__settle_native(const struct snapshot_thread *thread, struct snapshot_ec *ec, bool mapped);

#endif /* EXTPROF_SNAPSHOT_PARTS_H */
