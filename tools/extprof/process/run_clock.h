/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Has a process run since it was looked at?  One that has not run has changed nothing: not its memory with the names in it, not its
 * title, not its user.  The kernel tells the CPU time of all its threads in one call, which costs less than any look.
 *
 * Others can change a process too: whoever writes into its memory, or shares it.  So it is looked at now and then all the same.
 */
#ifndef EXTPROF_RUN_CLOCK_H
#define EXTPROF_RUN_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process that does not run is looked at so often; ns. */
#define RUN_CLOCK_SELDOM 10000000000ull
/* The kernel is asked so often at the most; ns.  A look can miss what happened in this time, and the next one sees it. */
#define RUN_CLOCK_AGE 50000000ull

struct run_clock {
	pid_t pid;		/* as seen from here */
	uint64_t cpu_time;	/* of all its threads, ns; 0: it is not known */
	uint64_t read_at;	/* CLOCK_MONOTONIC, ns; 0: never */
};

/* The readings of the clock before a look.  All 0: there was no look. */
struct run_mark {
	uint64_t cpu_time;
	uint64_t at;		/* CLOCK_MONOTONIC, ns */
};

/*
 * Has the process run since *last, which was before the last look?  Also if there was none, or if the clock cannot be read.  *now: what
 * to keep as *last if this look sees all that there is.
 */
bool run_clock__has_run(struct run_clock *c, const struct run_mark *last, struct run_mark *now);
/* The same, for what others can change: also if the last look was long ago. */
bool run_clock__is_due(struct run_clock *c, const struct run_mark *last, struct run_mark *now);

#endif /* EXTPROF_RUN_CLOCK_H */
