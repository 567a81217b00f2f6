/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof record */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/command.h"
#include "cli/messages.h"
#include "cli/output_file.h"
#include "cli/result.h"
#include "cli/run.h"
#include "cli/trigger_lines.h"

/* How often the live line changes, ns. */
#define PROGRESS_INTERVAL 500000000ull
#define CLEAR_LINE "\r\033[K"
/* Names of the same second that are tried. */
#define NAMES_MAX 100

struct recorder {
	struct run run;
	struct output_file files[OPTIONS_OUTPUTS];
	char name[64];		/* of a recording for which the user has given none; "": there is none */
	bool keeps;		/* `record` was said: there is a recording if no file was named */
	bool live;		/* show the live line */
	uint64_t next_progress;	/* CLOCK_MONOTONIC, ns */
	uint64_t triggers;	/* that were told */
};

/* Bytes of the recording so far, with the log beside it, which is merged at the end. */
static uint64_t recording_size(const char *file)
{
	char log[4096];
	struct stat st;
	uint64_t size = stat(file, &st) ? 0 : (uint64_t)st.st_size;

	if ((size_t)snprintf(log, sizeof(log), "%s-wal", file) < sizeof(log) && !stat(log, &st))
		size += (uint64_t)st.st_size;
	return size;
}

static void show_progress(struct recorder *r)
{
	struct extprof_progress p = { .size = sizeof(p) };
	struct extprof_recording_files files = { .size = sizeof(files) };

	if (!r->live || clock__now() < r->next_progress)
		return;
	r->next_progress = clock__now() + PROGRESS_INTERVAL;
	extprof_recording_progress(r->run.recording, &p);
	if (p.waiting)
		fprintf(stderr, "\rextprof: waiting for the ruby to start\033[K");
	else
		fprintf(stderr, "\rextprof: %s%.1f s, %" PRIu64 " samples, %" PRIu64 " lost", p.paused ? "paused at " : "",
			(double)p.elapsed / 1e9, p.samples, p.lost);
	if (!p.waiting && !extprof_recording_files(r->run.recording, &files) && files.path)
		fprintf(stderr, ", %.1f MB written", (double)recording_size(files.path) / 1e6);
	if (!p.waiting && r->run.options->recording.triggers)
		fprintf(stderr, ", triggers: %" PRIu64, files.triggers);
	else if (!p.waiting && r->run.options->recording.rotate)
		fprintf(stderr, " into file %" PRIu64, files.made);
	fprintf(stderr, "\033[K");
	fflush(stderr);
}

static void clear_line(const struct recorder *r)
{
	if (r->live)
		fputs(CLEAR_LINE, stderr);
}

/* Whether that works is no reason to end. */
static void write_so_far(struct recorder *r)
{
	struct options *o = r->run.options;
	struct extprof_error e = { .size = sizeof(e) };

	clear_line(r);
	if (result__write_so_far(o, r->run.recording, r->files, r->run.owner, &e))
		message__fail(&e);
	else
		for (unsigned int i = 0; !r->run.quiet && i < o->output_count; i++)
			fprintf(stderr, "extprof: the profile so far is in %s\n", o->outputs[i].file);
}

static int pause_or_resume(struct recorder *r, struct extprof_error *e)
{
	struct extprof_progress p = { .size = sizeof(p) };
	int err;

	extprof_recording_progress(r->run.recording, &p);
	err = p.paused ? extprof_recording_resume(r->run.recording, e) : extprof_recording_pause(r->run.recording, e);
	r->next_progress = 0;
	if (err || r->run.quiet)
		return err;
	clear_line(r);
	fputs(p.paused ? "extprof: records now\n" : "extprof: paused; SIGUSR2 goes on\n", stderr);
	return 0;
}

static int on_requests(struct recorder *r, struct extprof_error *e)
{
	struct signalfd_siginfo info;
	bool write = false, toggle = false;

	while (signals__next(r->run.signals.request_fd, &info)) {
		write |= info.ssi_signo == SIGUSR1;
		toggle |= info.ssi_signo == SIGUSR2;
	}
	if (write && r->run.options->recording.triggers) {
		int err = extprof_recording_trigger(r->run.recording, "SIGUSR1", e);

		if (err)
			return err;
	} else if (write) {
		write_so_far(r);
	}
	return toggle ? pause_or_resume(r, e) : 0;
}

static void tell_triggers(struct recorder *r)
{
	if (r->run.options->recording.triggers && !r->run.quiet)
		trigger_lines__tell(r->run.recording, &r->triggers, r->live ? CLEAR_LINE : "");
}

static int stepped(struct run *run, struct extprof_error *e)
{
	struct recorder *r = run->context;
	int err = run->over || run->end ? 0 : on_requests(r, e);

	tell_triggers(r);
	show_progress(r);
	return err;
}

static int check(struct run *run, struct extprof_error *e)
{
	const struct recorder *r = run->context;
	const struct options *o = run->options;
	int err = 0;

	if ((o->recording.rotate || o->recording.triggers) && !r->keeps && !o->recording_file)
		return message__set(e, EXTPROF_USAGE, EINVAL, "%s is for a recording: say extprof record, or -o FILE.extprof",
				    o->recording.rotate ? "--rotate" : "--trigger");
	for (unsigned int i = 0; !err && i < run->options->output_count; i++)
		err = output_file__check(run->options->outputs[i].file, run->owner, e);
	return err;
}

/* A name that nothing has: "extprof-1234-20261127-101530.extprof". */
static int choose_name(struct recorder *r, struct extprof_error *e)
{
	const struct extprof_recording_options *o = &r->run.options->recording;
	char of[24] = "all", at[32] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (o->pid_count)
		snprintf(of, sizeof(of), "%d", (int)o->pids[0]);
	/* The time is added to the name of each file. */
	if (o->rotate || o->triggers) {
		snprintf(r->name, sizeof(r->name), "extprof-%s.extprof", of);
		r->run.options->recording_file = r->name;
		return 0;
	}
	if (localtime_r(&now, &tm))
		strftime(at, sizeof(at), "%Y%m%d-%H%M%S", &tm);
	for (int i = 1; i <= NAMES_MAX; i++) {
		char more[8] = "";
		struct stat st;

		if (i > 1)
			snprintf(more, sizeof(more), "-%d", i);
		snprintf(r->name, sizeof(r->name), "extprof-%s-%s%s.extprof", of, at, more);
		if (lstat(r->name, &st)) {
			r->run.options->recording_file = r->name;
			return 0;
		}
	}
	return message__set(e, EXTPROF_OUTPUT, EEXIST, "%s and %d files like it exist: choose a name with -o", r->name, NAMES_MAX - 1);
}

static int prepare(struct run *run, struct extprof_error *e)
{
	struct recorder *r = run->context;
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;
	int err = run__wait_for(run, run->signals.request_fd, e);

	if (!err && r->keeps && !run->options->recording_file && !run->options->output_count)
		err = choose_name(r, e);
	if (!err && run->options->recording_file)
		err = output_file__owner(run->options->recording_file, run->owner, &uid, &gid, e);
	if (!err && run->options->recording_file)
		err = extprof_recording_record_to(run->recording, run->options->recording_file, (int)uid, (int)gid, e);
	for (unsigned int i = 0; !err && i < run->options->output_count; i++)
		err = output_file__open(&r->files[i], run->options->outputs[i].file, run->owner, e);
	return err;
}

static const struct run_ops ops = { .check = check, .prepare = prepare, .stepped = stepped };

static int run(int argc, char **argv, bool implied)
{
	struct recorder r = { .live = false };
	struct options options;
	struct extprof_error e = { .size = sizeof(e) };
	int status, err;

	err = options__parse(&options, &command_line_record, argc, argv, implied ? OPTIONS_IMPLIED : 0);
	run__init(&r.run, &options, &ops, &r);
	if (err) {
		run__free(&r.run);
		return err == -ENOMEM ? STATUS_INTERNAL : STATUS_USAGE;
	}
	r.run.quiet = options__has(&options, OPTION_QUIET);
	r.keeps = !implied;
	r.live = !r.run.quiet && run__has_live_line();
	err = run__begin(&r.run, &e);
	if (!err)
		err = run__go(&r.run, &e);
	if (err) {
		status = message__fail(&e);
		status = err > 0 ? STATUS_NOTHING : status;
	} else {
		tell_triggers(&r);
		status = result__show(&options, r.run.recording, r.files);
		status = run__command_status(&r.run, status);
	}
	for (unsigned int i = 0; i < OPTIONS_OUTPUTS; i++)
		output_file__discard(&r.files[i]);
	run__free(&r.run);
	return status;
}

const struct command command_record = {
	.name = "record",
	.summary = "sample programs, write a profile (the default)",
	.line = &command_line_record,
	.run = run,
	.power = POWER_RUN,
};
