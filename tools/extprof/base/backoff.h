/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When to look again at a program that is no ruby, or not ready to be sampled.
 * One that becomes so does it soon after its exec; what has been something else
 * for long may be that for good.
 */
#ifndef EXTPROF_BACKOFF_H
#define EXTPROF_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#define BACKOFF_MIN 2000000ull		/* ns */
#define BACKOFF_MAX 100000000ull
/* A ruby that starts is waited for closely so long: what runs first matters. */
#define BACKOFF_STARTING 1000000000ull

struct backoff {
	uint64_t since;		/* the program is what it is; ns */
	uint64_t next;		/* time of the next look */
};

/* There is another program: look at once. */
void backoff__reset(struct backoff *b, uint64_t now);

/* It has been looked at in vain. */
void backoff__failed(struct backoff *b, uint64_t now, bool starting);

#endif /* EXTPROF_BACKOFF_H */
