/* SPDX-License-Identifier: BSD-2-Clause */
/* A process: is it there, is it a ruby, where is its section. */
#ifndef EXTPROF_TARGET_H
#define EXTPROF_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "diag.h"
#include "memory.h"
#include "patience.h"
#include "record.h"

struct target {
	pid_t pid;		/* as seen from here */
	int pidfd;
	struct target_key key;	/* as seen from anywhere */
	char command[256];	/* clean, for display */
	char image[256];	/* file that holds the VM; clean, for display */
	uint64_t section;	/* address, 0 not found yet */
	struct memory memory;	/* of the process; valid while *this does not move */
	struct patience *patience;	/* reads fail when it is over; NULL: never */
};

/* Take hold of the process (by pidfd: the pid cannot be reused under us). */
int target__open(struct target *t, pid_t pid, struct diag *d);
void target__close(struct target *t);

/* Find the section.  -ENOENT: no ruby, or one without the interface (diag
 * tells them apart by status). */
int target__find_section(struct target *t, struct diag *d);

/* Read again what exec changes: the command line. */
void target__refresh(struct target *t);

bool target__exited(const struct target *t);

/* How a failed read of the target's memory is explained. */
int target__read_error(const struct target *t, int err, const char *what, struct diag *d);

#endif /* EXTPROF_TARGET_H */
