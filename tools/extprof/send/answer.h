/* SPDX-License-Identifier: BSD-2-Clause */
/* The meaning of an answer of a receiver, and when to try again. */
#ifndef EXTPROF_SEND_ANSWER_H
#define EXTPROF_SEND_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum answer {
	ANSWER_TAKEN,
	ANSWER_AGAIN,		/* not now */
	ANSWER_FAILED,		/* not now, or not this one: after some tries it is refused */
	ANSWER_TOO_LARGE,	/* not so much at once */
	ANSWER_REFUSED,		/* not this one, and not later either */
	ANSWER_NONE_TAKEN,	/* none at all, until somebody changes something: the address, or who may send */
};

/* So many tries has a request that the receiver fails at. */
#define ANSWER_TRIES 5
/* After so many requests in a row that were refused the receiver takes none. */
#define ANSWER_REFUSED_MAX 5

/* status: of HTTP, 0: there was no answer. */
enum answer answer__of(int status);

/*
 * The same of a request, never ANSWER_FAILED.  shortest: it cannot be made smaller.  *failed: how often the receiver failed at
 * it, from 0 on.  in_a_row: requests that were refused since one was taken.
 */
enum answer answer__after(int status, bool shortest, unsigned int *failed, uint64_t in_a_row);

/*
 * The wait before the next try, ns, after so many failures one after the other (1 or more): doubled from 1 s to 60 s, of which
 * up to half is taken away by chance, so that many senders do not come together.  asked: the receiver wants that it is so
 * long at least, of which RETRY_ASKED_MAX is honoured; 0: it says nothing.
 */
uint64_t retry__wait(unsigned int failures, uint64_t asked, uint64_t random);
#define RETRY_ASKED_MAX (300 * 1000000000ull)

/*
 * Parse an answer to OTLP (ExportProfilesServiceResponse, as protocol buffers).  Returns how many profiles were not taken, and
 * puts the reason into `message`.  0 and "": all were taken, or it is no such message.
 */
int64_t answer__rejected(const uint8_t *body, size_t length, char *message, size_t size);

#endif /* EXTPROF_SEND_ANSWER_H */
