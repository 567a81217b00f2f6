/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The samples of reports one by one.  They are read again when the reports are there: each one has its place in the tree,
 * as it had when it was added up, and the report says where that is shown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "recording/profile_parts.h"
#include "wire/states.h"

/* Where a node of a report is in its cells. */
struct cell_place {
	uint32_t process;	/* the node of its process; 0: none */
	bool in_gc;		/* it is of the collector, or within */
};

struct placing {
	struct recording_profile *p;
	struct input *in;
	struct reports *reports;
	struct cell_place *places[MODES_MAX];	/* by report and node, if they have cells */
	struct sample_times times;
	uint32_t most, too_long;		/* recording_request::timeline_most; how many timelines have more */
	uint32_t only[MODES_MAX];		/* the node of the only process; 0: there are several, or none */
};

/* The place of a sum; there is one, unless the tree was too small. */
static int find_place(struct recording_profile *p, const struct input *in, struct sum *s)
{
	s->place = tree__find(&p->tree, p->path, recording_profile__path(p, in, s));
	return s->place == MAP64_NONE ? -ENOSPC : 0;
}

/* The sum that the sample is of, with its place; NULL: *err says why. */
static const struct sum *sum_of(struct placing *w, const struct recording_sample *s, int *err)
{
	struct recording_profile *p = w->p;
	uint32_t number;
	bool is_new;

	number = recording_profile__sum(p, w->in, s, false, &is_new);
	if (number == MAP64_NONE && p->sum_count == SUMS_MAX) {
		p->sum_count = 0;
		map64__clear(&p->sum_map);
		number = recording_profile__sum(p, w->in, s, false, &is_new);
	}
	if (number == MAP64_NONE) {
		*err = -ENOMEM;
		return NULL;
	}
	*err = is_new ? find_place(p, w->in, &p->sums[number]) : 0;
	return *err ? NULL : &p->sums[number];
}

uint64_t recording_profile__time(const struct input *in, uint64_t time)
{
	uint64_t after = time > in->begin ? time - in->begin : 0;

	/* An object that lives was made in a file before. */
	if (time < in->begin)
		return in->later > in->begin - time ? in->later - (in->begin - time) : 0;
	/* Somebody can have made up both. */
	return after > INT64_MAX || in->later > INT64_MAX - after ? INT64_MAX : after + in->later;
}

static enum wait_step step_of(uint8_t state)
{
	return state == STATE_GVL ? STEP_GVL : state == STATE_STOPPED ? STEP_STOPPED : state == STATE_RUNNABLE ? STEP_RUNNABLE : STEP_BLOCKED;
}

static uint64_t length_of(const struct input *in, const struct recording_sample *s)
{
	return s->time - recording_tables__wait_begin(in->tables, s);
}

static bool is_one_wait(const struct recording_sample *a, const struct recording_sample *b)
{
	return a->time == b->time && a->thread == b->thread && a->mode == b->mode && a->fiber == b->fiber;
}

/* Somebody can have made up all of them: a part begins at 0 at least. */
static uint64_t add_up(uint64_t sum, uint64_t length, uint64_t time)
{
	return length < time - sum ? sum + length : time;
}

static void begin_wait(struct sample_times *times, const struct input *in, const struct recording_sample *samples, uint32_t count)
{
	*times = (struct sample_times){ .left = 1 };
	while (times->left < count && is_one_wait(&samples[0], &samples[times->left]))
		times->left++;
	for (uint32_t i = 0; i < times->left; i++)
		for (uint32_t step = 0; step < step_of(samples[i].state); step++)
			times->after[step] = add_up(times->after[step], length_of(in, &samples[i]), samples[i].time);
}

uint64_t recording_profile__begin(struct sample_times *times, const struct input *in, const struct mode *mode,
				  const struct recording_sample *samples, uint32_t i, uint32_t count)
{
	const struct recording_sample *s = &samples[i];
	uint64_t length = length_of(in, s), *end;

	if (!times->left)
		begin_wait(times, in, s, count - i);
	times->left--;
	/* If several shares are of one part, a later one is shown before those that were seen. */
	end = &times->after[step_of(s->state)];
	if (length) {
		*end = add_up(*end, length, s->time);
		return s->time - *end;
	}
	/* A timer says nothing of the time before; other sources send what is over, and looks that found a fiber parked follow
	 * one another. */
	if (mode && s->count == 1 && mode->value.unit == UNIT_NS && s->value < s->time &&
	    (s->state == STATE_PARKED || (s->state == STATE_RUNNING && !(mode->sources & 1u << SOURCE_CPU))))
		return s->time - s->value;
	return s->time;
}

static void set_time(struct placing *w, const struct mode *mode, const struct recording_sample *s, uint64_t begin, struct moment *m)
{
	m->ns = mode->value.unit == UNIT_NS ? s->value : 0;
	m->time = recording_profile__time(w->in, begin);
	m->lasts = begin < s->time;
}

/* Where spans of its thread are: in the first mode that has a sample of it. */
static void place_thread(struct placing *w, uint32_t thread, uint32_t report, uint32_t node)
{
	struct thread_place *place = &w->in->thread_places[thread];

	if (place->node == REPORT_NOWHERE || report < place->report)
		*place = (struct thread_place){ .report = report, .node = node };
}

static int add_to_cells(struct report *r, const struct cell_place *place, const struct moment *m)
{
	unsigned int kind = m->state < STATE_MAX ? m->state : STATE_RUNNING;

	if (m->idle)
		kind = CELL_IDLE;
	else if (kind == STATE_RUNNING && place->in_gc)
		kind = CELL_GC;
	return cells__add(r->cells, place->process, kind, m->time, m->lasts ? m->time + m->ns : m->time, m->amount);
}

static int add_moment(struct placing *w, const struct recording_sample *s, uint64_t begin)
{
	struct report *r;
	struct report_place place;
	struct moment m = { .state = s->state };
	const struct sum *sum;
	int err;

	sum = sum_of(w, s, &err);
	if (!sum)
		return err;
	r = &w->reports->list[sum->mode];
	if (sum->place >= r->place_count)
		return -ENOSPC;
	place = r->places[sum->place];
	/* A thread that only rests has no node at all, and is a part of what was idle. */
	if (place.node == REPORT_NOWHERE && r->cells && place.idle) {
		place.node = w->only[sum->mode];
	} else if (place.node == REPORT_NOWHERE) {
		return 0;
	}
	place_thread(w, s->thread, sum->mode, place.node);
	m.node = place.node;
	m.idle = place.idle;
	if (!place.idle || r->idle.shown || r->cells)
		m.amount = r->by_value ? s->value : s->count;
	set_time(w, w->p->modes[sum->mode], s, begin, &m);
	if (r->cells)
		return add_to_cells(r, &w->places[sum->mode][m.node], &m);
	/* Nobody shows these. */
	if (w->most && r->timeline->count > w->most)
		return 0;
	if (r->timeline->count == TIMELINE_MOMENTS_MAX)
		return -E2BIG;
	if (array__reserve(&r->timeline->moments, r->timeline->count, 1, &r->timeline->room, TIMELINE_MOMENTS_MAX,
			   sizeof(m)))
		return -ENOMEM;
	r->timeline->moments[r->timeline->count++] = m;
	if (w->most && r->timeline->count > w->most && ++w->too_long == w->reports->count)
		return -E2BIG;
	return 0;
}

static int take(void *context, const struct recording_sample *samples, uint32_t count)
{
	struct placing *w = context;
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++) {
		int32_t number = w->in->number_of[samples[i].mode];
		uint64_t begin = recording_profile__begin(&w->times, w->in, number < 0 ? NULL : w->p->modes[number], samples, i, count);

		if (recording_profile__wants(w->p, w->in, &samples[i]))
			err = add_moment(w, &samples[i], begin);
	}
	return err;
}

/* Each report gets its timeline, which is empty. */
static int make_timelines(const struct recording_profile *p, struct reports *reports, struct diag *d)
{
	const struct input *first = &p->inputs[p->first[0]];
	uint64_t end = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct input *in = &p->inputs[i];
		uint64_t until = recording_profile__time(in, in->until < in->last ? in->until : in->last);

		end = until > end ? until : end;
	}
	for (uint32_t i = 0; i < reports->count; i++) {
		struct timeline *t = calloc(1, sizeof(*t));

		if (!t)
			return recording_profile__no_memory(d);
		t->begin = first->begin;
		t->wall = first->wall;
		t->from = recording_span__from(&p->filter.span, first->wall);
		t->until = end > t->from ? end : t->from;
		reports->list[i].timeline = t;
	}
	return 0;
}

static int add_recording(struct placing *w, struct diag *d)
{
	struct recording_profile *p = w->p;
	struct input *in = w->in;
	int err = 0;

	if (!p->keeps && ((err = recording_profile__enter(p, in, d)) || (err = recording_profile__choose(p, in, d))))
		return err;
	free(in->thread_places);
	in->thread_places = malloc((in->tables->thread_count + 1u) * sizeof(*in->thread_places));
	if (!in->thread_places)
		return recording_profile__no_memory(d);
	memset(in->thread_places, 0xff, in->tables->thread_count * sizeof(*in->thread_places));
	/* Ids are of one recording. */
	p->sum_count = 0;
	map64__clear(&p->sum_map);
	err = recording_reader__samples(in->reader, in->tables, in->since, in->until, take, w, d);
	if (err == -ENOSPC)
		return diag__set(d, DIAG_USAGE, E2BIG, "there are too many different stacks to show one after the other: choose a "
				 "part with --since, --until or --filter");
	if (err == -E2BIG)
		return diag__set(d, DIAG_USAGE, E2BIG, "there are more than %u samples to show one after the other: choose a part "
				 "with --since, --until or --filter", TIMELINE_MOMENTS_MAX);
	if (err || w->reports->list[0].cells || w->most)
		return err;
	err = recording_profile__spans(p, in, w->reports->list[0].timeline, d);
	return err ? err : recording_profile__figures(in, w->reports->list[0].timeline, d);
}

/* NULL: out of memory. */
static struct cell_place *find_cells(const struct report *r, uint32_t *only)
{
	struct cell_place *places = calloc(r->node_count + 1u, sizeof(*places));
	uint32_t count = 0;

	/* Parents come before their children. */
	for (uint32_t i = 1; places && i < r->node_count; i++) {
		const struct report_node *n = &r->nodes[i];
		uint8_t kind = r->labels[n->label].frame.kind;

		places[i] = places[n->parent];
		if (kind == FRAME_PROCESS && n->depth <= r->group_count) {
			places[i].process = i;
			*only = count++ ? 0 : i;
		}
		places[i].in_gc |= kind == FRAME_GC;
	}
	return places;
}

struct process_total {
	uint32_t node;
	uint64_t total;
};

static int by_total(const void *a, const void *b)
{
	const struct process_total *x = a, *y = b;

	return x->total != y->total ? (x->total < y->total ? 1 : -1) : x->node < y->node ? -1 : x->node > y->node;
}

/* If there are more processes than rows, those that have most of the report get them.  A server that began late is one of these. */
static int keep_largest(struct report *r, const struct cell_place *places)
{
	struct process_total *list;
	uint32_t count = 0;

	for (uint32_t i = 1; i < r->node_count; i++)
		count += places[i].process == i;
	if (count < CELLS_ROWS_MAX)
		return 0;
	list = calloc(count, sizeof(*list));
	if (!list)
		return -ENOMEM;
	count = 0;
	for (uint32_t i = 1; i < r->node_count; i++)
		if (places[i].process == i)
			list[count++] = (struct process_total){ .node = i, .total = r->nodes[i].total };
	qsort(list, count, sizeof(*list), by_total);
	for (uint32_t i = 0; i < CELLS_ROWS_MAX - 1; i++)
		cells__keep(r->cells, list[i].node);
	free(list);
	return 0;
}

/* A time of the clock, after the begin of the timelines. */
static uint64_t placed(uint64_t at, uint64_t wall, uint64_t fallback)
{
	const struct recording_span span = { .since_at = at };

	return at ? recording_span__from(&span, wall) : fallback;
}

/* The reports have cells of the time of their timelines, or of that which was asked for. */
static int make_cells(struct placing *w, const struct recording_request *request, struct reports *reports, struct diag *d)
{
	for (uint32_t i = 0; i < reports->count; i++) {
		struct report *r = &reports->list[i];

		r->cells = calloc(1, sizeof(*r->cells));
		w->places[i] = find_cells(r, &w->only[i]);
		if (!r->cells || !w->places[i] || keep_largest(r, w->places[i]))
			return recording_profile__no_memory(d);
		r->cells->wall = r->timeline->wall;
		cells__set_time(r->cells, placed(request->cells_since_at, r->cells->wall, r->timeline->from),
				placed(request->cells_until_at, r->cells->wall, r->timeline->until));
	}
	return 0;
}

int recording_profile__moments(struct recording_profile *p, const struct recording_request *request, struct reports *reports,
			       struct diag *d)
{
	struct placing w = { .p = p, .reports = reports, .most = request->timeline_most };
	int err = make_timelines(p, reports, d);

	if (!err && request->cells)
		err = make_cells(&w, request, reports, d);
	for (uint32_t i = 0; i < p->count && !err; i++) {
		w.in = &p->inputs[i];
		/* A wait is of one recording. */
		w.times = (struct sample_times){ .left = 0 };
		err = add_recording(&w, d);
		if (!p->keeps)
			recording_profile__leave(p, w.in);
		if (err)
			err = recording_profile__failed_in(p, w.in, err, d);
	}
	for (uint32_t i = 0; i < reports->count; i++) {
		free(w.places[i]);
		if (!err)
			timeline__sort(reports->list[i].timeline);
	}
	return err;
}
