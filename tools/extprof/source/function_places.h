/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a function is in a file, by its name. */
#ifndef EXTPROF_FUNCTION_PLACES_H
#define EXTPROF_FUNCTION_PLACES_H

#include "base/diag.h"
#include "source/usdt.h"

/*
 * The beginnings of all functions of that name in an ELF file: several ones can be local to their source files.
 * 0, or -errno with the diagnosis: -ENOENT there is none.
 */
int function_places__find(int fd, const char *name, struct usdt *places, struct diag *d);

#endif /* EXTPROF_FUNCTION_PLACES_H */
