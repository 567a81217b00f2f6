/* SPDX-License-Identifier: BSD-2-Clause */
/* The tree of a report: merged by label, with the groups that are shown, in order. */
#include "profile/report_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "profile/service.h"

struct merge {
	struct report_builder *b;
	struct map64 children;	/* parent << 32 | label -> number of a loose node */
	uint32_t *merged;	/* by node of the profile's tree; MAP64_NONE: none yet */
	bool *is_group;		/* by node of the profile's tree */
};

static const struct frame *frame_of(const struct merge *m, uint32_t node)
{
	return frame_table__get(m->b->frames, m->b->tree->nodes[node].frame);
}

/* The child of a loose node with that label, made if it is new.  MAP64_NONE: out of memory. */
static uint32_t child_of(struct merge *m, uint32_t parent, uint32_t label)
{
	uint64_t key = (uint64_t)parent << 32 | label;
	uint32_t node = map64__get(&m->children, key);
	struct loose_node *l;

	if (node != MAP64_NONE)
		return node;
	if (map64__add(&m->children, key, m->b->loose_count))
		return MAP64_NONE;
	l = &m->b->loose[m->b->loose_count];
	l->parent = parent;
	l->label = label;
	return m->b->loose_count++;
}

/* The groups of the stacks of a node, as the profile knows them.  NULL: the level was merged with others, or the
 * profile does not have it. */
struct levels {
	const struct frame *process, *thread;
	const struct frame *labels[GROUP_LABELS_MAX];	/* in the order of groups::labels */
};

static uint32_t label_label(struct merge *m, const struct frame *of, bool merged)
{
	struct frame f = FRAME_INIT(FRAME_LABEL);

	f.known = merged ? KNOWN_MERGED : KNOWN_NOT;
	return report__label(m->b, of ? of : &f);
}

/* The label of a level for an attribute that the process of the stacks says of itself; NULL: for its service. */
static uint32_t resource_label(struct merge *m, const char *attribute, const struct frame *process, bool merged)
{
	struct frame f = FRAME_INIT(FRAME_LABEL);
	char value[SERVICE_SIZE];

	f.key = attribute ? attribute : group_names[GROUP_SERVICE];
	f.known = process ? process->known : merged ? KNOWN_MERGED : KNOWN_NOT;
	if (f.known == KNOWN && !(attribute ? attributes__find(process->module, attribute, value, sizeof(value)) :
				  service__find(process->module, process->name, value, sizeof(value))))
		f.known = KNOWN_NOT_SET;
	f.name = f.known == KNOWN ? value : "";
	return report__label(m->b, &f);
}

/* The label of one level of groups, for stacks of that process and thread. */
static uint32_t group_label(struct merge *m, uint8_t key, const struct frame *process,
			    const struct frame *thread, bool merged)
{
	static const uint8_t kinds[GROUP_KEYS] = {
		[GROUP_PROCESS] = FRAME_PROCESS, [GROUP_THREAD] = FRAME_THREAD, [GROUP_THREAD_PATTERN] = FRAME_THREAD,
		[GROUP_CGROUP] = FRAME_CGROUP, [GROUP_COMMAND] = FRAME_PROCESS,
	};
	const struct frame *of = kinds[key] == FRAME_THREAD ? thread : process;
	struct frame f = FRAME_INIT(kinds[key]);

	if (of && kinds[key] == of->kind && key != GROUP_THREAD_PATTERN) {
		f = *of;
		/* A process of which nothing else is known stays one of its own. */
		if (key == GROUP_COMMAND && *of->name)
			f.pid = 0;
		/* What a process says of itself makes levels of its own. */
		if (of->kind == FRAME_PROCESS)
			f.module = "";
		return report__label(m->b, &f);
	}
	/* It is known, but what it belongs to is not. */
	f.known = merged && !of ? KNOWN_MERGED : KNOWN_NOT;
	if (of && (*of->wider || of->known)) {
		f.known = of->known;
		f.role = of->role;
		f.name = of->wider;
	}
	return report__label(m->b, &f);
}

static uint32_t level_label(struct merge *m, const struct groups *g, uint8_t key, const struct levels *of, bool merged)
{
	if (key == GROUP_SERVICE)
		return resource_label(m, NULL, of->process, merged);
	if (key >= GROUP_RESOURCE)
		return resource_label(m, g->resources[key - GROUP_RESOURCE], of->process, merged);
	if (group__is_label(key))
		return label_label(m, of->labels[key - GROUP_LABEL], merged);
	return group_label(m, key, of->process, of->thread, merged);
}

/*
 * The loose node below which the stacks of a group are: `node` is the root of the profile's tree or one
 * of its groups.  Each stack gets all levels that are shown, whatever the profile knows of it.  merged:
 * it is that of rare stacks, which may be of several groups below `node`.
 */
static uint32_t base_of(struct merge *m, uint32_t node, bool merged)
{
	const struct groups *g = &m->b->r->groups;
	const struct frame *labels[GROUP_LABELS_MAX];	/* innermost first */
	struct levels of = { 0 };
	uint32_t base = 0, n = 0;

	if (!merged && m->merged[node] != MAP64_NONE)
		return m->merged[node];
	for (uint32_t i = node; i; i = m->b->tree->nodes[i].parent) {
		if (frame_of(m, i)->kind == FRAME_PROCESS)
			of.process = frame_of(m, i);
		else if (frame_of(m, i)->kind == FRAME_THREAD)
			of.thread = frame_of(m, i);
		else if (frame_of(m, i)->kind == FRAME_LABEL && n < GROUP_LABELS_MAX)
			labels[n++] = frame_of(m, i);
	}
	for (uint32_t i = 0; i < n; i++)
		of.labels[i] = labels[n - 1 - i];
	for (int i = 0; i < g->count && base != MAP64_NONE; i++) {
		uint32_t label = level_label(m, g, g->keys[i], &of, merged);

		base = label == MAP64_NONE ? MAP64_NONE : child_of(m, base, label);
	}
	if (!merged)
		m->merged[node] = base;
	return base;
}

/* Which nodes are groups?  Returns how many. */
static uint32_t find_groups(struct merge *m)
{
	const struct tree *tree = m->b->tree;
	uint32_t count = 0;

	m->is_group[0] = true;
	for (uint32_t i = 1; i < tree->node_count; i++) {
		m->is_group[i] = m->is_group[tree->nodes[i].parent] &&
				 m->b->label_of[tree->nodes[i].frame] == MAP64_NONE;
		count += m->is_group[i];
	}
	return count;
}

static int merge_nodes(struct merge *m)
{
	const struct tree *tree = m->b->tree;

	for (uint32_t i = 0; i < tree->node_count; i++) {
		uint32_t parent = tree->nodes[i].parent, above, label;
		uint64_t self = report__self(m->b, i);
		struct loose_node *l;

		if (report__leaves_out(m->b, i))
			continue;
		if (m->is_group[i]) {
			if (!tree->nodes[i].samples)
				continue;
			m->merged[i] = base_of(m, i, false);
		} else {
			bool merged = tree->nodes[i].frame == FRAME_MERGED;

			label = m->b->label_of[tree->nodes[i].frame];
			above = m->is_group[parent] ? base_of(m, parent, merged) : m->merged[parent];
			if (above == MAP64_NONE)
				return -ENOMEM;
			/* A group within code is not shown. */
			m->merged[i] = label == MAP64_NONE ? above : child_of(m, above, label);
		}
		if (m->merged[i] == MAP64_NONE)
			return -ENOMEM;
		l = &m->b->loose[m->merged[i]];
		l->self += self;
		l->total += self;
		l->weight.value += tree->nodes[i].self.value;
		l->weight.count += tree->nodes[i].self.count;
		l->squares += (float)report__squares(m->b, i);
	}
	return 0;
}

int report__merge_tree(struct report_builder *b)
{
	struct merge m = { .b = b };
	uint32_t count = b->tree->node_count;
	uint64_t room;
	int err = -ENOMEM;

	m.merged = malloc(count * sizeof(*m.merged));
	m.is_group = calloc(count, sizeof(*m.is_group));
	if (!m.merged || !m.is_group)
		goto cleanup;
	memset(m.merged, 0xff, count * sizeof(*m.merged));
	/* A group has a base for its stacks, and one for those that were merged. */
	room = count + 2 * (find_groups(&m) + 1ull) * b->r->groups.count;
	b->loose = room < MAP64_NONE ? calloc(room, sizeof(*b->loose)) : NULL;
	if (!b->loose)
		goto cleanup;
	b->loose[0].label = MAP64_NONE;
	b->loose_count = 1;
	err = merge_nodes(&m);
	/* Parents come before children in both trees. */
	for (uint32_t i = b->loose_count - 1; i > 0 && !err; i--)
		b->loose[b->loose[i].parent].total += b->loose[i].total;
	b->r->samples = b->loose[0].total;
cleanup:
	map64__free(&m.children);
	if (b->view.places)
		b->merged = m.merged;
	else
		free(m.merged);
	free(m.is_group);
	return err;
}

struct order {
	const struct report *r;
	const struct loose_node *loose;
};

static int by_name(const void *a, const void *b, void *context)
{
	const struct order *o = context;
	const struct loose_node *x = &o->loose[*(const uint32_t *)a];
	const struct loose_node *y = &o->loose[*(const uint32_t *)b];
	const struct report_label *l = &o->r->labels[x->label], *m = &o->r->labels[y->label];
	int c;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	c = strcmp(l->name, m->name);
	if (!c)
		c = strcmp(l->frame.path, m->frame.path);
	if (!c)
		c = l->frame.first_line < m->frame.first_line ? -1 : l->frame.first_line > m->frame.first_line;
	if (!c)
		c = l->frame.line < m->frame.line ? -1 : l->frame.line > m->frame.line;
	return c ? c : (x->label < y->label ? -1 : x->label > y->label);
}

/* Children in alphabetical order, then the whole in preorder. */
int report__order_tree(struct report_builder *b)
{
	struct report *r = b->r;
	struct order order = { .r = r, .loose = b->loose };
	uint32_t *sorted, node = 0, depth = 0;

	r->nodes = calloc(b->loose_count, sizeof(*r->nodes));
	b->order = b->view.places ? calloc(b->loose_count, sizeof(*b->order)) : NULL;
	if (b->view.places && !b->order)
		return -ENOMEM;
	sorted = malloc(b->loose_count * sizeof(*sorted));
	if (!r->nodes || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < b->loose_count; i++)
		sorted[i] = i;
	if (b->loose_count > 2)
		qsort_r(sorted + 1, b->loose_count - 1, sizeof(*sorted), by_name, &order);
	for (uint32_t i = b->loose_count - 1; i > 0; i--) {
		struct loose_node *l = &b->loose[sorted[i]];

		l->next = b->loose[l->parent].first_child;
		b->loose[l->parent].first_child = sorted[i];
	}
	free(sorted);
	for (uint32_t parent = 0;;) {
		const struct loose_node *l = &b->loose[node];
		struct report_node *n = &r->nodes[r->node_count];

		n->parent = parent;
		n->label = l->label;
		n->depth = depth;
		n->self = l->self;
		n->total = l->total;
		n->weight = l->weight;
		n->squares = l->squares;
		if (b->order)
			b->order[node] = r->node_count;
		if (l->first_child) {
			parent = r->node_count++;
			node = l->first_child;
			depth++;
			continue;
		}
		r->node_count++;
		while (node && !b->loose[node].next) {
			node = b->loose[node].parent;
			depth--;
			parent = r->nodes[parent].parent;
		}
		if (!node)
			break;
		node = b->loose[node].next;
	}
	return 0;
}
