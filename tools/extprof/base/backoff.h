/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When to look again at a program that is no ruby, or not ready to be sampled.
 * A program usually becomes ready soon after its exec.  So the looks are frequent at
 * first and become rare.
 */
#ifndef EXTPROF_BACKOFF_H
#define EXTPROF_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#define BACKOFF_MIN 2000000ull		/* ns */
#define BACKOFF_MAX 100000000ull
/* For this long a ruby that starts is looked at every BACKOFF_MIN: its first code matters. */
#define BACKOFF_STARTING 1000000000ull

struct backoff {
	uint64_t since;		/* when the program began; ns */
	uint64_t next;		/* time of the next look */
};

/* The process runs another program: look at once. */
void backoff__reset(struct backoff *b, uint64_t now);

/* The look found nothing to sample.  `starting`: it found a ruby that starts. */
void backoff__failed(struct backoff *b, uint64_t now, bool starting);

#endif /* EXTPROF_BACKOFF_H */
