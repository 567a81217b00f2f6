/* SPDX-License-Identifier: BSD-2-Clause */
/* A table of requests, for people and for programs. */
#ifndef EXTPROF_ANALYSIS_REQUESTS_VIEW_H
#define EXTPROF_ANALYSIS_REQUESTS_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "recording/requests.h"

/* A row of the table, which needs no recording. */
struct request_row {
	struct request request;		/* its ids are of no use here */
	double seconds;			/* of its begin, after that of the first recording */
	uint32_t recording;		/* number of the one that it is from */
	uint32_t number;		/* in that recording */
	int pid;
	uint32_t tid;
	char *name, *thread;		/* of the thread, and as a person is shown it */
	char *labels;			/* "request=GET /x tenant=42" */
	json_t *values;			/* {"request": "GET /x", "tenant": "42"} */
};

/* The first rows of several recordings.  Zero-initialise; `top` and `by_length` are the caller's. */
struct requests_view {
	bool by_length;			/* they are sorted by their length, else by their begin */
	uint32_t top;			/* rows */
	uint32_t width;			/* of text, columns; 0: as many as needed */
	bool color;			/* text: on a terminal */
	uint64_t all, chosen;		/* requests that there are, and that were chosen */
	struct request_row *rows;	/* `count` of them, `top` at most when they are written */
	uint32_t count;
	size_t room;
	const char **names;		/* of the recordings, clean; the caller's */
	uint32_t recordings;
	size_t name_room;
};

/*
 * Add the requests of a recording, which are chosen and sorted.  later: it began so many ns later than the first one.
 * 0 or -ENOMEM; the caller frees in both cases.
 */
int requests_view__add(struct requests_view *v, const struct requests *r, const char *name, uint64_t later);
void requests_view__free(struct requests_view *v);

/* Each: 0 or -errno, of the stream, or -ENOMEM. */
int requests__write_text(struct requests_view *v, FILE *to);
int requests__write_table(struct requests_view *v, FILE *to);
int requests__write_json(struct requests_view *v, FILE *to);

#endif /* EXTPROF_ANALYSIS_REQUESTS_VIEW_H */
