/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/figures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "frames/frame.h"
#include "wire/alloc.h"

/* -- sums ------------------------------------------------------------------------------------ */

void sums__add(struct sums *to, const struct sums *s)
{
	uint64_t *a = (uint64_t *)to;
	const uint64_t *b = (const uint64_t *)s;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*a); i++)
		a[i] += b[i];
}

void sums__subtract(struct sums *from, const struct sums *s)
{
	uint64_t *a = (uint64_t *)from;
	const uint64_t *b = (const uint64_t *)s;

	for (size_t i = 0; i < sizeof(*from) / sizeof(*a); i++)
		a[i] -= b[i];
}

/* -- processes --------------------------------------------------------------------------------- */

static void process__free(struct figures_process *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < FIGURES; i++)
		free(p->missing[i]);
	for (uint32_t i = 0; i < p->holder_count; i++)
		free(p->holders[i].name);
	free(p->holders);
	free(p->gvl);
	free(p->gvl_before);
	free(p->gc);
	free(p->gc_before);
	free(p);
}

void figures__free(struct figures *f)
{
	for (uint32_t i = 0; i < f->count; i++)
		process__free(f->list[i]);
	free(f->list);
	map64__free(&f->by_number);
	memset(f, 0, sizeof(*f));
}

struct figures_process *figures__find(const struct figures *f, uint32_t number)
{
	uint32_t place = map64__get(&f->by_number, number);

	return place == MAP64_NONE ? NULL : f->list[place];
}

static struct figures_process *append(struct figures *f, uint32_t number)
{
	struct figures_process *p;

	if (array__reserve(&f->list, f->count, 1, &f->room, UINT32_MAX, sizeof(*f->list)))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p || (number && map64__add(&f->by_number, number, f->count))) {
		free(p);
		return NULL;
	}
	p->number = number;
	f->list[f->count++] = p;
	return p;
}

struct figures_process *figures__process(struct figures *f, uint32_t number)
{
	struct figures_process *p = figures__find(f, number);

	if (p || (!f->count && !append(f, 0)))
		return p;
	return append(f, number);
}

void figures__miss(struct figures_process *p, enum figure figure, const char *why)
{
	if (!p->missing[figure])
		p->missing[figure] = strdup(why);
}

static void keep_longer(struct longest *to, const struct longest *l)
{
	if (l->ns > to->ns)
		*to = *l;
}

static void add_histogram(struct histogram **to, struct histogram **from)
{
	if (*from && *to) {
		histogram__add(*to, *from);
	} else if (*from) {
		*to = *from;
		*from = NULL;
	}
}

/* Add an ended process to those that have no row of their own. */
static void add_up(struct figures_process *to, struct figures_process *p)
{
	to->is_ruby |= p->is_ruby;
	to->ended = true;
	sums__add(&to->sums, &p->sums);
	sums__add(&to->sums, &p->living);
	sums__add(&to->before, &p->before);
	keep_longer(&to->gvl_longest, &p->gvl_longest);
	keep_longer(&to->gvl_longest_interval, &p->gvl_longest_interval);
	keep_longer(&to->gc_longest, &p->gc_longest);
	keep_longer(&to->gc_longest_interval, &p->gc_longest_interval);
	add_histogram(&to->gvl, &p->gvl);
	add_histogram(&to->gvl_before, &p->gvl_before);
	add_histogram(&to->gc, &p->gc);
	add_histogram(&to->gc_before, &p->gc_before);
	for (uint32_t i = 0; i < FIGURES; i++) {
		if (to->missing[i] || !p->missing[i])
			continue;
		to->missing[i] = p->missing[i];
		p->missing[i] = NULL;
	}
	for (uint32_t i = 0; i < p->holder_count; i++) {
		struct holder *h = figures__add_holder(to, 0);

		if (!h)
			continue;
		h->looks += p->holders[i].looks - 1;
		h->looks_before += p->holders[i].looks_before;
	}
}

int figures__tidy(struct figures *f)
{
	uint32_t kept = 1, over;

	if (f->count <= FIGURES_PROCESSES_MAX)
		return 0;
	over = f->count - FIGURES_PROCESSES_MAX / 2;
	map64__clear(&f->by_number);
	for (uint32_t i = 1; i < f->count; i++) {
		struct figures_process *p = f->list[i];

		if (p->freed && over) {
			over--;
			add_up(f->list[0], p);
			process__free(p);
			continue;
		}
		f->list[kept++] = p;
	}
	f->count = kept;
	for (uint32_t i = 1; i < kept; i++)
		if (map64__add(&f->by_number, f->list[i]->number, i))
			return -ENOMEM;
	return 0;
}

/* -- amounts ----------------------------------------------------------------------------------- */

/* Amounts that are read in different ways can be a little smaller than before. */
static void grow(uint64_t *sum, uint64_t *last, uint64_t now)
{
	if (now <= *last)
		return;
	*sum += now - *last;
	*last = now;
}

void figures__set_amounts(struct figures_process *p, const struct process_amounts *a)
{
	if (!p->amounts_known) {
		p->amounts = *a;
		p->amounts_known = true;
		return;
	}
	grow(&p->sums.cpu, &p->amounts.cpu, a->cpu);
	grow(&p->sums.user, &p->amounts.user, a->user);
	grow(&p->sums.minor_faults, &p->amounts.minor_faults, a->minor_faults);
	grow(&p->sums.major_faults, &p->amounts.major_faults, a->major_faults);
}

void figures__set_cycles(struct figures_process *p, uint32_t vm, uint64_t cycles, uint64_t major)
{
	if (p->cycles_vm != vm) {
		p->cycles_vm = vm;
		p->cycles = cycles;
		p->major_cycles = major;
		return;
	}
	grow(&p->sums.gc_cycles, &p->cycles, cycles);
	grow(&p->sums.gc_major_cycles, &p->major_cycles, major);
}

void figures__set_thread_looks(struct figures_process *p, uint64_t looks, const uint64_t *doubts)
{
	grow(&p->sums.thread_looks, &p->thread_looks, looks);
	for (int i = 0; i < STATE_ROOM; i++) {
		if (doubts[i] < p->doubts[i])
			p->doubts[i] = 0;
		grow(&p->sums.doubts[i], &p->doubts[i], doubts[i]);
	}
}

/* -- events ------------------------------------------------------------------------------------ */

static void note(struct longest *longest, uint64_t ns, uint64_t thread, uint32_t slot, uint32_t tid)
{
	if (ns > longest->ns)
		*longest = (struct longest){ .ns = ns, .thread = thread, .slot = slot, .tid = tid };
}

/* The kernel has the first 15 bytes of the name: the thread can be gone when its own name is to be read. */
static void note_wait(struct longest *longest, uint64_t ns, const struct thread_account *a)
{
	char name[8 * TASK_COMM_SIZE], comm[TASK_COMM_SIZE + 1] = "";
	struct frame f = FRAME_INIT(FRAME_THREAD);
	struct text text = { 0 };

	if (ns <= longest->ns)
		return;
	note(longest, ns, a->thread, a->thread_slot, a->tid);
	memcpy(comm, a->comm, TASK_COMM_SIZE);
	text__clean(name, sizeof(name), comm);
	if (!name[0])
		return;
	f.name = name;
	f.tid = a->tid;
	frame__add_text(&f, &text);
	snprintf(longest->name, sizeof(longest->name), "%s", text__string(&text));
	text__free(&text);
}

int figures__add_pause(struct figures_process *p, const struct sample_event *e)
{
	struct gc_pause_parts pause = gc_pause_parts__of(e);

	if (!p->gc)
		p->gc = calloc(1, sizeof(*p->gc));
	if (!p->gc)
		return -ENOMEM;
	for (uint32_t i = 0; i < GC_PARTS; i++)
		p->sums.gc_parts[i] += pause.parts[i];
	p->sums.gc_pauses++;
	p->sums.gc_time += pause.length;
	p->sums.gc_waited += pause.waited;
	p->sums.gc_reason_pauses[pause.major][pause.reason]++;
	p->sums.gc_reason_time[pause.major][pause.reason] += pause.length;
	p->gc->counts[histogram__class(pause.length)]++;
	note(&p->gc_longest, pause.length, e->thread, e->thread_slot, e->tid);
	note(&p->gc_longest_interval, pause.length, e->thread, e->thread_slot, e->tid);
	return 0;
}

void figures__add_allocation(struct figures_process *p, const struct sample_event *e)
{
	if (e->state == ALLOC_MALLOC) {
		p->sums.malloc_samples++;
		p->sums.malloc_bytes += e->value;
		return;
	}
	p->sums.alloc_samples++;
	p->sums.alloc_bytes += e->value;
	p->sums.alloc_objects += e->count;
	p->sums.alloc_object_squares += (uint64_t)e->count * e->count;
}

void figures__add_account(struct sums *to, const struct thread_account *a)
{
	to->voluntary += a->voluntary - a->voluntary_before;
	to->involuntary += a->involuntary - a->involuntary_before;
	to->lives += a->until - a->first;
	for (uint32_t i = 0; i < STATE_ROOM; i++) {
		to->time[i] += a->time[i];
		to->waits[i] += a->waits[i];
	}
}

void figures__note_longest(struct figures *f, struct figures_process *p, const struct thread_account *a)
{
	for (int i = 0; i < 2; i++) {
		const struct longest_wait *l = &a->longest[i];

		if (l->interval < f->interval)
			continue;
		note_wait(&p->gvl_longest, l->ns, a);
		note_wait(&p->gvl_longest_interval, l->ns, a);
	}
}

void figures__add_gc_look(struct figures_process *p, uint32_t phase, uint32_t cause, uint32_t flags)
{
	static const uint8_t parts[] = {
		[RB_DEBUG_EXT_GC_ENTER] = GC_PART_OTHER, [RB_DEBUG_EXT_GC_MARK] = GC_PART_MARK,
		[RB_DEBUG_EXT_GC_SWEEP] = GC_PART_SWEEP, [RB_DEBUG_EXT_GC_COMPACT] = GC_PART_COMPACT,
	};

	if (!phase || phase >= sizeof(parts) / sizeof(parts[0]))
		return;
	p->sums.gc_looks[parts[phase]]++;
	/* Where it enters, the cause is that of the collection before. */
	if (cause && phase != RB_DEBUG_EXT_GC_ENTER)
		p->sums.gc_reason_looks[(flags & RB_DEBUG_EXT_GC_MAJOR) != 0][gc_reason__of(cause & 0xffff)]++;
}

/* -- the GVL ----------------------------------------------------------------------------------- */

void figures__add_look(struct figures_process *p, uint32_t held, uint32_t contended)
{
	p->sums.looks++;
	p->sums.held += held;
	p->sums.contended += contended;
}

struct holder *figures__add_holder(struct figures_process *p, uint64_t thread)
{
	struct holder *h = NULL;

	/* The last place is that of all others. */
	for (int others = 0; others < 2 && !h; others++) {
		for (uint32_t i = 0; i < p->holder_count && !h; i++)
			if (p->holders[i].thread == thread)
				h = &p->holders[i];
		if (p->holder_count < HOLDERS_MAX - 1)
			break;
		thread = 0;
	}
	if (!h && array__reserve(&p->holders, p->holder_count, 1, &p->holder_room, HOLDERS_MAX, sizeof(*p->holders)))
		return NULL;
	if (!h) {
		h = &p->holders[p->holder_count++];
		*h = (struct holder){ .thread = thread };
	}
	h->looks++;
	return h;
}

/* -- intervals --------------------------------------------------------------------------------- */

void figures__sums(const struct figures_process *p, struct sums *to)
{
	*to = p->sums;
	sums__add(to, &p->living);
}

static int keep_histogram(struct histogram **before, const struct histogram *now)
{
	if (!now)
		return 0;
	if (!*before)
		*before = malloc(sizeof(**before));
	if (!*before)
		return -ENOMEM;
	**before = *now;
	return 0;
}

int figures__next_interval(struct figures *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		struct figures_process *p = f->list[i];

		if (keep_histogram(&p->gvl_before, p->gvl) || keep_histogram(&p->gc_before, p->gc))
			return -ENOMEM;
		figures__sums(p, &p->before);
		memset(&p->gvl_longest_interval, 0, sizeof(p->gvl_longest_interval));
		memset(&p->gc_longest_interval, 0, sizeof(p->gc_longest_interval));
		for (uint32_t j = 0; j < p->holder_count; j++)
			p->holders[j].looks_before = p->holders[j].looks;
	}
	return figures__tidy(f);
}
