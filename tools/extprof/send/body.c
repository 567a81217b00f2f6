/* SPDX-License-Identifier: BSD-2-Clause */
#include "send/body.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* The window of zlib: 32 KiB, with the head and the end of gzip. */
#define GZIP_WINDOW (15 + 16)
#define GZIP_LEVEL 6
#define GZIP_MEMORY 8

static ssize_t take(void *context, const char *data, size_t length)
{
	struct body *b = context;

	if (length > BODY_MAX - b->length) {
		b->too_large = true;
		errno = EFBIG;
		return 0;
	}
	if (b->length + length > b->room) {
		size_t room = b->room ? 2 * b->room : 65536;
		uint8_t *more;

		while (room < b->length + length)
			room *= 2;
		more = realloc(b->data, room);
		if (!more) {
			errno = ENOMEM;
			return 0;
		}
		b->data = more;
		b->room = room;
	}
	memcpy(b->data + b->length, data, length);
	b->length += length;
	return (ssize_t)length;
}

FILE *body__open(struct body *b)
{
	b->length = 0;
	b->too_large = false;
	return fopencookie(b, "w", (cookie_io_functions_t){ .write = take });
}

size_t body__unpacked(const struct body *b)
{
	const uint8_t *end = b->data + b->length;

	/* The last field of RFC 1952. */
	return b->length < 18 ? 0 : end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16 | (size_t)end[-1] << 24;
}

int body__pack(struct body *b, const void *data, size_t length)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)length };
	int code;

	body__free(b);
	if (length > UINT32_MAX || deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	b->room = deflateBound(&z, length);
	b->data = malloc(b->room);
	z.next_out = b->data;
	z.avail_out = b->data ? (uInt)b->room : 0;
	code = b->data ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
	b->length = b->data ? (size_t)(z.next_out - b->data) : 0;
	deflateEnd(&z);
	return code == Z_STREAM_END ? 0 : -ENOMEM;
}

void body__free(struct body *b)
{
	free(b->data);
	*b = (struct body){ 0 };
}
