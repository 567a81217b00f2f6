/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers requests with pages, until it is told to end.  One thread; libmicrohttpd reads and writes what is HTTP. */
#ifndef EXTPROF_SERVE_SERVER_H
#define EXTPROF_SERVE_SERVER_H

#include <signal.h>

#include "serve/listen.h"
#include "serve/recordings.h"
#include "serve/request.h"

/* Whoever reaches the socket can hold as many, and as many bytes for each. */
#define SERVER_CONNECTIONS 2000u
#define SERVER_CONNECTION_BYTES 16384u
/* So long a request may take to arrive, and a connection may be there: an answer is taken within that. */
#define SERVER_REQUEST_SECONDS 5u
#define SERVER_CONNECTION_SECONDS 300u
/* Pages that are made at once; and all that are asked for, until they are taken.  Only who has the token has some. */
#define SERVER_MAKING 4u
#define SERVER_PAGES 36u

struct server_options {
	const struct serve_sources *sources;
	const struct serve_listener *listener;
	const char *token;
	const sigset_t *mask;	/* of the processes that make pages */
	int end_fd;		/* readable: end */
	/* SIGPIPE is ignored. */
};

/*
 * 0 at its end; or negative errno with a sentence in `why`: it could not begin, or goes on no more.  -ENOSYS: extprof was built
 * without libmicrohttpd, or it is not there.
 */
int server__run(const struct server_options *o, char *why, size_t size);
/* Can it begin?  0, or -ENOSYS with a sentence. */
int server__check(char *why, size_t size);

/*
 * Call `work` in a process with few rights, which has its standard output and error: apart.c.  What it returned, 0 to 254;
 * -EINTR: interrupt_fd can be read, and the process was ended; -EBADMSG: it has ended in another way; -ENOSYS: it cannot be
 * confined here; or why no process could be started.
 */
int serve_apart(int (*work)(void *context), void *context, const sigset_t *mask, int interrupt_fd);

#endif /* EXTPROF_SERVE_SERVER_H */
