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
#include "library/report.h"
#include "library/samples.h"
#include "library/settings.h"
#include "library/verdict.h"
#include "output/output.h"

/* The state is looked at for the log so often, ns. */
#define LOG_INTERVAL 1000000000ull

/* A recording goes through these in this order. */
enum state {
	CREATED,
	OPEN,
	BEGUN,
	FINISHED,
};

struct extprof_recording {
	struct engine *engine;
	struct extprof_recording_options options;	/* pointers: as below */
	struct recording_settings settings;
	char *ended;
	enum state state;
	bool reportable;	/* finished with samples, or after a snapshot */
	struct reports reports;	/* the last ones that were made, as `made` says; none if `count` is 0 */
	struct report_request made;
	uint64_t log_at;	/* CLOCK_MONOTONIC, ns */
	struct progress logged;
	struct figures_view *figures;	/* NULL: nobody has asked */
	struct samples *samples;	/* NULL: nobody wants them as they come */
};

struct engine *recording__engine(const struct extprof_recording *r)
{
	return r->engine;
}

struct figures_view **recording__figures(struct extprof_recording *r)
{
	return &r->figures;
}

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

/* What has changed since the log was written to. */
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

static int check_state(const struct extprof_recording *r, enum state wanted, struct extprof_error *error)
{
	static const char *const names[] = {
		[CREATED] = "created", [OPEN] = "open", [BEGUN] = "begun", [FINISHED] = "finished",
	};

	if (r->state == wanted)
		return 0;
	return error__set(error, DIAG_USAGE, EINVAL, "this needs a recording that is %s; this one is %s",
			  names[wanted], names[r->state]);
}

const char *extprof_recording_reader(const struct extprof_recording *r, const char **why)
{
	const struct diag *d = NULL;
	enum reader_kind kind = r->state == CREATED ? READER_AUTO : engine__reader(r->engine, &d);

	if (why)
		*why = d && d->text[0] ? d->text : NULL;
	return reader_names[kind];
}

int extprof_recording_record_to(struct extprof_recording *r, const char *path, int uid, int gid,
				struct extprof_error *error)
{
	struct diag d = { 0 };

	if (r->state > OPEN)
		return error__set(error, DIAG_USAGE, EINVAL, "the file of a recording is chosen before it begins");
	return error__from(error, engine__record_to(r->engine, path, (uid_t)uid, (gid_t)gid, &d), &d);
}

int extprof_recording_each_sample(struct extprof_recording *r, extprof_sample_fn each, void *context,
				  struct extprof_error *error)
{
	struct diag d = { 0 };

	if (r->state > OPEN)
		return error__set(error, DIAG_USAGE, EINVAL, "a function for samples is set before the recording begins");
	if (r->samples || !each)
		return error__set(error, DIAG_USAGE, EINVAL, "%s", each ? "there is a function for samples already" :
				  "there is no function for samples");
	return error__from(error, samples__create(&r->samples, r->engine, each, context, &d), &d);
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
	return result__copy(files, &full, sizeof(full));
}

int extprof_recording_open(struct extprof_recording *r, struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, CREATED, error);

	if (err)
		return err;
	err = engine__open(r->engine, &d);
	if (!err)
		r->state = OPEN;
	return error__from(error, err, &d);
}

int extprof_recording_begin(struct extprof_recording *r, struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, OPEN, error);

	if (err)
		return err;
	err = engine__begin(r->engine, &d);
	if (err)
		return error__from(error, err, &d);
	r->state = BEGUN;
	log_changes(r, true);
	return 0;
}

int extprof_recording_fd(const struct extprof_recording *r)
{
	return r->state == CREATED ? -1 : engine__fd(r->engine);
}

uint64_t extprof_recording_wait(const struct extprof_recording *r)
{
	return r->state == BEGUN ? engine__wait(r->engine) : UINT64_MAX;
}

int extprof_recording_step(struct extprof_recording *r, struct extprof_error *error)
{
	struct segments_state before, after;
	struct diag d = { 0 };
	int err = check_state(r, BEGUN, error), refused;

	if (err)
		return err;
	reports__free(&r->reports);
	engine__segments(r->engine, &before);
	err = engine__step(r->engine, &d);
	engine__segments(r->engine, &after);
	/* What a snapshot has made ready is forgotten. */
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
	int err = check_state(r, BEGUN, error);

	return err ? err : error__from(error, engine__add(r->engine, pid, &d), &d);
}

int extprof_recording_remove(struct extprof_recording *r, pid_t pid, struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, BEGUN, error);

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
		uint64_t ms = r->state == BEGUN ? (engine__wait(r->engine) + 999999) / 1000000 : 0;

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
	int err = check_state(r, BEGUN, error);

	if (err)
		return err;
	reports__free(&r->reports);
	err = engine__finish(r->engine, &d);
	if (err > 0 && error)
		error__fill(error, &d);
	r->state = FINISHED;
	r->reportable = !err;
	log_changes(r, true);
	return error__from(error, err, &d);
}

int extprof_recording_snapshot(struct extprof_recording *r, struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, BEGUN, error);

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
	int err = check_state(r, BEGUN, error);

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
	int err = check_state(r, BEGUN, error);

	if (!err && (!rate || rate > EXTPROF_RATE_MAX))
		err = error__set(error, DIAG_USAGE, EINVAL, "%u is no rate: 1 to %u per second", rate, EXTPROF_RATE_MAX);
	if (err)
		return err;
	err = engine__set_rate(r->engine, rate, &d);
	if (!err)
		log_line(r, "samples per second and CPU: %u", rate);
	return error__from(error, err, &d);
}

static int change(struct extprof_recording *r, int (*step)(struct engine *e, struct diag *d), const char *done,
		  struct extprof_error *error)
{
	struct diag d = { 0 };
	int err = check_state(r, BEGUN, error);

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

	if (r->state != CREATED)
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

/* -- results --------------------------------------------------------------------------------- */

static int check_reportable(const struct extprof_recording *r, struct extprof_error *error)
{
	if (r->reportable)
		return 0;
	return error__set(error, DIAG_USAGE, EINVAL, "there is nothing to report before the recording is "
			  "finished or a snapshot is taken");
}

/* The reports of all modes.  Those that were made last are kept: a verdict and the tables want the same. */
static int make_reports(struct extprof_recording *r, const struct report_request *request,
			struct extprof_error *error)
{
	const struct report_request *made = &r->made;
	struct diag d = { 0 };
	int err;

	if (r->reports.count && made->detail == request->detail && made->labels == request->labels &&
	    made->unit == request->unit && made->by_value == request->by_value)
		return 0;
	reports__free(&r->reports);
	err = engine__reports(r->engine, request, &r->reports, &d);
	r->made = *request;
	return error__from(error, err, &d);
}

int extprof_recording_verdict(struct extprof_recording *r, struct extprof_error *why)
{
	struct report_request request = { .detail = output_summary.detail };
	struct diag d = { 0 };
	int err = check_reportable(r, why);

	if (!err)
		err = make_reports(r, &request, why);
	if (err)
		return err;
	err = verdict__give(&r->reports, r->settings.settings.timer, &d);
	if (err)
		error__fill(why, &d);
	return err;
}

int extprof_recording_write(struct extprof_recording *r, const char *name,
			    const struct extprof_write_options *options, FILE *to,
			    struct extprof_error *error)
{
	const struct output_format *format = output__by_name(name);
	struct extprof_write_options o;
	struct report_request request = { 0 };
	struct output_options settings;
	int err;

	if (!format)
		return error__set(error, DIAG_USAGE, EINVAL, "\"%s\" is no format", name);
	if (format->timeline)
		return error__set(error, DIAG_USAGE, EINVAL, "%s is written of a recording in a file, see extprof_recorded_write()",
				  name);
	err = options__copy(&o, sizeof(o), options, error);
	if (!err)
		err = unit__find(o.unit, &request.unit, error);
	if (!err)
		err = check_reportable(r, error);
	if (err)
		return err;
	request.detail = format->detail;
	request.labels = format->labels;
	request.by_value = format->by_value;
	err = make_reports(r, &request, error);
	if (err)
		return err;
	settings = (struct output_options){
		.html = o.html, .color = o.color, .width = o.width, .top = o.top ? o.top : EXTPROF_TOP_DEFAULT,
	};
	if (format->one_mode && r->reports.count > 1)
		err = error__set(error, DIAG_USAGE, EINVAL, "%s has place for one mode", name);
	else if ((err = format->write(r->reports.list, r->reports.count, &settings, to)))
		error__set(error, DIAG_OUTPUT, -err, "the profile could not be written: %s", strerror(-err));
	return err;
}

/* An output that goes to a function. */
struct sink {
	extprof_writer writer;
	void *context;
	int err;
};

static ssize_t sink__write(void *cookie, const char *data, size_t size)
{
	struct sink *s = cookie;

	if (!s->err)
		s->err = s->writer(s->context, data, size);
	if (!s->err)
		return (ssize_t)size;
	errno = s->err < 0 ? -s->err : EIO;
	return 0;
}

int extprof_recording_write_to(struct extprof_recording *r, const char *name, const struct extprof_write_options *options,
			       extprof_writer writer, void *context, struct extprof_error *error)
{
	struct sink sink = { .writer = writer, .context = context };
	FILE *to = fopencookie(&sink, "w", (cookie_io_functions_t){ .write = sink__write });
	int err;

	if (!to)
		return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
	err = extprof_recording_write(r, name, options, to, error);
	/* What is in its buffer is written now. */
	if (fclose(to) && !err)
		err = error__set(error, DIAG_OUTPUT, sink.err < 0 ? -sink.err : EIO, "the profile could not be written: %s",
				 strerror(sink.err < 0 ? -sink.err : EIO));
	return err;
}

int extprof_recording_report_mode(struct extprof_recording *r, const char *mode, const char *unit,
				  struct extprof_report **report, struct extprof_error *error)
{
	struct report_request request = { .detail = REPORT_BY_CODE };
	struct report made;
	struct diag d = { 0 };
	int err;

	*report = NULL;
	err = unit__find(unit, &request.unit, error);
	if (!err)
		err = check_reportable(r, error);
	if (!err && mode && engine__find_mode(r->engine, mode, &request.mode))
		err = error__set(error, DIAG_USAGE, EINVAL, "mode \"%s\" was not recorded", mode);
	if (!err)
		err = error__from(error, engine__report(r->engine, &request, &made, &d), &d);
	if (err)
		return err;
	if (library_report__create(report, &made))
		return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory for the report");
	return 0;
}

int extprof_recording_report(struct extprof_recording *r, struct extprof_report **report,
			     struct extprof_error *error)
{
	return extprof_recording_report_mode(r, NULL, NULL, report, error);
}
