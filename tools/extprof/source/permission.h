/* SPDX-License-Identifier: BSD-2-Clause */
/* The permissions that loading and attaching BPF programs takes. */
#ifndef EXTPROF_PERMISSION_H
#define EXTPROF_PERMISSION_H

#include <stdbool.h>

#include "base/diag.h"

/* Does this process have all capabilities that BPF needs? */
bool permission__granted(void);

/*
 * Say that there is "no permission to WHAT" and what to do: get the
 * capabilities, or find what else forbids it.  Returns err.
 */
int permission__missing(struct diag *d, int err, const char *what);

#endif /* EXTPROF_PERMISSION_H */
