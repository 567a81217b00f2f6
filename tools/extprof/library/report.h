/* SPDX-License-Identifier: BSD-2-Clause */
/* struct extprof_report, for those who make one. */
#ifndef EXTPROF_LIBRARY_REPORT_H
#define EXTPROF_LIBRARY_REPORT_H

#include "extprof.h"
#include "profile/report.h"

/* Takes *r, which is freed in any case.  0 or -ENOMEM. */
int library_report__create(struct extprof_report **report, struct report *r);

/* A frame of a report_label, or of a frame_row: the texts stay those of the argument. */
void frame__from_row(struct extprof_frame *frame, const struct frame_row *row);

#endif /* EXTPROF_LIBRARY_REPORT_H */
