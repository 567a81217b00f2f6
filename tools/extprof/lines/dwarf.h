/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions and lines at addresses of a file, by its debug information (DWARF), with libdw. */
#ifndef EXTPROF_DWARF_H
#define EXTPROF_DWARF_H

#include <stdint.h>

#include "parser/lines_wire.h"

struct dwarf_file;

/* What the file has.  *file: the caller's, for dwarf_file__find(), if the result is without an error; else NULL. */
void dwarf_file__open(struct dwarf_file **file, int fd, const struct lines_open *open, struct lines_about *about);
/* What is at an address.  chain->address is the caller's. */
void dwarf_file__find(struct dwarf_file *f, uint64_t address, struct lines_chain *chain);

#endif /* EXTPROF_DWARF_H */
