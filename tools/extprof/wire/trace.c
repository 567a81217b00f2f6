/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "wire/trace.h"

#include <string.h>

static bool is_zero(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

bool trace__is_set(const struct trace_context *c)
{
	return !is_zero(c->trace, sizeof(c->trace));
}

static bool add_hex(const uint8_t *bytes, size_t count, char *to)
{
	static const char digits[] = "0123456789abcdef";

	if (is_zero(bytes, count))
		return false;
	for (size_t i = 0; i < count; i++) {
		*to++ = digits[bytes[i] >> 4];
		*to++ = digits[bytes[i] & 15];
	}
	*to = '\0';
	return true;
}

bool trace__text(const struct trace_context *c, enum trace_part part, char to[TRACE_TEXT_SIZE])
{
	*to = '\0';
	return part == TRACE_ID ? add_hex(c->trace, sizeof(c->trace), to) :
				  trace__is_set(c) && add_hex(c->span, sizeof(c->span), to);
}

const char *const trace_labels[TRACE_PARTS] = { [TRACE_ID] = "trace_id", [TRACE_SPAN] = "span_id" };

int trace__part_of_label(const char *key)
{
	for (int i = 0; i < TRACE_PARTS; i++)
		if (!strcmp(key, trace_labels[i]))
			return i;
	return -1;
}
