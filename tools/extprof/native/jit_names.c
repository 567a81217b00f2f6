/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/jit_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"

int jit_names__add(struct native_names *names, uint64_t address, uint64_t size, const char *name, uint32_t length)
{
	if (array__reserve(&names->symbols, names->count, 1, &names->room, JIT_LINES_MAX, sizeof(*names->symbols)) ||
	    array__reserve(&names->text, names->size, length + 1u, &names->text_room, JIT_TEXT_MAX, 1))
		return -E2BIG;
	names->symbols[names->count++] = (struct native_symbol){ .address = address, .size = size, .name = (uint32_t)names->size };
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

/* [from, until) is of that line. */
static void keep(const struct native_names *names, struct native_symbol *to, uint32_t *count, const struct native_symbol *line,
		 uint64_t from, uint64_t until)
{
	struct native_symbol *last = *count ? &to[*count - 1] : NULL;

	if (!names->text[line->name])
		return;
	if (last && last->name == line->name && end_of(last) == from) {
		last->size += until - from;
		return;
	}
	to[*count] = *line;
	to[*count].address = from;
	to[(*count)++].size = until - from;
}

int jit_names__cut(struct native_names *names)
{
	uint32_t lines = names->count, count = 0, next = 0;
	struct begun b = { 0 };
	struct native_symbol *to;
	uint64_t at = 0;

	if (!lines)
		return 0;
	/* Each place ends where a line begins or ends. */
	to = calloc(2 * (size_t)lines, sizeof(*to));
	b.list = calloc(lines, sizeof(*b.list));
	if (!to || !b.list) {
		free(to);
		free(b.list);
		return -ENOMEM;
	}
	qsort(names->symbols, lines, sizeof(*names->symbols), compare);
	b.lines = names->symbols;
	while (next < lines || b.count) {
		const struct native_symbol *first;
		uint64_t until;

		if (!b.count)
			at = names->symbols[next].address;
		while (next < lines && names->symbols[next].address <= at)
			put(&b, next++);
		first = &names->symbols[b.list[0]];
		if (end_of(first) <= at) {
			drop_first(&b);
			continue;
		}
		until = end_of(first);
		if (next < lines && names->symbols[next].address < until)
			until = names->symbols[next].address;
		keep(names, to, &count, first, at, until);
		at = until;
	}
	free(b.list);
	free(names->symbols);
	names->symbols = to;
	names->count = count;
	names->room = 2 * (size_t)lines;
	return 0;
}

static const struct native_symbol *symbol_at(const struct native_names *names, uint64_t address)
{
	size_t until = SORTED__UNTIL(names->symbols, names->count, address, address);
	const struct native_symbol *s = until ? &names->symbols[until - 1] : NULL;

	return s && address - s->address < s->size ? s : NULL;
}

const char *jit_names__find(const struct native_names *names, uint64_t address)
{
	const struct native_symbol *s = symbol_at(names, address);

	return s ? names->text + s->name : NULL;
}

bool jit_names__has_all(const struct native_names *now, const struct native_names *before)
{
	for (uint32_t i = 0; i < before->count; i++) {
		const struct native_symbol *b = &before->symbols[i], *n = symbol_at(now, b->address);

		if (!n || n->address != b->address || n->size != b->size || strcmp(now->text + n->name, before->text + b->name))
			return false;
	}
	return true;
}
