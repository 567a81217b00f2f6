/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which of the scheduler's ticks are samples, if they come upon a target: `rate`
 * of each `hz`, on each CPU.  Ticks are counted, not timed: how late one is
 * makes no difference, and those that an idle CPU does not have count for none.
 *
 * `hz` units are a slot, a tick advances by `rate` units, and is a sample if the
 * slot's point is in them.  The point is random: nothing can be in step with it,
 * as with each 5th tick of 250 for a rate of 50.  A tick across two slots may be
 * a sample for one of them only, with the chance that both together give it
 * (Deville's systematic sampling).  So each tick is one with the same chance, and
 * of N ticks N * rate / hz are, 1 more or less.
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

/* Below `n`, all alike.  Knuth's generator; its upper bits are the good ones. */
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
	/* `to` units of this tick are in the next slot, whose point is there
	 * only if that of the last one was not in the units here. */
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
