/* SPDX-License-Identifier: BSD-2-Clause */
/* --unit: in which unit amounts are shown. */
#ifndef EXTPROF_UNIT_H
#define EXTPROF_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "source/mode.h"

struct unit_choice {
	const char *name;	/* "us" */
	enum unit unit;
	uint64_t divisor;	/* of the amount: 1000 for us */
};

/* NULL: there is none of that name. */
const struct unit_choice *unit__by_name(const char *name);
/* Are amounts of the mode of that kind? */
bool unit__fits(const struct unit_choice *unit, const struct mode *mode);
/* "times and numbers": what it can be shown in. */
const char *unit__all_of(const struct mode *mode);
/* Names of the units, from 0; NULL behind the last one. */
const char *unit__name(int i);

/* The divisor of text formats if nothing was chosen: times are in us. */
uint64_t unit__default_divisor(enum unit unit);
/* "samples" of counts, "us" of times by default: the unit of a divided amount. */
const char *unit__of_divided(const struct metric *metric, uint64_t divisor);

/* Append an amount with its name: "123 samples", "1.234 s". */
void unit__add_with_name(const struct metric *metric, uint64_t amount, struct text *out);
/* Append an amount for people: "123", "1.234 s", "56.0 KiB". */
void unit__add_amount(enum unit unit, uint64_t amount, struct text *out);

#endif /* EXTPROF_UNIT_H */
