/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/stillness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/stuck.h"

#define SECOND 1000000000ull
/* The error of a look, ns: what a look itself may find in the middle. */
#define LOOK_ERROR 1000000ull

static int by_tid(const void *a, const void *b)
{
	const struct still_thread *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

struct still_thread *still_process__thread(struct still_process *p, uint32_t tid)
{
	const struct still_thread wanted = { .tid = tid };

	return p->count ? bsearch(&wanted, p->threads, p->count, sizeof(*p->threads), by_tid) : NULL;
}

/* The two numbers of a thread.  false: it has ended, or the kernel does not count. */
static bool read_one(int task, const char *tid, uint64_t *ran, uint64_t *slices)
{
	char path[64], text[96];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.20s/schedstat", tid);
	fd = openat(task, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return sscanf(text, "%" SCNu64 " %*u %" SCNu64, ran, slices) == 2;
}

bool stillness__is_counted(const char *root)
{
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t ran, slices;
	bool is;

	if (fd < 0)
		return false;
	is = read_one(fd, "self", &ran, &slices) && slices > 0;
	close(fd);
	return is;
}

static int add_thread(struct still_process *p, const struct still_thread *t)
{
	if (p->count == p->room) {
		size_t room = p->room ? 2 * p->room : 16;
		struct still_thread *list = reallocarray(p->threads, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		p->threads = list;
		p->room = room;
	}
	p->threads[p->count++] = *t;
	return 0;
}

/* Times of all threads since the look before. */
struct doing {
	uint64_t passed;	/* ns */
	uint64_t used;		/* ns of CPU time */
	uint64_t ticked;	/* of it by the one thread that may tick */
	bool counted;		/* a thread that lives has run */
};

/* If several threads tick, the one with most ticks is the timer. */
static void note_ticks(struct doing *d, uint64_t ran, uint64_t slices)
{
	if (ran > d->ticked && slices <= (uint64_t)((double)d->passed / SECOND * STILL_TICKS_MAX) && ran <= slices * STILL_TICK_MAX)
		d->ticked = ran;
}

/* `known` of them were there before, by tid; new ones follow. */
static int look_at_thread(struct still_process *p, size_t known, int task, const char *name, uint64_t now, struct doing *d)
{
	struct still_thread one = { .tid = (uint32_t)strtoul(name, NULL, 10), .seen = true, .since = now }, *t;

	if (!read_one(task, name, &one.ran, &one.slices))
		return 0;
	d->counted |= one.slices > 0;
	t = known ? bsearch(&one, p->threads, known, sizeof(one), by_tid) : NULL;
	if (!t) {
		d->used += one.ran;
		return p->count < STILL_THREADS_MAX ? add_thread(p, &one) : 0;
	}
	t->seen = true;
	if (one.ran > t->ran && one.slices >= t->slices) {
		d->used += one.ran - t->ran;
		note_ticks(d, one.ran - t->ran, one.slices - t->slices);
	}
	if (one.ran != t->ran || one.slices != t->slices)
		*t = one;
	return 0;
}

static void forget_ended(struct still_process *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->count; i++)
		if (p->threads[i].seen)
			p->threads[kept++] = p->threads[i];
	p->count = kept;
	if (kept)
		qsort(p->threads, kept, sizeof(*p->threads), by_tid);
}

static int look_at_process(struct still_process *p, const char *root, uint64_t now)
{
	struct doing d = { .passed = now - p->looked };
	size_t known = p->count;
	struct dirent *entry;
	char path[300];
	DIR *tasks;
	int err = 0;

	snprintf(path, sizeof(path), "%.200s/%d/task", root, p->pid);
	tasks = opendir(path);
	if (!tasks)
		return 0;
	for (size_t i = 0; i < known; i++)
		p->threads[i].seen = false;
	while (!err && (entry = readdir(tasks)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			err = look_at_thread(p, known, dirfd(tasks), entry->d_name, now, &d);
	closedir(tasks);
	forget_ended(p);
	/* Before the first look nothing is known of it, and nothing ever if the kernel does not count. */
	if (!p->looked || !d.counted || d.used - d.ticked > (uint64_t)((double)d.passed / SECOND * STILL_CPU_MAX) + LOOK_ERROR)
		p->since = now;
	p->looked = now;
	return err;
}

static void free_process(struct still_process *p)
{
	free(p->threads);
	stuck_history__free(p->history);
}

/* The process, new if need be; NULL: out of memory, or too many. */
static struct still_process *process_of(struct stillness *s, pid_t pid)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].pid == pid)
			return &s->list[i];
	if (s->count == s->room) {
		size_t room = s->room ? 2 * s->room : 16;
		struct still_process *list = room > STILL_PROCESSES_MAX ? NULL : reallocarray(s->list, room, sizeof(*list));

		if (!list)
			return NULL;
		s->list = list;
		s->room = room;
	}
	s->list[s->count] = (struct still_process){ .pid = pid };
	return &s->list[s->count++];
}

int stillness__look(struct stillness *s, const char *root, const pid_t *pids, size_t count, uint64_t now)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < s->count; i++)
		s->list[i].seen = false;
	for (size_t i = 0; i < count && !err; i++) {
		struct still_process *p = process_of(s, pids[i]);

		if (!p) {
			err = s->count >= STILL_PROCESSES_MAX ? 0 : -ENOMEM;
			continue;
		}
		p->seen = true;
		err = look_at_process(p, root, now);
	}
	for (size_t i = 0; i < s->count && !err; i++) {
		if (s->list[i].seen)
			s->list[kept++] = s->list[i];
		else
			free_process(&s->list[i]);
	}
	s->count = err ? s->count : kept;
	return err;
}

static bool is_still(const struct still_thread *t, uint64_t now, uint64_t length)
{
	return now >= t->since && now - t->since >= length;
}

bool still_process__is_due(const struct still_process *p, uint64_t now, uint64_t length)
{
	if (!p->looked || now < p->again || now < p->since || now - p->since < length)
		return false;
	for (size_t i = 0; i < p->count; i++)
		if (is_still(&p->threads[i], now, length) && !p->threads[i].judged)
			return true;
	return false;
}

void still_process__judged(struct still_process *p, uint64_t now, uint64_t length)
{
	p->again = 0;
	for (size_t i = 0; i < p->count; i++)
		p->threads[i].judged |= is_still(&p->threads[i], now, length);
}

void stillness__free(struct stillness *s)
{
	for (size_t i = 0; i < s->count; i++)
		free_process(&s->list[i]);
	free(s->list);
	*s = (struct stillness){ .count = 0 };
}
