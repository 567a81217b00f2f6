/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose code the labels of a report are. */
#include "profile/report_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* The report keeps the directories: what shows places needs them. */
static int keep_rules(struct report *r, const struct owner_rules *rules)
{
	const char **apps = calloc(rules->app_count + 1u, sizeof(*apps));

	if (!apps)
		return -ENOMEM;
	r->rules = (struct owner_rules){ .apps = apps, .only_apps = rules->only_apps };
	for (; r->rules.app_count < rules->app_count; r->rules.app_count++) {
		apps[r->rules.app_count] = strings__intern(&r->strings, rules->apps[r->rules.app_count]);
		if (!apps[r->rules.app_count])
			return -ENOMEM;
	}
	return 0;
}

/* A copy of a part of a path; NULL: out of memory. */
static const char *intern(struct report *r, const char *part, size_t length)
{
	uint32_t number;

	if (!part || !length)
		return "";
	number = strings__number(&r->strings, part, length);
	return number == MAP64_NONE ? NULL : r->strings.list[number];
}

/* The number of an owner, new if need be.  MAP64_NONE: out of memory. */
static uint32_t number_of(struct report_builder *b, const struct owner *o)
{
	struct report *r = b->r;
	struct report_owner new = { .kind = o->kind };
	uint64_t hash;
	uint32_t number;

	new.name = intern(r, o->name, o->name_length);
	new.version = intern(r, o->version, o->version_length);
	if (!new.name || !new.version)
		return MAP64_NONE;
	hash = hash__mix((uintptr_t)new.name ^ (uint64_t)new.kind << 56);
	hash = hash__mix(hash ^ (uintptr_t)new.version);
	while ((number = map64__get(&b->owner_map, hash)) != MAP64_NONE) {
		const struct report_owner *of = &r->owners[number];

		/* Equal texts of the report have equal addresses. */
		if (of->kind == new.kind && of->name == new.name && of->version == new.version)
			return number;
		hash++;
	}
	if (array__reserve(&r->owners, r->owner_count, 1, &b->owner_room, MAP64_NONE, sizeof(*r->owners)) ||
	    map64__add(&b->owner_map, hash, r->owner_count))
		return MAP64_NONE;
	r->owners[r->owner_count] = new;
	return r->owner_count++;
}

static bool has_script(const struct report_builder *b, const char *path)
{
	for (uint32_t i = 0; i < b->rules.script_count; i++)
		if (!strcmp(b->scripts[i], path))
			return true;
	return false;
}

void report__find_scripts(struct report_builder *b)
{
	if (b->view.rules)
		b->rules = *b->view.rules;
	b->rules.scripts = b->scripts;
	b->rules.script_count = 0;
	for (uint32_t i = 0; i < b->frames->count && b->rules.script_count < REPORT_SCRIPTS_MAX; i++) {
		const struct frame *f = &b->frames->list[i];

		if (f->kind == FRAME_RUBY && owner__is_script(f->path) && !has_script(b, f->path))
			b->scripts[b->rules.script_count++] = f->path;
	}
}

int report__find_owners(struct report_builder *b)
{
	const struct owner_rules *rules = &b->rules;
	struct owner o = { .kind = OWNER_NONE };

	if (keep_rules(b->r, rules) || number_of(b, &o) == MAP64_NONE)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->r->label_count; i++) {
		struct report_label *l = &b->r->labels[i];

		/* Code without a file is its caller's. */
		if (l->frame.kind != FRAME_RUBY || !*l->frame.path)
			continue;
		owner__find(l->frame.path, rules, &o);
		l->owner = number_of(b, &o);
		if (l->owner == MAP64_NONE)
			return -ENOMEM;
	}
	return 0;
}
