/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Was the machine suspended, or its clock set?  A recording counts from its begin by CLOCK_MONOTONIC, which does neither: from then on
 * its times of the day are wrong.
 */
#ifndef EXTPROF_CLOCK_STEPS_H
#define EXTPROF_CLOCK_STEPS_H

#include <stddef.h>
#include <stdint.h>

/* How far other clocks are ahead of CLOCK_MONOTONIC, ns.  All 0: they were not read. */
struct clock_offsets {
	int64_t wall;		/* CLOCK_REALTIME */
	int64_t boot;		/* CLOCK_BOOTTIME, which goes on while the machine is suspended */
};

struct clock_offsets clock_offsets__read(void);

/* Describe a step of a clock since *then; NULL: none that matters.  Clocks that are slowly put right do not. */
const char *clock_offsets__step(const struct clock_offsets *then, const struct clock_offsets *now, char *text, size_t size);

#endif /* EXTPROF_CLOCK_STEPS_H */
