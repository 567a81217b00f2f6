/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that a process had when it was opened.  After exec the process has other
 * memory, and another process can get its pid: reads never return anything of those.
 */
#ifndef EXTPROF_ADDRESS_SPACE_H
#define EXTPROF_ADDRESS_SPACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/memory.h"
#include "base/deadline.h"
#include "process/run_clock.h"

struct address_space {
	struct memory memory;
	pid_t pid;
	int mem;		/* open /proc/PID/mem; -1 none */
	int maps;		/* open /proc/PID/maps if there is no mem: it tells that the memory lives */
	struct deadline *deadline;	/* reads fail when it is over; NULL none */
	/* Whose memory it is: see proc__is_trusted(). */
	uid_t user;
	bool trusted;
	uint64_t asked_at;	/* that was found out; CLOCK_MONOTONIC, ns */
	struct run_clock clock;	/* of the process */
	struct run_mark user_mark, namespaces_mark;	/* before its user was looked at, and its namespaces */
	/* A read was given up: others fail with -ETIMEDOUT until then; CLOCK_MONOTONIC, ns. */
	uint64_t aside_until;
	uint64_t aside;		/* how long it was put aside; ns */
	uint32_t given_up;	/* how many reads were; for tests */
};

/*
 * Reads of memory__read().  One that does not come back is given up: -ETIMEDOUT, and the same of all reads for some
 * time after it (process/guarded.h).
 */
int address_space__write(struct address_space *s, uint64_t address, const void *from, size_t length);

/*
 * For a few words that have to be read or written now: the deadline of others, which may not have begun or be over.
 * Store it in s->deadline again after that.
 */
struct deadline *address_space__lift_deadline(struct address_space *s);

/* The memory that the process has now.  NULL and *err: -ENOENT or -ESRCH no such
 * process, -EACCES, -ENOMEM, -EMFILE. */
struct address_space *address_space__open(pid_t pid, int *err);
void address_space__close(struct address_space *s);

/* Close the files: all reads fail from now on, with -ESRCH. */
void address_space__leave(struct address_space *s);

/* Does any process still use this memory?  Usually that is this process.  Another one can
 * share the memory with it (clone with CLONE_VM and without CLONE_THREAD).  While it does not answer it lives. */
bool address_space__lives(struct address_space *s);

#endif /* EXTPROF_ADDRESS_SPACE_H */
