/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of extprof push: the command, folders of recordings, one recording, one request. */
#ifndef EXTPROF_CLI_PUSH_H
#define EXTPROF_CLI_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "send/http.h"
#include "send/receiver.h"
#include "send/state.h"

/* Counts of this run. */
struct push_counts {
	uint64_t requests, bytes;	/* that were taken */
	uint64_t refused, rejected;	/* as in struct state_totals */
	uint64_t lost;			/* recordings */
	uint64_t unreadable;		/* recordings that could not be read, and are tried again */
	uint64_t written;		/* recordings that have not ended */
	uint64_t beyond;		/* folders that have more recordings than are looked at */
};

struct push {
	const struct options *options;
	const struct receiver *receiver;
	struct http *http;
	char *url;			/* of requests */
	char *shown;			/* the same for messages */
	char *to;			/* as in struct state */
	int interrupt_fd;
	bool follow;
	uint64_t span, retry_for;	/* ns; retry_for: UINT64_MAX without an end */
	bool looked;			/* at all folders once */
	bool busy_told, beyond_told;	/* that others push now, and that a folder has too many recordings */
	unsigned int failures;		/* tries that failed, one after the other */
	unsigned int failed;		/* as of answer__after() */
	uint64_t failing_since;		/* CLOCK_MONOTONIC, ns: the first of them */
	struct push_counts counts;
	struct push_unreadable *unreadable;	/* files that were told of */
	struct extprof_error trouble;	/* after PUSH_SKIPPED */
};

enum push_result {
	PUSH_OK,
	PUSH_LATER,		/* with --follow: the receiver took nothing, and some time was waited */
	PUSH_ENDED,		/* by a signal */
	PUSH_GIVEN_UP,		/* the receiver takes nothing; it was told */
	PUSH_LOST,		/* the rest of this recording is gone; it was told */
	PUSH_SKIPPED,		/* the rest of this recording cannot be read now: push::trouble */
	PUSH_FAILED,		/* of extprof itself: `status`; it was told */
};

/* Print a line with what it is about, without control characters. */
void push__say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Has a signal come that ends it? */
bool push__interrupted(const struct push *p);
/* Wait so long; false: a signal has come. */
bool push__wait(const struct push *p, uint64_t ns);

/* How many of what: "1 request", "2 requests".  Valid until it is called again. */
const char *push__count(uint64_t count, const char *one, const char *many);

/* push_folder.c: send what is to be sent of a folder, or of a file.  *status: after PUSH_FAILED. */
enum push_result push__argument(struct push *p, const char *name, int *status);
void push__forget_unreadable(struct push *p);

/*
 * push_segment.c: send what was not sent of a recording up to `end`, the time of its last sample, which has ended or not.
 * After each request *g and the file of the state know of it.
 */
enum push_result push__segment(struct push *p, struct state *s, struct state_segment *g, const char *path, uint64_t end, bool ended,
			       int *status);

/* The modes of a recording, in their order, and the name of its machine. */
#define PUSH_MODES_MAX 32u

struct push_modes {
	struct push_mode {
		struct receiver_mode mode;
		bool wanted;		/* it is sent */
	} list[PUSH_MODES_MAX];
	uint32_t count, wanted;
	char names[PUSH_MODES_MAX * 32];	/* those that are wanted, with commas */
	char host[65];
};

/* push_modes.c: `wanted`: those that are sent, with commas; NULL: all of `known`, which is struct receiver's `modes`.
 * 0, or negative errno with *e. */
int push_modes__read(struct push_modes *m, struct extprof_recorded *r, const char *wanted, const char *known, struct extprof_error *e);
/* No sample of a recording that began at `begin` is from `from` on and before that time, ns since 1970; 0: it is not known. */
uint64_t push_modes__next(struct extprof_recorded *r, uint64_t begin, uint64_t from);

#endif /* EXTPROF_CLI_PUSH_H */
