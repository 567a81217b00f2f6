/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/state_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "profile/unit.h"
#include "source/mode.h"

/* Times of threads are compared in this unit, ns. */
#define REST_UNIT 50000000u

#define COLUMN 11u
#define NAME_LEAST 20u
/* Names are whole before states get columns of their own: up to that part of the width, and what five numbers leave of 80. */
#define NAME_PART 4u
#define NAME_WHOLE 23u

struct table {
	struct text *out;
	bool shown[STATE_MAX];	/* the states that any thread was in, and that have a column */
	bool other[STATE_MAX];	/* those that have one together, for want of room */
	bool has_other;
	unsigned int width;	/* of the terminal; 0: none */
	size_t name_width;	/* 0: as long as it is */
	uint64_t idle;		/* what all threads rested, ns */
};

static uint64_t life(const struct thread_account *a)
{
	return a->until - a->first;
}

static void add(struct thread_account *sum, const struct thread_account *a)
{
	sum->until += life(a);
	for (int i = 0; i < STATE_MAX; i++) {
		sum->time[i] += a->time[i];
		sum->waits[i] += a->waits[i];
	}
}

/* A thread, with the part of its waits that is its rest, and what it did besides. */
struct ranked {
	const struct thread_row *row;
	uint64_t idle, rest;	/* ns */
};

/* Those with Ruby code come first; of them those that had most to do, then those that ran, or waited for the CPU or the
 * GVL. */
static int by_work(const void *x, const void *y)
{
	const struct ranked *of_a = x, *of_b = y;
	const struct thread_row *a = of_a->row, *b = of_b->row;
	uint64_t busy_a = a->account.time[STATE_RUNNING] + a->account.time[STATE_RUNNABLE] + a->account.time[STATE_GVL];
	uint64_t busy_b = b->account.time[STATE_RUNNING] + b->account.time[STATE_RUNNABLE] + b->account.time[STATE_GVL];

	if (!a->account.thread != !b->account.thread)
		return a->account.thread ? -1 : 1;
	if (of_a->rest != of_b->rest)
		return of_a->rest > of_b->rest ? -1 : 1;
	if (busy_a != busy_b)
		return busy_a > busy_b ? -1 : 1;
	return a->account.tid < b->account.tid ? -1 : a->account.tid > b->account.tid;
}

static void add_time(struct text *out, uint64_t ns)
{
	struct text text = { 0 };

	if (ns)
		unit__add_amount(UNIT_NS, ns, &text);
	text__addf(out, " %10s", ns ? text__string(&text) : "-");
	text__free(&text);
}

/* The column is that of threads: "[thread worker (42)]" says it again.  The length is that in bytes. */
static const char *short_name(const struct table *t, const char *name, size_t *length)
{
	static const char prefix[] = "[thread ";
	const size_t skip = sizeof(prefix) - 1;

	*length = strlen(name);
	if (!t->width || strncmp(name, prefix, skip) || *length <= skip + 1 || name[*length - 1] != ']')
		return name;
	*length -= skip + 1;
	return name + skip;
}

static void add_name(struct table *t, const char *name, const char *note)
{
	struct text text = { 0 };
	size_t length;

	name = short_name(t, name, &length);
	text__add(&text, name, length);
	columns__add_ends(t->out, text__string(&text), t->name_width ? t->name_width - strlen(note) : columns__of(text__string(&text)), false);
	t->out->failed |= text.failed;
	text__free(&text);
	text__addf(t->out, "%s\n", note);
}

static void add_row(struct table *t, const struct thread_account *a, uint64_t idle, const char *name, const char *note)
{
	uint64_t other = 0;

	add_time(t->out, life(a));
	if (t->idle)
		add_time(t->out, idle);
	for (int i = 0; i < STATE_MAX; i++) {
		if (t->shown[i])
			add_time(t->out, a->time[i]);
		if (t->other[i])
			other += a->time[i];
	}
	if (t->has_other)
		add_time(t->out, other);
	text__adds(t->out, "  ");
	add_name(t, name, note);
}

/* The time of all threads in that state, without their rests. */
static uint64_t worked(const struct report *r, const struct thread_account *sum, int state)
{
	uint64_t idle = r->idle.shown ? 0 : r->idle.states[state];

	return sum->time[state] > idle ? sum->time[state] - idle : 0;
}

/* On a narrow terminal the states with least time are one column, but for what runs.  Rests have a column of their own. */
static void fit(struct table *t, const struct report *r, const struct thread_account *sum, unsigned int width)
{
	size_t columns = 1 + (t->idle > 0), names = NAME_LEAST, whole, most;

	t->width = width;
	if (!width)
		return;
	for (uint32_t i = 0; i < r->threads->count; i++) {
		const struct thread_row *row = &r->threads->rows[i];
		size_t length = 0;

		if (row->account.thread && row->name)
			short_name(t, row->name, &length);
		names = length > names ? length : names;
	}
	whole = width / NAME_PART > NAME_WHOLE ? width / NAME_PART : NAME_WHOLE;
	names = names > whole ? whole : names;
	most = width > names + 2 ? (width - names - 2) / COLUMN : 0;
	for (int i = 0; i < STATE_MAX; i++)
		columns += t->shown[i];
	while (columns > most) {
		int least = -1;

		for (int i = 0; i < STATE_MAX; i++)
			if (t->shown[i] && i != STATE_RUNNING && (least < 0 || worked(r, sum, i) < worked(r, sum, least)))
				least = i;
		if (least < 0)
			break;
		t->shown[least] = false;
		t->other[least] = true;
		/* Their column takes the place of the first one. */
		columns -= t->has_other;
		t->has_other = true;
	}
	t->name_width = width > columns * COLUMN + 2 + NAME_LEAST ? width - columns * COLUMN - 2 : NAME_LEAST;
}

static void add_thread(struct table *t, const struct ranked *of)
{
	add_row(t, &of->row->account, of->idle, of->row->name ? of->row->name : "[thread]", of->row->ended ? ", ended" : "");
}

/* "(5 more threads of Ruby; 2 ended)" */
static void add_more(const struct ranked *order, uint32_t from, uint32_t count, struct text *out)
{
	uint32_t ended = 0;

	for (uint32_t i = from; i < count; i++)
		ended += order[i].row->ended;
	text__addf(out, "%13s(%" PRIu32 " more threads of Ruby; %" PRIu32 " ended)\n", "", count - from, ended);
}

/* Threads without Ruby code are one row: a server has one for each name of a host that it has looked up. */
static void add_native(struct table *t, const struct ranked *order, uint32_t count)
{
	struct thread_account sum = { 0 };
	uint64_t idle = 0;
	uint32_t ended = 0;
	char name[64];

	if (count == 1) {
		add_thread(t, order);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		add(&sum, &order[i].row->account);
		idle += order[i].idle;
		ended += order[i].row->ended;
	}
	snprintf(name, sizeof(name), "%" PRIu32 " native%s", count, t->width ? "" : " threads");
	if (ended)
		snprintf(name + strlen(name), sizeof(name) - strlen(name), ", %" PRIu32 " ended", ended);
	if (count)
		add_row(t, &sum, idle, name, "");
}

int state_table__add(const struct report *r, const struct output_options *o, unsigned int top, struct text *out)
{
	const struct thread_rows *s = r->threads;
	struct ranked *order;
	struct thread_account sum = { 0 };
	struct table t = { .out = out };
	uint64_t total = 0;
	uint32_t ruby = 0;
	size_t from;

	if (!s || !s->count)
		return 0;
	order = calloc(s->count, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++) {
		order[i].row = &s->rows[i];
		ruby += s->rows[i].account.thread != 0;
		order[i].idle = report__thread_idle(r, order[i].row);
		/* Rounded: threads that did nothing else lived about as long. */
		order[i].rest = (life(&s->rows[i].account) - order[i].idle) / REST_UNIT;
		add(&sum, &s->rows[i].account);
	}
	add(&sum, &s->others);
	for (int i = 0; i < STATE_MAX; i++) {
		t.shown[i] = sum.time[i];
		total += sum.time[i];
	}
	for (uint32_t i = 0; i < r->idle.thread_count; i++)
		t.idle += r->idle.threads[i].ns;
	fit(&t, r, &sum, o->width);
	qsort(order, s->count, sizeof(*order), by_work);
	text__addf(out, "\n%sWhat each thread did%s\n%s %10s", o->color ? "\033[1m" : "", o->color ? "\033[0m" : "",
		   o->color ? "\033[2m" : "", "life");
	if (t.idle)
		text__addf(out, " %10s", "idle");
	for (int i = 0; i < STATE_MAX; i++)
		if (t.shown[i])
			text__addf(out, " %10s", state_names[i]);
	if (t.has_other)
		text__addf(out, " %10s", "other");
	text__addf(out, "  thread%s\n", o->color ? "\033[0m" : "");
	for (uint32_t i = 0; i < ruby && i < top; i++)
		add_thread(&t, &order[i]);
	add_native(&t, order + ruby, s->count - ruby);
	add_row(&t, &sum, t.idle, "all", "");
	if (ruby > top)
		add_more(order, top, ruby, out);
	from = out->length;
	if (t.idle)
		text__adds(out, "idle: of its waits those in which the thread had nothing to do\n");
	text__addf(out, "states make up %.3f %% of the lives of %" PRIu32 " threads\n",
		   sum.until ? 100.0 * (double)total / (double)sum.until : 100.0, s->count + s->other_count);
	if (s->lost)
		text__addf(out, "threads without an account: %" PRIu64 " (no room in the kernel, or their process was dropped)\n",
			   s->lost);
	columns__wrap(out, from, o->width);
	free(order);
	return 0;
}
