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

#include "cli/clock.h"
#include "cli/messages.h"
#include "daemon/folder.h"

/* So many recordings of a folder are looked at, the first ones by name. */
#define FILES_MAX 10000u
/* One that did not end and was not written to for so long will not go on, if no daemon writes it, s. */
#define QUIET 60
/* A recording that is begun cannot be read for so long, s. */
#define BEGIN_SECONDS 5
/* One that could not be read after some time is read again after so many of these times, and after an hour at the latest. */
#define AGAIN_AFTER 9
#define HOUR (3600 * 1000000000ull)

/* A file that could not be read and was told of. */
struct push_unreadable {
	struct push_unreadable *next;
	uint64_t inode;
	uint64_t again;		/* CLOCK_MONOTONIC, ns: when it is read again */
};

struct look {
	struct push *push;
	struct state state;
	char *folder;
	char **names;		/* of its recordings, sorted */
	size_t count, room;
	bool cut;		/* there are more, behind these */
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

/* Keep the first ones. */
static void sort(struct look *l)
{
	if (l->count)
		qsort(l->names, l->count, sizeof(*l->names), by_name);
	while (l->count > FILES_MAX) {
		free(l->names[--l->count]);
		l->cut = true;
	}
}

static int add_name(struct look *l, const char *name)
{
	if (l->count == 2 * FILES_MAX)
		sort(l);
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
	sort(l);
	return err;
}

/* The same as in struct state_segment. */
struct identity {
	uint64_t inode, time, size;
};

static uint64_t time_of(const struct stat *st)
{
	return st->st_mtim.tv_sec < 0 ? 0 : (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
}

/* The inode, time and size of a file, with its log.  false: it is gone, or it is none. */
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

/* A time that is to come says nothing. */
static bool is_recent(const struct identity *id, uint64_t seconds)
{
	uint64_t then = id->time / 1000000000, now = (uint64_t)time(NULL);

	return then + seconds >= now && then <= now + seconds;
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

/* Where it is in the list, or the end of the list. */
static struct push_unreadable **unreadable_of(struct push *p, uint64_t inode)
{
	struct push_unreadable **u = &p->unreadable;

	while (*u && (*u)->inode != inode)
		u = &(*u)->next;
	return u;
}

/* It is tried again.  Tell of it once.  since: when it was begun to read it. */
static enum push_result unreadable(struct look *l, const char *path, const struct identity *id, const struct extprof_error *e,
				   uint64_t since)
{
	struct push_unreadable **u = unreadable_of(l->push, id->inode);
	uint64_t now = clock__now(), wait = AGAIN_AFTER * (now - since);

	if (!*u) {
		*u = calloc(1, sizeof(**u));
		if (!*u)
			return fail(l, EXTPROF_INTERNAL, -ENOMEM, path, "out of memory");
		(*u)->inode = id->inode;
		l->push->counts.unreadable++;
		push__say("%s is left out: %s", path, e->text);
	}
	(*u)->again = now + (wait < HOUR ? wait : HOUR);
	return PUSH_OK;
}

/* If it fails once more, that is told again. */
static void readable(struct push *p, uint64_t inode)
{
	struct push_unreadable **u = unreadable_of(p, inode), *old = *u;

	if (!old)
		return;
	*u = old->next;
	free(old);
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
	return (err == -ENOENT && access(path, F_OK)) || err == -ENODATA || (err && is_recent(id, BEGIN_SECONDS)) ? 1 : err;
}

/* Nothing of it was sent. */
static void begin_again(struct look *l, struct state_segment *g, uint64_t begin)
{
	g->begin = begin;
	g->from = g->sent = g->until = g->piece = 0;
	g->modes = 0;
	g->done = false;
	l->state.changed = true;
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
	begin_again(l, g, begin);
	return g;
}

/* All of it was sent, and it is written to now: there is more to be sent, which can be lost. */
static void is_written_again(struct look *l, struct state_segment *g, uint64_t begin)
{
	if (!g->done)
		return;
	if (g->begin != begin)
		begin_again(l, g, 0);
	g->done = false;
	l->state.changed = true;
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
	uint64_t begin, end, since = clock__now();
	bool ended = false, written;
	int err = look_into(l, path, id, &begin, &end, &ended, &e);

	if (err < 0 && push__interrupted(l->push))
		return PUSH_ENDED;
	if (err)
		return err > 0 ? PUSH_OK : unreadable(l, path, id, &e, since);
	written = !ended && is_written(l, name, id);
	g = segment_of(l, name, path, written ? 0 : begin);
	if (!g)
		return fail(l, EXTPROF_INTERNAL, -ENOMEM, path, "there is no room for what was sent");
	if (written) {
		is_written_again(l, g, begin);
		l->push->counts.written++;
		return PUSH_OK;
	}
	/* If the state cannot be saved, nothing is sent: it would be sent again each time. */
	g->done = false;
	result = save(l);
	if (result == PUSH_OK)
		result = push__segment(l->push, &l->state, g, path, end, ended, l->status);
	if (result == PUSH_SKIPPED)
		return unreadable(l, path, id, &l->push->trouble, since);
	if (result == PUSH_LOST)
		lose(l);
	if (result == PUSH_OK)
		readable(l->push, id->inode);
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
	const struct push_unreadable *u;
	struct identity id;
	char *path;

	if (asprintf(&path, "%s/%s", l->folder, name) < 0)
		return fail(l, EXTPROF_INTERNAL, -ENOMEM, name, "out of memory");
	if (strlen(path) < PATH_MAX && identify(path, &id) && id.size &&
	    !(g && g->done && g->inode == id.inode && g->time == id.time && g->size == id.size) &&
	    !((u = *unreadable_of(l->push, id.inode)) && clock__now() < u->again))
		result = send_one(l, name, path, &id);
	free(path);
	return result;
}

/* -- a folder --------------------------------------------------------------------------------------------- */

static bool is_there(const struct look *l, const char *name)
{
	char *path;
	bool there;

	if (l->count && bsearch(&name, l->names, l->count, sizeof(*l->names), by_name))
		return true;
	if (!l->cut || strcmp(name, l->names[l->count - 1]) < 0)
		return false;
	/* It is not among the first ones.  Without an answer it is not lost. */
	there = asprintf(&path, "%s/%s", l->folder, name) < 0;
	if (!there) {
		there = !access(path, F_OK) || errno != ENOENT;
		free(path);
	}
	return there;
}

/* Recordings that are gone: those that were not sent are lost.  of_one: nobody wanted to send others. */
static void forget_gone(struct look *l, bool of_one)
{
	for (size_t i = l->state.count; i-- > 0;) {
		const struct state_segment *g = &l->state.list[i];

		if ((of_one && !g->done) || is_there(l, g->name))
			continue;
		if (!g->done) {
			push__say("%s/%s was removed before all of it was sent", l->folder, g->name);
			lose(l);
		}
		state__remove(&l->state, i);
	}
}

/* Note all files that are there now, so that one that is removed before its turn counts as lost. */
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
		return fail(l, EXTPROF_RECORDING, err, l->folder, strerror(-err));
	if (l->cut && !file) {
		if (!l->push->beyond_told)
			push__say("%s has more than %u recordings: the others are sent when the first ones by name are removed", l->folder, FILES_MAX);
		l->push->beyond_told = true;
		l->push->counts.beyond++;
	}
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
	*file = S_ISDIR(st.st_mode) ? NULL : basename(name);
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
		if (err == -EBUSY && p->looked) {
			/* Between two looks others can push: it is their turn. */
			if (!p->busy_told)
				push__say("%s: %s: it is tried again", name, why);
			p->busy_told = true;
		} else if (err) {
			result = fail(&l, EXTPROF_OUTPUT, err, err == -EBUSY ? name : "what was sent of it cannot be read or kept", why);
		} else {
			p->busy_told = false;
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
