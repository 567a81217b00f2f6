/* SPDX-License-Identifier: BSD-2-Clause */
/* The tree keeps every sample within its bounds.  What it must be is worked out beside
 * it from all the stacks that were added. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "no_memory.h"
#include "profile/tree.h"

static struct tree tree;

/* Frame of a symbol. */
static uint32_t f(uint32_t number)
{
	return number + 1;
}

static bool is_merged(uint32_t node)
{
	return node && tree.nodes[node].frame == FRAME_MERGED;
}

/* The stack of a node, outermost first; how many frames. */
static uint32_t stack_of(uint32_t node, uint32_t *frames, uint32_t max)
{
	uint32_t depth = 0, at = node;

	for (; at && depth < max; at = tree.nodes[at].parent)
		depth++;
	at = node;
	for (uint32_t i = depth; i-- > 0; at = tree.nodes[at].parent)
		frames[i] = tree.nodes[at].frame;
	return depth;
}

/* Samples of a node and of all below it. */
static uint64_t total_of(uint32_t node)
{
	uint64_t sum = tree.nodes[node].self.count;

	for (uint32_t i = node + 1; i < tree.node_count; i++)
		for (uint32_t at = tree.nodes[i].parent; ; at = tree.nodes[at].parent) {
			if (at == node) {
				sum += tree.nodes[i].self.count;
				break;
			}
			if (!at)
				break;
		}
	return sum;
}

/* The node of a stack, or MAP64_NONE. */
static uint32_t node_of(const uint32_t *frames, uint32_t count)
{
	uint32_t node = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t next = MAP64_NONE;

		for (uint32_t j = node + 1; j < tree.node_count; j++)
			if (tree.nodes[j].parent == node &&
			    tree.nodes[j].frame == frames[i])
				next = j;
		if (next == MAP64_NONE)
			return MAP64_NONE;
		node = next;
	}
	return node;
}

/* What holds for every tree. */
static void check_shape(void)
{
	uint64_t self = 0, merged = 0;

	CHECK(tree.node_count <= tree.node_max);
	CHECK_INT(tree.nodes[0].parent, 0);
	for (uint32_t i = 0; i < tree.node_count; i++) {
		const struct tree_node *n = &tree.nodes[i];

		self += n->samples;
		merged += is_merged(i) ? n->samples : 0;
		if (!i)
			continue;
		CHECK(n->parent < i);
		/* Nothing is below [merged], and there is none without a sample. */
		CHECK(!is_merged(n->parent));
		CHECK(!is_merged(i) || n->samples);
		/* The map finds it. */
		CHECK_INT(map64__get(&tree.node_map, (uint64_t)n->parent << 32 | n->frame), i);
	}
	CHECK_INT(self, tree.samples);
	CHECK_INT(merged, tree.merged);
	CHECK_INT(tree.node_map.count, tree.node_count - 1);
}

static void set_up(uint32_t node_max)
{
	tree__init(&tree);
	tree.node_max = node_max;
}

TEST(tree_counts_stacks)
{
	uint32_t a[] = { f(1), f(2), f(3) }, b[] = { f(1), f(2) };

	set_up(TREE_NODES_MAX);
	CHECK_INT(tree__add(&tree, a, 3, &one_sample), 0);
	CHECK_INT(tree__add(&tree, a, 3, &one_sample), 0);
	CHECK_INT(tree__add(&tree, b, 2, &one_sample), 0);
	CHECK_INT(tree__add(&tree, a, 0, &one_sample), 0);
	CHECK_INT(tree.node_count, 4);
	CHECK_INT(tree.nodes[node_of(a, 3)].self.count, 2);
	CHECK_INT(tree.nodes[node_of(b, 2)].self.count, 1);
	CHECK_INT(tree.nodes[0].self.count, 1);
	CHECK_INT(tree.samples, 4);
	CHECK_INT(tree.merged, 0);
	check_shape();
	tree__free(&tree);
}

/* The samples that end in this node; -1: there is no such node. */
static long long self_of(const uint32_t *frames, uint32_t count)
{
	uint32_t node = node_of(frames, count);

	return node == MAP64_NONE ? -1 : (long long)tree.nodes[node].self.count;
}

TEST(tree_merges_what_is_rare_and_deep)
{
	uint32_t often[] = { f(1), f(2), f(3) }, merged;
	uint32_t rare[11] = { f(1) }, part[12] = { f(1), f(2) };

	/* 10 samples in 1;2;3, one in 1;40;...;49 and one in 1;2;70;...;79. */
	set_up(TREE_NODES_MAX);
	for (uint32_t i = 0; i < 10; i++) {
		tree__add(&tree, often, 3, &one_sample);
		rare[1 + i] = f(40 + i);
		part[2 + i] = f(70 + i);
	}
	tree__add(&tree, rare, 11, &one_sample);
	tree__add(&tree, part, 12, &one_sample);
	CHECK_INT(tree.node_count, 24);
	/* Of 12 nodes 6 go to the root, 1, 2, 3 and [merged] below 1 and 2; 40, 41 and 70
	 * with [merged] below each take the others. */
	CHECK_INT(tree__merge_rare(&tree), 0);
	CHECK_INT(tree.node_count, 9);
	merged = FRAME_MERGED;
	CHECK_INT(self_of(often, 3), 10);
	rare[3] = part[3] = merged;
	CHECK_INT(self_of(rare, 4), 1);
	CHECK_INT(self_of(part, 4), 1);
	CHECK_INT(tree.samples, 12);
	CHECK_INT(tree.merged, 2);
	check_shape();
	/* They are still there when they are hit again. */
	tree__add(&tree, rare, 3, &one_sample);
	tree__add(&tree, often, 3, &one_sample);
	CHECK_INT(self_of(rare, 3), 1);
	CHECK_INT(self_of(rare, 4), 1);
	CHECK_INT(self_of(often, 3), 11);
	CHECK_INT(tree.merged, 2);
	check_shape();
	tree__free(&tree);
}

TEST(tree_keeps_the_frequent_stack_whole_and_cuts_tails_at_one_depth)
{
	uint32_t often[8], stack[8], merged;
	uint32_t node;

	/* One stack of 8 frames 50 times, ten of 8 frames once that part at the first. */
	set_up(TREE_NODES_MAX);
	for (uint32_t i = 0; i < 8; i++)
		often[i] = f(100 + i);
	for (int i = 0; i < 50; i++)
		tree__add(&tree, often, 8, &one_sample);
	for (uint32_t s = 0; s < 10; s++) {
		for (uint32_t i = 0; i < 8; i++)
			stack[i] = i ? f(1000 + s * 10 + i) : f(100);
		tree__add(&tree, stack, 8, &one_sample);
	}
	CHECK_INT(tree.node_count, 1 + 8 + 70);
	/* Half of 79 is 39: the root, the 8 and [merged]; of the 29 others 2 for each node of
	 * the ten: 20 at depth 2, then 4 nodes at depth 3. */
	CHECK_INT(tree__merge_rare(&tree), 0);
	merged = FRAME_MERGED;
	CHECK(node_of(often, 8) != MAP64_NONE);
	CHECK_INT(self_of(often, 8), 50);
	CHECK_INT(tree.merged, 10);
	for (uint32_t s = 0; s < 10; s++) {
		uint32_t kept = s < 4 ? 3 : 2;

		for (uint32_t i = 0; i < 8; i++)
			stack[i] = i ? f(1000 + s * 10 + i) : f(100);
		stack[kept] = merged;
		node = node_of(stack, kept + 1);
		CHECK(node != MAP64_NONE);
		CHECK_INT(tree.nodes[node].self.count, 1);
	}
	CHECK_INT(tree.node_count, 1 + 8 + 4 * 3 + 6 * 2);
	CHECK_INT(tree.samples, 60);
	check_shape();
	tree__free(&tree);
}

TEST(tree_keeps_the_older_of_what_is_equal)
{
	uint32_t frame, merged;

	set_up(TREE_NODES_MAX);
	for (uint32_t i = 0; i < 99; i++) {
		frame = f(i);
		tree__add(&tree, &frame, 1, &one_sample);
	}
	/* Of 100 nodes 50: the root, [merged], and 48. */
	CHECK_INT(tree__merge_rare(&tree), 0);
	CHECK_INT(tree.node_count, 50);
	for (uint32_t i = 0; i < 99; i++) {
		frame = f(i);
		CHECK((node_of(&frame, 1) != MAP64_NONE) == (i < 48));
	}
	merged = FRAME_MERGED;
	CHECK_INT(tree.nodes[node_of(&merged, 1)].self.count, 51);
	CHECK_INT(tree.merged, 51);
	check_shape();
	tree__free(&tree);
}

/* All stacks that were added, for comparison. */
struct added {
	uint32_t frames[40];
	uint32_t count;
};

static bool begins_with(const struct added *a, const uint32_t *frames, uint32_t count)
{
	return a->count >= count && !memcmp(a->frames, frames, count * sizeof(*frames));
}

/* A stack of 20 frames, each one of two: after the first few, nearly all differ.  A
 * third of the samples is in four stacks. */
static void random_stack(struct added *a)
{
	uint32_t which = test__random() % 12;

	a->count = 20;
	for (uint32_t i = 0; i < 20; i++)
		a->frames[i] = f(which < 4 ? 100 + which : test__random() & 1);
}

TEST(tree_loses_no_sample_however_often_it_is_full)
{
	static struct added all[20000];
	uint32_t samples = 20000, frequent = 0;
	uint32_t stack[40];
	uint64_t merges_before = 0;

	set_up(4096);
	for (uint32_t i = 0; i < samples; i++) {
		random_stack(&all[i]);
		CHECK_INT(tree__add(&tree, all[i].frames, all[i].count, &one_sample), 0);
		CHECK(tree.node_count <= 4096);
		/* Whenever it was full. */
		if (tree.merges != merges_before && tree.merges % 8 == 1)
			check_shape();
		merges_before = tree.merges;
	}
	CHECK_INT(tree.samples, samples);
	CHECK(tree.merged > samples / 3);
	/* A merge frees half: it is needed once for as many new nodes, each sample has at most 20. */
	CHECK(tree.merges > 10);
	CHECK(tree.merges <= samples * 20ull / 2000);
	check_shape();
	/* The frequent ones are whole, and each of their samples is there. */
	for (uint32_t which = 0; which < 4; which++) {
		uint32_t added = 0;

		for (uint32_t j = 0; j < 20; j++)
			stack[j] = f(100 + which);
		for (uint32_t i = 0; i < samples; i++)
			added += begins_with(&all[i], stack, 20);
		CHECK(node_of(stack, 20) != MAP64_NONE);
		CHECK_INT(tree.nodes[node_of(stack, 20)].self.count, added);
		frequent += added;
	}
	CHECK(frequent > samples / 4);
	/* No node shows a sample that was not there: at the first levels all of them are. */
	for (uint32_t i = 1; i < tree.node_count; i++) {
		uint32_t depth = stack_of(i, stack, 40), added = 0;

		if (is_merged(i) || depth > 4)
			continue;
		for (uint32_t j = 0; j < samples; j++)
			added += begins_with(&all[j], stack, depth);
		CHECK_INT(total_of(i), added);
	}
	for (uint32_t i = 1; i < tree.node_count; i += 7) {
		uint32_t depth = stack_of(i, stack, 40), added = 0;

		if (is_merged(i))
			continue;
		for (uint32_t j = 0; j < samples; j++)
			added += begins_with(&all[j], stack, depth);
		CHECK(total_of(i) <= added);
		CHECK(total_of(i) > 0);
	}
	tree__free(&tree);
}

TEST(tree_is_the_same_for_the_same_samples)
{
	static struct tree_node first[4096];
	uint32_t count = 0;
	struct added a;
	uint32_t state;

	for (int round = 0; round < 2; round++) {
		set_up(1000);
		state = 12345;
		for (uint32_t i = 0; i < 3000; i++) {
			a.count = 15;
			for (uint32_t j = 0; j < 15; j++) {
				state = state * 1664525 + 1013904223;
				a.frames[j] = f(state >> 30);
			}
			CHECK_INT(tree__add(&tree, a.frames, a.count, &one_sample), 0);
		}
		CHECK(tree.merges > 3);
		if (!round) {
			count = tree.node_count;
			memcpy(first, tree.nodes, count * sizeof(*first));
		} else {
			CHECK_INT(tree.node_count, count);
			CHECK(!memcmp(first, tree.nodes, count * sizeof(*first)));
		}
		tree__free(&tree);
	}
}

TEST(tree_merges_a_stack_that_is_longer_than_all_of_it)
{
	static uint32_t stack[500];
	uint32_t other = f(7);

	set_up(64);
	for (uint32_t i = 0; i < 500; i++)
		stack[i] = f(1000 + i);
	for (int round = 0; round < 3; round++) {
		CHECK_INT(tree__add(&tree, stack, 500, &one_sample), 0);
		CHECK_INT(tree__add(&tree, &other, 1, &one_sample), 0);
		check_shape();
	}
	CHECK_INT(tree.samples, 6);
	CHECK_INT(tree.merged, 3);
	CHECK_INT(tree.nodes[node_of(&other, 1)].self.count, 3);
	tree__free(&tree);
}

TEST(tree_merges_frames_beyond_their_bound)
{
	uint32_t stack[3];

	set_up(500);
	for (uint32_t i = 0; i < 5000; i++) {
		stack[0] = f(0);
		stack[1] = i < 100 ? f(i) : FRAME_NO_ROOM;
		stack[2] = f(1);
		CHECK_INT(tree__add(&tree, stack, 3, &one_sample), 0);
	}
	CHECK_INT(tree.samples, 5000);
	/* 0 to 99 are known, and nothing had to go for the others. */
	CHECK_INT(tree.merged, 4900);
	CHECK_INT(tree.merges, 0);
	stack[1] = FRAME_MERGED;
	CHECK_INT(tree.nodes[node_of(stack, 2)].self.count, 4900);
	check_shape();
	tree__free(&tree);
}

TEST(tree_with_neither_frames_nor_nodes_keeps_the_samples)
{
	uint32_t stack[3];

	set_up(40);
	for (uint32_t i = 0; i < 5000; i++) {
		stack[0] = f(test__random() % 30);
		stack[1] = f(test__random() % 30);
		stack[2] = test__random() % 2 ? f(test__random() % 30) : FRAME_NO_ROOM;
		CHECK_INT(tree__add(&tree, stack, 3, &one_sample), 0);
	}
	CHECK_INT(tree.samples, 5000);
	check_shape();
	tree__free(&tree);
}

static int add_with(bool *shortage, const uint32_t *frames, uint32_t count)
{
	int err;

	*shortage = true;
	err = tree__add(&tree, frames, count, &one_sample);
	*shortage = false;
	return err;
}

TEST(tree_without_memory_adds_nothing_or_makes_room)
{
	static uint32_t stack[3000];

	set_up(TREE_NODES_MAX);
	for (uint32_t i = 0; i < 3000; i++)
		stack[i] = f(i % 10);
	/* Not even for a merge. */
	CHECK_INT(add_with(&no_memory, stack, 3000), -ENOMEM);
	CHECK_INT(tree.samples, 0);
	CHECK_INT(tree__add(&tree, stack, 3000, &one_sample), 0);
	CHECK_INT(tree.samples, 1);
	CHECK_INT(tree.merged, 0);
	CHECK_INT(tree.nodes[node_of(stack, 3000)].self.count, 1);
	/* No larger arrays from now on: the samples stay, tails go. */
	for (uint32_t i = 0; i < 100; i++) {
		stack[0] = f(i % 10);
		stack[1] = f(i / 10);
		CHECK_INT(add_with(&no_bigger, stack, 3000), 0);
	}
	CHECK_INT(tree.samples, 101);
	CHECK(tree.merged > 0);
	CHECK(tree.node_count <= 4096);
	check_shape();
	tree__free(&tree);
}
