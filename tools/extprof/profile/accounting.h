/* SPDX-License-Identifier: BSD-2-Clause */
/* The sums: every sample that was taken is whole, truncated or lost. */
#ifndef EXTPROF_ACCOUNTING_H
#define EXTPROF_ACCOUNTING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "wire/counters.h"

struct accounting {
	uint64_t taken;
	uint64_t cpu_taken;	/* of them, by the timer: each stands for a period of CPU time */
	uint64_t whole;
	uint64_t truncated[TRUNC_MAX];
	uint64_t lost[LOSS_MAX];
};

/*
 * Put together what the kernel counted and what arrived: `got` has the samples as user space sorted them, with losses
 * that arose there.  A sample that was sent and did not arrive is a loss too.
 */
struct received {
	uint64_t whole;
	uint64_t truncated[TRUNC_MAX];
	uint64_t lost[LOSS_MAX];
};

void received__add(struct received *sum, const struct received *r);

uint64_t received__sum(const struct received *got);
/* accounting::cpu_taken is left to the caller. */
void accounting__settle(struct accounting *a, const struct source_counters *kernel,
			const struct received *got);
/* Add the sums of another one. */
void accounting__add(struct accounting *a, const struct accounting *other);

/* Losses that are known so far, while samples are still on their way: accounting__settle() finds more. */
uint64_t accounting__known_losses(const struct source_counters *kernel, const struct received *got);

uint64_t accounting__truncated(const struct accounting *a);
uint64_t accounting__lost(const struct accounting *a);
bool accounting__balanced(const struct accounting *a);

/* "samples taken 9 = whole 7 + truncated 1 (too-deep: 1) + lost 1 (ring-full: 1)" */
void accounting__add_line(const struct accounting *a, struct text *out);

#endif /* EXTPROF_ACCOUNTING_H */
