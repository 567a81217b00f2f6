/* SPDX-License-Identifier: BSD-2-Clause */
/* What the source `sched` has of threads, besides its samples. */
#ifndef EXTPROF_SCHED_H
#define EXTPROF_SCHED_H

#include "source/source.h"
#include "wire/states.h"

/* Threads that are followed at the same time. */
#define SCHED_THREADS_MAX 16384u

/* Name of a system call in which threads wait; NULL: none that is known here. */
const char *sched_calls__name(uint32_t number);
/* Fill the table of the BPF program: enum call_kind by number, CALLS_MAX entries. */
void sched_calls__kinds(uint8_t *kinds);

/*
 * Call back for each thread that is followed, while the source is stopped.  *thread is a copy.  0 or
 * -errno: not all were told.
 */
int sched__each(const struct source *s, void (*callback)(void *context, const struct sched_thread *thread),
		void *context);
/* Threads that found no room, and accounts of ended threads that were not received. */
uint64_t sched__lost(const struct source *s);

#endif /* EXTPROF_SCHED_H */
