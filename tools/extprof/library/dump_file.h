/* SPDX-License-Identifier: BSD-2-Clause */
/* Source files of a process, opened where the process sees them. */
#ifndef EXTPROF_DUMP_FILE_H
#define EXTPROF_DUMP_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "process/target_file.h"

struct source_files {
	struct target_files files;
	char cwd[4096];		/* its working directory; "": not known */
	int64_t started;	/* when the process started, seconds since 1970; 0: not known */
};

/* Begin with the files of the process; if `pid` is 0, with those that a core file names: `core` is the core file
 * then. */
void source_files__begin(struct source_files *s, pid_t pid, const struct stat *core);

/* Was the file changed after the process had started? */
bool source_files__is_newer(struct source_files *s, const char *path);

/* Append a line of the file, from 1, clean and without the space around it.  0; -ENOENT: there is no such file or line;
 * or another -errno. */
int source_files__line(struct source_files *s, const char *path, int32_t line, struct text *to);

#endif /* EXTPROF_DUMP_FILE_H */
