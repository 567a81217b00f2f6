/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *rows__kind_name(enum rows_kind kind)
{
	static const char *const names[ROWS_KINDS] = {
		[ROWS_APP_METHODS] = "app_method", [ROWS_APP_LINES] = "app_line", [ROWS_GEMS] = "gem", [ROWS_GROUPS] = "group",
		[ROWS_METHODS] = "method", [ROWS_LINES] = "line", [ROWS_FILES] = "file",
		[ROWS_HOLDERS] = "holder",
	};

	return names[kind];
}

static int by_self(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int c;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	c = strcmp(x->name, y->name);
	return c ? c : strcmp(x->path, y->path);
}

/* Equal ones by their names, which do not depend on the order of samples. */
static int by_total(const void *a, const void *b, void *context)
{
	const struct report *r = context;
	const struct row *x = a, *y = b;
	int32_t first_x = r->labels[x->of->label].frame.first_line, first_y = r->labels[y->of->label].frame.first_line;
	int c;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	c = strcmp(x->path, y->path);
	if (!c)
		c = (x->of->line > y->of->line) - (x->of->line < y->of->line);
	if (!c)
		c = strcmp(x->name, y->name);
	return c ? c : (first_x > first_y) - (first_x < first_y);
}

/* The same for owners, whose order is that of self. */
static int by_self_and_total(const void *a, const void *b, void *context)
{
	const struct row *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return by_total(a, b, context);
}

/* Rows of labels, by their total: those of groups, or of holders. */
static int add_labels(struct rows *rows, const struct report *r, enum rows_kind kind)
{
	rows->list = calloc(r->label_count + 1u, sizeof(*rows->list));
	if (!rows->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->label_count; i++) {
		const struct report_label *l = &r->labels[i];

		if (kind == ROWS_GROUPS ? frame_kind__is_group(l->frame.kind) :
		    l->frame.kind == FRAME_DETAIL && !strcmp(l->frame.key, DETAIL_HOLDER))
			rows->list[rows->count++] = (struct row){
				.name = l->name, .path = l->frame.path, .line = l->frame.line,
				.approximate = l->frame.approximate, .self = l->total, .total = l->total,
			};
	}
	if (rows->count)
		qsort(rows->list, rows->count, sizeof(*rows->list), by_self);
	return 0;
}

static const struct report_totals *totals_of(const struct report *r, enum rows_kind kind)
{
	switch (kind) {
	case ROWS_APP_LINES:
	case ROWS_LINES:
		return &r->lines;
	case ROWS_GEMS:
		return &r->by_owner;
	case ROWS_FILES:
		return &r->files;
	default:
		return &r->methods;
	}
}

static bool is_wanted(const struct report *r, const struct report_total *t, enum rows_kind kind)
{
	if (kind == ROWS_GEMS)
		return t->total;
	return !rows__is_app(kind) || (t->total && r->owners[r->labels[t->label].owner].kind == OWNER_APP);
}

int rows__init(struct rows *rows, const struct report *r, enum rows_kind kind)
{
	const struct report_totals *t = totals_of(r, kind);
	bool lines = t == &r->lines, methods = t == &r->methods;

	memset(rows, 0, sizeof(*rows));
	if (kind == ROWS_GROUPS || kind == ROWS_HOLDERS)
		return add_labels(rows, r, kind);
	rows->list = calloc(t->count + 1u, sizeof(*rows->list));
	if (!rows->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		const struct report_label *l = &r->labels[t->list[i].label];

		if (!is_wanted(r, &t->list[i], kind))
			continue;
		rows->list[rows->count++] = (struct row){
			.name = kind == ROWS_FILES ? l->frame.path : l->name, .path = l->frame.path,
			.line = methods ? l->frame.first_line : lines ? t->list[i].line : 0,
			.approximate = t->list[i].approximate, .self = t->list[i].self, .total = t->list[i].total,
			.of = &t->list[i],
		};
	}
	if (rows->count && (rows__is_app(kind) || kind == ROWS_GEMS))
		qsort_r(rows->list, rows->count, sizeof(*rows->list), kind == ROWS_GEMS ? by_self_and_total : by_total,
			(void *)(uintptr_t)r);
	return 0;
}

void rows__free(struct rows *rows)
{
	free(rows->list);
	memset(rows, 0, sizeof(*rows));
}

uint64_t rows__other(const struct rows *rows, uint32_t first)
{
	uint64_t other = 0;

	for (uint32_t i = first; i < rows->count; i++)
		other += rows->list[i].self;
	return other;
}

static void add_owner(const struct report *r, uint32_t number, struct text *out)
{
	const struct report_owner *o = &r->owners[number];

	owner__add_text(o->kind, o->name, o->version, out);
}

void rows__add_owner(const struct report *r, const struct row *row, struct text *out)
{
	add_owner(r, r->labels[row->of->label].owner, out);
}

void rows__add_callee(const struct report *r, const struct row *row, struct text *out)
{
	if (row->of->calls == CALLS_OWNER)
		add_owner(r, row->of->callee, out);
	else if (row->of->calls == CALLS_LABEL)
		text__adds(out, r->labels[row->of->callee].name);
}
