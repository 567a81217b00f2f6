/* SPDX-License-Identifier: BSD-2-Clause */
#include "frames/owner.h"

#include <stdio.h>
#include <string.h>

/* An eval in an eval in an eval: a program makes no more of them by hand. */
#define EVALS_MAX 8

/* Limit of a relative path that is joined to a directory. */
#define JOINED_MAX 4096

struct slice {
	const char *at;
	size_t length;
};

static bool starts(struct slice s, const char *prefix)
{
	size_t length = strlen(prefix);

	return s.length >= length && !memcmp(s.at, prefix, length);
}

static bool is(struct slice s, const char *text)
{
	return s.length == strlen(text) && !memcmp(s.at, text, s.length);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* "(eval at FILE:LINE)" -> FILE */
static struct slice file_of(struct slice p)
{
	static const char prefix[] = "(eval at ";
	const size_t skip = sizeof(prefix) - 1;

	for (int i = 0; i < EVALS_MAX && starts(p, prefix) && p.at[p.length - 1] == ')'; i++) {
		size_t end = p.length - 1;

		while (end > skip && is_digit(p.at[end - 1]))
			end--;
		if (end == p.length - 1 || end <= skip + 1 || p.at[end - 1] != ':')
			break;
		p = (struct slice){ p.at + skip, end - 1 - skip };
	}
	return p;
}

/* How long a version is that begins there: digits, and words behind dots.  0: none does. */
static size_t version_length(struct slice s, bool *has_dot)
{
	size_t n = 0;

	*has_dot = false;
	while (n < s.length && is_digit(s.at[n]))
		n++;
	while (n && n + 1 < s.length && s.at[n] == '.' && is_word(s.at[n + 1])) {
		*has_dot = true;
		for (n++; n < s.length && is_word(s.at[n]);)
			n++;
	}
	return n;
}

/* "nokogiri-1.18.0-x86_64-linux": a name can have a number too, so the first version with a dot counts. */
static bool parse_release(struct slice dir, struct owner *o)
{
	o->name = NULL;
	for (size_t i = 1; i + 1 < dir.length; i++) {
		struct slice rest = { dir.at + i + 1, dir.length - i - 1 };
		bool has_dot;
		size_t length = dir.at[i] == '-' ? version_length(rest, &has_dot) : 0;

		if (!length || (length < rest.length && rest.at[length] != '-') || (o->name && !has_dot))
			continue;
		o->name = dir.at;
		o->name_length = i;
		o->version = rest.at;
		o->version_length = length;
		if (has_dot)
			break;
	}
	return o->name != NULL;
}

/* "rails-8b1f5a2c3d4e" */
static bool parse_checkout(struct slice dir, struct owner *o)
{
	size_t at = dir.length;

	while (at && ((dir.at[at - 1] >= 'a' && dir.at[at - 1] <= 'f') || is_digit(dir.at[at - 1])))
		at--;
	if (at < 2 || dir.at[at - 1] != '-' || dir.length - at < 7 || dir.length - at > 40)
		return false;
	o->name = dir.at;
	o->name_length = at - 1;
	o->version = dir.at + at;
	o->version_length = dir.length - at;
	return true;
}

/* "3.4.0", and where packages and sites install. */
static bool is_library_directory(struct slice s)
{
	int dots = 0;

	if (is(s, "site_ruby") || is(s, "vendor_ruby"))
		return true;
	for (size_t i = 0; i < s.length; i++) {
		if (!is_digit(s.at[i]) && (s.at[i] != '.' || !i) && s.at[i] != '+')
			return false;
		dots += s.at[i] == '.';
	}
	return dots == 2;
}

/* The part of the standard library: "net" of "net/http.rb", "set" of "x86_64-linux/set.rb". */
static void name_part(struct slice rest, struct owner *o)
{
	size_t length = 0;

	for (int i = 0; i < 3; i++) {
		const char *slash = memchr(rest.at, '/', rest.length);
		struct slice first = { rest.at, slash ? (size_t)(slash - rest.at) : rest.length };

		length = first.length;
		if (!slash || (!is_library_directory(first) && !memmem(first.at, first.length, "-linux", 6) &&
			       !memmem(first.at, first.length, "-darwin", 7)))
			break;
		rest = (struct slice){ slash + 1, rest.length - length - 1 };
	}
	if (length > 3 && !memcmp(rest.at + length - 3, ".rb", 3))
		length -= 3;
	o->name = length ? rest.at : NULL;
	o->name_length = length;
}

/*
 * Find the owner by the directories of the path.  For a gem within another gem the innermost directory counts.  *root:
 * length of the path to it, with the slash.
 */
static void find_directories(struct slice p, struct owner *o, size_t *root)
{
	static const char suffix[] = ".gemspec";
	struct slice before[3] = { 0 };		/* the last directories, nearest first */
	struct slice file;
	size_t start, end;

	*root = 0;
	for (start = 0; start < p.length; start = end + 1) {
		const char *slash = memchr(p.at + start, '/', p.length - start);
		struct slice dir;
		struct owner found = { 0 };

		if (!slash)
			break;
		end = (size_t)(slash - p.at);
		dir = (struct slice){ p.at + start, end - start };
		if (is(before[0], "gems") && (is(before[1], "bundler") ? parse_checkout(dir, &found) || parse_release(dir, &found) :
								      parse_release(dir, &found))) {
			found.kind = OWNER_GEM;
			found.root = p.at;
			found.root_length = end + 1;
		} else if (o->kind != OWNER_GEM && is(before[0], "ruby") && is_library_directory(dir) &&
			   (starts(before[1], "lib") || starts(before[2], "lib"))) {
			found.kind = OWNER_STDLIB;
			found.root = p.at;
			found.root_length = end + 1;
			name_part((struct slice){ slash + 1, p.length - end - 1 }, &found);
		}
		if (found.kind) {
			*o = found;
			*root = end + 1;
		}
		before[2] = before[1];
		before[1] = before[0];
		before[0] = dir;
	}
	/* "specifications/json-2.9.1.gemspec", or below "specifications/default": code of the gem as well. */
	if (start + sizeof(suffix) > p.length || memcmp(p.at + p.length - (sizeof(suffix) - 1), suffix, sizeof(suffix) - 1) ||
	    !is(before[is(before[0], "default")], "specifications"))
		return;
	file = (struct slice){ p.at + start, p.length - start - (sizeof(suffix) - 1) };
	if (!parse_release(file, o))
		return;
	o->kind = OWNER_GEM;
	o->root = p.at;
	o->root_length = *root = start;
}

static struct slice base_of(struct slice p)
{
	const char *slash = memrchr(p.at, '/', p.length);

	return slash ? (struct slice){ slash + 1, p.length - (size_t)(slash + 1 - p.at) } : p;
}

/* Is the file in a directory of that name? */
static bool is_in(struct slice p, const char *name)
{
	struct slice base = base_of(p);
	size_t above = p.length - base.length;

	return above > 1 && is(base_of((struct slice){ p.at, above - 1 }), name);
}

bool owner__is_script(const char *path)
{
	struct slice p = { path, strlen(path) }, rest;
	struct owner o = { .kind = OWNER_NONE };
	size_t root;

	if (p.length >= JOINED_MAX || (!is_in(p, "bin") && !is_in(p, "exe")))
		return false;
	find_directories(p, &o, &root);
	rest = (struct slice){ p.at + root, p.length - root };
	return o.kind == OWNER_GEM && rest.length > 4 && !memchr(rest.at + 4, '/', rest.length - 4);
}

/* A file in bin/ that starts the script of a gem belongs to that gem. */
static bool find_script(struct slice p, const struct owner_rules *rules, struct owner *o)
{
	struct slice base = base_of(p);
	size_t root;

	if (!rules || !rules->script_count || !is_in(p, "bin"))
		return false;
	for (uint32_t i = 0; i < rules->script_count; i++) {
		struct slice script = { rules->scripts[i], strlen(rules->scripts[i]) }, name = base_of(script);

		if (name.length != base.length || memcmp(name.at, base.at, base.length))
			continue;
		find_directories(script, o, &root);
		return true;
	}
	return false;
}

/* How long the directory is, with a slash, if the path is below it; else 0. */
static size_t below(struct slice p, const char *dir)
{
	size_t length = strlen(dir);

	if (length && dir[length - 1] == '/')
		length--;
	return p.length > length && !memcmp(p.at, dir, length) && p.at[length] == '/' ? length + 1 : 0;
}

/* Is it the application's, if it is none of a gem or library of which the directory is as long as `root`? */
static bool is_of_app(struct slice p, const struct owner_rules *rules, size_t root)
{
	char joined[JOINED_MAX];

	for (uint32_t i = 0; i < rules->app_count; i++) {
		size_t length = below(p, rules->apps[i]);

		/* A gem is the application if that is within it. */
		if (length && length >= root)
			return true;
		for (uint32_t j = 0; !root && *p.at != '/' && j < rules->cwd_count; j++) {
			int n = snprintf(joined, sizeof(joined), "%s/%.*s", rules->cwds[j], (int)p.length, p.at);

			if (n > 0 && n < (int)sizeof(joined) && below((struct slice){ joined, (size_t)n }, rules->apps[i]))
				return true;
		}
	}
	return !rules->only_apps && !root;
}

void owner__find(const char *path, const struct owner_rules *rules, struct owner *o)
{
	static const struct owner_rules none = { 0 };
	struct slice p = file_of((struct slice){ path, strlen(path) });
	size_t root;

	memset(o, 0, sizeof(*o));
	if (!p.length || p.length >= JOINED_MAX)
		return;
	if (starts(p, "<internal:")) {
		o->kind = OWNER_RUBY;
		return;
	}
	find_directories(p, o, &root);
	if (!o->kind && find_script(p, rules, o))
		return;
	if (is_of_app(p, rules ? rules : &none, root))
		*o = (struct owner){ .kind = OWNER_APP };
	else if (!o->kind)
		o->kind = OWNER_OTHER;
}

void owner__add_text(uint8_t kind, const char *name, const char *version, struct text *out)
{
	switch (kind) {
	case OWNER_APP: text__adds(out, "the application"); break;
	case OWNER_GEM: text__addf(out, "gem %s%s%s", name, version && *version ? " " : "", version ? version : ""); break;
	case OWNER_STDLIB: text__addf(out, "%s (standard library)", *name ? name : "other"); break;
	case OWNER_RUBY: text__adds(out, "Ruby itself"); break;
	case OWNER_OTHER: text__adds(out, "other code"); break;
	default: text__adds(out, "unknown code");
	}
}

const char *owner__short_path(const char *path, const struct owner_rules *rules)
{
	struct slice p = { path, strlen(path) };
	size_t longest = 0;

	for (uint32_t i = 0; i < rules->app_count; i++) {
		size_t length = below(p, rules->apps[i]);

		if (length > longest)
			longest = length;
	}
	return path + longest;
}

const char *owner__short_place(const char *path, const struct owner_rules *rules)
{
	const char *end;
	struct owner o;

	owner__find(path, rules, &o);
	if (o.kind != OWNER_GEM || !o.root || o.root_length < 2)
		return owner__short_path(path, rules);
	/* Behind the slash before the last part of its directory. */
	for (end = o.root + o.root_length - 1; end > o.root && end[-1] != '/'; end--)
		;
	return end;
}
