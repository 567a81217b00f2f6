/* SPDX-License-Identifier: BSD-2-Clause */
/* The stacks that a look at a process needs: read, and sent as samples. */
#ifndef EXTPROF_WATCH_STACKS_H
#define EXTPROF_WATCH_STACKS_H

#include "remote/stop.h"
#include "remote/watch.h"

enum stack_use {
	STACK_OF_CPU,		/* the thread has a CPU, or lost it to another one */
	STACK_OF_WAIT,		/* it is blocked */
};

/* The stacks of one look. */
struct stacks_of {
	struct watch *watch;
	struct watcher *by;
	bool read;			/* else only what is known already is used */
	struct wanted_stack {
		uint32_t thread;	/* number in watch::threads */
		enum stack_use use;
		uint64_t ns;		/* STACK_OF_WAIT: it was blocked for so long since it was looked at */
	} *list;
	uint32_t count;
	size_t room;
};

/* 0 or -ENOMEM. */
int watch_stacks__add(struct stacks_of *of, uint32_t thread, enum stack_use use, uint64_t ns);
/* Read and send them all.  0 or -errno of reading the memory. */
int watch_stacks__read(struct stacks_of *of);
void watch_stacks__free(struct stacks_of *of);

/* The thread has waited for so much longer. */
void watch_stacks__wait_on(struct watched_thread *e, uint64_t ns);
/* The wait is over, and since then it waits for the GVL, with the same stack. */
void watch_stacks__wait_for_gvl(struct watch *w, struct watcher *by, struct watched_thread *e);

/* Send what is due of the thread, and its account.  `lives`: it goes on, else it is freed. */
void watch_stacks__end(struct watch *w, struct watcher *by, struct watched_thread *e, bool lives);

#endif /* EXTPROF_WATCH_STACKS_H */
