/* SPDX-License-Identifier: BSD-2-Clause */
/* The walker of wire/walk.h over the memory of another process or of a core file. */
#ifndef EXTPROF_WALKER_H
#define EXTPROF_WALKER_H

#include <stdbool.h>
#include <stdint.h>

#include "process/memory.h"
#include "remote/task.h"
#include "source/unwind_maps.h"
#include "wire/sample.h"

/* One copy of a stack.  About 270 KiB. */
struct walker;

/* NULL: out of memory.  NULL is accepted by walker__free(). */
struct walker *walker__new(void);
void walker__free(struct walker *w);

/*
 * Copy the stack of the execution context at `ec`.  `tid` is its native thread in the process's own
 * namespace, 0 none.  The caller owns the memory and the configuration, which layout__config() made.
 * 0 or a loss_reason.  The result stays valid until the next call.
 *
 * Nothing here stops the thread: whether the copy is of one moment is for the caller to prove.
 */
int walker__walk(struct walker *w, const struct memory *memory, const struct target_config *config,
		 uint64_t ec, uint32_t tid);

/* The same of a thread that is known and waits, for its frames alone: the caller has just read the section and the thread's slot. */
int walker__walk_waiting(struct walker *w, const struct memory *memory, const struct target_config *config, uint64_t ec,
			 uint64_t serial);

/* The kinds of frames are wanted, too: native functions are joined by them. */
void walker__want_kinds(struct walker *w, bool want);

/*
 * Follow the native stack from the registers of the task, which runs the EC of the last copy, and put it behind the
 * frames of that copy as a struct sample_machine.  Reads of memory are bounded in number, and their time to
 * WALKER_UNWIND_TIME.
 */
#define WALKER_UNWIND_TIME 100000000ull
void walker__unwind(struct walker *w, const struct memory *memory, const struct target_config *config,
		    const struct task *task, const struct unwind_view *view);
/* The same, but it is not followed: for that reason, enum unwind_end. */
void walker__not_unwound(struct walker *w, const struct unwind_view *view, uint8_t why);
/* Begin the copy of a thread that runs no Ruby code: it has no frames.  walker__unwind() follows its native stack. */
void walker__bare(struct walker *w, uint32_t tid);
/* Bytes behind the frames of the last copy; 0: it has no native functions. */
uint32_t walker__machine_size(const struct walker *w);

/* The event of the last copy, with event.nr_frames frames behind it.  The caller may set its ip, time and ids. */
struct sample_event *walker__event(struct walker *w);
const struct sample_frame *walker__frames(const struct walker *w);

/* Where the innermost frame of the last copy was; 0: the context has no frames. */
uint64_t walker__cfp(const struct walker *w);

#endif /* EXTPROF_WALKER_H */
