/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/state_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/unit.h"
#include "source/mode.h"

struct table {
	struct text *out;
	bool shown[STATE_MAX];	/* the states that any thread was in */
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

/* Those that ran or waited for the CPU or the GVL come first: they are not idle. */
static int by_life(const void *x, const void *y)
{
	const struct thread_row *a = *(const struct thread_row *const *)x, *b = *(const struct thread_row *const *)y;
	uint64_t busy_a = a->account.time[STATE_RUNNING] + a->account.time[STATE_RUNNABLE] + a->account.time[STATE_GVL];
	uint64_t busy_b = b->account.time[STATE_RUNNING] + b->account.time[STATE_RUNNABLE] + b->account.time[STATE_GVL];

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

static void add_row(struct table *t, const struct thread_account *a, const char *name, const char *note)
{
	add_time(t->out, life(a));
	for (int i = 0; i < STATE_MAX; i++)
		if (t->shown[i])
			add_time(t->out, a->time[i]);
	text__addf(t->out, "  %s%s\n", name, note);
}

int state_table__add(const struct report *r, const struct output_options *o, unsigned int top, struct text *out)
{
	const struct thread_rows *s = r->threads;
	const struct thread_row **order;
	struct thread_account sum = { 0 };
	struct table t = { .out = out };
	uint64_t total = 0;

	if (!s || !s->count)
		return 0;
	order = calloc(s->count, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++) {
		order[i] = &s->rows[i];
		add(&sum, &s->rows[i].account);
	}
	add(&sum, &s->others);
	for (int i = 0; i < STATE_MAX; i++) {
		t.shown[i] = sum.time[i];
		total += sum.time[i];
	}
	qsort(order, s->count, sizeof(*order), by_life);
	text__addf(out, "\n%sWhat each thread did%s\n%s %10s", o->color ? "\033[1m" : "", o->color ? "\033[0m" : "",
		   o->color ? "\033[2m" : "", "life");
	for (int i = 0; i < STATE_MAX; i++)
		if (t.shown[i])
			text__addf(out, " %10s", state_names[i]);
	text__addf(out, "  thread%s\n", o->color ? "\033[0m" : "");
	for (uint32_t i = 0; i < s->count && i < top; i++)
		add_row(&t, &order[i]->account, order[i]->name ? order[i]->name : "[thread]",
			order[i]->ended ? ", ended" : "");
	add_row(&t, &sum, "all", "");
	if (s->count > top)
		text__addf(out, "%13s(%" PRIu32 " more)\n", "", s->count - top);
	text__addf(out, "states make up %.3f %% of the lives of %" PRIu32 " threads\n",
		   sum.until ? 100.0 * (double)total / (double)sum.until : 100.0, s->count + s->other_count);
	if (s->lost)
		text__addf(out, "threads without an account: %" PRIu64 " (no room in the kernel, or their process was dropped)\n",
			   s->lost);
	free(order);
	return 0;
}
