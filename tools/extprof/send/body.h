/* SPDX-License-Identifier: BSD-2-Clause */
/* The body of a request, in memory, of a bounded size. */
#ifndef EXTPROF_SEND_BODY_H
#define EXTPROF_SEND_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define BODY_MAX (32u << 20)

/* Zero-initialise. */
struct body {
	uint8_t *data;
	size_t length, room;
	bool too_large;		/* more was written, and is not there */
};

/* A stream that writes into it, from its begin.  NULL: out of memory. */
FILE *body__open(struct body *b);
/* How much it is when it is not compressed, if it is compressed by gzip; less than 4 GiB. */
size_t body__unpacked(const struct body *b);
/* Make it data that is compressed by gzip.  The same data make the same bytes.  0 or -ENOMEM. */
int body__pack(struct body *b, const void *data, size_t length);
void body__free(struct body *b);

#endif /* EXTPROF_SEND_BODY_H */
