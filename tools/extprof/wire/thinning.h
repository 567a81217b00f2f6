/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Chooses which of the scheduler's ticks are samples: `rate` of each `hz`, on each CPU.
 * Ticks are counted, not timed: a late tick counts like any other, and an idle CPU has
 * no ticks to count.
 *
 * A slot has `hz` units, and a tick advances by `rate` units.  Each slot has a point, and
 * the tick whose units contain the point is a sample.  The point is random, so that no
 * program can run in step with the samples (it could with each 5th tick of 250).  A tick
 * that spans two slots is at most one sample, with the sum of both chances (Deville's
 * systematic sampling).  So each tick has the same chance, and of N ticks
 * N * rate / hz are samples, give or take 1.
 */
#ifndef EXTPROF_THINNING_H
#define EXTPROF_THINNING_H

#include "ruby/debug_external.h"

#define THINNING_INLINE static inline __attribute__((always_inline))

/* One per CPU. */
struct thinning {
	uint64_t random;
	uint32_t at;		/* below hz */
	uint32_t point;		/* of this slot */
};

/* A number below `n`, each as likely as the others.  Knuth's generator: its upper bits are the good ones. */
THINNING_INLINE uint32_t thinning__random(struct thinning *t, uint32_t n)
{
	t->random = t->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((t->random >> 32) * n >> 32);
}

THINNING_INLINE void thinning__init(struct thinning *t, uint32_t hz, uint64_t seed)
{
	*t = (struct thinning){ .random = seed };
	t->point = thinning__random(t, hz);
}

/* A tick: is it a sample?  1 <= rate <= hz < 2^31. */
THINNING_INLINE int thinning__take(struct thinning *t, uint32_t rate, uint32_t hz)
{
	uint32_t from = t->at, to = from + rate;
	int is = from <= t->point && t->point < to;

	if (to < hz) {
		t->at = to;
		return is;
	}
	/* `to` units of this tick are in the next slot.  The point of that slot may be in
	 * them only if the point of the last slot was not in this tick. */
	to -= hz;
	t->at = to;
	if (!is && thinning__random(t, from) < to) {
		t->point = 0;	/* passed */
		return 1;
	}
	t->point = to + thinning__random(t, hz - to);
	return is;
}

#endif /* EXTPROF_THINNING_H */
