/* SPDX-License-Identifier: BSD-2-Clause */
/* What the source `sched` has of threads, besides its samples. */
#ifndef EXTPROF_SCHED_H
#define EXTPROF_SCHED_H

#include "source/source.h"
#include "wire/about.h"
#include "wire/states.h"

/* Threads that are followed at the same time. */
#define SCHED_THREADS_MAX 16384u

/* The time at which the source was stopped last, CLOCK_MONOTONIC, ns; 0 never. */
uint64_t sched__stopped_at(const struct source *s);
/* Is the stack of each wait read when it is over?  Else that of a thread which is in no system call is read when it
 * leaves the CPU. */
bool sched__ends_on_cpu(const struct source *s);
/* Are waits in that state, an enum thread_state, samples? */
bool sched__samples(const struct source *s, uint32_t state);
/* ns: shorter waits are not samples of their own; 0: each wait is a sample. */
uint64_t sched__quantum(const struct source *s);

/*
 * Call back for each thread that is followed, while the source is stopped.  `tid` as seen from here; *thread
 * is a copy.  If the callback returns true, what it has made of the copy is kept, with the time at which the
 * source was stopped as its `since`.
 */
void sched__each(const struct source *s, bool (*callback)(void *context, uint32_t tid, struct sched_thread *thread),
		 void *context);
/* What is asked for besides the states, a mask of ABOUT_. */
uint32_t sched__wanted(const struct source *s);
/* What was noted of the wait of the thread.  `tid`: in its own pid namespace.  False: nothing. */
bool sched__about(const struct source *s, uint32_t process, uint32_t tid, struct wait_about *about);
/* Threads that found no room, and accounts of ended threads that were not received. */
uint64_t sched__lost(const struct source *s);

#endif /* EXTPROF_SCHED_H */
