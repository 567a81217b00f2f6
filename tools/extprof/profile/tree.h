/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Aggregated stacks: a tree of frames, each with what the samples that end there stand for.
 *
 * Its memory is bounded, and no sample is lost for that.  A tree that has no room for
 * another stack first merges what is rare in it: see tree_merge.c.  A sample of which
 * innermost frames were merged stays under the frames that are kept, in a frame
 * [merged] of its own, and is counted in tree::merged.
 */
#ifndef EXTPROF_TREE_H
#define EXTPROF_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map64.h"
#include "frames/frame_table.h"
#include "source/mode.h"

/* Bound.  A tree of so many nodes takes 45 MB with its map; extprof was seen to have
 * 75 to 140 MB in use with it, most of it for the reports at the end. */
#define TREE_NODES_MAX (768u << 10)

struct tree_node {
	uint32_t parent;	/* number of a node before this one */
	uint32_t frame;		/* number in the table of frames */
	uint32_t samples;	/* that end here; no more than UINT32_MAX are counted */
	float squares;		/* the sum of the squares of weight::value of each: how sure a share is */
	struct weight self;	/* what they stand for */
};

struct tree {
	struct tree_node *nodes;	/* nodes[0] is the root, of no frame */
	uint32_t node_count;
	uint32_t node_max;		/* TREE_NODES_MAX; smaller for tests */
	size_t node_room;
	struct map64 node_map;		/* parent << 32 | frame number */
	uint64_t samples;
	uint64_t merged;		/* those that end in a frame [merged] */
	uint64_t merges;		/* how often room was made */
};

int tree__init(struct tree *p);
void tree__free(struct tree *p);

/*
 * Add a stack, outermost frame first.  0, or -ENOMEM: the kernel gave no memory, and
 * no sample was added.  Where the bound is reached, or a frame is FRAME_NO_ROOM, the innermost frames are merged.
 */
int tree__add(struct tree *p, const uint32_t *frames, uint32_t count, const struct weight *weight);

/* The same of `samples` samples, which have that weight together, and those squares. */
int tree__add_samples(struct tree *p, const uint32_t *frames, uint32_t count, uint32_t samples,
		      const struct weight *weight, double squares);

/* The number of a node's child of that frame, which is made if it is new.  0; -ENOMEM: also when there is no room. */
int tree__child(struct tree *p, uint32_t node, uint32_t frame, uint32_t *child);

/* The number of the node of a stack, or MAP64_NONE: the tree does not have it, or it was merged. */
uint32_t tree__find(const struct tree *p, const uint32_t *frames, uint32_t count);

void tree_node__add(struct tree_node *node, uint32_t samples, const struct weight *weight, double squares);

/*
 * Merge what is rare, until half of the nodes are free.  0, or -ENOMEM: nothing has
 * changed.  Nodes get other numbers.
 */
int tree__merge_rare(struct tree *p);

#endif /* EXTPROF_TREE_H */
