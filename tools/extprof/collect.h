/* SPDX-License-Identifier: BSD-2-Clause */
/* From samples as the kernel sends them to stacks of named frames. */
#ifndef EXTPROF_COLLECT_H
#define EXTPROF_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "accounting.h"
#include "profile.h"
#include "record.h"
#include "subject.h"

/* Different numbers of frames left out that are told apart. */
#define COLLECT_LEFT_OUT_MAX 64

struct collect {
	struct profile *profile;
	struct subject **subjects;	/* by sample_event::target - 1 */
	uint32_t subject_count;
	bool by_thread;			/* the thread is the outermost frame */

	struct received received;	/* every sample that arrived */

	/* Frames of samples that are whole nevertheless. */
	uint64_t frames;
	uint64_t unknown_frames;	/* id 0 where code should be */
	/* The report counts the frames whose symbol has no name; these have none. */
	uint64_t unreadable_names;	/* ids that none can have */
	uint64_t crowded_names;		/* more than SYMBOLS_MAX */
	uint64_t jit_leaves, jit_exact;	/* leaves that may be JIT code, exact lines of them */
	uint64_t gc_samples;
	uint64_t unknown_threads;	/* samples with Ruby frames and no thread, if by_thread */

	/* How many frames were left out, each number once: see truncated_frame(). */
	uint32_t left_out[COLLECT_LEFT_OUT_MAX];
	uint32_t left_out_count;

	uint64_t stack[SAMPLE_FRAMES_MAX + 8];
};

/* Take one event from the ring buffer. */
void collect__event(struct collect *c, const void *data, size_t size);

/* Count an event that there was no time to look at. */
void collect__skip(struct collect *c);

/* Give the frames of threads their last names: once, before the report.  0 or
 * -ENOMEM. */
int collect__name_threads(struct collect *c);

#endif /* EXTPROF_COLLECT_H */
