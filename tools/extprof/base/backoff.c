/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/backoff.h"

/* Late by no more than this part of the time that it has taken so far. */
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
