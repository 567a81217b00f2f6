/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/jit_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map64.h"
#include "base/sorted.h"

int jit_names__add(struct native_names *names, uint64_t address, uint64_t size, const char *name, uint32_t length, bool is_new)
{
	if (array__reserve(&names->symbols, names->count, 1, &names->room, JIT_LINES_MAX, sizeof(*names->symbols)) ||
	    array__reserve(&names->text, names->size, length + 1u, &names->text_room, JIT_TEXT_MAX, 1))
		return -E2BIG;
	names->symbols[names->count++] = (struct native_symbol){
		.address = address, .size = size, .name = (uint32_t)names->size, .is_new = is_new,
	};
	memcpy(names->text + names->size, name, length);
	names->text[names->size + length] = '\0';
	names->size += length + 1u;
	return 0;
}

/* By address; of one address by the place in the file, which the names have, too. */
static int compare(const void *a, const void *b)
{
	const struct native_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : 1;
}

/* Lines that have begun before a place: a heap, the last line of the file first.  Those that have ended stay until they are
 * the first. */
struct begun {
	const struct native_symbol *lines;
	uint32_t *list, count;
};

static bool is_later(const struct begun *b, uint32_t i, uint32_t j)
{
	return b->lines[b->list[i]].name > b->lines[b->list[j]].name;
}

static void swap(struct begun *b, uint32_t i, uint32_t j)
{
	uint32_t line = b->list[i];

	b->list[i] = b->list[j];
	b->list[j] = line;
}

static void put(struct begun *b, uint32_t line)
{
	uint32_t i = b->count++;

	b->list[i] = line;
	for (; i && is_later(b, i, (i - 1) / 2); i = (i - 1) / 2)
		swap(b, i, (i - 1) / 2);
}

static void drop_first(struct begun *b)
{
	uint32_t i = 0, next;

	b->list[0] = b->list[--b->count];
	while ((next = 2 * i + 1) < b->count) {
		next += next + 1 < b->count && is_later(b, next + 1, next);
		if (!is_later(b, next, i))
			break;
		swap(b, i, next);
		i = next;
	}
}

static uint64_t end_of(const struct native_symbol *s)
{
	return s->address + s->size;
}

/* How many lines there are at a place, and how many of each name. */
struct lines_at {
	struct line_end {
		uint64_t at;
		uint32_t line;
	} *ends;			/* by `at` */
	uint32_t *name_of;		/* by line: the number of its name */
	uint32_t *of_name;		/* by the number of a name */
	uint32_t ended, all;
};

static int compare_ends(const void *a, const void *b)
{
	const struct line_end *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void free_lines_at(struct lines_at *l)
{
	free(l->ends);
	free(l->name_of);
	free(l->of_name);
}

/* The lines are in order.  Names of one hash count as one.  0 or -ENOMEM. */
static int init_lines_at(struct lines_at *l, const struct native_names *names)
{
	struct map64 numbers = { 0 };
	int err = 0;

	l->ends = calloc(names->count, sizeof(*l->ends));
	l->name_of = calloc(names->count, sizeof(*l->name_of));
	l->of_name = calloc(names->count, sizeof(*l->of_name));
	if (!l->ends || !l->name_of || !l->of_name)
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < names->count; i++) {
		const char *name = names->text + names->symbols[i].name;
		uint64_t hash = hash__bytes(name, strlen(name), 0);

		l->ends[i] = (struct line_end){ end_of(&names->symbols[i]), i };
		l->name_of[i] = map64__get(&numbers, hash);
		if (l->name_of[i] == MAP64_NONE)
			err = map64__add(&numbers, hash, l->name_of[i] = numbers.count);
	}
	map64__free(&numbers);
	if (!err)
		qsort(l->ends, names->count, sizeof(*l->ends), compare_ends);
	return err;
}

static void line_begins(struct lines_at *l, uint32_t line)
{
	l->of_name[l->name_of[line]]++;
	l->all++;
}

/* A line that ends there has begun before. */
static void lines_end(struct lines_at *l, uint32_t count, uint64_t at)
{
	for (; l->ended < count && l->ends[l->ended].at <= at; l->ended++) {
		l->of_name[l->name_of[l->ends[l->ended].line]]--;
		l->all--;
	}
}

static bool has_other_name(const struct lines_at *l, uint32_t line)
{
	return l->all > l->of_name[l->name_of[line]];
}

/* [from, until) is of that line. */
static void keep(const struct native_names *names, struct native_symbol *to, uint32_t *count, const struct native_symbol *line,
		 uint64_t from, uint64_t until, bool replaced)
{
	struct native_symbol *last = *count ? &to[*count - 1] : NULL;

	if (!names->text[line->name])
		return;
	if (last && last->name == line->name && end_of(last) == from) {
		last->size += until - from;
		last->replaced |= replaced;
		return;
	}
	to[*count] = *line;
	to[*count].address = from;
	to[*count].replaced = replaced;
	to[(*count)++].size = until - from;
}

int jit_names__cut(struct native_names *names)
{
	uint32_t lines = names->count, count = 0, next = 0;
	struct lines_at there = { 0 };
	struct begun b = { 0 };
	struct native_symbol *to;
	uint64_t at = 0;

	if (!lines)
		return 0;
	/* Each place ends where a line begins or ends. */
	to = calloc(2 * (size_t)lines, sizeof(*to));
	b.list = calloc(lines, sizeof(*b.list));
	qsort(names->symbols, lines, sizeof(*names->symbols), compare);
	if (!to || !b.list || init_lines_at(&there, names)) {
		free_lines_at(&there);
		free(to);
		free(b.list);
		return -ENOMEM;
	}
	b.lines = names->symbols;
	while (next < lines || b.count) {
		const struct native_symbol *first;
		uint64_t until;

		if (!b.count)
			at = names->symbols[next].address;
		while (next < lines && names->symbols[next].address <= at) {
			line_begins(&there, next);
			put(&b, next++);
		}
		lines_end(&there, lines, at);
		first = &names->symbols[b.list[0]];
		if (end_of(first) <= at) {
			drop_first(&b);
			continue;
		}
		until = end_of(first);
		if (next < lines && names->symbols[next].address < until)
			until = names->symbols[next].address;
		keep(names, to, &count, first, at, until, first->is_new && has_other_name(&there, b.list[0]));
		at = until;
	}
	free_lines_at(&there);
	free(b.list);
	free(names->symbols);
	names->symbols = to;
	names->count = count;
	names->room = 2 * (size_t)lines;
	return 0;
}

const struct native_symbol *jit_names__place(const struct native_names *names, uint64_t address)
{
	size_t until = SORTED__UNTIL(names->symbols, names->count, address, address);
	const struct native_symbol *s = until ? &names->symbols[until - 1] : NULL;

	return s && address - s->address < s->size ? s : NULL;
}

const char *jit_names__find(const struct native_names *names, uint64_t address)
{
	const struct native_symbol *s = jit_names__place(names, address);

	return s ? names->text + s->name : NULL;
}

bool jit_names__has_all(const struct native_names *now, const struct native_names *before)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < before->count; i++) {
		const struct native_symbol *b = &before->symbols[i], *n;

		while (next < now->count && now->symbols[next].address < b->address)
			next++;
		n = next < now->count ? &now->symbols[next] : NULL;
		if (!n || n->address != b->address || n->size != b->size || strcmp(now->text + n->name, before->text + b->name))
			return false;
	}
	return true;
}
