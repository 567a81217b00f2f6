/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A budget for the CPU time of extprof itself.  If extprof uses more for two windows, one after the other, its rate becomes
 * lower.  If there was room for five windows, the rate becomes twice as high again, up to the one that was asked for.  If two
 * windows at a lower rate use as much as before, it is not the rate that costs: then the old rate comes back, and stays for a
 * while.
 */
#ifndef EXTPROF_DAEMON_OWN_COST_H
#define EXTPROF_DAEMON_OWN_COST_H

#include <stdbool.h>
#include <stdint.h>

struct own_cost {
	double share;		/* of one CPU that it may use; 0: there is no budget */
	uint64_t window;	/* ns */
	uint32_t most, rate;	/* that was asked for, and that there is */
	/* The window that goes on: when it began, CLOCK_MONOTONIC, ns, and the CPU time at that time, s. */
	uint64_t since;
	double used;
	uint32_t above, room;	/* windows that were so, one after the other */
	double before_share;	/* before the rate became lower */
	uint32_t before_rate;	/* the same; 0: it did not, or it has helped */
	uint32_t stay;		/* windows in which it does not become lower */
	bool starts;		/* it is the first one */
	bool told;		/* that the lowest rate is too much */
};

/* Begin: `used` is the CPU time by now, s.  The first window is that of the start, which says nothing of later ones. */
void own_cost__begin(struct own_cost *c, double share, uint64_t window, uint32_t rate, uint64_t now, double used);

enum own_cost_change {
	OWN_COST_SAME, OWN_COST_LOWER, OWN_COST_HIGHER,
	OWN_COST_BACK,		/* higher, as the lower one has not helped */
	OWN_COST_LOWEST		/* it uses too much at the lowest rate; it is told once */
};

/*
 * How is it now?  If a rate is to be changed, *rate is the new one, and the caller says with own_cost__changed() when it
 * counts.  *share: of the window that is over.
 */
enum own_cost_change own_cost__look(struct own_cost *c, uint64_t now, double used, uint32_t *rate, double *share);
/* The rate is another one: what was seen before says nothing of it. */
void own_cost__changed(struct own_cost *c, uint32_t rate, uint64_t now, double used);

#endif /* EXTPROF_DAEMON_OWN_COST_H */
