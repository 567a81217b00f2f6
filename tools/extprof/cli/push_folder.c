/* SPDX-License-Identifier: BSD-2-Clause */
/* Which recordings of a folder are sent. */
#include "cli/push.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/messages.h"
#include "daemon/folder.h"

#define FILES_MAX 10000u
/* One that did not end and was not written to for so long will not go on, if no daemon writes it, s. */
#define QUIET 60
/* A recording that is begun cannot be read for so long, s. */
#define BEGIN_SECONDS 5

/* A file that could not be read and was told of. */
struct push_unreadable {
	struct push_unreadable *next;
	uint64_t inode;
};

struct look {
	struct push *push;
	struct state state;
	char *folder;
	char **names;		/* of its recordings, sorted */
	size_t count, room;
	int *status;
};

static enum push_result fail(struct look *l, enum extprof_code code, int err, const char *what, const char *why)
{
	struct extprof_error e = { .size = sizeof(e) };

	message__set(&e, code, -err, "%s: %s", what, why);
	*l->status = message__fail(&e);
	return PUSH_FAILED;
}

/* -- files ------------------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_name(struct look *l, const char *name)
{
	if (l->count == FILES_MAX)
		return -E2BIG;
	if (l->count == l->room) {
		size_t room = l->room ? 2 * l->room : 256;
		char **names = reallocarray(l->names, room, sizeof(*names));

		if (!names)
			return -ENOMEM;
		l->names = names;
		l->room = room;
	}
	l->names[l->count] = strdup(name);
	return l->names[l->count] ? (l->count++, 0) : -ENOMEM;
}

static int list(struct look *l)
{
	DIR *directory = opendir(l->folder);
	struct dirent *entry;
	int err = directory ? 0 : -errno;

	while (!err && (errno = 0, entry = readdir(directory)))
		if (state__is_name(entry->d_name))
			err = add_name(l, entry->d_name);
	if (!err)
		err = -errno;
	if (directory)
		closedir(directory);
	if (!err && l->count)
		qsort(l->names, l->count, sizeof(*l->names), by_name);
	return err;
}

/* As of struct state_segment. */
struct identity {
	uint64_t inode, time, size;
};

static uint64_t time_of(const struct stat *st)
{
	return st->st_mtim.tv_sec < 0 ? 0 : (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
}

/* Of a file with its log.  false: it is gone, or it is none. */
static bool identify(const char *path, struct identity *id)
{
	char wal[PATH_MAX + 8];
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	*id = (struct identity){ (uint64_t)st.st_ino, time_of(&st), (uint64_t)st.st_size };
	snprintf(wal, sizeof(wal), "%s-wal", path);
	if (!lstat(wal, &st)) {
		id->time = time_of(&st) > id->time ? time_of(&st) : id->time;
		id->size += (uint64_t)st.st_size;
	}
	return true;
}

static bool is_recent(const struct identity *id, uint64_t seconds)
{
	return id->time / 1000000000 + seconds >= (uint64_t)time(NULL);
}

/* Does a daemon write into the folder?  See folder__open(). */
static bool has_daemon(const char *folder)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[PATH_MAX + 8];
	bool has;
	int fd;

	snprintf(path, sizeof(path), "%s/" FOLDER_LOCK, folder);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return false;
	has = !fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK;
	close(fd);
	return has;
}

/* Is it the one that a daemon would write? */
static bool is_newest(const struct look *l, const char *name)
{
	size_t length = strlen(FOLDER_BASE "-");

	for (size_t i = l->count; i-- > 0;)
		if (!strncmp(l->names[i], FOLDER_BASE "-", length))
			return !strcmp(l->names[i], name);
	return false;
}

/* Can a recording that has not ended go on? */
static bool is_written(const struct look *l, const char *name, const struct identity *id)
{
	return is_recent(id, QUIET) || (is_newest(l, name) && has_daemon(l->folder));
}

/* -- one recording ---------------------------------------------------------------------------------------- */

static void lose(struct look *l)
{
	l->push->counts.lost++;
	l->state.totals.lost++;
	l->state.changed = true;
}

/* Tell of it once. */
static enum push_result unreadable(struct look *l, const char *path, const struct identity *id, const struct extprof_error *e)
{
	struct push_unreadable *u;

	for (u = l->push->unreadable; u; u = u->next)
		if (u->inode == id->inode)
			return PUSH_OK;
	u = malloc(sizeof(*u));
	if (!u)
		return fail(l, EXTPROF_INTERNAL, -ENOMEM, path, "out of memory");
	*u = (struct push_unreadable){ l->push->unreadable, id->inode };
	l->push->unreadable = u;
	l->push->counts.unreadable++;
	push__say("%s is left out: %s", path, e->text);
	return PUSH_OK;
}

/* Its times.  1: it is not there any more, or only begun. */
static int look_into(struct look *l, const char *path, const struct identity *id, uint64_t *begin, uint64_t *end, bool *ended,
		     struct extprof_error *e)
{
	struct extprof_recorded *r;
	int err = extprof_recorded_open(&r, path, l->push->interrupt_fd, e);

	if (!err) {
		*ended = !extprof_recorded_incomplete(r);
		err = extprof_recorded_times(r, begin, end, e);
	}
	extprof_recorded_close(r);
	return err == -ENOENT || err == -ENODATA || (err && is_recent(id, BEGIN_SECONDS)) ? 1 : err;
}

/* The line of the state of a recording.  begin: 0 as long as it is written, since that is not certain in its first moment.
 * NULL: there is no room for it. */
static struct state_segment *segment_of(struct look *l, const char *name, const char *path, uint64_t begin)
{
	struct state_segment *g = state__find(&l->state, name);

	if (!g)
		return state__add(&l->state, name, begin);
	if (g->begin == begin || !begin)
		return g;
	if (!g->done && g->begin) {
		push__say("another recording has taken the place of %s before all of it was sent", path);
		lose(l);
	}
	g->begin = begin;
	g->from = g->sent = 0;
	g->modes = 0;
	g->done = false;
	l->state.changed = true;
	return g;
}

static enum push_result save(struct look *l)
{
	int err = state__save(&l->state);

	return err ? fail(l, EXTPROF_OUTPUT, err, l->folder, strerror(-err)) : PUSH_OK;
}

static enum push_result send_one(struct look *l, const char *name, const char *path, const struct identity *id)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct state_segment *g;
	enum push_result result;
	uint64_t begin, end;
	bool ended = false, written;
	int err = look_into(l, path, id, &begin, &end, &ended, &e);

	if (err < 0 && push__interrupted(l->push))
		return PUSH_ENDED;
	if (err)
		return err > 0 ? PUSH_OK : unreadable(l, path, id, &e);
	written = !ended && is_written(l, name, id);
	g = segment_of(l, name, path, written ? 0 : begin);
	if (!g)
		return fail(l, EXTPROF_INTERNAL, -ENOMEM, path, "there is no room for what was sent");
	if (written) {
		l->push->counts.written++;
		return PUSH_OK;
	}
	/* What cannot be kept is not sent: it would be sent each time. */
	g->done = false;
	result = save(l);
	if (result == PUSH_OK)
		result = push__segment(l->push, &l->state, g, path, end, ended, l->status);
	if (result == PUSH_LOST)
		lose(l);
	if (result != PUSH_OK && result != PUSH_LOST)
		return result;
	g->done = true;
	g->inode = id->inode;
	g->time = id->time;
	g->size = id->size;
	return save(l);
}

static enum push_result consider(struct look *l, const char *name)
{
	const struct state_segment *g = state__find(&l->state, name);
	enum push_result result = PUSH_OK;
	struct identity id;
	char *path;

	if (asprintf(&path, "%s/%s", l->folder, name) < 0)
		return fail(l, EXTPROF_INTERNAL, -ENOMEM, name, "out of memory");
	if (strlen(path) < PATH_MAX && identify(path, &id) && id.size &&
	    !(g && g->done && g->inode == id.inode && g->time == id.time && g->size == id.size))
		result = send_one(l, name, path, &id);
	free(path);
	return result;
}

/* -- a folder --------------------------------------------------------------------------------------------- */

/* Recordings that are gone: those that were not sent are lost.  of_one: nobody wanted to send others. */
static void forget_gone(struct look *l, bool of_one)
{
	for (size_t i = l->state.count; i-- > 0;) {
		const struct state_segment *g = &l->state.list[i];

		if ((of_one && !g->done) || bsearch(&g->name, l->names, l->count, sizeof(*l->names), by_name))
			continue;
		if (!g->done) {
			push__say("%s/%s was removed before all of it was sent", l->folder, g->name);
			lose(l);
		}
		state__remove(&l->state, i);
	}
}

/* What is there now and goes before its turn is lost: all of it is known from now on. */
static enum push_result learn(struct look *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (!state__find(&l->state, l->names[i]) && !state__add(&l->state, l->names[i], 0))
			return fail(l, EXTPROF_INTERNAL, -ENOMEM, l->folder, "there is no room for what was sent");
	return PUSH_OK;
}

static enum push_result look(struct look *l, const char *file)
{
	enum push_result result = PUSH_OK;
	int err = list(l);

	if (err)
		return fail(l, EXTPROF_RECORDING, err, l->folder, err == -E2BIG ? "it has more than 10000 recordings: move some into others" :
			    strerror(-err));
	forget_gone(l, file);
	result = file ? consider(l, file) : learn(l);
	for (size_t i = 0; i < l->count && result == PUSH_OK && !file; i++)
		result = push__interrupted(l->push) ? PUSH_ENDED : consider(l, l->names[i]);
	if (l->state.changed && result != PUSH_FAILED) {
		enum push_result saved = save(l);

		result = saved == PUSH_OK ? result : saved;
	}
	return result;
}

/* FOLDER, or the folder of FILE and its name. */
static enum push_result find(struct look *l, const char *name, const char **file)
{
	const char *slash = strrchr(name, '/');
	struct stat st;

	if (stat(name, &st))
		return fail(l, EXTPROF_RECORDING, -errno, name, strerror(errno));
	*file = S_ISDIR(st.st_mode) ? NULL : slash ? slash + 1 : name;
	if (*file && !state__is_name(*file))
		return fail(l, EXTPROF_USAGE, -EINVAL, name, "a recording has a name that ends in .extprof");
	l->folder = !*file ? strdup(name) : !slash ? strdup(".") : strndup(name, slash > name ? (size_t)(slash - name) : 1);
	return l->folder ? PUSH_OK : fail(l, EXTPROF_INTERNAL, -ENOMEM, name, "out of memory");
}

enum push_result push__argument(struct push *p, const char *name, int *status)
{
	struct look l = { .push = p, .status = status };
	const char *file;
	enum push_result result = find(&l, name, &file);
	char why[256];
	int err;

	if (result == PUSH_OK) {
		err = state__open(&l.state, l.folder, p->options->values[OPTION_STATE_FILE].text, p->to, why, sizeof(why));
		if (err) {
			result = fail(&l, EXTPROF_OUTPUT, err, err == -EBUSY ? name : "what was sent of it cannot be read or kept", why);
		} else {
			result = look(&l, file);
			state__close(&l.state);
		}
	}
	for (size_t i = 0; i < l.count; i++)
		free(l.names[i]);
	free(l.names);
	free(l.folder);
	return result;
}

void push__forget_unreadable(struct push *p)
{
	while (p->unreadable) {
		struct push_unreadable *u = p->unreadable;

		p->unreadable = u->next;
		free(u);
	}
}
