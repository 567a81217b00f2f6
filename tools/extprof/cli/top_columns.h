/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns of extprof top: which numbers a line has room for, and what is left for names. */
#ifndef EXTPROF_TOP_COLUMNS_H
#define EXTPROF_TOP_COLUMNS_H

#include "cli/top_view.h"

/* Numbers, from left to right. */
enum top_number {
	TOP_SELF_SHARE,
	TOP_SELF,
	TOP_TOTAL_SHARE,
	TOP_TOTAL,
	TOP_GROWTH,		/* of what lives */
	TOP_CPU,		/* of processes */
	TOP_GVL,
	TOP_GC,
	TOP_RESIDENT,
	TOP_LIVE_SLOTS,
	TOP_MADE,
	TOP_IDLE,		/* of threads, and of those of a process together */
	TOP_STATE,		/* + enum extprof_state */
	TOP_NUMBERS = TOP_STATE + TOP_STATES_MAX
};

struct top_columns {
	bool has[TOP_NUMBERS];
	/* Columns of the names, without the blank behind them.  In a line without a limit they are not cut. */
	unsigned int thread, name, place;
};

static inline bool top_view__is_group(enum top_view view)
{
	return view == TOP_THREADS || view == TOP_PROCESSES;
}

/* width 0: no limit. */
void top_columns__choose(const struct top_state *s, const struct top_head *h, unsigned int width, struct top_columns *c);
void top_columns__add_titles(const struct top_columns *c, struct top_line *l);
/* sum: what is 100 %. */
void top_columns__add_numbers(const struct top_columns *c, const struct top_head *h, const struct top_amount *amount,
			      int64_t growth, const struct top_more *more, uint64_t sum, struct top_line *l);

#endif /* EXTPROF_TOP_COLUMNS_H */
