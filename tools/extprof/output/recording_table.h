/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of the recordings that a report is of, for the terminal. */
#ifndef EXTPROF_RECORDING_TABLE_H
#define EXTPROF_RECORDING_TABLE_H

#include "base/text.h"
#include "output/output.h"

/* Nothing, if it is of one. */
void recording_table__add(const struct report *r, const struct output_options *o, struct text *out);

#endif /* EXTPROF_RECORDING_TABLE_H */
