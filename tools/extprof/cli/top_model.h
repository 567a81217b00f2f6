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

enum top_sort { TOP_BY_SELF, TOP_BY_TOTAL, TOP_BY_NAME, TOP_BY_GROWTH, TOP_SORTS };

/* In the unit of the report. */
struct top_amount {
	uint64_t self, total;	/* recursion counts once */
};

/* By enum extprof_state; a state that is newer than this program has no place. */
#define TOP_STATES_MAX 32u

/* What a thread or a process did, besides what its stacks say. */
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
	char *name, *path;	/* "" no path; of a thread its process */
	struct top_account *account;	/* of a thread or a process; NULL: nothing is known */
	char *thread;		/* of a row of one thread; "": of all threads */
	int32_t line;		/* of methods the first one; 0 none */
	bool approximate;
	int kind;		/* enum extprof_frame_kind */
	uint32_t number;	/* pid of a process, tid of a thread; 0: not known, or of several */
	uint32_t of;		/* of a thread: pid of its process; the same */
	char *host;		/* of a recording of several machines: of which it is; else "" */
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
/* The account of a row, which is made if it has none.  NULL: out of memory. */
struct top_account *top_row__account(struct top_row *row);
/* What it is called on the screen. */
const char *top_row__shown(const struct top_row *row);

/* After all stacks of a window: add what a thread or a process of it did.  Those without a row are left out. */
struct top_accounts;
/* 0 or -ENOMEM.  top_accounts__free() must follow in any case. */
int top_accounts__begin(struct top_accounts **accounts, struct top_model *m);
int top_accounts__add_thread(struct top_accounts *a, const struct extprof_report_thread *thread);
int top_accounts__add_process(struct top_accounts *a, const struct extprof_report_process *process);
void top_accounts__free(struct top_accounts *a);
/* Read how much memory the processes have that live. */
void top_model__read_memory(struct top_model *m);
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

/* By how much the total has grown: in the last window, or since the reset. */
static inline int64_t top_row__growth(const struct top_row *row, bool all)
{
	return (int64_t)(row->last.total - (all ? row->base.total : row->before.total));
}

/* The rows that have anything, sorted.  *rows is to be freed.  0 or -ENOMEM. */
int top_model__choose(const struct top_model *m, const struct top_choice *choice, const struct top_row ***rows,
		      uint32_t *count);

#endif /* EXTPROF_TOP_MODEL_H */
