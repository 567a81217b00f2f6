/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of a process as it is when it is opened.  What the process
 * executes later has another one, and so has another process with its pid:
 * reading never gives anything of theirs.
 */
#ifndef EXTPROF_SPACE_H
#define EXTPROF_SPACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "memory.h"
#include "patience.h"

struct space {
	struct memory memory;
	pid_t pid;
	int mem;		/* /proc/PID/mem, stays that of this memory; -1 none */
	int maps;		/* without it: /proc/PID/maps, which does as well */
	struct patience *patience;	/* reads fail when it is over; NULL: never */
};

/* The memory that the process has now.  NULL and *err: -ENOENT or -ESRCH no such
 * process, -EACCES, -ENOMEM, -EMFILE. */
struct space *space__open(pid_t pid, int *err);
void space__close(struct space *s);

/* Close the files: all reads fail from now on, with -ESRCH. */
void space__leave(struct space *s);

/* Does anybody still use it?  That is the process, unless it shares its memory
 * with another one (clone with CLONE_VM and without CLONE_THREAD). */
bool space__lives(const struct space *s);

#endif /* EXTPROF_SPACE_H */
