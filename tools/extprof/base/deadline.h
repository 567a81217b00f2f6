/* SPDX-License-Identifier: BSD-2-Clause */
/* How long work on a target may take, which decides how much there is of it:
 * until some moment, or until somebody wants us to end. */
#ifndef EXTPROF_DEADLINE_H
#define EXTPROF_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

struct deadline {
	int fd;			/* readable: somebody wants that; -1 none */
	uint64_t until;		/* CLOCK_MONOTONIC, ns */
	uint64_t looked;	/* when at the fd */
	bool over;
};

/* The clock of all this. */
uint64_t deadline__now(void);

/* From now until that moment; what is over begins anew. */
void deadline__start(struct deadline *p, int fd, uint64_t until);

/* Cheap enough to be asked at each step.  Once true it stays so. */
bool deadline__over(struct deadline *p);

#endif /* EXTPROF_DEADLINE_H */
