/* SPDX-License-Identifier: BSD-2-Clause */
/* The files that a process has open. */
#ifndef EXTPROF_OPEN_FILE_H
#define EXTPROF_OPEN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "wire/wait_details.h"

/* Describe the file that the file descriptor is now.  `addresses`: describe also the addresses of a socket, which needs
 * the right to trace the process.  Fields that cannot be read are 0. */
void open_file__look(pid_t pid, uint32_t fd, bool addresses, struct wait_file *file);

/*
 * The path of a file that is not a socket and not a pipe, not clean.  False: the file descriptor is none or
 * another file now, so that the path is not known.
 */
bool open_file__path(pid_t pid, const struct wait_file *file, char *to, size_t size);

#endif /* EXTPROF_OPEN_FILE_H */
