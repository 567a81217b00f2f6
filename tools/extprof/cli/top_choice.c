/* SPDX-License-Identifier: BSD-2-Clause */
/* Which rows extprof top shows, and in which order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/top_model.h"

static bool is_wanted(const struct top_row *row, const struct top_choice *c)
{
	const struct top_amount *amount = top_row__amount(row, c->all);
	bool rests = row->account && (c->all ? &row->account->all : &row->account->last)->idle;

	if (!amount->total && !amount->self && !rests)
		return false;
	return !*c->filter || strcasestr(top_row__shown(row), c->filter) || strcasestr(row->path, c->filter) ||
	       strcasestr(row->thread, c->filter);
}

static int by_choice(const void *a, const void *b, void *context)
{
	const struct top_row *x = *(const struct top_row *const *)a, *y = *(const struct top_row *const *)b;
	const struct top_choice *c = context;
	const struct top_amount *m = top_row__amount(x, c->all), *n = top_row__amount(y, c->all);
	int64_t grown = top_row__growth(x, c->all), other = top_row__growth(y, c->all);
	int order = 0;

	if (c->sort == TOP_BY_GROWTH && grown != other)
		order = grown > other ? -1 : 1;
	else if (c->sort == TOP_BY_SELF && m->self != n->self)
		order = m->self > n->self ? -1 : 1;
	else if (c->sort != TOP_BY_NAME && m->total != n->total)
		order = m->total > n->total ? -1 : 1;
	else if (c->sort == TOP_BY_TOTAL && m->self != n->self)
		order = m->self > n->self ? -1 : 1;
	/* Equal rows keep one order, so that they do not jump. */
	if (!order)
		order = strcmp(x->name, y->name);
	if (!order)
		order = strcmp(x->path, y->path);
	if (!order)
		order = strcmp(x->thread, y->thread);
	if (!order && x->line != y->line)
		order = x->line < y->line ? -1 : 1;
	if (!order)
		order = x->number < y->number ? -1 : x->number > y->number;
	return c->reverse ? -order : order;
}

int top_model__choose(const struct top_model *m, const struct top_choice *choice, const struct top_row ***rows,
		      uint32_t *count)
{
	bool by_thread = choice->by_thread && choice->view != TOP_THREADS && choice->view != TOP_PROCESSES;
	const struct top_table *t = by_thread ? &m->by_thread[choice->view] : &m->tables[choice->view];
	const struct top_row **list = calloc(t->count + 1u, sizeof(*list));
	uint32_t n = 0;

	*rows = NULL;
	*count = 0;
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++)
		if (is_wanted(t->rows[i], choice))
			list[n++] = t->rows[i];
	if (n)
		qsort_r(list, n, sizeof(*list), by_choice, (void *)(uintptr_t)choice);
	*rows = list;
	*count = n;
	return 0;
}
