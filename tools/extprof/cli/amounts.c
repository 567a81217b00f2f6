/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/amounts.h"

#include <inttypes.h>
#include <stdio.h>

const char *amount__time(uint64_t ns, char text[AMOUNT_TEXT])
{
	if (ns >= 1000000000u)
		snprintf(text, AMOUNT_TEXT, "%.3f s", (double)ns / 1e9);
	else if (ns >= 1000000u)
		snprintf(text, AMOUNT_TEXT, "%.2f ms", (double)ns / 1e6);
	else
		snprintf(text, AMOUNT_TEXT, "%.1f us", (double)ns / 1e3);
	return text;
}

const char *amount__bytes(double bytes, char text[AMOUNT_TEXT])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	unsigned int i = 0;

	while (bytes >= 1024 && i < 5) {
		bytes /= 1024;
		i++;
	}
	snprintf(text, AMOUNT_TEXT, i ? "%.1f %s" : "%.0f %s", bytes, units[i]);
	return text;
}

const char *amount__count(uint64_t count, char text[AMOUNT_TEXT])
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count), at = 0;

	for (int i = 0; i < length; i++) {
		if (i && !((length - i) % 3))
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	return text;
}
