/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds what each thread of a snapshot does, and what it waits for. */
#ifndef EXTPROF_DUMP_THREADS_H
#define EXTPROF_DUMP_THREADS_H

#include <sys/types.h>

#include "base/map64.h"
#include "extprof.h"
#include "library/dump_parts.h"
#include "remote/snapshot.h"

/* Zero-initialise, then set `parts` and `memory`. */
struct dump_threads {
	struct dump_parts *parts;	/* for texts */
	const struct memory *memory;	/* of the process */
	struct map64 slots, holders;	/* slot, ractor -> number of the thread, of the one that has its GVL */
};

/* Note a number under a key that has none yet.  0 or -ENOMEM. */
static inline int map64__note(struct map64 *map, uint64_t key, uint32_t number)
{
	return map64__get(map, key) == MAP64_NONE ? map64__add(map, key, number) : 0;
}

/*
 * Fill all but the fibers and `ran` of s->thread_count zeroed structures.  `pid`: of the process, whose files are looked at;
 * 0: there is none.  0 or -ENOMEM.
 */
int dump_threads__build(struct dump_threads *d, pid_t pid, const struct snapshot *s,
			struct extprof_dump_thread *const *threads);
void dump_threads__free(struct dump_threads *d);

#endif /* EXTPROF_DUMP_THREADS_H */
