/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows that extprof top shows of one mode: methods, lines, states, threads and processes, each with its amounts in
 * the last window and since the last reset.  top_rows.h has the tables.  Amounts are in the unit of the report.
 */
#ifndef EXTPROF_TOP_MODEL_H
#define EXTPROF_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/top_rows.h"
#include "extprof.h"

enum top_view {
	TOP_METHODS,
	TOP_LINES,
	TOP_STATES,		/* what is below the code: states, classes, system calls, events */
	TOP_THREADS,
	TOP_PROCESSES,
	TOP_VIEWS
};

enum top_sort { TOP_BY_SELF, TOP_BY_TOTAL, TOP_BY_NAME, TOP_BY_GROWTH, TOP_SORTS };

/* Zero-initialise. */
struct top_model {
	struct top_table tables[TOP_VIEWS], by_thread[TOP_VIEWS];
	uint64_t last, all;		/* sums of all stacks */
	uint64_t last_gc, all_gc;	/* of them, in the collector */
	uint64_t last_gvl, all_gvl;	/* of them, waiting for the GVL */
	uint64_t last_waits, all_waits;	/* of them, in any state but running */
	bool tells_made;		/* of some process it is known how many objects it made in a window */
	uint32_t states;		/* in which any thread was by its account: a bit of each */
	bool lives;			/* a window has what is there at its end, so windows are not added up: `all` is `last` */
	uint64_t stacks;		/* that were added */
};

/* A window begins: what the rows had in the last one is forgotten. */
void top_model__begin(struct top_model *m);
/* Add a stack, whose groups are its process and its thread.  0 or -ENOMEM. */
int top_model__add(struct top_model *m, const struct extprof_stack *stack);
/* A thread rests: it has a row, too, with nothing of the mode, and its process has the sum.  0 or -ENOMEM. */
int top_model__add_idle(struct top_model *m, const struct extprof_idle_thread *thread);
/* Add all stacks of a report, and the accounts of its threads and processes.  0 or -ENOMEM. */
int top_model__add_report(struct top_model *m, struct extprof_report *report);
/* A reset of a model of what lives: growth is counted from now on. */
void top_model__rebase(struct top_model *m);
/* The row of the same name, place and number in another model; NULL: it has none. */
const struct top_row *top_model__find(const struct top_model *m, enum top_view view, const struct top_row *row);
/* Forget all. */
void top_model__free(struct top_model *m);

/* After all stacks of a window: add what a thread or a process of it did.  Those without a row are left out. */
struct top_accounts;
/* 0 or -ENOMEM.  top_accounts__free() must follow in any case. */
int top_accounts__begin(struct top_accounts **accounts, struct top_model *m);
int top_accounts__add_thread(struct top_accounts *a, const struct extprof_report_thread *thread);
int top_accounts__add_process(struct top_accounts *a, const struct extprof_report_process *process);
void top_accounts__free(struct top_accounts *a);
/* Read how much memory the processes have that live. */
void top_model__read_memory(struct top_model *m);

/* The rows to be shown, and their order. */
struct top_choice {
	enum top_view view;
	bool by_thread;		/* methods, lines and states: each thread by itself */
	bool all;		/* since the reset, not of the last window */
	enum top_sort sort;
	bool reverse;
	const char *filter;	/* rows with this text in name, path or thread, whatever the case; "": all rows */
};

/* The rows that have anything, sorted.  *rows is to be freed.  0 or -ENOMEM. */
int top_model__choose(const struct top_model *m, const struct top_choice *choice, const struct top_row ***rows,
		      uint32_t *count);

#endif /* EXTPROF_TOP_MODEL_H */
