/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Markers: what lasted in a thread.  Pauses of the collector, requests and losses are the spans of the timeline; waits are
 * moments that have a begin and an end.
 */
#include "output/firefox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Shorter waits are no markers, but for those for the GVL: there are too many, and their samples show them. */
#define WAIT_MIN 1000000u

#define BOUND(state) (1u << (state))
/* Waits that somebody may suffer from. */
#define WAITS (BOUND(STATE_GVL) | BOUND(STATE_IO) | BOUND(STATE_MUTEX) | BOUND(STATE_QUEUE) | BOUND(STATE_CONDVAR) | \
	       BOUND(STATE_JOIN) | BOUND(STATE_PROCESS) | BOUND(STATE_RACTOR) | BOUND(STATE_NATIVE) | BOUND(STATE_FAULT))

struct marker {
	uint64_t begin;
	const struct span *span;	/* or ... */
	const struct moment *moment;
	const struct firefox_tie *tie;
	const struct thread_row *life;
	bool process;			/* or that of the process */
};

struct markers {
	struct marker *list;
	uint32_t count;
};

/* Names of types are those of the schemas. */
static const char *const span_types[SPAN_KINDS] = {
	[SPAN_GC] = "GC pause", [SPAN_REQUEST] = "request", [SPAN_LOST] = "lost samples", [SPAN_PAUSED] = "paused",
	[SPAN_TRIGGER] = "trigger",
};

#define TYPE_THREAD "thread"
#define TYPE_PROCESS "process"

/* -- which there are ------------------------------------------------------------------------------ */

static int kind_of(const struct marker *m)
{
	return m->span ? 0 : m->moment ? 1 : m->tie ? 2 : m->life ? 3 : 4;
}

static int by_begin(const void *a, const void *b)
{
	const struct marker *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->span && y->span)
		return x->span < y->span ? -1 : x->span > y->span;
	if (x->moment && y->moment)
		return x->moment < y->moment ? -1 : x->moment > y->moment;
	if (x->tie && y->tie)
		return x->tie < y->tie ? -1 : x->tie > y->tie;
	return kind_of(x) - kind_of(y);
}

/* It is the first mode that has all of them. */
uint32_t firefox__wait_report(const struct firefox *x)
{
	for (uint32_t i = 0; i < x->count; i++) {
		const struct mode *m = x->reports[i].meta.mode;

		if (m->has_states && (!m->states || m->states & BOUND(STATE_GVL)))
			return i;
	}
	return FIREFOX_NONE;
}

bool firefox__is_marked(const struct moment *m)
{
	return m->lasts && m->amount && !m->idle && m->state < STATE_MAX && WAITS & BOUND(m->state) &&
	       (m->state == STATE_GVL || m->ns >= WAIT_MIN);
}

static uint32_t owner_of(const struct firefox *x, const struct span *s)
{
	uint32_t number;

	/* These belong to no certain thread: show them in the first one. */
	if (s->kind == SPAN_LOST || s->kind == SPAN_TRIGGER)
		return 0;
	if (s->kind == SPAN_PAUSED || s->report >= x->count || s->node >= x->reports[s->report].node_count)
		return FIREFOX_NONE;
	number = x->thread_of[s->report][s->node];
	return number == FIREFOX_NONE ? FIREFOX_NONE : x->ranks[number];
}

int firefox__find_spans(struct firefox *x)
{
	const struct timeline *t = x->reports[0].timeline;
	uint32_t next = 0;

	x->spans = malloc((t->span_count + 1u) * sizeof(*x->spans));
	if (!x->spans)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->span_count; i++) {
		uint32_t owner = owner_of(x, &t->spans[i]);

		if (owner < x->thread_count)
			x->threads[owner].span_count++;
	}
	for (uint32_t i = 0; i < x->thread_count; i++) {
		x->threads[i].first_span = next;
		next += x->threads[i].span_count;
		x->threads[i].span_count = 0;
	}
	for (uint32_t i = 0; i < t->span_count; i++) {
		uint32_t owner = owner_of(x, &t->spans[i]);

		if (owner < x->thread_count)
			x->spans[x->threads[owner].first_span + x->threads[owner].span_count++] = &t->spans[i];
	}
	return 0;
}

static int find(struct firefox *x, const struct firefox_thread *t, struct markers *m)
{
	const struct timeline *line = x->reports[t->report].timeline;
	uint32_t moments = firefox__wait_report(x) == t->report ? t->count : 0;
	uint64_t begin = line->begin;

	m->list = calloc((size_t)t->span_count + moments + t->tie_count + 2, sizeof(*m->list));
	if (!m->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->span_count; i++)
		m->list[m->count++] = (struct marker){ x->spans[t->first_span + i]->begin, .span = x->spans[t->first_span + i] };
	for (uint32_t i = 0; i < moments; i++) {
		const struct moment *moment = &line->moments[x->order[t->report][t->first + i]];

		if (firefox__is_marked(moment))
			m->list[m->count++] = (struct marker){ moment->time, .moment = moment };
	}
	for (uint32_t i = 0; i < t->tie_count; i++) {
		const struct firefox_tie *tie = &x->ties[x->tie_order[t->first_tie + i]];

		m->list[m->count++] = (struct marker){ tie->begin, .tie = tie };
	}
	if (t->life && t->shows_life)
		m->list[m->count++] = (struct marker){ t->life->account.first > begin ? t->life->account.first - begin : 0,
						       .life = t->life };
	if (t->of->row && t->shows_process)
		m->list[m->count++] = (struct marker){ t->of->start, .process = true };
	qsort(m->list, m->count, sizeof(*m->list), by_begin);
	return 0;
}

/* -- one of them ---------------------------------------------------------------------------------- */

static uint64_t end_of(const struct firefox *x, const struct firefox_thread *t, const struct marker *m)
{
	uint64_t begin = x->reports[0].timeline->begin;

	if (m->span)
		return m->span->end;
	if (m->moment)
		return m->moment->time + m->moment->ns;
	if (m->tie)
		return m->tie->end;
	if (m->process)
		return t->of->end;
	return m->life->ended && m->life->account.until > begin ? m->life->account.until - begin : TIMELINE_NEVER;
}

void firefox__add_string(struct firefox *x, const char *key, const char *text)
{
	uint32_t number = strings__number(&x->strings, text, strlen(text));

	if (number == MAP64_NONE)
		x->json.err = x->json.err ? x->json.err : -ENOMEM;
	json__number(&x->json, key, number, 0);
}

static void add_type(struct firefox *x, const char *type)
{
	json__add(&x->json, "type", json_string(type));
}

static void add_cause(struct firefox *x, uint64_t time, uint32_t stack)
{
	if (stack == FIREFOX_NONE)
		return;
	json__open(&x->json, "cause", '{');
	json__number(&x->json, "stack", stack, 0);
	firefox__add_time(x, "time", time);
	json__close(&x->json, '}');
}

static void add_wait(struct firefox *x, const struct firefox_thread *t, const struct moment *m)
{
	struct firefox_wait w;

	firefox__read_wait(&x->reports[t->report], m, &w);
	firefox__add_wait(x, m, &w);
	firefox__add_flows(x, (uint32_t)(m - x->reports[t->report].timeline->moments));
	add_cause(x, m->time, x->stack_of[t->report][m->node]);
}

static void add_span(struct firefox *x, const struct span *s)
{
	add_type(x, span_types[s->kind]);
	if (s->kind == SPAN_REQUEST) {
		json__add(&x->json, "labels", json_string(s->text));
		json__add(&x->json, "whole", json_string(s->cut_begin || s->cut_end ? "no" : "yes"));
		firefox__add_time(x, "took", s->end - s->begin);
	} else {
		json__add(&x->json, "reason", json_string(s->text));
	}
	if (s->kind == SPAN_GC)
		json__add(&x->json, "marked", json_string(s->major ? "all objects" : "young objects"));
	else if (s->kind != SPAN_TRIGGER)
		json__number(&x->json, "samples", s->samples > INT64_MAX ? INT64_MAX : (int64_t)s->samples, 0);
	for (uint32_t i = 0; i < SPAN_PARTS_MAX && s->parts[i].name; i++)
		firefox__add_time(x, s->parts[i].name, s->parts[i].ns);
}

static void add_data(struct firefox *x, const struct firefox_thread *t, const struct marker *m)
{
	json__open(&x->json, NULL, '{');
	if (m->span) {
		add_span(x, m->span);
	} else if (m->moment) {
		add_wait(x, t, m->moment);
	} else if (m->tie) {
		firefox__add_tie(x, m->tie);
	} else if (m->life) {
		add_type(x, TYPE_THREAD);
		json__number(&x->json, "tid", m->life->account.tid, 0);
		for (int i = 0; i < STATE_MAX; i++)
			if (m->life->account.time[i])
				firefox__add_time(x, state_names[i], m->life->account.time[i]);
	} else {
		add_type(x, TYPE_PROCESS);
		json__add(&x->json, "pid", json_string(t->of->pid));
		json__add(&x->json, "command", json_string(t->of->row->command));
		json__add(&x->json, "ruby", json_string(t->of->row->ruby_version));
		json__add(&x->json, "ended", json_string(t->of->row->ended));
		firefox__add_time(x, "cpu", t->of->row->cpu_time);
	}
	json__close(&x->json, '}');
}

static const char *name_of(const struct firefox *x, const struct firefox_thread *t, const struct marker *m)
{
	struct firefox_wait w;

	if (m->span)
		return span_types[m->span->kind];
	if (m->moment) {
		firefox__read_wait(&x->reports[t->report], m->moment, &w);
		return firefox__wait_name(m->moment, &w);
	}
	if (m->tie)
		return firefox__tie_name(x, m->tie);
	return m->life ? TYPE_THREAD : TYPE_PROCESS;
}

static uint32_t category_of(const struct firefox *x, const struct marker *m)
{
	const struct moment *waits = m->tie ? &x->reports[x->threads[m->tie->waiter].report].timeline->moments[m->tie->moment] : m->moment;

	if (m->span)
		return m->span->kind == SPAN_GC ? FIREFOX_KIND + FRAME_GC : FIREFOX_OTHER;
	return waits ? FIREFOX_STATE + waits->state : FIREFOX_OTHER;
}

/* -- the table of a thread ------------------------------------------------------------------------ */

#define COLUMN(key, add) do { \
	json__open(j, key, '['); \
	for (uint32_t i = 0; i < markers.count; i++) \
		add; \
	json__close(j, ']'); \
} while (0)

/* An instant, an interval, or one that was not over. */
static int phase_of(uint64_t begin, uint64_t end)
{
	return end == TIMELINE_NEVER ? 2 : end > begin ? 1 : 0;
}

static void add_end(struct firefox *x, uint64_t begin, uint64_t end)
{
	if (phase_of(begin, end) == 1)
		firefox__add_time(x, NULL, end);
	else
		json__null(&x->json, NULL);
}

int firefox__add_markers(struct firefox *x, const struct firefox_thread *t)
{
	struct json *j = &x->json;
	struct markers markers = { 0 };
	int err = find(x, t, &markers);

	if (err)
		return err;
	json__open(j, "markers", '{');
	COLUMN("data", add_data(x, t, &markers.list[i]));
	COLUMN("name", firefox__add_string(x, NULL, name_of(x, t, &markers.list[i])));
	COLUMN("startTime", firefox__add_time(x, NULL, markers.list[i].begin));
	COLUMN("endTime", add_end(x, markers.list[i].begin, end_of(x, t, &markers.list[i])));
	COLUMN("phase", json__number(j, NULL, phase_of(markers.list[i].begin, end_of(x, t, &markers.list[i])), 0));
	COLUMN("category", json__number(j, NULL, category_of(x, &markers.list[i]), 0));
	json__number(j, "length", markers.count, 0);
	json__close(j, '}');
	free(markers.list);
	return 0;
}

void firefox__add_paused(struct firefox *x)
{
	const struct timeline *t = x->reports[0].timeline;

	json__open(&x->json, "pausedRanges", '[');
	for (uint32_t i = 0; i < t->span_count; i++) {
		if (t->spans[i].kind != SPAN_PAUSED)
			continue;
		json__open(&x->json, NULL, '{');
		firefox__add_time(x, "startTime", t->spans[i].begin);
		firefox__add_time(x, "endTime", t->spans[i].end);
		json__add(&x->json, "reason", json_string("profiler-paused"));
		json__close(&x->json, '}');
	}
	json__close(&x->json, ']');
}

/* -- what the viewer has to know of them ---------------------------------------------------------- */

void firefox__add_field(struct firefox *x, const char *key, const char *format)
{
	json__add(&x->json, NULL, json_pack("{s:s, s:s, s:s}", "key", key, "label", key, "format", format));
}

void firefox__open_schema(struct firefox *x, const char *name, const char *label, const char *const *places)
{
	struct json *j = &x->json;

	json__open(j, NULL, '{');
	json__add(j, "name", json_string(name));
	json__add(j, "tooltipLabel", json_string(label));
	json__add(j, "tableLabel", json_string(label));
	json__add(j, "chartLabel", json_string(label));
	json__open(j, "display", '[');
	for (; *places; places++)
		json__add(j, NULL, json_string(*places));
	json__close(j, ']');
	json__open(j, "fields", '[');
}

void firefox__close_schema(struct firefox *x)
{
	json__close(&x->json, ']');
	json__close(&x->json, '}');
}

/* Parts of the spans of a kind. */
static void add_part_fields(struct firefox *x, enum span_kind kind)
{
	const struct timeline *t = x->reports[0].timeline;

	for (uint32_t i = 0; i < t->span_count; i++) {
		if (t->spans[i].kind != kind)
			continue;
		for (uint32_t k = 0; k < SPAN_PARTS_MAX && t->spans[i].parts[k].name; k++)
			firefox__add_field(x, t->spans[i].parts[k].name, "duration");
		return;
	}
}

/* Where they are shown.  The timeline is above the chart. */
static const char *const in_chart[] = { "marker-chart", "marker-table", NULL };
static const char *const in_timeline[] = { "marker-chart", "marker-table", "timeline-overview", NULL };

static void add_request_schema(struct firefox *x)
{
	firefox__open_schema(x, span_types[SPAN_REQUEST], "{marker.data.labels}", in_timeline);
	firefox__add_field(x, "labels", "string");
	firefox__add_field(x, "took", "duration");
	firefox__add_field(x, "whole", "string");
	firefox__add_field(x, "samples", "integer");
	add_part_fields(x, SPAN_REQUEST);
	json__close(&x->json, ']');
	/* Bars of how long they took, in a track of their own. */
	json__open(&x->json, "graphs", '[');
	json__add(&x->json, NULL, json_pack("{s:s, s:s, s:s}", "key", "took", "type", "bar", "color", "blue"));
	firefox__close_schema(x);
}

void firefox__add_schemas(struct firefox *x)
{
	json__open(&x->json, "markerSchema", '[');
	firefox__open_schema(x, span_types[SPAN_GC], "{marker.data.marked}: {marker.data.reason}", in_timeline);
	firefox__add_field(x, "marked", "string");
	firefox__add_field(x, "reason", "string");
	add_part_fields(x, SPAN_GC);
	firefox__close_schema(x);
	add_request_schema(x);
	firefox__open_schema(x, span_types[SPAN_LOST], "{marker.data.samples}: {marker.data.reason}", in_timeline);
	firefox__add_field(x, "samples", "integer");
	firefox__add_field(x, "reason", "string");
	firefox__close_schema(x);
	firefox__open_schema(x, span_types[SPAN_TRIGGER], "{marker.data.reason}", in_timeline);
	firefox__add_field(x, "reason", "string");
	firefox__close_schema(x);
	firefox__add_wait_schemas(x);
	firefox__add_tie_schema(x);
	firefox__open_schema(x, TYPE_THREAD, "{marker.data.tid}", in_chart);
	firefox__add_field(x, "tid", "integer");
	for (int i = 0; i < STATE_MAX; i++)
		firefox__add_field(x, state_names[i], "duration");
	firefox__close_schema(x);
	firefox__open_schema(x, TYPE_PROCESS, "{marker.data.command}", in_chart);
	firefox__add_field(x, "pid", "string");
	firefox__add_field(x, "command", "string");
	firefox__add_field(x, "ruby", "string");
	firefox__add_field(x, "ended", "string");
	firefox__add_field(x, "cpu", "duration");
	firefox__close_schema(x);
	json__close(&x->json, ']');
}
