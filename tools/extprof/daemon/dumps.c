/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/dumps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/utc.h"

#define PREFIX FOLDER_BASE "-"
#define SUFFIX ".dump.txt"
/* Files of a folder that are looked at. */
#define LISTED_MAX 100000u

/* A stream of bounded length. */
struct bounded {
	int fd;
	size_t written;
	bool cut;
	int err;
};

static ssize_t bounded__write(void *cookie, const char *data, size_t size)
{
	struct bounded *b = cookie;
	size_t room = DUMP_SIZE_MAX - b->written, n = size < room ? size : room;

	b->cut |= n < size;
	for (size_t done = 0; done < n && !b->err;) {
		ssize_t wrote = write(b->fd, data + done, n - done);

		if (wrote < 0 && errno != EINTR)
			b->err = -errno;
		done += wrote > 0 ? (size_t)wrote : 0;
	}
	b->written += b->err ? 0 : n;
	return b->err ? 0 : (ssize_t)size;
}

static int create(const struct folder *f, int pid, char *name)
{
	char at[UTC_SIZE];

	snprintf(name, DUMP_NAME_SIZE, PREFIX "%s-%d" SUFFIX, utc__for_name(at, utc__now()), pid);
	return openat(f->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int dumps__write(const struct folder *f, int pid, int (*write_it)(void *context, FILE *to), void *context, char *name)
{
	static const char cut[] = "\n[cut off: it is longer than 1 MiB]\n";
	struct bounded b = { .fd = create(f, pid, name) };
	FILE *to;
	int err;

	if (b.fd < 0)
		return -errno;
	to = fopencookie(&b, "w", (cookie_io_functions_t){ .write = bounded__write });
	err = to ? write_it(context, to) : -ENOMEM;
	/* fclose() writes what is left in the buffer. */
	if (to && fclose(to) && !err)
		err = b.err ? b.err : -EIO;
	err = err ? err : b.err;
	if (!err && b.cut && write(b.fd, cut, sizeof(cut) - 1) < 0)
		err = -errno;
	if (close(b.fd) && !err)
		err = -errno;
	if (err)
		unlinkat(f->fd, name, 0);
	return err;
}

static bool is_dump(const char *name)
{
	size_t length = strlen(name), suffix = strlen(SUFFIX);

	return length < DUMP_NAME_SIZE && length > suffix && !strncmp(name, PREFIX, strlen(PREFIX)) &&
	       !strcmp(name + length - suffix, SUFFIX);
}

/* Names begin with the time. */
static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void remove_old(const struct folder *f, char **names, size_t count, time_t before)
{
	size_t many = count > DUMPS_MAX ? count - DUMPS_MAX : 0;
	struct stat st;

	for (size_t i = 0; i < count; i++) {
		if (fstatat(f->fd, names[i], &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (i < many || (before && st.st_mtime < before))
			unlinkat(f->fd, names[i], 0);
	}
}

int dumps__tidy(const struct folder *f, time_t before)
{
	DIR *directory = directory__open(f->fd, ".");
	char **names = NULL;
	size_t count = 0;
	struct dirent *entry;
	int err = 0;

	if (!directory)
		return -errno;
	while (!err && count < LISTED_MAX && (entry = readdir(directory))) {
		char **list;

		if (!is_dump(entry->d_name))
			continue;
		/* A power of two is full. */
		list = count & (count - 1) ? names : reallocarray(names, count ? 2 * count : 1, sizeof(*names));
		names = list ? list : names;
		if (!list || !(names[count] = strdup(entry->d_name)))
			err = -ENOMEM;
		else
			count++;
	}
	closedir(directory);
	if (!err && count) {
		qsort(names, count, sizeof(*names), by_name);
		remove_old(f, names, count, before);
	}
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
	return err;
}
