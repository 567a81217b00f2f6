/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording in several files, one after the other: each is a window, and a recording of its own. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/utc.h"
#include "engine/state.h"

#define SUFFIX ".extprof"
/* Names, a millisecond apart, that are tried for one file. */
#define NAMES_MAX 1000
/* For names of code that were put off: samples wait meanwhile. */
#define NAMES_TIMEOUT (500 * MS)
/* A trigger is seen so much later than it fired, at most: samples wait in rings. */
#define TRIGGER_DELAY (2 * SECOND)

int segments__init(struct segments *s, const char *path)
{
	size_t length = strlen(path), suffix = strlen(SUFFIX);

	if (length > suffix && !strcmp(path + length - suffix, SUFFIX))
		length -= suffix;
	s->base = strndup(path, length);
	return s->base ? 0 : -ENOMEM;
}

/* "app-20261127-101530-042Z.extprof".  Names sort as times do, also where the clock is set back.  malloc'd, or NULL. */
static char *next_name(struct segments *s)
{
	uint64_t ms = utc__now() / MS;
	char at[UTC_SIZE], *name;

	s->name_ms = ms > s->name_ms ? ms : s->name_ms + 1;
	return asprintf(&name, "%s-%s" SUFFIX, s->base, utc__for_name(at, s->name_ms * MS)) < 0 ? NULL : name;
}

static int no_memory(struct diag *d)
{
	return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the recording");
}

/* Remember the file, which is to be removed one day: by what it is, for somebody may put another one in its place. */
static int remember(struct segments *s, const char *path, struct diag *d)
{
	struct segment one = { 0 };
	struct stat st;

	if (lstat(path, &st))
		return diag__set(d, DIAG_OUTPUT, errno, "cannot find %s, which was just made: %s", path, strerror(errno));
	if (array__reserve(&s->list, s->count, 1, &s->room, SETTINGS_KEEP_MAX + SETTINGS_RETAIN_MAX + 4, sizeof(*s->list)))
		return no_memory(d);
	one = (struct segment){
		.path = strdup(path), .device = st.st_dev, .inode = st.st_ino, .kept = deadline__now() < s->keep_until,
	};
	if (!one.path)
		return no_memory(d);
	s->list[s->count++] = one;
	return 0;
}

int engine__create_segment(struct engine *e, struct recording_writer **writer, struct diag *d)
{
	struct segments *s = &e->segments;
	int err = -EEXIST;

	for (int i = 0; i < NAMES_MAX && err == -EEXIST; i++) {
		free(e->recording_path);
		e->recording_path = next_name(s);
		if (!e->recording_path)
			return no_memory(d);
		err = engine__create_file(e, writer, d);
	}
	if (!err && e->settings.keep)
		err = remember(s, e->recording_path, d);
	if (err)
		return err;
	s->made++;
	s->counted = false;
	s->clocks = clock_offsets__read();
	*e->triggers.in_file = '\0';
	return 0;
}

/* Has the file something, or will it have something at its end? */
static bool has_content(const struct engine *e)
{
	return recording_writer__samples(e->recording.writer) || engine__holds_objects(e);
}

bool engine__file_is_empty(const struct engine *e)
{
	if (!e->recording.writer || recording_writer__samples(e->recording.writer))
		return false;
	/* That nothing lives any more is to be known, if something did in a file before. */
	return !e->heap || e->segments.made < 2;
}

static void remove_segment(struct segments *s, uint32_t i)
{
	struct segment *old = &s->list[i];
	struct stat st;

	if (!lstat(old->path, &st) && st.st_dev == old->device && st.st_ino == old->inode && !unlink(old->path))
		s->removed++;
	free(old->path);
	memmove(old, old + 1, (--s->count - i) * sizeof(*s->list));
}

/* Those that no trigger needs, nor one that is still to be seen; and the oldest of too many.  A last file without samples
 * does not count: it may be removed for want of them. */
static void remove_unneeded(struct engine *e)
{
	struct segments *s = &e->segments;
	uint64_t now = deadline__now(), kept = 0;

	for (uint32_t i = s->count; i-- > 0;) {
		const struct segment *one = &s->list[i];

		if (!one->until && !has_content(e))
			continue;
		if (one->kept ? kept++ >= e->settings.keep :
		    e->ended_at || (one->until && one->until + e->settings.retain + TRIGGER_DELAY < now))
			remove_segment(s, i);
	}
}

/* Old files go when there is a sample in the new one: it may be removed for want of one. */
void engine__remove_segments(struct engine *e)
{
	struct segments *s = &e->segments;

	if (e->settings.around) {
		remove_unneeded(e);
		return;
	}
	while (e->settings.keep && s->count > e->settings.keep && has_content(e))
		remove_segment(s, 0);
}

void engine__keep_segments(struct engine *e, uint64_t time, uint64_t before)
{
	struct segments *s = &e->segments;

	if (!e->settings.around)
		return;
	if (time + e->settings.around > s->keep_until)
		s->keep_until = time + e->settings.around;
	for (uint32_t i = 0; i < s->count; i++)
		if (!s->list[i].until || s->list[i].until + before >= time)
			s->list[i].kept = true;
}

/* The time of the day is another one for what follows. */
static void take_step(struct engine *e)
{
	e->started_wall += e->segments.wall_step;
	e->segments.wall_step = 0;
}

/* From now on the times of the day in this file would be wrong. */
static void check_clocks(struct engine *e)
{
	struct clock_offsets now = clock_offsets__read();
	struct segments *s = &e->segments;
	char why[sizeof(s->why)];

	if (s->asked || !clock_offsets__step(&s->clocks, &now, why, sizeof(why)))
		return;
	s->wall_step = (time_t)((now.wall - s->clocks.wall) / (int64_t)SECOND);
	/* A file that has nothing yet goes on with the clocks as they are now. */
	if (!has_content(e)) {
		s->clocks = now;
		take_step(e);
		engine__set_begin(e);
		return;
	}
	log_to__line(&e->settings.log, "%s: the next file begins", why);
	s->asked = true;
	snprintf(s->why, sizeof(s->why), "%s", why);
}

/* A file that has no sample goes on: it would be removed, with what it knows besides. */
static bool is_due(const struct engine *e)
{
	if (e->paused || !e->started || !has_content(e))
		return false;
	if (e->segments.asked)
		return true;
	if (e->settings.rotate_time)
		return deadline__now() >= e->from + e->settings.rotate_time;
	return recording_writer__size(e->recording.writer) >= e->settings.rotate_size;
}

/* The window is over: names that were put off, then the end of the file. */
static int end_segment(struct engine *e)
{
	const char *ended = e->ended;

	engine__update_last(e, deadline__now() + NAMES_TIMEOUT);
	e->ended = e->segments.asked && *e->segments.why ? e->segments.why : "the next file follows";
	if (e->segments.count)
		e->segments.list[e->segments.count - 1].until = deadline__now();
	engine__end_recording(e);
	/* With those of what lives. */
	e->segments.samples += recording_writer__samples(e->recording.writer);
	e->segments.counted = true;
	e->ended = ended;
	return e->recording_err;
}

/* Take another rate.  If it is refused the old one stays, and the recording goes on. */
static void change_rate(struct engine *e)
{
	struct segments *s = &e->segments;
	struct diag why = { 0 };

	if (session__set_rate(e->session, s->rate, &why))
		log_to__line(&e->settings.log, "the rate stays %u: %s", e->settings.rate, why.text);
	else
		e->settings.rate = s->rate;
}

static int rotate(struct engine *e, struct diag *d)
{
	struct source_counters taken;
	struct received received;
	int err = engine__snapshot(e, d);

	if (err)
		return err;
	/* Not engine__progress(): that would count for this file what is sampled by now. */
	engine__total(e, UINT32_MAX, &taken, &received);
	err = end_segment(e);
	if (err) {
		*d = e->recording_why;
		return err;
	}
	err = engine__forget(e, d);
	if (err)
		return err;
	e->segments.taken += taken.taken;
	e->segments.lost += accounting__known_losses(&taken, &received);
	engine_sources__free(&e->source_files);
	if (e->segments.rate)
		change_rate(e);
	return engine__open_recording(e, d);
}

/* A file has one rate: while it changes, nothing is sampled. */
static int rotate_with_rate(struct engine *e, struct diag *d)
{
	int err = engine__pause(e, d);

	if (err)
		return err;
	err = rotate(e, d);
	return err ? err : engine__resume(e, d);
}

int engine__next_file(struct engine *e, uint32_t rate, const char *why, struct diag *d)
{
	struct segments *s = &e->segments;

	if (!s->base || e->recording_ended)
		return diag__set(d, DIAG_USAGE, EINVAL, "there is no recording that goes on in another file");
	s->asked = true;
	s->rate = rate == e->settings.rate ? 0 : rate;
	text__clean(s->why, sizeof(s->why), why ? why : "");
	return 0;
}

int engine__rotate(struct engine *e)
{
	uint64_t from, held;
	struct diag d = { 0 };
	int err;

	if (!e->segments.base || e->recording_ended)
		return 0;
	engine__remove_segments(e);
	check_clocks(e);
	if (!is_due(e))
		return 0;
	from = deadline__now();
	err = e->segments.rate ? rotate_with_rate(e, &d) : rotate(e, &d);
	e->segments.asked = false;
	e->segments.rate = 0;
	take_step(e);
	held = e->resumed_at - e->paused_at;
	log_to__line(&e->settings.log, "the next file is %s: no sample was taken for %.1f ms, none was read for %.1f ms",
		     e->recording_path, (double)held / 1e6, (double)(deadline__now() - from) / 1e6);
	if (!err || e->recording_err)
		return err;
	e->recording_ended = true;
	e->recording_err = err;
	e->recording_why = d;
	return err;
}

void engine__segments(const struct engine *e, struct segments_state *state)
{
	*state = (struct segments_state){
		.path = e->recording_path, .made = e->recording_path ? 1 : 0,
		.triggers = e->triggers.fired, .trigger = *e->triggers.last ? e->triggers.last : NULL,
	};
	if (!e->segments.base)
		return;
	/* One without samples is removed in the end. */
	state->made = e->segments.made - (e->ended_at && engine__file_is_empty(e));
	state->removed = e->segments.removed;
}

void segments__free(struct segments *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free(s->list[i].path);
	free(s->list);
	free(s->base);
	memset(s, 0, sizeof(*s));
}
