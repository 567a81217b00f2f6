/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/wrap.h"

#include <stdbool.h>
#include <string.h>

/* Where text goes on that has no columns, and how much room there has to be for text behind columns. */
#define INDENT 4u
#define ROOM_MIN 24u

/* The bytes of what is at s: a letter, or the code of a colour, which has no columns. */
static size_t letter(const char *s, const char *end, bool *shown)
{
	size_t n = 1;

	*shown = *s != '\033';
	if (!*shown) {
		while (s + n < end && s[n - 1] != 'm')
			n++;
		return n;
	}
	while (s + n < end && ((unsigned char)s[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static unsigned int columns_of(const char *s, const char *end)
{
	unsigned int columns = 0;
	bool shown;

	for (; s < end; s += letter(s, end, &shown), columns += shown)
		;
	return columns;
}

/* The column behind the last gap of two blanks or more in the line, as far as there is room behind it. */
static unsigned int indent_of(const char *s, const char *end, unsigned int width)
{
	unsigned int column = 0, blanks = 0, indent = INDENT;
	bool shown;

	for (; s < end && column + ROOM_MIN <= width; column += shown) {
		if (*s != ' ' && *s != '\033') {
			indent = blanks > 1 ? column : indent;
			blanks = 0;
		}
		blanks += *s == ' ';
		s += letter(s, end, &shown);
	}
	return indent < width ? indent : 0;
}

static void write_line(const char *s, const char *end, unsigned int width, FILE *to)
{
	unsigned int indent = indent_of(s, end, width), column = 0;
	bool first = true;

	while (s < end) {
		const char *blank = s, *word;
		unsigned int columns;

		while (blank < end && *blank == ' ')
			blank++;
		word = blank;
		while (word < end && *word != ' ')
			word++;
		columns = columns_of(s, word);
		/* A word that is longer than the line stays whole, and one that is longer than its column is not below it. */
		if (!first && column + columns > width && blank > s) {
			unsigned int length = columns_of(blank, word), to_column = indent + length <= width ? indent : INDENT;

			if (column > to_column) {
				fprintf(to, "\n%*s", (int)to_column, "");
				column = to_column;
				s = blank;
				columns = length;
			}
		}
		fwrite(s, 1, (size_t)(word - s), to);
		column += columns;
		first = false;
		s = word;
	}
}

void wrap__write(const char *text, unsigned int width, FILE *to)
{
	while (*text) {
		const char *end = text + strcspn(text, "\n");

		if (width && columns_of(text, end) > width)
			write_line(text, end, width, to);
		else
			fwrite(text, 1, (size_t)(end - text), to);
		if (*end)
			putc('\n', to);
		text = end + (*end != '\0');
	}
}
