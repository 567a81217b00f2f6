/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of the functions in a map that a JIT writes: which of them has an address. */
#ifndef EXTPROF_JIT_NAMES_H
#define EXTPROF_JIT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "native/native_work.h"

/* Lines of one map, and bytes of their names. */
#define JIT_LINES_MAX (512u << 10)
#define JIT_TEXT_MAX (20u << 20)

/* Add a line, in the order of the file; a length of 0 is code without a name.  `is_new`: as in native_symbol.  0 or -E2BIG. */
int jit_names__add(struct native_names *names, uint64_t address, uint64_t size, const char *name, uint32_t length, bool is_new);
/*
 * To be called after the last line.  Where lines overlap, the later one counts; the rest of the older one keeps its name.  The
 * result is in the order of addresses, and each place is in it once.  native_symbol::replaced is set.  0 or -ENOMEM.
 */
int jit_names__cut(struct native_names *names);
/* The place at an address; NULL: none.  After jit_names__cut(). */
const struct native_symbol *jit_names__place(const struct native_names *names, uint64_t address);
/* The name there, not clean; NULL: none. */
const char *jit_names__find(const struct native_names *names, uint64_t address);
/* Has each function of `before` the same place and name in `now`? */
bool jit_names__has_all(const struct native_names *now, const struct native_names *before);

#endif /* EXTPROF_JIT_NAMES_H */
