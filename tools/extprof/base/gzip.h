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

/*
 * The same as a stream: what is written to *through is compressed.  0 or -ENOMEM.  After 0, gzip__close() has to be called
 * with the error of the writer, or 0; it returns that, or else its own.
 */
int gzip__open(struct gzip *g, FILE *to, FILE **through);
int gzip__close(struct gzip *g, FILE *through, int err);

#endif /* EXTPROF_GZIP_H */
