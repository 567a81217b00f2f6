/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/flame_choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a node among the data, and of what is drawn of it besides the names: about. */
#define NODE_BYTES 12u
#define DRAWN_BYTES 260u

static int by_size(const void *a, const void *b, void *context)
{
	const struct report_node *nodes = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	if (nodes[i].total != nodes[j].total)
		return nodes[i].total > nodes[j].total ? -1 : 1;
	if (nodes[i].depth != nodes[j].depth)
		return nodes[i].depth < nodes[j].depth ? -1 : 1;
	return i < j ? -1 : i > j;
}

static bool is_of(const struct report *r, const struct report_label *l, enum owner_kind kind)
{
	return l->frame.kind == FRAME_RUBY && l->owner < r->owner_count && r->owners[l->owner].kind == kind;
}

static bool has_code_of(const struct report *r, enum owner_kind kind)
{
	for (uint32_t i = 0; i < r->label_count; i++)
		if (is_of(r, &r->labels[i], kind))
			return true;
	return false;
}

int flame_choice__kind(const struct flame_choice *c, const struct report *r, const struct report_label *l)
{
	return c->tells_application && is_of(r, l, OWNER_APP) ? FLAME_APPLICATION : l->frame.kind;
}

/* Labels are numbered as they are needed: those of wide frames have short numbers. */
static void add_label(struct flame_choice *c, const struct report *r, uint32_t number, uint32_t *count)
{
	const struct report_label *l = &r->labels[number];
	struct text place = { 0 };

	if (c->label[number] != FLAME_NONE)
		return;
	c->label[number] = (*count)++;
	text__adds(&c->labels, c->label[number] ? ",\n[\"" : "\n[\"");
	text__add_json(&c->labels, l->name);
	text__adds(&c->labels, "\",\"");
	report__add_place(l->frame.path, report__line(r, l), l->frame.approximate,
			  &place);
	text__add_json(&c->labels, text__string(&place));
	text__addf(&c->labels, "\",%d]", flame_choice__kind(c, r, l));
	c->labels.failed |= place.failed;
	text__free(&place);
}

/* Parents come before children in the order: the root is the first. */
static void choose(struct flame_choice *c, const struct report *r, const uint32_t *order, double min_total)
{
	uint32_t labels = 0;
	size_t drawn = 0;

	for (uint32_t i = 0; i < r->node_count; i++) {
		uint32_t node = order[i];
		const struct report_node *n = &r->nodes[node];
		const struct report_label *l = node ? &r->labels[n->label] : NULL;

		if (node) {
			if (c->number[n->parent] == FLAME_NONE ||
			    (n->depth > r->group_count && n->total < r->nodes[n->parent].total / FLAME_SHARE))
				continue;
			add_label(c, r, n->label, &labels);
			if (c->labels.length + (size_t)NODE_BYTES * c->count > FLAME_DATA_MAX)
				break;
			drawn += DRAWN_BYTES + 2 * strlen(l->name) + strlen(l->frame.path);
		}
		c->number[node] = 0;
		c->count++;
		if (drawn <= FLAME_DRAWN_MAX && (!node || (double)n->total >= min_total)) {
			c->drawn[node] = true;
			if (n->depth + 1 > c->rows)
				c->rows = n->depth + 1;
		}
	}
}

int flame_choice__make(struct flame_choice *c, const struct report *r, double min_total)
{
	uint32_t *order = malloc((r->node_count + 1u) * sizeof(*order)), number = 0;
	int err = -ENOMEM;

	memset(c, 0, sizeof(*c));
	c->number = malloc((r->node_count + 1u) * sizeof(*c->number));
	c->drawn = calloc(r->node_count + 1u, sizeof(*c->drawn));
	c->hidden = calloc(r->node_count + 1u, sizeof(*c->hidden));
	c->label = malloc((r->label_count + 1u) * sizeof(*c->label));
	if (!order || !c->number || !c->drawn || !c->hidden || !c->label)
		goto cleanup;
	memset(c->number, 0xff, (r->node_count + 1u) * sizeof(*c->number));
	memset(c->label, 0xff, (r->label_count + 1u) * sizeof(*c->label));
	for (uint32_t i = 0; i < r->node_count; i++)
		order[i] = i;
	qsort_r(order, r->node_count, sizeof(*order), by_size, r->nodes);
	c->tells_application = has_code_of(r, OWNER_APP) && has_code_of(r, OWNER_GEM);
	choose(c, r, order, min_total);
	for (uint32_t i = 0; i < r->node_count; i++) {
		uint32_t parent = r->nodes[i].parent;

		if (c->number[i] != FLAME_NONE) {
			c->number[i] = number++;
			continue;
		}
		c->hidden_nodes++;
		if (c->number[parent] != FLAME_NONE) {
			c->hidden[parent] += r->nodes[i].total;
			c->hidden_samples += r->nodes[i].total;
		}
	}
	err = c->labels.failed ? -ENOMEM : 0;
cleanup:
	free(order);
	if (err)
		flame_choice__free(c);
	return err;
}

void flame_choice__free(struct flame_choice *c)
{
	free(c->number);
	free(c->drawn);
	free(c->hidden);
	free(c->label);
	text__free(&c->labels);
	memset(c, 0, sizeof(*c));
}
