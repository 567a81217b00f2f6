/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The index from which the line of an instruction is looked up, see "Lines" in debug_external.h. */
#ifndef EXTPROF_WIRE_LINES_H
#define EXTPROF_WIRE_LINES_H

#ifdef __bpf__
#include "ruby/debug_external.h"
#else
#include <stdint.h>
#endif

#define LINES_IMMEDIATE 54u		/* positions in its first part */
#define LINES_BLOCK_POSITIONS 512u
#define LINES_BLOCK_SIZE 80u

/* Bytes of the index for code of that many instruction words. */
static inline uint64_t lines__index_size(uint32_t code_size)
{
	if (code_size < LINES_IMMEDIATE)
		return (code_size + 8ull) / 9 * 8;
	return LINES_IMMEDIATE / 9 * 8 + (code_size - LINES_IMMEDIATE + LINES_BLOCK_POSITIONS - 1ull) /
	       LINES_BLOCK_POSITIONS * LINES_BLOCK_SIZE;
}

#endif /* EXTPROF_WIRE_LINES_H */
