/* SPDX-License-Identifier: BSD-2-Clause */
/* The pauses for garbage collection of a recording: how many, how long, in which phases, why, in which threads. */
#ifndef EXTPROF_GC_PAUSES_H
#define EXTPROF_GC_PAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/histogram.h"
#include "wire/sample.h"

/* Threads that have a row each. */
#define GC_THREADS_MAX 256u

enum gc_part {
	GC_PART_MARK,
	GC_PART_SWEEP,
	GC_PART_COMPACT,
	GC_PART_OTHER,		/* to enter, to leave, and between the phases */
	GC_PARTS
};

/* Why a collection began. */
enum gc_reason {
	GC_REASON_UNKNOWN,
	GC_REASON_NEWOBJ,
	GC_REASON_MALLOC,
	GC_REASON_METHOD,
	GC_REASON_CAPI,
	GC_REASON_STRESS,
	GC_REASON_NOTHING,	/* Ruby entered the collector, as it does before it allocates pages, and there was nothing to do */
	GC_REASONS
};

struct gc_pause_sum {
	uint64_t count, total, longest;	/* times in ns */
};

struct gc_pause_thread {
	uint64_t frame;		/* of the thread, see resolve.c; 0: of threads without a row of their own */
	char *name;		/* clean; NULL: not known */
	struct gc_pause_sum sum;
};

/* Zero-initialise. */
struct gc_pauses {
	struct gc_pause_sum all;
	uint64_t waited;	/* for a CPU, of the total */
	struct gc_pause_sum parts[GC_PARTS];	/* count: pauses that have such a part */
	/* By whether all objects were marked, and by reason.  Those of a ruby that does not tell are unknown. */
	struct gc_pause_sum reasons[2][GC_REASONS];
	uint64_t told;		/* pauses of rubies that tell the reason */
	struct histogram lengths;
	struct gc_pause_thread *threads;
	uint32_t thread_count;
	size_t thread_room;
};

/* Add the sample of a pause.  `thread`: the frame of its thread, 0 none.  0 or -ENOMEM: nothing was added. */
int gc_pauses__add(struct gc_pauses *p, const struct sample_event *e, uint64_t thread);

/* Add all of `from`; the frame of a thread is larger by `frames` here.  0 or -ENOMEM: some of it was added. */
int gc_pauses__merge(struct gc_pauses *p, const struct gc_pauses *from, uint64_t frames);

/* The name of the thread with that frame, clean.  0 or -ENOMEM. */
int gc_pauses__set_name(struct gc_pauses *p, uint64_t thread, const char *name);

/*
 * The length that `percent` % of the pauses do not exceed, ns: at most 1.6 % too large, and no larger than the longest
 * one.  0: there are none.
 */
uint64_t gc_pauses__percentile(const struct gc_pauses *p, double percent);

/* The reason in rb_debug_ext_section::gc_cause. */
enum gc_reason gc_reason__of(uint32_t cause);

/* A pause as its event has it.  Times in ns. */
struct gc_pause_parts {
	uint64_t length, waited;	/* waited: for a CPU, of the length */
	uint64_t parts[GC_PARTS];	/* their sum is the length, unless the event is damaged */
	enum gc_reason reason;
	bool told;		/* the ruby tells the reason */
	bool major;		/* the collection marked all objects */
};

struct gc_pause_parts gc_pause_parts__of(const struct sample_event *e);

const char *gc_part__name(enum gc_part part);
const char *gc_reason__name(enum gc_reason reason);

/* A copy that shares nothing with it.  0 or -ENOMEM: *to is empty. */
int gc_pauses__copy(struct gc_pauses *to, const struct gc_pauses *p);
void gc_pauses__free(struct gc_pauses *p);

#endif /* EXTPROF_GC_PAUSES_H */
