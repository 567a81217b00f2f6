/* SPDX-License-Identifier: BSD-2-Clause */
/* The user who called sudo: outputs and commands are that user's. */
#ifndef EXTPROF_SUDO_H
#define EXTPROF_SUDO_H

#include <sys/types.h>

#include "cli/output_file.h"

struct sudo {
	struct output_owner user;
	char *name, *home;	/* NULL: the user is not in the list of users */
	gid_t *groups;		/* of `user` */
	bool found;		/* by sudo__find() */
};

/* 1: found, 0: extprof is not root by sudo, -EINVAL: what sudo says makes no sense, -ENOMEM.  It is looked up once, and what *s
 * points to stays. */
int sudo__user(struct sudo *s);
/* The same for messages: `found` is set.  0 or -errno. */
int sudo__find(struct sudo *s, struct extprof_error *e);

#endif /* EXTPROF_SUDO_H */
