/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/recordings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 10000u

int serve__fail(struct extprof_error *e, int code, int errnum, const char *format, ...)
{
	char raw[sizeof(e->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	*e = (struct extprof_error){ .size = sizeof(*e), .code = code };
	extprof_clean(e->text, sizeof(e->text), raw);
	return -errnum;
}

static int no_memory(struct extprof_error *e)
{
	return serve__fail(e, EXTPROF_INTERNAL, ENOMEM, "out of memory for the recordings");
}

static int add(struct serve_files *f, const struct serve_file *file, struct extprof_error *e)
{
	struct serve_file *own;

	if (f->count == FILES_MAX)
		return serve__fail(e, EXTPROF_USAGE, E2BIG, "there are more than %u recordings", FILES_MAX);
	if (f->count == f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		struct serve_file *list = reallocarray(f->list, room, sizeof(*list));

		if (!list)
			return no_memory(e);
		f->list = list;
		f->room = room;
	}
	own = &f->list[f->count];
	*own = *file;
	own->path = strdup(file->path);
	own->unreadable = file->unreadable ? strdup(file->unreadable) : NULL;
	f->count += own->path != NULL;
	if (!own->path || (file->unreadable && !own->unreadable))
		return no_memory(e);
	if (file->unreadable)
		return 0;
	f->begin = !f->begin || file->begin < f->begin ? file->begin : f->begin;
	f->end = file->end > f->end ? file->end : f->end;
	return 0;
}

static int add_file(struct serve_files *f, const char *path, struct extprof_error *e)
{
	struct extprof_error why = { .size = sizeof(why) };
	struct serve_file file = { .path = (char *)(uintptr_t)path };
	struct extprof_recorded *r;
	int err = extprof_recorded_open(&r, path, -1, &why);

	if (!err)
		err = extprof_recorded_times(r, &file.begin, &file.end, &why);
	extprof_recorded_close(r);
	if (err)
		file.unreadable = why.text;
	return add(f, &file, e);
}

static int add_folder(struct serve_files *f, const char *path, struct extprof_error *e)
{
	struct extprof_folder_file file = { .size = sizeof(file) };
	struct extprof_folder *folder;
	int err = extprof_folder_open(&folder, path, -1, e);

	for (size_t i = 0; !err && !extprof_folder_file(folder, i, &file); i++) {
		const struct serve_file one = {
			.path = (char *)(uintptr_t)file.path, .unreadable = (char *)(uintptr_t)file.unreadable, .begin = file.begin,
			.end = file.end, .of_folder = true,
		};

		/* One without samples is not missed. */
		if (file.unreadable || file.end > file.begin)
			err = add(f, &one, e);
	}
	extprof_folder_close(folder);
	return err;
}

static int by_begin(const void *a, const void *b)
{
	const struct serve_file *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	/* That which has more is the one that stays. */
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* A file can be named by itself and be in a folder, too, and a folder can have a copy of one: it is the same recording.  Two
 * of one machine do not begin in one ns. */
static void leave_out_twins(struct serve_files *f)
{
	size_t to = 0;

	for (size_t i = 0; i < f->count; i++) {
		const struct serve_file *last = to ? &f->list[to - 1] : NULL, *file = &f->list[i];

		if (last && (!strcmp(last->path, file->path) || (!last->unreadable && !file->unreadable && last->begin == file->begin))) {
			free(f->list[i].path);
			free(f->list[i].unreadable);
			continue;
		}
		f->list[to++] = f->list[i];
	}
	f->count = to;
}

int serve_files__find(struct serve_files *f, const struct serve_sources *sources, struct extprof_error *e)
{
	struct stat st;
	int err = 0;

	for (unsigned int i = 0; i < sources->count && !err; i++) {
		bool is_folder = !stat(sources->names[i], &st) && S_ISDIR(st.st_mode);

		err = is_folder ? add_folder(f, sources->names[i], e) : add_file(f, sources->names[i], e);
	}
	if (!err && f->count) {
		qsort(f->list, f->count, sizeof(*f->list), by_begin);
		leave_out_twins(f);
	}
	return err;
}

void serve_files__free(struct serve_files *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->list[i].path);
		free(f->list[i].unreadable);
	}
	free(f->list);
	*f = (struct serve_files){ 0 };
}

bool serve_file__is_of(const struct serve_file *file, const struct serve_span *span)
{
	return !file->unreadable && file->end >= span->since && (!span->until || file->begin <= span->until);
}

int serve_files__open(const struct serve_files *f, const struct serve_span *span, struct extprof_recorded **r,
		      struct extprof_error *e)
{
	int err = 0;

	*r = NULL;
	for (size_t i = 0; i < f->count && !err; i++) {
		const struct serve_file *file = &f->list[i];

		if (!serve_file__is_of(file, span))
			continue;
		/* The daemon can remove the oldest one of its folder meanwhile. */
		if (file->of_folder && access(file->path, F_OK))
			continue;
		err = *r ? extprof_recorded_add(*r, file->path, e) : extprof_recorded_open(r, file->path, -1, e);
	}
	if (!err && !*r)
		err = serve__fail(e, EXTPROF_RECORDING, ENODATA, "no recording is of that time");
	if (err) {
		extprof_recorded_close(*r);
		*r = NULL;
	}
	return err;
}
