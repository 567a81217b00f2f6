/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/columns.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistr.h>
#include <uniwidth.h>

#define ELLIPSIS "\xe2\x80\xa6"

/* The columns of the letter at s, which has *length bytes; s is not at its end. */
static size_t letter(const char *s, size_t *length)
{
	/* No character has more bytes, and a shorter string ends before them. */
	size_t left = strnlen(s, 4);
	ucs4_t c;
	int n = u8_mbtoucr(&c, (const uint8_t *)s, left), width;

	*length = n > 0 ? (size_t)n : 1;
	if (n <= 0)
		return 1;
	width = uc_width(c, "UTF-8");
	return width > 0 ? (size_t)width : 0;
}

size_t columns__of(const char *s)
{
	size_t columns = 0, length;

	for (; *s; s += length)
		columns += letter(s, &length);
	return columns;
}

/* How many bytes of the string fit, with the marks that combine with the last letter, and
 * how many columns they take. */
static size_t fitting(const char *s, size_t width, size_t *columns)
{
	size_t at = 0, length;

	for (*columns = 0; s[at]; at += length) {
		size_t more = letter(s + at, &length);

		if (*columns + more > width)
			break;
		*columns += more;
	}
	return at;
}

/* The end of a string of `all` columns, in at most `width`: it begins with a letter, not
 * with marks that combine with one before. */
static const char *ending(const char *s, size_t all, size_t width, size_t *columns)
{
	size_t length, more;

	while (*s && all > width) {
		all -= letter(s, &length);
		s += length;
	}
	for (*columns = all; *s; s += length) {
		more = letter(s, &length);
		if (more)
			break;
	}
	return s;
}

void columns__add_ends(struct text *out, const char *s, size_t width, bool pad)
{
	size_t all = columns__of(s), used = all, head, tail, bytes;
	const char *end;

	if (all <= width) {
		text__adds(out, s);
	} else if (width >= 2) {
		bytes = fitting(s, (width - 2) / 2, &head);
		end = ending(s, all, width - 2 - (width - 2) / 2, &tail);
		text__add(out, s, bytes);
		text__adds(out, "..");
		text__adds(out, end);
		used = head + 2 + tail;
	} else {
		used = 0;
	}
	for (; pad && used < width; used++)
		text__adds(out, " ");
}

void columns__add_end(struct text *out, const char *s, size_t width)
{
	size_t all = columns__of(s), tail;

	if (all > width && width >= 2) {
		s = ending(s, all, width - 2, &tail);
		text__adds(out, "..");
	}
	if (all <= width || width >= 2)
		text__adds(out, s);
}

/* One line, which is clean and has no end. */
static void add_wrapped(struct text *out, char *line, size_t width)
{
	size_t used = 0;

	while (*line) {
		size_t blanks = strspn(line, " "), length = strcspn(line + blanks, " ") + blanks;
		char next = line[length];
		size_t columns;

		line[length] = '\0';
		columns = columns__of(line);
		if (used > 4 && used + columns > width) {
			text__adds(out, "\n    ");
			text__adds(out, line + blanks);
			used = 4 + columns - blanks;
		} else {
			text__adds(out, line);
			used += columns;
		}
		line[length] = next;
		line += length;
	}
}

void columns__wrap(struct text *out, size_t from, size_t width)
{
	char *copy, *line, *end;

	if (!width || out->failed || from >= out->length)
		return;
	copy = strdup(out->data + from);
	if (!copy) {
		out->failed = true;
		return;
	}
	out->length = from;
	for (line = copy; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		add_wrapped(out, line, width);
		text__adds(out, "\n");
	}
	add_wrapped(out, line, width);
	free(copy);
}

void columns__add_start(struct text *out, const char *s, size_t width)
{
	size_t columns, bytes;

	if (columns__of(s) <= width) {
		text__adds(out, s);
		return;
	}
	if (width < 2)
		return;
	bytes = fitting(s, width - 1, &columns);
	if (!columns)
		return;
	text__add(out, s, bytes);
	text__adds(out, ELLIPSIS);
}
