/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers of requests, such as those that say who sends.  They are secrets. */
#ifndef EXTPROF_SEND_HEADER_H
#define EXTPROF_SEND_HEADER_H

#include <stdbool.h>
#include <stddef.h>

#define HEADERS_MAX 32u
#define HEADER_FILE_MAX 65536

/* Zero-initialise. */
struct headers {
	char *list[HEADERS_MAX];
	unsigned int count;
};

/* Add a copy of "NAME: VALUE".  0, -ENOMEM, or -EINVAL and `why`, which has nothing of the value: it is none, or one that
 * requests have by themselves. */
int headers__add(struct headers *h, const char *text, char *why, size_t size);
/* A header on each line; empty lines and those that begin with # are left out. */
int headers__add_lines(struct headers *h, const char *text, char *why, size_t size);
/* Those of a file.  0 or negative errno and `why`.  *seen: all users of this machine can read it. */
int headers__read(struct headers *h, const char *path, bool *seen, char *why, size_t size);
void headers__free(struct headers *h);

#endif /* EXTPROF_SEND_HEADER_H */
