/* SPDX-License-Identifier: BSD-2-Clause */
/* Self and total of each method, line, file and owner: counted here, once, for all who show them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/report_build.h"

enum kind { METHODS, LINES, FILES, OWNERS };

struct counting {
	struct report_builder *b;
	enum kind kind;
	struct report_totals *to;
	struct map64 map;	/* hash of the key -> number in the list */
	uint32_t *of;		/* by node: what its samples count for; MAP64_NONE: nothing */
	const uint64_t *totals;	/* by node: its samples, and those below it */
	const double *squares;	/* the same of the squares */
	const uint32_t *child, *next;	/* by node: its first child, and the next one of its parent; 0: none */
};

static const struct frame *frame_of(const struct counting *c, uint32_t node)
{
	return frame_table__get(c->b->frames, c->b->tree->nodes[node].frame);
}

static enum frame_part part_of(const struct counting *c, const struct frame *f)
{
	static const enum frame_rows rows[] = {
		[METHODS] = ROWS_BY_METHOD, [LINES] = ROWS_BY_LINE, [FILES] = ROWS_BY_FILE, [OWNERS] = ROWS_BY_FILE,
	};

	return frame__part(f, rows[c->kind]);
}

static bool is_same(const struct counting *c, const struct report_total *t, const struct report_label *l,
		    const struct frame *f)
{
	const struct frame *of = &c->b->r->labels[t->label].frame;

	if (c->kind == OWNERS)
		return c->b->r->labels[t->label].owner == l->owner;
	/* Equal texts of the report have equal addresses. */
	if (of->path != l->frame.path)
		return false;
	if (c->kind == LINES)
		return t->line == f->line && (t->approximate == f->approximate || c->b->view.joins_lines);
	return c->kind == FILES || (of->name == l->frame.name && of->kind == l->frame.kind &&
				    of->first_line == l->frame.first_line && of->known == l->frame.known);
}

/* The number of the total that a frame counts for; a new total is made if need be.  MAP64_NONE: out of memory. */
static uint32_t number_of(struct counting *c, uint32_t label, const struct frame *f)
{
	const struct report_label *l = &c->b->r->labels[label];
	uint64_t hash = hash__mix(c->kind == OWNERS ? l->owner : (uintptr_t)l->frame.path);
	uint32_t number;

	if (c->kind == LINES)
		hash = hash__mix(hash ^ (uint32_t)f->line ^ (uint64_t)(f->approximate && !c->b->view.joins_lines) << 40);
	else if (c->kind == METHODS)
		hash = hash__mix(hash ^ (uintptr_t)l->frame.name ^ (uint64_t)(uint32_t)l->frame.first_line << 32);
	while ((number = map64__get(&c->map, hash)) != MAP64_NONE) {
		if (is_same(c, &c->to->list[number], l, f)) {
			c->to->list[number].approximate |= c->kind == LINES && f->approximate;
			return number;
		}
		hash++;
	}
	if (array__reserve(&c->to->list, c->to->count, 1, &c->to->room, MAP64_NONE, sizeof(*c->to->list)) ||
	    map64__add(&c->map, hash, c->to->count))
		return MAP64_NONE;
	c->to->list[c->to->count] = (struct report_total){ .label = label };
	if (c->kind == LINES) {
		c->to->list[c->to->count].line = f->line;
		c->to->list[c->to->count].approximate = f->approximate;
	}
	return c->to->count++;
}

/* Is the innermost code of the node's samples the node itself, or what it is below? */
static bool is_own(const struct counting *c, uint32_t node)
{
	while (node && frame_kind__is_below(frame_of(c, node)->kind))
		node = c->b->tree->nodes[node].parent;
	return node && part_of(c, frame_of(c, node)) == PART_OWN;
}

/* The counter of the total that the node itself counts for; NULL: it counts for nothing. */
static uint32_t *open_of(const struct counting *c, uint32_t *open, uint32_t node)
{
	return c->of[node] != MAP64_NONE && part_of(c, frame_of(c, node)) == PART_OWN ? &open[c->of[node]] : NULL;
}

/* From each node to those below it: what is open already recurs, and counts once.  A stack may be deep. */
static int count_totals(struct counting *c)
{
	uint32_t *open = calloc(c->to->count + 1u, sizeof(*open)), *of;
	uint32_t at = c->child[0];

	if (!open)
		return -ENOMEM;
	while (at) {
		of = open_of(c, open, at);
		if (of && !(*of)++) {
			c->to->list[c->of[at]].total += c->totals[at];
			c->to->list[c->of[at]].total_squares += c->squares[at];
		}
		if (c->child[at]) {
			at = c->child[at];
			continue;
		}
		for (;;) {
			of = open_of(c, open, at);
			if (of)
				--*of;
			if (c->next[at] || !c->b->tree->nodes[at].parent)
				break;
			at = c->b->tree->nodes[at].parent;
		}
		at = c->next[at];
	}
	free(open);
	return 0;
}

static int by_self(const void *a, const void *b)
{
	const struct report_total *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->label != y->label)
		return x->label < y->label ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int count(struct counting *c)
{
	const struct tree *tree = c->b->tree;

	c->of[0] = MAP64_NONE;
	/* Parents come before children. */
	for (uint32_t i = 1; i < tree->node_count; i++) {
		const struct frame *f = frame_of(c, i);
		enum frame_part part = report__leaves_out(c->b, i) ? PART_NONE : part_of(c, f);
		struct report_total *t;

		c->of[i] = part == PART_OF_CALLER ? c->of[tree->nodes[i].parent] : MAP64_NONE;
		if (part == PART_OWN) {
			c->of[i] = number_of(c, c->b->label_of[tree->nodes[i].frame], f);
			if (c->of[i] == MAP64_NONE)
				return -ENOMEM;
		}
		if (c->of[i] == MAP64_NONE)
			continue;
		t = &c->to->list[c->of[i]];
		t->self += report__self(c->b, i);
		t->self_squares += report__squares(c->b, i);
		if (is_own(c, i))
			t->own += report__self(c->b, i);
	}
	if (count_totals(c))
		return -ENOMEM;
	if (c->kind == METHODS || c->kind == LINES) {
		const struct report_callers callers = {
			.of = c->of, .totals = c->totals, .child = c->child, .next = c->next,
		};

		if (report__find_callees(c->b, &callers, c->to))
			return -ENOMEM;
	}
	if (c->to->count)
		qsort(c->to->list, c->to->count, sizeof(*c->to->list), by_self);
	return 0;
}

int report__add_totals(struct report_builder *b)
{
	struct report_totals *to[] = { &b->r->methods, &b->r->lines, &b->r->files, &b->r->by_owner };
	uint32_t count_of = b->tree->node_count;
	uint64_t *totals = calloc(count_of, sizeof(*totals));
	double *squares = calloc(count_of, sizeof(*squares));
	uint32_t *of = malloc(count_of * sizeof(*of)), *child = calloc(count_of, sizeof(*child));
	uint32_t *next = calloc(count_of, sizeof(*next));
	int err = totals && squares && of && child && next ? 0 : -ENOMEM;

	for (uint32_t i = count_of; !err && i-- > 1;) {
		totals[i] += report__self(b, i);
		totals[b->tree->nodes[i].parent] += totals[i];
		squares[i] += report__squares(b, i);
		squares[b->tree->nodes[i].parent] += squares[i];
		next[i] = child[b->tree->nodes[i].parent];
		child[b->tree->nodes[i].parent] = i;
	}
	for (int kind = METHODS; !err && kind <= OWNERS; kind++) {
		struct counting c = { .b = b, .kind = (enum kind)kind, .to = to[kind], .of = of, .totals = totals,
				      .squares = squares, .child = child, .next = next };

		err = count(&c);
		map64__free(&c.map);
	}
	free(totals);
	free(squares);
	free(of);
	free(child);
	free(next);
	return err;
}
