/* SPDX-License-Identifier: BSD-2-Clause */
/* The account of what threads did. */
#ifndef EXTPROF_STATE_TABLE_H
#define EXTPROF_STATE_TABLE_H

#include "output/output.h"

/* Append a row for each thread, the `top` longest lives, and the sums.  Nothing if it was not measured.  0 or -ENOMEM. */
int state_table__add(const struct report *r, const struct output_options *o, unsigned int top, struct text *out);

#endif /* EXTPROF_STATE_TABLE_H */
