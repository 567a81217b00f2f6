/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures that are one number: sums of the engine, or computed of several. */
#include <math.h>
#include <string.h>

#include "library/figures_parts.h"
#include "profile/accounting.h"

/* Whether a figure of the engine is known, and why not. */
static void know(const struct building *b, enum figure figure, struct extprof_figure *to)
{
	bool any = false;

	for (uint32_t i = 0; i < b->count; i++) {
		const char *missing = b->list[i]->missing[figure];

		if (!b->list[i]->is_ruby)
			continue;
		any = true;
		if (!missing)
			to->known = true;
		else if (!to->missing)
			to->missing = missing;
	}
	if (!any)
		to->missing = "there was no process to measure";
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
		one = p;
	}
	one = f->processes == 1 ? one : NULL;
	f->pid = one ? one->pid : 0;
	f->command = one ? one->command : "";
	f->ruby_version = one ? one->ruby_version : "";
	f->interface = one ? one->interface : "";
	f->from = b->interval ? b->all->at_before - b->all->begun : 0;
	f->until = b->all->at > b->all->begun ? b->all->at - b->all->begun : 0;
}

/* Find which figures are known in a recording of this kind, and why others are missing. */
static void know_all(const struct building *b, struct extprof_figure known[ALL_FIGURES])
{
	for (enum figure i = 0; i < FIGURES; i++)
		know(b, i, &known[i]);
	known[FIGURE_GVL].known &= b->sums.looks > 0;
	if (!b->sums.looks && !known[FIGURE_GVL].missing)
		known[FIGURE_GVL].missing = "there was no moment at which the process could be looked at";
	known[FIGURE_THREAD_LOOKS].known = known[FIGURE_STATES].known && b->all->looks_only && b->sums.thread_looks;
	known[FIGURE_CALLS].known = b->all->has_calls;
	known[FIGURE_CALLS].missing = b->all->has_calls ? NULL : "they were not asked for";
}

/* The keys of all figures, the values of those that are one sum, and what is known. */
static void build_sums(struct building *b)
{
	struct extprof_figure known[ALL_FIGURES] = { 0 };

	know_all(b, known);
	for (int i = 0; i < FIGURE_ROWS; i++) {
		const struct figure_row *row = &figure_rows[i];
		struct extprof_figure *to = &b->to->values[i];

		*to = known[row->known_as];
		to->key = row->key;
		if (row->sum != FIGURE_COMPUTED)
			memcpy(&to->value, (const char *)&b->sums + row->sum, sizeof(to->value));
	}
}

static void build_kernel(struct building *b)
{
	const struct sums *s = &b->sums;
	uint64_t user = s->user < s->cpu ? s->user : s->cpu;

	figures_parts__set(b, EXTPROF_CPU_USER, user);
	figures_parts__set(b, EXTPROF_CPU_SYSTEM, s->cpu - user);
	figures_parts__set(b, EXTPROF_SWITCHES_VOLUNTARY, figures_parts__growth(s->voluntary));
	figures_parts__set(b, EXTPROF_SWITCHES_INVOLUNTARY, figures_parts__growth(s->involuntary));
}

/* Is the process in sums of a moment, such as memory?  Live processes are.  If all have ended, each is, as it was seen last. */
static bool counts_at_end(const struct building *b, const struct figures_process *p)
{
	return p->is_ruby && (!p->ended || b->f->ended);
}

static void build_memory(struct building *b)
{
	uint64_t sums[EXTPROF_MEMORY_PEAK - EXTPROF_MEMORY_RESIDENT + 1] = { 0 };
	bool known = false;

	for (uint32_t i = 0; i < b->count; i++) {
		const struct process_memory *m = &b->list[i]->memory;

		if (!counts_at_end(b, b->list[i]) || !m->resident)
			continue;
		known = true;
		sums[EXTPROF_MEMORY_RESIDENT - EXTPROF_MEMORY_RESIDENT] += m->resident;
		sums[EXTPROF_MEMORY_ANONYMOUS - EXTPROF_MEMORY_RESIDENT] += m->anonymous;
		sums[EXTPROF_MEMORY_FILE - EXTPROF_MEMORY_RESIDENT] += m->file;
		sums[EXTPROF_MEMORY_SHARED - EXTPROF_MEMORY_RESIDENT] += m->shared;
		sums[EXTPROF_MEMORY_SWAPPED - EXTPROF_MEMORY_RESIDENT] += m->swapped;
		sums[EXTPROF_MEMORY_PEAK - EXTPROF_MEMORY_RESIDENT] += m->peak;
	}
	for (int i = EXTPROF_MEMORY_RESIDENT; i <= EXTPROF_MEMORY_PEAK; i++) {
		b->to->values[i].known = known;
		b->to->values[i].missing = known ? NULL : !b->f->processes ? "there was no process to measure" :
					   "/proc did not show it before the end";
		figures_parts__set(b, i, sums[i - EXTPROF_MEMORY_RESIDENT]);
	}
}

static void build_heap(struct building *b)
{
	struct heap_size sum = { 0 };

	for (uint32_t i = 0; i < b->count; i++) {
		const struct heap_size *h = &b->list[i]->heap;

		if (!counts_at_end(b, b->list[i]))
			continue;
		sum.live += h->live;
		sum.slots += h->slots;
		sum.pages += h->pages;
		sum.page_bytes += h->page_bytes;
		sum.malloc_bytes += h->malloc_bytes;
		sum.malloc_limit += h->malloc_limit;
	}
	for (int i = EXTPROF_HEAP_LIVE_SLOTS; i <= EXTPROF_HEAP_MALLOC_LIMIT; i++)
		if (!sum.slots) {
			b->to->values[i].known = false;
			if (!b->to->values[i].missing)
				b->to->values[i].missing = !b->f->processes ? "there was no process to measure" :
							   "it could not be read before the end";
		}
	figures_parts__set(b, EXTPROF_HEAP_LIVE_SLOTS, sum.live);
	figures_parts__set(b, EXTPROF_HEAP_SLOTS, sum.slots);
	figures_parts__set(b, EXTPROF_HEAP_PAGES, sum.pages);
	figures_parts__set(b, EXTPROF_HEAP_BYTES, sum.page_bytes);
	figures_parts__set(b, EXTPROF_HEAP_MALLOC, sum.malloc_bytes);
	figures_parts__set(b, EXTPROF_HEAP_MALLOC_LIMIT, sum.malloc_limit);
}

/* How many, how long, and whose the longest one was.  Their figures follow one another: count, time, p50, p99, longest. */
static void build_lengths(struct building *b, enum extprof_figure_id count, const struct histogram *h, uint64_t total,
			  const struct longest *longest, const struct figures_process *of, struct extprof_longest *whose)
{
	uint64_t most = histogram__count(h) ? longest->ns : 0;

	figures_parts__set(b, count, histogram__count(h));
	figures_parts__set(b, count + 1, total);
	figures_parts__set(b, count + 2, histogram__percentile(h, 50, most));
	figures_parts__set(b, count + 3, histogram__percentile(h, 99, most));
	figures_parts__set(b, count + 4, most);
	if (most)
		*whose = (struct extprof_longest){ .thread = longest->name[0] ? longest->name : NULL, .pid = of->pid };
}

/* The longest of all processes, and whose it is.  NULL: there is no process. */
static const struct longest *find_longest(const struct building *b, bool gc, const struct figures_process **of)
{
	const struct longest *longest = NULL;

	for (uint32_t i = 0; i < b->count; i++) {
		const struct figures_process *p = b->list[i];
		const struct longest *l = gc ? b->interval ? &p->gc_longest_interval : &p->gc_longest :
					  b->interval ? &p->gvl_longest_interval : &p->gvl_longest;

		if (longest && l->ns <= longest->ns)
			continue;
		longest = l;
		*of = p;
	}
	return longest;
}

static void build_gvl(struct building *b)
{
	const struct figures_process *of = NULL;
	const struct longest *longest = find_longest(b, false, &of);
	uint64_t waiting = 0, waiting_longest = 0;

	for (uint32_t i = 0; i < b->count; i++) {
		waiting += b->list[i]->waiting;
		if (b->list[i]->waiting_longest > waiting_longest)
			waiting_longest = b->list[i]->waiting_longest;
	}
	figures_parts__set(b, EXTPROF_GVL_WAITS_LOST, b->all->losses.gvl_waits);
	figures_parts__set(b, EXTPROF_GVL_WAITING, waiting);
	figures_parts__set(b, EXTPROF_GVL_WAITING_LONGEST, waiting_longest);
	if (!longest)
		return;
	if (!b->all->looks_only) {
		build_lengths(b, EXTPROF_GVL_WAITS, &b->gvl, figures_parts__growth(b->sums.time[STATE_GVL]), longest, of,
			      &b->to->gvl_wait);
	} else if (longest->ns) {
		b->to->values[EXTPROF_GVL_WAIT_MET].known = true;
		figures_parts__set(b, EXTPROF_GVL_WAIT_MET, longest->ns);
		b->to->gvl_wait_met = (struct extprof_longest){
			.thread = longest->name[0] ? longest->name : NULL, .pid = of->pid,
		};
	}
}

static uint64_t lost_of(const struct source_counters *kernel, const struct received *received)
{
	struct accounting sums;

	accounting__settle(&sums, kernel, received);
	return accounting__lost(&sums);
}

static void build_gc(struct building *b)
{
	const struct figures_process *of = NULL;
	const struct longest *longest = find_longest(b, true, &of);

	if (longest)
		build_lengths(b, EXTPROF_GC_PAUSES, &b->gc, b->sums.gc_time, longest, of, &b->to->gc_pause);
	figures_parts__set(b, EXTPROF_GC_PAUSES_LOST, lost_of(&b->all->gc, &b->all->gc_received));
}

static void build_alloc(struct building *b)
{
	figures_parts__set(b, EXTPROF_ALLOC_OBJECTS_DEVIATION, (uint64_t)sqrt((double)b->sums.alloc_object_squares));
	figures_parts__set(b, EXTPROF_ALLOC_LOST, lost_of(&b->all->alloc, &b->all->alloc_received));
	figures_parts__set(b, EXTPROF_ALLOC_INTERVAL, b->all->alloc_interval);
}

static void build_threads(struct building *b)
{
	uint64_t threads = 0;

	for (uint32_t i = 0; i < b->count; i++)
		threads += b->list[i]->is_ruby ? b->list[i]->threads : 0;
	figures_parts__set(b, EXTPROF_THREADS, threads);
	figures_parts__set(b, EXTPROF_THREADS_TIME, figures_parts__growth(b->sums.lives));
	figures_parts__set(b, EXTPROF_THREADS_LOST, b->all->losses.threads + b->all->threads_without_row);
}

void figures_parts__build_values(struct building *b)
{
	add_up(b);
	build_processes(b);
	build_sums(b);
	build_kernel(b);
	build_memory(b);
	build_heap(b);
	build_gvl(b);
	build_gc(b);
	build_alloc(b);
	build_threads(b);
	figures_parts__set(b, EXTPROF_CALLS_LOST, b->all->losses.calls + b->all->calls_without_row);
	figures_parts__set(b, EXTPROF_CALLS_NOT_RETURNED, b->all->losses.calls_not_returned);
}
