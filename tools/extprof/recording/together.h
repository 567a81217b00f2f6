/* SPDX-License-Identifier: BSD-2-Clause */
/* The accounts of several recordings as that of one report. */
#ifndef EXTPROF_RECORDING_TOGETHER_H
#define EXTPROF_RECORDING_TOGETHER_H

#include "base/diag.h"
#include "base/map64.h"
#include "profile/report.h"

/* Rows of the sum, by what tells a process, and a thread.  Zero-initialise. */
struct together_maps {
	struct map64 processes, threads;
};

void together_maps__free(struct together_maps *m);

struct together_part {
	const char *name;	/* of the recording */
	const char *host;	/* of its machine; NULL or "": not known */
	uint64_t frames;	/* numbers of frames that the recordings before it have */
	uint64_t later;		/* ns: to be added to its times, so that they are by the clock of the first one; it can wrap */
	bool first;		/* it began before all others */
	/* A process that goes on from one recording to the next has one row, and so have its threads.  NULL: each has a row of
	 * each recording. */
	struct together_maps *maps;
};

/*
 * Add to the report the account of one recording, which is the whole of `part`: its rows move into the report.  0, or
 * negative errno with *d; the caller frees both reports in each case.
 */
int together__add(struct report *sum, struct report *part, const struct together_part *of, struct diag *d);

/* Move the sums from one report to another one, which has none yet.  Its meta is not moved. */
void together__move(struct report *to, struct report *from);

#endif /* EXTPROF_RECORDING_TOGETHER_H */
