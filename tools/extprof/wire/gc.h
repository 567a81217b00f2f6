/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A pause for garbage collection as a sample of SOURCE_GC: `value` is its length, ns; `more` is how much of it the
 * thread waited for a CPU; `extra` is gc_cause | gc_flags << 16 of the contract, 0 unknown.  `detail` and `state` hold
 * the time per phase in units of 64 ns (GC_UNIT): 32 bits are four minutes.  The rest of the length is in no phase.
 * `ip` has the lower 32 bits each of gc_cycles and gc_major_cycles at the end of the pause.
 */
#ifndef EXTPROF_WIRE_GC_H
#define EXTPROF_WIRE_GC_H

#include "wire/sample.h"

#define GC_UNIT 64u	/* ns */

static inline uint64_t gc__pack(uint64_t ns)
{
	uint64_t units = (ns + GC_UNIT / 2) / GC_UNIT;

	return units > 0xffffffffu ? 0xffffffffu : units;
}

static inline uint64_t gc__pack_cycles(uint64_t cycles, uint64_t major)
{
	return (cycles & 0xffffffffu) | major << 32;
}

static inline uint64_t gc__mark_ns(const struct sample_event *e)
{
	return (e->detail & 0xffffffffu) * GC_UNIT;
}

static inline uint64_t gc__sweep_ns(const struct sample_event *e)
{
	return (e->detail >> 32) * GC_UNIT;
}

static inline uint64_t gc__compact_ns(const struct sample_event *e)
{
	return (uint64_t)e->state * GC_UNIT;
}

/* A VM that is followed, and its pause if it is in one. */
struct gc_pause {
	/* Pauses of this gc_count and earlier ones may have begun before the probe was attached. */
	uint64_t known;
	uint64_t start;		/* CLOCK_MONOTONIC, ns */
	uint64_t since;		/* of the phase */
	uint64_t waited;	/* for a CPU, in the life of the thread until the start, ns */
	uint64_t times[8];	/* ns in each phase; a power of two */
	uint32_t phase;		/* RB_DEBUG_EXT_GC_NONE: not in a pause */
	uint32_t partial;	/* its beginning was not seen, or may not have been */
	uint64_t scratch;	/* of the program */
};

#endif /* EXTPROF_WIRE_GC_H */
