/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/top_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#define CUT ".."
#define CUT_COLUMNS 2u
/* Bytes of a letter in UTF-8.  A shorter string ends before that: mbrtowc() stops at its end. */
#define LETTER_BYTES_MAX 4

/* The columns of the letter at s, which is not at its end, and its bytes.  *printable: the terminal shows it as it is. */
static unsigned int letter(const char *s, size_t *bytes, int *printable)
{
	mbstate_t state = { 0 };
	wchar_t c;
	size_t n = mbrtowc(&c, s, LETTER_BYTES_MAX, &state);
	int width;

	*printable = 0;
	*bytes = 1;
	if (n == (size_t)-1 || n == (size_t)-2 || !n)
		return 1;
	*bytes = n;
	width = wcwidth(c);
	if (width < 0)
		return 1;
	*printable = 1;
	return (unsigned int)width;
}

void top_line__clear(struct top_line *l)
{
	l->text[0] = '\0';
	l->length = 0;
	l->columns = 0;
}

unsigned int top_columns(const char *s)
{
	unsigned int columns = 0;
	size_t bytes;
	int printable;

	for (; *s; s += bytes)
		columns += letter(s, &bytes, &printable);
	return columns;
}

/* Append letters up to `width` columns; what the terminal cannot show is a question mark. */
static void add(struct top_line *l, const char *s, unsigned int width)
{
	unsigned int used = 0;
	size_t bytes;
	int printable;

	for (; *s; s += bytes) {
		unsigned int more = letter(s, &bytes, &printable);
		size_t length = printable ? bytes : 1;

		if (used + more > width || l->length + length >= sizeof(l->text))
			break;
		memcpy(l->text + l->length, printable ? s : "?", length);
		l->length += length;
		used += more;
	}
	l->text[l->length] = '\0';
	l->columns += used;
}

void top_line__add(struct top_line *l, const char *s)
{
	add(l, s, ~0u);
}

void top_line__addf(struct top_line *l, const char *format, ...)
{
	char text[TOP_LINE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	add(l, text, ~0u);
}

/* Append the end of a string of `all` columns, in at most `width`. */
static void add_ending(struct top_line *l, const char *s, unsigned int all, unsigned int width)
{
	size_t bytes;
	int printable;

	while (*s && all > width) {
		all -= letter(s, &bytes, &printable);
		s += bytes;
	}
	/* A mark would combine with the dots. */
	while (*s && !letter(s, &bytes, &printable))
		s += bytes;
	add(l, s, all);
}

void top_line__add_ends(struct top_line *l, const char *s, unsigned int width)
{
	unsigned int all = top_columns(s), head;

	if (all <= width) {
		add(l, s, width);
		return;
	}
	if (width < CUT_COLUMNS)
		return;
	head = (width - CUT_COLUMNS) / 2;
	add(l, s, head);
	add(l, CUT, CUT_COLUMNS);
	add_ending(l, s, all, width - CUT_COLUMNS - head);
}

void top_line__add_end(struct top_line *l, const char *s, unsigned int width)
{
	unsigned int all = top_columns(s);

	if (all <= width) {
		add(l, s, width);
		return;
	}
	if (width < CUT_COLUMNS)
		return;
	add(l, CUT, CUT_COLUMNS);
	add_ending(l, s, all, width - CUT_COLUMNS);
}

void top_line__pad(struct top_line *l, unsigned int columns)
{
	while (l->columns < columns && l->length + 1 < sizeof(l->text)) {
		l->text[l->length++] = ' ';
		l->columns++;
	}
	l->text[l->length] = '\0';
}

void top_line__cut(struct top_line *l, unsigned int columns)
{
	struct top_line whole;

	if (l->columns <= columns)
		return;
	whole = *l;
	top_line__clear(l);
	add(l, whole.text, columns);
}

void top_line__trim(struct top_line *l)
{
	while (l->length && l->text[l->length - 1] == ' ') {
		l->text[--l->length] = '\0';
		l->columns--;
	}
}
