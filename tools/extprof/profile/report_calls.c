/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the expensive calls of the application's methods and lines.  A stack is charged to what its innermost code of
 * the application calls: to the first gem or part of the standard library there, else to the first C method.  If that
 * code calls nothing, the stack is charged to nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/report_build.h"

#define NOTHING 0u

struct finding {
	const struct report_builder *b;
	const struct report_callers *c;
	struct report_totals *to;
	uint32_t *callee;	/* by node: NOTHING, or 1 + the number of an owner, or 1 + owners + that of a label */
	uint32_t *slot;		/* by number in the list: which of the callers it is, from 1; 0: none */
	uint32_t callers[REPORT_CALLERS_MAX], caller_count;	/* slot - 1 -> number in the list */
	uint32_t open[REPORT_CALLERS_MAX];	/* by slot - 1: how many nodes of the path are of it */
	struct sum {
		uint32_t slot, callee;
		uint64_t amount;
	} *sums;
	uint32_t sum_count;
	size_t sum_room;
	struct map64 map;	/* slot << 32 | callee -> sum */
};

static uint8_t owner_kind(const struct finding *f, uint32_t label)
{
	return label == MAP64_NONE ? OWNER_NONE : f->b->r->owners[f->b->r->labels[label].owner].kind;
}

static uint32_t label_of(const struct finding *f, uint32_t node)
{
	return f->b->label_of[f->b->tree->nodes[node].frame];
}

/* The callee that a stack which ends in the node is charged to, from the callee of its parent. */
static uint32_t callee_of(const struct finding *f, uint32_t node, uint32_t above)
{
	const struct report *r = f->b->r;
	uint32_t label = label_of(f, node), owners = 1 + r->owner_count;
	const struct report_label *l;

	/* A group, or a detail that is not shown. */
	if (label == MAP64_NONE)
		return frame_kind__is_below(frame_table__get(f->b->frames, f->b->tree->nodes[node].frame)->kind) ? above : NOTHING;
	l = &r->labels[label];
	switch (owner_kind(f, label)) {
	case OWNER_APP:
		return NOTHING;
	case OWNER_GEM:
	case OWNER_STDLIB:
	case OWNER_OTHER:
		return above == NOTHING || above >= owners ? 1 + l->owner : above;
	}
	if (frame__part(&l->frame, ROWS_BY_METHOD) == PART_OF_CALLER || l->frame.kind == FRAME_MARK)
		return above;
	return above == NOTHING ? owners + label : above;
}

static int by_total(const void *a, const void *b, void *context)
{
	const struct report_totals *to = context;
	const struct report_total *x = &to->list[*(const uint32_t *)a], *y = &to->list[*(const uint32_t *)b];

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The callers that are looked at. */
static int choose(struct finding *f)
{
	uint32_t *order = malloc((f->to->count + 1u) * sizeof(*order)), count = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->to->count; i++)
		if (owner_kind(f, f->to->list[i].label) == OWNER_APP && f->to->list[i].total)
			order[count++] = i;
	if (count)
		qsort_r(order, count, sizeof(*order), by_total, f->to);
	for (uint32_t i = 0; i < count && i < REPORT_CALLERS_MAX; i++) {
		f->callers[f->caller_count++] = order[i];
		f->slot[order[i]] = f->caller_count;
	}
	free(order);
	return 0;
}

/* The slot that the node itself opens; 0: none.  C code in a line is of that line, and opens nothing. */
static uint32_t slot_of(const struct finding *f, uint32_t node)
{
	uint32_t of = f->c->of[node];

	return of == MAP64_NONE || owner_kind(f, label_of(f, node)) != OWNER_APP ? 0 : f->slot[of];
}

static int add(struct finding *f, uint32_t slot, uint32_t callee, uint64_t amount)
{
	uint64_t key = (uint64_t)slot << 32 | callee;
	uint32_t number = map64__get(&f->map, key);

	if (number == MAP64_NONE) {
		if (array__reserve(&f->sums, f->sum_count, 1, &f->sum_room, MAP64_NONE, sizeof(*f->sums)) ||
		    map64__add(&f->map, key, f->sum_count))
			return -ENOMEM;
		number = f->sum_count++;
		f->sums[number] = (struct sum){ .slot = slot, .callee = callee };
	}
	f->sums[number].amount += amount;
	return 0;
}

/* The samples that end in the node, for all callers that are open. */
static int charge(struct finding *f, uint32_t node, const uint32_t *active, uint32_t active_count)
{
	uint64_t self = report__self(f->b, node);
	int err = 0;

	if (!self || f->callee[node] == NOTHING)
		return 0;
	for (uint32_t i = 0; i < active_count && !err; i++)
		err = add(f, active[i], f->callee[node], self);
	return err;
}

/* From each node to those below it, as the totals were counted. */
static int walk(struct finding *f)
{
	const struct tree_node *nodes = f->b->tree->nodes;
	uint32_t active[REPORT_CALLERS_MAX], active_count = 0, at = f->c->child[0], slot;

	while (at) {
		slot = slot_of(f, at);
		if (slot && !f->open[slot - 1]++)
			active[active_count++] = slot;
		if (charge(f, at, active, active_count))
			return -ENOMEM;
		if (f->c->child[at]) {
			at = f->c->child[at];
			continue;
		}
		for (;;) {
			slot = slot_of(f, at);
			/* The last one that was opened is the first one that is closed. */
			if (slot && !--f->open[slot - 1])
				active_count--;
			if (f->c->next[at] || !nodes[at].parent)
				break;
			at = nodes[at].parent;
		}
		at = f->c->next[at];
	}
	return 0;
}

/* Two callees, by what they are and not by their numbers: these depend on the order of samples. */
static int compare(const struct finding *f, uint32_t a, uint32_t b)
{
	const struct report *r = f->b->r;
	uint32_t owners = 1 + r->owner_count;
	int c;

	if (a < owners && b < owners) {
		c = strcmp(r->owners[a - 1].name, r->owners[b - 1].name);
		return c ? c : strcmp(r->owners[a - 1].version, r->owners[b - 1].version);
	}
	if (a < owners || b < owners)
		return a < owners ? -1 : 1;
	c = strcmp(r->labels[a - owners].frame.name, r->labels[b - owners].frame.name);
	return c ? c : strcmp(r->labels[a - owners].frame.path, r->labels[b - owners].frame.path);
}

static bool is_more(const struct finding *f, const struct sum *s, const struct report_total *t, uint32_t callee)
{
	return s->amount != t->called ? s->amount > t->called : compare(f, s->callee, callee) < 0;
}

static void tell(struct finding *f)
{
	uint32_t owners = 1 + f->b->r->owner_count, best[REPORT_CALLERS_MAX] = { 0 };

	for (uint32_t i = 0; i < f->sum_count; i++) {
		const struct sum *s = &f->sums[i];
		struct report_total *t = &f->to->list[f->callers[s->slot - 1]];

		if (t->calls != CALLS_UNKNOWN && !is_more(f, s, t, best[s->slot - 1]))
			continue;
		best[s->slot - 1] = s->callee;
		t->calls = s->callee < owners ? CALLS_OWNER : CALLS_LABEL;
		t->callee = s->callee < owners ? s->callee - 1 : s->callee - owners;
		t->called = s->amount;
	}
}

int report__find_callees(const struct report_builder *b, const struct report_callers *c, struct report_totals *to)
{
	struct finding f = { .b = b, .c = c, .to = to };
	int err = -ENOMEM;

	f.callee = calloc(b->tree->node_count, sizeof(*f.callee));
	f.slot = calloc(to->count + 1u, sizeof(*f.slot));
	if (!f.callee || !f.slot || choose(&f))
		goto cleanup;
	err = 0;
	if (!f.caller_count)
		goto cleanup;
	/* Parents come before children. */
	for (uint32_t i = 1; i < b->tree->node_count; i++)
		if (!report__leaves_out(b, i))
			f.callee[i] = callee_of(&f, i, f.callee[b->tree->nodes[i].parent]);
	err = walk(&f);
	if (!err)
		tell(&f);
cleanup:
	free(f.callee);
	free(f.slot);
	free(f.sums);
	map64__free(&f.map);
	return err;
}
