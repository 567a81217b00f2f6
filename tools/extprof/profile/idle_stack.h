/* SPDX-License-Identifier: BSD-2-Clause */
/* The stack of a wait, as idle.c judges it.  For idle.c only. */
#ifndef EXTPROF_IDLE_STACK_H
#define EXTPROF_IDLE_STACK_H

#include "profile/idle.h"

/* Frames of a stack that are looked at.  The rest of a thread is a shallow place, and that of a main thread less so. */
#define IDLE_DEPTH_MAX 192u
/* The kinds of places where a thread waits. */
enum idle_place {
	PLACE_NONE = 0,
	PLACE_SLEEP,
	PLACE_QUEUE,
	PLACE_CONDVAR,
	PLACE_JOIN,
	PLACE_SELECT,
	PLACE_ACCEPT,
	PLACE_REACTOR,	/* the loop of a scheduler of fibers: what its fibers wait for is shown as theirs */
};

struct idle_line {
	const struct frame *frame;
	struct owner owner;
	uint32_t at;		/* in idle_stack::nodes */
	bool own;		/* the thread's own code, see above */
};

struct idle_stack {
	uint32_t nodes[IDLE_DEPTH_MAX];	/* of code, outermost first */
	uint32_t count;
	uint32_t thread;		/* node; 0 none */
	struct idle_line ruby[IDLE_DEPTH_MAX];	/* code in Ruby that is not Ruby's own */
	uint32_t ruby_count;
	uint32_t inner;			/* of `ruby`: what waits; what follows is the standard library's monitor */
	bool labelled;			/* a label is set */
	bool is_main, direct, foreign, one_owner, loops;
	uint32_t methods;		/* of `ruby`, without blocks within what calls them */
};

/* Read the wait in a node; `state` is the state of that wait.  false: it is no rest, whatever the code is. */
bool idle_stack__take(struct idle_stack *k, const struct idle *s, uint32_t state);
/* After that, for a Ruby thread: find which of its code is the thread's own. */
void idle_stack__read(struct idle_stack *k, const struct idle *s);
/* After that: the method in which the innermost code waits, and what kind of place that is. */
enum idle_place idle_stack__place(const struct idle_stack *k, const struct idle *s, uint8_t state, const char **method);

/* Is it a function of --native or --kernel, or does it stand for some?  Those at the inner end of a stack are not in k->nodes. */
bool idle__is_machine(const struct frame *f);

/* Code of nobody else. */
static inline bool idle__is_app(const struct owner *o)
{
	return o->kind != OWNER_GEM && o->kind != OWNER_STDLIB;
}

bool idle__is_named(const struct owner *o, const char *name);

static inline const struct frame *idle__frame(const struct idle *s, uint32_t node)
{
	return frame_table__get(s->frames, s->tree->nodes[node].frame);
}

#endif /* EXTPROF_IDLE_STACK_H */
