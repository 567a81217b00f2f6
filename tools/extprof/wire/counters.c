/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/counters.h"

static void add(struct source_counters *sum, const struct source_counters *c, uint64_t sign)
{
	sum->taken += sign * c->taken;
	sum->missed += sign * c->missed;
	sum->unfollowed += sign * c->unfollowed;
	sum->whole += sign * c->whole;
	for (int i = 0; i < TRUNC_MAX; i++)
		sum->truncated[i] += sign * c->truncated[i];
	for (int i = 0; i < LOSS_MAX; i++)
		sum->lost[i] += sign * c->lost[i];
}

void source_counters__add(struct source_counters *sum, const struct source_counters *c)
{
	add(sum, c, 1);
}

void source_counters__subtract(struct source_counters *sum, const struct source_counters *c)
{
	add(sum, c, UINT64_MAX);
}
