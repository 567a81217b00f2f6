/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map64.h"
#include "base/share.h"

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

/* The change of an amount, as a share of the larger state. */
static struct diff_change change_of_state(const struct diff *d, uint64_t before, uint64_t after, const double squares[2])
{
	uint64_t all = d->all[0] > d->all[1] ? d->all[0] : d->all[1];
	struct diff_change c = { .amount = { before, after }, .share = { share__of(before, all), share__of(after, all) } };

	c.noise = all ? DIFF_ERRORS * sqrt(fmax(squares[0] + squares[1], 0)) / (double)all : 0;
	c.decided = fabs(c.share[1] - c.share[0]) > c.noise;
	return c;
}

struct diff_change diff__change(const struct diff *d, uint64_t before, uint64_t after, const double squares[2])
{
	struct diff_change c = {
		.amount = { before, after }, .share = { share__of(before, d->all[0]), share__of(after, d->all[1]) },
	};
	double all = (double)d->all[0] + (double)d->all[1], p = all > 0 ? ((double)before + (double)after) / all : 0;

	if (d->states)
		return change_of_state(d, before, after, squares);
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
	d->states = reports[0].meta.mode->lives;
	for (int i = 0; i < 2; i++) {
		d->all[i] = reports[i].samples;
		d->seconds[i] = reports[i].meta.duration;
		for (uint32_t j = 0; j < reports[i].node_count; j++)
			d->squares[i] += (double)reports[i].nodes[j].squares;
	}
}

static int choose_of_app(struct diff *d)
{
	struct diff_list *to = &d->of_app;

	to->rows = calloc(d->methods.count + 1u, sizeof(*to->rows));
	for (uint32_t i = 0; to->rows && i < d->methods.count; i++)
		if (d->reports[0].owners[d->methods.rows[i].label->owner].kind == OWNER_APP)
			to->rows[to->count++] = d->methods.rows[i];
	return to->rows ? 0 : -ENOMEM;
}

/* NULL: out of memory; there is room for all. */
static struct diff_owner *owner_of(struct diff *d, struct map64 *map, const struct report_owner *of)
{
	const char *name = of->name ? of->name : "";
	uint64_t hash = hash__bytes(name, strlen(name), of->kind);
	uint32_t number;

	while ((number = map64__get(map, hash)) != MAP64_NONE) {
		if (d->owners[number].kind == of->kind && !strcmp(d->owners[number].name, name))
			return &d->owners[number];
		hash++;
	}
	if (map64__add(map, hash, d->owner_count))
		return NULL;
	d->owners[d->owner_count] = (struct diff_owner){ .kind = of->kind, .name = name };
	return &d->owners[d->owner_count++];
}

static int add_owner(struct diff *d, struct map64 *map, int side, const struct report_total *t)
{
	const struct report *r = &d->reports[side];
	const struct report_owner *of = &r->owners[r->labels[t->label].owner];
	struct diff_owner *to;

	if (of->kind == OWNER_NONE || !t->total)
		return 0;
	to = owner_of(d, map, of);
	if (!to)
		return -ENOMEM;
	to->versions[side] = of->version ? of->version : "";
	to->amount[side] += t->self;
	to->squares[side] += t->self_squares;
	return 0;
}

/* If rows changed by as much, the larger one tells more. */
static int larger_first(const struct diff_change *x, const struct diff_change *y)
{
	double of_x = x->share[0] + x->share[1], of_y = y->share[0] + y->share[1];

	return of_x > of_y ? -1 : of_x < of_y;
}

static int compare_owners(const void *a, const void *b)
{
	const struct diff_owner *x = a, *y = b;
	double of_x = fabs(x->self.share[1] - x->self.share[0]), of_y = fabs(y->self.share[1] - y->self.share[0]);
	int c;

	if (x->self.decided != y->self.decided)
		return x->self.decided ? -1 : 1;
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	c = larger_first(&x->self, &y->self);
	if (c)
		return c;
	return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(x->name, y->name);
}

static int make_owners(struct diff *d)
{
	struct map64 map = { 0 };
	int err;

	d->owners = calloc(d->reports[0].owner_count + d->reports[1].owner_count + 1u, sizeof(*d->owners));
	err = d->owners ? 0 : -ENOMEM;
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < d->reports[side].by_owner.count && !err; i++)
			err = add_owner(d, &map, side, &d->reports[side].by_owner.list[i]);
	map64__free(&map);
	for (uint32_t i = 0; i < d->owner_count; i++)
		d->owners[i].self = diff__change(d, d->owners[i].amount[0], d->owners[i].amount[1], d->owners[i].squares);
	if (d->owner_count)
		qsort(d->owners, d->owner_count, sizeof(*d->owners), compare_owners);
	return err;
}

int diff__make(struct diff *d, const struct report reports[2])
{
	int err;

	diff__sum(d, reports);
	err = make_list(d, &reports[0].methods, &reports[1].methods, &d->methods);
	if (!err)
		err = make_list(d, &reports[0].lines, &reports[1].lines, &d->lines);
	if (!err)
		err = choose_of_app(d);
	return err ? err : make_owners(d);
}

uint32_t diff__grown(const struct diff *d, double above)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < d->methods.count; i++) {
		const struct diff_change *self = &d->methods.rows[i].self, *total = &d->methods.rows[i].total;

		count += (self->decided && self->share[1] - self->share[0] > above) ||
			 (total->decided && total->share[1] - total->share[0] > above);
	}
	return count;
}

void diff__free(struct diff *d)
{
	free(d->methods.rows);
	free(d->lines.rows);
	free(d->of_app.rows);
	free(d->owners);
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
	c = larger_first(x, y);
	if (c)
		return c;
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
