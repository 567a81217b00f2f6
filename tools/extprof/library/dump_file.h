/* SPDX-License-Identifier: BSD-2-Clause */
/* Source files of a process, opened where the process sees them. */
#ifndef EXTPROF_DUMP_FILE_H
#define EXTPROF_DUMP_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

struct source_files {
	int root;		/* its root directory; -1: not known */
	char cwd[4096];		/* its working directory, below that root; "": not known */
	int64_t started;	/* when the process started, seconds since 1970; 0: not known */
};

/* Of the process, or of this one if `pid` is 0.  Close it in any case. */
void source_files__open(struct source_files *s, pid_t pid);
void source_files__close(struct source_files *s);

/* Was the file changed after the process had started? */
bool source_files__is_newer(const struct source_files *s, const char *path);

/* Append a line of the file, from 1, clean and without the space around it.  0; -ENOENT: there is no such file or line;
 * or another -errno. */
int source_files__line(const struct source_files *s, const char *path, int32_t line, struct text *to);

#endif /* EXTPROF_DUMP_FILE_H */
