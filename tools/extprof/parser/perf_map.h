/* SPDX-License-Identifier: BSD-2-Clause */
/* The map that a JIT writes of its functions: lines of an address, a size (both in hex) and a name.  Nobody vouches for it. */
#ifndef EXTPROF_PERF_MAP_H
#define EXTPROF_PERF_MAP_H

#include <stdint.h>

#include "parser/elf_symbols.h"

/* Bytes of a file that are read: the last ones.  Memory is used again, and a later line is what is there now, so that a map
 * without its oldest lines has no wrong names. */
#define PERF_MAP_MAX (16u << 20)

/* How many bytes at the beginning of a file of that size are not read. */
uint64_t perf_map__begin(uint64_t size);

/*
 * The next functions, in the order of the file, as elf_symbols__read() has those of a file; addresses are those of the process.
 * symbols_place::entry and elf_symbol::end count bytes from where the reading of a file of that size begins.  A line without an end is being
 * written, and a name that is too long is cut off.  A line without a name, or with one that is none, is code without a name.
 * 0, or -errno of a read.
 */
int perf_map__read(int fd, uint64_t size, const struct symbols_place *from, struct symbols_piece *piece);

#endif /* EXTPROF_PERF_MAP_H */
