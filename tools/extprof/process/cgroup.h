/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Control groups.  A machine can have several hierarchies of them, each mounted somewhere: version 2 below
 * /sys/fs/cgroup or, beside those of version 1, below /sys/fs/cgroup/unified.  /proc/PID/cgroup has a line for each.
 */
#ifndef EXTPROF_CGROUP_H
#define EXTPROF_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/diag.h"

/* Zero-initialise. */
struct cgroup {
	char *path;		/* as in /proc/PID/cgroup; NULL: all processes are in it */
	char *hierarchy;	/* "": version 2; else the options of its mount, which name its controllers; NULL: any */
};

/*
 * The group that `wanted` means: the path of a directory, with or without that of its mount or /sys/fs/cgroup, or as in
 * /proc/PID/cgroup; "/" is all processes.  mounts: a file as /proc/self/mountinfo.  0; -ENOENT: there is no such group;
 * -ENOMEM.
 */
int cgroup__find(struct cgroup *c, const char *mounts, const char *wanted, struct diag *d);
void cgroup__free(struct cgroup *c);

/* Does the text, which is as /proc/PID/cgroup, say that a process is in the group or below it? */
bool cgroup__is_in(const struct cgroup *c, const char *text);
/* Is the process in it? */
bool cgroup__has(const struct cgroup *c, pid_t pid);

/*
 * The path in a text as /proc/PID/cgroup: that of version 2; where it is the root, the first one of version 1 that is not,
 * since there the groups of a container are of version 1.  It is clean; NULL: unknown.  The caller frees it.
 */
char *cgroup__path(const char *text);
/* That of the process. */
char *process__cgroup(pid_t pid);

#endif /* EXTPROF_CGROUP_H */
