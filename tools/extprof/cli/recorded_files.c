/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/recorded_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/recorded.h"
#include "options/time_point.h"

#define SECOND 1000000000ull

/* A recording, before it is known whether it is opened. */
struct candidate {
	char *path;
	uint64_t begin, end;
	bool of_folder;
};

struct candidates {
	struct candidate *list;
	size_t count, room;
};

static int no_memory(void)
{
	struct extprof_error e = { .size = sizeof(e) };

	message__set(&e, EXTPROF_INTERNAL, ENOMEM, "out of memory for the recordings");
	return message__fail(&e);
}

static int add(struct candidates *c, const char *path, uint64_t begin, uint64_t end, bool of_folder)
{
	if (c->count == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		struct candidate *list = reallocarray(c->list, room, sizeof(*list));

		if (!list)
			return no_memory();
		c->list = list;
		c->room = room;
	}
	c->list[c->count] = (struct candidate){ strdup(path), begin, end, of_folder };
	return c->list[c->count++].path ? STATUS_OK : no_memory();
}

static int add_file(struct candidates *c, const char *path)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct extprof_recorded *r;
	uint64_t begin, end;
	int err = extprof_recorded_open(&r, path, -1, &e);

	if (!err)
		err = extprof_recorded_times(r, &begin, &end, &e);
	extprof_recorded_close(r);
	return err ? message__fail(&e) : add(c, path, begin, end, false);
}

static int add_folder(struct recorded_files *f, struct candidates *c, const char *path)
{
	struct extprof_folder_file file = { .size = sizeof(file) };
	struct extprof_error e = { .size = sizeof(e) };
	struct extprof_folder *folder;
	int status = STATUS_OK;

	if (extprof_folder_open(&folder, path, -1, &e))
		return message__fail(&e);
	for (size_t i = 0; !status && !extprof_folder_file(folder, i, &file); i++) {
		if (!file.unreadable) {
			status = add(c, file.path, file.begin, file.end, true);
			continue;
		}
		message__set(&e, EXTPROF_RECORDING, EBADMSG, "%s is left out: %s", file.path, file.unreadable);
		message__fail(&e);
		f->incomplete = true;
	}
	extprof_folder_close(folder);
	return status;
}

/* -- times ------------------------------------------------------------------------------------- */

static void print_time(char *to, size_t size, uint64_t at)
{
	time_t seconds = (time_t)(at / SECOND);
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(to, size, "%Y-%m-%d %H:%M:%S", &tm);
}

/* A time of recordings that are from `begin` to `end`, as a date. */
static uint64_t date_of(const struct time_point *m, uint64_t begin, uint64_t end)
{
	uint64_t at;

	switch (m->kind) {
	case TIME_NONE:
		return 0;
	case TIME_AFTER:
		return __builtin_add_overflow(begin, m->ns, &at) ? UINT64_MAX : at;
	case TIME_BEFORE:
		return m->ns < end ? end - m->ns : 1;
	default:
		/* 0 would be none. */
		return m->ns ? m->ns : 1;
	}
}

static int find_span(struct recorded_files *f, const struct options *o, const struct candidates *c, uint64_t *begin, uint64_t *end)
{
	struct time_point since = { 0 }, until = { 0 };

	if (o->values[OPTION_SINCE].given)
		value__time_point(o->values[OPTION_SINCE].text, &since);
	if (o->values[OPTION_UNTIL].given)
		value__time_point(o->values[OPTION_UNTIL].text, &until);
	*begin = UINT64_MAX;
	*end = 0;
	for (size_t i = 0; i < c->count; i++) {
		*begin = c->list[i].begin < *begin ? c->list[i].begin : *begin;
		*end = c->list[i].end > *end ? c->list[i].end : *end;
	}
	time_point__not_after(&since, *end);
	if (until.kind == TIME_OF_DAY) {
		if (since.kind == TIME_NONE)
			time_point__not_after(&until, *end);
		else
			time_point__after(&until, date_of(&since, *begin, *end));
		/* The recordings began after it, and ended before the next one. */
		if (since.kind == TIME_NONE && until.ns <= *begin)
			until.kind = TIME_NONE;
	}
	f->span.since = date_of(&since, *begin, *end);
	f->span.until = date_of(&until, *begin, *end);
	if (!f->span.until || f->span.until > f->span.since)
		return STATUS_OK;
	fprintf(stderr, "extprof: --until is not after --since\n");
	return STATUS_USAGE;
}

static bool is_wanted(const struct recorded_span *s, const struct candidate *c)
{
	/* One of a folder that has no samples is not missed. */
	return !c->of_folder || (c->end > c->begin && c->end >= s->since && (!s->until || c->begin <= s->until));
}

/* -- all of it --------------------------------------------------------------------------------- */

static int fail_empty(const struct candidates *c, const char *name, uint64_t begin, uint64_t end)
{
	struct extprof_error e = { .size = sizeof(e) };
	char from[32], to[32];

	if (!c->count) {
		message__set(&e, EXTPROF_RECORDING, ENODATA, "%s has no recording that can be read: their names end in .extprof",
			     name);
	} else {
		print_time(from, sizeof(from), begin);
		print_time(to, sizeof(to), end);
		message__set(&e, EXTPROF_RECORDING, ENODATA, "%s has nothing of that time: its recordings are from %s to %s", name,
			     from, to);
	}
	return message__fail(&e);
}

static int open_them(struct recorded_files *f, const struct candidates *c)
{
	size_t wanted = 0;
	int status = STATUS_OK;

	for (size_t i = 0; i < c->count; i++)
		wanted += is_wanted(&f->span, &c->list[i]);
	if (wanted > OPTIONS_FILES) {
		fprintf(stderr, "extprof: %zu recordings are of that time, and %d can be shown as one: choose a shorter time with "
			"--since and --until\n", wanted, OPTIONS_FILES);
		return STATUS_USAGE;
	}
	f->paths = calloc(wanted + 1, sizeof(*f->paths));
	if (!f->paths)
		return no_memory();
	for (size_t i = 0; i < c->count && !status; i++) {
		struct candidate *from = &c->list[i];

		if (!is_wanted(&f->span, from))
			continue;
		/* The daemon can remove the oldest one of its folder meanwhile. */
		if (from->of_folder && access(from->path, F_OK))
			continue;
		status = f->recorded ? recorded__add(f->recorded, from->path) : recorded__open(&f->recorded, from->path);
		f->paths[f->count++] = from->path;
		from->path = NULL;
	}
	return status;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int recorded_files__open(struct recorded_files *f, const struct options *o, const char *const *names, unsigned int count)
{
	struct candidates c = { 0 };
	uint64_t begin = 0, end = 0;
	int status = STATUS_OK;

	for (unsigned int i = 0; i < count && !status; i++)
		status = is_folder(names[i]) ? add_folder(f, &c, names[i]) : add_file(&c, names[i]);
	if (!status && c.count)
		status = find_span(f, o, &c, &begin, &end);
	if (!status)
		status = open_them(f, &c);
	if (!status && !f->count)
		status = fail_empty(&c, names[0], begin, end);
	for (size_t i = 0; i < c.count; i++)
		free(c.list[i].path);
	free(c.list);
	return status;
}

void recorded_files__close(struct recorded_files *f)
{
	extprof_recorded_close(f->recorded);
	for (unsigned int i = 0; i < f->count; i++)
		free(f->paths[i]);
	free(f->paths);
	*f = (struct recorded_files){ 0 };
}

int recorded_files__status(const struct recorded_files *f, int status)
{
	return status || !f->incomplete ? status : STATUS_RECORDING;
}
