/* SPDX-License-Identifier: BSD-2-Clause */
/* The sums of a report: of labels, of lines, and of what frames are shown without. */
#include "profile/report_build.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* Where a frame counts; NULL: it is shown with all it has. */
static uint64_t *missing(struct report_meta *m, const struct frame *f)
{
	switch (f->missing) {
	case MISSING_EXPIRED: return &m->expired_names;
	case MISSING_EXITED: return &m->exited_names;
	case MISSING_UNREADABLE: return &m->unreadable_names;
	case MISSING_LATE: return &m->late_names;
	case MISSING_CROWDED: return &m->crowded_names;
	case MISSING_PART: return &m->partial_names;
	case MISSING_LINE: return &m->late_lines;
	default: return NULL;
	}
}

/* Frames of samples that have no name, or less than it. */
static int count_missing(struct report_builder *b)
{
	const struct tree *p = b->tree;
	uint64_t *totals = calloc(p->node_count + 1u, sizeof(*totals));

	if (!totals)
		return -ENOMEM;
	/* Parents come before children. */
	for (uint32_t i = p->node_count; i-- > 1;) {
		uint64_t *count = missing(&b->r->meta, frame_table__get(b->frames, p->nodes[i].frame));

		if (report__leaves_out(b, i))
			continue;
		totals[i] += p->nodes[i].samples;
		totals[p->nodes[i].parent] += totals[i];
		if (count)
			*count += totals[i];
	}
	free(totals);
	return 0;
}

/* Self and total of each label; recursion counts once. */
static int count_labels(struct report_builder *b)
{
	struct report *r = b->r;
	uint32_t *open = calloc(r->label_count + 1u, sizeof(*open));
	uint32_t *path = malloc((r->node_count + 1u) * sizeof(*path));
	uint32_t depth = 0;

	if (!open || !path) {
		free(open);
		free(path);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < r->node_count; i++) {
		const struct report_node *n = &r->nodes[i];

		while (depth >= n->depth)
			open[path[depth--]]--;
		r->labels[n->label].self += n->self;
		/* A state is no code: what is in it is in the code that it is below. */
		for (uint32_t at = i; frame_kind__is_below(r->labels[r->nodes[at].label].frame.kind) && r->nodes[at].parent;) {
			at = r->nodes[at].parent;
			r->labels[r->nodes[at].label].self += n->self;
		}
		if (!open[n->label]++)
			r->labels[n->label].total += n->total;
		path[++depth] = n->label;
	}
	free(open);
	free(path);
	return 0;
}

static int by_self(const void *a, const void *b)
{
	const struct report_line *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->label != y->label)
		return x->label < y->label ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int count_lines(struct report_builder *b)
{
	struct report *r = b->r;
	const struct tree *p = b->tree;
	struct map64 map = { 0 };	/* label << 32 | line, approximate */
	size_t room = 0;
	int err = -ENOMEM;

	for (uint32_t i = 1; i < p->node_count; i++) {
		/* What is in a state is in the code that it is below. */
		uint32_t node = i, label, number;
		uint64_t code, key;

		while (node && frame_kind__is_below(b->frames->list[p->nodes[node].frame].kind))
			node = p->nodes[node].parent;
		if (report__leaves_out(b, i) || !report__self(b, i) || !node)
			continue;
		code = b->frames->codes[p->nodes[node].frame];
		if (!code__line(code))
			continue;
		label = b->label_of[p->nodes[node].frame];
		key = (uint64_t)label << 32 | (uint32_t)code;
		number = map64__get(&map, key);
		if (number == MAP64_NONE) {
			if (array__reserve(&r->lines, r->line_count, 1, &room, MAP64_NONE, sizeof(*r->lines)))
				goto cleanup;
			number = r->line_count;
			if (map64__add(&map, key, number))
				goto cleanup;
			r->lines[number] = (struct report_line){
				.label = label,
				.line = code__line(code),
				.approximate = code & CODE_APPROXIMATE,
			};
			r->line_count++;
		}
		r->lines[number].self += report__self(b, i);
	}
	if (r->line_count)
		qsort(r->lines, r->line_count, sizeof(*r->lines), by_self);
	err = 0;
cleanup:
	map64__free(&map);
	return err;
}

int report__count(struct report_builder *b)
{
	int err;

	if ((err = count_labels(b)) || (err = count_lines(b)))
		return err;
	return count_missing(b);
}
