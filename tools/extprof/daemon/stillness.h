/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which threads of processes have not run for how long, by /proc/PID/task/TID/schedstat: what the scheduler counts.  It
 * finds the moments at which a closer look is worth its cost; what the threads wait for it does not know.
 */
#ifndef EXTPROF_DAEMON_STILLNESS_H
#define EXTPROF_DAEMON_STILLNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bounds: what is beyond is not looked at. */
#define STILL_PROCESSES_MAX 4096u
#define STILL_THREADS_MAX 16384u
/* A process that uses less of a CPU does nothing: timers and reapers run now and then.  ns of a second. */
#define STILL_CPU_MAX 1000000ull
/*
 * One thread may tick beside that: while threads wait for the GVL, Ruby's timer does so each 10 ms, of 10 to 50 us.  So many
 * times a second, and so long each time, ns.
 */
#define STILL_TICKS_MAX 120u
#define STILL_TICK_MAX 100000ull

struct still_thread {
	uint32_t tid;
	bool seen;		/* in the look that goes on */
	bool judged;		/* a closer look has said something of it since it ran last */
	uint64_t ran, slices;	/* ns on a CPU, and how often it got one */
	uint64_t since;		/* CLOCK_MONOTONIC, ns: it has not run since */
};

struct stuck_history;

struct still_process {
	pid_t pid;
	bool seen;
	uint64_t looked;	/* CLOCK_MONOTONIC, ns: the last look; 0: none yet */
	uint64_t since;		/* it has used next to no CPU since */
	uint64_t again;		/* no closer look before; 0: at once */
	struct stuck_history *history;	/* what was told of it, see daemon/stuck.h; NULL: nothing */
	struct still_thread *threads;	/* by tid */
	size_t count, room;
};

/* Zero-initialise. */
struct stillness {
	struct still_process *list;
	size_t count, room;
};

/*
 * Look at these processes, and forget others.  `root`: "/proc"; another one in tests.  0 or -ENOMEM: what was found so far
 * is as it was.
 */
int stillness__look(struct stillness *s, const char *root, const pid_t *pids, size_t count, uint64_t now);
/* Does the kernel count, by the schedstat of this process?  Without CONFIG_SCHED_INFO there is none, or it has zeros. */
bool stillness__is_counted(const char *root);
/* Has it done nothing for so long, has a thread that did not run for so long not been judged, and is it time? */
bool still_process__is_due(const struct still_process *p, uint64_t now, uint64_t length);
/* A closer look at `now` has said all that there is to say: threads that have not run for so long are judged until they run. */
void still_process__judged(struct still_process *p, uint64_t now, uint64_t length);
/* NULL: there is none. */
struct still_thread *still_process__thread(struct still_process *p, uint32_t tid);
void stillness__free(struct stillness *s);

#endif /* EXTPROF_DAEMON_STILLNESS_H */
