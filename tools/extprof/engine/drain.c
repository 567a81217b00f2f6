/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples that wait, and what was put off while they were resolved. */
#include <errno.h>
#include <stdlib.h>

#include "engine/state.h"

/* Records to read ahead at each tick. */
#define PREFETCH 2000u
/* For samples that were put aside, in one step: those of the others wait meanwhile. */
#define ASIDE_TIME (20 * MS)

/* Between two readings of what a process has renamed: so much for each ruby that there is, or that a command has started; ns. */
#define UPDATE_SHARE (50 * MS)
#define UPDATE_SHARE_COMMAND (10 * MS)
#define UPDATE_MOST SECOND
/* A ruby that is so young, after its first names were read, may end soon. */
#define VM_IS_YOUNG SECOND

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

/* For the resolver. */
enum resolve_turn engine__turn(void *context, struct vm *vm, const struct sample_event *s, size_t size)
{
	struct engine *e = context;

	return aside__turn(&e->aside, vm, s, size, e->resolver.details);
}

static bool on_sample(void *context, const void *data, size_t size)
{
	const struct sample_event *s = data;
	struct engine *e = context;
	uint64_t before = deadline__now(), now;
	struct vm *vm;

	if (!engine__take_figure(e, data, size))
		states__event(&e->states, &e->resolver, data, size);
	now = deadline__now();
	vm = size >= sizeof(*s) ? process_set__vm(&e->set, s->vm) : NULL;
	if (vm)
		aside__spend(&e->aside, vm, now - before);
	return !deadline__over(&e->deadline) && now < e->drain_until;
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
	int n;

	aside__begin_turn(&e->aside);
	e->aside.open = true;
	n = session__drain(e->session, on_sample, e);
	e->aside.open = false;
	if (!deadline__over(&e->deadline))
		aside__serve(&e->aside, &e->resolver, deadline__now() + ASIDE_TIME);
	return n;
}

void engine__skip_rest(struct engine *e)
{
	session__drain(e->session, on_late_sample, e);
	aside__skip(&e->aside, &e->resolver);
}

bool engine__has_more(const struct engine *e)
{
	return e->behind || e->aside.count || e->updates.more;
}

void engine__each_in_turn(struct engine *e, struct visits *v, bool (*wants)(const struct vm *vm),
			  void (*visit)(struct engine *e, struct vm *vm, void *context), void *context)
{
	uint32_t count = e->set.vm_count, from = v->next < count ? v->next : 0;

	v->more = false;
	aside__begin_turn(&e->aside);
	for (uint32_t n = 0; n < count && e->set.vm_count; n++) {
		uint32_t i = (from + n) % count;
		struct vm *vm = i < e->set.vm_count ? e->set.vms[i] : NULL;
		uint64_t before;

		if (!vm || !wants(vm))
			continue;
		if (!aside__has_time(&e->aside, vm)) {
			if (!v->more)
				v->next = i;
			v->more = true;
			continue;
		}
		before = deadline__now();
		visit(e, vm, context);
		aside__spend(&e->aside, vm, deadline__now() - before);
	}
}

static uint64_t update_interval(const struct engine *e)
{
	uint64_t wait = (e->settings.command ? UPDATE_SHARE_COMMAND : UPDATE_SHARE) * e->set.vm_count;

	return wait < UPDATE_MOST ? wait : UPDATE_MOST;
}

/* Are names to be read again?  Of one ruby in each tick; of many, each has its turn less often, unless samples wait for it. */
static bool is_due(const struct engine *e, const struct vm *vm, uint64_t now)
{
	if (vm->turn.waiting || vm->symbols.work <= 0 || now < vm->first_updated_at + VM_IS_YOUNG)
		return true;
	return now >= vm->updated_at + update_interval(e);
}

/* Have all names been read that were needed?  Names of a command's rubies are also read ahead. */
static bool is_settled(const struct engine *e, const struct vm *vm, uint64_t now)
{
	return !e->settings.command && !vm->turn.waiting && vm->symbols.work > 0 && now >= vm->first_updated_at + VM_IS_YOUNG &&
	       symbols__are_read(&vm->symbols);
}

/* Was its section read a moment ago, for something else, and said that no name has changed? */
static bool is_read(const struct engine *e, const struct vm *vm, uint64_t now)
{
	return now < vm->layout.read_at + update_interval(e) && vm->layout.section.names_generation == vm->symbols.generation;
}

struct updating {
	uint64_t now;
	bool all;
};

static bool wants_update(const struct vm *vm)
{
	return !vm->exited && !vm->plain && (vm->touched || vm->stale || vm->turn.waiting);
}

static void update(struct engine *e, struct vm *vm, void *context)
{
	const struct updating *u = context;
	struct run_mark mark = { 0 };

	/* These are young once: at each use, whether or not the rest is due. */
	if (vm->touched && threads__name_young(&vm->threads))
		e->young_threads_at = deadline__now();
	vm->stale |= vm->touched;
	vm->touched = false;
	if (!u->all && !is_due(e, vm, u->now))
		return;
	vm->stale = false;
	vm->updated_at = u->now;
	if (!u->all && is_settled(e, vm, u->now) && (is_read(e, vm, u->now) || !vm__is_due(vm, &vm->marks.names, &mark))) {
		jitlog__renew(&vm->symbols.jit);
		return;
	}
	if (!vm->first_updated_at)
		vm->first_updated_at = u->now;
	if (!vm->space || symbols__update(&vm->symbols, false))
		return;
	vm->marks.names = mark;
	if (e->settings.command)
		symbols__prefetch(&vm->symbols, PREFETCH);
}

void engine__update_vms(struct engine *e, bool all)
{
	struct updating u = { deadline__now(), all };

	engine__each_in_turn(e, &e->updates, wants_update, update, &u);
}

static int compare_sizes(const void *a, const void *b)
{
	uint32_t one = (*(struct vm *const *)a)->symbols.own_count, other = (*(struct vm *const *)b)->symbols.own_count;

	return (one > other) - (one < other);
}

/* Those that have little to read come first. */
void engine__update_last(struct engine *e, uint64_t until)
{
	struct vm **list = calloc(e->set.vm_count + 1u, sizeof(*list));
	uint32_t count = 0;

	for (uint32_t i = 0; list && i < e->set.vm_count; i++)
		if (e->set.vms[i] && vm__is_readable(e->set.vms[i]))
			list[count++] = e->set.vms[i];
	aside__begin_end(&e->aside, e->set.vms, e->set.vm_count);
	if (count)
		qsort(list, count, sizeof(*list), compare_sizes);
	for (uint32_t i = 0; i < count; i++) {
		struct vm *vm = list[i];
		uint64_t now = deadline__now(), left = aside__left_at_end(&e->aside, vm);

		deadline__start(&e->reads, e->settings.interrupt_fd, left < until - now ? now + left : until);
		if (now >= until || deadline__over(&e->reads))
			continue;
		symbols__update(&vm->symbols, true);
		threads__refresh(&vm->threads, true);
		aside__spend(&e->aside, vm, deadline__now() - now);
	}
	aside__end_end(&e->aside);
	free(list);
}
