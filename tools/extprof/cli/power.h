/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which capabilities a command keeps.  Once it knows what it is going to do, and before it starts threads, it gives back
 * the others for good.  docs/security.md has the table.
 */
#ifndef EXTPROF_POWER_H
#define EXTPROF_POWER_H

#include <stdbool.h>
#include <stdint.h>

/* When a command gives back what it does not need. */
enum power_time {
	POWER_FILES = 1,	/* at once: it reads and writes files */
	POWER_PROCESSES,	/* at once: it looks at processes */
	POWER_NONE,		/* at once: it has the files of its user, and the network */
	POWER_RUN,		/* in run__begin(): it may start a command first, which has all of its power */
};

struct power_needs {
	bool nothing;		/* not even files of other users; others are not looked at */
	bool processes;		/* other than its own are read */
	bool kernel;		/* programs are loaded into it */
	bool command;		/* gets signals, also if it belongs to another user */
	bool tracefs;		/* is mounted, as it is needed and is not */
	bool locked_memory;	/* maps in the kernel are charged to RLIMIT_MEMLOCK, which is raised: before Linux 5.11 */
	bool admin;		/* perf refuses CAP_PERFMON alone */
	bool only_equals;	/* processes can be read only if they have no capability that is not there, as in a container
				 * without CAP_SYS_PTRACE: what is given back would be missing for that */
};

/* The capabilities that it has: a mask of 1 << CAP_ of linux/capability.h. */
uint64_t power__wanted(const struct power_needs *n, uint64_t permitted);

/*
 * Keep what is needed, and have no way to get more: no capability is inheritable, ambient, or in the bounding set, and no
 * program that this process executes gains any.  One thread runs.  May be called again.  `locked_memory`, `admin`
 * and `only_equals` are found out here, the last two by trying.
 */
void power__give_back(const struct power_needs *needs);

#endif /* EXTPROF_POWER_H */
