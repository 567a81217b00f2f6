/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/gzip.h"

#include <errno.h>
#include <string.h>

/* 16 asks deflate for a gzip header around the largest window, which is 15. */
#define GZIP_WINDOW (15 + 16)
#define GZIP_MEMORY 8	/* zlib's default */
/* zlib counts the bytes of one call in 32 bits. */
#define GZIP_INPUT_MAX (1u << 30)

int gzip__start(struct gzip *g, FILE *to)
{
	memset(g, 0, sizeof(*g));
	g->to = to;
	if (deflateInit2(&g->zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	return 0;
}

/* Compress the input that zlib has been given, and write what comes out. */
static void deflate_all(struct gzip *g, int flush)
{
	unsigned char out[16384];

	do {
		size_t length;

		g->zlib.next_out = out;
		g->zlib.avail_out = sizeof(out);
		/* It fails only if the stream is corrupt, which is a bug. */
		if (deflate(&g->zlib, flush) == Z_STREAM_ERROR) {
			g->err = -EIO;
			return;
		}
		length = sizeof(out) - g->zlib.avail_out;
		errno = 0;
		if (fwrite(out, 1, length, g->to) != length)
			g->err = errno ? -errno : -EIO;
	} while (!g->err && !g->zlib.avail_out);
}

void gzip__write(struct gzip *g, const void *data, size_t length)
{
	const unsigned char *from = data;

	while (length && !g->err) {
		size_t part = length < GZIP_INPUT_MAX ? length : GZIP_INPUT_MAX;

		/* zlib does not change its input; its type is older than const. */
		g->zlib.next_in = (unsigned char *)from;
		g->zlib.avail_in = (unsigned int)part;
		deflate_all(g, Z_NO_FLUSH);
		from += part;
		length -= part;
	}
}

int gzip__finish(struct gzip *g)
{
	g->zlib.avail_in = 0;
	if (!g->err)
		deflate_all(g, Z_FINISH);
	deflateEnd(&g->zlib);
	return g->err;
}

static ssize_t write_through(void *cookie, const char *data, size_t size)
{
	struct gzip *g = cookie;

	gzip__write(g, data, size);
	if (!g->err)
		return (ssize_t)size;
	errno = -g->err;
	return 0;
}

int gzip__open(struct gzip *g, FILE *to, FILE **through)
{
	static const cookie_io_functions_t functions = { .write = write_through };
	int err = gzip__start(g, to);

	if (err)
		return err;
	*through = fopencookie(g, "w", functions);
	if (*through)
		return 0;
	gzip__finish(g);
	return -ENOMEM;
}

int gzip__close(struct gzip *g, FILE *through, int err)
{
	int last;

	if (fclose(through) && !err)
		err = g->err ? g->err : -EIO;
	last = gzip__finish(g);
	return err ? err : last;
}
