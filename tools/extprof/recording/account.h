/* SPDX-License-Identifier: BSD-2-Clause */
/* Data of a recording besides its samples: the account of each mode, processes, threads and pauses, as reports have
 * it. */
#ifndef EXTPROF_RECORDING_ACCOUNT_H
#define EXTPROF_RECORDING_ACCOUNT_H

#include "profile/report.h"
#include "recording/reader.h"
#include "recording/writer.h"

/* How a profile is shown if nobody says more. */
struct recording_view {
	struct groups groups;		/* of the settings; its labels are those of the samples */
	bool group_by_default;
	bool lines;
};

/* When it began, by both clocks, of which the other one is read now.  Also again, while there is no sample.  0 or negative errno. */
int recording_account__set_begin(struct recording_writer *w, uint64_t started_monotonic, time_t started);
/* At the begin.  0 or a negative errno, as recording_writer__why() says. */
int recording_account__begin(struct recording_writer *w, const struct recording_view *view, uint64_t started_monotonic,
			     time_t started, uint64_t period);
/* At the end, when names are known: `reports` has one of each mode, in the order of the modes. */
int recording_account__end(struct recording_writer *w, const struct reports *reports);

/* 0, or -EBADMSG with *d: the recording says nonsense. */
int recording_account__view(struct recording_reader *r, struct recording_view *view, struct diag *d);
/*
 * Fill in meta, processes, threads and pauses of the report of a mode, by its id.  `modes`: how many there are.  A
 * recording that has not ended has less of this.  Pauses are those that ended from `since` to `until`, CLOCK_MONOTONIC, ns.
 * 0, -ENOMEM or -EBADMSG with *d.
 */
int recording_account__read(struct recording_reader *r, const struct recording_tables *t, uint32_t mode, uint64_t since,
			    uint64_t until, struct report *report, struct diag *d);

/* When the recording began, ns since 1970, by the clock of its machine, and the time of its last sample by that clock;
 * without samples it is the begin.  0 or -errno with *d. */
int recording_account__times(struct recording_reader *r, uint64_t *begin, uint64_t *end, struct diag *d);

/* *ns: of the pauses of the recording, what is in that time.  0 or -errno with *d. */
int recording_account__paused(struct recording_reader *r, uint64_t from, uint64_t until, uint64_t *ns, struct diag *d);

/* The working directory of all processes, clean, if it is one; the caller frees it.  NULL: there are several, or none. */
char *recording_account__directory(struct recording_reader *r);
/* The working directory of a process, clean; the caller frees it.  NULL: unknown. */
char *recording_account__cwd(struct recording_reader *r, uint32_t process);

#endif /* EXTPROF_RECORDING_ACCOUNT_H */
