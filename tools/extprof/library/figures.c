/* SPDX-License-Identifier: BSD-2-Clause */
/* The figures of extprof.h, made of those of the engine. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "library/error.h"
#include "library/figures_parts.h"
#include "library/recording.h"

struct figures_view {
	struct extprof_figures_result result;
	struct built interval, total;
	struct built *processes;
	size_t process_count;
	const struct extprof_figures **list;
};

static void built__free(struct built *b)
{
	free(b->holders);
	free(b->holder_list);
	free(b->calls);
	free(b->call_list);
}

static void clear(struct figures_view *v)
{
	built__free(&v->interval);
	built__free(&v->total);
	for (size_t i = 0; i < v->process_count; i++)
		built__free(&v->processes[i]);
	free(v->processes);
	free(v->list);
	memset(v, 0, sizeof(*v));
}

void figures_view__free(struct figures_view *v)
{
	if (!v)
		return;
	clear(v);
	free(v);
}

/* `calls`: with the system calls, which are those of all processes.  0 or -ENOMEM. */
static int build(const struct engine_figures *all, struct figures_process *const *list, uint32_t count, bool interval,
		 bool calls, struct built *to)
{
	struct building *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	*b = (struct building){
		.all = all, .list = list, .count = count, .interval = interval, .to = to, .f = &to->figures,
	};
	figures_parts__build_values(b);
	figures_parts__build_gc_reasons(b);
	figures_parts__build_states(b);
	err = figures_parts__build_holders(b);
	if (!err && calls)
		err = figures_parts__build_calls(b);
	for (int i = 0; i < FIGURE_ROWS; i++) {
		if (!calls && figure_rows[i].known_as == FIGURE_CALLS)
			to->values[i].known = false;
		if (!to->values[i].known)
			to->values[i].value = 0;
		to->value_list[i] = &to->values[i];
	}
	to->figures.values = to->value_list;
	to->figures.value_count = FIGURE_ROWS;
	to->figures.gvl_wait = &to->gvl_wait;
	to->figures.gvl_wait_met = &to->gvl_wait_met;
	to->figures.gc_pause = &to->gc_pause;
	free(b);
	return err;
}

static int build_all(struct figures_view *v, const struct engine_figures *all)
{
	uint32_t count = all->sums.count;
	int err;

	v->processes = calloc(count + 1, sizeof(*v->processes));
	v->list = calloc(count + 1, sizeof(*v->list));
	if (!v->processes || !v->list)
		return -ENOMEM;
	err = build(all, all->sums.list, count, true, true, &v->interval);
	if (!err)
		err = build(all, all->sums.list, count, false, true, &v->total);
	for (uint32_t i = 0; i < count && !err; i++) {
		if (!all->sums.list[i]->is_ruby)
			continue;
		v->result.others |= !i;
		err = build(all, &all->sums.list[i], 1, false, false, &v->processes[v->process_count]);
		v->list[v->process_count] = &v->processes[v->process_count].figures;
		v->process_count++;
	}
	v->result.interval = &v->interval.figures;
	v->result.total = &v->total.figures;
	v->result.processes = v->list;
	v->result.process_count = v->process_count;
	return err;
}

int extprof_recording_figures(struct extprof_recording *r, const struct extprof_figures_result **result,
			      struct extprof_error *error)
{
	struct figures_view **view = &r->figures;
	const struct engine_figures *all;
	struct diag d = { 0 };
	int err;

	err = engine__figures(r->engine, &all, &d);
	if (err)
		return error__from(error, err, &d);
	if (!*view)
		*view = calloc(1, sizeof(**view));
	if (!*view)
		return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory for the figures");
	clear(*view);
	err = build_all(*view, all);
	if (err)
		return error__set(error, DIAG_INTERNAL, -err, "out of memory for the figures");
	*result = &(*view)->result;
	return error__from(error, engine__figures_next(r->engine, &d), &d);
}
