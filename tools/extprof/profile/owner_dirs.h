/* SPDX-License-Identifier: BSD-2-Clause */
/* The directories by which the code of an application is told, see frames/owner.h. */
#ifndef EXTPROF_OWNER_DIRS_H
#define EXTPROF_OWNER_DIRS_H

#include "frames/owner.h"

/* More are not looked at for each file of a profile. */
#define OWNER_DIRS_MAX 64u

/* Different directories, absolute, without a slash at the end.  Zero-initialise. */
struct owner_dirs {
	char *list[OWNER_DIRS_MAX];
	uint32_t count;
};

/*
 * Add directories with commas between, as the caller has named them.  Relative ones are of this process.  0; -ENOMEM;
 * -E2BIG; -EINVAL: a relative one is not there, or one is empty.
 */
int owner_dirs__name(struct owner_dirs *d, const char *list);
/* Add the working directory of a process; NULL: unknown.  Those beyond the bound are not kept.  0 or -ENOMEM. */
int owner_dirs__add_cwd(struct owner_dirs *d, const char *cwd);
/* The working directories are the application's if none was named; `named` can be NULL.  The rules are valid as long as both. */
void owner_dirs__rules(const struct owner_dirs *named, const struct owner_dirs *cwds, struct owner_rules *rules);
void owner_dirs__free(struct owner_dirs *d);

#endif /* EXTPROF_OWNER_DIRS_H */
