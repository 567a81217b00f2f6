/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the lines of text that extprof top shows, and changes them by keys.  Nothing here knows a terminal. */
#ifndef EXTPROF_TOP_VIEW_H
#define EXTPROF_TOP_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/top_line.h"
#include "cli/top_model.h"

/* Less is no screen. */
#define TOP_WIDTH_MIN 40u
#define TOP_HEIGHT_MIN 8u
/* Lines above the rows. */
#define TOP_HEAD_LINES 4u

#define TOP_INTERVAL_MIN 100000000ull
#define TOP_INTERVAL_MAX 3600000000000ull

/* Keys that are no letters. */
enum top_key_code {
	TOP_KEY_UP = 0x200000,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_ESCAPE,
	TOP_KEY_BACKSPACE,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
};

/* The action that the caller has to take. */
enum top_action { TOP_NOTHING, TOP_DRAW, TOP_QUIT, TOP_RESET, TOP_RESUME, TOP_INTERVAL, TOP_BACK, TOP_FORWARD };

struct top_state {
	struct top_choice choice;	/* filter: the one below */
	char filter[128];
	char typed[128];		/* what has been typed of a filter */
	bool typing, paused, help;
	bool lives;			/* the mode that is shown tells growth: rows can be sorted by it */
	bool recorded;			/* what is shown is over: there is nothing to pause or to forget, and time has two directions */
	uint32_t mode, modes;		/* which one is shown, of how many */
	uint32_t first;			/* row that is shown first */
	uint64_t interval;		/* ns */
};

void top_state__init(struct top_state *s, uint64_t interval, uint32_t modes);
/* A key: a letter in Unicode, or a top_key_code.  `page` rows fit on the screen, of `count`. */
enum top_action top_state__key(struct top_state *s, uint32_t key, uint32_t page, uint32_t count);
/* Not beyond the last page. */
void top_state__clamp(struct top_state *s, uint32_t page, uint32_t count);

/* The head of one window, or of all since the reset. */
struct top_head {
	const char *mode, *source, *unit;	/* "cpu", "on-CPU at 99 Hz by the clock", "ns", "bytes" or "count" */
	double window;			/* s that are shown; 0: nothing yet */
	double on_cpu, gvl, gc;		/* CPUs in use, threads that wait, part of on-CPU; negative: not measured */
	double idle;			/* part of the mode that is left out, as its threads have nothing to do; 0 or less: none */
	double left_out;		/* part of it that --focus leaves out; 0 or less: none */
	bool tells_made;		/* of some process `top_more::made` is known */
	bool rests;			/* the mode has left out waits of threads since the reset */
	bool lives;			/* top_model::lives */
	double made_in;			/* s; of that mode: since when what is shown was made */
	uint64_t samples, truncated, lost;
	const char *why_lost;		/* the reason of most, a word; NULL: none is lost */
	double own;			/* CPUs that extprof uses */
	uint32_t processes;		/* that are sampled now */
	const char *below;		/* what TOP_STATES are of the mode */
	uint32_t states;		/* in which threads of the mode were: a bit of each; 0: it has no states */
	const char *clock;		/* the time of day; NULL: not shown */
	const char *span;		/* of a recording: from when to when; NULL: it is live */
	const char *message;		/* NULL, or what there is to say */
};

/* Numbers of a row of threads or processes that are not of its stacks. */
struct top_more {
	const struct top_sums *sums;	/* NULL: not known */
	double cpu, gvl, gc;		/* of a process: as in the head.  Negative: not known */
	uint64_t resident;		/* bytes; 0: not known */
	uint64_t live_slots;		/* the same */
	double made;			/* objects a second in the last window; negative: not known */
};

/* The lines above the rows, and the titles of the columns.  width 0: as wide as need be. */
void top_view__head(const struct top_state *s, const struct top_head *h, unsigned int width,
		    struct top_line lines[TOP_HEAD_LINES]);
/* A row.  sum: what is 100 %. */
void top_view__row(const struct top_state *s, const struct top_head *h, const struct top_row *row,
		   const struct top_more *more, uint64_t sum, unsigned int width, struct top_line *line);
/* Lines of the help, from 0; NULL behind the last one. */
const char *top_view__help(unsigned int i);

const char *top_view__name(enum top_view view);
/* -EINVAL: there is none. */
int top_view__by_name(const char *name, enum top_view *view);
const char *top_sort__name(enum top_sort sort);
int top_sort__by_name(const char *name, enum top_sort *sort);

#endif /* EXTPROF_TOP_VIEW_H */
