/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flows: a wait is tied to the thread that held what it was for, that was joined, or that ended it, by a marker in that
 * thread.  Both have one id.  A flow is made only if the file has exactly that thread.
 */
#include "output/firefox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/wait_text.h"
#include "source/mode.h"

/* Each detail has as many as there are moments. */
#define TIES_MAX (3u * TIMELINE_MOMENTS_MAX)
/* Moments that one ended wait for the GVL can be shared out to. */
#define SHARES_SEEN 64u

#define TYPE_TIE "wait of another thread"

static const struct {
	enum firefox_detail detail;
	const char *field;	/* of the wait */
} flows[] = {
	{ FIREFOX_HOLDER_THREAD, "holder flow" }, { FIREFOX_JOINED, "joined flow" }, { FIREFOX_WAKER, "waker flow" },
};

/* -- which thread it is ---------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t process, uint32_t tid, uint32_t report, uint8_t role)
{
	return hash__mix(hash__mix((uint64_t)process << 32 | tid) ^ ((uint64_t)report << 8 | role));
}

/* Threads by tid, within a process and a mode.  Before its first Ruby code a thread is one without Ruby, of the same tid. */
static int find_tids(struct firefox *x)
{
	int err = 0;

	x->same_tid = calloc(x->thread_count + 1u, sizeof(*x->same_tid));
	if (!x->same_tid)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->thread_count && !err; i++) {
		const struct firefox_thread *t = &x->threads[i];
		const struct frame *f = &x->reports[t->report].labels[t->label].frame;
		uint64_t key = key_of(t->of->number, f->tid, t->report, f->role);
		uint32_t first = map64__get(&x->tid_map, key);

		if (!f->tid || (f->role != ROLE_RUBY && f->role != ROLE_NATIVE))
			continue;
		if (first == MAP64_NONE)
			err = map64__add(&x->tid_map, key, i);
		else
			x->same_tid[first] = true;
	}
	return err;
}

/* Did it live at that time?  If that is not known, it has to have the name, too. */
static bool is_it(const struct firefox *x, const struct firefox_thread *t, const struct frame *detail, uint64_t time)
{
	uint64_t begin = x->reports[0].timeline->begin;

	if (!t->life)
		return wait_text__names(detail, &x->reports[t->report].labels[t->label].frame);
	return begin + time >= t->life->account.first && (!t->life->ended || begin + time <= t->life->account.until);
}

/* The thread that a detail of a wait names: in the mode that shows the wait, or in the first one that has it. */
static uint32_t thread_of(const struct firefox *x, const struct firefox_thread *waiter, const struct frame *detail, uint64_t time)
{
	for (uint32_t i = 0; i <= x->count; i++) {
		uint32_t report = i ? i - 1 : waiter->report;
		uint32_t rank = map64__get(&x->tid_map, key_of(waiter->of->number, detail->tid, report, detail->role));

		if (rank == MAP64_NONE)
			continue;
		return x->same_tid[rank] || &x->threads[rank] == waiter || !is_it(x, &x->threads[rank], detail, time) ? FIREFOX_NONE : rank;
	}
	return FIREFOX_NONE;
}

/* Shares of a wait for the GVL follow each other: only the last one ends when the wait does. */
static bool ends_wait(const struct firefox *x, const struct firefox_thread *t, uint32_t place)
{
	const struct moment *moments = x->reports[t->report].timeline->moments;
	const uint32_t *order = &x->order[t->report][t->first];
	const struct moment *m = &moments[order[place]];

	for (uint32_t i = place + 1; i < t->count; i++) {
		const struct moment *next = &moments[order[i]];

		if (next->time > m->time + m->ns)
			return true;
		if (next->state == m->state && next->time == m->time + m->ns)
			return false;
		if (i - place == SHARES_SEEN)
			return false;
	}
	return true;
}

/* -- all of them ----------------------------------------------------------------------------------- */

/* When the other side has to do with it: the whole time, when it began, or when it ended. */
static void set_time(const struct moment *m, struct firefox_tie *tie)
{
	uint64_t end = m->time + m->ns;

	tie->begin = tie->detail == FIREFOX_WAKER ? end : m->time;
	/* For a lock it is known who had it when the wait began. */
	tie->end = tie->detail == FIREFOX_HOLDER_THREAD && m->state != STATE_GVL ? m->time : end;
}

static int add_tie(struct firefox *x, const struct firefox_tie *tie)
{
	if (array__reserve(&x->ties, x->tie_count, 1, &x->tie_room, TIES_MAX, sizeof(*tie)))
		return -ENOMEM;
	x->ties[x->tie_count++] = *tie;
	return 0;
}

static int find_ties_of(struct firefox *x, uint32_t waiter, uint32_t place)
{
	const struct firefox_thread *t = &x->threads[waiter];
	uint32_t moment = x->order[t->report][t->first + place];
	const struct moment *m = &x->reports[t->report].timeline->moments[moment];
	struct firefox_wait w;
	int err = 0;

	if (!firefox__is_marked(m))
		return 0;
	firefox__read_wait(&x->reports[t->report], m, &w);
	for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]) && !err; i++) {
		const struct frame *detail = w.details[flows[i].detail];
		struct firefox_tie tie = { .detail = flows[i].detail, .moment = moment, .waiter = waiter };

		if (!detail || !detail->tid || (tie.detail == FIREFOX_WAKER && !ends_wait(x, t, place)))
			continue;
		set_time(m, &tie);
		tie.thread = thread_of(x, t, detail, tie.begin);
		if (tie.thread != FIREFOX_NONE)
			err = add_tie(x, &tie);
	}
	return err;
}

static int by_moment(const void *a, const void *b)
{
	const struct firefox_tie *x = a, *y = b;

	if (x->moment != y->moment)
		return x->moment < y->moment ? -1 : 1;
	return x->detail < y->detail ? -1 : x->detail > y->detail;
}

/* The ties of each thread that has to do with waits of others. */
static int find_others(struct firefox *x)
{
	uint32_t next = 0;

	x->tie_order = malloc((x->tie_count + 1u) * sizeof(*x->tie_order));
	if (!x->tie_order)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->tie_count; i++)
		x->threads[x->ties[i].thread].tie_count++;
	for (uint32_t i = 0; i < x->thread_count; i++) {
		x->threads[i].first_tie = next;
		next += x->threads[i].tie_count;
		x->threads[i].tie_count = 0;
	}
	for (uint32_t i = 0; i < x->tie_count; i++) {
		struct firefox_thread *t = &x->threads[x->ties[i].thread];

		x->tie_order[t->first_tie + t->tie_count++] = i;
	}
	return 0;
}

int firefox__find_ties(struct firefox *x)
{
	uint32_t report = firefox__wait_report(x);
	int err = report == FIREFOX_NONE ? 0 : find_tids(x);

	for (uint32_t i = 0; i < x->thread_count && report != FIREFOX_NONE; i++)
		for (uint32_t place = 0; x->threads[i].report == report && place < x->threads[i].count && !err; place++)
			err = find_ties_of(x, i, place);
	if (!err && x->tie_count)
		qsort(x->ties, x->tie_count, sizeof(*x->ties), by_moment);
	return err ? err : find_others(x);
}

/* -- as JSON --------------------------------------------------------------------------------------- */

/* The viewer has flows as strings of hex digits. */
static void add_flow(struct firefox *x, const char *key, uint32_t tie)
{
	char id[16];

	snprintf(id, sizeof(id), "%08" PRIx32, tie + 1);
	firefox__add_string(x, key, id);
}

void firefox__add_flows(struct firefox *x, uint32_t moment)
{
	struct firefox_tie wanted = { .moment = moment };

	for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]) && x->tie_count; i++) {
		const struct firefox_tie *tie;

		wanted.detail = flows[i].detail;
		tie = bsearch(&wanted, x->ties, x->tie_count, sizeof(*x->ties), by_moment);
		if (tie)
			add_flow(x, flows[i].field, (uint32_t)(tie - x->ties));
	}
}

void firefox__add_flow_fields(struct firefox *x, bool waker_only)
{
	for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]); i++)
		if (!waker_only || flows[i].detail == FIREFOX_WAKER)
			firefox__add_field(x, flows[i].field, "flow-id");
}

const char *firefox__tie_name(const struct firefox *x, const struct firefox_tie *tie)
{
	const struct firefox_thread *t = &x->threads[tie->waiter];

	if (tie->detail == FIREFOX_WAKER)
		return "ended a wait";
	if (tie->detail == FIREFOX_JOINED)
		return "was joined";
	return x->reports[t->report].timeline->moments[tie->moment].state == STATE_GVL ? "held the GVL" : "held a lock";
}

/* "worker 1 (77)" */
static void add_waiter(struct firefox *x, const struct firefox_thread *t)
{
	const struct frame *f = &x->reports[t->report].labels[t->label].frame;
	struct text text = { 0 };

	frame__add_numbered(f, &text);
	json__add(&x->json, "thread", text.failed ? NULL : json_string(text__string(&text)));
	text__free(&text);
}

void firefox__add_tie(struct firefox *x, const struct firefox_tie *tie)
{
	const struct firefox_thread *t = &x->threads[tie->waiter];
	const struct moment *m = &x->reports[t->report].timeline->moments[tie->moment];
	const struct frame *detail;
	struct firefox_wait w;

	firefox__read_wait(&x->reports[t->report], m, &w);
	/* For a holder it says where that was. */
	detail = w.details[tie->detail == FIREFOX_HOLDER_THREAD ? FIREFOX_HOLDER : tie->detail];
	json__add(&x->json, "type", json_string(TYPE_TIE));
	add_waiter(x, t);
	json__add(&x->json, "state", json_string(state_names[m->state]));
	firefox__add_time(x, "waited", m->ns);
	if (detail)
		json__add(&x->json, "detail", json_string(detail->name));
	add_flow(x, "flow", (uint32_t)(tie - x->ties));
}

void firefox__add_tie_schema(struct firefox *x)
{
	static const char *const places[] = { "marker-chart", "marker-table", NULL };

	firefox__open_schema(x, TYPE_TIE, "{marker.data.thread}: {marker.data.state}", places);
	firefox__add_field(x, "thread", "string");
	firefox__add_field(x, "state", "string");
	firefox__add_field(x, "waited", "duration");
	firefox__add_field(x, "detail", "string");
	firefox__add_field(x, "flow", "terminating-flow-id");
	firefox__close_schema(x);
}
