/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *rows__kind_name(enum rows_kind kind)
{
	static const char *const names[ROWS_KINDS] = {
		[ROWS_GROUPS] = "group", [ROWS_METHODS] = "method", [ROWS_LINES] = "line", [ROWS_FILES] = "file",
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

static int add_groups(struct rows *rows, const struct report *r)
{
	rows->list = calloc(r->label_count + 1u, sizeof(*rows->list));
	if (!rows->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->label_count; i++) {
		const struct report_label *l = &r->labels[i];

		if (frame_kind__is_group(l->frame.kind))
			rows->list[rows->count++] = (struct row){
				.name = l->name, .path = "", .self = l->total, .total = l->total,
			};
	}
	if (rows->count)
		qsort(rows->list, rows->count, sizeof(*rows->list), by_self);
	return 0;
}

int rows__init(struct rows *rows, const struct report *r, enum rows_kind kind)
{
	const struct report_totals *t = kind == ROWS_METHODS ? &r->methods : kind == ROWS_LINES ? &r->lines : &r->files;

	memset(rows, 0, sizeof(*rows));
	if (kind == ROWS_GROUPS)
		return add_groups(rows, r);
	rows->list = calloc(t->count + 1u, sizeof(*rows->list));
	if (!rows->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		const struct report_label *l = &r->labels[t->list[i].label];

		rows->list[rows->count++] = (struct row){
			.name = kind == ROWS_FILES ? l->frame.path : l->name, .path = l->frame.path,
			.line = kind == ROWS_METHODS ? l->frame.first_line : kind == ROWS_LINES ? t->list[i].line : 0,
			.approximate = t->list[i].approximate, .self = t->list[i].self, .total = t->list[i].total,
		};
	}
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
