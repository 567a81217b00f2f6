/* SPDX-License-Identifier: BSD-2-Clause */
/* What a fuzzer asks of each answer. */
#ifndef NEED_H
#define NEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define need(condition) do {							\
	if (!(condition)) {							\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);	\
		abort();							\
	}									\
} while (0)

/* The length of the character at `at`, and its code; 0: there is no UTF-8. */
static inline size_t character(const uint8_t *at, size_t left, uint32_t *code)
{
	size_t length = *at < 0x80 ? 1 : *at >> 5 == 6 ? 2 : *at >> 4 == 14 ? 3 : *at >> 3 == 30 ? 4 : 0;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

	if (!length || length > left)
		return 0;
	*code = length == 1 ? *at : *at & (0x7f >> length);
	for (size_t i = 1; i < length; i++) {
		if (at[i] >> 6 != 2)
			return 0;
		*code = *code << 6 | (at[i] & 0x3f);
	}
	return *code < least[length] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : length;
}

/*
 * Text for a terminal: UTF-8 without control characters and without those that turn a line around.  `lines`: an end of a
 * line and a tab may be in it.
 */
static inline void need_clean(const char *text, size_t length, bool lines)
{
	const uint8_t *at = (const uint8_t *)text;

	while (length) {
		uint32_t code = 0;
		size_t n = character(at, length, &code);

		need(n > 0);
		need(code >= ' ' || (lines && (code == '\n' || code == '\t')));
		need(code < 0x7f || code > 0x9f);
		need(code != 0x200e && code != 0x200f && (code < 0x2028 || code > 0x202e) && (code < 0x2066 || code > 0x2069));
		at += n;
		length -= n;
	}
}

#endif /* NEED_H */
