/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FNV-1a with 64 bits, for numbers that outlive the process: rows that ClickHouse has stored, and names of files with a state.
 * It is never changed.  Tables in memory have hash__bytes() of base/map64.h.
 */
#ifndef EXTPROF_FNV_H
#define EXTPROF_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_BEGIN 14695981039346656037ull

/* h: FNV_BEGIN, or the hash of what comes before. */
static inline uint64_t fnv__add(uint64_t h, const void *data, size_t length)
{
	for (const unsigned char *p = data; length; length--, p++)
		h = (h ^ *p) * 1099511628211ull;
	return h;
}

#endif /* EXTPROF_FNV_H */
