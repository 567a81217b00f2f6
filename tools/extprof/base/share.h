/* SPDX-License-Identifier: BSD-2-Clause */
/* One amount as a part of another one; a part of nothing is 0.  For the program too, which has no objects of the library. */
#ifndef EXTPROF_SHARE_H
#define EXTPROF_SHARE_H

#include <stdint.h>

static inline double share__of(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static inline double share__percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

#endif /* EXTPROF_SHARE_H */
