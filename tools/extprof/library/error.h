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
/* The same for what could not be written, "profile": `err` of its writer. */
int error__of_writer(struct extprof_error *error, int err, const char *what);

/* "sundial is no timer: clock or tick".  -EINVAL. */
int error__not_one_of(enum extprof_words kind, const char *what, const char *given, struct extprof_error *error);

/* Without an error: *error says why something is as it is. */
void error__fill(struct extprof_error *error, const struct diag *d);

/*
 * Copy a caller's structure, which begins with its size, to one of `size` bytes.  Fields that the caller does not have
 * are 0.  -EINVAL: the size makes no sense; -E2BIG: the caller wants something that this version does not know.
 */
int options__copy(void *to, size_t size, const void *from, struct extprof_error *error);
/* 0, or -EINVAL: reserved bytes of a structure are not 0.  A later version may have an option there. */
int options__check_reserved(const char *bytes, size_t size, struct extprof_error *error);
/* Both, of a structure with a field `reserved`. */
#define OPTIONS_TAKE(to, from, error) options__take(to, sizeof(*(to)), from, offsetof(typeof(*(to)), reserved), sizeof((to)->reserved), error)
int options__take(void *to, size_t size, const void *from, size_t reserved, size_t reserved_size, struct extprof_error *error);
/* No option may ever lie in what older programs have as padding. */
#define NO_PADDING(type, last) _Static_assert(offsetof(struct type, last) + sizeof(((struct type *)0)->last) == \
					      sizeof(struct type), #type)

/*
 * Copy a structure of `size` bytes, which begins with a size, to that of a caller, as far as the caller has it.  The
 * caller's size stays.  0, or -EINVAL: the caller's has no size.
 */
int result__copy(void *to, const void *from, size_t size);

#endif /* EXTPROF_LIBRARY_ERROR_H */
