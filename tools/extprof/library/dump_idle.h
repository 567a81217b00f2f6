/* SPDX-License-Identifier: BSD-2-Clause */
/* Which threads of a dump have nothing to do, by the rule of profile/idle.h. */
#ifndef EXTPROF_DUMP_IDLE_H
#define EXTPROF_DUMP_IDLE_H

#include "extprof.h"
#include "frames/frame_table.h"

/*
 * Set extprof_dump_thread::idle of all threads.  stacks[i]: numbers of the frames of what thread i runs, counts[i] of them,
 * outermost first, whose names are known.  0 or -ENOMEM.
 */
int dump_idle__find(struct frame_table *frames, struct extprof_dump_thread *const *threads, size_t count,
		    const uint32_t *const *stacks, const uint32_t *counts);

#endif /* EXTPROF_DUMP_IDLE_H */
