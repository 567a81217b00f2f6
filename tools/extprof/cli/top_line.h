/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One line of the screen of extprof top, with the columns that it takes: a wide letter takes two, a mark that combines
 * with a letter none.  Texts are UTF-8, and so must LC_CTYPE be.
 */
#ifndef EXTPROF_TOP_LINE_H
#define EXTPROF_TOP_LINE_H

#include <stddef.h>

#define TOP_LINE_MAX 4096

/* Zero-initialise.  Text that does not fit is left out. */
struct top_line {
	char text[TOP_LINE_MAX];
	size_t length;
	unsigned int columns;
};

void top_line__clear(struct top_line *l);
unsigned int top_columns(const char *s);

/* Append text as it is. */
void top_line__add(struct top_line *l, const char *s);
void top_line__addf(struct top_line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Append the text in at most `width` columns; ".." stands for its middle: methods of one class differ in their ends. */
void top_line__add_ends(struct top_line *l, const char *s, unsigned int width);
/* The same with its end alone. */
void top_line__add_end(struct top_line *l, const char *s, unsigned int width);
/* Append blanks until it takes so many columns. */
void top_line__pad(struct top_line *l, unsigned int columns);
/* Cut it to at most so many columns. */
void top_line__cut(struct top_line *l, unsigned int columns);
/* Without blanks at its end. */
void top_line__trim(struct top_line *l);

#endif /* EXTPROF_TOP_LINE_H */
