/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows that extprof top shows of one mode: methods, lines, states, threads and processes, each with its amounts in
 * the last window and since the last reset.  Its memory is bounded: of too many rows the smallest are put together.
 */
#ifndef EXTPROF_TOP_MODEL_H
#define EXTPROF_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "extprof.h"

/* Limit of the rows of one view.  If there are more, the smallest half becomes one row. */
#define TOP_ROWS_MAX 8192u

enum top_view {
	TOP_METHODS,
	TOP_LINES,
	TOP_STATES,		/* what is below the code: states, classes, system calls, events */
	TOP_THREADS,
	TOP_PROCESSES,
	TOP_VIEWS
};

enum top_sort { TOP_BY_SELF, TOP_BY_TOTAL, TOP_BY_NAME, TOP_SORTS };

/* In the unit of the report. */
struct top_amount {
	uint64_t self, total;	/* recursion counts once */
};

struct top_row {
	char *name, *path;	/* "" no path; of a thread its process */
	char *thread;		/* of a row of one thread; "": of all threads */
	int32_t line;		/* of methods the first one; 0 none */
	bool approximate;
	int kind;		/* enum extprof_frame_kind */
	uint32_t number;	/* pid of a process, tid of a thread; 0: not known, or of several */
	struct top_amount last, all;	/* of the last window, and since the reset */
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

/* Zero-initialise. */
struct top_model {
	struct top_table tables[TOP_VIEWS], by_thread[TOP_VIEWS];
	uint64_t last, all;		/* sums of all stacks */
	uint64_t last_gc, all_gc;	/* of them, in the collector */
	uint64_t last_gvl, all_gvl;	/* of them, waiting for the GVL */
	uint64_t last_waits, all_waits;	/* of them, in any state but running */
	uint64_t stacks;		/* that were added */
};

/* A window begins: what the rows had in the last one is forgotten. */
void top_model__begin(struct top_model *m);
/* Add a stack, whose groups are its process and its thread.  0 or -ENOMEM. */
int top_model__add(struct top_model *m, const struct extprof_stack *stack);
/* Add all stacks of a report.  0 or -ENOMEM. */
int top_model__add_report(struct top_model *m, struct extprof_report *report);
/* Forget all. */
void top_model__free(struct top_model *m);

/* The rows to be shown, and their order. */
struct top_choice {
	enum top_view view;
	bool by_thread;		/* methods, lines and states: each thread by itself */
	bool all;		/* since the reset, not of the last window */
	enum top_sort sort;
	bool reverse;
	const char *filter;	/* rows with this text in name, path or thread, whatever the case; "": all rows */
};

static inline const struct top_amount *top_row__amount(const struct top_row *row, bool all)
{
	return all ? &row->all : &row->last;
}

/* The rows that have anything, sorted.  *rows is to be freed.  0 or -ENOMEM. */
int top_model__choose(const struct top_model *m, const struct top_choice *choice, const struct top_row ***rows,
		      uint32_t *count);

#endif /* EXTPROF_TOP_MODEL_H */
