/* SPDX-License-Identifier: BSD-2-Clause */
/* The accounts of several recordings as that of one report. */
#ifndef EXTPROF_RECORDING_TOGETHER_H
#define EXTPROF_RECORDING_TOGETHER_H

#include "base/diag.h"
#include "profile/report.h"

struct together_part {
	const char *name;	/* of the recording */
	uint64_t frames;	/* numbers of frames that the recordings before it have */
	uint64_t later;		/* ns: to be added to its times, so that they are by the clock of the first one; it can wrap */
	bool first;		/* it began before all others */
};

/*
 * Add to the report the account of one recording, which is the whole of `part`: its rows move into the report.  0, or
 * negative errno with *d; the caller frees both reports in each case.
 */
int together__add(struct report *sum, struct report *part, const struct together_part *of, struct diag *d);

#endif /* EXTPROF_RECORDING_TOGETHER_H */
