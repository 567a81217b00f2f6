/* SPDX-License-Identifier: BSD-2-Clause */
/* The recordings of a folder, and the times that they are of. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "library/error.h"

#define FILES_MAX 10000u
#define SUFFIX ".extprof"
/* More looks at those that are there and cannot be opened, of all the folder, and ns before each: few end at one moment. */
#define LOOKS 5
#define LOOK_STEP 20000000
/* A recording that is begun has no tables for a moment, and a block of samples after 5 s at the latest. */
#define BEGIN_SECONDS 5

struct file {
	char *path, *unreadable;
	uint64_t begin, end;
};

struct extprof_folder {
	struct file *files;
	size_t count, room;
	unsigned int looks;	/* more looks than one at each */
};

static bool is_recording(const char *name)
{
	size_t length = strlen(name), suffix = strlen(SUFFIX);

	/* A file that is being replaced has a name with a dot. */
	return *name != '.' && length > suffix && !strcmp(name + length - suffix, SUFFIX);
}

static int no_memory(struct extprof_error *error)
{
	return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory for the folder");
}

static int look_into(struct file *file, int interrupt_fd, struct extprof_error *why)
{
	struct extprof_recorded *r;
	int err = extprof_recorded_open(&r, file->path, interrupt_fd, why);

	if (!err)
		err = extprof_recorded_times(r, &file->begin, &file->end, why);
	extprof_recorded_close(r);
	return err;
}

/* SQLite has a journal beside it before it has a log: who wrote it was killed in its first moment. */
static bool has_journal(const char *path)
{
	struct stat st;
	char *name;
	bool found;

	if (asprintf(&name, "%s-journal", path) < 0)
		return false;
	found = !lstat(name, &st);
	free(name);
	return found;
}

/* Takes the path.  What is no file, a file that --keep has just removed, and one that is just begun are left out. */
static int add_file(struct extprof_folder *folder, char *path, int interrupt_fd, struct extprof_error *error)
{
	const struct timespec step = { .tv_nsec = LOOK_STEP };
	struct extprof_error why = { .size = sizeof(why) };
	struct file *file;
	struct stat st;
	int err;

	/* An extprof that was killed in its first moment leaves an empty one. */
	if (stat(path, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		goto unused;
	if (folder->count == FILES_MAX) {
		free(path);
		return error__set(error, DIAG_USAGE, E2BIG, "the folder has more than %u recordings: move some into others", FILES_MAX);
	}
	if (array__reserve(&folder->files, folder->count, 1, &folder->room, FILES_MAX, sizeof(*folder->files))) {
		free(path);
		return no_memory(error);
	}
	file = &folder->files[folder->count];
	*file = (struct file){ .path = path };
	err = look_into(file, interrupt_fd, &why);
	/* SQLite says the same of one that it may not open, and of one that ends at this moment. */
	for (; err == -ENOENT && !access(path, F_OK) && folder->looks < LOOKS; folder->looks++) {
		nanosleep(&step, NULL);
		err = look_into(file, interrupt_fd, &why);
	}
	if ((err == -ENOENT && access(path, F_OK)) || err == -ENODATA || (err && (st.st_mtime + BEGIN_SECONDS >= time(NULL) || has_journal(path))))
		goto unused;
	folder->count++;
	if (!err)
		return 0;
	file->begin = file->end = 0;
	file->unreadable = strdup(why.text);
	return file->unreadable ? 0 : no_memory(error);
unused:
	free(path);
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return strcmp(x->path, y->path);
}

int extprof_folder_open(struct extprof_folder **result, const char *path, int interrupt_fd, struct extprof_error *error)
{
	struct extprof_folder *folder = calloc(1, sizeof(*folder));
	const char *slash = *path && path[strlen(path) - 1] == '/' ? "" : "/";
	struct dirent *entry;
	DIR *directory;
	int err = 0;

	*result = NULL;
	if (!folder)
		return no_memory(error);
	directory = opendir(path);
	if (!directory)
		err = error__set(error, DIAG_RECORDING, errno, "the folder %s cannot be read: %s", path, strerror(errno));
	while (!err && (errno = 0, entry = readdir(directory))) {
		char *name;

		if (!is_recording(entry->d_name))
			continue;
		err = asprintf(&name, "%s%s%s", path, slash, entry->d_name) < 0 ? no_memory(error) :
		      add_file(folder, name, interrupt_fd, error);
	}
	if (!err && errno)
		err = error__set(error, DIAG_RECORDING, errno, "the folder %s cannot be read: %s", path, strerror(errno));
	if (directory)
		closedir(directory);
	if (err) {
		extprof_folder_close(folder);
		return err;
	}
	if (folder->count)
		qsort(folder->files, folder->count, sizeof(*folder->files), by_begin);
	*result = folder;
	return 0;
}

int extprof_folder_file(const struct extprof_folder *folder, size_t i, struct extprof_folder_file *file)
{
	struct extprof_folder_file full;

	if (i >= folder->count)
		return -ENOENT;
	full = (struct extprof_folder_file){
		.path = folder->files[i].path, .begin = folder->files[i].begin, .end = folder->files[i].end,
		.unreadable = folder->files[i].unreadable,
	};
	return result__copy(file, &full, sizeof(full));
}

void extprof_folder_close(struct extprof_folder *folder)
{
	if (!folder)
		return;
	for (size_t i = 0; i < folder->count; i++) {
		free(folder->files[i].path);
		free(folder->files[i].unreadable);
	}
	free(folder->files);
	free(folder);
}
