/* SPDX-License-Identifier: BSD-2-Clause */
/* What an answer of a receiver means, and when to try again. */
#ifndef EXTPROF_SEND_ANSWER_H
#define EXTPROF_SEND_ANSWER_H

#include <stddef.h>
#include <stdint.h>

enum answer {
	ANSWER_TAKEN,
	ANSWER_AGAIN,		/* not now */
	ANSWER_TOO_LARGE,	/* not so much at once */
	ANSWER_REFUSED,		/* not this one, and not later either */
	ANSWER_NONE_TAKEN,	/* none at all, until somebody changes something: the address, or who may send */
};

/* status: of HTTP, 0: there was no answer. */
enum answer answer__of(int status);

/*
 * The wait before the next try, ns, after so many failures one after the other (1 or more): doubled from 1 s to 60 s, of which
 * up to half is taken away by chance, so that many senders do not come together.  asked: the receiver wants that it is so
 * long at least, of which RETRY_ASKED_MAX is honoured; 0: it says nothing.
 */
uint64_t retry__wait(unsigned int failures, uint64_t asked, uint64_t random);
#define RETRY_ASKED_MAX (300 * 1000000000ull)

/*
 * What an answer to OTLP says of a part that was not taken: ExportProfilesServiceResponse, as protocol buffers.  How many
 * profiles, and why; 0 and "": all were taken.  What is no such message is nothing said.
 */
int64_t answer__rejected(const uint8_t *body, size_t length, char *message, size_t size);

#endif /* EXTPROF_SEND_ANSWER_H */
