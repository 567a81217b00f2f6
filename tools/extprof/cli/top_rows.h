/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table of rows of extprof top, each found by its key.  The table owns its rows, and copies the texts of a key.  Its memory
 * is bounded: of too many rows the smallest are put together.  Functions that fail return -ENOMEM or NULL.
 */
#ifndef EXTPROF_TOP_ROWS_H
#define EXTPROF_TOP_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "extprof.h"

/* Limit of the rows of one view.  If there are more, the smallest half becomes one row. */
#define TOP_ROWS_MAX 8192u

/* In the unit of the report. */
struct top_amount {
	uint64_t self, total;	/* recursion counts once */
};

/* By enum extprof_state; a state that is newer than this program has no place. */
#define TOP_STATES_MAX 32u

/* Sums of a thread or a process that are not in stacks. */
struct top_sums {
	uint64_t times[TOP_STATES_MAX], idle;	/* ns; of threads: idle is a part of the times; of processes: that of their threads */
	uint64_t cpu;		/* ns by the account of the kernel; of processes */
	uint64_t gvl, gc;	/* the same as of the head, of one process */
};

struct top_account {
	struct top_sums last, all;
	uint64_t resident;	/* bytes of memory of a process that lives; 0: unknown */
	uint64_t live_slots;	/* of its heap; the same */
	uint64_t objects;	/* that it had made when the last window ended; the same */
	uint64_t made;		/* of these in the last window; UINT64_MAX: not known */
	bool counted, counted_before;	/* objects are known of the last window, and of the one before */
	bool lives;		/* at the end of the last window, as far as it is known */
	char title[96];		/* of a process: its number and what it says it is, if that is more than its name; "": it is not */
};

struct top_row {
	const char *name, *path;	/* "" no path; of a thread its process */
	struct top_account *account;	/* of a thread or a process; NULL: nothing is known */
	const char *thread;	/* of a row of one thread; "": of all threads */
	int32_t line;		/* of methods the first one; 0 none */
	bool approximate;
	int kind;		/* enum extprof_frame_kind */
	uint32_t number;	/* pid of a process, tid of a thread; 0: not known, or of several */
	uint32_t of;		/* of a thread: pid of its process; the same */
	const char *host;	/* of a recording of several machines: of which it is; else "" */
	struct top_amount last, all;	/* of the last window, and since the reset */
	struct top_amount before, base;	/* top_model::lives: `last` of the window before, and of the reset */
	/* For the model. */
	uint64_t hash, stack;
	struct top_row *next;
};

struct top_table {
	struct top_row **rows;
	uint32_t count;
	size_t room;
	struct top_row **buckets;	/* TOP_BUCKETS lists */
};

/* The key of a row. */
struct top_key {
	const char *name, *path, *thread;
	int32_t line;
	bool approximate;
	int kind;
	uint32_t number, of;
	const char *host;	/* the name or path has it, too; NULL: none */
	bool is_line;		/* it is of a place, whatever the code there is called: the name is that of the first one */
};

/* The row of a key; NULL: it has none. */
struct top_row *top_table__find(const struct top_table *t, const struct top_key *k);
/* The row of a key, made if it is new.  NULL: out of memory. */
struct top_row *top_table__row(struct top_table *t, const struct top_key *k);
/*
 * Add an amount to the row of a key: to its total if this is the first time that `stack` (the number of a stack) counts there,
 * and with `self` to what it has itself.  0 or -ENOMEM.
 */
int top_table__count(struct top_table *t, const struct top_key *k, uint64_t value, bool self, uint64_t stack);
/* A window begins: the rows forget their amounts of the last one.  lives: as in struct top_model. */
void top_table__begin(struct top_table *t, bool lives);
/* Growth is counted from now on. */
void top_table__rebase(struct top_table *t);
/* Free the rows.  The table is empty then. */
void top_table__free(struct top_table *t);

/* The account of a row, which is made if it has none.  NULL: out of memory. */
struct top_account *top_row__account(struct top_row *row);
/* The name that the screen shows. */
const char *top_row__shown(const struct top_row *row);

static inline const struct top_amount *top_row__amount(const struct top_row *row, bool all)
{
	return all ? &row->all : &row->last;
}

/* By how much the total has grown: in the last window, or since the reset. */
static inline int64_t top_row__growth(const struct top_row *row, bool all)
{
	return (int64_t)(row->last.total - (all ? row->base.total : row->before.total));
}

#endif /* EXTPROF_TOP_ROWS_H */
