/* SPDX-License-Identifier: BSD-2-Clause */
/* A process by its pid: its pidfd, its pid in its own namespace, its command line. */
#ifndef EXTPROF_TARGET_H
#define EXTPROF_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "wire/sample.h"
#include "process/address_space.h"

struct target {
	pid_t pid;		/* as seen from here */
	pid_t thread;		/* whose files in /proc are read; 0 the first one: see proc.h */
	int pidfd;
	struct target_key key;	/* as seen from anywhere */
	char command[256];	/* clean, for display */
	uint64_t section;	/* address, 0 not found yet */
	struct address_space *space;	/* memory that was searched last; vm__open() takes it and leaves NULL */
	struct deadline *deadline;	/* of searches; NULL none */
};

/*
 * Open the process with that pid.  0 or -errno: -ESRCH no such process, a zombie or
 * a thread; -ENOSYS an old kernel; -EACCES.  Nothing is to be closed after an error.
 *
 * A pidfd does not reserve the pid: another process can get it once this one has been
 * waited for.  The pidfd tells whether that can have happened.  So whoever reads a
 * file of /proc by pid calls target__has_pid() afterwards, and drops what was read if
 * that is false.  Memory is not read by pid: see address_space.h.
 */
int target__open(struct target *t, pid_t pid, struct diag *d);
void target__close(struct target *t);

/* Read the command line again, which exec changes. */
void target__refresh(struct target *t);

bool target__exited(const struct target *t);

/* Is the pid still that of this process?  If it is, all that was read by pid before the
 * call was this process's. */
bool target__has_pid(const struct target *t);

/* Explain a failed read of `what` of the process.  Returns `err`, a negative errno. */
int target__read_error(const struct target *t, int err, const char *what, struct diag *d);

#endif /* EXTPROF_TARGET_H */
