/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map64.h"

static double share(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

/* The variance of the share that `part` has of a side, if it is p. */
static double variance_of(const struct diff *d, int side, double p, uint64_t part, double squares)
{
	double inside = (double)part, all = (double)d->all[side], outside = all - inside;
	double others = fmax(d->squares[side] - squares, 0);
	/* The average that a sample stands for: m within the part, n outside of it.  Without samples there, the average
	 * of the whole. */
	double whole = all > 0 ? d->squares[side] / all : 0;
	double m = inside > 0 ? squares / inside : whole, n = outside > 0 ? others / outside : whole;

	return all > 0 ? p * (1 - p) * ((1 - p) * m + p * n) / all : 0;
}

struct diff_change diff__change(const struct diff *d, uint64_t before, uint64_t after, const double squares[2])
{
	struct diff_change c = {
		.amount = { before, after }, .share = { share(before, d->all[0]), share(after, d->all[1]) },
	};
	double all = (double)d->all[0] + (double)d->all[1], p = all > 0 ? ((double)before + (double)after) / all : 0;

	for (int i = 0; i < 2; i++)
		c.noise += variance_of(d, i, p, c.amount[i], squares[i]);
	c.noise = DIFF_ERRORS * sqrt(fmax(c.noise, 0));
	c.decided = fabs(c.share[1] - c.share[0]) > c.noise;
	return c;
}

static uint64_t key_of(const struct report_total *t)
{
	return (uint64_t)t->label << 32 | (uint32_t)t->line;
}

/* The rows of both, by what they are of. */
static int make_list(const struct diff *d, const struct report_totals *before, const struct report_totals *after,
		     struct diff_list *to)
{
	struct map64 rows = { 0 };
	int err = 0;

	to->rows = calloc(before->count + 1u, sizeof(*to->rows));
	if (!to->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < after->count && !err; i++)
		err = map64__add(&rows, key_of(&after->list[i]), i);
	for (uint32_t i = 0; i < before->count && !err; i++) {
		const struct report_total *x = &before->list[i], *y;
		uint32_t number = map64__get(&rows, key_of(x));

		if (number == MAP64_NONE)
			continue;
		y = &after->list[number];
		to->rows[to->count++] = (struct diff_row){
			.label = &d->reports[0].labels[x->label], .line = x->line, .approximate = x->approximate,
			.self = diff__change(d, x->self, y->self, (double[]){ x->self_squares, y->self_squares }),
			.total = diff__change(d, x->total, y->total, (double[]){ x->total_squares, y->total_squares }),
		};
	}
	map64__free(&rows);
	return err;
}

void diff__sum(struct diff *d, const struct report reports[2])
{
	memset(d, 0, sizeof(*d));
	d->reports = reports;
	for (int i = 0; i < 2; i++) {
		d->all[i] = reports[i].samples;
		d->seconds[i] = reports[i].meta.duration;
		for (uint32_t j = 0; j < reports[i].node_count; j++)
			d->squares[i] += (double)reports[i].nodes[j].squares;
	}
}

int diff__make(struct diff *d, const struct report reports[2])
{
	int err;

	diff__sum(d, reports);
	err = make_list(d, &reports[0].methods, &reports[1].methods, &d->methods);
	return err ? err : make_list(d, &reports[0].lines, &reports[1].lines, &d->lines);
}

void diff__free(struct diff *d)
{
	free(d->methods.rows);
	free(d->lines.rows);
	memset(d, 0, sizeof(*d));
}

static int compare(const struct diff_row *a, const struct diff_row *b, const struct diff_change *x,
		   const struct diff_change *y)
{
	double of_x = fabs(x->share[1] - x->share[0]), of_y = fabs(y->share[1] - y->share[0]);
	int c;

	if (x->decided != y->decided)
		return x->decided ? -1 : 1;
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	c = strcmp(a->label->name, b->label->name);
	return c ? c : a->line < b->line ? -1 : a->line > b->line;
}

static int by_self(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;

	return compare(x, y, &x->self, &y->self);
}

static int by_total(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;

	return compare(x, y, &x->total, &y->total);
}

void diff_list__sort(struct diff_list *l, bool self)
{
	if (l->count)
		qsort(l->rows, l->count, sizeof(*l->rows), self ? by_self : by_total);
}

uint32_t diff_list__decided(const struct diff_list *l, bool of_self)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < l->count; i++)
		count += of_self ? l->rows[i].self.decided : l->rows[i].total.decided;
	return count;
}
