/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests by the value of a label: which are slow, and where their time goes.  Percentiles are those of the requests
 * themselves: of n in order of their length, number p*n/100, rounded up.
 */
#ifndef EXTPROF_ANALYSIS_REQUESTS_BY_H
#define EXTPROF_ANALYSIS_REQUESTS_BY_H

#include <stdio.h>

#include "base/map64.h"
#include "recording/requests.h"

/* Bounds: 240 MB; and values, of which the others are one. */
#define REQUESTS_BY_MAX (4u << 20)
#define REQUESTS_BY_VALUES_MAX (64u << 10)

enum requests_by_percentile {
	BY_P50, BY_P95, BY_P99, BY_MAX, BY_PERCENTILES
};

/* Averages of requests. */
struct requests_by_mean {
	uint64_t count;
	double length, parts[REQUEST_PARTS];	/* ns */
};

struct requests_by_value {
	char *name;			/* clean; "[request: expired]" if `missing` */
	bool missing;			/* it has no value, or it was not read */
	uint64_t cut;			/* parts of requests that begin before a recording, or go on after it */
	struct requests_by_mean all;
	/* By requests_by__sort(): */
	struct requests_by_mean slow;	/* those that are not shorter than the 95th percentile */
	/* Their times as they were seen, and as long as they can have been: the real one is not outside of both. */
	uint64_t seen[BY_PERCENTILES], most[BY_PERCENTILES];
};

/* Zero-initialise; `key`, `top`, `width`, `color` are the caller's. */
struct requests_by {
	const char *key;		/* of the label */
	uint32_t top;			/* rows */
	uint32_t width;			/* of text, columns; 0: as many as needed */
	bool color;			/* text: on a terminal */
	uint32_t max, values_max;	/* 0: as above; smaller for tests */
	struct request_of_value {
		uint64_t length, most;	/* ns: seen, and with what is not known */
		float parts[REQUEST_PARTS];
		uint32_t value;
	} *list;
	uint32_t count;
	size_t room;
	uint64_t left_out;		/* for want of room */
	struct requests_by_value *values;
	uint32_t value_count;
	size_t value_room;
	struct map64 map;
};

/* Add the requests of a recording that were chosen.  0 or -ENOMEM; the caller frees in both cases. */
int requests_by__add(struct requests_by *b, const struct requests *r);
/* After the last one: percentiles; values in the order of the 95th, the slowest one first.  0 or -ENOMEM. */
int requests_by__sort(struct requests_by *b);
void requests_by__free(struct requests_by *b);

/* Each after requests_by__sort(): 0 or -errno, of the stream, or -ENOMEM. */
int requests_by__write_text(const struct requests_by *b, FILE *to);
int requests_by__write_table(const struct requests_by *b, FILE *to);
int requests_by__write_json(const struct requests_by *b, FILE *to);

#endif /* EXTPROF_ANALYSIS_REQUESTS_BY_H */
