/* SPDX-License-Identifier: BSD-2-Clause */
/* The file that a process has mapped at an address. */
#ifndef EXTPROF_MAPPED_FILE_H
#define EXTPROF_MAPPED_FILE_H

#include "process/target_file.h"

/*
 * Open it.  *offset is where the address is in the file, *file is from fstat().  A descriptor, or -errno: -ENOENT no
 * file is mapped there; as target_file__open_mapped(); or why the memory map cannot be read.
 */
int mapped_file__open_at(struct target_files *files, uint64_t address, uint64_t *offset, struct stat *file);

#endif /* EXTPROF_MAPPED_FILE_H */
