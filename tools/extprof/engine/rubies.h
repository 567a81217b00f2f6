/* SPDX-License-Identifier: BSD-2-Clause */
/* The rubies of the machine, without a recording: which have the interface, and why others have not. */
#ifndef EXTPROF_RUBIES_H
#define EXTPROF_RUBIES_H

#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "engine/settings.h"
#include "process/cgroup.h"

struct ruby_found {
	pid_t pid;
	const char *command;		/* clean; until the callback returns */
	const char *ruby_version;	/* clean; "" if it has no interface that could be read */
	int err;			/* 0: it can be profiled, else why not: -errno, with `diag` */
	const struct diag *diag;
};

struct rubies {
	uint32_t processes;	/* that were looked at */
	uint32_t unreadable;	/* of them, those that this user may not read */
	uint32_t late;		/* and those that did not answer in time */
};

/*
 * Look at the processes that are chosen for at most `timeout` ns, and call `each` for each ruby.  0 or -errno.
 */
int rubies__look(struct rubies *r, const struct selection *sel, const struct cgroup *cgroup, uint64_t timeout,
		 void (*each)(void *context, const struct ruby_found *found), void *context);

#endif /* EXTPROF_RUBIES_H */
