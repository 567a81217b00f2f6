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
#include "cli/output_place.h"

static int cannot_write(const char *path, int errnum, const char *refused, struct extprof_error *e)
{
	message__set(e, EXTPROF_OUTPUT, errnum, "cannot write %s: %s",
		  *path ? path : "a file without a name", refused ? refused : strerror(errnum));
	snprintf(e->hint, sizeof(e->hint), "%s; nothing was recorded or changed", refused ?
		 "choose a folder that only you may write to" : "choose another file with -o");
	return -errnum;
}

/* Could a file be made or replaced there? 0 or -errno. */
static int check(const struct output_place *p)
{
	if (p->file < 0)
		return faccessat(p->directory, ".", W_OK | X_OK, 0) ? -errno : 0;
	if (S_ISDIR(p->st.st_mode))
		return -EISDIR;
	/* Renaming would replace a file that forbids writing. */
	return !p->fixed && faccessat(p->directory, p->base, W_OK, 0) ? -errno : 0;
}

static int find(struct output_place *p, const char *path, const struct output_owner *owner)
{
	int err = output_place__find(p, path, owner ? owner->uid : 0);

	if (!err && (err = check(p)))
		output_place__close(p);
	return err;
}

int output_file__check(const char *path, const struct output_owner *owner, struct extprof_error *e)
{
	struct output_place place;
	int err;

	if (!strcmp(path, "-"))
		return 0;
	err = find(&place, path, owner);
	if (err)
		return cannot_write(path, -err, place.refused, e);
	output_place__close(&place);
	return 0;
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

/* Whose a new file in the folder is to be; -1: as it is.  0 or an errno. */
static int owner_in(int folder, const struct output_owner *owner, uid_t *uid, gid_t *gid)
{
	struct stat directory;

	*uid = (uid_t)-1;
	*gid = (gid_t)-1;
	if (!owner)
		return 0;
	if (fstat(folder, &directory))
		return errno;
	if (!may_write(&directory, owner))
		return 0;
	*uid = owner->uid;
	/* A directory with this bit passes its group on. */
	if (!(directory.st_mode & S_ISGID))
		*gid = owner->gid;
	return 0;
}

int output_file__owner(const char *path, const struct output_owner *owner, uid_t *uid, gid_t *gid, struct extprof_error *e)
{
	struct output_place place;
	int err = output_place__find(&place, path, owner ? owner->uid : 0);

	if (err)
		return cannot_write(path, -err, place.refused, e);
	err = owner_in(place.directory, owner, uid, gid);
	output_place__close(&place);
	return err ? cannot_write(path, err, NULL, e) : 0;
}

/* Owner and mode of a file in our directory.  It is empty: nobody has read or written it. */
static int set_owner(const struct output_file *f, int fd, const struct stat *old,
		     const struct output_owner *owner)
{
	uid_t uid;
	gid_t gid;
	int err;

	if (old) {
		/* Only root may give a file away, and only to a user of its namespace. */
		if (fchown(fd, old->st_uid, old->st_gid) && errno != EPERM && errno != EINVAL)
			return errno;
		return fchmod(fd, old->st_mode & 0777) ? errno : 0;
	}
	err = owner_in(f->directory, owner, &uid, &gid);
	if (err || uid == (uid_t)-1)
		return err;
	return fchown(fd, uid, gid) ? errno : 0;
}

/* Give the file, or a file that is made for that, a name of its own beside the destination.  0 or an errno. */
static int make_name(struct output_file *f, int (*make)(struct output_file *f, const char *name))
{
	static const char characters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	unsigned char random[6];

	for (int i = 0; i < TRIES; i++) {
		char suffix[sizeof(random) + 1] = "";
		int err;

		if (getrandom(random, sizeof(random), 0) != sizeof(random))
			return errno ? errno : EIO;
		for (size_t j = 0; j < sizeof(random); j++)
			suffix[j] = characters[random[j] % (sizeof(characters) - 1)];
		if (asprintf(&f->temporary, ".extprof-%s", suffix) < 0) {
			f->temporary = NULL;
			return ENOMEM;
		}
		err = make(f, f->temporary);
		if (!err)
			return 0;
		free(f->temporary);
		f->temporary = NULL;
		if (err != EEXIST)
			return err;
	}
	return EEXIST;
}

static int make_file(struct output_file *f, const char *name)
{
	f->fd = openat(f->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return f->fd < 0 ? errno : 0;
}

/* Give a file without a name one. */
static int link_file(struct output_file *f, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	return linkat(AT_FDCWD, path, f->directory, name, AT_SYMLINK_FOLLOW) ? errno : 0;
}

/* A file that has no name before it is whole: nothing is left of it if extprof is killed.  An errno, or 0. */
static int make_temporary(struct output_file *f)
{
	f->fd = openat(f->directory, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	/* Without /proc it could not get its name. */
	if (f->fd >= 0 && !access("/proc/self/fd", X_OK))
		return 0;
	if (f->fd >= 0)
		close(f->fd);
	/* The file system, or the kernel, has no such files. */
	return make_name(f, make_file);
}

/* The place has been found; it is taken over. */
static int open_beside(struct output_file *f, struct output_place *p, const struct output_owner *owner)
{
	int err;

	f->directory = p->directory;
	f->base = p->base;
	p->directory = -1;
	p->base = NULL;
	err = make_temporary(f);
	if (err)
		return err;
	err = set_owner(f, f->fd, p->file < 0 ? NULL : &p->st, owner);
	if (!err && !(f->stream = fdopen(f->fd, "w")))
		err = errno;
	if (err)
		close(f->fd);
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

/* Exactly what was found: its name may be another file's by now. */
static int open_found(struct output_file *f, const struct output_place *p)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->file);
	return open_stream(f, open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY));
}

int output_file__open(struct output_file *f, const char *path, const struct output_owner *owner,
		 struct extprof_error *e)
{
	struct output_place place = { .directory = -1, .file = -1 };
	bool is_stdout = !strcmp(path, "-");
	int err;

	memset(f, 0, sizeof(*f));
	f->name = strdup(is_stdout ? "standard output" : path);
	if (!f->name)
		err = ENOMEM;
	else if (is_stdout)
		err = open_stream(f, fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
	else if (!(err = -find(&place, path, owner)))
		err = place.fixed || (place.file >= 0 && !S_ISREG(place.st.st_mode)) ?
			open_found(f, &place) : open_beside(f, &place, owner);
	if (err) {
		cannot_write(path, err, place.refused, e);
		output_file__discard(f);
	}
	output_place__close(&place);
	return -err;
}

int output_file__failed(const struct output_file *f, int errnum, struct extprof_error *e)
{
	return message__set(e, EXTPROF_OUTPUT, errnum, "cannot write %s: %s", f->name, strerror(errnum));
}

/* Let the file have its name, which another one may have. 0 or an errno. */
static int publish(struct output_file *f)
{
	int err = f->temporary ? 0 : link_file(f, f->base);

	/* A name of its own first: a link does not replace a file. */
	if (err == EEXIST)
		err = make_name(f, link_file);
	if (!err && f->temporary && renameat(f->directory, f->temporary, f->directory, f->base))
		err = errno;
	if (err)
		return err;
	free(f->temporary);
	f->temporary = NULL;
	f->published = true;
	return 0;
}

int output_file__publish(struct output_file *f, struct extprof_error *e)
{
	int err = 0;

	/* A full disk may show at the last moment only. */
	if (fflush(f->stream) || ferror(f->stream))
		err = errno ? errno : EIO;
	if (!err && f->base && !f->published)
		err = publish(f);
	return err ? output_file__failed(f, err, e) : 0;
}

int output_file__commit(struct output_file *f, struct extprof_error *e)
{
	int err = output_file__publish(f, e);

	if (fclose(f->stream) && !err)
		err = output_file__failed(f, errno, e);
	f->stream = NULL;
	output_file__discard(f);
	return err;
}

void output_file__discard(struct output_file *f)
{
	if (f->stream)
		fclose(f->stream);
	if (f->temporary)
		unlinkat(f->directory, f->temporary, 0);
	if (f->base)
		close(f->directory);
	free(f->temporary);
	free(f->base);
	free(f->name);
	memset(f, 0, sizeof(*f));
}
