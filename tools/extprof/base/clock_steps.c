/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/clock_steps.h"

#include <stdio.h>
#include <time.h>

#define SECOND 1000000000ll
#define STEP (2 * SECOND)
/* Clocks are read one after the other so soon, ns, or once more. */
#define SOON 1000000
#define TRIES 8

static int64_t now_of(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

struct clock_offsets clock_offsets__read(void)
{
	struct clock_offsets offsets = { 0 };

	/* A process can be stopped between two clocks. */
	for (int i = 0; i < TRIES; i++) {
		int64_t monotonic = now_of(CLOCK_MONOTONIC);

		offsets = (struct clock_offsets){ .wall = now_of(CLOCK_REALTIME) - monotonic, .boot = now_of(CLOCK_BOOTTIME) - monotonic };
		if (now_of(CLOCK_MONOTONIC) - monotonic < SOON)
			break;
	}
	return offsets;
}

const char *clock_offsets__step(const struct clock_offsets *then, const struct clock_offsets *now, char *text, size_t size)
{
	int64_t slept = now->boot - then->boot, set = now->wall - then->wall - slept;

	if (!then->wall && !then->boot)
		return NULL;
	if (slept >= STEP)
		snprintf(text, size, "the machine was suspended for %lld s", (long long)(slept / SECOND));
	else if (set >= STEP || set <= -STEP)
		snprintf(text, size, "the clock was set by %+lld s", (long long)(set / SECOND));
	else
		return NULL;
	return text;
}
