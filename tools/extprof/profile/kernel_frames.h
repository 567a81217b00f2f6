/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of the kernel in samples, as frames. */
#ifndef EXTPROF_KERNEL_FRAMES_H
#define EXTPROF_KERNEL_FRAMES_H

#include <stdint.h>

#include "base/map64.h"
#include "frames/frame_table.h"
#include "native/kernel_symbols.h"
#include "wire/sample.h"

/* Zero-initialise. */
struct kernel_frames {
	struct kernel_symbols symbols;
	int err;		/* 0, or why there are no symbols: negative errno */
	struct map64 numbers;	/* of frames, by address; see kernel_frames.c */
	uint32_t unnamed_frame;	/* its number in the frame table; 0: it has none yet */
	uint64_t unnamed;	/* samples with a function whose name is not known */
};

/* Read the symbols of this kernel.  Without them all functions are one frame, [kernel]. */
void kernel_frames__load(struct kernel_frames *k);
void kernel_frames__free(struct kernel_frames *k);
/* The table of frames is empty again. */
void kernel_frames__restart(struct kernel_frames *k);

/*
 * Append the frames to a stack, outermost first, at most KERNEL_FRAMES_MAX + 1.  Those by which the kernel runs the
 * program that took the sample are left out: the sampled thread has nothing to do with them.  0 or -ENOMEM.
 */
int kernel_frames__add(struct kernel_frames *k, struct frame_table *t, const struct sample_machine *m, uint32_t *stack,
		       uint32_t *count);

/* Does the frame stand for functions of the kernel that a stack does not have? */
bool kernel_frames__is_mark(const struct frame *f);

#endif /* EXTPROF_KERNEL_FRAMES_H */
