/* SPDX-License-Identifier: BSD-2-Clause */
/* The recordings of a profile, of which one at a time is in memory: its tables, the numbers of its frames, its account. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/profile_parts.h"
#include "recording/schema.h"

/* -- frames ---------------------------------------------------------------------------------------- */

/* Rows that are looked at for one: somebody can have made up many that have one hash. */
#define STEPS_MAX 256

/* The number of a new frame.  FRAME_NO_ROOM; 0: out of memory. */
static uint32_t new_number(struct recording_profile *p, const struct frame *f)
{
	uint64_t code = code__make(CODE_RUBY, ++p->frame_base, f->line, f->approximate);
	uint32_t number = p->frame_base > CODE_NUMBER_MAX ? FRAME_NO_ROOM : frame_table__code(&p->frames, code);

	if (number == FRAME_NO_ROOM) {
		p->frame_base--;
		return number;
	}
	return number && !frame_table__set(&p->frames, number, f) ? number : 0;
}

/* Recordings of a month have the same frames again and again: each has one number.  Beyond STEPS_MAX it has one in each
 * recording. */
static uint32_t number_of(struct recording_profile *p, const struct frame *f)
{
	uint64_t hash = frame__hash(f);
	uint32_t number, steps = 0;

	while (steps < STEPS_MAX && (number = map64__get(&p->frame_map, hash)) != MAP64_NONE) {
		if (frame__is_same(frame_table__get(&p->frames, number), f))
			return number;
		hash++;
		steps++;
	}
	number = new_number(p, f);
	if (number && number != FRAME_NO_ROOM && steps < STEPS_MAX && map64__add(&p->frame_map, hash, number))
		return 0;
	return number;
}

static bool is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return !strncmp(path, directory, length) && (path[length] == '/' || !path[length] || directory[length - 1] == '/');
}

/* The first recording of a side.  NULL: there are several, or it is not known. */
static char *directory_of(struct recording_profile *p, int side)
{
	struct recording_reader *r = p->inputs[p->begins[side]].reader;
	bool woken = !recording_reader__awake(r);
	struct diag d = { 0 };
	char *directory;

	/* When it is read, it is said what is wrong with it. */
	if (woken && recording_reader__wake(r, &d))
		return NULL;
	directory = recording_account__directory(r);
	if (woken)
		recording_reader__sleep(r);
	return directory;
}

void recording_profile__find_directories(struct recording_profile *p)
{
	char **of = p->directories;

	for (int side = 0; side < 2; side++)
		of[side] = directory_of(p, side);
	/* The same file is in one place, or one of them works above the other. */
	if (of[0] && of[1] && *of[0] == '/' && *of[1] == '/' && !is_below(of[0], of[1]) && !is_below(of[1], of[0]))
		return;
	for (int side = 0; side < 2; side++) {
		free(of[side]);
		of[side] = NULL;
	}
}

/* That of the recording, if it is where its side is. */
static const char *directory_of_input(const struct recording_profile *p, const struct input *in)
{
	const char *of = p->directories[in->is_after];
	char *own = of ? recording_account__directory(in->reader) : NULL;
	bool same = own && !strcmp(own, of);

	free(own);
	return same ? of : NULL;
}

/* By the id of a frame: what its process says of itself, where groups ask for it.  0 or -ENOMEM; *list NULL: nothing is asked. */
static int find_resources(const struct recording_profile *p, const struct recording_tables *t, const char ***list)
{
	*list = NULL;
	if (!groups__has_resources(&p->show))
		return 0;
	*list = calloc(t->frame_count, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	for (uint32_t id = 1; id < t->process_count; id++)
		(*list)[t->processes[id].frame] = t->processes[id].resource;
	return 0;
}

/* If there is one recording, each row of the table gets a number of its own: rows are different frames.  Two sides are compared by
 * the paths that they share. */
static int make_frames(struct recording_profile *p, struct input *in, struct diag *d)
{
	const char *directory = directory_of_input(p, in), *path = NULL, *shown = NULL;
	const struct recording_tables *t = in->tables;
	const char **resources = NULL;
	int err = 0;

	in->numbers = calloc(t->frame_count, sizeof(*in->numbers));
	if (!in->numbers || find_resources(p, t, &resources))
		return recording_profile__no_memory(d);
	for (uint32_t id = 1; id < t->frame_count && !err; id++) {
		struct frame f = t->frames[id];

		/* Frames of one file often follow one another. */
		if (p->compares && f.kind == FRAME_RUBY && *f.path && f.path != path) {
			path = f.path;
			shown = same_paths__shown(&p->same_paths, path, directory, in->is_after);
			if (!shown) {
				err = recording_profile__no_memory(d);
				break;
			}
		}
		if (path && f.path == path)
			f.path = shown;
		/* Its threads are others, too. */
		if (f.kind == FRAME_PROCESS && p->several_hosts)
			f.key = recording_reader__host(in->reader);
		if (f.kind == FRAME_PROCESS)
			f.module = resources && resources[id] ? resources[id] : "";
		in->numbers[id] = p->keeps ? new_number(p, &f) : number_of(p, &f);
		if (!in->numbers[id])
			err = recording_profile__no_memory(d);
		else if (id % 64 == 0 && recording_reader__over(in->reader))
			err = recording_reader__failed(-ETIME, d);
	}
	free(resources);
	return err;
}

static uint32_t add_native(void *context, const struct frame *f)
{
	return new_number(context, f);
}

/* Which frames stand for those of native code. */
static int find_native_lines(struct recording_profile *p, const struct input *in, struct diag *d)
{
	if (!native_lines__wanted(&p->native_lines))
		return 0;
	p->native_lines.add = add_native;
	p->native_lines.context = p;
	return native_lines__find(&p->native_lines, &p->frames, in->numbers, in->tables->frame_count) ? recording_profile__no_memory(d) : 0;
}

/* -- processes ------------------------------------------------------------------------------------- */

/* Are there several processes?  That of several recordings, one after the other, is one. */
static void look_at_processes(struct recording_profile *p, const struct input *in)
{
	for (uint32_t id = 1; id < in->tables->process_count && !p->several; id++) {
		const struct process_entry *e = &in->tables->processes[id];
		uint64_t command = hash__bytes(e->command, strlen(e->command), 1);

		if (e->flags & RECORDING_WATCHED || !*e->ruby)
			continue;
		p->several = p->has_one && (in == p->inputs || e->pid != p->one_pid || command != p->one_command);
		p->has_one = true;
		p->one_pid = e->pid;
		p->one_command = command;
	}
}

/* Where the processes worked. */
static int find_cwds(struct recording_profile *p, const struct input *in, struct diag *d)
{
	for (uint32_t id = 1; id < in->tables->process_count; id++) {
		char *cwd = recording_account__cwd(in->reader, id);
		int err = owner_dirs__add_cwd(&p->cwds, cwd);

		free(cwd);
		if (err)
			return recording_profile__no_memory(d);
		if (id % 64 == 0 && recording_reader__over(in->reader))
			return recording_reader__failed(-ETIME, d);
	}
	return 0;
}

/* -- one recording --------------------------------------------------------------------------------- */

int recording_profile__enter(struct recording_profile *p, struct input *in, struct diag *d)
{
	struct recording_view view = { .lines = false };
	int err;

	if (!recording_reader__awake(in->reader)) {
		err = recording_reader__wake(in->reader, d);
		if (err)
			return err;
		in->woken = true;
	}
	in->tables = calloc(1, sizeof(*in->tables));
	if (!in->tables)
		return recording_profile__no_memory(d);
	err = recording_reader__load(in->reader, in->tables, d);
	if (err || p->counted)
		return err;
	err = recording_account__view(in->reader, &view, d);
	if (in == p->inputs)
		p->view = view;
	p->lines |= view.lines;
	look_at_processes(p, in);
	return err;
}

int recording_profile__choose(struct recording_profile *p, struct input *in, struct diag *d)
{
	int err = make_frames(p, in, d);

	if (!err)
		err = find_native_lines(p, in, d);
	if (!err && !p->counted)
		err = find_cwds(p, in, d);
	if (err)
		return err;
	if (recording_states__choose(p, in))
		return recording_profile__no_memory(d);
	if (recording_matches__init(&in->matches, in->tables, &p->filter))
		return recording_profile__no_memory(d);
	if (!request_choice__chooses(&p->filter.requests))
		return 0;
	p->has_request_label |= request_choice__has_label(&p->filter.requests, in->tables);
	return request_choice__find(&p->filter.requests, &in->requests, in->reader, &in->matches, in->begin, in->since, in->until, d);
}

void recording_profile__leave(struct recording_profile *p, struct input *in)
{
	/* Ids are of one recording. */
	p->sum_count = 0;
	map64__clear(&p->sum_map);
	requests__free(&in->requests);
	recording_matches__free(&in->matches);
	if (in->tables)
		recording_tables__free(in->tables);
	free(in->tables);
	free(in->numbers);
	free(in->thread_places);
	free(in->told_later);
	in->told_later = NULL;
	in->tables = NULL;
	in->numbers = NULL;
	in->thread_places = NULL;
	if (in->woken)
		recording_reader__sleep(in->reader);
	in->woken = false;
}

int recording_profile__rows_of(const struct input *in, uint64_t from, uint64_t until, const char *sql,
			       int (*take)(void *context, sqlite3_stmt *s), void *context, struct diag *d)
{
	sqlite3 *db = recording_reader__database(in->reader);
	sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(db, sql, -1, &s, NULL), err = 0;

	if (code == SQLITE_OK) {
		sqlite3_bind_int64(s, 1, from > INT64_MAX ? INT64_MAX : (int64_t)from);
		sqlite3_bind_int64(s, 2, until > INT64_MAX ? INT64_MAX : (int64_t)until);
	}
	while (!err && code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		code = SQLITE_OK;
		err = take(context, s);
	}
	if (!err && code != SQLITE_DONE)
		err = schema__fail(db, code, DIAG_RECORDING, "the recording cannot be read", d);
	sqlite3_finalize(s);
	return err;
}

int recording_profile__rows(const struct input *in, const char *sql, int (*take)(void *context, sqlite3_stmt *s), void *context,
			    struct diag *d)
{
	return recording_profile__rows_of(in, in->since, in->until, sql, take, context, d);
}
