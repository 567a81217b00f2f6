/* SPDX-License-Identifier: BSD-2-Clause */
/* The source files that samples show, for a recording: size and time of each, and with --sources its text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "engine/state.h"
#include "process/proc.h"
#include "recording/sources.h"

/* Files that are remembered.  Nothing is kept of more files. */
#define FILES_MAX 16384u
/* Files that the helper is asked for in one step of the engine, which also has samples to fetch. */
#define STEP_MAX 16u

/* "<internal:kernel>" and "(eval at ...)" are no files. */
static bool is_file(const char *path)
{
	return *path && *path != '<' && *path != '(';
}

int engine__note_source(void *context, uint32_t row, const char *path)
{
	struct engine *e = context;
	struct engine_sources *s = &e->source_files;
	uint64_t hash;

	if (!is_file(path) || row >= e->rows.count || s->count >= FILES_MAX)
		return 0;
	hash = hash__bytes(path, strlen(path), 0);
	if (map64__get(&s->known, hash) != MAP64_NONE)
		return 0;
	if (array__reserve(&s->list, s->count, 1, &s->room, FILES_MAX, sizeof(*s->list)) ||
	    map64__add(&s->known, hash, s->count))
		return -ENOMEM;
	s->list[s->count] = (struct engine_source){ .row = row, .path = strdup(path) };
	if (!s->list[s->count].path)
		return -ENOMEM;
	s->count++;
	return 0;
}

/* The directory of the process before a path that is relative.  malloc'd; NULL: there is none. */
static char *full_path(pid_t pid, const char *path)
{
	char link[PROC_PATH_MAX], folder[4096], *full = NULL;
	ssize_t n;

	if (*path == '/')
		return strdup(path);
	proc__path(link, pid, 0, "cwd");
	n = readlink(link, folder, sizeof(folder) - 1);
	if (n <= 0)
		return NULL;
	folder[n] = '\0';
	return asprintf(&full, "%s/%s", folder, path) < 0 ? NULL : full;
}

/* The text, if it is wanted and there is room for it. */
static void read_text(struct engine_sources *s, int fd, const struct stat *st, struct recording_source_file *f)
{
	size_t size = (size_t)st->st_size, length;

	if (!s->texts || size > RECORDING_SOURCE_MAX || s->bytes + size > RECORDING_SOURCES_MAX)
		return;
	f->text = target_file__read(fd, size, &length);
	if (!f->text || length < size) {
		free(f->text);
		f->text = NULL;
		return;
	}
	f->length = size;
	f->hash = source__hash(f->text, size);
	s->bytes += size;
}

/*
 * The file of the process of that row, opened with its rights.  Another process can have its pid by now, with other rights:
 * the pid was its own to the end if it is so after the file was opened.  -errno: nothing is known of it.
 */
static int open_source(struct engine *e, uint32_t row, const char *path, struct stat *st)
{
	struct engine_sources *s = &e->source_files;
	pid_t pid = e->rows.rows[row].pid;
	struct process *p = process_set__by_pid(&e->set, pid);
	char *full;
	int fd;

	if (!p || p->row != row || p->target.pidfd < 0)
		return -ESRCH;
	full = full_path(pid, path);
	if (!full)
		return -ENOENT;
	if (s->row != row + 1) {
		s->row = row + 1;
		target_files__of_process(&s->files, pid, 0, NULL);
	}
	/* The file is on a file system that may be its user's. */
	fd = s->texts ? target_file__copy_source(&s->files, full, RECORDING_SOURCE_MAX, st) : -EFBIG;
	if (fd == -EFBIG)
		fd = target_file__open_source(&s->files, full, st);
	free(full);
	if (fd >= 0 && !target__has_pid(&p->target)) {
		close(fd);
		return -ESRCH;
	}
	return fd;
}

static int take(struct engine *e, const struct engine_source *source)
{
	struct engine_sources *s = &e->source_files;
	struct recording_source_file f = { .path = source->path };
	struct stat st;
	int fd = open_source(e, source->row, source->path, &st), err;

	if (fd < 0)
		return 0;
	f.size = (uint64_t)st.st_size;
	f.time = source__time(&st);
	read_text(s, fd, &st, &f);
	close(fd);
	err = recording_writer__source(e->recording.writer, &f);
	free(f.text);
	return err;
}

int engine__take_sources(struct engine *e, bool all)
{
	struct engine_sources *s = &e->source_files;
	uint32_t most = all ? UINT32_MAX : STEP_MAX;
	int err = 0;

	for (; s->taken < s->count && most && !err; s->taken++, most--)
		err = take(e, &s->list[s->taken]);
	return err;
}

void engine_sources__free(struct engine_sources *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free(s->list[i].path);
	free(s->list);
	map64__free(&s->known);
	memset(s, 0, sizeof(*s));
}
