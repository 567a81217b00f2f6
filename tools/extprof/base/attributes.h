/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists as in OTEL_RESOURCE_ATTRIBUTES: "service.name=shop,deployment.environment.name=test".  The first one of equal keys
 * counts.  In keys and values, what means something in a list and what is no text is %XX.
 */
#ifndef EXTPROF_ATTRIBUTES_H
#define EXTPROF_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* Keys that OpenTelemetry has for them. */
#define ATTRIBUTES_COMMIT "vcs.ref.head.revision"
#define ATTRIBUTES_DEPLOYMENT "deployment.name"

/* A list has no more bytes. */
#define ATTRIBUTES_LIST_MAX 4096u

/* One of a list, within it and escaped. */
struct attribute {
	const char *key, *value;
	size_t key_length, value_length;	/* neither is 0 */
};

/* The next one; *list moves on.  False: there is none.  list can be NULL. */
bool attributes__next(const char **list, struct attribute *a);
/* Append a key or a value without its escapes, clean, at most `max` bytes. */
void attributes__add_plain(struct text *to, const char *escaped, size_t length, size_t max);
/* The value of a key, clean, into `to`.  False: there is none, and to is "". */
bool attributes__find(const char *list, const char *key, char *to, size_t size);

/* Append bytes, escaped. */
void attributes__add_escaped(struct text *to, const char *bytes, size_t length);
/* Append a part of a list, which has its escapes: only what is no text is escaped. */
void attributes__add_part(struct text *to, const char *bytes, size_t length);
/* Append a pair, "KEY=VALUE" as it is in a list, if all of it has room: half of a value would be wrong. */
void attributes__add_pair(struct text *list, const struct text *pair);
/* Append "key=value"; the value is escaped. */
void attributes__add(struct text *list, const char *key, const char *value, size_t length);

#endif /* EXTPROF_ATTRIBUTES_H */
