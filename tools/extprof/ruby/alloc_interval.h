/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the VM for another mean distance between two samples of allocations
 * (rb_debug_ext_section::alloc_interval), and gives it its own back. */
#ifndef EXTPROF_ALLOC_INTERVAL_H
#define EXTPROF_ALLOC_INTERVAL_H

#include <stdint.h>

#include "process/address_space.h"
#include "ruby/layout.h"

/* *before is what it was, 0 for the VM's default.  0 or -errno: it keeps its own.
 * -EBADF or -EACCES: the file is not open for writing; -ESTALE: that section is not there any more. */
int alloc_interval__set(struct address_space *space, const struct layout *l, uint64_t bytes, uint64_t *before);

/* Unless somebody else has changed it from `bytes` meanwhile.  0 or -errno. */
int alloc_interval__restore(struct address_space *space, const struct layout *l, uint64_t bytes, uint64_t before);

#endif /* EXTPROF_ALLOC_INTERVAL_H */
