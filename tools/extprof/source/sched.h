/* SPDX-License-Identifier: BSD-2-Clause */
/* Data of the source `sched` about threads, besides its samples. */
#ifndef EXTPROF_SCHED_H
#define EXTPROF_SCHED_H

#include "source/session.h"
#include "wire/wait_details.h"
#include "wire/states.h"

/* Threads that are followed at the same time. */
#define SCHED_THREADS_MAX 16384u

void sched__waits(const struct source *s, struct session_waits *waits);

/*
 * Call back for each thread that is followed, while the source is stopped.  `tid` as seen from here; *thread
 * is a copy.  If the callback returns true, what it has made of the copy is kept, with the time at which the
 * source was stopped as its `since`.
 */
void sched__each(const struct source *s, settle_callback callback, void *context);
/* Get the notes on the wait of the thread.  `tid`: in its own pid namespace.  False: there are none. */
bool sched__wait_details(const struct source *s, uint32_t process, uint32_t tid, struct wait_details *details);
bool sched__last_look(const struct source *s, uint32_t process, uint32_t ractor, struct hold_event *e);
/* Sets losses->threads and losses->gvl_waits. */
void sched__losses(const struct source *s, struct session_losses *losses);

#endif /* EXTPROF_SCHED_H */
