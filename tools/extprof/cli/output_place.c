/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/output_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The kernel follows as many. */
#define LINKS_MAX 40

#define AT_HAND (O_PATH | O_CLOEXEC)

static const char other_link[] = "a symbolic link of another user leads to what is not that user's";
static const char other_file[] = "it belongs to another user, in a folder that all users may write to";

/* Can nobody but root and this user put names into it? */
static bool is_private(int directory)
{
	struct stat st;

	return !fstat(directory, &st) && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* The links in it lead to open files, and their texts are no paths. */
static bool is_proc(int directory)
{
	struct statfs fs;

	return !fstatfs(directory, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* State of the links that were followed on a way. */
struct trust {
	int links;		/* that were followed */
	const char *refused;
};

/* The text of a link, and whether whoever made it must have what it leads to.  0 or -errno; the caller frees. */
static int read_link(int link, int directory, struct trust *t, char **text, bool *bound)
{
	char buffer[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (++t->links > LINKS_MAX)
		return -ELOOP;
	n = readlinkat(link, "", buffer, sizeof(buffer) - 1);
	if (n < 0 || fstat(link, &st))
		return -errno;
	buffer[n] = '\0';
	*bound = st.st_uid != 0 && st.st_uid != geteuid() && !is_private(directory);
	*text = strdup(buffer);
	return *text ? 0 : -ENOMEM;
}

/* Do both belong to the same user?  They are open. */
static int check_owner(int link, int file, struct trust *t)
{
	struct stat of_link, of_file;

	if (fstat(link, &of_link) || fstat(file, &of_file))
		return -errno;
	if (of_link.st_uid == of_file.st_uid)
		return 0;
	t->refused = other_link;
	return -EPERM;
}

static int walk(int from, const char *path, struct trust *t);

/* Open what has that name in the folder.  A descriptor or -errno. */
static int step(int directory, const char *name, struct trust *t)
{
	int fd = openat(directory, name, AT_HAND | O_NOFOLLOW), to, err;
	char *text = NULL;
	struct stat st;
	bool bound;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISLNK(st.st_mode))
		return fd;
	if (is_proc(directory)) {
		close(fd);
		fd = openat(directory, name, AT_HAND);
		return fd < 0 ? -errno : fd;
	}
	to = read_link(fd, directory, t, &text, &bound);
	if (!to)
		to = walk(directory, text, t);
	err = to >= 0 && bound ? check_owner(fd, to, t) : 0;
	if (err) {
		close(to);
		to = err;
	}
	free(text);
	close(fd);
	return to;
}

/* Open the end of a path, from a folder that stays open.  A descriptor or -errno. */
static int walk(int from, const char *path, struct trust *t)
{
	int at = *path == '/' ? open("/", AT_HAND) : openat(from, ".", AT_HAND);

	while (at >= 0 && *(path += strspn(path, "/"))) {
		size_t length = strcspn(path, "/");
		char *name = strndup(path, length);
		int next = name ? step(at, name, t) : -ENOMEM;

		free(name);
		close(at);
		if (next < 0)
			return next;
		at = next;
		path += length;
	}
	return at < 0 ? -errno : at;
}

/* Open the folder of a path, and give the name behind it.  0 or -errno. */
static int split(int from, const char *path, struct trust *t, int *directory, char **base)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("");

	*base = strdup(basename(path));
	*directory = folder && *base ? walk(from, folder, t) : -ENOMEM;
	free(folder);
	if (*directory >= 0)
		return 0;
	free(*base);
	*base = NULL;
	return *directory;
}

/* The name is a link: go where it leads.  0 or -errno. */
static int follow(struct output_place *p, struct trust *t)
{
	int directory, err;
	char *text = NULL, *base;
	bool bound;

	if (is_proc(p->directory)) {
		close(p->file);
		p->file = openat(p->directory, p->base, AT_HAND);
		p->fixed = true;
		return p->file < 0 || fstat(p->file, &p->st) ? -errno : 0;
	}
	err = read_link(p->file, p->directory, t, &text, &bound);
	if (!err)
		err = split(p->directory, text, t, &directory, &base);
	free(text);
	if (err)
		return err;
	if (bound) {
		int to = openat(directory, base, AT_HAND | O_NOFOLLOW);

		/* A new file would be in that folder. */
		err = to < 0 && errno != ENOENT ? -errno : check_owner(p->file, to < 0 ? directory : to, t);
		if (to >= 0)
			close(to);
	}
	output_place__close(p);
	p->directory = directory;
	p->base = base;
	return err;
}

/* Look at what has the name now.  1: a link, 0: nothing or something else, or -errno. */
static int look(struct output_place *p)
{
	p->file = openat(p->directory, *p->base ? p->base : ".", AT_HAND | O_NOFOLLOW);
	if (p->file < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(p->file, &p->st))
		return -errno;
	return S_ISLNK(p->st.st_mode);
}

static int check_other_user(const struct output_place *p, uid_t uid, struct trust *t)
{
	struct stat st;

	if (p->file < 0 || p->fixed || geteuid() != 0 || p->st.st_uid == 0 || p->st.st_uid == uid)
		return 0;
	if (fstat(p->directory, &st))
		return -errno;
	if (!(st.st_mode & S_IWOTH))
		return 0;
	t->refused = other_file;
	return -EPERM;
}

int output_place__find(struct output_place *p, const char *path, uid_t uid)
{
	struct trust t = { 0 };
	int err;

	*p = (struct output_place){ .directory = -1, .file = -1 };
	if (!*path)
		return -ENOENT;
	err = split(AT_FDCWD, path, &t, &p->directory, &p->base);
	while (!err && (err = look(p)) > 0 && !p->fixed) {
		err = follow(p, &t);
		if (p->fixed)
			break;
	}
	if (!err)
		err = check_other_user(p, uid, &t);
	if (err)
		output_place__close(p);
	p->refused = t.refused;
	return err;
}

void output_place__close(struct output_place *p)
{
	if (p->directory >= 0)
		close(p->directory);
	if (p->file >= 0)
		close(p->file);
	free(p->base);
	*p = (struct output_place){ .directory = -1, .file = -1 };
}
