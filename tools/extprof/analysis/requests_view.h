/* SPDX-License-Identifier: BSD-2-Clause */
/* A table of requests, for people and for programs. */
#ifndef EXTPROF_ANALYSIS_REQUESTS_VIEW_H
#define EXTPROF_ANALYSIS_REQUESTS_VIEW_H

#include <stdio.h>

#include "recording/requests.h"

/* The requests of one recording. */
struct requests_source {
	struct requests *requests;	/* chosen and sorted */
	const char *name;		/* of the recording, clean; shown if there are several */
	uint64_t later;			/* ns: so much later it began than the first one */
};

struct requests_view {
	const struct requests_source *sources;
	uint32_t count;			/* 1 to RECORDINGS_MAX */
	bool by_length;			/* they are sorted by their length, else by their begin */
	uint32_t top;			/* rows */
	uint32_t width;			/* of text, columns; 0: as many as needed */
	bool color;			/* text: on a terminal */
};

/* Each: 0 or -errno, of the stream, or -ENOMEM. */
int requests__write_text(const struct requests_view *v, FILE *to);
int requests__write_table(const struct requests_view *v, FILE *to);
int requests__write_json(const struct requests_view *v, FILE *to);

#endif /* EXTPROF_ANALYSIS_REQUESTS_VIEW_H */
