/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures that events tell: pauses, allocations, accounts of threads that have ended. */
#include "engine/figures_parts.h"
#include "engine/state.h"

static void take_account(struct engine *e, const struct account_event *ev)
{
	struct figures_process *f = figures__find(&e->figures->sums, ev->account.process);

	if (!f)
		return;
	figures__add_account(&f->sums, &ev->account);
	figures__note_longest(&e->figures->sums, f, &ev->account);
	map64__add(&e->figures->ended_now, figures_parts__key(&ev->account), 0);
}

/* Names are read while the thread lives. */
static void note_thread(struct engine *e, const struct sample_event *s)
{
	struct vm *vm = s->thread ? process_set__vm(&e->set, s->vm) : NULL;

	if (vm)
		threads__note(&vm->threads, s->thread, s->thread_slot, s->tid);
}

static void take_pause(struct engine *e, struct figures_process *f, const struct sample_event *s)
{
	note_thread(e, s);
	figures__add_pause(f, s);
	/* A process can end before it is looked at again. */
	if (!f->missing[FIGURE_GC_CYCLES] && s->ip)
		figures__set_cycles(f, s->vm, s->ip & 0xffffffffu, s->ip >> 32);
}

bool engine__take_figure(struct engine *e, const void *data, size_t size)
{
	const struct sample_event *s = data;
	struct figures_process *f;

	if (!e->figures || size < sizeof(*s) ||
	    (s->source != SOURCE_SCHED && s->source != SOURCE_GC && s->source != SOURCE_ALLOC))
		return false;
	if (s->source == SOURCE_SCHED) {
		/* The account of a live thread is asked for, so take only those of ended threads. */
		if (s->kind == SAMPLE_ACCOUNT && !(s->flags & SAMPLE_LIVES) && size >= sizeof(struct account_event) && !e->figures->sums.frozen)
			take_account(e, data);
		return true;
	}
	f = e->figures->sums.frozen ? NULL : figures__find(&e->figures->sums, s->process);
	if (f && s->source == SOURCE_ALLOC)
		figures__add_allocation(f, s);
	else if (f)
		take_pause(e, f, s);
	/* A mode counts it itself. */
	if (e->mode_sources & 1u << s->source)
		return false;
	if (s->truncated && s->truncated < TRUNC_MAX)
		e->resolver.received[s->source].truncated[s->truncated]++;
	else
		e->resolver.received[s->source].whole++;
	return true;
}
