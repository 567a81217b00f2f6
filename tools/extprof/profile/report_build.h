/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps of report__build(), which are in several files.  For them only. */
#ifndef EXTPROF_REPORT_BUILD_H
#define EXTPROF_REPORT_BUILD_H

#include "frames/frame_table.h"
#include "profile/report.h"
#include "profile/transform.h"
#include "profile/tree.h"

/* A program starts few scripts of gems: those beyond are not known as such. */
#define REPORT_SCRIPTS_MAX 64u

struct report_builder {
	struct report *r;
	const struct tree *tree;
	const struct frame_table *frames;
	struct tree busy;		/* what the first is without idle threads */
	bool leaves_empty;		/* what has no samples, and none below it, is not in the report */
	struct transformed transformed;	/* what the two are if it was asked for */
	struct tree inverted;		/* its stacks as they are shown, if that is the other way round */
	struct report_view view;
	bool *left_out;		/* by node: of another mode; NULL: none is */
	bool *used;		/* by number of the frame: a node has it; others were merged away */
	uint32_t *label_of;	/* by number of the frame; MAP64_NONE: not used, or of a group */
	size_t label_room;
	struct map64 label_map;	/* by hash */
	/* The report's tree before it is put in order. */
	struct loose_node {
		uint32_t parent, label, first_child, next;
		uint64_t self, total;
		struct weight weight;
		float squares;
	} *loose;
	uint32_t loose_count;
	/* If places are wanted. */
	bool *is_idle;			/* by node of the tree that the report is made of; NULL: none is */
	uint32_t *merged;		/* by node of `tree`: number of a loose node; MAP64_NONE */
	uint32_t *order;		/* by loose node: number of the report's node */
	struct owner_rules rules;	/* those of the view, and the scripts */
	const char *scripts[REPORT_SCRIPTS_MAX];
	struct map64 owner_map;	/* by hash */
	size_t owner_room;
};

/* The label of a frame.  MAP64_NONE: out of memory. */
uint32_t report__label(struct report_builder *b, const struct frame *frame);

/* The amount that a node of the tree counts for itself. */
static inline uint64_t report__self(const struct report_builder *b, uint32_t node)
{
	const struct weight *self = &b->tree->nodes[node].self;

	return b->view.by_value ? self->value : self->count;
}

/* The sum of the squares of what each of its samples stands for.  For counts it is approximate. */
static inline double report__squares(const struct report_builder *b, uint32_t node)
{
	const struct tree_node *n = &b->tree->nodes[node];
	double count = (double)n->self.count;

	return b->view.by_value ? (double)n->squares : n->samples ? count * count / n->samples : 0;
}

static inline bool report__leaves_out(const struct report_builder *b, uint32_t node)
{
	return b->left_out && b->left_out[node];
}

/* A node is counted for that number of a list; MAP64_NONE: for none. */
struct report_callers {
	const uint32_t *of;			/* by node */
	const uint64_t *totals;			/* by node: its samples, and those below it */
	const uint32_t *child, *next;		/* by node: its first child, and the next one of its parent; 0: none */
};

/* Say of the totals with most in the application what they call: before their list is put in order. */
int report__find_callees(const struct report_builder *b, const struct report_callers *c, struct report_totals *to);

/* Before all others: the rules by which code is the application's know the scripts of gems that are in the profile. */
void report__find_scripts(struct report_builder *b);

/* Then: idle threads are listed, and are not in the tree any more if that was not asked for. */
int report__find_idle(struct report_builder *b);

/* In this order.  0 or -ENOMEM. */
int report__find_owners(struct report_builder *b);
int report__merge_tree(struct report_builder *b);
int report__distinguish(struct report_builder *b);
int report__order_tree(struct report_builder *b);
int report__count(struct report_builder *b);
int report__find_places(struct report_builder *b, const struct tree *tree);
int report__add_totals(struct report_builder *b);

#endif /* EXTPROF_REPORT_BUILD_H */
