/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells which waits are a thread's rest: the thread has nothing to do.  All other waits are waits of work, and somebody
 * may suffer from them.  This is the only place that tells the two apart.  It judges each wait, not each thread, so that
 * a thread of a pool rests between two requests and does not rest within one.
 *
 * A wait that is called idle by mistake hides what somebody looks for; a wait that is shown by mistake is only noise.  So
 * a wait is one of work unless all of this is true:
 *  - The whole stack is known, and the thread is.  No label is set: a label says that there is work, but for what a
 *    request has made that outlives it (see known_places.h).
 *  - It waits in a queue, for a condition variable, in sleep, in select or accept.  Main threads can be in join.  A lock,
 *    a process, a ractor, the GVL and the CPU are nobody's rest, nor is a file, a socket or a parked fiber, but for the
 *    methods of servers that are known to wait there for work (known_places).
 *  - The code that waits is the thread's own: the block that the thread began with, or a block that is written within
 *    it where it is called: the body of loop, synchronize.  A job, which is a lambda or a method, is written elsewhere.
 *    A thread of a gem, or of the standard library, may wait in a few other methods of that gem.
 *  - A thread of other code has such a loop visibly in its stack, or goes on to other code from there, or accepts
 *    connections, and it lived as long as the profile.  A thread that is made for one request lives shorter.
 *  - A main thread was in that one wait all the time (98 % of it), and there are other threads in its process.
 *
 * "Profile" is what idle::window says, with the windows before it if there is a history of them.
 *
 * The first Ruby frame of the application behind a frame of a gem ends all this: there a gem has called an application.
 */
#ifndef EXTPROF_IDLE_H
#define EXTPROF_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "frames/frame_table.h"
#include "frames/owner.h"
#include "profile/idle_history.h"
#include "profile/tree.h"
#include "source/mode.h"

/* Does the mode show waits that can be a rest? */
bool idle__concerns(const struct mode *mode);

struct idle_wait {
	uint32_t node;		/* of its state; what is below it is the same wait */
	uint32_t thread;	/* node */
	const char *method;	/* in which it waits: "Thread::Queue#pop"; a text of the frames */
};

/* Zero-initialise, but for the first parts. */
struct idle {
	const struct tree *tree;	/* each stack begins with its process and thread */
	const struct frame_table *frames;
	const struct owner_rules *rules;	/* NULL: none */
	const bool *left_out;		/* by node: of another mode; NULL: none is */
	uint32_t mode_frame;		/* 0: there is only one mode */
	bool ns_is_count;		/* times are in weight::count, as a comparison has them, else in weight::value */
	uint64_t window;		/* ns: how long the profile is; 0: unknown, and threads may have lived for a part of it */

	const struct idle_history *history;	/* of the windows before; NULL: none */

	struct idle_wait *waits;	/* what was found */
	uint32_t count;
	size_t room;
	bool *is;			/* by node: its samples are idle */
	uint64_t *sums;			/* by node: ns of it and of what is below it */
};

/* ns of the samples that end in a node. */
static inline uint64_t idle__ns(const struct idle *s, uint32_t node)
{
	const struct weight *self = &s->tree->nodes[node].self;

	return s->ns_is_count ? self->count : self->value;
}

/* 0 or -ENOMEM; the caller frees in both cases. */
int idle__find(struct idle *s);
/*
 * Of two sides whose trees have the same nodes, each with its own times: what is idle wherever it is.  *is: by node; the
 * caller frees it.  0 or -ENOMEM.
 */
int idle__find_of_both(struct idle sides[2], bool **is);
void idle__free(struct idle *s);

#endif /* EXTPROF_IDLE_H */
