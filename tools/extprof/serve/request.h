/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The request for a page, checked.  Whoever asks is not trusted: a web page in a browser of this user, or a program of another
 * user.  Without the token there is nothing but errors, and no part of an address becomes a path of a file.
 */
#ifndef EXTPROF_SERVE_REQUEST_H
#define EXTPROF_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVE_TOKEN 32u		/* hexadecimal digits */
#define SERVE_TEXT 256u
#define SERVE_FILTERS 8u

enum serve_page {
	SERVE_TIMELINE, SERVE_FLAMEGRAPH, SERVE_HEATMAP, SERVE_REQUESTS, SERVE_DIFF, SERVE_SAVE
};

struct serve_span {
	uint64_t since, until;	/* ns since 1970; 0: from the begin, to the end */
};

struct serve_request {
	enum serve_page page;
	struct serve_span span, with;	/* with: of a comparison */
	char mode[32];			/* "": the page chooses */
	char format[32];		/* of SERVE_SAVE */
	char by[SERVE_TEXT];		/* key of a label; "": none */
	char filters[SERVE_FILTERS][SERVE_TEXT];
	unsigned int filter_count;
	unsigned int slowest;
	bool idle;
};

/* 0 or -EIO. */
int serve_token__make(char token[SERVE_TOKEN + 1]);

/* Is it one of this machine's own names, with or without a port?  A name that a web page brings (DNS rebinding) is not. */
bool serve_request__knows_host(const char *host);

/*
 * The page of a path "/TOKEN/PAGE".  0; -EACCES: it does not begin with the token; -ENOENT: there is
 * no such page.
 */
int serve_request__begin(struct serve_request *r, const char *path, const char *token);
/* A decoded pair of the query.  0 or -EINVAL: no page has it, it is twice there, or the value is none of its kind. */
int serve_request__add(struct serve_request *r, const char *key, const char *value);
/* All pairs are there.  0 or -EINVAL: they do not fit. */
int serve_request__end(const struct serve_request *r);

#endif /* EXTPROF_SERVE_REQUEST_H */
