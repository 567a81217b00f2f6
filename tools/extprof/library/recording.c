/* SPDX-License-Identifier: BSD-2-Clause */
/* The public face of the engine. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadline.h"
#include "engine/engine.h"
#include "library/error.h"
#include "library/recording.h"
#include "library/samples.h"
#include "profile/command_name.h"

/* The state is looked at for the log so often, ns. */
#define LOG_INTERVAL 1000000000ull

/* -- creation -------------------------------------------------------------------------------- */

int extprof_recording_create(struct extprof_recording **recording,
			     const struct extprof_recording_options *options, struct extprof_error *error)
{
	struct extprof_recording *r;
	struct diag d = { 0 };
	int err;

	*recording = NULL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
	err = options__copy(&r->options, sizeof(r->options), options, error);
	if (!err)
		err = recording_settings__set(&r->settings, &r->options, error);
	if (!err)
		err = recording_settings__select(&r->settings, &r->options, error);
	if (!err)
		err = error__from(error, engine__create(&r->engine, &r->settings.settings, &d), &d);
	if (err)
		extprof_recording_destroy(r);
	else
		*recording = r;
	return err;
}

void extprof_recording_destroy(struct extprof_recording *r)
{
	if (!r)
		return;
	reports__free(&r->reports);
	figures_view__free(r->figures);
	engine__destroy(r->engine);
	samples__free(r->samples);
	recording_settings__free(&r->settings);
	free(r->ended);
	free(r);
}

/* -- the log --------------------------------------------------------------------------------- */

static void log_line(const struct extprof_recording *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void log_line(const struct extprof_recording *r, const char *format, ...)
{
	char line[256];
	va_list args;

	if (!r->options.log)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	r->options.log(r->options.log_context, line);
}

/* Log what has changed since the log was last written to. */
static void log_changes(struct extprof_recording *r, bool now)
{
	struct progress p, *last = &r->logged;

	if (!r->options.log || (!now && deadline__now() < r->log_at))
		return;
	r->log_at = deadline__now() + LOG_INTERVAL;
	engine__progress(r->engine, &p);
	if (p.processes != last->processes)
		log_line(r, "processes that are sampled: %u", p.processes);
	if (p.lost != last->lost)
		log_line(r, "%" PRIu64 " of %" PRIu64 " samples are lost", p.lost, p.samples);
	*last = p;
}

/* -- the course of a recording ----------------------------------------------------------------- */

static int check_state(const struct extprof_recording *r, enum recording_state wanted, struct extprof_error *error)
{
	static const char *const names[] = {
		[RECORDING_CREATED] = "created", [RECORDING_OPEN] = "open", [RECORDING_BEGUN] = "begun", [RECORDING_FINISHED] = "finished",
	};

	if (r->state == wanted)
		return 0;
	return error__set(error, DIAG_USAGE, EINVAL, "this needs a recording that is %s; this one is %s",
			  names[wanted], names[r->state]);
}

const char *extprof_recording_reader(const struct extprof_recording *r, const char **why)
{
	const struct diag *d = NULL;
	enum reader_kind kind = r->state == RECORDING_CREATED ? READER_AUTO : engine__reader(r->engine, &d);

	if (why)
		*why = d && d->text[0] ? d->text : NULL;
	return reader_names[kind];
}

int extprof_recording_record_to(struct extprof_recording *r, const char *path, int uid, int gid,
				struct extprof_error *error)
{
	struct diag d = { 0 };

	if (r->state > RECORDING_OPEN)
		return error__set(error, DIAG_USAGE, EINVAL, "the file of a recording is chosen before it begins");
	return error__from(error, engine__record_to(r->engine, path, (uid_t)uid, (gid_t)gid, &d), &d);
}

int extprof_recording_each_sample(struct extprof_recording *r, extprof_sample_fn each, void *context,
				  struct extprof_error *error)
{
	struct diag d = { 0 };

	if (r->state > RECORDING_OPEN)
		return error__set(error, DIAG_USAGE, EINVAL, "a function for samples is set before the recording begins");
	if (r->samples || !each)
		return error__set(error, DIAG_USAGE, EINVAL, "%s", each ? "there is a function for samples already" :
				  "there is no function for samples");
	return error__from(error, samples__create(&r->samples, r->engine, each, context, &d), &d);
}

static void on_loss(void *context, const struct process_row *row, uint64_t count)
{
	const struct extprof_recording *r = context;
	struct text command = { 0 }, name = { 0 };
	struct frame f = FRAME_INIT(FRAME_PROCESS);
	struct extprof_loss loss = { .pid = row->pid, .count = count };

	command_name__add(row->command, &command);
	f.name = text__string(&command);
	f.pid = (uint32_t)row->pid;
	frame__add_bare(&f, &name);
	loss.process = text__string(&name);
	r->each_loss(r->loss_context, &loss);
	text__free(&command);
	text__free(&name);
}

int extprof_recording_each_loss(struct extprof_recording *r, extprof_loss_fn each, void *context, struct extprof_error *error)
{
	if (r->state > RECORDING_OPEN)
		return error__set(error, DIAG_USAGE, EINVAL, "a function for losses is set before the recording begins");
	if (r->each_loss || !each)
		return error__set(error, DIAG_USAGE, EINVAL, "%s", each ? "there is a function for losses already" :
				  "there is no function for losses");
	r->each_loss = each;
	r->loss_context = context;
	engine__each_loss(r->engine, on_loss, r);
	return 0;
}

int extprof_recording_file_status(const struct extprof_recording *r, uint64_t *samples, struct extprof_error *error)
{
	struct diag d = { 0 };

	return error__from(error, engine__recording_status(r->engine, samples, &d), &d);
}

int extprof_recording_files(const struct extprof_recording *r, struct extprof_recording_files *files)
{
	struct extprof_recording_files full = { 0 };
	struct segments_state state;

	engine__segments(r->engine, &state);
	full.path = state.path;
	full.made = state.made;
	full.removed = state.removed;
	full.rate = r->engine ? engine__rate(r->engine) : 0;
	full.triggers = state.triggers;
	full.trigger = state.trigger;
	return result__copy(files, &full, sizeof(full));
}

int extprof_recording_open(struct extprof_recording *r, struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, RECORDING_CREATED, error);

	if (err)
		return err;
	err = engine__open(r->engine, &d);
	if (!err)
		r->state = RECORDING_OPEN;
	return error__from(error, err, &d);
}

int extprof_recording_begin(struct extprof_recording *r, struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, RECORDING_OPEN, error);

	if (err)
		return err;
	err = engine__begin(r->engine, &d);
	if (err)
		return error__from(error, err, &d);
	r->state = RECORDING_BEGUN;
	log_changes(r, true);
	return 0;
}

int extprof_recording_fd(const struct extprof_recording *r)
{
	return r->state == RECORDING_CREATED ? -1 : engine__fd(r->engine);
}

uint64_t extprof_recording_wait(const struct extprof_recording *r)
{
	return r->state == RECORDING_BEGUN ? engine__wait(r->engine) : UINT64_MAX;
}

int extprof_recording_step(struct extprof_recording *r, struct extprof_error *error)
{
	struct segments_state before, after;
	struct diag d = { 0 };
	int err = check_state(r, RECORDING_BEGUN, error), refused;

	if (err)
		return err;
	reports__free(&r->reports);
	engine__segments(r->engine, &before);
	err = engine__step(r->engine, &d);
	engine__segments(r->engine, &after);
	/* A new file has begun, so a snapshot can no longer be reported. */
	if (after.made != before.made)
		r->reportable = false;
	log_changes(r, err != 0);
	if (err < 0)
		return error__from(error, err, &d);
	refused = samples__status(r->samples, error);
	return refused ? refused : err;
}

int extprof_recording_add(struct extprof_recording *r, pid_t pid, struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, RECORDING_BEGUN, error);

	return err ? err : error__from(error, engine__add(r->engine, pid, &d), &d);
}

int extprof_recording_remove(struct extprof_recording *r, pid_t pid, struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, RECORDING_BEGUN, error);

	return err ? err : error__from(error, engine__remove(r->engine, pid, &d), &d);
}

int extprof_recording_run(struct extprof_recording *r, struct extprof_error *error)
{
	struct pollfd fds[] = {
		{ .fd = extprof_recording_fd(r), .events = POLLIN },
		{ .fd = r->settings.settings.interrupt_fd, .events = POLLIN },
	};
	int err;

	do {
		/* Rounded up: what is too early would be called again at once. */
		uint64_t ms = r->state == RECORDING_BEGUN ? (engine__wait(r->engine) + 999999) / 1000000 : 0;

		poll(fds, 2, ms < INT32_MAX ? (int)ms : INT32_MAX);
		err = extprof_recording_step(r, error);
	} while (!err && !fds[1].revents);
	return err < 0 ? err : 0;
}

int extprof_recording_set_ended(struct extprof_recording *r, const char *why)
{
	char *copy = strdup(why);

	if (!copy)
		return -ENOMEM;
	engine__set_ended(r->engine, copy);
	free(r->ended);
	r->ended = copy;
	return 0;
}

int extprof_recording_finish(struct extprof_recording *r, struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, RECORDING_BEGUN, error);

	if (err)
		return err;
	reports__free(&r->reports);
	err = engine__finish(r->engine, &d);
	if (err > 0 && error)
		error__fill(error, &d);
	r->state = RECORDING_FINISHED;
	r->reportable = !err;
	log_changes(r, true);
	return error__from(error, err, &d);
}

int extprof_recording_snapshot(struct extprof_recording *r, struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, RECORDING_BEGUN, error);

	if (err)
		return err;
	reports__free(&r->reports);
	err = engine__snapshot(r->engine, &d);
	if (!err)
		r->reportable = true;
	return error__from(error, err, &d);
}

int extprof_recording_restart(struct extprof_recording *r, struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, RECORDING_BEGUN, error);

	if (err)
		return err;
	err = engine__restart(r->engine, &d);
	if (!err) {
		r->reportable = false;
		r->logged.lost = 0;
	}
	return error__from(error, err, &d);
}

int extprof_recording_set_rate(struct extprof_recording *r, uint32_t rate, struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, RECORDING_BEGUN, error);

	if (!err && (!rate || rate > EXTPROF_RATE_MAX))
		err = error__set(error, DIAG_USAGE, EINVAL, "%u is no rate: 1 to %u per second", rate, EXTPROF_RATE_MAX);
	if (err)
		return err;
	err = engine__set_rate(r->engine, rate, &d);
	if (!err)
		log_line(r, "samples per second and CPU: %u", rate);
	return error__from(error, err, &d);
}

int extprof_recording_next_file(struct extprof_recording *r, uint32_t rate, const char *why, struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, RECORDING_BEGUN, error);

	if (!err && rate > EXTPROF_RATE_MAX)
		err = error__set(error, DIAG_USAGE, EINVAL, "%u is no rate: 1 to %u per second", rate, EXTPROF_RATE_MAX);
	if (err)
		return err;
	err = engine__next_file(r->engine, rate, why, &d);
	return error__from(error, err, &d);
}

int extprof_recording_trigger(struct extprof_recording *r, const char *why, struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, RECORDING_BEGUN, error);

	if (err)
		return err;
	err = engine__trigger(r->engine, why, &d);
	return error__from(error, err, &d);
}

int extprof_recording_processes(const struct extprof_recording *r, pid_t *pids, size_t room, size_t *count,
				struct extprof_error *error)
{
	int err = check_state(r, RECORDING_BEGUN, error);

	*count = err ? 0 : engine__pids(r->engine, pids, room);
	return err;
}

static int change(struct extprof_recording *r, int (*step)(struct engine *e, struct diag *d), const char *done,
		  struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, RECORDING_BEGUN, error);

	if (err)
		return err;
	err = step(r->engine, &d);
	if (!err)
		log_line(r, "%s", done);
	return error__from(error, err, &d);
}

int extprof_recording_pause(struct extprof_recording *r, struct extprof_error *error)
{
	return change(r, engine__pause, "paused", error);
}

int extprof_recording_resume(struct extprof_recording *r, struct extprof_error *error)
{
	return change(r, engine__resume, "the pause is over", error);
}

int extprof_recording_progress(struct extprof_recording *r, struct extprof_progress *progress)
{
	struct extprof_progress full = { 0 };
	struct progress p = { .waiting = true };

	if (r->state != RECORDING_CREATED)
		engine__progress(r->engine, &p);
	full.waiting = p.waiting;
	full.paused = p.paused;
	full.pauses = (uint64_t)(p.pauses * 1e9);
	full.processes = p.processes;
	full.elapsed = (uint64_t)(p.elapsed * 1e9);
	full.samples = p.samples;
	full.lost = p.lost;
	return result__copy(progress, &full, sizeof(full));
}
