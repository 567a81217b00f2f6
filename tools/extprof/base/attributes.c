/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/attributes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void trim(const char **text, size_t *length)
{
	for (; *length && isblank((unsigned char)**text); (*text)++)
		--*length;
	while (*length && isblank((unsigned char)(*text)[*length - 1]))
		--*length;
}

bool attributes__next(const char **list, struct attribute *a)
{
	while (*list && **list) {
		size_t length = strcspn(*list, ",");

		a->key = *list;
		a->key_length = strcspn(*list, ",=");
		a->value = *list + a->key_length + 1;
		a->value_length = a->key_length < length ? length - a->key_length - 1 : 0;
		*list += length + ((*list)[length] == ',');
		if (!a->value_length)
			continue;
		trim(&a->key, &a->key_length);
		trim(&a->value, &a->value_length);
		if (a->key_length && a->value_length)
			return true;
	}
	return false;
}

/* The bytes that the escapes stand for. */
static void add_bytes(struct text *to, const char *from, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		char digits[3] = { 0 }, c = from[i];

		if (c == '%' && length - i > 2 && isxdigit((unsigned char)from[i + 1]) && isxdigit((unsigned char)from[i + 2])) {
			memcpy(digits, from + i + 1, 2);
			c = (char)strtoul(digits, NULL, 16);
			i += 2;
		}
		text__add(to, &c, 1);
	}
}

void attributes__add_plain(struct text *to, const char *escaped, size_t length, size_t max)
{
	struct text raw = { 0 };

	add_bytes(&raw, escaped, length);
	to->failed |= raw.failed;
	if (raw.length)
		text__add_clean(to, raw.data, raw.length, max);
	text__free(&raw);
}

static bool is_key(const struct attribute *a, const char *key)
{
	struct text plain = { 0 };
	bool same;

	/* Nearly all are as they are. */
	if (!memchr(a->key, '%', a->key_length))
		return a->key_length == strlen(key) && !memcmp(a->key, key, a->key_length);
	add_bytes(&plain, a->key, a->key_length);
	same = !plain.failed && !strcmp(text__string(&plain), key);
	text__free(&plain);
	return same;
}

bool attributes__find(const char *list, const char *key, char *to, size_t size)
{
	struct attribute a;

	*to = '\0';
	while (attributes__next(&list, &a)) {
		struct text value = { 0 };

		if (!is_key(&a, key))
			continue;
		attributes__add_plain(&value, a.value, a.value_length, ATTRIBUTES_LIST_MAX);
		if (!value.failed)
			text__clean(to, size, text__string(&value));
		text__free(&value);
		return *to;
	}
	return false;
}

static void add_escaped_but(struct text *to, const char *bytes, size_t length, const char *meanings)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c < ' ' || c >= 0x7f || strchr(meanings, c))
			text__addf(to, "%%%02X", c);
		else
			text__add(to, bytes + i, 1);
	}
}

void attributes__add_escaped(struct text *to, const char *bytes, size_t length)
{
	add_escaped_but(to, bytes, length, " ,=%;\"\\");
}

void attributes__add_part(struct text *to, const char *bytes, size_t length)
{
	add_escaped_but(to, bytes, length, "");
}

void attributes__add_pair(struct text *list, const struct text *pair)
{
	list->failed |= pair->failed;
	if (pair->failed || !pair->length || list->length + !!list->length + pair->length > ATTRIBUTES_LIST_MAX)
		return;
	if (list->length)
		text__adds(list, ",");
	text__add(list, pair->data, pair->length);
}

void attributes__add(struct text *list, const char *key, const char *value, size_t length)
{
	struct text pair = { 0 };

	text__addf(&pair, "%s=", key);
	attributes__add_escaped(&pair, value, length);
	attributes__add_pair(list, &pair);
	text__free(&pair);
}
