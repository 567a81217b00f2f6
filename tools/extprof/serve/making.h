/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A page while it is made, by a process of its own: one that takes long, or that a recording brings down, holds up no other.
 * It has the time, the memory and the length of page that are written here, and no descriptor of the server.
 */
#ifndef EXTPROF_SERVE_MAKING_H
#define EXTPROF_SERVE_MAKING_H

#include <signal.h>
#include <sys/types.h>

#include "serve/pages.h"

#define MAKING_SECONDS 60u
#define MAKING_MEMORY (2ull << 30)
#define MAKING_PAGE (256ull << 20)

struct making {
	pid_t pid;
	int pidfd;		/* readable when it has ended */
	int page;		/* the page, or what is wrong */
	uint64_t deadline;	/* CLOCK_MONOTONIC, ns */
	bool late;		/* it was killed at the deadline */
};

/* One thread runs.  0 or negative errno; the caller ends it. */
int making__begin(struct making *k, const struct serve_request *r, const struct serve_sources *sources, const char *nonce,
		  const sigset_t *mask);
/* Has it ended, by itself or by this? */
bool making__is_over(struct making *k, uint64_t now);
/*
 * The status of HTTP, of one that is over.  200: `page` has the page.  Else *error is a sentence.
 */
unsigned int making__status(struct making *k, char *error, size_t size);
/* Kill it if it runs, and close all. */
void making__end(struct making *k);

#endif /* EXTPROF_SERVE_MAKING_H */
