/* SPDX-License-Identifier: BSD-2-Clause */
/* Which requests of a recording are asked for. */
#ifndef EXTPROF_RECORDING_REQUEST_CHOICE_H
#define EXTPROF_RECORDING_REQUEST_CHOICE_H

#include "recording/filter.h"
#include "recording/reader.h"
#include "recording/requests.h"

static inline bool request_choice__chooses(const struct request_choice *c)
{
	return c->slower_than || c->slowest;
}

/* Has a frame that label?  NULL: all labels make requests. */
bool request_choice__has_label(const struct request_choice *c, const struct recording_tables *t);

/*
 * Find those of which a sample matches that is from `since` to `until` (CLOCK_MONOTONIC, ns), and choose.  `begin`: of the
 * recording.  *q is zero; the caller frees it in both cases, before the tables.  0 or negative errno with *d.
 */
int request_choice__find(const struct request_choice *c, struct requests *q, struct recording_reader *reader,
			 struct recording_matches *matches, uint64_t begin, uint64_t since, uint64_t until, struct diag *d);

/* The requests of a recording by themselves.  Zero-initialise. */
struct recording_requests {
	struct recording_tables tables;
	struct recording_filter filter;
	struct recording_matches matches;
	struct requests requests;
	bool has_label;		/* a sample has the label that makes a request */
};

/* Those that the filter chooses; the recording began so many ns later than the first one.  0 or negative errno with *d; the caller frees in both cases. */
int recording_requests__read(struct recording_requests *r, struct recording_reader *reader,
			     const struct recording_filter *filter, uint64_t later, struct diag *d);
void recording_requests__free(struct recording_requests *r);

#endif /* EXTPROF_RECORDING_REQUEST_CHOICE_H */
