/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's tracepoints, by name. */
#ifndef EXTPROF_TRACEFS_H
#define EXTPROF_TRACEFS_H

#include <stdint.h>

#include "base/diag.h"

/*
 * The number that perf knows the tracepoint by.  If tracefs is not mounted it is mounted for this look only,
 * where no process can see it: Linux 5.2 and CAP_SYS_ADMIN.  0 or -errno with the diagnosis.
 */
int tracefs__id(const char *category, const char *name, uint64_t *id, struct diag *d);

#endif /* EXTPROF_TRACEFS_H */
