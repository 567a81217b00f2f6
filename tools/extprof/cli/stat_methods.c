/* SPDX-License-Identifier: BSD-2-Clause */
/* The methods of a report by their samples. */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat.h"

static bool is_method(const struct extprof_frame *f)
{
	return f->kind <= EXTPROF_FRAME_MARK;
}

/* Frames of one method can differ in the line that ran. */
static int compare(const void *a, const void *b)
{
	const struct extprof_frame *x = ((const struct stat_method *)a)->frame, *y = ((const struct stat_method *)b)->frame;
	int order = x == y ? 0 : strcmp(x->name, y->name);

	if (!order && x != y)
		order = strcmp(x->path, y->path);
	return order ? order : (x->first_line > y->first_line) - (x->first_line < y->first_line);
}

struct counting {
	struct stat_methods *m;
	size_t room;
	void *tree;		/* of struct place */
};

/* Places in the list do not move, the list does. */
struct place {
	struct stat_method key;
	size_t number;
	uint64_t last_stack;	/* recursion counts once */
};

static struct place *place_of(struct counting *c, const struct extprof_frame *frame)
{
	struct place key = { .key = { .frame = frame } }, *place;
	struct place **found = tfind(&key, &c->tree, compare);
	struct stat_method *list;

	if (found)
		return *found;
	if (c->m->count == c->room) {
		c->room = c->room ? 2 * c->room : 64;
		list = reallocarray(c->m->list, c->room, sizeof(*list));
		if (!list)
			return NULL;
		c->m->list = list;
	}
	place = malloc(sizeof(*place));
	if (!place)
		return NULL;
	*place = key;
	place->number = c->m->count;
	if (!tsearch(place, &c->tree, compare)) {
		free(place);
		return NULL;
	}
	c->m->list[c->m->count++] = key.key;
	return place;
}

static int add_stack(struct counting *c, const struct extprof_stack *s, uint64_t number)
{
	bool leaf = true;

	c->m->samples += s->value;
	for (size_t i = s->count; i-- > s->groups;) {
		struct place *place;

		if (!is_method(s->frames[i]))
			continue;
		place = place_of(c, s->frames[i]);
		if (!place)
			return -ENOMEM;
		if (place->last_stack != number)
			c->m->list[place->number].total += s->value;
		place->last_stack = number;
		if (leaf)
			c->m->list[place->number].self += s->value;
		leaf = false;
	}
	return 0;
}

static int by_self(const void *a, const void *b)
{
	const struct stat_method *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return x->total != y->total ? (x->total > y->total ? -1 : 1) : strcmp(x->frame->name, y->frame->name);
}

int stat_methods__count(struct stat_methods *m, struct extprof_report *report)
{
	struct counting c = { .m = m };
	const struct extprof_stack *s;
	uint64_t number = 0;
	int err = 0;

	memset(m, 0, sizeof(*m));
	while (!err && (s = extprof_report_next(report)))
		err = add_stack(&c, s, ++number);
	tdestroy(c.tree, free);
	if (m->count)
		qsort(m->list, m->count, sizeof(*m->list), by_self);
	return err;
}

void stat_methods__free(struct stat_methods *m)
{
	free(m->list);
	memset(m, 0, sizeof(*m));
}
