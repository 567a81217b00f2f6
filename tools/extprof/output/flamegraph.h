/* SPDX-License-Identifier: BSD-2-Clause */
/* A flame graph that compares. */
#ifndef EXTPROF_OUTPUT_FLAMEGRAPH_H
#define EXTPROF_OUTPUT_FLAMEGRAPH_H

#include "output/output.h"

struct flame_change {
	double before, after;	/* shares of all, 0 to 1 */
	bool decided;		/* it is more than noise */
};

struct flame_diff {
	const struct flame_change *changes;	/* by node of the report */
	const char *lines[2];	/* what was before and after, for the head */
};

/* The report's amounts are widths and nothing else.  0 or -errno, as output_format::write(). */
int flamegraph__write_diff(const struct report *r, const struct flame_diff *d, const struct output_options *o, FILE *to);

#endif /* EXTPROF_OUTPUT_FLAMEGRAPH_H */
