/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes of our own for work that a target can make last for ever, or that is not to be done with our
 * rights.  A thread would not do: one that waits for a file system in the kernel can keep the whole process
 * from ending, and it shares memory and rights with the rest.
 *
 * A helper is a copy of this process without its descriptors, as the process was when it first held them (see maker.h).
 * It is made when it is needed, works on one request after the other, and ends with this process.  One that does not answer in time is killed and
 * left to itself; the next request has another one.  It sends no SIGCHLD, and wait() does not see it.
 */
#ifndef EXTPROF_HELPER_H
#define EXTPROF_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/deadline.h"

#define HELPER_REQUEST_MAX 12288u	/* bytes */
#define HELPER_ANSWER_MAX 65552u
#define HELPERS_LOST_MAX 64u		/* killed and still there, as the kernel waits for something in them */
#define HELPERS_LOST_OF_OWNER_MAX 4u	/* because of files of one user */

/*
 * The work of a helper.  Both functions run in the helper.  The helper is a copy of a process with threads, so they may
 * do only what a signal handler may: above all, allocate nothing.
 */
struct helper_role {
	const char *name;	/* of the process */
	size_t answer_size;	/* of each answer */
	/* An answer has as many bytes as the result says, answer_size at most; none if that is an error. */
	bool short_answers;
	/* Time in which the helper lacks a CPU does not count: what it does ends as soon as it has one. */
	bool patient;
	/* Before the first request.  0 or -errno. */
	int (*begin)(void);
	/*
	 * Do one request, which is not trusted to be well formed by its size alone.  *fd is the file that came with
	 * it, or -1; it is closed afterwards.  Set it to a file to be sent back.  The answer has zeros, but for short
	 * answers.  The result.
	 */
	int (*work)(const void *request, size_t size, int *fd, void *answer);
};

struct helper_request {
	const void *data;
	size_t size;
	int fd;			/* of a file that goes with it; -1 none */
	uint64_t owner;		/* whose files make it last: a user.  Each has a share of what may hang */
	uint64_t timeout;	/* ns */
	struct deadline *deadline;	/* NULL none */
};

/*
 * Have it done.  *answer has answer_size bytes.  *fd: a file that came back, the caller's, or -1; NULL: none is
 * wanted.  The result of work(), or -ETIMEDOUT: it took too long; -EINTR: the deadline is over; -EIO: the helper
 * has crashed; -EBUSY: too many helpers hang; or why there is none.  Any thread may ask.
 */
int helper__ask(const struct helper_role *role, const struct helper_request *request, void *answer, int *fd);

/*
 * Whoever will ask several times holds the helpers meanwhile.  When the last one has released them, those that wait for
 * work end.  That closes their descriptors, and whoever waits for this process can replace its program file.  The next
 * request starts a helper again.
 */
void helpers__hold(void);
void helpers__release(void);

/* To be called now and then, with deadline__now(): those that nobody has needed for some seconds end, but one of each role. */
void helpers__rest(uint64_t now);

#endif /* EXTPROF_HELPER_H */
