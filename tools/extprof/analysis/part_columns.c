/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/part_columns.h"

void part_columns__fit(struct part_columns *c, const double sums[REQUEST_PARTS], uint32_t room)
{
	uint32_t columns = 1;

	for (int i = 0; i < REQUEST_PARTS; i++) {
		/* Parked fibers are seldom there. */
		c->shown[i] = i != PART_PARKED && i != PART_OTHER;
		columns += c->shown[i];
	}
	while (room && columns > 2 && columns * PART_COLUMN > room) {
		int least = -1;

		for (int i = 0; i < REQUEST_PARTS; i++)
			if (c->shown[i] && i != PART_RUN && (least < 0 || sums[i] <= sums[least]))
				least = i;
		c->shown[least] = false;
		columns--;
	}
}

void part_columns__add_head(const struct part_columns *c, struct text *out)
{
	for (int i = 0; i < REQUEST_PARTS; i++)
		if (c->shown[i])
			text__addf(out, " %8s", request_part_names[i]);
	text__addf(out, " %8s", "other");
}

void part_columns__add(const struct part_columns *c, const double parts[REQUEST_PARTS], struct text *out)
{
	double other = 0;

	for (int i = 0; i < REQUEST_PARTS; i++) {
		if (c->shown[i])
			text__addf(out, " %8.1f", parts[i] / 1e6);
		else
			other += parts[i];
	}
	text__addf(out, " %8.1f", other / 1e6);
}
