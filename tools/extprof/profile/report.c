/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const label_kind_names[LABEL_KINDS] = {
	[LABEL_RUBY] = "Ruby",
	[LABEL_C] = "C method",
	[LABEL_BUILTIN] = "Ruby's own",
	[LABEL_GC] = "GC",
	[LABEL_NATIVE] = "native",
	[LABEL_THREAD] = "thread",
	[LABEL_OTHER] = "other",
	[LABEL_PROCESS] = "process",
	[LABEL_CGROUP] = "cgroup",
};

struct builder {
	struct report *r;
	const struct tree *p;
	const struct frames *f;
	uint32_t *label_of;	/* by frame number */
	const struct frame_row **content;	/* by label: a frame that has it */
	struct map64 label_map;	/* by hash */
	struct map64 line_map;	/* label << 32 | line, approximate */
	uint32_t line_room;
	/* The tree before it is put in order. */
	struct loose {
		uint32_t parent, label, first_child, next;
		uint64_t self, total;
	} *loose;
	uint32_t loose_count;
};

void report__add_place(const char *path, int32_t line, bool approximate, struct text *out)
{
	if (!*path)
		return;
	text__adds(out, path);
	if (line > 0)
		text__addf(out, ":%s%d", approximate ? "~" : "", line);
}

void report__add_label(const struct report *r, const struct report_label *label, struct text *out)
{
	text__adds(out, label->name);
	if (r->detail == REPORT_BY_LINE && *label->path) {
		text__adds(out, " ");
		report__add_place(label->path, label->line, label->approximate, out);
	}
}

/* The label for the content of a frame.  Its texts are in the table of frames, where equal ones
 * have equal addresses. */
static uint32_t intern_label(struct builder *b, const struct frame_row *f)
{
	struct report *r = b->r;
	struct report_label *l;
	uint64_t hash = hash__mix((uintptr_t)f->name ^ (uint64_t)f->kind << 56);
	bool by_code = r->detail != REPORT_BY_NAME, by_line = r->detail == REPORT_BY_LINE;
	uint32_t number;

	if (by_code)
		hash = hash__mix(hash ^ (uintptr_t)f->path ^ (uint64_t)(uint32_t)f->first_line << 32);
	if (by_line)
		hash = hash__mix(hash ^ (uint32_t)f->line ^ (uint64_t)f->approximate << 63);
	while ((number = map64__get(&b->label_map, hash)) != MAP64_NONE) {
		const struct frame_row *of = b->content[number];

		if (of->kind == f->kind && of->name == f->name &&
		    (!by_code || (of->path == f->path && of->first_line == f->first_line)) &&
		    (!by_line || (of->line == f->line && of->approximate == f->approximate)))
			return number;
		hash++;
	}
	if (map64__add(&b->label_map, hash, r->label_count))
		return MAP64_NONE;
	b->content[r->label_count] = f;
	l = &r->labels[r->label_count++];
	l->name = strdup(f->name);
	l->path = strdup(f->path);
	l->kind = f->kind;
	l->first_line = f->first_line;
	if (by_line) {
		l->line = f->line;
		l->approximate = f->approximate;
	}
	return l->name && l->path ? r->label_count - 1 : MAP64_NONE;
}

static int make_labels(struct builder *b)
{
	uint32_t count = b->p->frame_count;

	b->label_of = calloc(count + 1u, sizeof(*b->label_of));
	b->content = calloc(count + 1u, sizeof(*b->content));
	b->r->labels = calloc(count + 1u, sizeof(*b->r->labels));
	if (!b->label_of || !b->content || !b->r->labels)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		b->label_of[i] = intern_label(b, &b->f->rows[i]);
		if (b->label_of[i] == MAP64_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* Merge the profile's tree by label. */
static int merge_tree(struct builder *b)
{
	const struct tree *p = b->p;
	struct map64 children = { 0 };
	uint32_t *merged;
	int err = -ENOMEM;

	merged = malloc(p->node_count * sizeof(*merged));
	b->loose = calloc(p->node_count, sizeof(*b->loose));
	if (!merged || !b->loose)
		goto cleanup;
	merged[0] = 0;
	b->loose[0].label = MAP64_NONE;
	b->loose[0].self = b->loose[0].total = p->nodes[0].self;
	b->loose_count = 1;
	for (uint32_t i = 1; i < p->node_count; i++) {
		uint32_t parent = merged[p->nodes[i].parent];
		uint32_t label = b->label_of[p->nodes[i].frame];
		uint64_t key = (uint64_t)parent << 32 | label;
		uint32_t node = map64__get(&children, key);

		if (node == MAP64_NONE) {
			node = b->loose_count;
			if (map64__add(&children, key, node))
				goto cleanup;
			b->loose[node].parent = parent;
			b->loose[node].label = label;
			b->loose_count++;
		}
		merged[i] = node;
		b->loose[node].self += p->nodes[i].self;
		b->loose[node].total += p->nodes[i].self;
	}
	/* Parents come before children in both trees. */
	for (uint32_t i = b->loose_count - 1; i > 0; i--)
		b->loose[b->loose[i].parent].total += b->loose[i].total;
	err = 0;
cleanup:
	map64__free(&children);
	free(merged);
	return err;
}

struct order {
	const struct report *r;
	const struct loose *loose;
};

static int by_name(const void *a, const void *b, void *context)
{
	const struct order *o = context;
	const struct loose *x = &o->loose[*(const uint32_t *)a];
	const struct loose *y = &o->loose[*(const uint32_t *)b];
	const struct report_label *l = &o->r->labels[x->label], *m = &o->r->labels[y->label];
	int c;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	c = strcmp(l->name, m->name);
	if (!c)
		c = strcmp(l->path, m->path);
	if (!c)
		c = l->first_line < m->first_line ? -1 : l->first_line > m->first_line;
	if (!c)
		c = l->line < m->line ? -1 : l->line > m->line;
	return c ? c : (x->label < y->label ? -1 : x->label > y->label);
}

/* Children in alphabetical order, then the whole in preorder. */
static int order_tree(struct builder *b)
{
	struct report *r = b->r;
	struct order order = { .r = r, .loose = b->loose };
	uint32_t *sorted, node = 0, depth = 0;

	r->nodes = calloc(b->loose_count, sizeof(*r->nodes));
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
		struct loose *l = &b->loose[sorted[i]];

		l->next = b->loose[l->parent].first_child;
		b->loose[l->parent].first_child = sorted[i];
	}
	free(sorted);
	for (uint32_t parent = 0;;) {
		const struct loose *l = &b->loose[node];
		struct report_node *n = &r->nodes[r->node_count];

		n->parent = parent;
		n->label = l->label;
		n->depth = depth;
		n->self = l->self;
		n->total = l->total;
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

/* Where a frame counts; NULL: it is shown with all it has. */
static uint64_t *missing(struct report_meta *m, const struct frame_row *f)
{
	switch (f->missing) {
	case MISSING_EXPIRED: return &m->expired_names;
	case MISSING_EXITED: return &m->exited_names;
	case MISSING_UNREADABLE: return &m->unreadable_names;
	case MISSING_LATE: return &m->late_names;
	case MISSING_CROWDED: return &m->crowded_names;
	case MISSING_PART: return &m->partial_names;
	case MISSING_LINE: return &m->late_lines;
	default: return NULL;
	}
}

/* Frames of samples that have no name, or less than it. */
static int count_missing(struct builder *b)
{
	const struct tree *p = b->p;
	uint64_t *totals = calloc(p->node_count + 1u, sizeof(*totals));

	if (!totals)
		return -ENOMEM;
	/* Parents come before children. */
	for (uint32_t i = p->node_count; i-- > 1;) {
		uint64_t *count = missing(&b->r->meta, &b->f->rows[p->nodes[i].frame]);

		totals[i] += p->nodes[i].self;
		totals[p->nodes[i].parent] += totals[i];
		if (count)
			*count += totals[i];
	}
	free(totals);
	return 0;
}

/* Self and total of each label; recursion counts once. */
static int count_labels(struct builder *b)
{
	struct report *r = b->r;
	uint32_t *open = calloc(r->label_count + 1u, sizeof(*open));
	uint32_t *path = malloc((r->node_count + 1u) * sizeof(*path));
	uint32_t depth = 0;

	if (!open || !path) {
		free(open);
		free(path);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < r->node_count; i++) {
		const struct report_node *n = &r->nodes[i];

		while (depth >= n->depth)
			open[path[depth--]]--;
		r->labels[n->label].self += n->self;
		if (!open[n->label]++)
			r->labels[n->label].total += n->total;
		path[++depth] = n->label;
	}
	free(open);
	free(path);
	return 0;
}

static int by_self(const void *a, const void *b)
{
	const struct report_line *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->label != y->label)
		return x->label < y->label ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int count_lines(struct builder *b)
{
	struct report *r = b->r;
	const struct tree *p = b->p;

	for (uint32_t i = 1; i < p->node_count; i++) {
		uint64_t frame = p->frames[p->nodes[i].frame];
		uint32_t label = b->label_of[p->nodes[i].frame];
		uint64_t key = (uint64_t)label << 32 | (uint32_t)frame;
		uint32_t number;

		if (!p->nodes[i].self || frame__is_synthetic(frame) || !frame__line(frame))
			continue;
		number = map64__get(&b->line_map, key);
		if (number == MAP64_NONE) {
			if (r->line_count == b->line_room) {
				uint32_t room = b->line_room ? b->line_room * 2 : 256;
				void *bigger = realloc(r->lines, room * sizeof(*r->lines));

				if (!bigger)
					return -ENOMEM;
				r->lines = bigger;
				b->line_room = room;
			}
			number = r->line_count;
			if (map64__add(&b->line_map, key, number))
				return -ENOMEM;
			r->lines[number] = (struct report_line){
				.label = label,
				.line = frame__line(frame),
				.approximate = frame & FRAME_APPROXIMATE,
			};
			r->line_count++;
		}
		r->lines[number].self += p->nodes[i].self;
	}
	if (r->line_count)
		qsort(r->lines, r->line_count, sizeof(*r->lines), by_self);
	return 0;
}

int report__build(struct report *r, const struct tree *p, const struct frames *f,
		  enum report_detail detail)
{
	struct builder b = { .r = r, .p = p, .f = f };
	int err;

	memset(r, 0, sizeof(*r));
	if (f->count < p->frame_count)
		return -EINVAL;
	r->detail = detail;
	r->samples = p->samples;
	if ((err = make_labels(&b)) || (err = merge_tree(&b)) || (err = order_tree(&b)) ||
	    (err = count_labels(&b)) || (err = count_lines(&b)) || (err = count_missing(&b)))
		report__free(r);
	free(b.label_of);
	free(b.content);
	free(b.loose);
	map64__free(&b.label_map);
	map64__free(&b.line_map);
	return err;
}

void report__free(struct report *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->label_count; i++) {
		free(r->labels[i].name);
		free(r->labels[i].path);
	}
	free(r->labels);
	free(r->nodes);
	free(r->lines);
	memset(r, 0, sizeof(*r));
}
