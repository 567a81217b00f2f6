/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines below the tables of a report in the summary: what was lost, what is not known, and why. */
#ifndef EXTPROF_NOTES_H
#define EXTPROF_NOTES_H

#include "profile/report.h"

void notes__add(const struct report *r, struct text *out);

#endif /* EXTPROF_NOTES_H */
