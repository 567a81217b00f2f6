/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The past of threads, as far as idle.c needs it: a window of a second does not show that a thread rests for a minute.  The
 * history has sums of the windows before, by a hash of the thread and its stack.  It has no frames and no tree, so it stays
 * when those of a window are forgotten.  A thread is known by its process and its number.
 */
#ifndef EXTPROF_IDLE_HISTORY_H
#define EXTPROF_IDLE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map64.h"

/* It goes back for so long at least, ns, and for twice as long at most, but for windows that are longer. */
#define IDLE_HISTORY_SPAN 30000000000ull
/* Sums that are kept.  A wait for which there is no room counts as new, and is shown. */
#define IDLE_HISTORY_MAX 65536u

struct idle;

struct idle_past {
	uint64_t key;
	uint64_t ns[2];		/* of the younger and of the older half of the history */
	bool calls;		/* other Ruby code was called from there */
};

/* Zero-initialise. */
struct idle_history {
	struct idle_past *list;
	uint32_t count;
	size_t room;
	struct map64 map;	/* key -> place in the list */
	uint64_t window[2];	/* ns that were recorded, of both halves */
	uint64_t span;		/* 0: IDLE_HISTORY_SPAN; another one for tests */
};

/* Keys of the nodes of a profile.  0: nothing is known of it from before. */
struct idle_keys {
	uint64_t *paths;	/* of the methods from the thread to the node, whatever their lines and labels are */
	uint64_t *waits;	/* of a state: of the lines from the thread to it, without functions of machine code */
};

/* 0 or -ENOMEM; the caller frees in both cases. */
int idle_keys__make(struct idle_keys *k, const struct idle *s);
void idle_keys__free(struct idle_keys *k);

/* A window is over: keep what its threads did.  Of the profile the first parts are used.  0; -ENOMEM: it forgets all. */
int idle_history__add(struct idle_history *h, const struct idle *s);
/* The sums of a key; 0 if it has none, or without a history. */
uint64_t idle_history__ns(const struct idle_history *h, uint64_t key);
bool idle_history__calls(const struct idle_history *h, uint64_t key);
/* ns that it is of; 0 without a history. */
uint64_t idle_history__window(const struct idle_history *h);
void idle_history__free(struct idle_history *h);

#endif /* EXTPROF_IDLE_HISTORY_H */
