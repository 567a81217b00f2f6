/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes room in a full tree.
 *
 * Nodes are ranked: nodes with more samples come first, then nodes nearer to the
 * root, then older ones.  A parent ranks before its children, so that the first ones
 * are a tree by themselves.  They are kept, as many as half of the nodes; the samples
 * of the others move to a child [merged] of the innermost ancestor that is kept.
 *
 * "More samples" is by classes: up to CLASS_EXACT each number is one, beyond it each power of two has eight.  The
 * classes are counted, not sorted.  One merge takes time in proportion to the nodes, and as many nodes as are left must
 * be added before the next one: adding a node stays O(1) on average.  Which nodes are kept depends on the samples and
 * their order alone.
 */
#include "profile/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLASS_EXACT 64u
#define CLASS_ROOT (CLASS_EXACT + 58 * 8)	/* above all others */
#define CLASSES (CLASS_ROOT + 1)
#define NO_CHILD UINT16_MAX
#define GONE (1u << 31)

struct merge {
	struct tree *p;
	uint64_t *totals;	/* by old number: samples of the node and below it */
	uint32_t *depths;	/* by old number */
	uint16_t *rarest;	/* by old number: class of its rarest child, or NO_CHILD */
	uint32_t *moved;	/* by old number: the new one, or GONE | that of the ancestor */
	struct tree_node *tails;	/* by new number: what its child [merged] gets */
	/* The nodes to keep: classes above the border; of this class the depths above `depth`; of this class and depth
	 * the first ones, while they cost less than `budget`. */
	uint16_t border;
	uint32_t depth, depth_max;
	uint64_t budget;
};

static uint16_t class_of(uint64_t total)
{
	unsigned int power;

	if (total < CLASS_EXACT)
		return (uint16_t)total;
	power = 63u - (unsigned int)__builtin_clzll(total);
	return (uint16_t)(CLASS_EXACT + (power - 6) * 8 + (total >> (power - 3) & 7));
}

/* [merged] is made again where it is needed: as a child it is what goes first. */
static uint16_t node_class(const struct merge *m, uint32_t node)
{
	if (!node)
		return CLASS_ROOT;
	return m->p->nodes[node].frame == FRAME_MERGED ? 0 : class_of(m->totals[node]);
}

/* How many nodes it may add, at most: itself, and [merged] below it. */
static unsigned int cost(const struct merge *m, uint32_t node)
{
	return m->rarest[node] == NO_CHILD ? 1 : 2;
}

static void measure(struct merge *m)
{
	const struct tree *p = m->p;

	for (uint32_t i = 0; i < p->node_count; i++) {
		m->totals[i] = p->nodes[i].samples;
		m->rarest[i] = NO_CHILD;
	}
	/* Parents come before children. */
	for (uint32_t i = p->node_count; i-- > 1;) {
		uint32_t parent = p->nodes[i].parent;
		uint16_t class = node_class(m, i);

		m->totals[parent] += m->totals[i];
		if (class < m->rarest[parent])
			m->rarest[parent] = class;
	}
	m->depths[0] = 0;
	for (uint32_t i = 1; i < p->node_count; i++) {
		m->depths[i] = m->depths[p->nodes[i].parent] + 1;
		if (m->depths[i] > m->depth_max)
			m->depth_max = m->depths[i];
	}
}

/* The lowest border above which there are no more than `wanted` nodes. */
static void choose_border(struct merge *m, uint64_t wanted)
{
	int64_t nodes[CLASSES] = { 0 };		/* of the class */
	int64_t merged[CLASSES + 1] = { 0 };	/* [merged] with this border, as differences */
	int64_t above = 0, below = 0;

	for (uint32_t i = 0; i < m->p->node_count; i++) {
		uint16_t class = node_class(m, i);

		nodes[class]++;
		above++;
		/* It is kept and its rarest child is not. */
		if (m->rarest[i] < class) {
			merged[m->rarest[i]]++;
			merged[class]--;
		}
	}
	for (m->border = 0; m->border < CLASS_ROOT; m->border++) {
		above -= nodes[m->border];
		below += merged[m->border];
		if ((uint64_t)(above + below) <= wanted)
			break;
	}
	m->budget = wanted > (uint64_t)(above + below) ? wanted - (uint64_t)(above + below) : 0;
}

/* How deep nodes of the border's class are kept.  A class of no samples never is. */
static int choose_depth(struct merge *m)
{
	uint64_t *costs = calloc((size_t)m->depth_max + 1, sizeof(*costs));

	if (!costs)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->p->node_count; i++)
		if (node_class(m, i) == m->border)
			costs[m->depths[i]] += cost(m, i);
	while (m->depth < m->depth_max && costs[m->depth] <= m->budget)
		m->budget -= costs[m->depth++];
	free(costs);
	return 0;
}

static bool is_kept(struct merge *m, uint32_t node)
{
	uint16_t class = node_class(m, node);

	if (class != m->border)
		return class > m->border;
	if (!class || m->depths[node] != m->depth)
		return class && m->depths[node] < m->depth;
	if (cost(m, node) > m->budget) {
		/* Its younger neighbours go too. */
		m->budget = 0;
		return false;
	}
	m->budget -= cost(m, node);
	return true;
}

/* Close the gaps. */
static void move_nodes(struct merge *m)
{
	struct tree *p = m->p;
	uint32_t kept = 1;

	m->moved[0] = 0;
	for (uint32_t i = 1; i < p->node_count; i++) {
		struct tree_node n = p->nodes[i];
		uint32_t parent = m->moved[n.parent];

		if (!(parent & GONE) && is_kept(m, i)) {
			n.parent = parent;
			p->nodes[kept] = n;
			m->moved[i] = kept++;
			continue;
		}
		m->moved[i] = parent | GONE;
		tree_node__add(&m->tails[parent & ~GONE], n.samples, &n.self, n.squares);
		if (n.frame != FRAME_MERGED)
			p->merged += n.samples;
	}
	p->node_count = kept;
	/* The choice of the kept nodes left room for these. */
	for (uint32_t i = 0; i < kept; i++)
		if (m->tails[i].samples)
			p->nodes[p->node_count++] = (struct tree_node){
				.parent = i, .frame = FRAME_MERGED, .samples = m->tails[i].samples,
				.self = m->tails[i].self };
}

int tree__merge_rare(struct tree *p)
{
	struct merge m = { .p = p };
	size_t count = p->node_count;
	int err = -ENOMEM;

	m.totals = malloc(count * sizeof(*m.totals));
	m.depths = malloc(count * sizeof(*m.depths));
	m.rarest = malloc(count * sizeof(*m.rarest));
	m.moved = malloc(count * sizeof(*m.moved));
	m.tails = calloc(count, sizeof(*m.tails));
	if (!m.totals || !m.depths || !m.rarest || !m.moved || !m.tails)
		goto cleanup;
	measure(&m);
	choose_border(&m, count / 2);
	if (choose_depth(&m))
		goto cleanup;
	move_nodes(&m);
	p->merges++;
	/* Fewer keys than before: the map has memory for them. */
	map64__clear(&p->node_map);
	err = 0;
	for (uint32_t i = 1; i < p->node_count && !err; i++)
		err = map64__add(&p->node_map,
				 (uint64_t)p->nodes[i].parent << 32 | p->nodes[i].frame, i);
cleanup:
	free(m.totals);
	free(m.depths);
	free(m.rarest);
	free(m.moved);
	free(m.tails);
	return err;
}
