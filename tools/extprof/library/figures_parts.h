/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the files that build figures: see library/figures.c. */
#ifndef EXTPROF_LIBRARY_FIGURES_PARTS_H
#define EXTPROF_LIBRARY_FIGURES_PARTS_H

#include "engine/figures.h"
#include "library/figure_rows.h"

/* The figures of some processes, with what they point to. */
struct built {
	struct extprof_figures figures;
	struct extprof_figure values[FIGURE_ROWS];
	struct extprof_longest gvl_wait, gvl_wait_met, gc_pause;
	struct extprof_gc_reason reasons[2 * GC_REASONS];
	struct extprof_state_figures states[STATE_MAX];
	struct extprof_holder *holders;
	struct extprof_call_figures *calls;
	/* Lists of pointers for the caller: the sizes of the structures are the library's affair. */
	const struct extprof_figure *value_list[FIGURE_ROWS];
	const struct extprof_gc_reason *reasons_by_time[2 * GC_REASONS], *reasons_by_looks[2 * GC_REASONS];
	const struct extprof_state_figures *state_list[STATE_MAX];
	const struct extprof_holder **holder_list;
	const struct extprof_call_figures **call_list;
};

/* The figures that are being built, of the processes in `list`. */
struct building {
	const struct engine_figures *all;
	struct figures_process *const *list;
	uint32_t count;
	bool interval;
	struct sums sums;
	struct histogram gvl, gc;
	struct built *to;
	struct extprof_figures *f;
};

static inline void figures_parts__set(struct building *b, enum extprof_figure_id id, uint64_t value)
{
	b->to->values[id].value = value;
}

/* Growth since the last interval.  A wait may be reclassified when it ends, so a state can shrink; then the growth is
 * 0. */
static inline uint64_t figures_parts__growth(uint64_t difference)
{
	return difference >> 63 ? 0 : difference;
}

/* Sums, and all figures that are one number. */
void figures_parts__build_values(struct building *b);
/* Reasons of collections, states of threads; who has the GVL and system calls (0 or -ENOMEM). */
void figures_parts__build_gc_reasons(struct building *b);
void figures_parts__build_states(struct building *b);
int figures_parts__build_holders(struct building *b);
int figures_parts__build_calls(struct building *b);

#endif /* EXTPROF_LIBRARY_FIGURES_PARTS_H */
