/* SPDX-License-Identifier: BSD-2-Clause */
/* Flame graphs that compare, and pages that have more than the graph. */
#ifndef EXTPROF_OUTPUT_FLAMEGRAPH_H
#define EXTPROF_OUTPUT_FLAMEGRAPH_H

#include "output/output.h"

struct flame_choice;

struct flame_change {
	double before, after;	/* shares of all, 0 to 1 */
	bool decided;		/* it is more than noise */
	uint64_t own[2];	/* amounts of the node alone */
	double squares[2];	/* of these: the sums of the squares of what each sample stands for */
};

struct flame_diff {
	const struct flame_change *changes;	/* by node of the report */
	const char *lines[2];	/* what was before and after, for the head */
	uint64_t all[2];	/* amounts of the whole, and the squares */
	double squares[2];
	double errors;		/* standard errors that are noise: by these numbers the script says it of other sums */
};

/* The report's amounts are widths and nothing else.  0 or -errno, as output_format::write(). */
int flamegraph__write_diff(const struct report *r, const struct flame_diff *d, const struct output_options *o, FILE *to);

/* An HTML page has this besides the graph.  Texts are of the format, and no names are in them. */
struct flame_part {
	const char *css, *body, *script;	/* the script runs after that of the graph */
	/* Add members to the object of the data, each with a comma before it.  0 or -errno. */
	int (*add_data)(const struct report *r, const struct flame_choice *c, struct text *out);
};

/* 0 or -errno, as output_format::write(). */
int flamegraph__write_part(const struct report *r, const struct flame_part *part, FILE *to);

#endif /* EXTPROF_OUTPUT_FLAMEGRAPH_H */
