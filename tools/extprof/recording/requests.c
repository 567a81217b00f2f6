/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/known_places.h"
#include "profile/label_marks.h"
#include "wire/states.h"

/* Values for a set of labels besides its number. */
#define SET_NONE 0u		/* no request */
#define SET_UNKNOWN (UINT32_MAX - 1)	/* its labels could not be read */
#define SET_NEW UINT32_MAX

#define NO_REQUEST UINT32_MAX

/* Values of requests::rests. */
#define REST_NO 1
#define REST_YES 2

/* ns: the longest period that is believed, and how long a look at parked fibers can take. */
#define PERIOD_MAX 60000000000ull
#define SETTLE 500000000ull

/* Samples that follow one another in one fiber, or in a thread. */
struct request_lane {
	uint32_t thread;	/* id of its thread's row, without the one of its parked fibers; 0: not seen yet */
	uint32_t open;		/* number of the request that goes on */
	uint32_t set;		/* that it has */
	uint64_t last;		/* time of the last sample; 0: there was none */
	uint64_t floor;		/* the same before the open request */
};

const char *const request_part_names[REQUEST_PARTS] = {
	[PART_RUN] = "run", [PART_GC] = "gc", [PART_RUNNABLE] = "runnable", [PART_GVL] = "gvl", [PART_IO] = "io",
	[PART_LOCK] = "lock", [PART_SLEEP] = "sleep", [PART_PARKED] = "parked", [PART_OTHER] = "other",
};

/* -- what the recording has ------------------------------------------------------------------------ */

static bool is_mode(const struct mode_row *m, const char *name)
{
	return m->id && !strcmp(m->name, name);
}

static bool find_parts(struct requests *r, int waits, const char *name)
{
	bool found = false;

	for (uint32_t i = 0; i < BLOCK_MODES; i++)
		if (is_mode(&r->tables->modes[i], name))
			found = r->parts_of[waits][i] = true;
	return found;
}

/* A moment counts once: mode wall has all of it, else two modes have a part each. */
static void choose_modes(struct requests *r)
{
	if (find_parts(r, 0, "wall")) {
		find_parts(r, 1, "wall");
		return;
	}
	find_parts(r, 0, "cpu");
	if (!find_parts(r, 1, "offcpu"))
		find_parts(r, 1, "gvl");
}

int requests__init(struct requests *r, const struct recording_tables *tables, uint64_t begin, uint64_t period, const char *label)
{
	r->tables = tables;
	r->begin = r->end = begin;
	/* In that time all that are parked have been looked at. */
	r->unseen = 2 * (period < PERIOD_MAX ? period : PERIOD_MAX) + SETTLE;
	if (__builtin_add_overflow(begin, r->unseen, &r->settled))
		r->settled = UINT64_MAX;
	r->label = label;
	r->set_of = malloc(tables->stack_count * sizeof(*r->set_of));
	r->place_of = calloc(tables->stack_count, sizeof(*r->place_of));
	r->rests = calloc(tables->stack_count, sizeof(*r->rests));
	r->thread_times = calloc(tables->thread_count, sizeof(*r->thread_times));
	r->sorted = malloc(BLOCK_SAMPLES_MAX * sizeof(*r->sorted));
	if (!r->set_of || !r->place_of || !r->rests || !r->thread_times || !r->sorted)
		return -ENOMEM;
	memset(r->set_of, 0xff, tables->stack_count * sizeof(*r->set_of));
	choose_modes(r);
	return 0;
}

void requests__free(struct requests *r)
{
	free(r->list);
	free(r->lanes);
	free(r->thread_times);
	free(r->set_of);
	free(r->place_of);
	free(r->rests);
	free(r->sorted);
	map64__free(&r->lane_map);
	memset(r, 0, sizeof(*r));
}

/* -- labels ---------------------------------------------------------------------------------------- */

/* A set is a stack of frames.  With one label alone, its frame is what counts.  *above: so many are outside of that. */
static uint32_t find_set(const struct requests *r, uint32_t labels, uint32_t *above)
{
	const struct recording_tables *t = r->tables;
	uint32_t set = r->label ? SET_NONE : labels;
	bool unknown = false;

	*above = 0;
	for (uint32_t s = labels; s; s = t->stacks[s].parent) {
		uint32_t frame = t->stacks[s].frame;
		const struct frame *f = &t->frames[frame];

		*above += s != labels;
		if (f->known == KNOWN_EXPIRED || f->known == KNOWN_UNREAD)
			unknown |= !*f->key || !r->label || !strcmp(f->key, r->label);
		else if (r->label && *f->key && !strcmp(f->key, r->label)) {
			set = frame;
			*above = 0;
		}
	}
	return unknown ? SET_UNKNOWN : set;
}

/* Does a parked fiber rest there, for good?  It has the labels of the request that has made it, and is no part of that. */
static bool is_rest(struct requests *r, const struct recording_sample *s)
{
	const struct recording_tables *t = r->tables;
	uint8_t *known = &r->rests[s->stack];

	if (s->state != STATE_PARKED)
		return false;
	if (!*known) {
		*known = REST_NO;
		for (uint32_t i = s->stack; i && *known == REST_NO; i = t->stacks[i].parent)
			if (known_places__is_labelled_rest(&t->frames[t->stacks[i].frame]))
				*known = REST_YES;
	}
	return *known == REST_YES;
}

static uint32_t set_of(struct requests *r, uint32_t labels)
{
	if (!labels)
		return SET_NONE;
	if (r->set_of[labels] == SET_NEW) {
		uint32_t above;

		r->set_of[labels] = find_set(r, labels, &above);
		r->place_of[labels] = (uint8_t)label_marks__place(above);
	}
	return r->set_of[labels];
}

/*
 * Of the piece of work that the sample is of; its set was asked for before.  One label has one mark: others can come and go
 * outside of it, so it is not always at one place.  A whole set has all of them: it is another one if it was left,
 * whichever of its labels came into force again.
 */
static uint64_t marks_of(const struct requests *r, const struct recording_sample *s, uint32_t set)
{
	if (set == SET_NONE || set == SET_UNKNOWN)
		return 0;
	return r->label ? label_marks__of(s->marks, r->place_of[s->labels]) : s->marks;
}

/* Can both be of one piece of work?  A mark that is 0 is not known. */
static bool can_be_one(uint64_t a, uint64_t b)
{
	for (uint32_t i = 0; i < RB_DEBUG_EXT_LABEL_MARKS; i++) {
		uint64_t x = label_marks__of(a, i), y = label_marks__of(b, i);

		if (x && y && x != y)
			return false;
	}
	return true;
}

void requests__add_labels(const struct requests *r, uint32_t labels, struct text *out)
{
	const struct recording_tables *t = r->tables;
	const struct frame *list[64];
	uint32_t count = 0;

	for (uint32_t s = labels; s && count < 64; s = t->stacks[s].parent)
		list[count++] = &t->frames[t->stacks[s].frame];
	for (uint32_t i = count; i-- > 0;) {
		if (*list[i]->key && list[i]->known == KNOWN_NOT_SET)
			continue;
		text__adds(out, out->length ? " " : "");
		if (*list[i]->key)
			text__addf(out, "%s=", list[i]->key);
		if (list[i]->known == KNOWN)
			text__adds(out, list[i]->name);
		else
			frame__add_text(list[i], out);
	}
}

/* -- samples --------------------------------------------------------------------------------------- */

static enum request_part part_of_state(uint8_t state)
{
	switch (state) {
	case STATE_RUNNING: return PART_RUN;
	case STATE_RUNNABLE: return PART_RUNNABLE;
	case STATE_GVL: return PART_GVL;
	case STATE_IO: return PART_IO;
	case STATE_SLEEP: return PART_SLEEP;
	case STATE_PARKED: return PART_PARKED;
	case STATE_MUTEX:
	case STATE_QUEUE:
	case STATE_CONDVAR:
	case STATE_JOIN:
	case STATE_RACTOR: return PART_LOCK;
	default: return PART_OTHER;
	}
}

static void add_parts(const struct requests *r, struct request *q, const struct recording_sample *s)
{
	const struct recording_tables *t = r->tables;
	bool waits = s->state != STATE_RUNNING;
	enum request_part part = part_of_state(s->state);
	uint64_t sum;

	if (!r->parts_of[waits][s->mode])
		return;
	if (!waits && s->stack && t->frames[t->stacks[s->stack].frame].kind == FRAME_GC)
		part = PART_GC;
	/* Values that somebody made up. */
	if (!__builtin_add_overflow(q->parts[part], s->value, &sum) && sum <= INT64_MAX)
		q->parts[part] = sum;
}

static bool is_of_fibers(const struct requests *r, uint32_t thread)
{
	return r->tables->frames[r->tables->threads[thread].frame].role == ROLE_FIBERS;
}

/* NULL: out of memory, or too many. */
static struct request_lane *lane_of(struct requests *r, const struct recording_sample *s, bool make)
{
	uint32_t process = r->tables->threads[s->thread].process, number;
	/* The slot says in which fiber of the process; without one, it is the thread itself. */
	uint64_t key = s->fiber ? (uint64_t)process << 32 | s->fiber : (uint64_t)1 << 63 | s->thread;

	number = map64__get(&r->lane_map, key);
	if (number != MAP64_NONE)
		return &r->lanes[number];
	if (!make || array__reserve(&r->lanes, r->lane_count, 1, &r->lane_room, REQUEST_LANES_MAX, sizeof(*r->lanes)) ||
	    map64__add(&r->lane_map, key, r->lane_count))
		return NULL;
	r->lanes[r->lane_count] = (struct request_lane){ .open = NO_REQUEST };
	return &r->lanes[r->lane_count++];
}

/*
 * The samples of one moment of a thread, of which there are `count`: when their wait began.  It can have several parts, one
 * after the other, as a sleep and then the wait for a CPU: each of them has the time of its end.  Each mode has all parts.
 */
static uint64_t wait_begin(const struct requests *r, const struct recording_sample *s, uint32_t count)
{
	uint64_t waited[BLOCK_MODES] = { 0 }, longest = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t *sum = &waited[s[i].mode], part = s[i].time - recording_tables__wait_begin(r->tables, &s[i]);

		*sum = part < s[i].time - *sum ? *sum + part : s[i].time;
		longest = *sum > longest ? *sum : longest;
	}
	return s->time - longest;
}

static void close_request(struct requests *r, struct request_lane *l, uint64_t until)
{
	struct request *q;

	if (l->open == NO_REQUEST)
		return;
	q = &r->list[l->open];
	q->after = until > q->end ? until - q->end : 0;
	l->open = NO_REQUEST;
}

/* Those that are over and that nobody wants give their room.  0 or -E2BIG. */
static int drop_others(struct requests *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		const struct request *q = &r->list[i];
		struct request_lane *l = &r->lanes[q->lane];
		bool open = l->open == i;

		if (!open && !q->wanted)
			continue;
		if (open)
			l->open = n;
		r->list[n++] = *q;
	}
	/* All are looked at: that pays if many go. */
	if (n > REQUESTS_MAX / 16 * 15)
		return -E2BIG;
	r->dropped += r->count - n;
	r->count = n;
	return 0;
}

/* The last moment at which it is known that a request had not begun.  A new fiber can have waited, unseen, while its thread
 * was seen in others. */
static uint64_t not_begun(const struct requests *r, const struct request_lane *l, const struct recording_sample *s, uint64_t begin)
{
	uint64_t thread = r->thread_times[s->thread];

	if (l->last)
		return l->last;
	if (!s->fiber)
		return thread ? thread : r->begin;
	/* A sample of a parked fiber is of its last look, and the first one can have been so long before. */
	if (s->state == STATE_PARKED)
		begin -= s->value < begin ? s->value : begin;
	return begin > r->unseen && begin - r->unseen > r->begin ? begin - r->unseen : r->begin;
}

static int open_request(struct requests *r, struct request_lane *l, const struct recording_sample *s, uint64_t begin)
{
	uint64_t thread = r->thread_times[s->thread], since = not_begun(r, l, s, begin);
	struct request *q;

	if (r->count == REQUESTS_MAX && drop_others(r))
		return -E2BIG;
	if (array__reserve(&r->list, r->count, 1, &r->room, REQUESTS_MAX, sizeof(*r->list)))
		return -ENOMEM;
	q = &r->list[r->count];
	*q = (struct request){
		.begin = begin, .end = s->time > begin ? s->time : begin, .before = begin > since ? begin - since : 0,
		.thread = s->thread, .fiber = s->fiber, .labels = s->labels, .lane = (uint32_t)(l - r->lanes),
		.cut_begin = !l->last && ((!thread && !is_of_fibers(r, s->thread)) || (s->fiber && begin < r->settled)),
	};
	l->open = r->count++;
	return 0;
}

/* began: when the wait began that the sample is of, or a part of; else the time of the sample. */
static int take(struct requests *r, const struct recording_sample *s, uint64_t began)
{
	struct request_lane *l = lane_of(r, s, true);
	uint32_t set = is_rest(r, s) ? SET_NONE : set_of(r, s->labels);
	uint64_t marks = marks_of(r, s, set);
	uint64_t begin, floor;
	bool same;
	int err;

	if (!l)
		return r->lane_count == REQUEST_LANES_MAX ? -E2BIG : -ENOMEM;
	/* The slot has gone to a fiber of another thread. */
	if (s->fiber && !is_of_fibers(r, s->thread)) {
		if (l->thread && l->thread != s->thread)
			close_request(r, l, s->time);
		l->thread = s->thread;
	}
	if (set == SET_UNKNOWN)
		set = l->open != NO_REQUEST ? l->set : SET_NONE;
	/* Since then the fiber is certain to be as the sample says. */
	same = l->open != NO_REQUEST && set == l->set && can_be_one(marks, r->list[l->open].marks);
	/* One that is told late is of the request before: it ends nothing. */
	if (l->open != NO_REQUEST && set == l->set && !same && s->time < r->list[l->open].begin)
		return 0;
	floor = same ? l->floor : l->last;
	begin = began > floor ? began : floor;
	if (l->open != NO_REQUEST && !same)
		close_request(r, l, begin);
	if (l->open == NO_REQUEST && set) {
		err = open_request(r, l, s, begin);
		if (err)
			return err;
		l->set = set;
		l->floor = l->last;
	}
	if (l->open != NO_REQUEST) {
		struct request *q = &r->list[l->open];

		/* A timer can come in a thread that wakes, before the end of its wait is taken. */
		if (begin < q->begin) {
			q->before -= q->before < q->begin - begin ? q->before : q->begin - begin;
			q->begin = begin;
		}
		/* The two agree where both are known. */
		q->marks |= marks;
		q->samples++;
		q->wanted = q->wanted || !r->wants || r->wants(r->context, s);
		if (s->time > q->end)
			q->end = s->time;
		add_parts(r, q, s);
	}
	if (s->time > l->last)
		l->last = s->time;
	if (s->time > r->thread_times[s->thread])
		r->thread_times[s->thread] = s->time;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct recording_sample *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	/* Several samples of one moment are of one state: those of all modes. */
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->labels != y->labels)
		return x->labels < y->labels ? -1 : 1;
	return x->marks < y->marks ? -1 : x->marks > y->marks;
}

static bool is_one_moment(const struct recording_sample *a, const struct recording_sample *b)
{
	return a->time == b->time && a->thread == b->thread && a->labels == b->labels && a->marks == b->marks && a->fiber == b->fiber;
}

int requests__add(struct requests *r, const struct recording_sample *samples, uint32_t count)
{
	int err = 0;

	/* The parked fibers of a thread are apart from it in a block. */
	memcpy(r->sorted, samples, count * sizeof(*samples));
	qsort(r->sorted, count, sizeof(*r->sorted), by_time);
	for (uint32_t i = 0, n; i < count && !err; i += n) {
		const struct recording_sample *s = &r->sorted[i];
		uint64_t began;

		for (n = 1; i + n < count && is_one_moment(s, &r->sorted[i + n]);)
			n++;
		began = wait_begin(r, s, n);
		if (s->time > r->end)
			r->end = s->time;
		for (uint32_t j = 0; j < n && !err; j++)
			err = take(r, &s[j], began);
	}
	return err;
}

void requests__end(struct requests *r)
{
	for (uint32_t i = 0; i < r->lane_count; i++) {
		struct request_lane *l = &r->lanes[i];

		if (l->open != NO_REQUEST)
			r->list[l->open].cut_end = true;
		close_request(r, l, r->end);
	}
}

/* -- choice ---------------------------------------------------------------------------------------- */

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_length(const void *a, const void *b)
{
	const struct request *x = a, *y = b;
	int c = compare(request__length(y), request__length(x));

	if (!c)
		c = compare(x->begin, y->begin);
	return c ? c : compare(x->lane, y->lane);
}

static int by_begin(const void *a, const void *b)
{
	const struct request *x = a, *y = b;
	int c = compare(x->begin, y->begin);

	return c ? c : compare(x->lane, y->lane);
}

static int by_lane(const void *a, const void *b)
{
	const struct request *x = a, *y = b;
	int c = compare(x->lane, y->lane);

	if (!c)
		c = compare(x->begin, y->begin);
	return c ? c : compare(x->end, y->end);
}

void requests__choose(struct requests *r, uint64_t slower_than, uint32_t slowest)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->count; i++)
		if (r->list[i].wanted && request__length(&r->list[i]) >= slower_than)
			r->list[n++] = r->list[i];
	if (slowest && n > slowest) {
		qsort(r->list, n, sizeof(*r->list), by_length);
		n = slowest;
	}
	if (n)
		qsort(r->list, n, sizeof(*r->list), by_lane);
	r->chosen = n;
}

bool requests__has(struct requests *r, const struct recording_sample *s)
{
	const struct request_lane *l = lane_of(r, s, false);
	uint32_t lane = l ? (uint32_t)(l - r->lanes) : UINT32_MAX, low = 0, high = r->chosen, set = set_of(r, s->labels);
	uint64_t marks = marks_of(r, s, set);

	if (!l || !set || is_rest(r, s))
		return false;
	/* The last one of the lane that begins before. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct request *q = &r->list[middle];

		if (q->lane < lane || (q->lane == lane && q->begin <= s->time))
			low = middle + 1;
		else
			high = middle;
	}
	/* The end of one is where the next one begins, if nothing was seen between them. */
	for (uint32_t i = low; i-- > 0 && r->list[i].lane == lane && r->list[i].end >= s->time;)
		if (set == SET_UNKNOWN || (set == set_of(r, r->list[i].labels) && can_be_one(marks, r->list[i].marks)))
			return true;
	return false;
}

void requests__sort(struct requests *r, bool longest_first)
{
	if (r->chosen)
		qsort(r->list, r->chosen, sizeof(*r->list), longest_first ? by_length : by_begin);
}
