/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the stacks of a tree are in its report: for who wants to show one sample after the other. */
#include "profile/report_build.h"

#include <errno.h>
#include <stdlib.h>

/* The node of the report in which the samples of a node are; REPORT_NOWHERE: in none. */
static uint32_t place_of(const struct report_builder *b, uint32_t node)
{
	if (b->transformed.places)
		node = b->transformed.places[node];
	if (node == MAP64_NONE || b->merged[node] == MAP64_NONE)
		return REPORT_NOWHERE;
	return b->order[b->merged[node]];
}

int report__find_places(struct report_builder *b, const struct tree *tree)
{
	struct report *r = b->r;
	uint32_t *near = calloc(tree->node_count, sizeof(*near));

	r->places = calloc(tree->node_count, sizeof(*r->places));
	if (!near || !r->places) {
		free(near);
		return -ENOMEM;
	}
	r->place_count = tree->node_count;
	/* Parents come before children. */
	for (uint32_t i = 0; i < tree->node_count; i++) {
		struct report_place *place = &r->places[i];
		uint32_t node = place_of(b, i);

		near[i] = node != REPORT_NOWHERE || !i ? node : near[tree->nodes[i].parent];
		place->idle = b->is_idle && b->is_idle[i];
		/* For an idle node that is not shown, take its nearest ancestor that is shown: at least the thread is
		 * right. */
		place->node = place->idle && !r->idle.shown ? near[i] : node;
	}
	free(near);
	return 0;
}
