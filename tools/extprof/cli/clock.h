/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXTPROF_CLOCK_H
#define EXTPROF_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC, ns. */
static inline uint64_t clock__now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif /* EXTPROF_CLOCK_H */
