/* SPDX-License-Identifier: BSD-2-Clause */
/* A process: is it there, is it a ruby, where is its section. */
#ifndef EXTPROF_TARGET_H
#define EXTPROF_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "wire/sample.h"
#include "process/address_space.h"

struct target {
	pid_t pid;		/* as seen from here */
	int pidfd;
	struct target_key key;	/* as seen from anywhere */
	char command[256];	/* clean, for display */
	char image[256];	/* file that holds the VM; clean, for display */
	uint64_t section;	/* address, 0 not found yet */
	struct address_space *space;	/* memory that was searched last; who takes it leaves NULL */
	struct deadline *deadline;	/* with searches; NULL: as long as they take */
};

/*
 * Take hold of the process.  A pidfd does not keep the pid from being given to
 * another process once this one has been waited for; it tells whether that can
 * have happened.  Whatever is read by pid is asked for that afterwards, and
 * thrown away then.  Memory is not read by pid, see space.h.
 */
int target__open(struct target *t, pid_t pid, struct diag *d);
void target__close(struct target *t);

/* Find the section in the memory that the process has now.  -ENOENT: no ruby, or
 * one without the interface (diag tells them apart by status); -EAGAIN: it has
 * executed another program meanwhile. */
int target__find_section(struct target *t, struct diag *d);

/* Read again what exec changes: the command line. */
void target__refresh(struct target *t);

bool target__exited(const struct target *t);

/* Has it executed something since the last search?  Cheap. */
bool target__executed(const struct target *t);

/* Is the pid still that of this process?  Then all that was read by it until now
 * was this process's, too. */
bool target__has_pid(const struct target *t);

/* How a failed read of the target's memory is explained. */
int target__read_error(const struct target *t, int err, const char *what, struct diag *d);

#endif /* EXTPROF_TARGET_H */
