/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays that grow by doubling. */
#ifndef EXTPROF_ARRAY_H
#define EXTPROF_ARRAY_H

#include <stddef.h>

/*
 * Make room for `more` elements behind the first `count`.  `array` is the address
 * of a pointer to elements of `size` bytes, or of NULL; `*room` is how many
 * elements it has memory for; `max` is how many it may ever hold.
 * 0, or -ENOMEM: memory is short, or `max` would be exceeded; nothing has changed
 * then.  The owner frees the array with free().
 */
int array__reserve(void *array, size_t count, size_t more, size_t *room, size_t max, size_t size);

#endif /* EXTPROF_ARRAY_H */
