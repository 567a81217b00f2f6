/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON that is written to a stream.  The values are jansson's, which escapes and checks them.
 * Containers that grow with the profile are opened and closed here, so that the document is never
 * in memory as a whole.
 */
#ifndef EXTPROF_JSON_H
#define EXTPROF_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Zero-initialise, then set `to`. */
struct json {
	FILE *to;	/* of the caller, who closes it */
	bool follows;	/* another value is before the next one in its container */
	int err;	/* the first error, -errno; nothing is written after it */
};

/* `key`: of the value in an object, plain ASCII without quotes; NULL in an array and at the top.
 * `opening` is one of { and [, `closing` one of } and ]. */
void json__open(struct json *j, const char *key, char opening);
void json__close(struct json *j, char closing);

/* Write a value and drop the reference to it.  NULL stands for memory that was not there: json_pack()
 * and json_string() return it, and also for text that is not UTF-8, which report.h excludes. */
void json__add(struct json *j, const char *key, json_t *value);

/* Write a number, exactly: `value` divided by 10 to the power of `decimals`, which is at most 9. */
void json__number(struct json *j, const char *key, int64_t value, unsigned int decimals);
/* Write null. */
void json__null(struct json *j, const char *key);

#endif /* EXTPROF_JSON_H */
