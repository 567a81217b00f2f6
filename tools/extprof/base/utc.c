/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/utc.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define SECOND 1000000000ull

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

uint64_t utc__now(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t utc__of_monotonic(uint64_t time)
{
	uint64_t now = read_clock(CLOCK_MONOTONIC);

	return utc__now() - (now > time ? now - time : 0);
}

/* The length of the text; 0: there is none. */
static size_t put(char to[UTC_SIZE], uint64_t ns, const char *format)
{
	time_t second = (time_t)(ns / SECOND);
	struct tm tm;
	size_t length = gmtime_r(&second, &tm) ? strftime(to, UTC_SIZE, format, &tm) : 0;

	to[length] = '\0';
	return length;
}

const char *utc__text(char to[UTC_SIZE], uint64_t ns, bool fraction)
{
	size_t length = put(to, ns, "%Y-%m-%dT%H:%M:%S");

	if (length && fraction)
		snprintf(to + length, UTC_SIZE - length, ".%09" PRIu64 "Z", (uint64_t)(ns % SECOND));
	else if (length)
		snprintf(to + length, UTC_SIZE - length, "Z");
	return to;
}

const char *utc__for_name(char to[UTC_SIZE], uint64_t ns)
{
	size_t length = put(to, ns, "%Y%m%d-%H%M%S");

	if (length)
		snprintf(to + length, UTC_SIZE - length, "-%03uZ", (unsigned int)(ns % SECOND / 1000000));
	return to;
}
