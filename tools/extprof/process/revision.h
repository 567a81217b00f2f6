/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which code a process runs: the commit, from the files in its working directory.
 *
 *  - REVISION, in which deployments (Capistrano) leave the commit;
 *  - .git, there or in a directory above, as git looks for it.  It is read without git, which would run what the
 *    repository's owner has configured.  So nobody knows whether files were changed since.
 *
 * The process chooses the files: they are opened as target_file.h says, and what is no commit is ignored.
 */
#ifndef EXTPROF_REVISION_H
#define EXTPROF_REVISION_H

#include <stdbool.h>
#include <stddef.h>

#include "process/target_file.h"

/* An attribute of OpenTelemetry, as that of the commit, of base/attributes.h. */
#define REVISION_BRANCH_KEY "vcs.ref.head.name"

/* Are these bytes a commit: 7 to 64 hexadecimal digits? */
bool revision__is_one(const char *text, size_t length);

/* A list as in base/attributes.h: the commit, and the branch if one was checked out; the caller frees it.  NULL: unknown. */
char *revision__read(struct target_files *files, const char *directory);

#endif /* EXTPROF_REVISION_H */
