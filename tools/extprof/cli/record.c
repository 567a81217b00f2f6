/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof record */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/clock.h"
#include "cli/command.h"
#include "cli/messages.h"
#include "cli/output_file.h"
#include "cli/result.h"
#include "cli/run.h"

/* How often the live line changes, ns. */
#define PROGRESS_INTERVAL 500000000ull

struct recorder {
	struct run run;
	struct output_file files[OPTIONS_OUTPUTS];
	bool live;		/* show the live line */
	uint64_t next_progress;	/* CLOCK_MONOTONIC, ns */
};

static void show_progress(struct recorder *r)
{
	struct extprof_progress p = { .size = sizeof(p) };

	if (!r->live || clock__now() < r->next_progress)
		return;
	r->next_progress = clock__now() + PROGRESS_INTERVAL;
	extprof_recording_progress(r->run.recording, &p);
	if (p.waiting)
		fprintf(stderr, "\rextprof: waiting for the ruby to start\033[K");
	else
		fprintf(stderr, "\rextprof: %.1f s, %" PRIu64 " samples, %" PRIu64 " lost\033[K",
			(double)p.elapsed / 1e9, p.samples, p.lost);
	fflush(stderr);
}

/* Somebody wants the profile so far.  Whether that works is no reason to end. */
static void on_request(struct recorder *r)
{
	struct options *o = r->run.options;
	struct signalfd_siginfo info;
	struct extprof_error e = { .size = sizeof(e) };
	bool wanted = false;

	while (signals__next(r->run.signals.request_fd, &info))
		wanted = true;
	if (!wanted)
		return;
	if (r->live)
		fprintf(stderr, "\r\033[K");
	if (result__write_so_far(o, r->run.recording, r->files, r->run.owner, &e))
		message__fail(&e);
	else
		for (unsigned int i = 0; !r->run.quiet && i < o->output_count; i++)
			fprintf(stderr, "extprof: the profile so far is in %s\n", o->outputs[i].file);
}

static int stepped(struct run *run, struct extprof_error *e)
{
	struct recorder *r = run->context;

	(void)e;
	if (!run->over)
		on_request(r);
	show_progress(r);
	return 0;
}

static int check(struct run *run, struct extprof_error *e)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < run->options->output_count; i++)
		err = output_file__check(run->options->outputs[i].file, run->owner, e);
	return err;
}

static int prepare(struct run *run, struct extprof_error *e)
{
	struct recorder *r = run->context;
	int err = run__wait_for(run, run->signals.request_fd, e);

	if (!err && run->options->recording_file)
		err = extprof_recording_record_to(run->recording, run->options->recording_file,
						  run->owner ? (int)run->owner->uid : -1,
						  run->owner ? (int)run->owner->gid : -1, e);
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
	r.live = !r.run.quiet && run__has_live_line();
	err = run__begin(&r.run, &e);
	if (!err)
		err = run__go(&r.run, &e);
	if (err) {
		status = message__fail(&e);
		status = err > 0 ? STATUS_NOTHING : status;
	} else {
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
};
