/* SPDX-License-Identifier: BSD-2-Clause */
/* The address of a receiver. */
#ifndef EXTPROF_SEND_URL_H
#define EXTPROF_SEND_URL_H

#include <stddef.h>

/*
 * Check a URL and complete it: without a path it gets `path`.  It begins with http:// or https://, and has no name and password,
 * which `ps' would show, and no #.  0, or -EINVAL, -ENOMEM, -ENOSYS (no libcurl) and `why`.  The caller frees *url.
 */
int url__complete(const char *text, const char *path, char **url, char *why, size_t size);

/* Add NAME=VALUE to its query, with what is not a letter or digit of the value as %XX.  0 or -ENOMEM; *url is another one then. */
int url__add(char **url, const char *name, const char *value);

/* For messages, without the query, which can have a key in it.  The caller frees it; NULL: out of memory. */
char *url__shown(const char *url);

#endif /* EXTPROF_SEND_URL_H */
