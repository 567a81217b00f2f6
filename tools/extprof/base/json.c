/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>

static void put(struct json *j, const char *text)
{
	errno = 0;
	if (!j->err && fputs(text, j->to) < 0)
		j->err = errno ? -errno : -EIO;
}

/* Write what comes before a value: a comma with a newline, and the key. */
static void begin(struct json *j, const char *key)
{
	if (j->follows)
		put(j, ",\n");
	if (key) {
		put(j, "\"");
		put(j, key);
		put(j, "\":");
	}
	j->follows = true;
}

void json__open(struct json *j, const char *key, char opening)
{
	begin(j, key);
	put(j, opening == '{' ? "{\n" : "[\n");
	j->follows = false;
}

void json__close(struct json *j, char closing)
{
	put(j, closing == '}' ? "\n}" : "\n]");
	j->follows = true;
}

void json__add(struct json *j, const char *key, json_t *value)
{
	if (!value && !j->err)
		j->err = -ENOMEM;
	begin(j, key);
	errno = 0;
	if (!j->err && json_dumpf(value, j->to, JSON_COMPACT | JSON_ENCODE_ANY))
		j->err = errno ? -errno : -EIO;
	json_decref(value);
}

void json__number(struct json *j, const char *key, int64_t value, unsigned int decimals)
{
	uint64_t amount = value < 0 ? 0 - (uint64_t)value : (uint64_t)value, unit = 1, rest;
	char text[48];
	int n;

	for (unsigned int i = 0; i < decimals; i++)
		unit *= 10;
	n = snprintf(text, sizeof(text), "%s%" PRIu64, value < 0 ? "-" : "", amount / unit);
	rest = amount % unit;
	if (rest) {
		n += snprintf(text + n, sizeof(text) - (size_t)n, ".%0*" PRIu64, (int)decimals, rest);
		while (text[n - 1] == '0')
			text[--n] = '\0';
	}
	begin(j, key);
	put(j, text);
}

void json__null(struct json *j, const char *key)
{
	begin(j, key);
	put(j, "null");
}
