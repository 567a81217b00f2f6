/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more element, doubling. */
static int reserve(void **array, uint32_t count, uint32_t *room, uint32_t max, size_t size)
{
	uint32_t bigger = *room ? *room * 2 : 64;
	void *p;

	if (count < *room)
		return 0;
	if (count >= max)
		return -ENOMEM;
	p = realloc(*array, bigger * size);
	if (!p)
		return -ENOMEM;
	*array = p;
	*room = bigger;
	return 0;
}

int tree__init(struct tree *p)
{
	memset(p, 0, sizeof(*p));
	if (reserve((void **)&p->nodes, 0, &p->node_room, 1, sizeof(*p->nodes)))
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

	if (reserve((void **)&p->texts, p->text_count, &p->text_room, TREE_TEXTS_MAX,
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

uint64_t tree__synthetic(struct tree *p, enum synthetic_kind kind, const char *text)
{
	uint64_t hash = hash__bytes(text, strlen(text), kind);
	uint32_t number;

	/* Two texts with one hash: go on to the next. */
	while ((number = map64__get(&p->text_map, hash)) != MAP64_NONE) {
		if (p->texts[number].kind == kind && !strcmp(p->texts[number].text, text))
			return synthetic_frame(number);
		hash++;
	}
	number = add_text(p, kind, text);
	/* One that is not in the map is not found again, that is all. */
	if (number == MAP64_NONE || map64__add(&p->text_map, hash, number))
		return 0;
	return synthetic_frame(number);
}

uint64_t tree__synthetic_later(struct tree *p, enum synthetic_kind kind)
{
	uint32_t number = add_text(p, kind, "");

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

static uint32_t frame_number(struct tree *p, uint64_t frame)
{
	uint32_t number = map64__get(&p->frame_map, frame);

	if (number != MAP64_NONE)
		return number;
	if (reserve((void **)&p->frames, p->frame_count, &p->frame_room, TREE_NODES_MAX,
		    sizeof(*p->frames)) ||
	    map64__add(&p->frame_map, frame, p->frame_count))
		return MAP64_NONE;
	p->frames[p->frame_count] = frame;
	return p->frame_count++;
}

int tree__add(struct tree *p, const uint64_t *frames, uint32_t count)
{
	uint32_t node = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t frame = frame_number(p, frames[i]);
		uint64_t key = (uint64_t)node << 32 | frame;
		uint32_t child;

		if (frame == MAP64_NONE)
			return -ENOMEM;
		child = map64__get(&p->node_map, key);
		if (child == MAP64_NONE) {
			if (reserve((void **)&p->nodes, p->node_count, &p->node_room,
				    TREE_NODES_MAX, sizeof(*p->nodes)) ||
			    map64__add(&p->node_map, key, p->node_count))
				return -ENOMEM;
			child = p->node_count++;
			p->nodes[child].parent = node;
			p->nodes[child].frame = frame;
			p->nodes[child].self = 0;
		}
		node = child;
	}
	p->nodes[node].self++;
	p->samples++;
	return 0;
}
