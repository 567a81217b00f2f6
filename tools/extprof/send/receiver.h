/* SPDX-License-Identifier: BSD-2-Clause */
/* The kinds of receivers: where each of them takes profiles, and what a request to it is. */
#ifndef EXTPROF_SEND_RECEIVER_H
#define EXTPROF_SEND_RECEIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "send/body.h"
#include "send/http.h"

struct receiver_batch;
struct receiver_request;

struct receiver {
	const char *name;	/* "otlp" */
	const char *path;	/* of its URL, if that has none */
	const char *format;	/* of extprof_recorded_write() */
	bool each_mode;		/* a request has one mode, and is of one service */
	bool tells_rejected;	/* its answer can say what was not taken: answer__rejected() */
	bool plain;		/* its format is not compressed: make() does that */
	/* It knows the same bytes again, and they count once.  So what may have been taken is sent again as it was, and is tried until
	 * it is taken: 500 is no answer to these bytes, but says that a part of the receiver is away. */
	bool once;
	const char *modes;	/* that it has names for, if none were chosen; NULL: all */
	const char *const *headers;	/* of each request, after those of the caller; ends with NULL; NULL: none */
	const char *place;	/* with `once`: the parameter of its URL that says where its rows go */
	int (*make)(const struct receiver_batch *b, struct receiver_request *to);
};

/* NULL: there is none of that name. */
const struct receiver *receiver__by_name(const char *name);

/*
 * The key of a state (send/state.h): the receiver's kind and its URL.  With `once` it is the place alone, "clickhouse
 * database=profiles": another host of a cluster, or another setting in the URL, is no other receiver, which would get all the
 * history again.  The caller frees it; NULL: out of memory.
 */
char *receiver__key(const struct receiver *r, const char *url);

/* A mode of a recording, with its two amounts.  Texts have letters, digits and _ alone. */
struct receiver_mode {
	char name[32], value[32], value_unit[32], count[32], count_unit[32];
};

/* One text of it.  false: it has other letters, or is too long: *to is empty then. */
bool receiver_mode__set(char to[static 32], const char *text);

/* The content of a request. */
struct receiver_batch {
	const struct body *body;	/* the profile */
	const char *url;
	const char *service, *host;	/* names of these, for receivers that are told them */
	const struct receiver_mode *mode;	/* with each_mode */
	uint64_t from, until;		/* ns since 1970 */
};

/* Zero-initialise. */
struct receiver_request {
	struct http_request before;	/* has to be taken before the other one; without a URL: there is none */
	struct http_request http;
	struct http_part parts[2];
	char *url, *text;	/* that it needs */
	char *first_url;
	struct body packed[2];
};

/* 0, -ENOMEM, or -EINVAL: the profile is not of the receiver's format.  The request is of the batch, which lives as long.  The caller frees in both cases. */
int receiver__make(const struct receiver *r, const struct receiver_batch *b, struct receiver_request *to);
void receiver_request__free(struct receiver_request *r);

#endif /* EXTPROF_SEND_RECEIVER_H */
