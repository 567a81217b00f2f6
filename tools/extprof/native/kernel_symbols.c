/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/kernel_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"

void kernel_symbols__free(struct kernel_symbols *s)
{
	free(s->list);
	free(s->names);
	memset(s, 0, sizeof(*s));
}

/* The next word of a line; it is cut off there.  "": there is none. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t\n"), *end = word + strcspn(word, " \t\n");

	*rest = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

/* The name of a module without its brackets. */
static char *without_brackets(char *word)
{
	size_t length = strlen(word);

	if (length < 2 || word[0] != '[' || word[length - 1] != ']')
		return word;
	word[length - 1] = '\0';
	return word + 1;
}

/* Where a copy of the text is.  0 or -ENOMEM. */
static int keep(struct kernel_symbols *s, const char *text, uint32_t *at)
{
	size_t size = strlen(text) + 1;

	if (array__reserve(&s->names, s->names_size, size, &s->names_room, KERNEL_NAMES_MAX, 1))
		return -ENOMEM;
	memcpy(s->names + s->names_size, text, size);
	*at = (uint32_t)s->names_size;
	s->names_size += size;
	return 0;
}

/* Those of one module come one after the other. */
static int keep_module(struct kernel_symbols *s, const char *module, uint32_t *at)
{
	uint32_t last = s->count ? s->list[s->count - 1].module : 0;

	*at = *module ? last : 0;
	return strcmp(s->names + *at, module) ? keep(s, module, at) : 0;
}

/* A line: "ffffffff81000000 T name", or with "[module]" behind it.  Symbols that are no functions are left out.  Sets
 * *hidden if a function has no address. */
static int take_line(struct kernel_symbols *s, char *line, bool *hidden)
{
	char *rest = line, *address = next_word(&rest), *type = next_word(&rest), *name = next_word(&rest), *end;
	struct kernel_function f = { .address = strtoull(address, &end, 16) };

	if (*end || end == address || !*type || !strchr("tTwW", *type) || !*name)
		return 0;
	if (!f.address) {
		*hidden = true;
		return 0;
	}
	if (keep_module(s, without_brackets(next_word(&rest)), &f.module) || keep(s, name, &f.name) ||
	    array__reserve(&s->list, s->count, 1, &s->room, KERNEL_SYMBOLS_MAX, sizeof(*s->list)))
		return -ENOMEM;
	s->list[s->count++] = f;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct kernel_function *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return left->name < right->name ? -1 : left->name > right->name;
}

/* If an address has several names, keep the shortest one; of several shortest ones, the first in the list. */
static void sort(struct kernel_symbols *s)
{
	uint32_t count = 0;

	qsort(s->list, s->count, sizeof(*s->list), compare);
	for (uint32_t i = 0; i < s->count; i++) {
		struct kernel_function *last = count ? &s->list[count - 1] : NULL;

		if (!last || last->address != s->list[i].address)
			s->list[count++] = s->list[i];
		else if (strlen(s->names + s->list[i].name) < strlen(s->names + last->name))
			*last = s->list[i];
	}
	s->count = count;
}

int kernel_symbols__read(struct kernel_symbols *s, FILE *f)
{
	char *line = NULL;
	size_t room = 0;
	bool hidden = false;
	uint32_t empty;
	int err = keep(s, "", &empty);

	while (!err && getline(&line, &room, f) > 0)
		err = take_line(s, line, &hidden);
	free(line);
	if (!err && ferror(f))
		err = -EIO;
	if (!err && !s->count)
		err = hidden ? -EPERM : -ENOENT;
	if (err)
		kernel_symbols__free(s);
	else
		sort(s);
	return err;
}

int kernel_symbols__load(struct kernel_symbols *s)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	int err = f ? kernel_symbols__read(s, f) : -errno;

	if (f)
		fclose(f);
	return err;
}

int kernel_symbols__find(const struct kernel_symbols *s, uint64_t address, struct kernel_symbol *symbol)
{
	size_t until = SORTED__UNTIL(s->list, s->count, address, address);
	const struct kernel_function *f = until ? &s->list[until - 1] : NULL;

	if (!f || address - f->address >= KERNEL_FUNCTION_MAX)
		return -ENOENT;
	*symbol = (struct kernel_symbol){ f->address, s->names + f->name, s->names + f->module };
	return 0;
}
