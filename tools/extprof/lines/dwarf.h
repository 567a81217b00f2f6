/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions and lines at addresses of a file, by its debug information (DWARF), with libdw. */
#ifndef EXTPROF_DWARF_H
#define EXTPROF_DWARF_H

#include <stdint.h>

#include "parser/lines_wire.h"

struct dwarf_file;

/* Open a file and say in *about what it has.  *file is for dwarf_file__find(), and the caller's; NULL: *about has an error. */
void dwarf_file__open(struct dwarf_file **file, int fd, const struct lines_open *open, struct lines_about *about);
/* Find the function at an address and those that are inlined there.  The caller has set chain->address. */
void dwarf_file__find(struct dwarf_file *f, uint64_t address, struct lines_chain *chain);

#endif /* EXTPROF_DWARF_H */
