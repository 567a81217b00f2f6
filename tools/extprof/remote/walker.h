/* SPDX-License-Identifier: BSD-2-Clause */
/* The walker of wire/walk.h over the memory of another process or of a core file. */
#ifndef EXTPROF_WALKER_H
#define EXTPROF_WALKER_H

#include <stdint.h>

#include "process/memory.h"
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

/* The event of the last copy, with event.nr_frames frames behind it.  The caller may set its ip, time and ids. */
struct sample_event *walker__event(struct walker *w);
const struct sample_frame *walker__frames(const struct walker *w);

/* Where the innermost frame of the last copy was; 0: the context has no frames. */
uint64_t walker__cfp(const struct walker *w);

#endif /* EXTPROF_WALKER_H */
