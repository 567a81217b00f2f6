/* SPDX-License-Identifier: BSD-2-Clause */
/* The sums of a report: of labels, and of what frames are shown without. */
#include "profile/report_build.h"

#include <errno.h>
#include <stdlib.h>

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

static bool is_of_caller(const struct frame *f)
{
	return frame__part(f, ROWS_BY_METHOD) == PART_OF_CALLER;
}

/* Self of labels by the stacks as they were: of inverted ones the last frame is not the one that ran. */
static void count_self(struct report_builder *b)
{
	const struct tree_node *nodes = b->tree->nodes;

	for (uint32_t i = 1; i < b->tree->node_count; i++) {
		uint32_t at = i;

		if (report__leaves_out(b, i))
			continue;
		for (; at; at = nodes[at].parent) {
			uint32_t label = b->label_of[nodes[at].frame];

			if (label == MAP64_NONE && frame_kind__is_below(frame_table__get(b->frames, nodes[at].frame)->kind))
				continue;
			if (label == MAP64_NONE)
				break;
			b->r->labels[label].self += report__self(b, i);
			if (!is_of_caller(frame_table__get(b->frames, nodes[at].frame)))
				break;
		}
	}
}

/* Self and total of each label; recursion counts once. */
static int count_labels(struct report_builder *b)
{
	bool inverts = b->view.transform && b->view.transform->inverts;
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
		r->labels[n->label].self += inverts ? 0 : n->self;
		/* A state is no code, and a block in C no method: what is in it is in the code that it is below. */
		for (uint32_t at = i; !inverts && is_of_caller(&r->labels[r->nodes[at].label].frame) && r->nodes[at].parent;) {
			at = r->nodes[at].parent;
			r->labels[r->nodes[at].label].self += n->self;
		}
		if (!open[n->label]++)
			r->labels[n->label].total += n->total;
		path[++depth] = n->label;
	}
	if (inverts)
		count_self(b);
	free(open);
	free(path);
	return 0;
}

int report__count(struct report_builder *b)
{
	int err;

	if ((err = count_labels(b)) || (err = report__add_totals(b)))
		return err;
	return count_missing(b);
}
