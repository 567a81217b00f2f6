/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names that will be needed.  The stack of a thread that waits comes when the wait is over.  The process can be
 * gone by then, with its names.  So now and then the stacks of threads that wait are looked at from here, only
 * to know which names they have.
 */
#include "engine/state.h"
#include "remote/tables.h"
#include "remote/walker.h"

/* Waits that were looked at, before all of them are forgotten. */
#define SEEN_MAX 65536u
/* Frames of one stack. */
#define AHEAD_FRAMES_MAX 1024u
/* With more threads the tables are read less often. */
#define MANY_THREADS 256u
#define INTERVAL (100 * MS)
#define INTERVAL_MANY SECOND
#define INTERVAL_MOST (2 * SECOND)	/* of many processes */

/* Is this a wait that was not looked at? */
static bool is_new(struct engine *e, const struct vm *vm, const struct rb_debug_ext_thread *t)
{
	uint64_t key;

	if (t->state != RB_DEBUG_EXT_THREAD_READY && t->state != RB_DEBUG_EXT_THREAD_BLOCKED &&
	    t->state != RB_DEBUG_EXT_THREAD_SLEEPING)
		return false;
	key = hash__mix(t->since ^ hash__mix(t->serial ^ hash__mix(t->state_seq ^ (uint64_t)vm->number << 32)));
	if (map64__get(&e->ahead_seen, key) != MAP64_NONE)
		return false;
	if (e->ahead_seen.count >= SEEN_MAX)
		map64__clear(&e->ahead_seen);
	return !map64__add(&e->ahead_seen, key, 0);
}

static void look(struct walker *w, struct vm *vm, const struct target_config *config,
		 const struct table_thread *thread)
{
	const struct sample_event *event = walker__event(w);
	uint64_t ec;

	threads__note(&vm->threads, thread->t.serial, thread->slot, thread->t.tid);
	if (tables__current_ec(&vm->layout, &vm->memory, &thread->t, &ec) ||
	    walker__walk_waiting(w, &vm->memory, config, ec, thread->t.serial))
		return;
	for (uint32_t i = 0; i < event->nr_frames && i < AHEAD_FRAMES_MAX && vm->symbols.work > 0; i++) {
		uint32_t id = walker__frames(w)[i].id;

		if (id >= RB_DEBUG_EXT_ID_FIRST && id < vm->layout.section.records_end)
			symbols__get(&vm->symbols, id);
	}
}

/* How many threads it has. */
static uint32_t look_at_vm(struct engine *e, struct walker *w, struct tables *tables, struct vm *vm)
{
	struct target_config config;

	if (layout__refresh(&vm->layout, &vm->memory) || tables__read_threads(tables, &vm->layout, &vm->memory))
		return 0;
	/* It has been sampled since it was attached, and its memory is still in use: see the resolver. */
	vm->confirmed = true;
	layout__config(&vm->layout, &config);
	config.pid = vm->layout.section.pid;
	vm->touched = true;
	for (uint32_t i = 0; i < tables->thread_count; i++)
		threads__take(&vm->threads, tables->threads[i].slot, &tables->threads[i].t);
	/* The others that were sampled: fibers, and threads that have ended. */
	threads__refresh(&vm->threads, false);
	vm->threads_at = deadline__now();
	for (uint32_t i = 0; i < tables->thread_count && vm->symbols.work > 0; i++)
		if (is_new(e, vm, &tables->threads[i].t))
			look(w, vm, &config, &tables->threads[i]);
	return tables->thread_count;
}

struct reading_ahead {
	struct walker *walker;
	struct tables tables;
	uint32_t most;		/* threads of a VM */
};

static void look_ahead(struct engine *e, struct vm *vm, void *context)
{
	struct reading_ahead *r = context;
	struct run_mark mark;
	uint32_t count;

	/* A wait begins in a thread that runs. */
	if (!vm__is_due(vm, &vm->marks.waits, &mark))
		return;
	count = look_at_vm(e, r->walker, &r->tables, vm);
	/* If there was no time for all, the rest comes the next time. */
	if (count && vm->symbols.work > 0)
		vm->marks.waits = mark;
	if (count > r->most)
		r->most = count;
}

void engine__read_ahead(struct engine *e, uint64_t now)
{
	struct reading_ahead r = { 0 };
	uint64_t from = deadline__cpu_time();

	if (!(e->sources & 1u << SOURCE_SCHED) || e->figures || now < e->ahead_at)
		return;
	if (!e->ahead_walker)
		e->ahead_walker = walker__new();
	r.walker = e->ahead_walker;
	if (r.walker)
		engine__each_in_turn(e, &e->looks_ahead, vm__is_readable, look_ahead, &r);
	e->ahead_at = now + (e->looks_ahead.more ? INTERVAL :
			     engine__interval(r.most > MANY_THREADS ? INTERVAL_MANY : INTERVAL,
					      engine__longest(e, INTERVAL_MOST), from));
	tables__free(&r.tables);
}
