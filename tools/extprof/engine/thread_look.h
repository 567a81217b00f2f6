/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A look at the threads that the source `sched` follows, process by process: what do they do now?  The end of a
 * recording and `extprof stat` ask that.
 */
#ifndef EXTPROF_THREAD_LOOK_H
#define EXTPROF_THREAD_LOOK_H

#include "engine/process_set.h"
#include "remote/tables.h"
#include "remote/task.h"
#include "wire/states.h"

/* Zero-initialise, but for `now`. */
struct thread_look {
	uint64_t now;		/* the time of the look, CLOCK_MONOTONIC, ns */
	struct tables tables;	/* of the process that was opened last */
	struct tasks tasks;
	bool has_tables, has_tasks;
};

/* Read the tables of the process.  `vm`: NULL: its memory cannot be read.  Tables that cannot be read are missing. */
void thread_look__open(struct thread_look *l, const struct process *p, struct vm *vm);
void thread_look__close(struct thread_look *l);
/* After the last one. */
void thread_look__free(struct thread_look *l);

/* The Ruby thread on that native thread, by the tid in its own pid namespace; NULL: none. */
const struct table_thread *thread_look__find(const struct thread_look *l, uint32_t tid);

/* Has the thread been off the CPU ever since the kernel's programs saw it leave?  `tid` as seen from here. */
bool thread_look__has_stayed(const struct thread_look *l, uint32_t tid, const struct sched_thread *t);

/*
 * Bring *t up to `now`: its waits are in t->blocked, t->runnable and t->stopped then.  Returns for how long it has run,
 * ns; that time is in no account yet.
 */
uint64_t thread_look__settle(const struct thread_look *l, uint32_t tid, struct sched_thread *t);

/* The class of the wait of the thread, or of its last wait.  `head`: NULL: it is no thread of Ruby's. */
struct wait_class thread_look__classify(const struct sched_thread *t, const struct thread_head *head);

#endif /* EXTPROF_THREAD_LOOK_H */
