/* SPDX-License-Identifier: BSD-2-Clause */
/* The figures of extprof.h, made of those of the engine. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/figures.h"
#include "library/error.h"
#include "library/recording.h"
#include "profile/accounting.h"
#include "source/mode.h"
#include "source/syscall_set.h"

/* The figures of some processes, with what they point to. */
struct built {
	struct extprof_figures figures;
	struct extprof_gc_reason reasons[2 * GC_REASONS];
	struct extprof_state_figures states[STATE_MAX];
	uint64_t state_errors[STATE_MAX];
	struct extprof_gc_reason_looks gc_reason_looks[2 * GC_REASONS];
	struct extprof_holder *holders;
	struct extprof_call_figures *calls;
};

struct figures_view {
	struct extprof_figures_result result;
	struct built interval, total;
	struct built *processes;
	size_t process_count;
	const struct extprof_figures **list;
};

/* What is being built: of these processes. */
struct building {
	const struct engine_figures *all;
	struct figures_process *const *list;
	uint32_t count;
	bool interval;
	struct sums sums;
	struct histogram gvl, gc;
	struct extprof_figures *f;
};

static void clear(struct figures_view *v)
{
	free(v->interval.holders);
	free(v->interval.calls);
	free(v->total.holders);
	free(v->total.calls);
	for (size_t i = 0; i < v->process_count; i++)
		free(v->processes[i].holders);
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

static struct extprof_figure known(const struct building *b, enum figure figure)
{
	struct extprof_figure known = { 0 };

	for (uint32_t i = 0; i < b->count; i++) {
		const char *missing = b->list[i]->missing[figure];

		if (!b->list[i]->is_ruby)
			continue;
		if (!missing)
			known.known = true;
		else if (!known.missing)
			known.missing = missing;
	}
	return known;
}

/* How much more it has become.  What a thread does now is known better when it is over, so a state can have lost
 * some of it to another one. */
static uint64_t growth(uint64_t difference)
{
	return difference >> 63 ? 0 : difference;
}

static void add_up(struct building *b)
{
	struct histogram part;
	struct sums sums;

	for (uint32_t i = 0; i < b->count; i++) {
		const struct figures_process *p = b->list[i];

		if (!p->is_ruby)
			continue;
		figures__sums(p, &sums);
		if (b->interval)
			sums__subtract(&sums, &p->before);
		sums__add(&b->sums, &sums);
		if (p->gvl) {
			histogram__difference(&part, p->gvl, b->interval ? p->gvl_before : NULL);
			histogram__add(&b->gvl, &part);
		}
		if (p->gc) {
			histogram__difference(&part, p->gc, b->interval ? p->gc_before : NULL);
			histogram__add(&b->gc, &part);
		}
	}
}

static void build_processes(struct building *b)
{
	struct extprof_figures *f = b->f;
	const struct figures_process *one = NULL;

	f->ended = true;
	for (uint32_t i = 0; i < b->count; i++) {
		const struct figures_process *p = b->list[i];

		if (!p->is_ruby)
			continue;
		f->processes++;
		f->ended &= p->ended;
		f->threads += p->threads;
		one = p;
	}
	one = f->processes == 1 ? one : NULL;
	f->pid = one ? one->pid : 0;
	f->command = one ? one->command : "";
	f->ruby_version = one ? one->ruby_version : "";
	f->interface = one ? one->interface : "";
	f->from = b->interval ? b->all->at_before - b->all->begun : 0;
	f->until = b->all->at > b->all->begun ? b->all->at - b->all->begun : 0;
	f->threads_lost = b->all->losses.threads + b->all->threads_without_row;
}

static void build_kernel(struct building *b)
{
	struct extprof_figures *f = b->f;
	const struct sums *s = &b->sums;

	f->cpu.figure = known(b, FIGURE_CPU);
	f->cpu.total = s->cpu;
	f->cpu.user = s->user < s->cpu ? s->user : s->cpu;
	f->cpu.system = f->cpu.total - f->cpu.user;
	f->switches.figure = known(b, FIGURE_SWITCHES);
	f->switches.voluntary = growth(s->voluntary);
	f->switches.involuntary = growth(s->involuntary);
	f->faults.figure = known(b, FIGURE_FAULTS);
	f->faults.minor = s->minor_faults;
	f->faults.major = s->major_faults;
}

/* Of those that live; if all have ended, as each was seen last. */
static void build_memory(struct building *b)
{
	struct extprof_memory_figures *m = &b->f->memory;

	for (uint32_t i = 0; i < b->count; i++) {
		const struct figures_process *p = b->list[i];

		if (!p->is_ruby || (p->ended && !b->f->ended) || !p->memory.resident)
			continue;
		m->figure.known = true;
		m->resident += p->memory.resident;
		m->anonymous += p->memory.anonymous;
		m->file += p->memory.file;
		m->shared += p->memory.shared;
		m->swapped += p->memory.swapped;
		m->peak += p->memory.peak;
	}
	if (!m->figure.known && b->f->processes)
		m->figure.missing = "/proc did not show it before the end";
}

static void build_lengths(const struct histogram *h, uint64_t total, const struct longest *longest,
			  const struct figures_process *of, struct extprof_lengths *to)
{
	to->count = histogram__count(h);
	to->total = total;
	to->longest = to->count ? longest->ns : 0;
	to->p50 = histogram__percentile(h, 50, to->longest);
	to->p99 = histogram__percentile(h, 99, to->longest);
	if (!of || !to->longest)
		return;
	to->longest_thread = longest->name[0] ? longest->name : NULL;
	to->longest_pid = of->pid;
}

static int by_looks(const void *a, const void *b)
{
	const struct extprof_holder *x = a, *y = b;

	return x->looks < y->looks ? 1 : x->looks > y->looks ? -1 : 0;
}

static int build_holders(const struct building *b, struct built *to)
{
	size_t count = 0;

	for (uint32_t i = 0; i < b->count; i++)
		count += b->list[i]->holder_count;
	to->holders = calloc(count + 1, sizeof(*to->holders));
	if (!to->holders)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++) {
		const struct figures_process *p = b->list[i];

		for (uint32_t j = 0; j < p->holder_count; j++) {
			const struct holder *h = &p->holders[j];
			uint64_t looks = h->looks - (b->interval ? h->looks_before : 0);

			if (looks)
				to->holders[b->f->holder_count++] = (struct extprof_holder){
					.thread = h->name, .pid = p->pid, .looks = looks,
				};
		}
	}
	qsort(to->holders, b->f->holder_count, sizeof(*to->holders), by_looks);
	b->f->holders = to->holders;
	return 0;
}

static void build_gvl(struct building *b)
{
	struct extprof_figures *f = b->f;
	const struct figures_process *of = NULL;
	const struct longest *longest = NULL;

	f->gvl.figure = known(b, FIGURE_GVL);
	f->gvl.figure.known &= b->sums.looks > 0;
	if (!b->sums.looks && !f->gvl.figure.missing)
		f->gvl.figure.missing = "there was no moment at which the process could be looked at";
	f->gvl.looks = b->sums.looks;
	f->gvl.held = b->sums.held;
	f->gvl.contention = known(b, FIGURE_CONTENTION);
	f->gvl.contended = b->sums.contended;
	f->gvl_waits.figure = known(b, FIGURE_GVL_WAITS);
	f->gvl_waits.lost = b->all->losses.gvl_waits;
	for (uint32_t i = 0; i < b->count; i++) {
		const struct figures_process *p = b->list[i];
		const struct longest *l = b->interval ? &p->gvl_longest_interval : &p->gvl_longest;

		f->gvl_waits.waiting += p->waiting;
		if (p->waiting_longest > f->gvl_waits.waiting_longest)
			f->gvl_waits.waiting_longest = p->waiting_longest;
		if (!longest || l->ns > longest->ns) {
			longest = l;
			of = p;
		}
	}
	if (longest && b->all->looks_only) {
		f->longest_gvl_wait_met = longest->ns;
		f->longest_gvl_wait_thread = longest->name[0] ? longest->name : NULL;
		f->longest_gvl_wait_pid = longest->ns ? of->pid : 0;
	} else if (longest)
		build_lengths(&b->gvl, growth(b->sums.time[STATE_GVL]), longest, of, &f->gvl_waits.lengths);
}

static int by_reason_time(const void *a, const void *b)
{
	const struct extprof_gc_reason *x = a, *y = b;

	return x->time < y->time ? 1 : x->time > y->time ? -1 : 0;
}

static uint64_t lost_of(const struct source_counters *kernel, const struct received *received)
{
	struct accounting sums;

	accounting__settle(&sums, kernel, received);
	return accounting__lost(&sums);
}

static int by_reason_looks(const void *a, const void *b)
{
	const struct extprof_gc_reason_looks *x = a, *y = b;

	return x->looks < y->looks ? 1 : x->looks > y->looks ? -1 : 0;
}

static void build_gc_looks(struct building *b, struct built *to)
{
	const struct sums *s = &b->sums;
	struct extprof_figures *f = b->f;

	f->gc_mark_looks = s->gc_looks[GC_PART_MARK];
	f->gc_sweep_looks = s->gc_looks[GC_PART_SWEEP];
	f->gc_compact_looks = s->gc_looks[GC_PART_COMPACT];
	f->gc_other_looks = s->gc_looks[GC_PART_OTHER];
	for (int major = 0; major < 2; major++)
		for (int i = 0; i < GC_REASONS; i++)
			if (s->gc_reason_looks[major][i])
				to->gc_reason_looks[f->gc_reason_look_count++] = (struct extprof_gc_reason_looks){
					.name = gc_reason__name(i), .major = major, .looks = s->gc_reason_looks[major][i],
				};
	qsort(to->gc_reason_looks, f->gc_reason_look_count, sizeof(*to->gc_reason_looks), by_reason_looks);
	f->gc_reason_looks = to->gc_reason_looks;
}

static void build_gc(struct building *b, struct built *to)
{
	struct extprof_gc_figures *gc = &b->f->gc;
	const struct figures_process *of = NULL;
	const struct longest *longest = NULL;
	const struct sums *s = &b->sums;

	gc->cycles_figure = known(b, FIGURE_GC_CYCLES);
	gc->cycles = s->gc_cycles;
	gc->major_cycles = s->gc_major_cycles;
	gc->figure = known(b, FIGURE_GC_PAUSES);
	for (uint32_t i = 0; i < b->count; i++) {
		const struct longest *l = b->interval ? &b->list[i]->gc_longest_interval : &b->list[i]->gc_longest;

		if (longest && l->ns <= longest->ns)
			continue;
		longest = l;
		of = b->list[i];
	}
	if (longest)
		build_lengths(&b->gc, s->gc_time, longest, of, &gc->pauses);
	gc->waited = s->gc_waited;
	gc->mark = s->gc_parts[GC_PART_MARK];
	gc->sweep = s->gc_parts[GC_PART_SWEEP];
	gc->compact = s->gc_parts[GC_PART_COMPACT];
	gc->other = s->gc_parts[GC_PART_OTHER];
	gc->lost = lost_of(&b->all->gc, &b->all->gc_received);
	gc->reasons_figure = known(b, FIGURE_GC_REASONS);
	for (int major = 0; major < 2; major++)
		for (int i = 0; i < GC_REASONS; i++)
			if (s->gc_reason_pauses[major][i])
				to->reasons[gc->reason_count++] = (struct extprof_gc_reason){
					.name = gc_reason__name(i), .major = major,
					.pauses = s->gc_reason_pauses[major][i], .time = s->gc_reason_time[major][i],
				};
	qsort(to->reasons, gc->reason_count, sizeof(*to->reasons), by_reason_time);
	gc->reasons = to->reasons;
}

static void build_alloc(struct building *b)
{
	struct extprof_alloc_figures *a = &b->f->alloc;

	a->figure = known(b, FIGURE_ALLOC);
	a->bytes = b->sums.alloc_bytes;
	a->objects = b->sums.alloc_objects;
	a->objects_deviation = (uint64_t)sqrt((double)b->sums.alloc_object_squares);
	a->samples = b->sums.alloc_samples;
	a->lost = lost_of(&b->all->alloc, &b->all->alloc_received);
	a->interval = b->all->alloc_interval;
	a->malloc_figure = known(b, FIGURE_MALLOC);
	a->malloc_bytes = b->sums.malloc_bytes;
	a->malloc_samples = b->sums.malloc_samples;
}

/*
 * A look at a random moment of a time t tells its state: the variance is t * t * p * (1 - p), at most a quarter of the
 * square.  So 1.96 standard deviations are at most the root of the sum of the squares.
 */
static uint64_t state_error(const struct building *b, int state)
{
	/* The kernel counts these. */
	if (!b->all->looks_only || state == STATE_RUNNING || state == STATE_RUNNABLE)
		return 0;
	return (uint64_t)(0.98 * sqrt((double)b->sums.doubts[state]) * 1e3);
}

static void build_states(struct building *b, struct built *to)
{
	struct extprof_figures *f = b->f;

	f->states_figure = known(b, FIGURE_STATES);
	f->lives = growth(b->sums.lives);
	for (int i = 0; i < STATE_MAX; i++) {
		if (!growth(b->sums.time[i]))
			continue;
		to->state_errors[f->state_count] = state_error(b, i);
		to->states[f->state_count++] = (struct extprof_state_figures){
			.state = state__name(i), .time = growth(b->sums.time[i]), .count = growth(b->sums.waits[i]),
		};
	}
	f->states = to->states;
	f->state_errors = to->state_errors;
	f->thread_looks = b->all->looks_only ? b->sums.thread_looks : 0;
}

static int by_call_time(const void *a, const void *b)
{
	const struct extprof_call_figures *x = a, *y = b;

	return x->time < y->time ? 1 : x->time > y->time ? -1 : 0;
}

static int build_calls(struct building *b, struct built *to)
{
	struct extprof_figures *f = b->f;

	f->calls_figure.known = b->all->has_calls;
	f->calls_figure.missing = b->all->has_calls ? NULL : "they were not asked for";
	f->calls_lost = b->all->losses.calls + b->all->calls_without_row;
	f->calls_not_returned = b->all->losses.calls_not_returned;
	to->calls = calloc(b->all->call_count + 1, sizeof(*to->calls));
	if (!to->calls)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->all->call_count; i++) {
		const struct call_sum *c = &b->all->calls[i];
		bool compat = c->number & SYSCALL_SUM_COMPAT;
		uint64_t count = c->now.count - (b->interval ? c->before.count : 0);

		if (count)
			to->calls[f->call_count++] = (struct extprof_call_figures){
				.name = compat ? NULL : syscall__name(c->number), .compat = compat,
				.number = c->number & ~SYSCALL_SUM_COMPAT, .count = count,
				.time = c->now.ns - (b->interval ? c->before.ns : 0),
			};
	}
	qsort(to->calls, f->call_count, sizeof(*to->calls), by_call_time);
	f->calls = to->calls;
	return 0;
}

/* 0 or -ENOMEM. */
static int build(const struct engine_figures *all, struct figures_process *const *list, uint32_t count, bool interval,
		 struct built *to)
{
	struct building *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	b->all = all;
	b->list = list;
	b->count = count;
	b->interval = interval;
	b->f = &to->figures;
	add_up(b);
	build_processes(b);
	build_kernel(b);
	build_memory(b);
	build_gvl(b);
	build_gc(b, to);
	build_gc_looks(b, to);
	build_alloc(b);
	build_states(b, to);
	err = build_holders(b, to);
	free(b);
	return err;
}

static int build_with_calls(const struct engine_figures *all, bool interval, struct built *to)
{
	struct building b = { .all = all, .interval = interval, .f = &to->figures };
	int err = build(all, all->sums.list, all->sums.count, interval, to);

	return err ? err : build_calls(&b, to);
}

static int build_all(struct figures_view *v, const struct engine_figures *all)
{
	uint32_t count = all->sums.count;
	int err;

	v->processes = calloc(count + 1, sizeof(*v->processes));
	v->list = calloc(count + 1, sizeof(*v->list));
	if (!v->processes || !v->list)
		return -ENOMEM;
	err = build_with_calls(all, true, &v->interval);
	if (!err)
		err = build_with_calls(all, false, &v->total);
	for (uint32_t i = 0; i < count && !err; i++) {
		if (!all->sums.list[i]->is_ruby)
			continue;
		v->result.others |= !i;
		err = build(all, &all->sums.list[i], 1, false, &v->processes[v->process_count]);
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
	struct figures_view **view = recording__figures(r);
	const struct engine_figures *all;
	struct diag d = { 0 };
	int err;

	err = engine__figures(recording__engine(r), &all, &d);
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
	return error__from(error, engine__figures_next(recording__engine(r), &d), &d);
}
