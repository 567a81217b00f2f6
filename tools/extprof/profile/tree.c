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
	p->frame_max = TREE_FRAMES_MAX;
	p->merged_frame = MAP64_NONE;
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
	for (uint32_t i = 0; i < p->text_count; i++)
		free(p->texts[i].text);
	free(p->texts);
	free(p->frames);
	free(p->nodes);
	map64__free(&p->node_map);
	map64__free(&p->frame_map);
	map64__free(&p->text_map);
	memset(p, 0, sizeof(*p));
}

/* The number of a new text, or MAP64_NONE. */
static uint32_t add_text(struct tree *p, enum synthetic_kind kind, const char *text)
{
	struct tree_text *t;

	/* Two more than TREE_TEXTS_MAX: see has_room_of_its_own(). */
	if (array__reserve(&p->texts, p->text_count, 1, &p->text_room, TREE_TEXTS_MAX + 2,
			   sizeof(*p->texts)))
		return MAP64_NONE;
	t = &p->texts[p->text_count];
	t->kind = (uint8_t)kind;
	t->text = strdup(text);
	return t->text ? p->text_count++ : MAP64_NONE;
}

static uint64_t synthetic_frame(uint32_t number)
{
	return FRAME_SYNTHETIC | (uint64_t)number << 32;
}

static const char crowded_native[] = "[one of too many native threads]";

static bool has_room_of_its_own(enum synthetic_kind kind, const char *text)
{
	return kind == SYNTHETIC_MERGED || (kind == SYNTHETIC_NATIVE && !strcmp(text, crowded_native));
}

/* The frame of a text that the tree has, or 0 and the hash under which to add it. */
static uint64_t find_text(const struct tree *p, enum synthetic_kind kind, const char *text, uint64_t *hash)
{
	uint32_t number;

	*hash = hash__bytes(text, strlen(text), kind);
	/* Two texts with one hash: go on to the next. */
	while ((number = map64__get(&p->text_map, *hash)) != MAP64_NONE) {
		if (p->texts[number].kind == kind && !strcmp(p->texts[number].text, text))
			return synthetic_frame(number);
		++*hash;
	}
	return 0;
}

uint64_t tree__find_synthetic(const struct tree *p, enum synthetic_kind kind, const char *text)
{
	uint64_t hash;

	return find_text(p, kind, text, &hash);
}

uint64_t tree__synthetic(struct tree *p, enum synthetic_kind kind, const char *text)
{
	uint64_t hash, frame = find_text(p, kind, text, &hash);
	uint32_t number;

	if (frame)
		return frame;
	if (p->text_count >= TREE_TEXTS_MAX && !has_room_of_its_own(kind, text))
		return kind == SYNTHETIC_NATIVE ? tree__synthetic(p, kind, crowded_native) : 0;
	number = add_text(p, kind, text);
	/* A text that is not in the map stays in the list and is not found again. */
	if (number == MAP64_NONE || map64__add(&p->text_map, hash, number))
		return 0;
	return synthetic_frame(number);
}

uint64_t tree__synthetic_later(struct tree *p, enum synthetic_kind kind)
{
	uint32_t number = p->text_count < TREE_TEXTS_MAX ? add_text(p, kind, "") : MAP64_NONE;

	return number == MAP64_NONE ? 0 : synthetic_frame(number);
}

int tree__set_text(struct tree *p, uint64_t frame, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(p->texts[frame__number(frame)].text);
	p->texts[frame__number(frame)].text = copy;
	return 0;
}

/* The number of the frame, new if need be.  0; -ENOSPC: there are too many; -ENOMEM. */
static int number_frame(struct tree *p, uint64_t frame, uint32_t max, uint32_t *number)
{
	*number = map64__get(&p->frame_map, frame);
	if (*number != MAP64_NONE)
		return 0;
	if (p->frame_count >= max)
		return -ENOSPC;
	if (array__reserve(&p->frames, p->frame_count, 1, &p->frame_room, max,
			   sizeof(*p->frames)) ||
	    map64__add(&p->frame_map, frame, p->frame_count))
		return -ENOMEM;
	*number = p->frame_count++;
	p->frames[*number] = frame;
	return 0;
}

uint32_t tree__merged_frame(struct tree *p)
{
	uint64_t frame;

	if (p->merged_frame != MAP64_NONE)
		return p->merged_frame;
	frame = tree__synthetic(p, SYNTHETIC_MERGED, "[merged]");
	/* `max` is one larger than for other frames. */
	if (frame)
		number_frame(p, frame, p->frame_max + 1, &p->merged_frame);
	return p->merged_frame;
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
static int descend(struct tree *p, const uint64_t *frames, uint32_t count, uint32_t max,
		   uint32_t *node)
{
	*node = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t frame, child;
		int err = number_frame(p, frames[i], p->frame_max, &frame);

		/* The last node is for [merged]. */
		if (!err)
			err = child_of(p, *node, frame, max - 1, &child);
		if (err)
			return err;
		*node = child;
	}
	return 0;
}

void tree_node__add(struct tree_node *node, uint32_t samples, const struct weight *weight)
{
	node->samples = samples < UINT32_MAX - node->samples ? node->samples + samples : UINT32_MAX;
	node->self.value += weight->value;
	node->self.count += weight->count;
}

int tree__add(struct tree *p, const uint64_t *frames, uint32_t count, const struct weight *weight)
{
	for (bool again = false;; again = true) {
		/* Memory that could not be had is not asked for again. */
		uint32_t max = again ? (uint32_t)p->node_room : p->node_max, node, frame;
		int err = descend(p, frames, count, max, &node);

		/* More nodes do not help against too many frames, or if they were not enough. */
		if (err == -ENOSPC || (err && again)) {
			frame = tree__merged_frame(p);
			if (frame != MAP64_NONE && !child_of(p, node, frame, p->node_max, &node)) {
				p->merged++;
				err = 0;
			}
		}
		if (!err) {
			tree_node__add(&p->nodes[node], 1, weight);
			p->samples++;
			return 0;
		}
		/* Nodes of this stack that were added have no samples: they go first. */
		if (again || tree__merge_rare(p))
			return -ENOMEM;
	}
}
