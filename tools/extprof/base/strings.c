/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* The number of a text; MAP64_NONE: *hash is where it belongs. */
static uint32_t find(const struct strings *s, const char *text, size_t length, uint64_t *hash)
{
	uint32_t number;

	*hash = hash__bytes(text, length, 0);
	/* Two texts with one hash: go on to the next. */
	while ((number = map64__get(&s->map, *hash)) != MAP64_NONE) {
		const char *copy = s->list[number];

		if (strlen(copy) == length && !memcmp(copy, text, length))
			break;
		++*hash;
	}
	return number;
}

uint32_t strings__find(const struct strings *s, const char *text)
{
	uint64_t hash;

	return find(s, text, strlen(text), &hash);
}

uint32_t strings__number(struct strings *s, const char *text, size_t length)
{
	uint64_t hash;
	uint32_t number = find(s, text, length, &hash);
	char *copy;

	if (number != MAP64_NONE)
		return number;
	if (array__reserve(&s->list, s->count, 1, &s->room, MAP64_NONE, sizeof(*s->list)))
		return MAP64_NONE;
	copy = strndup(text, length);
	if (!copy)
		return MAP64_NONE;
	if (map64__add(&s->map, hash, s->count)) {
		free(copy);
		return MAP64_NONE;
	}
	s->list[s->count] = copy;
	return s->count++;
}

const char *strings__intern(struct strings *s, const char *text)
{
	uint32_t number = strings__number(s, text, strlen(text));

	return number == MAP64_NONE ? NULL : s->list[number];
}

void strings__free(struct strings *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free(s->list[i]);
	free(s->list);
	map64__free(&s->map);
	memset(s, 0, sizeof(*s));
}
