/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/groups.h"

#include <errno.h>
#include <string.h>

#include "wire/trace.h"

const char *const group_names[GROUP_KEYS] = {
	[GROUP_PROCESS] = "process",
	[GROUP_THREAD] = "thread",
	[GROUP_THREAD_PATTERN] = "thread-pattern",
	[GROUP_CGROUP] = "cgroup",
	[GROUP_RECORDING] = "recording",
	[GROUP_HOST] = "host",
	[GROUP_COMMAND] = "command",
	[GROUP_SERVICE] = "service",
	[GROUP_TRACE] = "trace",
	[GROUP_SPAN] = "span",
};

bool groups__has(const struct groups *g, enum group_key key)
{
	for (int i = 0; i < g->count; i++)
		if (g->keys[i] == key)
			return true;
	return false;
}

bool groups__has_resources(const struct groups *g)
{
	return g->resource_count || groups__has(g, GROUP_SERVICE);
}

void groups__add(struct groups *g, enum group_key key)
{
	if (!groups__has(g, key) && g->count < GROUPS_MAX)
		g->keys[g->count++] = (uint8_t)key;
}

void groups__remove(struct groups *g, uint8_t key)
{
	uint8_t n = 0;

	for (uint8_t i = 0; i < g->count; i++)
		if (g->keys[i] != key)
			g->keys[n++] = g->keys[i];
	g->count = n;
}

void groups__add_outermost(struct groups *g, enum group_key key)
{
	if (groups__has(g, key) || g->count == GROUPS_MAX)
		return;
	memmove(g->keys + 1, g->keys, g->count++);
	g->keys[0] = (uint8_t)key;
}

void groups__add_mask(struct groups *g, uint32_t mask)
{
	for (int key = 1; key < GROUP_KEYS; key++)
		if (mask & 1u << key)
			groups__add(g, (enum group_key)key);
	/* A user who asks for threads in this way wants each of them. */
	if (mask & 1u << GROUP_THREAD)
		g->patterns_allowed = false;
}

int groups__name_as_label(struct groups *g, enum group_key key)
{
	int label = g->label_count;

	if (label == GROUP_LABELS_MAX)
		return -1;
	for (int i = 0; i < g->count; i++)
		if (g->keys[i] == key)
			g->keys[i] = (uint8_t)(GROUP_LABEL + label);
	strcpy(g->labels[label], group_names[key]);
	return g->label_count++;
}

static int by_name(const char *name, size_t length)
{
	for (int key = 1; key < GROUP_KEYS; key++)
		if (strlen(group_names[key]) == length && !strncmp(group_names[key], name, length))
			return key;
	return 0;
}

/* The group key, 0: there are too many, or it is there already. */
static int add_label_key(struct groups *g, const char *key, size_t length)
{
	if (length >= sizeof(g->labels[0]) || g->label_count == GROUP_LABELS_MAX)
		return 0;
	for (int i = 0; i < g->label_count; i++)
		if (strlen(g->labels[i]) == length && !strncmp(g->labels[i], key, length))
			return 0;
	memcpy(g->labels[g->label_count], key, length);
	return GROUP_LABEL + g->label_count++;
}

/* "label:KEY".  The group key, 0 if it is something else. */
static int add_label(struct groups *g, const char *name, size_t length)
{
	size_t prefix = strlen(GROUP_LABEL_PREFIX);

	if (length <= prefix || strncmp(name, GROUP_LABEL_PREFIX, prefix))
		return 0;
	return add_label_key(g, name + prefix, length - prefix);
}

/* "resource:KEY".  The same. */
static int add_resource(struct groups *g, const char *name, size_t length)
{
	size_t prefix = strlen(GROUP_RESOURCE_PREFIX);
	const char *key = name + prefix;

	if (length <= prefix || strncmp(name, GROUP_RESOURCE_PREFIX, prefix) || length - prefix > GROUP_RESOURCE_KEY_MAX ||
	    g->resource_count == GROUP_RESOURCES_MAX)
		return 0;
	for (int i = 0; i < g->resource_count; i++)
		if (strlen(g->resources[i]) == length - prefix && !strncmp(g->resources[i], key, length - prefix))
			return 0;
	memcpy(g->resources[g->resource_count], key, length - prefix);
	return GROUP_RESOURCE + g->resource_count++;
}

static int add_trace(struct groups *g, enum trace_part part)
{
	return add_label_key(g, trace_labels[part], strlen(trace_labels[part]));
}

int groups__parse(const char *text, struct groups *g)
{
	memset(g, 0, sizeof(*g));
	if (!strcmp(text, "none"))
		return 0;
	for (;;) {
		size_t length = strcspn(text, ",");
		int key = by_name(text, length);

		if (!key && !(key = add_label(g, text, length)))
			key = add_resource(g, text, length);
		else if (key == GROUP_TRACE || key == GROUP_SPAN)
			key = add_trace(g, key == GROUP_TRACE ? TRACE_ID : TRACE_SPAN);
		if (!key || groups__has(g, (enum group_key)key))
			return -EINVAL;
		groups__add(g, (enum group_key)key);
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

void groups__add_text(const struct groups *g, struct text *out)
{
	for (int i = 0; i < g->count; i++) {
		uint8_t key = g->keys[i];

		text__adds(out, i ? "," : "");
		if (key < GROUP_KEYS)
			text__adds(out, group_names[key]);
		else if (group__is_label(key))
			text__addf(out, GROUP_LABEL_PREFIX "%s", g->labels[key - GROUP_LABEL]);
		else
			text__addf(out, GROUP_RESOURCE_PREFIX "%s", g->resources[key - GROUP_RESOURCE]);
	}
}
