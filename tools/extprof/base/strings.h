/* SPDX-License-Identifier: BSD-2-Clause */
/* A set of texts: each is kept once, under a number that it never loses. */
#ifndef EXTPROF_STRINGS_H
#define EXTPROF_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/map64.h"

/* Zero-initialise. */
struct strings {
	char **list;		/* by number */
	uint32_t count;
	size_t room;
	struct map64 map;	/* by hash */
};

/* The number of a text, of which a copy is made if it is new.  MAP64_NONE: out of memory. */
uint32_t strings__number(struct strings *s, const char *text, size_t length);
/* The number of a text that is there; MAP64_NONE: it is not. */
uint32_t strings__find(const struct strings *s, const char *text);
/* The copy of it.  Equal texts have equal addresses.  NULL: out of memory. */
const char *strings__intern(struct strings *s, const char *text);

void strings__free(struct strings *s);

#endif /* EXTPROF_STRINGS_H */
