/* SPDX-License-Identifier: BSD-2-Clause */
/* Dumps beside the recordings of a history: texts of a bounded size, of which the newest stay. */
#ifndef EXTPROF_DAEMON_DUMPS_H
#define EXTPROF_DAEMON_DUMPS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "daemon/folder.h"

/* How many stay, and how long one may be, bytes.  Longer ones are cut off and say so. */
#define DUMPS_MAX 100u
#define DUMP_SIZE_MAX (1u << 20)
#define DUMP_NAME_SIZE 64

/*
 * Write a new file, mode 0600: extprof-DATE-TIME-MSZ-PID.dump.txt.  `write` gets a stream; it returns 0 or a negative errno.
 * name: of the file, of DUMP_NAME_SIZE.  0 or negative errno: there is no file then.
 */
int dumps__write(const struct folder *f, int pid, int (*write)(void *context, FILE *to), void *context, char *name);
/* Remove those that were written before `before` (seconds since 1970; 0: none), and the oldest of too many.  0 or negative errno. */
int dumps__tidy(const struct folder *f, time_t before);

#endif /* EXTPROF_DAEMON_DUMPS_H */
