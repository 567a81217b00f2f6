/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "recording/schema.h"
#include "recording/writer_parts.h"

/* Pages of SQLite's cache, KiB. */
#define CACHE_KIB 2048

int recording_writer__fail(struct recording_writer *w, int code)
{
	if (!w->err)
		w->err = schema__fail(w->db, code, DIAG_OUTPUT, "the recording cannot be written", &w->why);
	return w->err;
}

int recording_writer__no_memory(struct recording_writer *w)
{
	if (!w->err)
		w->err = diag__set(&w->why, DIAG_INTERNAL, ENOMEM, "out of memory for the recording");
	return w->err;
}

static int execute(struct recording_writer *w, const char *sql)
{
	int code = sqlite3_exec(w->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : recording_writer__fail(w, code);
}

static int make_tables(struct recording_writer *w)
{
	/* A file that says what it is has all tables.  Small pages: a block has 2 to 3 KB, and its last page is not full. */
	char *pragmas = sqlite3_mprintf("PRAGMA page_size=1024; PRAGMA cache_size=-%d; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
					"PRAGMA foreign_keys=OFF; BEGIN; PRAGMA application_id=%d; PRAGMA user_version=%d",
					CACHE_KIB, RECORDING_APPLICATION_ID, RECORDING_VERSION);
	int err = pragmas ? execute(w, pragmas) : recording_writer__no_memory(w);

	sqlite3_free(pragmas);
	for (int i = 0; !err && recording_schema[i]; i++)
		err = execute(w, recording_schema[i]);
	return err ? err : execute(w, "COMMIT");
}

/* Is the file of fd open a second time?  That is, is it what SQLite has opened by its path? */
static bool is_open_twice(int fd)
{
	struct stat made, other;
	struct dirent *entry;
	bool found = false;
	DIR *fds;

	fds = fstat(fd, &made) ? NULL : opendir("/proc/self/fd");
	while (fds && !found && (entry = readdir(fds))) {
		int number = atoi(entry->d_name);

		found = *entry->d_name != '.' && number != fd && !fstat(number, &other) &&
			other.st_dev == made.st_dev && other.st_ino == made.st_ino;
	}
	if (fds)
		closedir(fds);
	return found;
}

/*
 * A user who may write to the folder can replace the file that was just made by a link to another database of ours.
 * SQLite only takes a path, so check which file it has opened before it changes anything.
 */
static int open_file(struct recording_writer *w, const char *path, int made)
{
	int code = sqlite3_open_v2(path, &w->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
				   SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE, NULL);

	if (code != SQLITE_OK)
		return recording_writer__fail(w, code);
	if (is_open_twice(made))
		return 0;
	w->err = diag__set(&w->why, DIAG_OUTPUT, EBUSY, "%s was replaced while it was made", path);
	diag__hint(&w->why, "choose a folder that only you may write to");
	return w->err;
}

static int open_database(struct recording_writer *w)
{
	int err = make_tables(w);

	return err ? err : recording_writer__prepare(w);
}

/* SQLite is given a file that exists, is empty, and belongs to the right user.  A descriptor or negative errno. */
static int make_file(const char *path, uid_t uid, gid_t gid, struct diag *d)
{
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600), err = 0;

	if (fd < 0 && errno == EEXIST) {
		err = diag__set(d, DIAG_OUTPUT, EEXIST, "%s exists already, and a recording is not written over "
				"another file", path);
		diag__hint(d, "give it another name, or remove the file");
		return err;
	}
	if (fd < 0)
		return diag__set(d, DIAG_OUTPUT, errno, "cannot make %s: %s", path, strerror(errno));
	if ((uid != (uid_t)-1 || gid != (gid_t)-1) && fchown(fd, uid, gid)) {
		err = diag__set(d, DIAG_OUTPUT, errno, "cannot give %s to its user: %s", path, strerror(errno));
		close(fd);
		unlink(path);
		return err;
	}
	return fd;
}

/* A folder on the way may be a link; the file itself is none.  malloc'd, or NULL. */
static char *without_links(const char *path)
{
	char *folder = path__folder(path), *real = folder ? realpath(folder, NULL) : NULL, *all = NULL;

	if (real && asprintf(&all, "%s/%s", strcmp(real, "/") ? real : "", basename(path)) < 0)
		all = NULL;
	free(folder);
	free(real);
	return all;
}

int recording_writer__create(struct recording_writer **writer, const char *path, uid_t uid, gid_t gid,
			     uint64_t period, struct diag *d)
{
	struct recording_writer *w;
	int made, err = 0;
	char *real;

	*writer = NULL;
	made = make_file(path, uid, gid, d);
	if (made < 0)
		return made;
	w = calloc(1, sizeof(*w));
	real = without_links(path);
	if (w) {
		w->period = period;
		w->samples = malloc(BLOCK_SAMPLES_MAX * sizeof(*w->samples));
	}
	if (!w || !real || !w->samples || block_codec__init(&w->codec)) {
		err = diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the recording");
	} else {
		err = open_file(w, real, made);
	}
	/* Before SQLite locks its file: the kernel drops the locks when any descriptor of it is closed. */
	close(made);
	if (!err)
		err = open_database(w);
	if (err && w && w->err)
		err = recording_writer__why(w, d);
	free(real);
	if (err) {
		recording_writer__destroy(w);
		unlink(path);
		return err;
	}
	*writer = w;
	return 0;
}

sqlite3 *recording_writer__database(struct recording_writer *w)
{
	return w->db;
}

void recording_writer__destroy(struct recording_writer *w)
{
	if (!w)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(w->statements[i]);
	sqlite3_close(w->db);
	block_codec__free(&w->codec);
	map64__free(&w->stacks);
	free(w->samples);
	free(w);
}

int recording_writer__end(struct recording_writer *w)
{
	int code;

	if (recording_writer__flush(w))
		return w->err;
	for (int i = 0; i < STATEMENTS; i++) {
		sqlite3_finalize(w->statements[i]);
		w->statements[i] = NULL;
	}
	if (execute(w, "PRAGMA wal_checkpoint(TRUNCATE)"))
		return w->err;
	/* The log stays beside the file if somebody reads it now.  Nothing is missing then. */
	code = sqlite3_exec(w->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
	if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY)
		return recording_writer__fail(w, code);
	/* From now on there is no database. */
	w->err = sqlite3_close(w->db) == SQLITE_OK ? 0 :
		 diag__set(&w->why, DIAG_INTERNAL, EBUSY, "the recording cannot be closed");
	if (!w->err)
		w->db = NULL;
	return w->err;
}

int recording_writer__why(const struct recording_writer *w, struct diag *d)
{
	if (w->err && d)
		*d = w->why;
	return w->err;
}
