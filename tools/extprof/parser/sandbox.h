/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that gives up all that it does not need to read a file that is open. */
#ifndef EXTPROF_SANDBOX_H
#define EXTPROF_SANDBOX_H

#include <stdint.h>

/* In the program, before a helper is made: what sandbox__enter() needs.  0 or -errno.  Any thread may call it. */
int sandbox__prepare(void);

/*
 * In the helper: it has no capabilities from now on and gets none, opens no file, makes no process and no memory
 * that may be executed; the kernel kills it if it asks for anything but to read files that it has and to answer.
 * 0 or -errno.
 */
int sandbox__enter(void);

/*
 * The same for a program that has begun by exec and has one thread: it may also allocate memory and map files that it has
 * for reading, up to so many bytes more than it has now, and use so many seconds of CPU time in all.  What names a file
 * fails, and opens none.  0 or -errno.
 */
int sandbox__enter_allocating(uint64_t bytes, unsigned int seconds);

/* In the helper, before each work: the kernel ends it after so many seconds of CPU time. */
int sandbox__limit_cpu(unsigned int seconds);

#endif /* EXTPROF_SANDBOX_H */
