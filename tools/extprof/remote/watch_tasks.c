/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/watch_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/directory.h"

/* Threads come and go.  One that is seen so late is not sampled before. */
#define LIST_INTERVAL 50000000ull
/* The process chooses how many it has. */
#define TASKS_MAX 65536u
/* Files that are kept open for cheap looks, of all processes together. */
#define FILES_MAX 512u

static void forget(struct watcher *by, struct watched_task *t)
{
	if (t->fd >= 0) {
		close(t->fd);
		by->open_files--;
	}
	t->fd = -1;
}

static int add(struct watch *w, pid_t tid)
{
	uint32_t inner = tasks__inner_tid(&w->tasks, tid);
	struct watched_task *t;

	if (!inner)
		return 0;	/* it has ended */
	if (array__reserve(&w->native, w->native_count, 1, &w->native_room, TASKS_MAX, sizeof(*w->native)))
		return -ENOMEM;
	t = &w->native[w->native_count++];
	*t = (struct watched_task){ .tid = tid, .inner = inner, .fd = -1, .listed = w->listed,
				    .came_later = w->listed > 1 };
	return 0;
}

/* Their numbers change when one is taken out. */
static int map_again(struct watch *w)
{
	int err = 0;

	map64__clear(&w->native_map);
	for (uint32_t i = 0; i < w->native_count && !err; i++)
		if (map64__get(&w->native_map, w->native[i].inner) == MAP64_NONE)
			err = map64__add(&w->native_map, w->native[i].inner, i);
	return err;
}

static void remove_others(struct watch *w, struct watcher *by)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < w->native_count; i++) {
		if (w->native[i].listed == w->listed)
			w->native[kept++] = w->native[i];
		else
			forget(by, &w->native[i]);
	}
	w->native_count = kept;
}

static int by_tid(const void *a, const void *b)
{
	const struct watched_task *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int list(struct watch *w, struct watcher *by)
{
	DIR *dir = directory__open(w->tasks.dir, ".");
	uint32_t known = w->native_count;
	struct dirent *entry;
	int err = 0;

	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	w->listed++;
	while (!err && (entry = readdir(dir))) {
		struct watched_task wanted = { .tid = (pid_t)strtol(entry->d_name, NULL, 10) }, *t;

		if (wanted.tid <= 0)
			continue;
		t = known ? bsearch(&wanted, w->native, known, sizeof(wanted), by_tid) : NULL;
		if (t)
			t->listed = w->listed;
		else
			err = add(w, wanted.tid);
	}
	closedir(dir);
	if (err)
		return err;
	remove_others(w, by);
	qsort(w->native, w->native_count, sizeof(*w->native), by_tid);
	return map_again(w);
}

static void look(struct watch *w, struct watcher *by, struct watched_task *t)
{
	struct turns now;
	int err;

	if (t->fd < 0 && by->open_files < FILES_MAX) {
		t->fd = turns__open(&w->tasks, t->tid);
		by->open_files += t->fd >= 0;
	}
	err = turns__read(&w->tasks, t->tid, t->fd, t->known ? &t->now : NULL, &now);
	t->ruby = false;
	t->fresh = false;
	/* It got a CPU during each try: what was read last is of this moment, but for whether it has one. */
	if (err == -EAGAIN)
		now.on_cpu = false, now.state = 'R';
	if (err && err != -EAGAIN) {
		t->known = t->moved = false;
		if (err == -ESRCH)
			w->listed_at = 0;
		return;
	}
	/* The first list has the threads that were there before. */
	t->fresh = !t->known && t->came_later;
	t->came_later = false;
	t->moved = t->known && now.got >= t->now.got;
	t->before = t->moved ? t->now : now;
	t->now = now;
	t->known = true;
}

int watch_tasks__look(struct watch *w, struct watcher *by, uint64_t now)
{
	int err = 0;

	if (!w->listed_at || now - w->listed_at > LIST_INTERVAL) {
		w->listed_at = now;
		err = list(w, by);
	}
	for (uint32_t i = 0; i < w->native_count && !err; i++)
		look(w, by, &w->native[i]);
	return err || w->native_count ? err : -ESRCH;
}

void watch_tasks__list_again(struct watch *w)
{
	w->listed_at = 0;
}

struct watched_task *watch_tasks__find(const struct watch *w, uint32_t inner)
{
	uint32_t i = inner ? map64__get(&w->native_map, inner) : MAP64_NONE;

	return i == MAP64_NONE ? NULL : &w->native[i];
}

void watch_tasks__free(struct watch *w, struct watcher *by)
{
	for (uint32_t i = 0; i < w->native_count; i++)
		forget(by, &w->native[i]);
	free(w->native);
	map64__free(&w->native_map);
	w->native = NULL;
	w->native_count = 0;
}
