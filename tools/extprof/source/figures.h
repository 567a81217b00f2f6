/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums that sources keep if source_options::figures is set.  All of them can be asked for while the sources run.
 */
#ifndef EXTPROF_SOURCE_FIGURES_H
#define EXTPROF_SOURCE_FIGURES_H

#include "source/session.h"

/* -- sched -- */

/* From now on the longest waits are those of this interval: thread_account::longest. */
void sched__set_interval(struct source *s, uint64_t interval);

/*
 * Call back for each thread that is followed, while they run.  *thread is a copy of one moment: its account is up to
 * thread->since.  0 or -ENOMEM.
 */
int sched__each_now(const struct source *s, thread_callback callback, void *context);
/* The copy was made while the thread changed it. */
bool sched_thread__is_torn(const struct sched_thread *thread);

/* How long threads of the process waited for the GVL so far, each wait that is over.  All 0: there was none. */
void sched__gvl_waits(const struct source *s, uint32_t process, struct histogram *to);
/* The process is gone. */
void sched__forget(const struct source *s, uint32_t process);

/* -- syscall -- */

/* Call back for the sums so far of each process and system call.  False: there are samples, and no sums. */
bool syscall__each_sum(const struct source *s, call_callback callback, void *context);
/* Sets those of system calls. */
void syscall__losses(const struct source *s, struct session_losses *losses);

#endif /* EXTPROF_SOURCE_FIGURES_H */
