/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples that wait, and what was put off while they were resolved. */
#include <errno.h>

#include "engine/state.h"

/* Records to read ahead at each tick. */
#define PREFETCH 2000u

/* For the resolver. */
struct vm *engine__vm_of(void *context, const struct sample_event *s, uint32_t *row)
{
	struct engine *e = context;
	struct vm *vm = process_set__vm(&e->set, s->vm);
	struct process *p = process_set__find(&e->set, s->process);

	if (!vm || !p) {
		/* The event that tells of it was sent before the sample. */
		engine__drain_lifecycle(e);
		vm = process_set__vm(&e->set, s->vm);
		p = process_set__find(&e->set, s->process);
	}
	if (p && process__row(&e->set, p))
		*row = p->row;
	for (struct vm *v = vm; v; v = v->parent)
		v->touched = true;
	return vm;
}

static bool on_sample(void *context, const void *data, size_t size)
{
	const struct sample_event *s = data;
	struct engine *e = context;
	struct vm *vm;

	if (!engine__take_figure(e, data, size))
		states__event(&e->states, &e->resolver, data, size);
	/* If the next sample has new names, they are read after the next update: then all of them, not only the
	 * first. */
	vm = size >= sizeof(*s) ? process_set__vm(&e->set, s->vm) : NULL;
	if (vm && vm->symbols.work < SYMBOLS_SAMPLE_WORK)
		return false;
	return !deadline__over(&e->deadline) && deadline__now() < e->drain_until;
}

static bool on_late_sample(void *context, const void *data, size_t size)
{
	struct engine *e = context;

	/* To count these takes no time. */
	if (!engine__take_figure(e, data, size))
		states__skip(&e->states, &e->resolver, data, size);
	return true;
}

int engine__drain(struct engine *e)
{
	return session__drain(e->session, on_sample, e);
}

void engine__skip_rest(struct engine *e)
{
	session__drain(e->session, on_late_sample, e);
}

void engine__update_vms(struct engine *e, bool last)
{
	for (uint32_t i = 0; i < e->set.vm_count; i++) {
		struct vm *vm = e->set.vms[i];
		int err;

		if (!vm || vm->exited || (!vm->touched && !last))
			continue;
		vm->touched = false;
		if (!last && threads__name_young(&vm->threads))
			e->young_threads_at = deadline__now();
		if (!vm->space)
			continue;
		err = symbols__update(&vm->symbols, last);
		if (!err && e->settings.command && !last)
			symbols__prefetch(&vm->symbols, PREFETCH);
		if (last)
			threads__refresh(&vm->threads, true);
	}
}
