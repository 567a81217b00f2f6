/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the VM to keep the names of code that is gone for a while, because names are read
 * after the sample (rb_debug_ext_section::grace_until). */
#ifndef EXTPROF_NAME_RETENTION_H
#define EXTPROF_NAME_RETENTION_H

#include <stdint.h>

#include "process/address_space.h"
#include "ruby/layout.h"

/* Ask again after this long, ns. */
#define NAME_RETENTION_INTERVAL 5000000000ull

/* 0 or -errno; -ESTALE: that section is not there any more.  Without it names can expire, which resolve.h counts. */
int name_retention__ask(struct address_space *space, const struct layout *l);

#endif /* EXTPROF_NAME_RETENTION_H */
