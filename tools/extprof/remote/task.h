/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what the kernel tells about one native thread of another process, in /proc/PID/task/TID. */
#ifndef EXTPROF_TASK_H
#define EXTPROF_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map64.h"
#include "base/proc_file.h"
#include "process/memory.h"
#include "wire/states.h"

struct task {
	pid_t tid;		/* as seen from here; 0: the thread is not known */
	char state;		/* of /proc: R, S, D, T, t, ...; 0 unknown */
	bool off_cpu;		/* the kernel says so: it was switched out at the time of the look */
	bool realtime;		/* its scheduling policy can keep others from its CPU for long */
	int cpu;		/* that it runs on, or ran on last; -1 unknown */
	int64_t call;		/* number of the system call it is in; -1: in none, or not known */
	uint64_t args[6];	/* of the call */
	uint64_t ip;		/* user space instruction pointer; 0: it runs, or is not known */
	uint64_t sp, bp, lr;	/* the other registers that callers are found with; where `ip` is known.  lr: x30 of aarch64 */
	bool has_bp;		/* `bp` and `lr` are known: only of a thread that was stopped, or in a core file */
	uint64_t runs;		/* how often it has got a CPU; see task__runs() */
};

/* The native threads of one process. */
struct tasks {
	pid_t pid;
	int dir;		/* /proc/PID/task, open */
	bool mapped;		/* `map` is needed: the process has another pid namespace */
	struct map64 map;	/* tid in the process's namespace -> tid as seen from here */
};

/* `same`: the tids of the process are those seen from here.  0 or -errno. */
int tasks__open(struct tasks *t, pid_t pid, bool same);
void tasks__close(struct tasks *t);

/* Read a file of the thread: as proc_text__read(). */
int tasks__read(const struct tasks *t, pid_t tid, const char *name, struct proc_text *text);

/* The tid as seen from here, 0: there is no such thread (any more). */
pid_t tasks__tid(struct tasks *t, uint32_t tid);

/* The tid in the process's own namespace, of one as seen from here; 0 unknown. */
uint32_t tasks__inner_tid(const struct tasks *t, pid_t tid);

/*
 * How often the thread has got a CPU.  Two equal numbers, and a moment between the two reads at which the
 * thread was off the CPU, prove that it did not run in between: a thread cannot run without
 * getting a CPU.  0 or -errno; -ENOTSUP: this kernel does not count.
 */
int tasks__runs(const struct tasks *t, pid_t tid, uint64_t *runs);

/*
 * By the events so far, the thread was off the CPU at the time `now`.  Return how long it ran until then without an
 * event, ns.  The result is at most some milliseconds too small.
 */
uint64_t tasks__ran_unseen(const struct tasks *t, pid_t tid, const struct sched_thread *thread, uint64_t now);

/* Fill all but `runs`.  0 or -errno: -ESRCH the thread has ended.  A part that cannot be read stays unknown. */
int tasks__look(const struct tasks *t, pid_t tid, struct task *task);

/*
 * After a stop, futex(2), poll(2), nanosleep(2) and clock_nanosleep(2) with a time limit go on as restart_syscall(2), with the
 * same arguments: set `call` to which one it was, if the instructions before the call say so.
 */
void task__find_restarted(struct task *task, const struct memory *memory);

#endif /* EXTPROF_TASK_H */
