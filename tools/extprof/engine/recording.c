/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording that is written into a file while it is made. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/state.h"
#include "recording/account.h"
#include "recording/meta.h"

static int name_frame(void *context, uint32_t number)
{
	return engine__name_code(context, number);
}

/* The period of its samples, ns. */
static uint64_t period(const struct engine *e)
{
	return e->settings.rate ? SECOND / e->settings.rate : 0;
}

int engine__create_file(const struct engine *e, struct recording_writer **writer, struct diag *d)
{
	return recording_writer__create(writer, e->recording_path, e->recording_uid, e->recording_gid, period(e), d);
}

int engine__open_recording(struct engine *e, struct diag *d)
{
	struct recording_source source = {
		.frames = &e->frames, .processes = &e->rows, .name = name_frame,
		.file = engine__note_source, .context = e,
	};
	struct recording_writer *writer;
	int err;

	err = e->segments.base ? engine__create_segment(e, &writer, d) : engine__create_file(e, &writer, d);
	if (err)
		return err;
	recording_sink__free(&e->recording);
	e->recording_begun = e->recording_ended = false;
	e->source_files.texts = e->settings.sources;
	if (recording_sink__init(&e->recording, writer, &source, e->settings.modes, e->settings.mode_count))
		return recording_writer__why(writer, d);
	return 0;
}

int engine__record_to(struct engine *e, const char *path, uid_t uid, gid_t gid, struct diag *d)
{
	int err;

	if (e->recording.writer)
		return diag__set(d, DIAG_USAGE, EBUSY, "it is recorded into a file already");
	free(e->recording_path);
	e->recording_path = strdup(path);
	e->recording_uid = uid;
	e->recording_gid = gid;
	if (!e->recording_path || ((e->settings.rotate_time || e->settings.rotate_size) && segments__init(&e->segments, path)))
		return diag__set(d, DIAG_INTERNAL, ENOMEM, "out of memory for the recording");
	err = engine__open_recording(e, d);
	return err ? err : engine__add_sink(e, &e->recording.sink, d);
}

void engine__set_begin(struct engine *e)
{
	/* A disk that is full is told when samples are written. */
	if (e->recording_begun)
		recording_account__set_begin(e->recording.writer, e->from, engine__started(e));
}

static int begin(struct engine *e)
{
	struct recording_view view = {
		.groups = e->settings.groups, .group_by_default = e->settings.group_by_default, .lines = e->settings.lines,
	};
	int err;

	e->recording_begun = true;
	err = recording_account__begin(e->recording.writer, &view, e->from, engine__started(e), period(e));
	/* Write what is known now, in case the recording is never ended. */
	for (uint32_t i = 0; i < e->settings.mode_count && !err; i++) {
		struct report_meta m = { 0 };

		engine__describe_host(&m);
		engine__describe_sources(e, e->settings.modes[i]->sources, &m);
		err = recording_meta__write(e->recording.writer, i + 1, &m);
	}
	return err;
}

/* Names of threads and processes are read when they are written. */
static int name_groups(struct engine *e)
{
	int err = resolve__name_processes(&e->resolver);

	for (uint32_t i = 0; i < e->set.vm_count && !err; i++)
		if (e->set.vms[i])
			err = resolve__name_threads(&e->resolver, e->set.vms[i]);
	return err;
}

int engine__step_recording(struct engine *e, uint64_t now)
{
	int err = 0;

	if (!e->recording.writer || e->recording_ended || !e->started)
		return 0;
	if (!e->recording_begun)
		err = begin(e);
	/* Now: a process that ends soon tells nothing of its files. */
	if (!err)
		err = recording_sink__look(&e->recording);
	if (!err)
		err = engine__take_sources(e, false);
	if (!err)
		err = engine__record_figures(e, now, false);
	if (!err && recording_writer__is_due(e->recording.writer, now)) {
		err = name_groups(e);
		if (!err)
			err = recording_sink__tick(&e->recording, now);
	}
	return err ? err : e->recording.sink.err;
}

void engine__record_pause(struct engine *e, uint64_t from, uint64_t until)
{
	/* An error is kept, and found in the next step. */
	if (e->recording.writer && !e->recording_ended)
		recording_sink__paused(&e->recording, from, until);
}

/* All names are known, and no sample comes any more. */
void engine__end_recording(struct engine *e)
{
	struct report_request request = { .detail = REPORT_BY_CODE, .accounts = true };
	struct reports reports = { 0 };
	struct diag *d = &e->recording_why;
	int err;

	if (!e->recording.writer || e->recording_ended)
		return;
	engine__end_triggers(e);
	e->recording_ended = true;
	err = e->recording_begun ? 0 : begin(e);
	if (!err)
		err = engine__record_heap(e);
	if (!err)
		err = engine__record_figures(e, deadline__now(), true);
	/* This tells the sinks what all numbers stand for. */
	if (!err)
		err = engine__reports(e, &request, &reports, d);
	if (!err)
		err = recording_sink__look(&e->recording);
	if (!err)
		err = engine__take_sources(e, true);
	if (!err)
		err = recording_sink__end(&e->recording);
	if (!err)
		err = recording_account__end(e->recording.writer, &reports);
	if (!err)
		err = recording_writer__end(e->recording.writer);
	reports__free(&reports);
	e->recording.ended = true;
	e->recording_err = err;
	if (err && !recording_writer__why(e->recording.writer, d) && !d->text[0])
		diag__set(d, DIAG_OUTPUT, -err, "the recording cannot be written: %s", strerror(-err));
}

int engine__recording_status(const struct engine *e, uint64_t *samples, struct diag *d)
{
	*samples = e->segments.samples;
	/* Those of a file that follows are counted already. */
	if (e->recording.writer && !e->segments.counted)
		*samples += recording_writer__samples(e->recording.writer);
	if (e->recording_err)
		*d = e->recording_why;
	return e->recording_err;
}

void engine__free_recording(struct engine *e)
{
	/* A file without samples tells nobody anything. */
	bool empty = engine__file_is_empty(e);

	recording_sink__free(&e->recording);
	engine_sources__free(&e->source_files);
	if (empty)
		unlink(e->recording_path);
	free(e->recording_path);
	segments__free(&e->segments);
}
