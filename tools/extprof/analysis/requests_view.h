/* SPDX-License-Identifier: BSD-2-Clause */
/* A table of requests, for people and for programs. */
#ifndef EXTPROF_ANALYSIS_REQUESTS_VIEW_H
#define EXTPROF_ANALYSIS_REQUESTS_VIEW_H

#include <stdio.h>

#include "recording/requests.h"

struct requests_view {
	struct requests *requests;	/* chosen and sorted */
	uint32_t top;			/* rows */
	uint32_t width;			/* of text, columns; 0: as many as needed */
	bool color;			/* text: on a terminal */
};

/* Each: 0 or -errno, of the stream, or -ENOMEM. */
int requests__write_text(const struct requests_view *v, FILE *to);
int requests__write_table(const struct requests_view *v, FILE *to);
int requests__write_json(const struct requests_view *v, FILE *to);

#endif /* EXTPROF_ANALYSIS_REQUESTS_VIEW_H */
