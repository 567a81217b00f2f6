/* SPDX-License-Identifier: BSD-2-Clause */
/* How much of each recording a method has, one after the other, and where that changes by more than the noise of sampling. */
#ifndef EXTPROF_ANALYSIS_TREND_H
#define EXTPROF_ANALYSIS_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/report.h"

struct trend_row {
	const char *name;	/* of the recording; clean, the caller's */
	uint64_t begin, end;	/* of the recording, ns since 1970 */
	uint64_t all, part;	/* in the unit of the metric */
	bool without;		/* the mode was not recorded: the rest is zeros */
	struct report_version version;
	/* Against the row before that has something. */
	double change, noise;	/* of the share, 0 to 1; noise as in diff.h */
	bool compared, decided;
};

/* Zero-initialise; `method`, `width` and `color` are the caller's. */
struct trend {
	const char *method;	/* as for fnmatch(3) */
	unsigned int width;	/* of text, columns; 0: as many as needed */
	bool color;
	char mode[32];
	struct metric metric;
	struct trend_row *rows;
	uint32_t count;
	size_t room;
};

/*
 * Add a recording: reports[1], beside the one before, as recording_profile__compare() makes them.  first: there is none
 * before, or it has nothing.  What calls itself counts once.  0 or -ENOMEM.
 */
int trend__add(struct trend *t, const struct trend_row *row, const struct report reports[2], bool first);
/* Add one that has not this mode.  0 or -ENOMEM. */
int trend__add_without(struct trend *t, const struct trend_row *row);
void trend__free(struct trend *t);

/* Each: 0 or -errno, of the stream or -ENOMEM. */
int trend__write_text(const struct trend *t, FILE *to);
int trend__write_table(const struct trend *t, FILE *to);
int trend__write_json(const struct trend *t, FILE *to);

#endif /* EXTPROF_ANALYSIS_TREND_H */
