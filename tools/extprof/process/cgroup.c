/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "process/proc.h"

#define ROOT "/sys/fs/cgroup"
/* More than the longest path in two of these files, with its escapes. */
#define FILE_MAX (1u << 20)

struct mount {
	const char *root;	/* the group that is mounted, "" for the first one */
	const char *point;	/* where */
	const char *hierarchy;	/* see struct cgroup */
};

/* The whole file, NUL-terminated; NULL: it cannot be read.  The caller frees it. */
static char *read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	struct text text = { 0 };
	char part[4096];
	size_t n;

	if (!f)
		return NULL;
	while (text.length < FILE_MAX && (n = fread(part, 1, sizeof(part), f)) > 0)
		text__add(&text, part, n);
	fclose(f);
	if (text.failed)
		text__free(&text);
	return text.data;
}

/* Spaces and the like are "\040" in mountinfo. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* "30 22 0:27 /root /point options optional... - type source options": false if it is no mount of that type. */
static bool parse_mount(char *line, const char *type, struct mount *m)
{
	char *rest = strstr(line, " - "), *save, *root, *kind, *options;

	if (!rest)
		return false;
	*rest = '\0';
	root = strtok_r(line, " ", &save);
	for (int i = 0; root && i < 3; i++)
		root = strtok_r(NULL, " ", &save);
	m->point = root ? strtok_r(NULL, " ", &save) : NULL;
	kind = strtok_r(rest + 3, " ", &save);
	strtok_r(NULL, " ", &save);
	options = strtok_r(NULL, " ", &save);
	if (!m->point || !options || strcmp(kind, type))
		return false;
	unescape(root);
	unescape((char *)m->point);
	m->root = strcmp(root, "/") ? root : "";
	m->hierarchy = strcmp(type, "cgroup2") ? options : "";
	return true;
}

/* The part of the path behind `start`: "" or "/..."; NULL: the path is not below `start`. */
static const char *below(const char *path, const char *start)
{
	size_t n = strlen(start);

	return !strncmp(path, start, n) && (!path[n] || path[n] == '/') ? path + n : NULL;
}

/* Is there such a directory?  Then that is the group.  1, 0, or -ENOMEM. */
static int try(struct cgroup *c, const struct mount *m, const char *directory)
{
	struct text path = { 0 };
	struct stat st;
	bool is;

	if (!directory)
		return 0;
	text__addf(&path, "%s%s", m->point, directory);
	is = !path.failed && !stat(path.data, &st) && S_ISDIR(st.st_mode);
	text__free(&path);
	if (!is)
		return 0;
	text__addf(&path, "%s%s", m->root, directory);
	c->path = path.failed ? NULL : path.data;
	c->hierarchy = strdup(m->hierarchy);
	return c->path && c->hierarchy ? 1 : -ENOMEM;
}

static int try_mount(struct cgroup *c, const struct mount *m, const char *wanted)
{
	struct text full = { 0 };
	int found = try(c, m, wanted);

	if (!found && *m->root)
		found = try(c, m, below(wanted, m->root));
	if (!found)
		found = try(c, m, below(wanted, m->point));
	text__addf(&full, ROOT "%s", wanted);
	if (!found && !full.failed)
		found = try(c, m, below(full.data, m->point));
	text__free(&full);
	return found;
}

/* 1: found, 0, or -ENOMEM. */
static int look_in(struct cgroup *c, const char *mounts, const char *type, const char *wanted, bool *any)
{
	char *text = read_file(mounts), *save;
	int found = 0;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && !found; line = strtok_r(NULL, "\n", &save)) {
		struct mount m;

		if (!parse_mount(line, type, &m))
			continue;
		*any = true;
		found = try_mount(c, &m, wanted);
	}
	free(text);
	return found;
}

int cgroup__find(struct cgroup *c, const char *mounts, const char *wanted, struct diag *d)
{
	bool any = false;
	int found;

	memset(c, 0, sizeof(*c));
	if (!strcmp(wanted, "/"))
		return 0;
	found = look_in(c, mounts, "cgroup2", wanted, &any);
	if (!found)
		found = look_in(c, mounts, "cgroup", wanted, &any);
	/* Nothing is mounted that could tell. */
	if (!found && !any) {
		c->path = strdup(wanted);
		found = c->path ? 1 : -ENOMEM;
	}
	if (found > 0)
		return 0;
	cgroup__free(c);
	if (found < 0)
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory");
	diag__set(d, DIAG_NO_PROCESS, ENOENT, "there is no cgroup %s", wanted);
	diag__hint(d, "a cgroup is a directory below " ROOT ", and /proc/PID/cgroup names those of a process");
	return -ENOENT;
}

void cgroup__free(struct cgroup *c)
{
	free(c->path);
	free(c->hierarchy);
	memset(c, 0, sizeof(*c));
}

/* Is each controller one of the options of the mount? */
static bool has_controllers(const char *options, const char *controllers, size_t length)
{
	const char *end = controllers + length;

	for (const char *c = controllers; c < end;) {
		size_t n = strcspn(c, ",:");
		bool found = false;

		for (const char *o = options; *o && !found; o += strcspn(o, ","), o += *o == ',')
			found = strcspn(o, ",") == n && !strncmp(o, c, n);
		if (!found)
			return false;
		c += n + 1;
	}
	return length > 0;
}

/* "4:memory:/path" or "0::/path" */
static bool line_is_in(const struct cgroup *c, const char *line, size_t length)
{
	const char *end = line + length, *controllers = memchr(line, ':', length), *path;
	size_t n = strlen(c->path);

	controllers = controllers ? controllers + 1 : end;
	path = memchr(controllers, ':', (size_t)(end - controllers));
	if (!path)
		return false;
	if (c->hierarchy && !*c->hierarchy && path != controllers)
		return false;
	if (c->hierarchy && *c->hierarchy && !has_controllers(c->hierarchy, controllers, (size_t)(path - controllers)))
		return false;
	path++;
	return (size_t)(end - path) >= n && !memcmp(path, c->path, n) && (path + n == end || path[n] == '/');
}

bool cgroup__is_in(const struct cgroup *c, const char *text)
{
	if (!c->path)
		return true;
	for (size_t n; *text; text += n, text += *text == '\n') {
		n = strcspn(text, "\n");
		if (line_is_in(c, text, n))
			return true;
	}
	return false;
}

static char *read_groups(pid_t pid)
{
	char path[PROC_PATH_MAX];

	proc__path(path, pid, 0, "cgroup");
	return read_file(path);
}

bool cgroup__has(const struct cgroup *c, pid_t pid)
{
	char *text = c->path ? read_groups(pid) : NULL;
	bool is = !c->path || (text && cgroup__is_in(c, text));

	free(text);
	return is;
}

/* The path in a line, "4:memory:/path"; NULL: it has none. */
static const char *path_in(const char *line, size_t length)
{
	const char *end = line + length, *colon = memchr(line, ':', length);

	colon = colon ? memchr(colon + 1, ':', (size_t)(end - colon - 1)) : NULL;
	return colon && colon + 1 < end && colon[1] == '/' ? colon + 1 : NULL;
}

char *cgroup__path(const char *text)
{
	struct text clean = { 0 };
	const char *best = NULL;
	size_t best_length = 0;
	bool found = false;	/* that of version 2 */

	for (size_t n; *text; text += n, text += *text == '\n') {
		const char *path;
		size_t length;

		n = strcspn(text, "\n");
		path = path_in(text, n);
		length = path ? (size_t)(text + n - path) : 0;
		/* 1 is the root.  Of version 1 some hierarchies have the slice alone: the longest path says most. */
		if (!strncmp(text, "0::", 3) ? length > 1 || !best : length > best_length && !found) {
			best = path;
			best_length = length;
			found = length > 1 && !strncmp(text, "0::", 3);
		}
	}
	if (best)
		text__add_clean(&clean, best, best_length, 4096);
	return clean.failed ? NULL : clean.data;
}

char *process__cgroup(pid_t pid)
{
	char *text = read_groups(pid), *path = text ? cgroup__path(text) : NULL;

	free(text);
	return path;
}
