/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/jit_map_work.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "native/jit_names.h"
#include "parser/parser.h"
#include "parser/perf_map.h"
#include "process/mapping.h"
#include "process/proc.h"
#include "process/target_file.h"

#define SECOND 1000000000ull
/* A map grows as long as its process runs; its last part is read. */
#define FILE_MAX (1ull << 40)
/* It is read in pieces, and each has its time.  This is for all of them. */
#define FILE_TIMEOUT (5 * SECOND)
#define LINES_MAX (4u << 20)	/* of a memory map */

static uint64_t ns_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * SECOND + (uint64_t)t->tv_nsec;
}

static uint64_t now_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return ns_of(&t);
}

static struct jit_file file_of(const struct stat *st)
{
	return (struct jit_file){
		.device = st->st_dev, .inode = st->st_ino, .size = (uint64_t)st->st_size, .changed = ns_of(&st->st_mtim),
	};
}

static bool is_same(const struct jit_file *a, const struct jit_file *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size && a->changed == b->changed;
}

/* Times of the kernel are known to this. */
static uint64_t tick(void)
{
	return SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* Is it of another process that had the pid, or of the program that this one ran before?  `time`: when it was made, or written.  The
 * beginning of a process is known to a tick of the kernel.  The time of a file is up to a tick too early: so none is taken that is
 * too old. */
static bool is_left_over(const struct native_work *w, uint64_t time)
{
	uint64_t now = now_of(CLOCK_REALTIME), ago;

	ago = now_of(CLOCK_BOOTTIME) - w->began - tick();
	if (now <= ago || time < now - ago)
		return true;
	ago = now_of(CLOCK_MONOTONIC) - w->executed;
	return w->executed && time < now - ago;
}

/*
 * When the file was made, at the latest: whoever appends to it, its old lines stay.  UINT64_MAX: its file system does not know.  What
 * the kernel knows of the file is enough, so that nobody waits for the file system.
 *
 * A program can make its map as soon as it begins, and this time does not change later.  So it is not too old if it may be right: to
 * have been left over, the map would have to be made within these ticks before the process began.
 */
static uint64_t made_at(int fd)
{
	struct statx st = { 0 };

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BTIME, &st) || !(st.stx_mask & STATX_BTIME))
		return UINT64_MAX;
	return (uint64_t)st.stx_btime.tv_sec * SECOND + st.stx_btime.tv_nsec + 2 * tick();
}

/* When it was written last, at the latest, CLOCK_MONOTONIC. */
static uint64_t written_at(const struct native_work *w)
{
	uint64_t now = now_of(CLOCK_REALTIME), at = now_of(CLOCK_MONOTONIC), ago;

	ago = w->map.changed + tick() < now ? now - w->map.changed - tick() : 0;
	return ago < at ? at - ago : 0;
}

/* The map has the number that the process knows itself by, and is in its /tmp.  Whoever may write there can make one: it has to
 * be of the user of the process, or of root. */
static int open_map(struct native_work *w, struct target_files *files, char path[PROC_PATH_MAX], struct deadline *deadline)
{
	struct proc_status status;
	struct stat st;
	int err = proc_status__read(&status, w->pid, 0);

	if (err)
		return err;
	snprintf(path, PROC_PATH_MAX, "/tmp/perf-%" PRIu32 ".map", status.inner ? status.inner : (uint32_t)w->pid);
	target_files__of_process(files, w->pid, 0, deadline);
	w->owner = files->owner;
	w->fd = target_file__open_plain(files, path, FILE_MAX, &st);
	if (w->fd < 0)
		return w->fd;
	if (st.st_uid && st.st_uid != status.users[1])
		return -EACCES;
	w->map = file_of(&st);
	w->size = w->map.size;
	w->written = written_at(w);
	return is_left_over(w, w->map.changed) || is_left_over(w, made_at(w->fd)) ? -ESTALE : 0;
}

/* Is that which is to be read what has been read, and if not, is it a whole one? */
static int compare(struct native_work *w)
{
	w->unchanged = w->before_map.inode && is_same(&w->map, &w->before_map);
	if (w->unchanged || !w->before_map.inode || w->map.inode != w->before_map.inode ||
	    w->map.device != w->before_map.device || w->map.size >= w->before_map.size)
		return 0;
	/* A process that writes it anew has perhaps not come to its end. */
	return is_same(&w->map, &w->seen_map) ? 0 : -EAGAIN;
}

/* Where lines begin to be new, from where the reading begins: what was there at the reading before is not. */
static uint64_t first_new(const struct native_work *w)
{
	uint64_t begin = perf_map__begin(w->size);

	if (!w->before_map.inode || w->map.inode != w->before_map.inode || w->map.device != w->before_map.device ||
	    w->map.size < w->before_map.size || w->before_map.size < begin)
		return 0;
	return w->before_map.size - begin;
}

/* 0, -EIO: the helper lies; or -E2BIG. */
static int take_piece(struct native_names *names, const struct symbols_piece *piece, uint64_t new_from)
{
	const char *data = (const char *)piece->data;
	uint32_t i = 0;

	while (i < piece->size) {
		struct elf_symbol s;
		int err;

		if (i + sizeof(s) > piece->size)
			return -EIO;
		memcpy(&s, data + i, sizeof(s));
		if (s.length > SYMBOL_NAME_MAX || i + sizeof(s) + s.length > piece->size || !s.size ||
		    s.size > UINT64_MAX - s.address)
			return -EIO;
		err = jit_names__add(names, s.address, s.size, data + i + sizeof(s), s.length, s.end > new_from);
		if (err)
			return err;
		i += (uint32_t)((sizeof(s) + s.length + 7) / 8 * 8);
	}
	return 0;
}

/* All or none: without its last lines a map has wrong names. */
static int read_names(struct native_work *w, struct deadline *deadline)
{
	struct parser_file file = { .fd = w->fd, .size = w->size, .owner = w->owner, .deadline = deadline };
	struct symbols_piece *piece = malloc(sizeof(*piece));
	uint64_t until = deadline__now() + FILE_TIMEOUT;
	struct symbols_place at = { 0 };
	int err = piece ? 0 : -ENOMEM;

	while (!err && at.table < SYMBOLS_END) {
		if (deadline__now() > until || (deadline && deadline__over(deadline)))
			err = -ETIMEDOUT;
		if (!err)
			err = parser__map(&file, &at, piece);
		if (!err)
			err = take_piece(&w->names, piece, first_new(w));
		if (!err && piece->next.table < SYMBOLS_END && piece->next.entry <= at.entry)
			err = -EIO;
		if (!err)
			at = piece->next;
	}
	free(piece);
	return err ? err : jit_names__cut(&w->names);
}

/* Is it the fault of the file, and will be again? */
static bool is_of_the_file(int err)
{
	return err && err != -EAGAIN && err != -ENOMEM && err != -EINTR && err != -ESRCH;
}

/* Is the program the same?  One that is executed has its code elsewhere. */
static bool is_same_program(const struct native_work *w)
{
	char *line = NULL;
	bool found = false;
	size_t room = 0;
	FILE *f;

	if (!w->where.start)
		return true;
	f = proc__open(w->pid, 0, GUARDED_MAPS);
	if (!f)
		return false;
	for (uint32_t i = 0; i < LINES_MAX && !found && getline(&line, &room, f) > 0; i++) {
		struct mapping m;

		found = mapping__parse(line, 0, &m) && m.is_code && m.start == w->where.start && m.device == w->where.device &&
			m.inode == w->where.inode;
	}
	free(line);
	fclose(f);
	return found;
}

void jit_map_work__run(struct native_work *w, struct deadline *deadline)
{
	struct target_files files;
	char path[PROC_PATH_MAX];
	struct stat st;
	int err = open_map(w, &files, path, deadline);

	if (!err)
		err = compare(w);
	if (!err && !w->unchanged)
		err = read_names(w, deadline);
	/* Less than was read: it was begun anew meanwhile. */
	if (!err && !target_file__stat(&files, path, &st) && (uint64_t)st.st_size < w->size && st.st_ino == w->map.inode)
		err = -EAGAIN;
	/* Another process may have got the pid. */
	if (!err && (proc__started(w->pid) != w->began || !is_same_program(w)))
		err = -ESRCH;
	if (err) {
		native_names__free(&w->names);
		w->unchanged = false;
	}
	w->unreadable = is_of_the_file(err) && proc__started(w->pid) == w->began;
	w->late = err && deadline && deadline__over(deadline);
	w->err = err;
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}
