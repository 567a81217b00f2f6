/* SPDX-License-Identifier: BSD-2-Clause */
/* A stream of the C library whose bytes go to a function of the caller's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/error.h"

struct extprof_stream {
	FILE *file;
	extprof_writer writer;
	void *context;
	int err;		/* of the function: what it has said first */
};

static ssize_t stream__write(void *cookie, const char *data, size_t size)
{
	struct extprof_stream *s = cookie;
	int err = s->err ? s->err : s->writer(s->context, data, size);

	if (!err)
		return (ssize_t)size;
	s->err = err < 0 ? err : -EIO;
	errno = -s->err;
	return 0;
}

int extprof_stream_open(struct extprof_stream **stream, extprof_writer writer, void *context, struct extprof_error *error)
{
	struct extprof_stream *s;

	*stream = NULL;
	if (!writer)
		return error__set(error, DIAG_USAGE, EINVAL, "there is no function for the output");
	s = calloc(1, sizeof(*s));
	if (!s)
		return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
	s->writer = writer;
	s->context = context;
	s->file = fopencookie(s, "w", (cookie_io_functions_t){ .write = stream__write });
	if (!s->file) {
		free(s);
		return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
	}
	*stream = s;
	return 0;
}

FILE *extprof_stream_file(const struct extprof_stream *stream)
{
	return stream->file;
}

int extprof_stream_close(struct extprof_stream *stream, struct extprof_error *error)
{
	int err;

	if (!stream)
		return 0;
	/* It writes what is left in the buffer. */
	err = fclose(stream->file) ? -errno : 0;
	err = stream->err ? stream->err : err;
	free(stream);
	return err ? error__set(error, DIAG_OUTPUT, -err, "the output could not be written: %s", strerror(-err)) : 0;
}
