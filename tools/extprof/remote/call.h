/* SPDX-License-Identifier: BSD-2-Clause */
/* What the arguments of a system call say of what it waits for. */
#ifndef EXTPROF_CALL_H
#define EXTPROF_CALL_H

#include <stdbool.h>
#include <stdint.h>

/* Is the first argument a file descriptor that the call works on? */
bool call__takes_fd(int64_t call);

/* Is the first argument the address of an array of struct pollfd, and the second its length? */
bool call__polls(int64_t call);

#endif /* EXTPROF_CALL_H */
