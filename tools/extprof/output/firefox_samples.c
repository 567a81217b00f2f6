/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The samples of a thread.  The viewer shows a sample from its time until that of the next one.  So where nothing is
 * known of a thread, or it is idle and that is not shown, it gets a sample without a stack, which counts for nothing.
 */
#include "output/firefox.h"

#include <errno.h>
#include <stdlib.h>

/* -- samples -------------------------------------------------------------------------------------- */

struct row {
	uint64_t time, amount, cpu;
	uint32_t stack;		/* FIREFOX_NONE: nothing is known, or shown */
};

struct rows {
	struct row *list;
	uint32_t count;
	uint64_t until;		/* what the last one shows lasts until then */
	uint64_t period;	/* ns; 0: nothing was sampled that runs */
};

static void add_row(struct rows *rows, const struct row *row)
{
	rows->list[rows->count] = *row;
	/* Two sources can tell of the same time. */
	if (rows->count && row->time < rows->list[rows->count - 1].time)
		rows->list[rows->count].time = rows->list[rows->count - 1].time;
	rows->count++;
}

static void add_gap(struct rows *rows, uint64_t time)
{
	add_row(rows, &(struct row){ .time = time, .stack = FIREFOX_NONE });
}

/* The stack that is shown.  0 or -ENOMEM. */
static int stack_of(struct firefox *x, const struct firefox_thread *t, const struct moment *m, uint32_t *stack)
{
	*stack = FIREFOX_NONE;
	if (m->idle && !x->reports[t->report].idle.shown)
		return 0;
	*stack = m->idle ? firefox__idle_stack(x, t->report, m->node) : x->stack_of[t->report][m->node];
	/* A sample that has no frame but its thread has to count. */
	if (*stack == FIREFOX_NONE)
		*stack = firefox__label_stack(x, t->report, t->label);
	return *stack == FIREFOX_NONE ? -ENOMEM : 0;
}

static int add_moment(struct firefox *x, const struct firefox_thread *t, const struct moment *m, struct rows *rows)
{
	bool runs = rows->period && m->state == STATE_RUNNING && !m->lasts;
	/* A thread that a timer finds running has run for a period. */
	uint64_t begin = runs && m->ns < m->time ? m->time - m->ns : m->time, slack = rows->period / 2;
	struct row row = { .time = m->time, .amount = m->amount, .cpu = runs ? m->ns : 0 };
	const struct row *last = rows->count ? &rows->list[rows->count - 1] : NULL;
	int err = stack_of(x, t, m, &row.stack);

	if (err)
		return err;
	if (last && last->stack != FIREFOX_NONE && m->time > rows->until + slack)
		add_gap(rows, rows->until);
	last = rows->count ? &rows->list[rows->count - 1] : NULL;
	/* How busy a thread was is told by what it ran since the sample before. */
	if (runs && (!last || begin > last->time + slack))
		add_gap(rows, begin);
	add_row(rows, &row);
	/* A moment without a begin of its own is shown for as long as it stands for. */
	rows->until = m->time + m->ns;
	return 0;
}

#define COLUMN(key, add) do { \
	json__open(&x->json, key, '['); \
	for (uint32_t i = 0; i < rows->count; i++) \
		add; \
	json__close(&x->json, ']'); \
} while (0)

static void write_rows(struct firefox *x, const struct rows *rows, enum unit unit)
{
	static const char *const types[] = { [UNIT_COUNT] = "samples", [UNIT_NS] = "tracing-ms", [UNIT_BYTES] = "bytes" };
	struct json *j = &x->json;

	json__open(j, "samples", '{');
	json__open(j, "stack", '[');
	for (uint32_t i = 0; i < rows->count; i++) {
		if (rows->list[i].stack == FIREFOX_NONE)
			json__null(j, NULL);
		else
			json__number(j, NULL, rows->list[i].stack, 0);
	}
	json__close(j, ']');
	COLUMN("time", firefox__add_time(x, NULL, rows->list[i].time));
	COLUMN("weight", json__number(j, NULL, (int64_t)rows->list[i].amount, unit == UNIT_NS ? 6 : 0));
	json__add(j, "weightType", json_string(types[unit]));
	if (rows->period)
		COLUMN("threadCPUDelta", json__number(j, NULL, (int64_t)rows->list[i].cpu, 0));
	json__number(j, "length", rows->count, 0);
	json__close(j, '}');
}

static int add_moments(struct firefox *x, const struct firefox_thread *t)
{
	const struct report *r = &x->reports[t->report];
	struct rows rows = { .period = r->meta.mode->sources & 1u << SOURCE_CPU ? r->meta.period : 0 };
	int err = 0;

	/* A sample, a gap before it, and one before that. */
	rows.list = malloc((3 * (size_t)t->count + 2) * sizeof(*rows.list));
	if (!rows.list)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count && !err; i++)
		err = add_moment(x, t, &r->timeline->moments[x->order[t->report][t->first + i]], &rows);
	if (!err && rows.count && rows.list[rows.count - 1].stack != FIREFOX_NONE)
		add_gap(&rows, rows.until);
	if (!err)
		write_rows(x, &rows, r->metric.unit);
	free(rows.list);
	return err;
}

/* -- allocations ---------------------------------------------------------------------------------- */

/* The class is the innermost frame; or it is other memory. */
static const char *class_of(const struct report *r, const struct moment *m)
{
	const struct report_label *l;

	if (!m->node)
		return "";
	l = &r->labels[r->nodes[m->node].label];
	return l->frame.kind == FRAME_CLASS ? l->name : "";
}

static void add_alloc_stack(struct firefox *x, const struct firefox_thread *t, const struct moment *m)
{
	uint32_t stack;

	if (stack_of(x, t, m, &stack))
		x->json.err = x->json.err ? x->json.err : -ENOMEM;
	json__number(&x->json, NULL, stack, 0);
}

#define ALLOC_COLUMN(key, add) do { \
	json__open(j, key, '['); \
	for (uint32_t i = 0; i < t->count; i++) { \
		const struct moment *m = &moments[x->order[t->report][t->first + i]]; \
		add; \
	} \
	json__close(j, ']'); \
} while (0)

static void add_allocs(struct firefox *x, const struct firefox_thread *t)
{
	const struct report *r = &x->reports[t->report];
	const struct moment *moments = r->timeline->moments;
	struct json *j = &x->json;

	json__open(j, "jsAllocations", '{');
	ALLOC_COLUMN("time", firefox__add_time(x, NULL, m->time));
	ALLOC_COLUMN("className", json__add(j, NULL, json_string(class_of(r, m))));
	ALLOC_COLUMN("typeName", ((void)m, json__add(j, NULL, json_string("object"))));
	ALLOC_COLUMN("coarseType", ((void)m, json__add(j, NULL, json_string("object"))));
	ALLOC_COLUMN("weight", json__number(j, NULL, (int64_t)m->amount, 0));
	json__add(j, "weightType", json_string("bytes"));
	ALLOC_COLUMN("inNursery", ((void)m, json__add(j, NULL, json_false())));
	ALLOC_COLUMN("stack", add_alloc_stack(x, t, m));
	json__number(j, "length", t->count, 0);
	json__close(j, '}');
}

int firefox__add_samples(struct firefox *x, const struct firefox_thread *t)
{
	int err = add_moments(x, t);

	if (t->allocs != FIREFOX_NONE)
		add_allocs(x, &x->hosted[t->allocs]);
	else if (firefox__is_allocs(&x->reports[t->report]))
		add_allocs(x, t);
	return err;
}
