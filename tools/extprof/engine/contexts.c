/* SPDX-License-Identifier: BSD-2-Clause */
/* Contexts of OpenTelemetry that a library publishes for native threads: in which processes, and where. */
#include <inttypes.h>

#include "engine/state.h"

/* How often processes are looked at that have none so far, ns: a program can load the library at any time.  The first time
 * is when a ruby was found in it; then each time when it has lived twice as long, and at least so often. */
#define INTERVAL 200000000ull
#define FIRST 1000000000ull
#define LAST 300000000000ull
/* How often those that have one: the library can be unloaded, and another one has its place then. */
#define AGAIN 60000000000ull
/* Looks that begin in one step of the engine, which also has samples to fetch. */
#define STEP_MAX 2u

static bool is_of_interest(const struct engine *e, const struct process *p)
{
	return p && process__is_readable(p) && !p->context.look && e->context_files;
}

static void begin_look(struct engine *e, struct process *p)
{
	struct search *search = search__new(p->number, p->pid, &e->table);
	struct run_mark mark;

	vm__has_run(p->vm, &p->context.mark, &mark);
	p->context.at = deadline__now();
	if (!search)
		return;
	search->context = context_look__new(e->context_files, p->pid, p->vm->number);
	if (search->context)
		search->context->before = p->context.file;
	if (!search->context || search__submit(e->searcher, search)) {
		search__free(search);
		return;
	}
	p->context.look = true;
	p->context.mark = mark;
}

void engine__look_for_context(struct engine *e, struct process *p)
{
	p->context = (struct process_context){ 0 };
	p->context.since = p->context.at = deadline__now();
	/* Sums of what processes do have no traces. */
	if (!e->context_files && !e->figures && session__reads_contexts(e->session))
		e->context_files = context_files__new();
	if (is_of_interest(e, p))
		begin_look(e, p);
}

void engine__fork_context(struct process *p, const struct process *parent, uint64_t time)
{
	/* The kernel has given it the place of its parent, if there was one then. */
	p->context = parent->context;
	p->context.look = false;
	p->context.mark = (struct run_mark){ 0 };
	p->context.known &= parent->context.since < time;
	if (!p->context.known) {
		p->context.file = 0;
		p->context.place.module = 0;
	}
	p->context.since = p->context.at = deadline__now();
}

/* One without a place has lived `age` since it was found, or since it lost its place, when it was looked at last. */
static bool is_due(const struct process *p, uint64_t now)
{
	uint64_t age = p->context.at - p->context.since, wait = age < FIRST ? FIRST : age < LAST ? age : LAST;

	return now >= p->context.at + (p->context.known ? AGAIN : wait);
}

void engine__step_contexts(struct engine *e)
{
	uint64_t now = deadline__now();
	uint32_t most = STEP_MAX;

	if (!e->context_files || now < e->contexts_at)
		return;
	e->contexts_at = now + INTERVAL;
	/* Also the last ones have their turn if more are due than there is time for. */
	for (uint32_t i = 0; i < e->set.count && most; i++) {
		struct process *p = e->set.list[e->contexts_next++ % e->set.count];
		struct run_mark mark;

		if (!is_of_interest(e, p) || !is_due(p, now))
			continue;
		/* Its libraries are as they were. */
		if (!vm__has_run(p->vm, &p->context.mark, &mark)) {
			p->context.at = now;
			continue;
		}
		begin_look(e, p);
		most--;
	}
}

static void note_place(struct engine *e, struct process *p, const struct trace_place *place)
{
	bool is_same = place->module == p->context.place.module && (!place->module || place->offset == p->context.place.offset);

	p->context.known = place->module != 0;
	p->context.sent |= p->context.known;
	p->context.place = *place;
	if (is_same)
		return;
	p->context.since = p->context.at;
	if (!place->module)
		log_to__line(&e->settings.log, "process %d: its threads have no context of OpenTelemetry any more", p->pid);
	else
		log_to__line(&e->settings.log, "process %d: its threads have a context of OpenTelemetry (%s %" PRId64 ")", p->pid,
			     place->module == TRACE_IN_THREAD ? "from the thread pointer" : "in a module,", place->offset);
}

void engine__take_context(struct engine *e, struct process *p, const struct context_look *look)
{
	struct trace_place place = { 0 };
	struct deadline *deadline;

	p->context.look = false;
	if (look->err || !look->whole)
		p->context.mark = (struct run_mark){ 0 };
	/* It runs another program by now. */
	if (!p->vm || p->vm->number != look->vm || !is_of_interest(e, p))
		return;
	if (look->found) {
		deadline = address_space__lift_deadline(p->vm->space);
		context_look__place(look, &p->vm->space->memory, &place);
		p->vm->space->deadline = deadline;
	/* A file that is still mapped, or may be, has it where it was. */
	} else if (look->err || !look->whole || look->maps_before) {
		return;
	}
	if (!place.module && !p->context.sent)
		return;
	/* Also if it is the same: the child of a process may have been given that of before. */
	if (session__set_context(e->session, &p->key, look->vm, &place))
		return;
	p->context.file = place.module ? look->file : 0;
	p->context.at = deadline__now();
	note_place(e, p, &place);
}
