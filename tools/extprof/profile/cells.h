/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much there was at each time, by process and by state of its threads, for formats that show it.  A column is a part of
 * the time, a row is a process.  What lasted is in all columns that it lasted in, each with its part: the parts add up.
 */
#ifndef EXTPROF_CELLS_H
#define EXTPROF_CELLS_H

#include <stdint.h>

#include "wire/states.h"

/* A screen has room for as many. */
#define CELLS_COLUMNS 600u
/* Rows by themselves; the rest shares the last one.  60 MB with all states. */
#define CELLS_ROWS_MAX 64u

/* Kinds of cells: the states of threads, and two more. */
enum cell_kind {
	CELL_GC = STATE_MAX,	/* it ran the collector */
	CELL_IDLE,		/* it waited and has nothing to do, see idle.h */
	CELL_KINDS
};

/* "gvl", "gc", "idle"; for these kinds only. */
const char *cell_kind__name(unsigned int kind);

struct cells_row {
	uint32_t key;
	uint64_t sums[CELL_KINDS];	/* all of it */
	uint64_t outside[CELL_KINDS];	/* of that, what is before `from`, or behind `until` */
	uint64_t *amounts[CELL_KINDS];	/* CELLS_COLUMNS of them; NULL: there is none of that kind */
};

struct cells {
	uint64_t wall;		/* ns since 1970 of the time 0; 0: not known */
	uint64_t from, until;	/* ns, of all columns */
	uint64_t width;		/* of one, ns, at least 1; the last one ends at `until`, and has that moment */
	uint32_t columns;	/* CELLS_COLUMNS at most */
	struct cells_row rows[CELLS_ROWS_MAX];
	uint32_t count;
};

/* Zero all, then set the time.  *until is after *from. */
void cells__set_time(struct cells *c, uint64_t from, uint64_t until);
/* Give the key a row of its own before its first amount comes: if there are more keys than rows, those that have most need one. */
void cells__keep(struct cells *c, uint32_t key);
/*
 * An amount that was there at `begin`, or from `begin` to `end` if that is later.  The row is that of the key; where no room is
 * for another one, it is the last.  0 or -ENOMEM.
 */
int cells__add(struct cells *c, uint32_t key, unsigned int kind, uint64_t begin, uint64_t end, uint64_t amount);
void cells__free(struct cells *c);

#endif /* EXTPROF_CELLS_H */
