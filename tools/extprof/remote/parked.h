/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fibers that are parked: they have yielded, or a scheduler runs others while they wait.  Their thread goes on, and the
 * kernel knows nothing of them.  They are looked at from outside again and again.
 */
#ifndef EXTPROF_PARKED_H
#define EXTPROF_PARKED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map64.h"
#include "remote/event_queue.h"
#include "remote/tables.h"
#include "remote/walker.h"
#include "ruby/layout.h"
#include "wire/sample.h"
#include "wire/states.h"

/* A mark that is the same as long as a fiber waits in one place for one thing.  It is of all of the stack, since two waits of one
 * depth can have the same innermost frame. */
struct parked_mark {
	uint64_t cfp, frames;		/* frames: a hash of their memory */
	uint64_t label, label_marks;
};

struct parked_fiber {
	uint64_t serial;		/* of its EC */
	uint32_t pass;			/* number of the last pass that found it parked */
	uint64_t seen;			/* it was looked at then; CLOCK_MONOTONIC, ns */
	uint64_t ns;			/* that it is parked there, and that no sample stands for */
	struct parked_mark mark;
	struct sample_event *stack;	/* NULL: `lost` says why */
	uint8_t lost;
};

/* The parked fibers of one program of one process. */
struct parked {
	uint32_t process, vm;		/* their numbers, for samples */
	const struct layout *layout;	/* refreshed by the caller */
	const struct memory *memory;
	struct walker *walker;
	struct event_queue *queue;	/* where samples and accounts go */
	struct source_counters *counters;
	uint64_t looked_at;		/* CLOCK_MONOTONIC, ns: what was before does not count; the caller sets it to when the
					   recording began, or went on */
	/* The rest is zero at first. */
	/*
	 * A pass goes once over all ECs.  That is one look, if there is time for it; else the next look goes on where this one
	 * has ended.
	 */
	uint32_t pass;			/* its number */
	uint32_t next;			/* the EC, by its number in `tables`, where it goes on */
	uint64_t began, before, until;	/* when it began, and the pass before began and ended; 0: there was none */
	uint64_t frames_max;		/* bytes of the frames of a fiber that are read in this pass */
	struct tables tables;
	struct map64 threads;		/* serial -> number in tables.threads */
	struct map64 running;		/* addresses of ECs that are not parked */
	struct parked_fiber *list;
	uint32_t count;
	size_t room;
	struct map64 map;		/* serial -> number in list */
	struct thread_account *accounts;	/* of the parked fibers of a thread, together */
	uint32_t account_count;
	size_t account_room;
	struct map64 account_map;	/* serial of the thread -> number */
};

/* Is it the EC of a fiber that a scheduler may park while others run? */
bool parked__can_park(const struct rb_debug_ext_ec *e);
/* 0, also if there was no time for all of them; or -errno. */
int parked__look(struct parked *p, uint64_t now);
/* Send what there is. */
void parked__flush(struct parked *p);
void parked__free(struct parked *p);

#endif /* EXTPROF_PARKED_H */
