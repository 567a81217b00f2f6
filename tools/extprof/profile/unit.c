/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/unit.h"

#include <inttypes.h>
#include <string.h>

/* The first name of a unit and divisor is the usual one. */
static const struct unit_choice units[] = {
	{ "count", UNIT_COUNT, 1 },
	{ "samples", UNIT_COUNT, 1 },
	{ "ns", UNIT_NS, 1 },
	{ "us", UNIT_NS, 1000 },
	{ "ms", UNIT_NS, 1000000 },
	{ "s", UNIT_NS, 1000000000 },
	{ "bytes", UNIT_BYTES, 1 },
	{ "KiB", UNIT_BYTES, 1024 },
	{ "MiB", UNIT_BYTES, 1024 * 1024 },
};

#define UNITS (sizeof(units) / sizeof(units[0]))

const struct unit_choice *unit__by_name(const char *name)
{
	for (size_t i = 0; i < UNITS; i++)
		if (!strcasecmp(units[i].name, name))
			return &units[i];
	return NULL;
}

bool unit__fits(const struct unit_choice *unit, const struct mode *mode)
{
	return unit->unit == mode->value.unit || unit->unit == mode->count.unit;
}

const char *unit__all_of(const struct mode *mode)
{
	return mode->value.unit == UNIT_BYTES ? "bytes and numbers" :
	       mode->value.unit == UNIT_NS ? "times and numbers" : "numbers only";
}

const char *unit__name(int i)
{
	return i >= 0 && (size_t)i < UNITS ? units[i].name : NULL;
}

uint64_t unit__default_divisor(enum unit unit)
{
	return unit == UNIT_NS ? 1000 : 1;
}

const char *unit__of_divided(const struct metric *metric, uint64_t divisor)
{
	if (metric->unit == UNIT_COUNT)
		return metric->name;
	for (size_t i = 0; i < UNITS; i++)
		if (units[i].unit == metric->unit && units[i].divisor == divisor)
			return units[i].name;
	return metric->name;
}

static void add_bytes(uint64_t amount, struct text *out)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double n = (double)amount;
	size_t i = 0;

	while (n >= 1024 && i + 1 < sizeof(names) / sizeof(names[0])) {
		n /= 1024;
		i++;
	}
	text__addf(out, i ? "%.1f %s" : "%.0f %s", n, names[i]);
}

void unit__add_with_name(const struct metric *metric, uint64_t amount, struct text *out)
{
	unit__add_amount(metric->unit, amount, out);
	if (metric->unit == UNIT_COUNT)
		text__addf(out, " %s", metric->name);
}

void unit__add_amount(enum unit unit, uint64_t amount, struct text *out)
{
	switch (unit) {
	case UNIT_NS:
		if (amount < 1000000)
			text__addf(out, "%.1f us", (double)amount / 1e3);
		else if (amount < 1000000000)
			text__addf(out, "%.2f ms", (double)amount / 1e6);
		else
			text__addf(out, "%.3f s", (double)amount / 1e9);
		break;
	case UNIT_BYTES:
		add_bytes(amount, out);
		break;
	default:
		text__addf(out, "%" PRIu64, amount);
	}
}
