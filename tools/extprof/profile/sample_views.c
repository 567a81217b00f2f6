/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the view of a sample in each mode: its weight, and the frames below the code. */
#include <errno.h>
#include <stdio.h>

#include "base/map64.h"
#include "profile/wait_details.h"
#include "profile/idle.h"
#include "profile/resolve_parts.h"
#include "wire/states.h"

_Static_assert(1 + WAIT_DETAIL_FRAMES_MAX <= SINK_BELOW_MAX, "a view has no room for what is below the code");

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

/* Part i of a weight of which each share has its part.  The largest share comes first: it is the one that counts. */
static uint64_t part_of(uint64_t all, const struct wait_share *shares, uint32_t count, uint64_t ns, uint32_t i)
{
	uint64_t others = 0;

	if (i)
		return (uint64_t)((unsigned __int128)all * shares[i].ns / ns);
	for (uint32_t k = 1; k < count; k++)
		others += part_of(all, shares, count, ns, k);
	return all - others;
}

static void largest_first(struct wait_share *shares, uint32_t count)
{
	uint32_t largest = 0;

	for (uint32_t i = 1; i < count; i++)
		if (shares[i].ns > shares[largest].ns)
			largest = i;
	if (count) {
		struct wait_share first = shares[largest];

		shares[largest] = shares[0];
		shares[0] = first;
	}
}

/* Sum up; and keep one share by chance if the sample stands for several waits: each of them is one of so many samples. */
static uint64_t choose_shares(const struct sample_event *e, struct wait_share *shares, uint32_t *count)
{
	uint64_t ns = 0, chance;
	uint32_t i = 0;

	for (uint32_t k = 0; k < *count; k++)
		ns += shares[k].ns;
	if (e->count <= 1 || !*count)
		return ns;
	for (chance = hash__mix(e->time) % ns; chance >= shares[i].ns; i++)
		chance -= shares[i].ns;
	shares[0] = shares[i];
	*count = 1;
	return shares[0].ns;
}

/* The last view is of a wait for the GVL: there is one for each share.  A share that is not the first one counts as no
 * wait of its own. */
static void share_out(struct resolver *c, const struct wait_share *shares, uint32_t share_count, uint64_t ns, uint32_t *count)
{
	const struct sink_view whole = c->views[*count - 1];

	if (!share_count)
		return;
	--*count;
	for (uint32_t i = 0; i < share_count; i++) {
		struct sink_view *view = &c->views[*count];
		uint64_t value = part_of(whole.weight.value, shares, share_count, ns, i);

		if (i && !value)
			continue;
		*view = whole;
		view->weight = (struct weight){ value, i ? 0 : whole.weight.count };
		/* The holder is above the waker. */
		view->below_count = 0;
		if (whole.below_count)
			view->below[view->below_count++] = whole.below[0];
		view->below[view->below_count++] = shares[i].frame;
		if (shares[i].thread_frame)
			view->below[view->below_count++] = shares[i].thread_frame;
		for (uint32_t k = 1; k < whole.below_count; k++)
			view->below[view->below_count++] = whole.below[k];
		++*count;
	}
}

int resolve__views(struct resolver *c, struct vm *vm, const struct sample_event *e, uint32_t *count)
{
	struct wait_share shares[WAIT_SHARES_MAX];
	uint32_t share_count, of_waits = 0;
	uint64_t ns;

	*count = 0;
	if (details__shares(c, e, shares, &share_count))
		return -ENOMEM;
	ns = choose_shares(e, shares, &share_count);
	largest_first(shares, share_count);
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
		    (mode->has_states && details__frames(c, vm, e, view->below, &view->below_count)))
			return -ENOMEM;
		++*count;
		if (mode->has_states && of_waits < WAIT_MODES_MAX) {
			share_out(c, shares, share_count, ns, count);
			of_waits++;
		}
	}
	return 0;
}
