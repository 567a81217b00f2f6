/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Columns that text takes in letters of one width, on a terminal or in a browser: a wide
 * letter takes two, a combining mark none.  The locale of the process does not matter.
 * All strings are clean: see text__add_clean().
 */
#ifndef EXTPROF_COLUMNS_H
#define EXTPROF_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

size_t columns__of(const char *s);

/*
 * Append the string in at most `width` columns; where it is longer, ".." stands for its
 * middle.  With `pad`, blanks follow until there are exactly so many columns.
 */
void columns__add_ends(struct text *out, const char *s, size_t width, bool pad);

/* The same with the end of the string, which tells places apart: "..s/show.rb:24". */
void columns__add_end(struct text *out, const char *s, size_t width);

/*
 * Lines from byte `from` on that are longer than `width` columns go on in the next line, four columns further in.  They
 * are cut at blanks alone.  0: nothing is done.
 */
void columns__wrap(struct text *out, size_t from, size_t width);

/* The same with the start of the string and an ellipsis for the rest; nothing if two
 * columns are not enough for a letter of it. */
void columns__add_start(struct text *out, const char *s, size_t width);

#endif /* EXTPROF_COLUMNS_H */
