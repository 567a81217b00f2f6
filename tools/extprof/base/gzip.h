/* SPDX-License-Identifier: BSD-2-Clause */
/* A gzip file that is written to a stream piece by piece, by zlib. */
#ifndef EXTPROF_GZIP_H
#define EXTPROF_GZIP_H

#include <stddef.h>
#include <stdio.h>
#include <zlib.h>

struct gzip {
	FILE *to;	/* of the caller, who closes it */
	z_stream zlib;
	int err;	/* the first error, -errno; nothing is written after it */
};

/* 0 or -ENOMEM.  After 0, gzip__finish() has to be called. */
int gzip__start(struct gzip *g, FILE *to);
void gzip__write(struct gzip *g, const void *data, size_t length);
/* Write what is left and free all memory.  0 or the first error of all, -errno. */
int gzip__finish(struct gzip *g);

#endif /* EXTPROF_GZIP_H */
