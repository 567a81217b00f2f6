/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files with the debug information of a module, on this machine and by its build id: the module itself,
 * /usr/lib/debug/.build-id, the local cache of debuginfod, what a debug link names, and /usr/lib/debug with its path.
 */
#ifndef EXTPROF_DEBUG_FILES_H
#define EXTPROF_DEBUG_FILES_H

#include <stdint.h>
#include <sys/types.h>

#include "parser/lines.h"
#include "process/target_file.h"

struct debug_module {
	const char *path;	/* of the module; of a recording it is what somebody wrote */
	const char *build_id;	/* in hex; "": it has none, and nothing is looked for */
	/* If the process was followed: */
	int fd;			/* the module itself, open for reading; it stays the caller's.  -1: none */
	uint64_t size;
	pid_t pid;		/* who had it mapped: debug information is looked for below its root first, with its rights.  0: none */
	uint64_t began;		/* as of proc__started(): another process can have the pid */
	uint64_t until;		/* CLOCK_MONOTONIC, ns: no file is asked after that; 0: each as long as it may take */
};

/*
 * As lines__read(), with the first file that is there, has the build id and debug information.  Files are opened with the rights of
 * the user who runs this.  -ENOKEY: the module has no build id; -ENODATA: no such file has debug information; -ESTALE: the
 * module's file is there and is another one, and no other file was found; -ETIME: it was too late.
 */
int debug_files__lines(const struct debug_module *m, const uint64_t *addresses, uint32_t count,
		       int (*take)(void *context, uint32_t number, const struct lines_at *at, uint32_t functions), void *context);

#endif /* EXTPROF_DEBUG_FILES_H */
