/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/same_paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "frames/owner.h"
#include "recording/schema.h"

/* A release has a name of so many digits at least: a time. */
#define RELEASE_DIGITS 8u
/* Between the parts of a key; no path has it, as texts are clean. */
#define MARK "\001"

static int note_version(struct same_paths *s, const struct owner *o, int side)
{
	uint32_t number = strings__number(&s->gems, o->name, o->name_length);

	if (number == MAP64_NONE ||
	    array__reserve(&s->versions, s->gem_count, number + 1 > s->gem_count ? number + 1 - s->gem_count : 0, &s->gem_room,
			   RECORDING_STRINGS_MAX, sizeof(*s->versions)))
		return -1;
	for (; s->gem_count <= number; s->gem_count++)
		s->versions[s->gem_count] = (struct gem_versions){ { NULL, NULL } };
	if (!s->versions[number].of[side])
		s->versions[number].of[side] = strndup(o->version, o->version_length);
	return s->versions[number].of[side] ? 0 : -1;
}

/* The part of the path behind the directory of a release, if it has one; *begin: the length of what is before its name. */
static const char *after_release(const char *path, size_t *begin)
{
	static const char folder[] = "/releases/";
	const char *at = path;

	while ((at = strstr(at, folder))) {
		const char *name = at + strlen(folder);
		size_t digits = strspn(name, "0123456789");

		if (digits >= RELEASE_DIGITS && name[digits] == '/') {
			*begin = (size_t)(name - path);
			return name + digits;
		}
		at = name;
	}
	return NULL;
}

/* "3.4.0/" at the begin, which site_ruby and vendor_ruby have once more. */
static const char *after_version(const char *path)
{
	size_t version = strspn(path, "0123456789.");

	return version && path[version] == '/' ? path + version + 1 : path;
}

static void add_key(const char *path, const struct owner *o, const char *directory, struct text *key)
{
	const struct owner_rules app = { .apps = &directory, .app_count = directory != NULL };
	const char *rest;
	size_t begin;

	if (o->kind == OWNER_GEM) {
		/* Text before the directory says the kind of code: "(eval at ". */
		text__add(key, path, (size_t)(o->root - path));
		text__adds(key, MARK "gem" MARK);
		text__add(key, o->name, o->name_length);
		text__addf(key, MARK "%s", o->root + o->root_length);
	} else if (o->kind == OWNER_STDLIB) {
		text__addf(key, MARK "library" MARK "%s", after_version(o->root + o->root_length));
	} else if (owner__short_path(path, &app) != path) {
		text__addf(key, MARK "app" MARK "%s", owner__short_path(path, &app));
	} else if ((rest = after_release(path, &begin))) {
		text__add(key, path, begin);
		text__addf(key, MARK "%s", rest);
	} else {
		text__adds(key, path);
	}
}

/* The place of what is shown for a text; NULL: out of memory. */
static const char **place_of(struct same_paths *s, const char *text, size_t length)
{
	uint32_t number = strings__number(&s->keys, text, length);

	/* Numbers are given one after the other. */
	if (number == MAP64_NONE || array__reserve(&s->shown, s->count, number >= s->count, &s->room, 2 * RECORDING_STRINGS_MAX,
						   sizeof(*s->shown)))
		return NULL;
	if (number == s->count)
		s->shown[s->count++] = NULL;
	return &s->shown[number];
}

const char *same_paths__shown(struct same_paths *s, const char *path, const char *directory, int side)
{
	const char **own = place_of(s, path, strlen(path)), **shared = NULL;
	struct text key = { 0 };
	struct owner o;

	owner__find(path, NULL, &o);
	if (!own || (o.kind == OWNER_GEM && note_version(s, &o, side)))
		return NULL;
	/* One path is one file, whatever else is the same. */
	if (*own)
		return *own;
	add_key(path, &o, directory, &key);
	if (!key.failed)
		shared = place_of(s, text__string(&key), key.length);
	text__free(&key);
	if (!shared)
		return NULL;
	if (!*shared)
		*shared = strings__intern(&s->keys, path);
	/* The list may have moved. */
	own = place_of(s, path, strlen(path));
	if (own)
		*own = *shared;
	return *shared;
}

const char *same_paths__version(const struct same_paths *s, const char *gem, int side)
{
	uint32_t number = strings__find(&s->gems, gem);

	return number < s->gem_count ? s->versions[number].of[side] : NULL;
}

void same_paths__free(struct same_paths *s)
{
	for (uint32_t i = 0; i < s->gem_count; i++)
		for (int side = 0; side < 2; side++)
			free(s->versions[i].of[side]);
	free(s->shown);
	free(s->versions);
	strings__free(&s->keys);
	strings__free(&s->gems);
	memset(s, 0, sizeof(*s));
}
