/* SPDX-License-Identifier: BSD-2-Clause */
/* The map that a JIT writes of its functions: lines of an address, a size (both in hex) and a name.  Nobody vouches for it. */
#ifndef EXTPROF_PERF_MAP_H
#define EXTPROF_PERF_MAP_H

#include <stdint.h>

#include "parser/elf_symbols.h"

#define PERF_MAP_MAX (64u << 20)	/* bytes of a file that is read */

/*
 * The next functions, in the order of the file, as elf_symbols__read() has those of a file; addresses are those of the process.
 * symbols_place::entry is a byte of the file.  A line without an end is being written, and a name that is too long is cut off.
 * 0; -E2BIG: the file is too large; or -errno of a read.
 */
int perf_map__read(int fd, uint64_t size, const struct symbols_place *from, struct symbols_piece *piece);

#endif /* EXTPROF_PERF_MAP_H */
