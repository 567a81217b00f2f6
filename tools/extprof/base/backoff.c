/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/backoff.h"

/* The wait is at most this part of the time since the program started. */
#define PART 8

void backoff__reset(struct backoff *b, uint64_t now)
{
	b->since = b->next = now;
}

void backoff__failed(struct backoff *b, uint64_t now, bool starting)
{
	uint64_t wait = (now - b->since) / PART;

	if (wait < BACKOFF_MIN || (starting && now - b->since < BACKOFF_STARTING))
		wait = BACKOFF_MIN;
	if (wait > BACKOFF_MAX)
		wait = BACKOFF_MAX;
	b->next = now + wait;
}
