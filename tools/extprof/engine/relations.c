/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/relations.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/proc_file.h"

/* PID_MAX_LIMIT of the kernel. */
#define RELATIONS_MAX (4u << 20)

int relations__read(struct relations *r, bool parents)
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

const struct relation *relations__find(const struct relations *r, pid_t pid)
{
	uint32_t place = map64__get(&r->by_pid, (uint64_t)pid);

	return place == MAP64_NONE ? NULL : &r->list[place];
}

void relations__free(struct relations *r)
{
	free(r->list);
	map64__free(&r->by_pid);
}

bool relation__is_below(const struct relations *r, const struct relation *of, pid_t pid)
{
	for (int depth = 0; of && depth < 256; depth++) {
		if (of->parent == pid)
			return true;
		of = relations__find(r, of->parent);
	}
	return false;
}
