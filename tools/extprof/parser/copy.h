/* SPDX-License-Identifier: BSD-2-Clause */
/* A copy of this process, which shares no memory with it.  It may do only what a signal handler may. */
#ifndef EXTPROF_COPY_H
#define EXTPROF_COPY_H

#include <sys/types.h>

/*
 * Like fork(), but it runs no handlers of the C library and of the program, and the copy's end sends no SIGCHLD.  *pidfd
 * is the caller's.  0 in the copy; -1 with errno.
 */
pid_t copy__make(int *pidfd);

/* The same, and the copy is a child of the parent of this process. */
pid_t copy__make_for_parent(int *pidfd);

/* In a copy, first: it gets no signals of a terminal, has no file but this socket, and has this name. */
void copy__begin(int socket, const char *name);

#endif /* EXTPROF_COPY_H */
