/* SPDX-License-Identifier: BSD-2-Clause */
#include "send/body.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

void body__free(struct body *b)
{
	free(b->data);
	*b = (struct body){ 0 };
}
