/* SPDX-License-Identifier: BSD-2-Clause */
/* Bounds the time of work on a target, because the target decides how much work there is.
 * The deadline is over at a given moment, or when the caller wants the work to end. */
#ifndef EXTPROF_DEADLINE_H
#define EXTPROF_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

struct deadline {
	int fd;			/* readable when the work is to end; -1 none */
	uint64_t until;		/* CLOCK_MONOTONIC, ns */
	uint64_t looked;	/* when the fd was last looked at, ns */
	bool over;
};

/* CLOCK_MONOTONIC, ns. */
uint64_t deadline__now(void);

/* CPU time of the calling thread, ns; 0: the kernel does not tell it. */
uint64_t deadline__cpu_time(void);

/* Start, or start again: it is over at the moment `until`. */
void deadline__start(struct deadline *p, int fd, uint64_t until);

/* Cheap enough to be asked at each step.  Once true it stays so. */
bool deadline__over(struct deadline *p);

#endif /* EXTPROF_DEADLINE_H */
