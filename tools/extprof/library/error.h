/* SPDX-License-Identifier: BSD-2-Clause */
/* From errors inside to those of extprof.h, and the structures that a caller fills. */
#ifndef EXTPROF_LIBRARY_ERROR_H
#define EXTPROF_LIBRARY_ERROR_H

#include <stddef.h>

#include "base/diag.h"
#include "extprof.h"

/* Fill *error, which may be NULL, from *d if err < 0.  Returns err. */
int error__from(struct extprof_error *error, int err, const struct diag *d);
/* Fill *error, which may be NULL.  Returns -errnum. */
int error__set(struct extprof_error *error, enum diag_code code, int errnum, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Copy a caller's structure, which begins with its size, to one of `size` bytes.  What the caller does
 * not have is 0.  -EINVAL: the size makes no sense; -E2BIG: the caller wants something that
 * this version does not know.
 */
int options__copy(void *to, size_t size, const void *from, struct extprof_error *error);

#endif /* EXTPROF_LIBRARY_ERROR_H */
