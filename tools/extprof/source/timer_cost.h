/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an interrupt by a timer takes on this machine.  Where that is longer than
 * the time between two of them, the machine does nothing else any more.
 */
#ifndef EXTPROF_TIMER_COST_H
#define EXTPROF_TIMER_COST_H

#include <stdint.h>

#include "base/diag.h"

/* Up to here no machine is in danger, and nothing is measured. */
#define TIMER_COST_RATE_SAFE 10000u

/* Interrupts that are waited for, one in so many ns: 2 kHz are harmless, for 20 ms. */
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
/* What one interrupt takes, ns; 0 not known. */
uint64_t timer_cost__estimate(const struct timer_gaps *gaps);
/* Does that leave the CPUs half of their time?  0, -EINVAL, or -EAGAIN where it is not known. */
int timer_cost__judge(uint32_t rate, uint64_t interrupt, struct diag *d);

/* The same by a measurement, of 20 ms on a quiet machine. */
int timer_cost__check(uint32_t rate, struct diag *d);

#endif /* EXTPROF_TIMER_COST_H */
