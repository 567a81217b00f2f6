/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of requests as columns of a text: those with least time are one, `other`, where there is no room. */
#ifndef EXTPROF_ANALYSIS_PART_COLUMNS_H
#define EXTPROF_ANALYSIS_PART_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "recording/requests.h"

/* The width of one of them, with a blank before it. */
#define PART_COLUMN 9u

struct part_columns {
	bool shown[REQUEST_PARTS];	/* `other` has the others, and is always there */
};

/* Sums of all rows, in any unit; `room` in columns of the text, 0: as much as needed. */
void part_columns__fit(struct part_columns *c, const double sums[REQUEST_PARTS], uint32_t room);
/* Append their names. */
void part_columns__add_head(const struct part_columns *c, struct text *out);
/* Append the parts of one row, ns, as ms. */
void part_columns__add(const struct part_columns *c, const double parts[REQUEST_PARTS], struct text *out);

#endif /* EXTPROF_ANALYSIS_PART_COLUMNS_H */
