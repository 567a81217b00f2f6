/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel wants of those who load and attach BPF programs. */
#ifndef EXTPROF_PERMISSION_H
#define EXTPROF_PERMISSION_H

#include <stdbool.h>

#include "base/diag.h"

/* Do we have all capabilities that it needs? */
bool permission__granted(void);

/*
 * Say that there is "no permission to WHAT" and what to do: get the
 * capabilities, or find what else forbids it.  Returns err.
 */
int permission__missing(struct diag *d, int err, const char *what);

#endif /* EXTPROF_PERMISSION_H */
