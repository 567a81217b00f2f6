/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/trend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff.h"
#include "base/array.h"
#include "profile/transform.h"

#define ROWS_MAX 65536u

/* The amount of all stacks through the method. */
struct share {
	uint64_t amount;
	double squares;
};

/* Parents come before their children. */
static int add_up(const struct trend *t, const struct report *r, struct share *s)
{
	bool *within = calloc(r->node_count + 1u, sizeof(*within)), *meant = calloc(r->label_count + 1u, sizeof(*meant));
	int err = within && meant ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < r->label_count && !err; i++)
		meant[i] = r->labels[i].frame.name && transform__is_method(t->method, &r->labels[i].frame);
	for (uint32_t i = 1; i < r->node_count && !err; i++) {
		const struct report_node *n = &r->nodes[i];

		within[i] = within[n->parent] || meant[n->label];
		if (!within[i])
			continue;
		s->amount += n->self;
		s->squares += (double)n->squares;
	}
	free(within);
	free(meant);
	return err;
}

int trend__add_without(struct trend *t, const struct trend_row *row)
{
	if (array__reserve(&t->rows, t->count, 1, &t->room, ROWS_MAX, sizeof(*t->rows)))
		return -ENOMEM;
	t->rows[t->count] = *row;
	t->rows[t->count++].without = true;
	return 0;
}

int trend__add(struct trend *t, const struct trend_row *row, const struct report reports[2], bool first)
{
	struct share of[2] = { 0 };
	struct trend_row *to;
	struct diff d;
	int err = array__reserve(&t->rows, t->count, 1, &t->room, ROWS_MAX, sizeof(*t->rows));

	for (int i = first; i < 2 && !err; i++)
		err = add_up(t, &reports[i], &of[i]);
	if (err)
		return -ENOMEM;
	to = &t->rows[t->count++];
	*to = *row;
	to->all = reports[1].samples;
	to->version = reports[1].meta.version;
	to->part = of[1].amount;
	t->metric = reports[1].metric;
	snprintf(t->mode, sizeof(t->mode), "%s", reports[1].meta.mode->name);
	to->compared = !first && to->all;
	if (to->compared) {
		struct diff_change c;

		diff__sum(&d, reports);
		c = diff__change(&d, of[0].amount, of[1].amount, (double[]){ of[0].squares, of[1].squares });
		to->change = c.share[1] - c.share[0];
		to->noise = c.noise;
		to->decided = c.decided;
	}
	return 0;
}

void trend__free(struct trend *t)
{
	free(t->rows);
	t->rows = NULL;
	t->count = 0;
}
