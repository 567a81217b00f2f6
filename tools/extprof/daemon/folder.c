/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"

#define FILES_MAX 1000000
/* A digit is a 0 here. */
#define PATTERN FOLDER_BASE "-00000000-000000-000Z.extprof"

/* Beside a recording while it is written, and after a kill -9. */
static const char *const logs[] = { "-wal", "-shm", "-journal" };
#define LOGS (sizeof(logs) / sizeof(logs[0]))

struct listed {
	char name[sizeof(PATTERN)];
	uint64_t bytes;
	time_t written;
};

struct listing {
	struct listed *list;
	size_t count, room;
};

static int fail(char *why, size_t size, int err, const char *what)
{
	snprintf(why, size, "%s", what);
	return err;
}

static int check(int fd, char *why, size_t size)
{
	struct stat st;

	if (fstat(fd, &st))
		return fail(why, size, -errno, strerror(errno));
	if (st.st_uid != geteuid())
		return fail(why, size, -EPERM, "it belongs to another user");
	if (st.st_mode & 022)
		return fail(why, size, -EPERM, "others can write into it: chmod go-w");
	return 0;
}

int folder__open(struct folder *f, const char *path, char *why, size_t size)
{
	int err;

	*f = (struct folder){ -1, -1 };
	if (mkdir(path, 0700) && errno != EEXIST)
		return fail(why, size, -errno, strerror(errno));
	f->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->fd < 0)
		return fail(why, size, -errno, strerror(errno));
	err = check(f->fd, why, size);
	if (err)
		goto cleanup;
	f->lock = openat(f->fd, FOLDER_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (f->lock < 0) {
		err = fail(why, size, -errno, strerror(errno));
		goto cleanup;
	}
	/* Not flock(): children that fork() has made would hold it when we have ended. */
	if (fcntl(f->lock, F_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET }))
		err = errno == EAGAIN || errno == EACCES ? fail(why, size, -EBUSY, "another extprof daemon writes into it") :
		      fail(why, size, -errno, strerror(errno));
cleanup:
	if (err)
		folder__close(f);
	return err;
}

void folder__close(struct folder *f)
{
	if (f->lock >= 0)
		close(f->lock);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct folder){ -1, -1 };
}

static bool is_ours(const char *name)
{
	const char *pattern = PATTERN;

	for (; *name && *pattern; name++, pattern++)
		if (*pattern == '0' ? *name < '0' || *name > '9' : *name != *pattern)
			return false;
	return !*name && !*pattern;
}

static void log_name(char *to, size_t size, const char *name, size_t i)
{
	snprintf(to, size, "%s%s", name, logs[i]);
}

/* Size and time of the file with what is beside it.  false: it is gone, or it is no file. */
static bool measure(int fd, struct listed *l)
{
	struct stat st;
	char name[sizeof(l->name) + 16];

	if (fstatat(fd, l->name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return false;
	l->bytes = (uint64_t)st.st_blocks * 512;
	l->written = st.st_mtime;
	for (size_t i = 0; i < LOGS; i++) {
		log_name(name, sizeof(name), l->name, i);
		if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		l->bytes += (uint64_t)st.st_blocks * 512;
		if (st.st_mtime > l->written)
			l->written = st.st_mtime;
	}
	return true;
}

/* Names have the time in them. */
static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct listed *)a)->name, ((const struct listed *)b)->name);
}

static int add(struct listing *l, const struct listed *one)
{
	size_t room = l->room ? 2 * l->room : 256;
	struct listed *list;

	if (l->count == l->room) {
		list = room > FILES_MAX ? NULL : reallocarray(l->list, room, sizeof(*list));
		if (!list)
			return -ENOMEM;
		l->list = list;
		l->room = room;
	}
	l->list[l->count++] = *one;
	return 0;
}

static int list(const struct folder *f, struct listing *l)
{
	DIR *directory = directory__open(f->fd, ".");
	struct dirent *entry;
	int err = 0;

	if (!directory)
		return -errno;
	while (!err && (errno = 0, entry = readdir(directory))) {
		struct listed one = { .bytes = 0 };

		if (!is_ours(entry->d_name))
			continue;
		memcpy(one.name, entry->d_name, sizeof(one.name));
		if (!measure(f->fd, &one))
			continue;
		err = add(l, &one);
	}
	if (!err)
		err = -errno;
	closedir(directory);
	if (!err && l->count)
		qsort(l->list, l->count, sizeof(*l->list), by_name);
	return err;
}

/* The recording first: a log without it is nothing, and it without the log lacks its end. */
static bool remove_one(const struct folder *f, const struct listed *l)
{
	char name[sizeof(l->name) + 16];

	if (unlinkat(f->fd, l->name, 0))
		return false;
	for (size_t i = 0; i < LOGS; i++) {
		log_name(name, sizeof(name), l->name, i);
		unlinkat(f->fd, name, 0);
	}
	return true;
}

static bool is_current(const struct listed *l, const char *current)
{
	return current && !strcmp(l->name, basename(current));
}

int folder__tidy(const struct folder *f, const char *current, time_t before, uint64_t bytes, struct folder_state *state)
{
	struct listing l = { 0 };
	int err = list(f, &l);

	*state = (struct folder_state){ .files = l.count };
	for (size_t i = 0; i < l.count; i++) {
		state->bytes += l.list[i].bytes;
		if (l.list[i].written > state->newest)
			state->newest = l.list[i].written;
	}
	for (size_t i = 0; i < l.count && !err; i++) {
		const struct listed *one = &l.list[i];

		if (is_current(one, current) || ((!before || one->written >= before) && state->bytes <= bytes))
			continue;
		if (!remove_one(f, one))
			continue;
		state->files--;
		state->bytes -= one->bytes;
		state->removed++;
		state->removed_bytes += one->bytes;
	}
	free(l.list);
	return err;
}

int folder__make_room(const struct folder *f, const char *current)
{
	struct listing l = { 0 };
	int err = list(f, &l), result = -ENOENT;

	for (size_t i = 0; i < l.count && !err && result; i++)
		if (!is_current(&l.list[i], current) && remove_one(f, &l.list[i]))
			result = 0;
	free(l.list);
	return err ? err : result;
}
