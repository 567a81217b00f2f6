/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/own_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "process/proc.h"

/* The kernel lets an environment be larger, at which no program aims. */
#define ENVIRONMENT_MAX (256u << 10)

/* The value of a variable, and its length.  NULL: it is not set. */
static const char *value_of(const char *environment, size_t size, const char *name, size_t *length)
{
	size_t n = strlen(name);

	for (const char *at = environment, *end = environment + size; at < end;) {
		size_t whole = strnlen(at, (size_t)(end - at));

		if (whole > n && at[n] == '=' && !memcmp(at, name, n)) {
			*length = whole - n - 1;
			return at + n + 1;
		}
		at += whole + 1;
	}
	return NULL;
}

/* As a value in the other variable: what means something there is escaped. */
static void add_escaped(struct text *to, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c <= ' ' || c >= 0x7f || strchr(",=%;\"\\", c))
			text__addf(to, "%%%02X", c);
		else
			text__add(to, text + i, 1);
	}
}

char *own_name__of(const char *environment, size_t size)
{
	size_t length = 0;
	const char *name = value_of(environment, size, "OTEL_SERVICE_NAME", &length);
	struct text raw = { .limit = OWN_NAME_MAX }, clean = { 0 };

	if (name && length) {
		text__adds(&raw, "service.name=");
		add_escaped(&raw, name, length);
	}
	name = value_of(environment, size, "OTEL_RESOURCE_ATTRIBUTES", &length);
	if (name && length) {
		if (raw.length)
			text__adds(&raw, ",");
		text__add(&raw, name, length);
	}
	if (raw.length)
		text__add_clean(&clean, raw.data, raw.length, OWN_NAME_MAX);
	if (raw.failed || clean.failed)
		text__clear(&clean);
	text__free(&raw);
	if (clean.length)
		return clean.data;
	text__free(&clean);
	return NULL;
}

char *own_name__read(pid_t pid)
{
	FILE *f = proc__open(pid, 0, GUARDED_ENVIRON);
	char *environment = f ? malloc(ENVIRONMENT_MAX) : NULL, *name = NULL;

	if (environment)
		name = own_name__of(environment, fread(environment, 1, ENVIRONMENT_MAX, f));
	free(environment);
	if (f)
		fclose(f);
	return name;
}
