/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A histogram of lengths: 64 classes for each power of two.  Kernel and user space count in the same classes.  The
 * length that is read from a class is its largest one: it is never too small, and at most 1/64 (1.6 %) too large.
 */
#ifndef EXTPROF_WIRE_HISTOGRAM_H
#define EXTPROF_WIRE_HISTOGRAM_H

#include "wire/sample.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define HISTOGRAM_BITS 6u
/* Lengths from 2^40 ns (18 minutes) on are in one class, the last one. */
#define HISTOGRAM_TOP 40u
#define HISTOGRAM_CLASSES (((HISTOGRAM_TOP - HISTOGRAM_BITS + 1u) << HISTOGRAM_BITS) + 1u)

struct histogram {
	uint64_t counts[HISTOGRAM_CLASSES];
};

/* Position of the highest bit of a number that is not 0.  Not a builtin: BPF has no instruction for it. */
static __always_inline uint32_t histogram__log2(uint64_t n)
{
	uint32_t bit = 0, shift;

	shift = (n > 0xffffffffull) << 5; n >>= shift; bit |= shift;
	shift = (n > 0xffffull) << 4; n >>= shift; bit |= shift;
	shift = (n > 0xffull) << 3; n >>= shift; bit |= shift;
	shift = (n > 0xfull) << 2; n >>= shift; bit |= shift;
	shift = (n > 0x3ull) << 1; n >>= shift; bit |= shift;
	return bit | (uint32_t)(n >> 1);
}

/* The class of a length, below HISTOGRAM_CLASSES. */
static __always_inline uint32_t histogram__class(uint64_t length)
{
	uint32_t shift, class;

	if (length < 1u << HISTOGRAM_BITS)
		return (uint32_t)length;
	shift = histogram__log2(length) - HISTOGRAM_BITS;
	class = (shift << HISTOGRAM_BITS) + (uint32_t)(length >> shift);
	return class < HISTOGRAM_CLASSES ? class : HISTOGRAM_CLASSES - 1;
}

/* The largest length of a class; of the last one UINT64_MAX. */
static __always_inline uint64_t histogram__end(uint32_t class)
{
	uint32_t shift = class >> HISTOGRAM_BITS;
	uint64_t first = (class & ((1u << HISTOGRAM_BITS) - 1)) + (1ull << HISTOGRAM_BITS);

	if (class >= HISTOGRAM_CLASSES - 1)
		return ~0ull;
	if (!shift)
		return class;
	shift--;
	return ((first + 1) << shift) - 1;
}

#endif /* EXTPROF_WIRE_HISTOGRAM_H */
