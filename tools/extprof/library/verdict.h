/* SPDX-License-Identifier: BSD-2-Clause */
/* Is a profile as it should be?  Why is it empty? */
#ifndef EXTPROF_LIBRARY_VERDICT_H
#define EXTPROF_LIBRARY_VERDICT_H

#include "base/diag.h"
#include "profile/report.h"
#include "source/timer.h"

/* Like extprof_recording_verdict(), for the reports of all modes.  *d is filled if the result is not 0. */
int verdict__give(const struct reports *reports, enum timer_kind timer, struct diag *d);

#endif /* EXTPROF_LIBRARY_VERDICT_H */
