/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the rules of a transformation from text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/transform.h"

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* A method can be "Integer#/", too. */
static bool is_file(const char *text)
{
	const char *slash = strchr(text, '/');
	size_t length = strlen(text);

	if (length > 3 && !strcmp(text + length - 3, ".rb"))
		return true;
	return slash && !(slash > text && !slash[1] && (slash[-1] == '#' || slash[-1] == '.'));
}

static int keep_rule(struct transform *t, enum transform_action action, uint8_t what, const char *pattern)
{
	struct transform_rule *r = &t->rules[t->count];

	if (t->count == TRANSFORM_RULES_MAX)
		return -E2BIG;
	r->action = (uint8_t)action;
	r->what = what;
	r->pattern = strdup(pattern);
	if (!r->pattern)
		return -ENOMEM;
	t->count++;
	return 0;
}

static int add_rule(struct transform *t, enum transform_action action, const char *text)
{
	static const char *const prefixes[] = {
		[TRANSFORM_GEM] = "gem:", [TRANSFORM_METHOD] = "method:", [TRANSFORM_FILE] = "file:",
	};
	uint8_t what = is_file(text) ? TRANSFORM_FILE : TRANSFORM_METHOD;
	const char *pattern = text;

	for (uint8_t i = TRANSFORM_GEM; i <= TRANSFORM_FILE; i++)
		if (begins(text, prefixes[i])) {
			what = i;
			pattern = text + strlen(prefixes[i]);
		}
	if (!strcmp(text, "app"))
		what = TRANSFORM_APP;
	/* Without its own code nothing is left of an application. */
	if (!*pattern || (what == TRANSFORM_APP && action == TRANSFORM_HIDE))
		return -EINVAL;
	return keep_rule(t, action, what, pattern);
}

int transform__add_method(struct transform *t, enum transform_action action, const char *pattern)
{
	return *pattern ? keep_rule(t, action, TRANSFORM_METHOD, pattern) : -EINVAL;
}

int transform__add(struct transform *t, enum transform_action action, const char *list, const char **wrong)
{
	int err = 0;

	do {
		size_t length = strcspn(list, ",");
		char *one = strndup(list, length);

		if (!one)
			return -ENOMEM;
		*wrong = list;
		err = add_rule(t, action, one);
		free(one);
		list += length;
	} while (!err && *list++);
	return err;
}

int transform__collapse(struct transform *t, const char *list)
{
	do {
		size_t length = strcspn(list, ",");

		if (length == 4 && begins(list, "gems"))
			t->gems = true;
		else if (length == 9 && begins(list, "recursion"))
			t->recursion = true;
		else
			return -EINVAL;
		list += length;
	} while (*list++);
	return 0;
}

bool transform__changes(const struct transform *t)
{
	return t->count || t->gems || t->recursion || t->inverts || t->methods;
}

void transform__free(struct transform *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		free(t->rules[i].pattern);
	memset(t, 0, sizeof(*t));
}
