/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/annotate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Lines that are shown behind the last one of a method that took something. */
#define BEHIND 2u

static bool is_path(const char *path, const char *what)
{
	size_t length = strlen(path), n = strlen(what);

	return !strcmp(path, what) || (length > n && path[length - n - 1] == '/' && !strcmp(path + length - n, what));
}

/* "Foo#bar", and what is "block in Foo#bar" or "rescue in Foo#bar". */
static bool is_method(const char *name, const char *what)
{
	size_t length = strlen(name), n = strlen(what);

	return !strcmp(name, what) || (length > n + 4 && !strcmp(name + length - n, what) &&
				       !strncmp(name + length - n - 4, " in ", 4));
}

static int several(const char *what, const char *a, const char *b, struct diag *d)
{
	return diag__set(d, DIAG_USAGE, EEXIST, "\"%s\" is in several files, %s and %s: say more of the path", what, a, b);
}

static int find_path(struct annotation *a, const char *what, struct diag *d)
{
	const struct report_totals *files = &a->r->files;

	for (uint32_t i = 0; i < files->count; i++) {
		const char *path = a->r->labels[files->list[i].label].frame.path;

		if (!is_path(path, what))
			continue;
		if (!strcmp(path, what)) {
			a->path = path;
			return 0;
		}
		if (a->path && strcmp(a->path, path))
			return several(what, a->path, path, d);
		a->path = path;
	}
	return 0;
}

/* The file of a method, and its lines that were seen. */
static int find_method(struct annotation *a, const char *what, struct diag *d)
{
	for (uint32_t i = 0; i < a->r->label_count; i++) {
		const struct frame *f = &a->r->labels[i].frame;
		uint32_t begin = (uint32_t)(f->first_line > 0 ? f->first_line : f->line);

		if (f->kind != FRAME_RUBY || !*f->path || f->line <= 0 || !is_method(f->name, what))
			continue;
		if (a->path && strcmp(a->path, f->path))
			return several(what, a->path, f->path, d);
		a->path = f->path;
		if (!a->first || begin < a->first)
			a->first = begin;
		if ((uint32_t)f->line + BEHIND > a->last)
			a->last = (uint32_t)f->line + BEHIND;
	}
	return 0;
}

static int take_lines(struct annotation *a)
{
	const struct report_totals *lines = &a->r->lines, *files = &a->r->files;

	for (uint32_t i = 0; i < lines->count; i++)
		if (a->r->labels[lines->list[i].label].frame.path == a->path && lines->list[i].line > 0 &&
		    (uint32_t)lines->list[i].line > a->count && (uint32_t)lines->list[i].line <= ANNOTATE_LINES_MAX)
			a->count = (uint32_t)lines->list[i].line;
	a->lines = calloc(a->count + 1u, sizeof(*a->lines));
	if (!a->lines)
		return -ENOMEM;
	for (uint32_t i = 0; i < lines->count; i++) {
		const struct report_total *t = &lines->list[i];
		struct annotated_line *l;

		/* Equal texts of the report have equal addresses. */
		if (a->r->labels[t->label].frame.path != a->path || t->line <= 0 || (uint32_t)t->line > a->count)
			continue;
		l = &a->lines[t->line];
		l->self += t->self;
		l->total += t->total;
		l->approximate |= t->approximate;
	}
	for (uint32_t i = 0; i < files->count; i++) {
		if (a->r->labels[files->list[i].label].frame.path != a->path)
			continue;
		a->self += files->list[i].self;
		a->total += files->list[i].total;
	}
	return 0;
}

int annotation__make(struct annotation *a, const struct report *r, const char *what, struct diag *d)
{
	int err;

	memset(a, 0, sizeof(*a));
	a->r = r;
	err = find_path(a, what, d);
	if (!err && !a->path)
		err = find_method(a, what, d);
	if (err)
		return err;
	if (!a->path)
		return diag__set(d, DIAG_USAGE, ENOENT, "no sample is in a file or a method \"%s\"", what);
	return take_lines(a) ? diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the lines") : 0;
}

int annotation__set_source(struct annotation *a, const char *text, size_t length)
{
	uint32_t count = 0;
	const char *end = text + length;

	for (const char *p = text; p < end && count < ANNOTATE_LINES_MAX; count++) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));

		p = newline ? newline + 1 : end;
	}
	if (count > a->count) {
		struct annotated_line *longer = realloc(a->lines, (count + 1u) * sizeof(*longer));

		if (!longer)
			return -ENOMEM;
		memset(longer + a->count + 1, 0, (count - a->count) * sizeof(*longer));
		a->lines = longer;
		a->count = count;
	}
	for (uint32_t i = 1; text < end && i <= count; i++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));

		a->lines[i].text = text;
		a->lines[i].length = (uint32_t)((newline ? newline : end) - text);
		text = newline ? newline + 1 : end;
	}
	return 0;
}

void annotation__free(struct annotation *a)
{
	free(a->lines);
	memset(a, 0, sizeof(*a));
}
