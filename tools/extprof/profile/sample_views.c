/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the view of a sample in each mode: its weight, and the frames below the code. */
#include <errno.h>
#include <stdio.h>

#include "profile/wait_details.h"
#include "profile/idle.h"
#include "profile/resolve_parts.h"
#include "wire/states.h"

_Static_assert(1 + ABOUT_FRAMES_MAX <= SINK_BELOW_MAX, "a view has no room for what is below the code");

/* An event of the user's choice. */
static uint32_t event_frame(struct resolver *c, const struct sample_event *e)
{
	return resolve__mark(c, FRAME_EVENT,
			     e->detail < c->event_count ? c->events[e->detail].label : "unknown event");
}

/* The class of an object; 0: it has none that is known by a record. */
static uint32_t class_frame(struct resolver *c, struct vm *vm, const struct sample_event *e)
{
	const struct symbol *class = e->detail >> 31 ? NULL : symbols__get(&vm->symbols, (uint32_t)e->detail);

	return class ? frame_table__code_of(c->frames, code__make(CODE_RUBY, class->number, 0, false), &vm->frames) :
		       resolve__mark(c, FRAME_MARK, "unreadable record");
}

/* The frame right below the code; 0 and no error: there is none. */
static int add_innermost(struct resolver *c, struct vm *vm, const struct mode *mode, const struct sample_event *e,
			 struct sink_view *view)
{
	struct frame f = FRAME_INIT((uint8_t)mode__below(mode));
	struct text t = { 0 };
	uint32_t frame = 0;
	bool wanted = true;

	if (mode->names_event) {
		frame = event_frame(c, e);
	} else if (mode->names_class && e->detail > RB_DEBUG_EXT_ID_INTERNAL) {
		frame = class_frame(c, vm, e);
	} else {
		if (mode->innermost)
			mode->innermost(e, &t);
		wanted = t.failed || t.length;
		f.name = text__string(&t);
		f.bracketed = true;
		f.state = f.kind == FRAME_STATE ? (uint8_t)e->state : 0;
		if (wanted && !t.failed)
			frame = frame_table__add(c->frames, &f);
		text__free(&t);
	}
	if (frame)
		view->below[view->below_count++] = frame;
	return frame || !wanted ? 0 : -ENOMEM;
}

/* --state: is it one of the states that the user wants to see? */
static bool is_shown(const struct resolver *c, const struct mode *mode, const struct sample_event *e)
{
	uint32_t state = e->source == SOURCE_SCHED ? e->state : STATE_RUNNING;

	return !c->states || !mode->has_states || state >= STATE_MAX || c->states & 1u << state;
}

int resolve__views(struct resolver *c, struct vm *vm, const struct sample_event *e, uint32_t *count)
{
	*count = 0;
	if (!c->mode_count) {
		c->views[0] = (struct sink_view){ .weight = { 1, 1 } };
		*count = 1;
	}
	for (uint32_t i = 0; i < c->mode_count; i++) {
		const struct mode *mode = c->modes[i];
		struct sink_view *view = &c->views[*count];

		*view = (struct sink_view){ .mode = i, .mode_frame = c->mode_frames[i],
					    .labelled_frame = (e->label || e->trace_state == TRACE_SET) && idle__concerns(mode) ? c->labelled_frame : 0 };
		if (!mode__takes(mode, e, &view->weight) || !is_shown(c, mode, e))
			continue;
		if (add_innermost(c, vm, mode, e, view) ||
		    (mode->has_states && about__frames(c, vm, e, view->below, &view->below_count)))
			return -ENOMEM;
		++*count;
	}
	return 0;
}
