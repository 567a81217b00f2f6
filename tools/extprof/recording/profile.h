/* SPDX-License-Identifier: BSD-2-Clause */
/* From a recording back to reports, the same that the live profile gave. */
#ifndef EXTPROF_RECORDING_PROFILE_H
#define EXTPROF_RECORDING_PROFILE_H

#include "profile/idle_history.h"
#include "profile/owner_dirs.h"
#include "profile/report.h"
#include "profile/transform.h"
#include "profile/tree.h"
#include "profile/unit.h"
#include "recording/account.h"
#include "recording/filter.h"
#include "recording/reader.h"

/* Recordings that are shown as one: more than a year of hours. */
#define RECORDINGS_MAX 10000
/* With more recordings than that, a process or thread that goes on from one to the next has one row. */
#define RECORDINGS_ROWS_MAX 64
/* A time of a recording is judged with what was before, for so long, ns: as much as extprof top keeps at most. */
#define RECORDING_PAST (2 * IDLE_HISTORY_SPAN)

struct recording_profile;

/*
 * Add up the samples that the filter asks for, of all recordings.  The filter is not needed afterwards.  The readers
 * are; one that sleeps is awake while its recording is read, so that memory and open files are those of one.  All
 * recordings have the modes of the first one.  0 or negative errno with *d.
 */
int recording_profile__create(struct recording_profile **profile, struct recording_reader *const *readers, uint32_t count,
			      const struct recording_filter *filter, struct diag *d);
void recording_profile__destroy(struct recording_profile *p);

struct recording_request {
	enum report_detail detail;
	uint32_t labels;			/* as in struct report_request */
	const struct unit_choice *unit;
	bool by_value, by_command;		/* the same */
	const char *metric;			/* one of the two of each mode, by name; NULL: as by_value or the unit say */
	bool timeline;				/* the reports have one, see profile/timeline.h */
	/* They have one if they can: its samples alone, not if stacks are inverted, nor if all modes have more samples than that.
	 * Of a mode with more it has some more than that.  0: that is not wanted. */
	uint32_t timeline_most;
	bool cells;				/* they have these instead, see profile/cells.h */
	uint64_t cells_since_at, cells_until_at;	/* the time of the columns, ns since 1970; 0: that of the samples */
	bool joins_lines, shows_idle;		/* as in struct report_view */
	const struct transform *transform;	/* NULL: none */
	const struct owner_dirs *apps;		/* where the application is; none: where the processes worked */
};

/* The reports of all modes that were asked for. */
int recording_profile__reports(struct recording_profile *p, const struct recording_request *request,
			       struct reports *reports, struct diag *d);

/* One side of a comparison: recordings that are shown as one. */
struct recording_side {
	struct recording_reader *const *readers;
	uint32_t count;
};

/*
 * Two sides, of which one mode is counted in one metric: two reports that have the same labels, nodes and rows, and
 * the amounts and squares of one side each.  They have no groups.  Of the request count `metric`, which is times or bytes
 * without one, if the mode has them, `transform`, but for what inverts stacks or keeps some methods, and `apps`.
 * 0 or negative errno with *d; the caller frees the reports.
 */
int recording_profile__compare(const struct recording_side sides[2], const struct recording_filter *filter,
			       const struct recording_request *request, struct report reports[2], struct diag *d);

#endif /* EXTPROF_RECORDING_PROFILE_H */
