/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the VM to keep the names of code that is gone, for those who look them
 * up after the sample (rb_debug_ext_section::grace_until).  It is the only
 * thing that extprof writes into a process. */
#ifndef EXTPROF_GRACE_H
#define EXTPROF_GRACE_H

#include <stdint.h>

#include "layout.h"

/* Ask again after this long, ns. */
#define GRACE_INTERVAL 5000000000ull

/* `mem`: /proc/PID/mem, open for writing.  0 or -errno; -ESTALE: that section is
 * not there any more.  Without it names can expire, which collect.h counts. */
int grace__ask(int mem, const struct layout *l);

#endif /* EXTPROF_GRACE_H */
