/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings that grow, and the cleaning of text from untrusted memory. */
#ifndef EXTPROF_TEXT_H
#define EXTPROF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A string that grows.  Zero-initialise; out of memory is sticky in `failed`,
 * to be checked once at the end. */
struct text {
	char *data;		/* NUL terminated, NULL while empty */
	size_t length;
	size_t room;
	size_t limit;		/* 0: none; text beyond it is dropped */
	bool failed;
};

void text__free(struct text *t);
void text__clear(struct text *t);
void text__add(struct text *t, const char *data, size_t length);
void text__adds(struct text *t, const char *string);
void text__addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Write it, and free it in any case.  0, -errno of the stream, or -ENOMEM: it is not whole, and nothing was written. */
int text__write(struct text *t, FILE *to);
/* "" instead of NULL. */
const char *text__string(const struct text *t);

/* Longest name that is shown, in bytes; the middle of a longer one is left out. */
#define TEXT_NAME_MAX 512

/*
 * Append bytes of any origin so that the result is printable UTF-8 on one
 * line: bytes that are not UTF-8 become \xNN, control characters and those
 * that change the direction or the look of a line become \xNN or \u{N}, and
 * more than `max` bytes are cut in the middle, shown as "...".
 */
void text__add_clean(struct text *t, const char *data, size_t length, size_t max);

/* The same for a NUL terminated string into a fixed buffer. */
void text__clean(char *to, size_t size, const char *from);

/* Append (clean) text with the characters that mean something in a format
 * replaced. */
void text__add_folded(struct text *t, const char *string);	/* ; and the space before a number at the end */
void text__add_xml(struct text *t, const char *string);		/* & < > " ' */
void text__add_json(struct text *t, const char *string);	/* also safe in <script> */

#endif /* EXTPROF_TEXT_H */
