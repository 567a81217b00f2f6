/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that figures.c, figures_gvl.c and figures_threads.c have for each other. */
#ifndef EXTPROF_ENGINE_FIGURES_PARTS_H
#define EXTPROF_ENGINE_FIGURES_PARTS_H

#include "engine/figures.h"
#include "engine/process_set.h"

/* In figures.c: read again what the kernel counts of each process, if that was long ago. */
void figures_parts__keep_amounts(struct engine *e, uint64_t now);

/* In figures_gvl.c: look at who has the GVL and what the collector does.  The process is readable. */
void figures_parts__look_at_vm(struct engine *e, const struct process *p);

/* In figures_threads.c: make copies of all threads, with what they do now.  *now is when.  0 or -ENOMEM. */
int figures_parts__look_at_threads(struct engine *e, uint64_t *now);
/* In figures_threads.c: add up those copies.  The threads live, unless their end has been told meanwhile. */
void figures_parts__add_living(struct engine *e);

static inline uint64_t figures_parts__key(const struct thread_account *a)
{
	return hash__mix(hash__mix((uint64_t)a->process << 32 | a->tid) ^ a->first);
}
/* How much memory it has. */
void figures_parts__look_at_memory(const struct process *p, struct figures_process *f);
/* How full its heap is, if it is readable. */
void figures_parts__look_at_heap(const struct process *p, struct figures_process *f);

#endif /* EXTPROF_ENGINE_FIGURES_PARTS_H */
