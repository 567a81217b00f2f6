/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/own_name.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/message.h"
#include "process/mapping.h"
#include "process/proc.h"
#include "process/revision.h"

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

/* The list: it is ASCII without control characters.  NULL: it is empty, or out of memory. */
static char *list_of(struct text *list)
{
	if (list->length && !list->failed)
		return list->data;
	text__free(list);
	return NULL;
}

/* In these, hosts and deployment tools leave the commit; Kamal adds to it that files were changed. */
static const char *const commit_variables[] = {
	"DD_GIT_COMMIT_SHA", "KAMAL_VERSION", "HEROKU_BUILD_COMMIT", "HEROKU_SLUG_COMMIT", "RENDER_GIT_COMMIT",
	"RAILWAY_GIT_COMMIT_SHA", "GIT_COMMIT_SHA", "GIT_COMMIT", "GIT_SHA", "COMMIT_SHA", "GIT_REVISION",
};

static void add_commit(struct text *list, const char *environment, size_t size)
{
	for (size_t i = 0; i < sizeof(commit_variables) / sizeof(commit_variables[0]); i++) {
		size_t length = 0, digits = 0;
		const char *value = value_of(environment, size, commit_variables[i], &length);

		while (value && digits < length && value[digits] != '_')
			digits++;
		if (!value || !revision__is_one(value, digits))
			continue;
		attributes__add(list, ATTRIBUTES_COMMIT, value, length);
		return;
	}
}

char *own_name__of_environment(const char *environment, size_t size)
{
	size_t length = 0;
	const char *value = value_of(environment, size, "OTEL_SERVICE_NAME", &length);
	struct text list = { 0 }, pair = { 0 };

	if (value && length)
		attributes__add(&list, "service.name", value, length);
	value = value_of(environment, size, "OTEL_RESOURCE_ATTRIBUTES", &length);
	for (size_t at = 0; value && at < length;) {
		const char *comma = memchr(value + at, ',', length - at);
		size_t part = comma ? (size_t)(comma - value) - at : length - at;

		text__clear(&pair);
		attributes__add_part(&pair, value + at, part);
		attributes__add_pair(&list, &pair);
		at += part + 1;
	}
	text__free(&pair);
	add_commit(&list, environment, size);
	return list_of(&list);
}

static char *read_environment(pid_t pid)
{
	FILE *f = proc__open(pid, 0, GUARDED_ENVIRON);
	char *environment = f ? malloc(ENVIRONMENT_MAX) : NULL, *name = NULL;

	if (environment)
		name = own_name__of_environment(environment, fread(environment, 1, ENVIRONMENT_MAX, f));
	free(environment);
	if (f)
		fclose(f);
	return name;
}

/* -- the context ----------------------------------------------------------------------------------------- */

/* OTEP 4719: what is at the start of the mapping. */
struct header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published_at;		/* 0: it is being changed */
	uint64_t payload;
};
_Static_assert(sizeof(struct header) == 32, "as it is published");

#define CONTEXT_VERSION 2u
/* It changed while it was read. */
#define ATTEMPTS 3
/* Lines of a memory map. */
#define LINES_MAX 16384u

/* AnyValue: texts and whole numbers are taken. */
static void add_value(struct text *to, struct message_part value)
{
	struct message_field f;

	while (message__next(&value, &f)) {
		if (f.number == 1 && f.wire == MESSAGE_LENGTH)
			attributes__add_escaped(to, (const char *)f.content.at, (size_t)(f.content.end - f.content.at));
		else if (f.number == 3 && f.wire == MESSAGE_VARINT)
			text__addf(to, "%" PRId64, (int64_t)f.value);
		else
			continue;
		return;
	}
}

/* KeyValue. */
static void add_attribute(struct text *to, struct message_part attribute)
{
	struct text key = { 0 }, value = { 0 };
	struct message_field f;

	while (message__next(&attribute, &f)) {
		if (f.wire != MESSAGE_LENGTH)
			continue;
		if (f.number == 1 && !key.length)
			attributes__add_escaped(&key, (const char *)f.content.at, (size_t)(f.content.end - f.content.at));
		else if (f.number == 2 && !value.length)
			add_value(&value, f.content);
	}
	/* A service that its SDK does not know is none. */
	if (key.length && value.length &&
	    (strcmp(text__string(&key), "service.name") || strncmp(text__string(&value), "unknown_service", 15))) {
		text__adds(&key, "=");
		text__adds(&key, text__string(&value));
		attributes__add_pair(to, &key);
	}
	to->failed |= key.failed || value.failed;
	text__free(&key);
	text__free(&value);
}

char *own_name__of_message(const uint8_t *message, size_t size)
{
	struct message_part context = { message, message + size };
	struct text list = { 0 };
	struct message_field f, of;

	while (message__next(&context, &f))
		/* Its resource, and of that the attributes. */
		while (f.number == 1 && f.wire == MESSAGE_LENGTH && message__next(&f.content, &of))
			if (of.number == 1 && of.wire == MESSAGE_LENGTH)
				add_attribute(&list, of.content);
	return list_of(&list);
}

char *own_name__of_context(const struct memory *memory, uint64_t address)
{
	uint8_t *message = NULL;
	char *name = NULL;

	for (int i = 0; i < ATTEMPTS && !name; i++) {
		struct header h, after;

		if (memory__read(memory, address, &h, sizeof(h)) || memcmp(h.signature, "OTEL_CTX", sizeof(h.signature)) ||
		    h.version != CONTEXT_VERSION || !h.payload_size || h.payload_size > OWN_CONTEXT_MAX)
			break;
		if (!h.published_at)
			continue;
		free(message);
		message = malloc(h.payload_size);
		if (!message || memory__read(memory, h.payload, message, h.payload_size))
			continue;
		if (!memory__read(memory, address, &after, sizeof(after)) && !memcmp(&h, &after, sizeof(h)))
			name = own_name__of_message(message, h.payload_size);
	}
	free(message);
	return name;
}

static bool is_context(const struct mapping *m)
{
	static const char *const names[] = { "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]", "/memfd:OTEL_CTX" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(m->path, names[i], strlen(names[i])))
			return m->end - m->start >= sizeof(struct header);
	return false;
}

static char *read_context(pid_t pid, const struct memory *memory)
{
	FILE *f = proc__open(pid, 0, GUARDED_MAPS);
	char *line = NULL, *name = NULL;
	size_t room = 0;

	if (!f)
		return NULL;
	for (uint32_t i = 0; i < LINES_MAX && !name && getline(&line, &room, f) > 0; i++) {
		struct mapping m;

		/* The bytes are looked for first: most lines are of others. */
		if (strstr(line, "OTEL_CTX") && mapping__parse(line, 0, &m) && is_context(&m))
			name = own_name__of_context(memory, m.start);
	}
	free(line);
	fclose(f);
	return name;
}

char *own_name__read(pid_t pid, const struct memory *memory)
{
	char *context = memory ? read_context(pid, memory) : NULL, *environment = read_environment(pid), *both = NULL;

	if (!context || !environment)
		return context ? context : environment;
	if (asprintf(&both, "%s,%s", context, environment) < 0)
		both = NULL;
	free(context);
	free(environment);
	return both;
}
