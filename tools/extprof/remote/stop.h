/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stops all threads of a process with ptrace(2), and lets them go on.
 *
 * The kernel lets go of all of them when the thread that called stop__begin() ends, in whatever way.  A signal that
 * was about to be delivered is delivered when its thread goes on.
 */
#ifndef EXTPROF_STOP_H
#define EXTPROF_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "base/map64.h"
#include "remote/task.h"

struct stop_later;

struct stop {
	struct stopped *list;
	uint32_t count;
	size_t room;
	struct map64 map;	/* tid in the process's namespace -> number in the list */
	struct stop_later *later;	/* polled while one is waited for; NULL: none */
	pid_t refused;		/* the thread that may not be stopped */
	uint64_t began;		/* CLOCK_MONOTONIC, ns; 0: nothing was stopped */
	uint64_t duration;	/* ns, after stop__end() */
};

/*
 * Stop all threads.  0, or -errno with the diagnosis: -EBUSY a debugger has the process, -EPERM, -ESRCH it has
 * ended, -ETIMEDOUT a thread did not stop, or not yet since it was told before, -ENOMEM.  The caller calls stop__end() in any case, in the same thread.
 */
int stop__begin(struct stop *s, struct tasks *tasks, struct diag *d);
/*
 * Stop one thread, `tid` as seen from here, and let the others go on.  Like stop__begin(); -ESRCH: the thread has
 * ended.  `later`: those that stop while this one is waited for are let go; NULL: there are none.
 */
int stop__begin_thread(struct stop *s, struct tasks *tasks, pid_t tid, struct stop_later *later, struct diag *d);
/*
 * Let all that were stopped go on.  A thread that was told to stop and has not, since it has no CPU or is in an
 * uninterruptible wait, stops later, and somebody has to let it go then: the kernel, when the calling thread ends (`later` is
 * NULL), or stop_later__poll(), in the same thread.
 */
void stop__end(struct stop *s, struct stop_later *later);

/* Threads that stop later.  Zero-initialise. */
struct stop_later {
	struct stopping {
		pid_t tid;
		uint64_t looked;	/* it had not stopped then; CLOCK_MONOTONIC, ns */
	} *list;
	uint32_t count;
	size_t room;
	uint32_t stops;		/* that have stopped, and were let go */
	uint64_t longest;	/* at most, of one of them, ns */
};

/* Let those go that have stopped meanwhile.  To be called every few milliseconds while count is not 0. */
void stop_later__poll(struct stop_later *l);
void stop_later__free(struct stop_later *l);

/* Get what a stopped thread was doing; false: the thread is not one of the stopped ones.  `tid` as in the process's
 * namespace. */
bool stop__task(const struct stop *s, uint32_t tid, struct task *task);

/* Read the system call from the registers: fills call, args, ip, sp and bp of *task.  `regs` is a struct user_regs_struct of
 * this machine. */
void task__set_registers(struct task *task, const void *regs);

#endif /* EXTPROF_STOP_H */
