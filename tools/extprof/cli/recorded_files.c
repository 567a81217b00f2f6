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

#define SECOND 1000000000ull

static int no_memory(void)
{
	struct extprof_error e = { .size = sizeof(e) };

	message__set(&e, EXTPROF_INTERNAL, ENOMEM, "out of memory for the recordings");
	return message__fail(&e);
}

static int add(struct recorded_list *c, const char *path, uint64_t begin, uint64_t end, bool of_folder)
{
	if (c->count == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		struct recorded_candidate *list = reallocarray(c->list, room, sizeof(*list));

		if (!list)
			return no_memory();
		c->list = list;
		c->room = room;
	}
	/* One that was killed in its first seconds has no begin. */
	if (begin && (!c->begin || begin < c->begin))
		c->begin = begin;
	c->end = end > c->end ? end : c->end;
	c->list[c->count] = (struct recorded_candidate){ .path = strdup(path), .begin = begin, .end = end, .of_folder = of_folder };
	return c->list[c->count++].path ? STATUS_OK : no_memory();
}

static int add_file(struct recorded_list *c, const char *path)
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

static int add_folder(struct recorded_list *c, const char *path, bool *incomplete)
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
		*incomplete = true;
	}
	extprof_folder_close(folder);
	return status;
}

/* -- times ------------------------------------------------------------------------------------- */

void recorded__print_time(char *to, size_t size, uint64_t at)
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

uint64_t recorded_list__time(const struct recorded_list *c, const struct time_point *point)
{
	struct time_point at = *point;

	time_point__not_after(&at, c->end);
	return date_of(&at, c->begin, c->end);
}

static int find_span(const struct options *o, const struct recorded_list *c, struct recorded_span *span)
{
	struct time_point since = { 0 }, until = { 0 };

	if (o->values[OPTION_SINCE].given)
		value__time_point(o->values[OPTION_SINCE].text, &since);
	if (o->values[OPTION_UNTIL].given)
		value__time_point(o->values[OPTION_UNTIL].text, &until);
	time_point__not_after(&since, c->end);
	if (until.kind == TIME_OF_DAY) {
		if (since.kind == TIME_NONE)
			time_point__not_after(&until, c->end);
		else
			time_point__after(&until, date_of(&since, c->begin, c->end));
		/* The recordings began after it, and ended before the next one. */
		if (since.kind == TIME_NONE && until.ns <= c->begin)
			until.kind = TIME_NONE;
	}
	span->since = date_of(&since, c->begin, c->end);
	span->until = date_of(&until, c->begin, c->end);
	if (!span->until || span->until > span->since)
		return STATUS_OK;
	fprintf(stderr, "extprof: --until is not after --since\n");
	return STATUS_USAGE;
}

/* The time of --with, as long as the span is from now on: both have a begin and an end then. */
static int find_other_span(const struct options *o, const struct recorded_list *c, struct recorded_span *span,
			   struct recorded_span *other)
{
	struct time_point with = { 0 };
	char from[2][32], to[2][32];

	value__time_point(o->values[OPTION_WITH].text, &with);
	/* 0 would be none. */
	span->since = span->since ? span->since : c->begin ? c->begin : 1;
	span->until = span->until ? span->until : c->end;
	/* A begin behind the end: nothing will be found of it. */
	if (span->until <= span->since)
		span->until = span->since + 1;
	time_point__not_after(&with, span->since - 1);
	if (with.kind == TIME_BEFORE)
		other->since = with.ns < span->since ? span->since - with.ns : 1;
	else
		other->since = date_of(&with, c->begin, c->end);
	if (__builtin_add_overflow(other->since, span->until - span->since, &other->until))
		other->until = UINT64_MAX;
	if (other->since >= span->until || span->since >= other->until)
		return STATUS_OK;
	for (int i = 0; i < 2; i++) {
		recorded__print_time(from[i], sizeof(from[i]), i ? other->since : span->since);
		recorded__print_time(to[i], sizeof(to[i]), i ? other->until : span->until);
	}
	fprintf(stderr, "extprof: --with: the two times overlap: %s to %s, and %s to %s\n", from[0], to[0], from[1], to[1]);
	return STATUS_USAGE;
}

/* by_time: one that is no file of a folder has to be of the time, too. */
static bool is_wanted(const struct recorded_span *s, const struct recorded_candidate *c, bool by_time)
{
	/* One of a folder that has no samples is not missed. */
	return !(c->of_folder || by_time) || (c->end > c->begin && c->end >= s->since && (!s->until || c->begin <= s->until));
}

/* -- all of it --------------------------------------------------------------------------------- */

/* The time that nothing is of: ", 2026-11-27 02:50:00 to 2026-11-27 03:10:00". */
static void print_span(char *to, size_t size, const struct recorded_span *span)
{
	char from[32] = "the begin", until[32] = "the end";

	if (span->since)
		recorded__print_time(from, sizeof(from), span->since);
	if (span->until)
		recorded__print_time(until, sizeof(until), span->until);
	snprintf(to, size, ", %s to %s", from, until);
}

static int fail_empty(const struct recorded_list *c, const char *name, const struct recorded_span *span)
{
	struct extprof_error e = { .size = sizeof(e) };
	char from[32], to[32], of[96] = "";

	if (!c->count) {
		message__set(&e, EXTPROF_RECORDING, ENODATA, "%s has no recording that can be read: their names end in .extprof",
			     name);
	} else {
		recorded__print_time(from, sizeof(from), c->begin);
		recorded__print_time(to, sizeof(to), c->end);
		if (span->since || span->until)
			print_span(of, sizeof(of), span);
		message__set(&e, EXTPROF_RECORDING, ENODATA, "%s has nothing of that time%s: its recordings are from %s to %s", name,
			     of, from, to);
	}
	return message__fail(&e);
}

static int open_one(struct recorded_files *f, struct recorded_candidate *from)
{
	struct extprof_error e = { .size = sizeof(e) };
	char *path = strdup(from->path);

	if (!path)
		return no_memory();
	f->paths[f->count++] = path;
	if (f->recorded ? extprof_recorded_add(f->recorded, path, &e) : extprof_recorded_open(&f->recorded, path, -1, &e))
		return message__fail(&e);
	if (!from->opened)
		recorded__say_what_is_missing(f->recorded, path);
	from->opened = true;
	return STATUS_OK;
}

static int open_them(struct recorded_files *f, const struct recorded_list *c, bool by_time)
{
	size_t wanted = 0;
	int status = STATUS_OK;

	for (size_t i = 0; i < c->count; i++)
		wanted += is_wanted(&f->span, &c->list[i], by_time);
	if (wanted > OPTIONS_FILES) {
		fprintf(stderr, "extprof: %zu recordings are of that time, and %d can be shown as one: choose a shorter time with "
			"--since and --until\n", wanted, OPTIONS_FILES);
		return STATUS_USAGE;
	}
	f->paths = calloc(wanted + 1, sizeof(*f->paths));
	if (!f->paths)
		return no_memory();
	for (size_t i = 0; i < c->count && !status; i++) {
		struct recorded_candidate *from = &c->list[i];

		if (!is_wanted(&f->span, from, by_time))
			continue;
		/* The daemon can remove the oldest one of its folder meanwhile. */
		if (from->of_folder && access(from->path, F_OK))
			continue;
		status = open_one(f, from);
	}
	return status;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int recorded_list__find(struct recorded_list *c, const char *const *names, unsigned int count, bool *incomplete)
{
	int status = STATUS_OK;

	for (unsigned int i = 0; i < count && !status; i++)
		status = is_folder(names[i]) ? add_folder(c, names[i], incomplete) : add_file(c, names[i]);
	return status;
}

void recorded_list__free(struct recorded_list *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->list[i].path);
	free(c->list);
	*c = (struct recorded_list){ 0 };
}

int recorded_files__open(struct recorded_files *f, const struct options *o, const char *const *names, unsigned int count)
{
	struct recorded_list c = { 0 };
	int status = recorded_list__find(&c, names, count, &f->incomplete);

	if (!status && c.count)
		status = find_span(o, &c, &f->span);
	if (!status)
		status = open_them(f, &c, false);
	if (!status && !f->count)
		status = fail_empty(&c, names[0], &f->span);
	recorded_list__free(&c);
	return status;
}

int recorded_files__open_both(struct recorded_files both[2], const struct options *o, const char *const *names,
			      unsigned int count)
{
	struct recorded_list c = { 0 };
	struct recorded_span span = { 0 }, other = { 0 };
	int status = recorded_list__find(&c, names, count, &both[0].incomplete);

	if (!status && c.count)
		status = find_span(o, &c, &span);
	if (!status && c.count)
		status = find_other_span(o, &c, &span, &other);
	both[0].span = other.since < span.since ? other : span;
	both[1].span = other.since < span.since ? span : other;
	for (int i = 0; i < 2 && !status; i++) {
		status = open_them(&both[i], &c, true);
		if (!status && !both[i].count)
			status = fail_empty(&c, names[0], &both[i].span);
	}
	recorded_list__free(&c);
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
