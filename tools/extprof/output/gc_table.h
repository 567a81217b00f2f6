/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of pauses for garbage collection in the summary. */
#ifndef EXTPROF_GC_TABLE_H
#define EXTPROF_GC_TABLE_H

#include "output/output.h"

/* Append the table of r->pauses, with at most `top` threads. */
void gc_table__add(const struct report *r, const struct output_options *o, unsigned int top, struct text *out);

#endif /* EXTPROF_GC_TABLE_H */
