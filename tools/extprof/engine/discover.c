/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that exist already: the children of those that are wanted, or all of them. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/map64.h"
#include "base/proc_file.h"
#include "engine/state.h"

/* While they are read, others are made: after so many rounds the kernel has told of those. */
#define ROUNDS_MAX 8
/* PID_MAX_LIMIT of the kernel. */
#define RELATIONS_MAX (4u << 20)

struct relation {
	pid_t pid, parent;
};

struct relations {
	struct relation *list;
	uint32_t count;
	size_t room;
	struct map64 by_pid;	/* place in list */
};

static int read_relations(struct relations *r, bool parents)
{
	DIR *dir = opendir("/proc");
	struct proc_stat stat = { 0 };
	struct dirent *entry;

	r->count = 0;
	map64__clear(&r->by_pid);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (*end || pid < 1 || pid == getpid())
			continue;
		if (array__reserve(&r->list, r->count, 1, &r->room, RELATIONS_MAX, sizeof(*r->list)) ||
		    map64__add(&r->by_pid, (uint64_t)pid, r->count))
			break;
		if (parents)
			proc_stat__read(&stat, (pid_t)pid, 0);
		r->list[r->count++] = (struct relation){ .pid = (pid_t)pid, .parent = stat.parent };
	}
	closedir(dir);
	return 0;
}

static const struct relation *find_relation(const struct relations *r, pid_t pid)
{
	uint32_t place = map64__get(&r->by_pid, (uint64_t)pid);

	return place == MAP64_NONE ? NULL : &r->list[place];
}

static void free_relations(struct relations *r)
{
	free(r->list);
	map64__free(&r->by_pid);
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

/* Does it descend from the process? */
static bool is_below(const struct relations *r, const struct relation *of, pid_t pid)
{
	for (int depth = 0; of && depth < 256; depth++) {
		if (of->parent == pid)
			return true;
		of = find_relation(r, of->parent);
	}
	return false;
}

/* Of a pid that exists: is it there no more, or could it not be opened? */
static void not_followed(struct engine *e, int err, const struct diag *d, uint32_t *count)
{
	if (err != -EMFILE && err != -ENFILE)
		return;
	if (!e->not_added && !*count)
		e->why_not_added = *d;
	++*count;
}

void engine__discover_children(struct engine *e, pid_t of)
{
	struct relations r = { 0 };
	uint32_t missing = 0;
	struct diag d;

	for (int round = 0; round < ROUNDS_MAX; round++) {
		uint32_t found = 0;

		missing = 0;
		if (read_relations(&r, true))
			break;
		for (uint32_t i = 0; i < r.count; i++) {
			struct process *p, *ancestor;
			int err;

			if (process_set__by_pid(&e->set, r.list[i].pid) || (of && !is_below(&r, &r.list[i], of)))
				continue;
			ancestor = followed_ancestor(e, &r, &r.list[i]);
			if (!ancestor)
				continue;
			err = engine__follow_pid(e, r.list[i].pid, false, &p, &d);
			if (err) {
				not_followed(e, err, &d, &missing);
				continue;
			}
			p->followed = true;
			p->parent = ancestor->number;
			found++;
		}
		/* Their children are told by the kernel from now on, but for those that were
		 * made between the reading and this. */
		if (!found)
			break;
	}
	e->not_added += missing;
	free_relations(&r);
}

void engine__discover_all(struct engine *e)
{
	struct relations r = { 0 };
	uint32_t missing = 0;
	struct process *p;
	struct diag d;

	if (!read_relations(&r, false))
		for (uint32_t i = 0; i < r.count; i++)
			if (!process_set__by_pid(&e->set, r.list[i].pid))
				not_followed(e, engine__follow_pid(e, r.list[i].pid, false, &p, &d), &d, &missing);
	e->not_added += missing;
	free_relations(&r);
}
