/* SPDX-License-Identifier: BSD-2-Clause */
/* Native functions in samples, as frames, and where they belong among those of Ruby. */
#ifndef EXTPROF_NATIVE_FRAMES_H
#define EXTPROF_NATIVE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map64.h"
#include "frames/frame_table.h"
#include "native/native.h"
#include "ruby/vm.h"
#include "wire/sample.h"

/* Different addresses that have names. */
#define NATIVE_ADDRESSES_MAX (512u << 10)

/* Zero-initialise. */
struct native_frames {
	struct native *native;
	bool vm;	/* functions of the VM are frames of their own, too */
	/* The functions whose numbers are the codes of CODE_NATIVE. */
	struct native_address {
		uint32_t file;
		uint64_t address;	/* in the file */
		bool named;		/* its name is the last one */
	} *list;
	uint32_t count;
	size_t room;
	struct map64 numbers;	/* by file and address */
	/* Samples with Ruby frames whose native ones are between them, or are only at the end. */
	uint64_t joined, apart;
	uint64_t ends[UNWIND_ENDS];	/* samples, by why the native stack ended */

	/* Data of the sample that is being resolved. */
	uint32_t shown[SAMPLE_FRAMES_MAX];	/* by Ruby frame: the number of its frame; 0: it is not shown */
	struct native_place place[NATIVE_FRAMES_MAX];
	/* Frames for what the VM itself is doing: compiling, collecting.  They stand where it was called. */
	uint32_t doing[2], doing_count;
};

void native_frames__free(struct native_frames *f);
void native_frames__restart(struct native_frames *f);

/*
 * Append the frames of a sample to a stack, outermost first: those of Ruby that f->shown has, f->doing, and those of native
 * code.  At most the sum of these, and one mark for each native one.  `frames`: the sample's, innermost first; there may be none.
 * 0 or -ENOMEM.
 */
int native_frames__add(struct native_frames *f, struct frame_table *t, struct vm *vm, const struct sample_event *e,
		       const struct sample_frame *frames, uint32_t *stack, uint32_t *count);

/* Does the frame stand for native functions that a stack does not have? */
bool native_frames__is_mark(const struct frame *f);

/* Where debug information of the module of a frame is looked for; false: it is no native frame of a file. */
bool native_frames__module(const struct native_frames *f, const struct frame_table *t, uint32_t number, struct debug_module *m);

/* Give one frame, or all, of native code their names.  0 or -ENOMEM. */
int native_frames__take(struct native_frames *f, struct frame_table *t, uint32_t number);
int native_frames__take_all(struct native_frames *f, struct frame_table *t);

#endif /* EXTPROF_NATIVE_FRAMES_H */
