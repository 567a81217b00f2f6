/* SPDX-License-Identifier: BSD-2-Clause */
/* Views of whole stacks, of a tree whose frames have been chosen: a few methods, and the innermost frame first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/transform.h"

/* -- a few methods ------------------------------------------------------------------------------- */

struct method {
	uint32_t frame;		/* one of it */
	uint64_t amount;	/* of the samples that it is the innermost code of */
	bool kept;
};

struct keeping {
	struct transformed *to;
	struct method *methods;
	uint32_t count;
	struct map64 map;	/* hash -> number of the method */
	uint32_t *of;		/* by node: its innermost code; MAP64_NONE: none */
	uint32_t *groups;	/* by node: number, in the new tree, of the groups that it is in */
	uint32_t *places;	/* by node: its number in the new tree */
	bool *needed;		/* by node: samples of kept methods are in it */
};

static const struct frame *frame_of(const struct keeping *k, uint32_t node)
{
	return frame_table__get(&k->to->frames, k->to->tree.nodes[node].frame);
}

static bool is_same(const struct frame *a, const struct frame *b)
{
	return a->kind == b->kind && a->first_line == b->first_line && a->known == b->known && a->bracketed == b->bracketed &&
	       !strcmp(a->name, b->name) && !strcmp(a->path, b->path) && !strcmp(a->module, b->module);
}

/* MAP64_NONE: out of memory. */
static uint32_t method_of(struct keeping *k, uint32_t node)
{
	const struct frame *f = frame_of(k, node);
	uint64_t hash = hash__bytes(f->name, strlen(f->name), f->kind);
	uint32_t number;

	hash = hash__bytes(f->path, strlen(f->path), hash ^ (uint64_t)(uint32_t)f->first_line << 32);
	while ((number = map64__get(&k->map, hash)) != MAP64_NONE &&
	       !is_same(f, frame_table__get(&k->to->frames, k->methods[number].frame)))
		hash++;
	if (number != MAP64_NONE)
		return number;
	if (map64__add(&k->map, hash, k->count))
		return MAP64_NONE;
	k->methods[k->count].frame = k->to->tree.nodes[node].frame;
	return k->count++;
}

static int by_amount(const void *a, const void *b)
{
	const struct method *x = *(struct method *const *)a, *y = *(struct method *const *)b;

	return x->amount != y->amount ? (x->amount > y->amount ? -1 : 1) : x < y ? -1 : x > y;
}

static int choose(struct keeping *k, const uint64_t *amounts, uint32_t methods)
{
	const struct tree *tree = &k->to->tree;
	struct method **order;

	k->of[0] = MAP64_NONE;
	/* Parents come before children. */
	for (uint32_t i = 1; i < tree->node_count; i++) {
		k->of[i] = k->of[tree->nodes[i].parent];
		if (frame__part(frame_of(k, i), ROWS_BY_METHOD) == PART_OWN && (k->of[i] = method_of(k, i)) == MAP64_NONE)
			return -ENOMEM;
		if (k->of[i] != MAP64_NONE)
			k->methods[k->of[i]].amount += amounts[i];
	}
	order = malloc((k->count + 1u) * sizeof(struct method *));
	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < k->count; i++)
		order[i] = &k->methods[i];
	if (k->count)
		qsort(order, k->count, sizeof(struct method *), by_amount);
	for (uint32_t i = 0; i < k->count && i < methods; i++)
		order[i]->kept = true;
	free(order);
	return 0;
}

static bool is_kept(const struct keeping *k, uint32_t node)
{
	return k->of[node] == MAP64_NONE || k->methods[k->of[node]].kept;
}

static int make_tree(struct keeping *k, struct tree *to)
{
	const struct tree *from = &k->to->tree;
	int err = 0;

	for (uint32_t i = from->node_count; i-- > 1;) {
		k->needed[i] |= from->nodes[i].samples && is_kept(k, i);
		k->needed[from->nodes[i].parent] |= k->needed[i];
	}
	for (uint32_t i = 0; i < from->node_count && !err; i++) {
		const struct tree_node *n = &from->nodes[i];
		uint32_t node = i ? k->groups[n->parent] : 0;
		bool group = !i || frame_kind__is_above(frame_of(k, i)->kind);

		k->groups[i] = node;
		if (i && (group || k->needed[i]))
			err = tree__child(to, group ? node : k->places[n->parent], n->frame, &k->places[i]);
		if (i && group)
			k->groups[i] = k->places[i];
		node = k->places[i];
		if (!err && n->samples && !is_kept(k, i))
			err = tree__child(to, k->groups[i], k->to->others, &node);
		if (err || !n->samples)
			continue;
		tree_node__add(&to->nodes[node], n->samples, &n->self, n->squares);
		to->samples += n->samples;
	}
	to->merged = from->merged;
	return err;
}

int transform__keep_methods(struct transformed *to, const uint64_t *amounts, uint32_t methods)
{
	uint32_t count = to->tree.node_count;
	struct keeping k = { .to = to };
	struct tree tree = { 0 };
	int err = -ENOMEM;

	k.methods = calloc(count, sizeof(*k.methods));
	k.of = calloc(count, sizeof(*k.of));
	k.groups = calloc(count, sizeof(*k.groups));
	k.places = calloc(count, sizeof(*k.places));
	k.needed = calloc(count, sizeof(*k.needed));
	if (!k.methods || !k.of || !k.groups || !k.places || !k.needed || tree__init(&tree))
		goto cleanup;
	/* Each group can have a frame for other methods. */
	tree.node_max = 2 * count + 1;
	err = choose(&k, amounts, methods);
	if (!err)
		err = make_tree(&k, &tree);
cleanup:
	if (err) {
		tree__free(&tree);
	} else {
		tree__free(&to->tree);
		to->tree = tree;
	}
	free(k.methods);
	free(k.of);
	free(k.groups);
	free(k.places);
	free(k.needed);
	map64__free(&k.map);
	return err;
}

/* -- the innermost frame first ------------------------------------------------------------------- */

int transform__invert(const struct transformed *from, const bool *left_out, struct tree *to)
{
	const struct tree *tree = &from->tree;
	uint32_t *depths = calloc(tree->node_count, sizeof(*depths)), *path = NULL, deepest = 0;
	int err = depths ? tree__init(to) : -ENOMEM;

	for (uint32_t i = 1; i < tree->node_count && !err; i++) {
		depths[i] = depths[tree->nodes[i].parent] + 1;
		deepest = depths[i] > deepest ? depths[i] : deepest;
	}
	path = err ? NULL : malloc((deepest + 1u) * sizeof(*path));
	if (!path)
		err = -ENOMEM;
	for (uint32_t i = 0; i < tree->node_count && !err; i++) {
		const struct tree_node *n = &tree->nodes[i];
		uint32_t groups = 0, code = 0;

		if (!n->samples || (left_out && left_out[i]))
			continue;
		for (uint32_t at = i; at; at = tree->nodes[at].parent)
			groups += frame_kind__is_above(frame_table__get(&from->frames, tree->nodes[at].frame)->kind);
		for (uint32_t at = i, group = groups; at; at = tree->nodes[at].parent) {
			uint32_t frame = tree->nodes[at].frame;

			if (frame_kind__is_above(frame_table__get(&from->frames, frame)->kind))
				path[--group] = frame;
			else
				/* FRAME_MERGED below a group means rare stacks of several groups.  In this tree rare
				 * code is below the groups, so it gets another frame. */
				path[groups + code++] = frame == FRAME_MERGED ? from->merged : frame;
		}
		err = tree__add_samples(to, path, depths[i], n->samples, &n->self, n->squares);
	}
	free(depths);
	free(path);
	return err;
}
