/* SPDX-License-Identifier: BSD-2-Clause */
/* The pages.  Each is made by a process of its own, which reads recordings that nobody has to have made honestly. */
#ifndef EXTPROF_SERVE_PAGES_H
#define EXTPROF_SERVE_PAGES_H

#include <stdio.h>

#include "serve/recordings.h"
#include "serve/request.h"

#define SERVE_NONCE 32u

/* The request for a page, and all that the page is made of. */
struct serve_making {
	const struct serve_request *request;
	const struct serve_sources *sources;
	const char *nonce;	/* of the scripts of the page, in the policy that it is sent with */
	FILE *to;
};

/* Its Content-Type. */
const char *serve_page__type(const struct serve_request *r);
/* Has it a nonce of its own, and is it kept apart from the other pages? */
bool serve_page__is_graph(const struct serve_request *r);
/* A name to save it by; NULL: it is shown. */
const char *serve_page__suffix(const struct serve_request *r);

/* 0 or negative errno with *e. */
int serve_page__write(const struct serve_making *m, struct extprof_error *e);

/* The parts, each in a file. */
int serve_timeline__write(const struct serve_making *m, const struct serve_files *f, struct extprof_error *e);
int serve_requests__write(const struct serve_making *m, const struct serve_files *f, struct extprof_error *e);

/* -- for the parts ----------------------------------------------------------------------------------- */

/* The options of a report that were asked for. */
struct extprof_recorded_options serve_page__options(const struct serve_request *r, const char *filters[SERVE_FILTERS]);
/* The mode that was asked for, or the best one of the recording.  "": it has none. */
void serve_page__choose_mode(const struct serve_request *r, const struct serve_files *f, char *mode, size_t size);

#include <jansson.h>

/* A page around a script, which finds the object in #data.  Takes the reference.  0 or negative errno with *e. */
int serve_page__write_html(const struct serve_making *m, const char *title, const char *script, json_t *data, struct extprof_error *e);
/* Parse the JSON that `write` writes.  NULL with *e. */
json_t *serve_page__json_of(int (*write)(void *context, FILE *to, struct extprof_error *e), void *context, struct extprof_error *e);
/* Up to `most` values of the first column of a statement, as texts.  NULL: out of memory. */
json_t *serve_page__column(struct extprof_recorded *r, const char *sql, unsigned int most);
/* "1795921466535281593": a number of JavaScript has 53 bits. */
json_t *serve_page__ns(uint64_t ns);

#endif /* EXTPROF_SERVE_PAGES_H */
