/* SPDX-License-Identifier: BSD-2-Clause */
/* The tree of calls as text: total and self of each call, those with most first.  Calls with little are one line below
 * their caller, if together they are more than little. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "base/share.h"
#include "output/output.h"
#include "profile/unit.h"

#define LEAST_SHARE 200u	/* a call with less than one part in so many is in the rest of its caller */
#define LINES_A_ROW 10u		/* a stack of a server has more frames than a table has rows */
#define ROWS_DEFAULT 20u
#define INDENT_MAX 60u
#define NAME_LEAST 24u

struct calls {
	const struct report *r;
	const struct output_options *o;
	struct text *out;
	uint32_t *shown;	/* nodes, those of one caller together, most total first */
	uint32_t count;
	uint32_t *first, *children;	/* by node: where its own begin in `shown`, and how many they are */
	uint64_t *below;	/* by node: total of those */
	uint32_t *hidden;	/* by node: how many are not shown */
};

static int most_total(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

static int by_caller(const void *a, const void *b, void *context)
{
	const struct report *r = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct report_node *x = &r->nodes[i], *y = &r->nodes[j];

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return i < j ? -1 : 1;
}

/* So many nodes with most total.  A caller has as much as what it calls, and is before it in the list of nodes: so what is
 * shown has all its callers. */
static int choose(struct calls *c)
{
	const struct report *r = c->r;
	uint64_t *totals = malloc((r->node_count + 1u) * sizeof(*totals)), least = r->samples / LEAST_SHARE + 1;
	uint64_t wanted = (uint64_t)(c->o->top ? c->o->top : ROWS_DEFAULT) * LINES_A_ROW;
	uint32_t room = wanted < r->node_count ? (uint32_t)wanted : r->node_count, above = 0;

	if (!totals)
		return -ENOMEM;
	for (uint32_t i = 1; i < r->node_count; i++)
		totals[i - 1] = r->nodes[i].total;
	qsort(totals, r->node_count - 1, sizeof(*totals), most_total);
	if (r->node_count - 1 > room && totals[room - 1] > least)
		least = totals[room - 1];
	while (above < r->node_count - 1 && totals[above] > least)
		above++;
	free(totals);
	for (uint32_t i = 1; i < r->node_count; i++) {
		uint64_t total = r->nodes[i].total;

		/* The first one of equal ones at the bound. */
		if (total < least || (total == least && above >= room)) {
			c->hidden[r->nodes[i].parent]++;
			continue;
		}
		above += total == least;
		c->shown[c->count++] = i;
		c->children[r->nodes[i].parent]++;
		c->below[r->nodes[i].parent] += total;
	}
	if (c->count)
		qsort_r(c->shown, c->count, sizeof(*c->shown), by_caller, (void *)(uintptr_t)r);
	for (uint32_t i = c->count; i > 0; i--)
		c->first[r->nodes[c->shown[i - 1]].parent] = i - 1;
	return 0;
}

static void add_line(struct calls *c, uint32_t indent, uint64_t total, uint64_t self, const char *name, const char *place)
{
	uint32_t in = 2 * indent < INDENT_MAX ? 2 * indent : INDENT_MAX;
	size_t used = 30u + in, left = c->o->width > used + NAME_LEAST ? c->o->width - used : NAME_LEAST;
	struct text amount = { 0 }, text = { 0 };

	unit__add_amount(c->r->metric.unit, total, &amount);
	text__addf(c->out, "%10s %5.1f %%  %5.1f %%  %*s", text__string(&amount), share__percent(total, c->r->samples),
		   share__percent(self, c->r->samples), (int)in, "");
	text__addf(&text, "%s%s%s", name, *place ? "  " : "", place);
	columns__add_ends(c->out, text__string(&text), c->o->width ? left : columns__of(text__string(&text)), false);
	text__adds(c->out, "\n");
	c->out->failed |= amount.failed || text.failed;
	text__free(&amount);
	text__free(&text);
}

/* The amount of calls below a node that are not shown, since each has little.  0: together they have little, too. */
static uint64_t rest_of(const struct calls *c, uint32_t node)
{
	const struct report_node *n = &c->r->nodes[node];
	uint64_t rest = n->total - n->self - c->below[node];

	return rest > c->r->samples / LEAST_SHARE ? rest : 0;
}

static void add_rest(struct calls *c, uint32_t node, uint32_t indent)
{
	uint64_t rest = rest_of(c, node);
	char name[48];

	if (!rest)
		return;
	snprintf(name, sizeof(name), "(%" PRIu32 " more)", c->hidden[node]);
	add_line(c, indent, rest, 0, name, "");
}

static void add_call(struct calls *c, uint32_t node, uint32_t indent)
{
	const struct report_node *n = &c->r->nodes[node];
	const struct report_label *l = &c->r->labels[n->label];
	struct text place = { 0 };

	if (*l->frame.path)
		report__add_place(owner__short_place(l->frame.path, &c->r->rules), l->frame.line ? l->frame.line :
				  l->frame.first_line, l->frame.approximate, &place);
	add_line(c, indent, n->total, n->self, l->name, text__string(&place));
	c->out->failed |= place.failed;
	text__free(&place);
}

/* A call that is the only one of its caller stands below it, not further in: stacks are deep. */
static int add_tree(struct calls *c)
{
	struct level {
		uint32_t node, next, indent;
	} *stack = malloc((c->count + 2u) * sizeof(*stack));
	uint32_t depth = 0;

	if (!stack)
		return -ENOMEM;
	/* The root is no call. */
	stack[depth++] = (struct level){ .node = 0, .indent = UINT32_MAX };
	while (depth) {
		struct level *top = &stack[depth - 1];
		uint32_t of = c->children[top->node], node, indent;
		bool alone = top->node && of + (rest_of(c, top->node) > 0) == 1;

		if (top->next == of) {
			add_rest(c, top->node, top->indent + !alone);
			depth--;
			continue;
		}
		node = c->shown[c->first[top->node] + top->next++];
		indent = top->indent + !alone;
		add_call(c, node, indent);
		stack[depth++] = (struct level){ .node = node, .indent = indent };
	}
	free(stack);
	return 0;
}

static void add_head(struct calls *c)
{
	const struct report *r = c->r;
	struct text amount = { 0 };

	unit__add_with_name(&r->metric, r->samples, &amount);
	text__addf(c->out, "mode %s: %s\n", r->meta.mode->name, text__string(&amount));
	if (r->idle.row_count) {
		size_t from = c->out->length;

		report__add_idle(r, c->out);
		text__adds(c->out, "\n");
		columns__wrap(c->out, from, c->o->width);
	}
	text__addf(c->out, "%18s  %7s  call\n", "total", "self");
	c->out->failed |= amount.failed;
	text__free(&amount);
}

static int add_report(const struct report *r, const struct output_options *o, struct text *out)
{
	struct calls c = { .r = r, .o = o, .out = out };
	size_t room = r->node_count + 1u;
	int err = -ENOMEM;

	c.shown = calloc(room, sizeof(*c.shown));
	c.first = calloc(room, sizeof(*c.first));
	c.children = calloc(room, sizeof(*c.children));
	c.hidden = calloc(room, sizeof(*c.hidden));
	c.below = calloc(room, sizeof(*c.below));
	if (c.shown && c.first && c.children && c.hidden && c.below) {
		add_head(&c);
		err = r->node_count > 1 ? choose(&c) : 0;
		if (!err)
			err = add_tree(&c);
	}
	free(c.shown);
	free(c.first);
	free(c.children);
	free(c.hidden);
	free(c.below);
	return err;
}

static int write_tree(const struct report *reports, uint32_t count, const struct output_options *o, FILE *to)
{
	struct text out = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		int err;

		text__adds(&out, i ? "\n" : "");
		err = add_report(&reports[i], o, &out);
		if (err) {
			text__free(&out);
			return err;
		}
	}
	return text__write(&out, to);
}

const struct output_format output_tree = {
	.name = "tree",
	.suffixes = { ".tree" },
	.help = "calls with total and self, indented, for people",
	.detail = REPORT_BY_CODE,
	.by_command = true,
	.by_value = true,
	.write = write_tree,
};
