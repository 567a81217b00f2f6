/* SPDX-License-Identifier: BSD-2-Clause */
/* struct extprof_report, for those who make one. */
#ifndef EXTPROF_LIBRARY_REPORT_H
#define EXTPROF_LIBRARY_REPORT_H

#include "extprof.h"
#include "profile/report.h"

/* The object behind the public interface, with its last results. */
struct extprof_report {
	struct report report;
	struct extprof_frame *frames;		/* by number of the label */
	const char **owners;			/* texts, by number */
	const struct extprof_frame **path;	/* from the outermost frame to that of the last node */
	struct extprof_stack stack;
	struct extprof_total total;
	struct extprof_idle idle;
	struct extprof_idle_thread idle_thread;
	struct extprof_frame idle_frames[2];	/* of that */
	uint32_t next;				/* node */
	struct extprof_accounting accounting;
	struct extprof_reason lost[LOSS_MAX], truncated[TRUNC_MAX];
	uint32_t lost_count, truncated_count;
	struct extprof_facts facts;
	/* That were asked for last. */
	struct extprof_report_process process;
	struct extprof_report_thread thread;
	struct extprof_report_pauses pauses;
};

/* Takes *r, which is freed in any case.  0 or -ENOMEM. */
int library_report__create(struct extprof_report **report, struct report *r);

/*
 * Show a frame by the public interface.  Texts that have to be composed are added to `texts`; the others stay those of
 * `of`.  0 or -ENOMEM.
 */
int frame__show(struct extprof_frame *frame, const struct frame *of, struct strings *texts);

#endif /* EXTPROF_LIBRARY_REPORT_H */
