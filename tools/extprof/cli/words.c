/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int words__add(char **list, const char *more)
{
	char *longer;

	if (asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? "," : "", more) < 0)
		return -ENOMEM;
	free(*list);
	*list = longer;
	return 0;
}

/* The word at *at, which is moved behind it.  NULL: there is none.  A longer one than any that is known is cut. */
static const char *next(const char **at, char *word, size_t size)
{
	size_t length;

	if (!*at)
		return NULL;
	length = strcspn(*at, ",");
	snprintf(word, size, "%.*s", (int)length, *at);
	*at = (*at)[length] ? *at + length + 1 : NULL;
	return word;
}

bool words__has(const char *list, const char *word)
{
	char one[64];

	while (next(&list, one, sizeof(one)))
		if (!strcmp(one, word))
			return true;
	return false;
}

bool words__any(const char *list, bool (*is)(const char *word))
{
	char one[64];

	while (next(&list, one, sizeof(one)))
		if (is(one))
			return true;
	return false;
}

unsigned int words__count(const char *list)
{
	unsigned int count = 0;
	char one[64];

	while (next(&list, one, sizeof(one)))
		count++;
	return count;
}

char *words__all(enum extprof_words kind)
{
	char *text = NULL;
	size_t size;
	const char *word;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (size_t i = 0; (word = extprof_word(kind, i)); i++)
		fprintf(f, "%s%s", !i ? "" : extprof_word(kind, i + 1) ? ", " : " or ", word);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

void words__formats(bool of_files, bool suffixes, char *to, size_t size)
{
	const char *name;
	size_t n = 0;

	*to = '\0';
	for (size_t i = 0; (name = extprof_word(EXTPROF_FORMATS, i)); i++) {
		struct extprof_format_info info = { .size = sizeof(info) };

		if (extprof_format_info(name, &info) || (info.of_files && !of_files))
			continue;
		for (size_t j = 0; j < (suffixes ? info.suffix_count : 1) && n < size; j++)
			n += (size_t)snprintf(to + n, size - n, "%s%s", n ? ", " : "", suffixes ? info.suffixes[j] : name);
	}
}
