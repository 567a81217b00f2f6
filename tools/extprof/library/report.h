/* SPDX-License-Identifier: BSD-2-Clause */
/* struct extprof_report, for those who make one. */
#ifndef EXTPROF_LIBRARY_REPORT_H
#define EXTPROF_LIBRARY_REPORT_H

#include "extprof.h"
#include "profile/report.h"

/* Takes *r, which is freed in any case.  0 or -ENOMEM. */
int library_report__create(struct extprof_report **report, struct report *r);

/*
 * The public face of a frame.  What has to be composed is added to `texts`, the other texts stay those of `of`.
 * 0 or -ENOMEM.
 */
int frame__show(struct extprof_frame *frame, const struct frame *of, struct strings *texts);

#endif /* EXTPROF_LIBRARY_REPORT_H */
