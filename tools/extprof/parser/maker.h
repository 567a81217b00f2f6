/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes helpers.  It is a copy of this process from before the first helper, and each helper is a copy of it:
 * one that is made late is as small as the first one, and has nothing of the profile that this process has by then.
 */
#ifndef EXTPROF_MAKER_H
#define EXTPROF_MAKER_H

#include <sys/types.h>

/* The work of a new helper, with its end of the socket. */
typedef void (*maker_serve)(const void *role, int socket) __attribute__((noreturn));

/*
 * Make a helper, a child of this process.  serve and *role have been there since before the first one was made, as
 * functions and constants have.  *pidfd is the caller's.  0 or -errno.  Any thread may call it.
 */
int maker__make(maker_serve serve, const void *role, int socket, pid_t *pid, int *pidfd);

/*
 * Make the maker itself, while this process is small.  Without it the first helper makes it, and who asks for that is told
 * of an error.
 */
void maker__begin(void);

/* End the maker.  The next helper is made by a new one. */
void maker__end(void);

/* In a copy of this process by fork(): the maker is the parent's. */
void maker__forget(void);

#endif /* EXTPROF_MAKER_H */
