/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes of a profile, as the summary shows them. */
#ifndef EXTPROF_PROCESS_TABLE_H
#define EXTPROF_PROCESS_TABLE_H

#include "output/output.h"

/*
 * Append a row for each process, those with the most samples first, at most `rows` of them, and their
 * sum.  Nothing if there is only one.  0 or -ENOMEM.
 */
int process_table__add(const struct report *r, const struct output_options *o, unsigned int rows,
		       struct text *out);

/*
 * Append the processes that used CPU time while they were not profiled, with that time, and why.
 * Nothing if there is none.  0 or -ENOMEM.
 */
int process_table__add_unfollowed(const struct report *r, const struct output_options *o,
				  unsigned int rows, struct text *out);

/* CPU time by samples of the timer, ns. */
uint64_t process_table__sampled(const struct report *r, uint64_t cpu_taken);

#endif /* EXTPROF_PROCESS_TABLE_H */
