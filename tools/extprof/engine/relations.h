/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes of the machine, and whose children they are. */
#ifndef EXTPROF_RELATIONS_H
#define EXTPROF_RELATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map64.h"

struct relation {
	pid_t pid, parent;	/* parent 0: not known, or not asked for */
};

/* Zero-initialise. */
struct relations {
	struct relation *list;
	uint32_t count;
	size_t room;
	struct map64 by_pid;	/* place in list */
};

/* Those of now, but for the caller.  0 or -errno; out of memory, some are missing. */
int relations__read(struct relations *r, bool parents);
/* NULL: there is no such process. */
const struct relation *relations__find(const struct relations *r, pid_t pid);
/* Does it descend from the process? */
bool relation__is_below(const struct relations *r, const struct relation *of, pid_t pid);
void relations__free(struct relations *r);

#endif /* EXTPROF_RELATIONS_H */
