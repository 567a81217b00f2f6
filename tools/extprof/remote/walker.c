/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/walker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadline.h"

/* The memory that read_target() reads: walk.h passes no context to it. */
static _Thread_local const struct memory *reading;

static long read_target(void *to, uint32_t size, uint64_t address)
{
	return memory__read(reading, address, to, size);
}

/* The same with what is wanted, and with the rules of native stacks. */
static _Thread_local bool wants_kinds;
static _Thread_local const struct unwind_view *following;
#define walk_wants_flags wants_kinds

static struct unwind_mapping *unwind_mapping_at(uint32_t i)
{
	return i < following->mapping_count ? &following->mappings[i] : NULL;
}

static struct unwind_row *unwind_row_at(uint32_t i)
{
	return i < following->row_count ? &following->rows[i] : NULL;
}

#include "wire/unwind_steps.h"

struct walker {
	struct walk_scratch scratch;
	uint64_t cfp;
	bool want_kinds;
};

_Static_assert(offsetof(struct walk_scratch, frames) ==
	       offsetof(struct walk_scratch, event) + sizeof(struct sample_event),
	       "the frames are behind the event");

struct walker *walker__new(void)
{
	return calloc(1, sizeof(struct walker));
}

void walker__free(struct walker *w)
{
	free(w);
}

/* An event with nothing in it. */
static struct walk_scratch *begin(struct walker *w)
{
	struct walk_scratch *s = &w->scratch;

	memset(&s->event, 0, sizeof(s->event));
	s->event.source = SOURCE_CPU;
	s->machine_size = 0;
	w->cfp = 0;
	return s;
}

int walker__walk(struct walker *w, const struct memory *memory, const struct target_config *config,
		 uint64_t ec, uint32_t tid)
{
	struct walk_scratch *s = begin(w);
	int reason;

	s->event.tid = tid;
	reading = memory;
	wants_kinds = w->want_kinds;
	reason = walk__section(s, config, tid);
	if (!reason && s->event.kind == SAMPLE_RUBY)
		reason = walk__ec(s, config, ec, 0);
	if (!reason && s->event.kind == SAMPLE_RUBY && memory__read(memory, ec + config->ec_cfp, &w->cfp, 8))
		reason = LOSS_EC_READ;
	reading = NULL;
	return reason;
}

int walker__walk_waiting(struct walker *w, const struct memory *memory, const struct target_config *config, uint64_t ec,
			 uint64_t serial)
{
	struct walk_scratch *s = begin(w);
	int reason;

	s->event.kind = SAMPLE_RUBY;
	s->event.thread = serial;
	reading = memory;
	wants_kinds = false;
	reason = walk__ec(s, config, ec, 0);
	reading = NULL;
	return reason;
}

void walker__want_kinds(struct walker *w, bool want)
{
	w->want_kinds = want;
}

void walker__unwind(struct walker *w, const struct memory *memory, const struct target_config *config,
		    const struct task *task, const struct unwind_view *view)
{
	uint64_t range[2], until = deadline__now() + WALKER_UNWIND_TIME;
	struct walk_scratch *s = &w->scratch;
	struct unwind_state *u = &s->unwind;
	struct sample_machine *m = unwind__room(s, s->event.nr_frames);

	unwind__begin(u);
	u->ip = task->ip;
	u->sp = task->sp;
	u->bp = task->bp;
	u->lr = task->lr;
	u->bp_lost = !task->has_bp;
	u->first = 0;
	u->mappings = view->mapping_count;
	/* The caller knows that nothing was mapped since. */
	u->changed_from = ~0ull;
	u->changed_to = 0;
	reading = memory;
	following = view;
	unwind__jit_range(config, range);
	u->jit_start = range[0];
	u->jit_end = range[1];
	for (uint32_t i = 0; i < NATIVE_FRAMES_MAX && !unwind__step(s, i); i++) {
		if (deadline__now() > until) {
			u->end = UNWIND_END_STACK;
			break;
		}
	}
	unwind__check(s, config, s->event.nr_frames, task->sp);
	reading = NULL;
	following = NULL;
	m->native_end = u->end;
	m->nr_native = (uint16_t)u->count;
	memcpy(m->address, s->native, u->count * sizeof(s->native[0]));
	s->machine_size = (uint32_t)(SAMPLE_MACHINE_HEAD + u->count * sizeof(s->native[0]));
	s->event.vm = view->vm;
}

void walker__not_unwound(struct walker *w, const struct unwind_view *view, uint8_t why)
{
	unwind__room(&w->scratch, w->scratch.event.nr_frames)->native_end = why;
	w->scratch.event.vm = view->vm;
}

void walker__bare(struct walker *w, uint32_t tid)
{
	struct walk_scratch *s = begin(w);

	s->event.kind = SAMPLE_NATIVE;
	s->event.tid = tid;
}

uint32_t walker__machine_size(const struct walker *w)
{
	return w->scratch.machine_size;
}

struct sample_event *walker__event(struct walker *w)
{
	return &w->scratch.event;
}

const struct sample_frame *walker__frames(const struct walker *w)
{
	return w->scratch.frames;
}

uint64_t walker__cfp(const struct walker *w)
{
	return w->cfp;
}
