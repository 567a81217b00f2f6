/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures how long a timer's interrupt takes on this machine.  If it takes longer than
 * the time between two interrupts, the machine does nothing else.
 */
#ifndef EXTPROF_TIMER_COST_H
#define EXTPROF_TIMER_COST_H

#include <stdint.h>

#include "base/diag.h"

/* Rates up to this are safe on every machine, and nothing is measured. */
#define TIMER_COST_RATE_SAFE 10000u

/* The measurement waits for so many interrupts, one in so many ns: 2 kHz for 20 ms are harmless. */
#define TIMER_COST_PERIOD 500000ull
#define TIMER_COST_COUNT 40u

/* The program that is interrupted reads a clock again and again.  All zero: nothing yet. */
struct timer_gaps {
	uint64_t ran;		/* ns that it was on the CPU */
	uint64_t least;		/* what a reading takes by itself, ns */
	uint32_t count;
	uint64_t longest[TIMER_COST_COUNT + 1];	/* of the gaps between two readings; falling */
};

void timer_cost__add(struct timer_gaps *gaps, uint64_t gap);
/* Time of one interrupt, ns; 0 not known. */
uint64_t timer_cost__estimate(const struct timer_gaps *gaps);
/* Does this rate leave the CPUs half of their time?  0, -EINVAL: no, or -EAGAIN: not known. */
int timer_cost__judge(uint32_t rate, uint64_t interrupt, struct diag *d);

/* The same by a measurement, of 20 ms on a quiet machine. */
int timer_cost__check(uint32_t rate, struct diag *d);

#endif /* EXTPROF_TIMER_COST_H */
