/* SPDX-License-Identifier: BSD-2-Clause */
/* The row that a report has about the process of a frame. */
#ifndef EXTPROF_PROCESS_ROWS_H
#define EXTPROF_PROCESS_ROWS_H

#include "profile/report.h"

/* The row of a process; of several with its pid, the one that is called like it.  NULL: there is none. */
const struct process_row *process_rows__find(const struct report *r, const struct frame *f);

#endif /* EXTPROF_PROCESS_ROWS_H */
