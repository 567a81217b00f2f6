/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is a process stuck?  It is if threads of it have work and none of them has run, or begun another wait, for a time.  This
 * decides by a dump and by what the scheduler counts, and remembers what was told.  It reads and writes nothing.
 */
#ifndef EXTPROF_STUCK_H
#define EXTPROF_STUCK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/stillness.h"
#include "extprof.h"

/* Threads that a finding names. */
#define STUCK_NAMED_MAX 2u
/* Dumps of one place of a process.  What is stuck there once more is told without a dump, so that others stay. */
#define STUCK_DUMPS_MAX 2u
/* Places of a process that are remembered: the newest. */
#define STUCK_PLACES_MAX 32u

struct stuck_finding {
	const struct extprof_dump_result *dump;
	const struct extprof_dump_thread *threads[STUCK_NAMED_MAX];	/* with work, rather such as do not wait for the GVL alone */
	unsigned int count;		/* of all that have */
	bool wants_dump;		/* there are less than STUCK_DUMPS_MAX of a place of it */
};

/* 0 or a negative errno: it could not be told. */
typedef int (*stuck_tell_fn)(void *context, const struct stuck_finding *finding);

enum stuck_verdict {
	STUCK_RESTS,		/* nobody stands still with work that was not told: it is looked at again when a thread has run */
	STUCK_LATER,		/* not yet: still_process::again says when it is looked at again */
	STUCK_TOLD,
	STUCK_FAILED,		/* it could not be dumped or told: it is tried again after `length` */
	STUCK_FAILED_AGAIN	/* as the time before */
};

/*
 * Judge a process that is due.  r: the dump; NULL: there is none.  now: when the scheduler's counts were read, ns; length:
 * of the trigger, ns.  If it is stuck, and was not told to be, tell() is called.  Only if it returns 0 it counts as told.
 */
enum stuck_verdict stuck__judge(struct still_process *p, const struct extprof_dump_result *r, uint64_t now, uint64_t length,
				stuck_tell_fn tell, void *context);

/* NULL is fine. */
void stuck_history__free(struct stuck_history *h);

#endif /* EXTPROF_STUCK_H */
