/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters: the memory of each process, its live slots, and how many of its threads wait for the GVL. */
#include "output/firefox.h"

#include <errno.h>
#include <stdlib.h>

/* Points of one counter, at most; the shortest step, ns. */
#define POINTS 2000u
#define STEP_MIN 10000000u

struct counter {
	const char *name, *label, *category, *description, *color, *graph, *unit;
	const char *at, *range;	/* what the tooltip calls the amount at a time, and the range; NULL: it has none */
	unsigned int weight;	/* the larger, the farther below */
	/* For a rate: what it counts, and how many digits the viewer has after the point. */
	bool (*counts)(const struct moment *m);
	unsigned int decimals;
};

static const struct counter memory = {
	.name = "resident memory", .label = "Memory", .category = "Memory", .description = "Resident memory of the process",
	.color = "orange", .graph = "line-accumulated", .unit = "bytes", .weight = 20,
	.at = "resident memory at this time", .range = "memory range in graph",
};

static const struct counter live_slots = {
	.name = "live slots", .label = "Live slots", .category = "Memory",
	.description = "Slots of objects that live, or have died and were not swept yet", .color = "purple",
	.graph = "line-accumulated", .unit = "", .weight = 30, .at = "live slots at this time", .range = "range in graph",
};

static bool waits_for_gvl(const struct moment *m)
{
	return m->state == STATE_GVL && m->amount && !m->idle;
}

static bool has_amount(const struct moment *m)
{
	return m->amount;
}

/* The viewer shows amounts by time: ms of waits in a ms are threads that wait. */
static const struct counter waiters = {
	.name = "waits for the GVL", .label = "waits for the GVL", .category = "GVL", .weight = 50,
	.description = "Threads of the process that wait for the GVL", .color = "red", .graph = "line-rate", .unit = "",
	.counts = waits_for_gvl, .decimals = 6,
};

/* Not of the category Memory: older versions would show it as memory that is in use. */
static const struct counter allocated = {
	.name = "allocated", .label = "allocated", .category = "Allocation", .weight = 40,
	.description = "Bytes that the process allocated in this time, by samples", .color = "green", .graph = "line-rate", .unit = "bytes",
	.counts = has_amount,
};

/* The place of the first thread of the process in the file; FIREFOX_NONE: it has none. */
static uint32_t thread_of(const struct firefox *x, const struct firefox_process *p)
{
	for (uint32_t i = 0; i < x->thread_count; i++)
		if (x->threads[i].of == p)
			return i;
	return FIREFOX_NONE;
}

/* key: under which the viewer has the label in other languages; NULL: it has none. */
static json_t *tooltip(const struct counter *c, const char *source, const char *label, const char *key)
{
	return json_pack("{s:s, s:s, s:{s:s}, s:s, s:s*}", "type", "value", "source", source, "format", "unit", *c->unit ? c->unit : "number",
			 "label", label, "labelKey", key);
}

static void add_display(struct firefox *x, const struct counter *c)
{
	struct json *j = &x->json;

	json__open(j, "display", '{');
	json__add(j, "graphType", json_string(c->graph));
	json__add(j, "unit", json_string(c->unit));
	json__add(j, "color", json_string(c->color));
	json__null(j, "markerSchemaLocation");
	json__number(j, "sortWeight", c->weight, 0);
	json__add(j, "label", json_string(c->label));
	json__open(j, "tooltipRows", '[');
	if (c->at) {
		json__add(j, NULL, tooltip(c, "accumulated", c->at, c == &memory ? "memory-relative" : NULL));
		json__add(j, NULL, tooltip(c, "count-range", c->range, c == &memory ? "memory-range" : NULL));
	}
	json__close(j, ']');
	json__close(j, '}');
}

static void open_counter(struct firefox *x, const struct counter *c, const struct firefox_process *p)
{
	struct json *j = &x->json;

	json__open(j, NULL, '{');
	json__add(j, "name", json_string(c->name));
	json__add(j, "category", json_string(c->category));
	json__add(j, "description", json_string(c->description));
	json__add(j, "pid", json_string(p->pid));
	json__number(j, "mainThreadIndex", thread_of(x, p), 0);
	/* From version 62 on the file says how it is drawn. */
	if (x->texts)
		add_display(x, c);
	else
		json__add(j, "color", json_string(c->color));
	json__open(j, "samples", '{');
}

static void close_counter(struct firefox *x, uint32_t length)
{
	json__number(&x->json, "length", length, 0);
	json__close(&x->json, '}');
	json__close(&x->json, '}');
}

/* -- memory -------------------------------------------------------------------------------------- */

/* The only process of that pid.  NULL: there is none, or there are several, as in recordings of several hosts. */
static const struct firefox_process *process_of(const struct firefox *x, uint32_t pid)
{
	const struct firefox_process *found = NULL;

	for (uint32_t i = 0; i < x->process_count; i++) {
		if (x->processes[i].number_of_pid != pid)
			continue;
		if (found)
			return NULL;
		found = &x->processes[i];
	}
	return found && thread_of(x, found) != FIREFOX_NONE ? found : NULL;
}

/* The first value is the whole, the others are how it has changed. */
static void add_figure(struct firefox *x, const struct counter *c, const struct firefox_process *p, const struct figure_point *points,
		       uint32_t count)
{
	struct json *j = &x->json;

	open_counter(x, c, p);
	json__open(j, "time", '[');
	for (uint32_t i = 0; i < count; i++)
		firefox__add_time(x, NULL, points[i].time);
	json__close(j, ']');
	json__open(j, "count", '[');
	for (uint32_t i = 0; i < count; i++)
		json__number(j, NULL, (int64_t)points[i].value - (i ? (int64_t)points[i - 1].value : 0), 0);
	json__close(j, ']');
	close_counter(x, count);
}

static void add_figures(struct firefox *x, const struct counter *c, const struct figure_points *points)
{
	for (uint32_t i = 0, end; i < points->count; i = end) {
		const struct firefox_process *p = process_of(x, points->list[i].pid);

		for (end = i + 1; end < points->count && points->list[end].pid == points->list[i].pid;)
			end++;
		if (p)
			add_figure(x, c, p, &points->list[i], end - i);
	}
}

/* -- rates ---------------------------------------------------------------------------------------- */

/* Spread what it amounts to over the steps that it lasted in. */
static void spread(const struct moment *m, uint64_t from, uint64_t step, double *points)
{
	uint64_t begin = m->time, end = m->lasts ? m->time + m->ns : m->time;

	if (end <= begin) {
		if (begin >= from && (begin - from) / step < POINTS)
			points[(begin - from) / step] += (double)m->amount;
		return;
	}
	for (uint64_t at = begin < from ? from : begin; at < end;) {
		uint64_t number = (at - from) / step, next = from + (number + 1) * step;

		if (number >= POINTS)
			return;
		next = next < end ? next : end;
		points[number] += (double)m->amount * (double)(next - at) / (double)(end - begin);
		at = next;
	}
}

static void add_rate(struct firefox *x, const struct counter *c, const struct firefox_process *p, uint64_t step, const double *points)
{
	const struct timeline *t = x->reports[0].timeline;
	uint64_t from = t->from, count = t->until > from ? (t->until - from + step - 1) / step : 0;
	struct json *j = &x->json;

	count = count < POINTS ? count : POINTS;
	open_counter(x, c, p);
	json__open(j, "time", '[');
	for (uint32_t i = 0; i <= count; i++)
		firefox__add_time(x, NULL, from + i * step);
	json__close(j, ']');
	/* Each count is the amount since the time before it. */
	json__open(j, "count", '[');
	json__number(j, NULL, 0, 0);
	for (uint32_t i = 0; i < count; i++)
		json__number(j, NULL, (int64_t)(points[i] + 0.5), c->decimals);
	json__close(j, ']');
	close_counter(x, (uint32_t)count + 1);
}

/* Did the thread have any of it? */
static bool add_thread(const struct firefox *x, const struct counter *c, uint32_t report, const struct firefox_process *p,
		       const struct firefox_thread *thread, uint64_t step, double *points)
{
	const struct timeline *t = x->reports[report].timeline;
	bool any = false;

	if (thread->of != p || thread->report != report)
		return false;
	for (uint32_t i = 0; i < thread->count; i++) {
		const struct moment *m = &t->moments[x->order[report][thread->first + i]];

		if (c->counts(m)) {
			spread(m, t->from, step, points);
			any = true;
		}
	}
	return any;
}

/* The counters of each process. */
static int add_rates(struct firefox *x, const struct counter *c, uint32_t report)
{
	const struct report *r = &x->reports[report];
	const struct timeline *t = r->timeline;
	uint64_t length = t->until > t->from ? t->until - t->from : 0, step = length / POINTS + 1;
	double *points = malloc(POINTS * sizeof(*points));

	if (!points)
		return -ENOMEM;
	step = step < STEP_MIN ? STEP_MIN : step;
	for (uint32_t i = 0; i < x->process_count; i++) {
		const struct firefox_process *p = &x->processes[i];
		bool any = false;

		for (uint32_t j = 0; j < POINTS; j++)
			points[j] = 0;
		for (uint32_t j = 0; j < x->thread_count; j++)
			any |= add_thread(x, c, report, p, &x->threads[j], step, points);
		for (uint32_t j = 0; j < x->hosted_count; j++)
			any |= add_thread(x, c, report, p, &x->hosted[j], step, points);
		if (any)
			add_rate(x, c, p, step, points);
	}
	free(points);
	return 0;
}

int firefox__add_counters(struct firefox *x)
{
	bool has_waits = false, has_bytes = false;
	int err = 0;

	json__open(&x->json, "counters", '[');
	add_figures(x, &memory, &x->reports[0].timeline->resident);
	/* Older versions show each counter of memory as bytes. */
	if (x->texts)
		add_figures(x, &live_slots, &x->reports[0].timeline->live_slots);
	for (uint32_t i = 0; i < x->count && !err; i++) {
		const struct report *r = &x->reports[i];

		if (!has_waits && r->metric.unit == UNIT_NS && r->meta.mode->sources & 1u << SOURCE_SCHED) {
			has_waits = true;
			err = add_rates(x, &waiters, i);
		} else if (!has_bytes && r->metric.unit == UNIT_BYTES) {
			has_bytes = true;
			err = add_rates(x, &allocated, i);
		}
	}
	json__close(&x->json, ']');
	return err;
}
