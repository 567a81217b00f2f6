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
#include "library/report.h"
#include "output/output.h"
#include "profile/unit.h"
#include "source/mode.h"

#define RATE_DEFAULT 99
#define TOP_DEFAULT 20
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
	pid_t *pids;
	char *name, *cgroup, *ended;
	enum state state;
	bool reportable;	/* finished with samples, or after a snapshot */
	uint64_t log_at;	/* CLOCK_MONOTONIC, ns */
	struct progress logged;
};

/* -- creation -------------------------------------------------------------------------------- */

static const struct output_format *format_by_name(const char *name)
{
	return !strcmp(name, output_summary.name) ? &output_summary : output__by_name(name);
}

/* The groups that the formats want, from a list with commas. */
static int add_formats(const char *list, uint32_t *labels, struct extprof_error *error)
{
	while (*list) {
		size_t length = strcspn(list, ",");
		char *name = strndup(list, length);
		const struct output_format *format;

		if (!name)
			return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
		format = format_by_name(name);
		if (!format) {
			int err = error__set(error, DIAG_USAGE, EINVAL, "\"%s\" is no format", name);

			free(name);
			return err;
		}
		free(name);
		*labels |= format->labels;
		list += length + (list[length] == ',');
	}
	return 0;
}

static int copy_text(char **copy, const char *text)
{
	*copy = text ? strdup(text) : NULL;
	return text && !*copy ? -ENOMEM : 0;
}

/* What is pointed to belongs to the caller only until this returns. */
static int copy_selection(struct extprof_recording *r, struct selection *s, struct extprof_error *error)
{
	const struct extprof_recording_options *o = &r->options;

	if (!o->all && !o->pid_count)
		return error__set(error, DIAG_USAGE, EINVAL, "no processes are chosen: set pids or all");
	if (o->pid_count > UINT32_MAX / sizeof(*o->pids) || (o->pid_count && !o->pids))
		return error__set(error, DIAG_USAGE, EINVAL, "pid_count does not fit pids");
	r->pids = calloc(o->pid_count + 1, sizeof(*r->pids));
	if (!r->pids || copy_text(&r->name, o->name) || copy_text(&r->cgroup, o->cgroup))
		return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
	if (o->pid_count)
		memcpy(r->pids, o->pids, o->pid_count * sizeof(*r->pids));
	*s = (struct selection){
		.pids = r->pids, .pid_count = (uint32_t)o->pid_count, .all = o->all,
		.subprocesses = o->subprocesses, .by_user = o->by_user, .user = o->user,
		.name = r->name, .cgroup = r->cgroup,
	};
	return 0;
}

static int make_settings(struct extprof_recording *r, struct settings *s, struct extprof_error *error)
{
	const struct extprof_recording_options *o = &r->options;

	s->size = sizeof(*s);
	s->command = o->command;
	s->rate = o->rate ? o->rate : RATE_DEFAULT;
	s->duration = o->duration;
	s->alloc_interval = RB_DEBUG_EXT_ALLOC_INTERVAL;
	s->lines = o->lines;
	s->interrupt_fd = o->interrupt_fd > 0 ? o->interrupt_fd : -1;
	s->group_by_default = !o->groups;
	if (modes__parse(o->modes ? o->modes : "cpu", s->modes, &s->mode_count))
		return error__set(error, DIAG_USAGE, EINVAL, "\"%s\" is no list of modes", o->modes);
	if (o->timer && timer__by_name(o->timer, &s->timer))
		return error__set(error, DIAG_USAGE, EINVAL, "\"%s\" is no timer", o->timer);
	if (o->groups && groups__parse(o->groups, &s->groups))
		return error__set(error, DIAG_USAGE, EINVAL, "\"%s\" is no list of groups", o->groups);
	s->groups.patterns_allowed = !groups__has(&s->groups, GROUP_THREAD);
	if (o->formats && add_formats(o->formats, &s->labels, error))
		return -EINVAL;
	return copy_selection(r, &s->selection, error);
}

int extprof_recording_create(struct extprof_recording **recording,
			     const struct extprof_recording_options *options, struct extprof_error *error)
{
	struct extprof_recording *r;
	struct settings settings = { 0 };
	struct diag d = { 0 };
	int err;

	*recording = NULL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return error__set(error, DIAG_INTERNAL, ENOMEM, "out of memory");
	err = options__copy(&r->options, sizeof(r->options), options, error);
	if (!err)
		err = make_settings(r, &settings, error);
	if (!err)
		err = error__from(error, engine__create(&r->engine, &settings, &d), &d);
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
	engine__destroy(r->engine);
	free(r->pids);
	free(r->name);
	free(r->cgroup);
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
	struct diag d = { 0 };
	int err = check_state(r, BEGUN, error);

	if (err)
		return err;
	err = engine__step(r->engine, &d);
	log_changes(r, err != 0);
	return error__from(error, err, &d);
}

int extprof_recording_run(struct extprof_recording *r, struct extprof_error *error)
{
	struct pollfd fds[] = {
		{ .fd = extprof_recording_fd(r), .events = POLLIN },
		{ .fd = r->options.interrupt_fd > 0 ? r->options.interrupt_fd : -1, .events = POLLIN },
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
	err = engine__finish(r->engine, &d);
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
	err = engine__snapshot(r->engine, &d);
	if (!err)
		r->reportable = true;
	return error__from(error, err, &d);
}

int extprof_recording_progress(struct extprof_recording *r, struct extprof_progress *progress)
{
	struct extprof_progress full = { 0 };
	struct progress p = { .waiting = true };
	size_t size = progress->size;

	if (size < sizeof(size))
		return -EINVAL;
	if (r->state != CREATED)
		engine__progress(r->engine, &p);
	full.size = size;
	full.waiting = p.waiting;
	full.processes = p.processes;
	full.elapsed = (uint64_t)(p.elapsed * 1e9);
	full.samples = p.samples;
	full.lost = p.lost;
	memcpy(progress, &full, size < sizeof(full) ? size : sizeof(full));
	return 0;
}

/* -- results --------------------------------------------------------------------------------- */

static int check_reportable(const struct extprof_recording *r, struct extprof_error *error)
{
	if (r->reportable)
		return 0;
	return error__set(error, DIAG_USAGE, EINVAL, "there is nothing to report before the recording is "
			  "finished or a snapshot is taken");
}

/* *choice stays NULL without a name. */
static int find_unit(const char *name, const struct unit_choice **choice, struct extprof_error *error)
{
	*choice = name ? unit__by_name(name) : NULL;
	if (name && !*choice)
		return error__set(error, DIAG_USAGE, EINVAL, "\"%s\" is no unit", name);
	return 0;
}

const char *extprof_mode(size_t i)
{
	size_t n = 0;

	while (modes[n] && n < i)
		n++;
	return modes[n] ? modes[n]->name : NULL;
}

const char *extprof_format(size_t i)
{
	size_t n = 0;

	while (output_formats[n]) {
		if (n == i)
			return output_formats[n]->name;
		n++;
	}
	/* The tables are no row of the formats: extprof prints them in any case. */
	return i == n && output__by_name(output_summary.name) == NULL ? output_summary.name : NULL;
}

int extprof_recording_write(struct extprof_recording *r, const char *name,
			    const struct extprof_write_options *options, FILE *to,
			    struct extprof_error *error)
{
	const struct output_format *format = format_by_name(name);
	struct extprof_write_options o;
	struct report_request request = { 0 };
	struct output_options settings;
	struct reports reports;
	struct diag d = { 0 };
	int err;

	if (!format)
		return error__set(error, DIAG_USAGE, EINVAL, "\"%s\" is no format", name);
	err = options__copy(&o, sizeof(o), options, error);
	if (!err)
		err = find_unit(o.unit, &request.unit, error);
	if (!err)
		err = check_reportable(r, error);
	if (err)
		return err;
	request.detail = format->detail;
	request.labels = format->labels;
	request.by_value = format->by_value;
	err = error__from(error, engine__reports(r->engine, &request, &reports, &d), &d);
	if (err)
		return err;
	settings = (struct output_options){
		.html = o.html, .color = o.color, .width = o.width, .top = o.top ? o.top : TOP_DEFAULT,
	};
	if (format->one_mode && reports.count > 1)
		err = error__set(error, DIAG_USAGE, EINVAL, "%s has place for one mode", name);
	else if ((err = format->write(reports.list, reports.count, &settings, to)))
		error__set(error, DIAG_OUTPUT, -err, "the profile could not be written: %s", strerror(-err));
	reports__free(&reports);
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
	err = find_unit(unit, &request.unit, error);
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
