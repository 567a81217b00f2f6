/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All figures that are one number, one row for each.  A new figure is a sum in profile/figures.h, its name in extprof.h, and
 * a row here; the JSON of extprof stat has it then.
 */
#ifndef EXTPROF_LIBRARY_FIGURE_ROWS_H
#define EXTPROF_LIBRARY_FIGURE_ROWS_H

#include <stddef.h>

#include "extprof.h"
#include "profile/figures.h"

/* It is computed from several, see library/figures.c. */
#define FIGURE_COMPUTED SIZE_MAX

struct figure_row {
	const char *key;	/* extprof_figure::key */
	enum figure known_as;	/* which figure of the engine says whether it is known */
	size_t sum;		/* offset in struct sums, or FIGURE_COMPUTED */
};

/* FIGURE_ROWS of them, by enum extprof_figure_id. */
#define FIGURE_ROWS (EXTPROF_HEAP_MALLOC_LIMIT + 1)
extern const struct figure_row figure_rows[FIGURE_ROWS];

#endif /* EXTPROF_LIBRARY_FIGURE_ROWS_H */
