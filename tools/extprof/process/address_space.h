/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of a process as it is when it is opened.  What the process
 * executes later has another one, and so has another process with its pid:
 * reading never gives anything of theirs.
 */
#ifndef EXTPROF_ADDRESS_SPACE_H
#define EXTPROF_ADDRESS_SPACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/memory.h"
#include "base/deadline.h"

struct address_space {
	struct memory memory;
	pid_t pid;
	int mem;		/* /proc/PID/mem, stays that of this memory; -1 none */
	int maps;		/* without it: /proc/PID/maps, which does as well */
	struct deadline *deadline;	/* reads fail when it is over; NULL: never */
};

/* The memory that the process has now.  NULL and *err: -ENOENT or -ESRCH no such
 * process, -EACCES, -ENOMEM, -EMFILE. */
struct address_space *address_space__open(pid_t pid, int *err);
void address_space__close(struct address_space *s);

/* Close the files: all reads fail from now on, with -ESRCH. */
void address_space__leave(struct address_space *s);

/* Does anybody still use it?  That is the process, unless it shares its memory
 * with another one (clone with CLONE_VM and without CLONE_THREAD). */
bool address_space__lives(const struct address_space *s);

#endif /* EXTPROF_ADDRESS_SPACE_H */
