/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that a process has mapped, opened from outside. */
#ifndef EXTPROF_MAPPED_FILE_H
#define EXTPROF_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mapping {
	uint64_t start, end, offset;	/* offset: of its beginning in the file */
	uint64_t inode;
	bool is_exe;
	const char *path;	/* as the process chose it: not clean */
};

/*
 * Open the file behind the mapping for reading, even if it has been deleted or replaced since, or is in
 * another mount namespace.  `thread`: see proc.h.  It is a regular file.  -1: it cannot be opened.
 */
int mapped_file__open(pid_t pid, pid_t thread, const struct mapping *mapping);

/*
 * The same for the mapping that has the address.  *offset is where that is in the file.  The file, or
 * -errno: -ENOENT no file is mapped there, or it cannot be opened; or why the memory map cannot be read.
 */
int mapped_file__open_at(pid_t pid, pid_t thread, uint64_t address, uint64_t *offset);

#endif /* EXTPROF_MAPPED_FILE_H */
