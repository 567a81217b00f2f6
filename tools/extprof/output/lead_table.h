/* SPDX-License-Identifier: BSD-2-Clause */
/* The first tables of the summary: the application's methods and lines, and the owners of the other code. */
#ifndef EXTPROF_LEAD_TABLE_H
#define EXTPROF_LEAD_TABLE_H

#include "output/output.h"

/* Is there code whose owner can be asked for? */
bool lead_table__has(const struct report *r);
/* `top`: rows of each general table; these have a third of it, so that they are on one screen.  0 or -ENOMEM. */
int lead_table__add(const struct report *r, const struct output_options *o, unsigned int top, struct text *out);

#endif /* EXTPROF_LEAD_TABLE_H */
