/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int tree__init(struct tree *p)
{
	memset(p, 0, sizeof(*p));
	p->node_max = TREE_NODES_MAX;
	if (array__reserve(&p->nodes, 0, 1, &p->node_room, p->node_max, sizeof(*p->nodes)))
		return -ENOMEM;
	memset(&p->nodes[0], 0, sizeof(p->nodes[0]));
	p->node_count = 1;
	return 0;
}

void tree__free(struct tree *p)
{
	if (!p)
		return;
	free(p->nodes);
	map64__free(&p->node_map);
	memset(p, 0, sizeof(*p));
}

/* The child of that frame, new if need be; -ENOMEM: also when `max` is reached. */
static int child_of(struct tree *p, uint32_t node, uint32_t frame, uint32_t max, uint32_t *child)
{
	uint64_t key = (uint64_t)node << 32 | frame;

	*child = map64__get(&p->node_map, key);
	if (*child != MAP64_NONE)
		return 0;
	if (array__reserve(&p->nodes, p->node_count, 1, &p->node_room, max, sizeof(*p->nodes)) ||
	    map64__add(&p->node_map, key, p->node_count))
		return -ENOMEM;
	*child = p->node_count++;
	p->nodes[*child] = (struct tree_node){ .parent = node, .frame = frame };
	return 0;
}

/* From the root to `*node`, as far as there is room among `max` nodes.  0; -ENOSPC: the
 * next frame is one too many; -ENOMEM. */
static int descend(struct tree *p, const uint32_t *frames, uint32_t count, uint32_t max,
		   uint32_t *node)
{
	*node = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t child;
		/* The last node is for [merged]. */
		int err = frames[i] == FRAME_NO_ROOM ? -ENOSPC : child_of(p, *node, frames[i], max - 1, &child);

		if (err)
			return err;
		*node = child;
	}
	return 0;
}

int tree__child(struct tree *p, uint32_t node, uint32_t frame, uint32_t *child)
{
	return child_of(p, node, frame, p->node_max, child);
}

uint32_t tree__find(const struct tree *p, const uint32_t *frames, uint32_t count)
{
	uint32_t node = 0;

	for (uint32_t i = 0; i < count && node != MAP64_NONE; i++)
		node = map64__get(&p->node_map, (uint64_t)node << 32 | frames[i]);
	return node;
}

void tree_node__add(struct tree_node *node, uint32_t samples, const struct weight *weight, double squares)
{
	node->samples = samples < UINT32_MAX - node->samples ? node->samples + samples : UINT32_MAX;
	node->self.value += weight->value;
	node->self.count += weight->count;
	node->squares += (float)squares;
}

int tree__add_samples(struct tree *p, const uint32_t *frames, uint32_t count, uint32_t samples,
		      const struct weight *weight, double squares)
{
	for (bool again = false;; again = true) {
		/* Memory that could not be had is not asked for again. */
		uint32_t max = again ? (uint32_t)p->node_room : p->node_max, node;
		int err = descend(p, frames, count, max, &node);

		/* More nodes do not help against too many frames, or if they were not enough. */
		if ((err == -ENOSPC || (err && again)) && !child_of(p, node, FRAME_MERGED, p->node_max, &node)) {
			p->merged += samples;
			err = 0;
		}
		if (!err) {
			tree_node__add(&p->nodes[node], samples, weight, squares);
			p->samples += samples;
			return 0;
		}
		/* Nodes of this stack that were added have no samples: they go first. */
		if (again || tree__merge_rare(p))
			return -ENOMEM;
	}
}

int tree__add(struct tree *p, const uint32_t *frames, uint32_t count, const struct weight *weight)
{
	return tree__add_samples(p, frames, count, 1, weight, (double)weight->value * (double)weight->value);
}
