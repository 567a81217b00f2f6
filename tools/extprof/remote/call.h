/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls of this machine, by number. */
#ifndef EXTPROF_CALL_H
#define EXTPROF_CALL_H

#include <stdbool.h>
#include <stdint.h>

/* NULL: not known. */
const char *call__name(int64_t call);

/* Is the first argument a file descriptor that the call works on? */
bool call__takes_fd(int64_t call);

/* Is the first argument the address of an array of struct pollfd, and the second its length? */
bool call__polls(int64_t call);

#endif /* EXTPROF_CALL_H */
