/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/utc.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define SECOND 1000000000ull

uint64_t utc__now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* The length of the text.  64 bits of ns end in the year 2554, for which there is always room. */
static size_t put(char to[UTC_SIZE], uint64_t ns, const char *format)
{
	time_t second = (time_t)(ns / SECOND);
	struct tm tm;

	gmtime_r(&second, &tm);
	return strftime(to, UTC_SIZE, format, &tm);
}

const char *utc__text(char to[UTC_SIZE], uint64_t ns, bool fraction)
{
	size_t length = put(to, ns, "%Y-%m-%dT%H:%M:%S");

	if (fraction)
		length += (size_t)snprintf(to + length, UTC_SIZE - length, ".%09" PRIu64, (uint64_t)(ns % SECOND));
	snprintf(to + length, UTC_SIZE - length, "Z");
	return to;
}

const char *utc__for_name(char to[UTC_SIZE], uint64_t ns)
{
	size_t length = put(to, ns, "%Y%m%d-%H%M%S");

	snprintf(to + length, UTC_SIZE - length, "-%03uZ", (unsigned int)(ns % SECOND / 1000000));
	return to;
}
