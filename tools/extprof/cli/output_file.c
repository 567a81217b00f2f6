/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/messages.h"

static int cannot_write(const char *path, int errnum, struct extprof_error *e)
{
	message__set(e, EXTPROF_OUTPUT, errnum, "cannot write %s: %s",
		  *path ? path : "a file without a name", strerror(errnum));
	snprintf(e->hint, sizeof(e->hint), "choose another file with -o; nothing was recorded or changed");
	return -errnum;
}

/* An errno, or 0. */
static int check(const char *path)
{
	char *copy, *slash;
	struct stat st;
	int err;

	if (!strcmp(path, "-"))
		return 0;
	if (!stat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return EISDIR;
		/* Renaming would replace a file that forbids writing. */
		return access(path, W_OK) ? errno : 0;
	}
	if (errno != ENOENT)
		return errno;
	/* The file will be made; without a name it would be another one. */
	if (!*path)
		return ENOENT;
	copy = strdup(path);
	if (!copy)
		return ENOMEM;
	slash = strrchr(copy, '/');
	if (slash)
		slash[slash == copy ? 1 : 0] = '\0';
	err = access(slash ? copy : ".", W_OK | X_OK) ? errno : 0;
	free(copy);
	return err;
}

int output_file__check(const char *path, struct extprof_error *e)
{
	int err = check(path);

	return err ? cannot_write(path, err, e) : 0;
}

/* Names that are taken already are passed over, so many of them. */
#define TRIES 100

/* Could that user make a file in it?  By its mode: what an access control list grants besides is not seen. */
static bool may_write(const struct stat *directory, const struct output_owner *owner)
{
	mode_t wanted = S_IWOTH | S_IXOTH;
	bool member = owner->gid == directory->st_gid;

	for (int i = 0; i < owner->group_count && !member; i++)
		member = owner->groups[i] == directory->st_gid;
	if (owner->uid == directory->st_uid)
		wanted = S_IWUSR | S_IXUSR;
	else if (member)
		wanted = S_IWGRP | S_IXGRP;
	return (directory->st_mode & wanted) == wanted;
}

/* Owner and mode of a file in our directory.  It is empty: nobody has read or written it. */
static int set_owner(const struct output_file *f, int fd, const struct stat *old,
		     const struct output_owner *owner)
{
	struct stat directory;

	if (old) {
		/* Only root may give a file away, and only to a user of its namespace. */
		if (fchown(fd, old->st_uid, old->st_gid) && errno != EPERM && errno != EINVAL)
			return errno;
		return fchmod(fd, old->st_mode & 0777) ? errno : 0;
	}
	if (!owner)
		return 0;
	if (fstat(f->directory, &directory))
		return errno;
	if (!may_write(&directory, owner))
		return 0;
	/* A directory with this bit passes its group on. */
	return fchown(fd, owner->uid, directory.st_mode & S_ISGID ? (gid_t)-1 : owner->gid) ? errno : 0;
}

/* Make a file with a name of its own beside the destination.  An errno, or 0. */
static int make_temporary(struct output_file *f, mode_t mode, int *fd)
{
	static const char characters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	unsigned char random[6];

	for (int i = 0; i < TRIES; i++) {
		char suffix[sizeof(random) + 1] = "";

		if (getrandom(random, sizeof(random), 0) != sizeof(random))
			return errno ? errno : EIO;
		for (size_t j = 0; j < sizeof(random); j++)
			suffix[j] = characters[random[j] % (sizeof(characters) - 1)];
		if (asprintf(&f->temporary, "%s.%s", f->base, suffix) < 0) {
			f->temporary = NULL;
			return ENOMEM;
		}
		*fd = openat(f->directory, f->temporary,
			     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (*fd >= 0)
			return 0;
		free(f->temporary);
		f->temporary = NULL;
		if (errno != EEXIST)
			return errno;
	}
	return EEXIST;
}

/* Directory and name of the destination, which may be a link to a file.  An errno, or 0. */
static int find_directory(struct output_file *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *directory = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");

	f->base = strdup(slash ? slash + 1 : path);
	f->directory = directory && f->base ?
		open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (f->directory < 0) {
		int err = directory && f->base ? errno : ENOMEM;

		free(directory);
		return err;
	}
	free(directory);
	return 0;
}

static int open_beside(struct output_file *f, const char *path, const struct stat *old,
		       const struct output_owner *owner)
{
	int fd = -1, err;

	err = find_directory(f, path);
	if (err)
		return err;
	/* A file that replaces another one may not be open to more users for a moment. */
	err = make_temporary(f, old ? 0600 : 0666, &fd);
	if (err) {
		close(f->directory);
		return err;
	}
	err = set_owner(f, fd, old, owner);
	if (!err && !(f->stream = fdopen(fd, "w")))
		err = errno;
	if (err)
		close(fd);
	return err;
}

/* A pipe, a device, stdout. */
static int open_stream(struct output_file *f, int fd)
{
	int err;

	f->stream = fd < 0 ? NULL : fdopen(fd, "w");
	if (f->stream)
		return 0;
	err = errno;
	if (fd >= 0)
		close(fd);
	return err;
}

int output_file__open(struct output_file *f, const char *path, const struct output_owner *owner,
		 struct extprof_error *e)
{
	bool is_stdout = !strcmp(path, "-");
	char *resolved = NULL;
	struct stat st;
	int err;

	memset(f, 0, sizeof(*f));
	err = check(path);
	if (err)
		goto cleanup;
	f->name = strdup(is_stdout ? "standard output" : path);
	if (!f->name) {
		err = ENOMEM;
	} else if (is_stdout) {
		err = open_stream(f, fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
	} else if (stat(path, &st)) {
		err = errno == ENOENT ? open_beside(f, path, NULL, owner) : errno;
	} else if (!S_ISREG(st.st_mode)) {
		err = open_stream(f, open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY));
	} else {
		resolved = realpath(path, NULL);
		err = resolved ? open_beside(f, resolved, &st, owner) : errno;
	}
cleanup:
	free(resolved);
	if (!err)
		return 0;
	output_file__discard(f);
	return cannot_write(path, err, e);
}

int output_file__failed(const struct output_file *f, int errnum, struct extprof_error *e)
{
	return message__set(e, EXTPROF_OUTPUT, errnum, "cannot write %s: %s", f->name, strerror(errnum));
}

int output_file__commit(struct output_file *f, struct extprof_error *e)
{
	int err = 0;

	/* A full disk may show at the last moment only. */
	if (fflush(f->stream) || ferror(f->stream))
		err = errno ? errno : EIO;
	if (fclose(f->stream) && !err)
		err = errno;
	f->stream = NULL;
	if (!err && f->temporary) {
		if (renameat(f->directory, f->temporary, f->directory, f->base)) {
			err = errno;
		} else {
			close(f->directory);
			free(f->temporary);
			f->temporary = NULL;
		}
	}
	if (err)
		output_file__failed(f, err, e);
	output_file__discard(f);
	return -err;
}

void output_file__discard(struct output_file *f)
{
	if (f->stream)
		fclose(f->stream);
	if (f->temporary) {
		unlinkat(f->directory, f->temporary, 0);
		close(f->directory);
	}
	free(f->temporary);
	free(f->base);
	free(f->name);
	memset(f, 0, sizeof(*f));
}
