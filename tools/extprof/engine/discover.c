/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that exist already: the children of those that are wanted, or all of them. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "engine/state.h"

/* While they are read, others are made: after so many rounds the kernel has told of those. */
#define ROUNDS_MAX 8

struct relation {
	pid_t pid, parent;
	bool followed;
};

struct relations {
	struct relation *list;
	uint32_t count, room;
};

/* The number after the last ')' of /proc/PID/stat: the command's name may have any in it. */
static pid_t parent_of(pid_t pid)
{
	char path[64], line[1024], *rest;
	int parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	rest = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	return rest && sscanf(rest, ") %*c %d", &parent) == 1 ? parent : 0;
}

static int read_relations(struct relations *r, bool parents)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	r->count = 0;
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (*end || pid < 1 || pid == getpid())
			continue;
		if (r->count == r->room) {
			uint32_t room = r->room ? r->room * 2 : 256;
			void *bigger = realloc(r->list, room * sizeof(*r->list));

			if (!bigger)
				break;
			r->list = bigger;
			r->room = room;
		}
		r->list[r->count++] = (struct relation){ .pid = (pid_t)pid,
							 .parent = parents ? parent_of((pid_t)pid) : 0 };
	}
	closedir(dir);
	return 0;
}

static const struct relation *find_relation(const struct relations *r, pid_t pid)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (r->list[i].pid == pid)
			return &r->list[i];
	return NULL;
}

/* Is one of its ancestors followed? */
static struct process *followed_ancestor(struct engine *e, const struct relations *r, const struct relation *of)
{
	/* The table is no snapshot: it may have a circle in it. */
	for (int depth = 0; of && depth < 256; depth++) {
		struct process *p = process_set__by_pid(&e->set, of->parent);

		if (p)
			return p;
		of = find_relation(r, of->parent);
	}
	return NULL;
}

void engine__discover_children(struct engine *e)
{
	struct relations r = { 0 };
	struct diag d;

	for (int round = 0; round < ROUNDS_MAX; round++) {
		uint32_t found = 0;

		if (read_relations(&r, true))
			break;
		for (uint32_t i = 0; i < r.count; i++) {
			struct process *p, *ancestor;

			if (process_set__by_pid(&e->set, r.list[i].pid))
				continue;
			ancestor = followed_ancestor(e, &r, &r.list[i]);
			if (!ancestor || engine__follow_pid(e, r.list[i].pid, false, &p, &d))
				continue;
			p->followed = true;
			p->parent = ancestor->number;
			found++;
		}
		/* Their children are told by the kernel from now on, but for those that were
		 * made between the reading and this. */
		if (!found)
			break;
	}
	free(r.list);
}

void engine__discover_all(struct engine *e)
{
	struct relations r = { 0 };
	struct process *p;
	struct diag d;

	if (!read_relations(&r, false))
		for (uint32_t i = 0; i < r.count; i++)
			if (!process_set__by_pid(&e->set, r.list[i].pid))
				engine__follow_pid(e, r.list[i].pid, false, &p, &d);
	free(r.list);
}

/* -- conditions ------------------------------------------------------------------------- */

char *process__cgroup(pid_t pid)
{
	char path[64], line[1024];
	struct text clean = { 0 };
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	f = fopen(path, "re");
	if (!f)
		return NULL;
	/* "0::/path" is that of version 2; else the first one that has a path. */
	while (fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		colon = colon ? strchr(colon + 1, ':') : NULL;
		if (!colon || colon[1] != '/' || (clean.length && strncmp(line, "0::", 3)))
			continue;
		colon[1 + strcspn(colon + 1, "\n")] = '\0';
		text__clear(&clean);
		text__add_clean(&clean, colon + 1, strlen(colon + 1), sizeof(line));
	}
	fclose(f);
	return clean.failed ? NULL : clean.data;
}

static bool in_cgroup(pid_t pid, const char *wanted)
{
	char *cgroup = process__cgroup(pid);
	size_t length = strlen(wanted);
	bool is;

	if (!strncmp(wanted, "/sys/fs/cgroup/", 15)) {
		wanted += 14;
		length -= 14;
	}
	while (length > 1 && wanted[length - 1] == '/')
		length--;
	is = cgroup && !strncmp(cgroup, wanted, length) &&
	     (cgroup[length] == '\0' || cgroup[length] == '/' || length == 1);
	free(cgroup);
	return is;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Does the pattern match the name of the process, of its program, or of the script that it runs? */
static bool has_name(pid_t pid, const char *pattern)
{
	char path[64], text[4096];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f && fgets(text, sizeof(text), f)) {
		text[strcspn(text, "\n")] = '\0';
		n = !fnmatch(pattern, text, 0);
	}
	if (f)
		fclose(f);
	if (n)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	/* "puma: cluster worker 0: 123" is a title, "/usr/bin/ruby -W0 bin/puma" are arguments. */
	for (const char *s = text; s < text + n; s += strlen(s) + 1) {
		if (s != text && *s == '-')
			continue;
		if (!fnmatch(pattern, base_name(s), 0) || !fnmatch(pattern, s, 0))
			return true;
		if (s != text)
			break;	/* the script; what follows are its arguments */
	}
	return false;
}

bool engine__accepts(const struct engine *e, pid_t pid)
{
	const struct selection *sel = &e->settings.selection;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (sel->by_user && (stat(path, &st) || st.st_uid != sel->user))
		return false;
	if (sel->name && !has_name(pid, sel->name))
		return false;
	return !sel->cgroup || in_cgroup(pid, sel->cgroup);
}
