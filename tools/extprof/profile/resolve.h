/* SPDX-License-Identifier: BSD-2-Clause */
/* From samples as the kernel sends them to stacks of named frames. */
#ifndef EXTPROF_RESOLVE_H
#define EXTPROF_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/accounting.h"
#include "profile/tree.h"
#include "wire/sample.h"
#include "ruby/vm.h"

/* Different numbers of frames left out that are told apart. */
#define RESOLVE_LEFT_OUT_MAX 64

struct resolver {
	struct tree *tree;
	struct vm **vms;	/* by sample_event::vm - 1 */
	uint32_t vm_count;
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
	uint32_t left_out[RESOLVE_LEFT_OUT_MAX];
	uint32_t left_out_count;

	uint64_t stack[SAMPLE_FRAMES_MAX + 8];
};

/* Take one event from the ring buffer. */
void resolve__event(struct resolver *c, const void *data, size_t size);

/* Count an event that there was no time to look at. */
void resolve__skip(struct resolver *c);

/* Give the frames of threads their last names: once, before the report.  0 or
 * -ENOMEM. */
int resolve__name_threads(struct resolver *c);

#endif /* EXTPROF_RESOLVE_H */
