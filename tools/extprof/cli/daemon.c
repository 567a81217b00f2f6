/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof daemon: record all the time, into a folder of recordings of which old ones go. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/command.h"
#include "cli/daemon_cost.h"
#include "cli/daemon_line.h"
#include "cli/daemon_metrics.h"
#include "cli/daemon_stuck.h"
#include "cli/messages.h"
#include "cli/run.h"
#include "cli/trigger_lines.h"
#include "daemon/dumps.h"
#include "daemon/folder.h"
#include "daemon/notify.h"

#define SECOND 1000000000ull
/* How often it looks at its folder, ns. */
#define LOOK_INTERVAL (10 * SECOND)
/* Before it tries again where there was no room, s. */
#define ROOM_WAIT 60
/* A shorter time without a recording is not told, s. */
#define GAP_LEAST 3
#define KEEP_FOR (7 * 24 * 3600 * SECOND)
#define KEEP_SIZE (10ull << 30)

struct daemon {
	struct run run;
	struct daemon_line line;
	struct folder folder;
	uint64_t keep_for;	/* s */
	uint64_t keep_size;	/* bytes */
	bool has_recorded;	/* once: the options are right */
	uint64_t look_at;	/* CLOCK_MONOTONIC, ns: when the folder is looked at */
	uint64_t made;		/* files that were begun in this recording, when the log was last written to */
	double used;		/* s of CPU time of this process at that time */
	uint64_t logged;	/* CLOCK_MONOTONIC, ns: that time */
	struct daemon_cost cost;
	struct daemon_metrics metrics;
	struct daemon_stuck *stuck;	/* NULL: no such trigger */
	uint64_t triggers;	/* that were told */
};

static void print_time(char *to, size_t size, time_t at)
{
	struct tm tm;

	localtime_r(&at, &tm);
	strftime(to, size, "%Y-%m-%d %H:%M:%S", &tm);
}

/* -- the folder ------------------------------------------------------------------------------- */

static const char *current_file(const struct daemon *d, uint64_t *made)
{
	struct extprof_recording_files files = { .size = sizeof(files) };

	*made = 0;
	if (!d->run.recording || extprof_recording_files(d->run.recording, &files))
		return NULL;
	*made = files.made;
	return files.path;
}

static int tidy(struct daemon *d, const char *current, struct folder_state *state, struct extprof_error *e)
{
	time_t now = time(NULL), before = (uint64_t)now > d->keep_for ? now - (time_t)d->keep_for : 0;
	int err = folder__tidy(&d->folder, current, before, d->keep_size, state);

	if (!err)
		err = dumps__tidy(&d->folder, before);
	return err ? message__set(e, EXTPROF_OUTPUT, -err, "the folder %s cannot be read: %s", d->run.options->files[0], strerror(-err)) : 0;
}

static void tell_status(const struct daemon *d, const char *path, const struct folder_state *state)
{
	struct extprof_progress p = { .size = sizeof(p) };
	char text[512];

	extprof_recording_progress(d->run.recording, &p);
	snprintf(text, sizeof(text), "WATCHDOG=1\nSTATUS=%s at %u Hz, %" PRIu64 " samples, %" PRIu64 " lost; %" PRIu64 " file%s, %.1f MB",
		 path ? path : "", d->cost.cost.rate, p.samples, p.lost, state->files, state->files == 1 ? "" : "s", (double)state->bytes / 1e6);
	notify__send(text);
}

static struct metrics_facts facts_of(const struct daemon *d)
{
	struct extprof_progress p = { .size = sizeof(p) };
	struct extprof_recording_files files = { .size = sizeof(files) };
	struct metrics_facts facts = { .cpu_time = daemon_cost__cpu_time(), .rate = d->cost.cost.rate };

	if (!extprof_recording_progress(d->run.recording, &p)) {
		facts.samples = p.samples;
		facts.lost = p.lost;
		facts.processes = p.processes;
	}
	if (!extprof_recording_files(d->run.recording, &files))
		facts.triggers = files.triggers;
	return facts;
}

static void write_metrics(struct daemon *d, struct metrics_facts facts, const struct folder_state *state)
{
	facts.files = state->files;
	facts.bytes = state->bytes;
	daemon_metrics__write(&d->metrics, &facts, d->run.owner);
}

/* Another file has been begun. */
static void log_file(struct daemon *d, const char *path, const struct folder_state *state)
{
	uint64_t now = clock__now();
	double used = daemon_cost__cpu_time();

	fprintf(stderr, "extprof: records into %s; %" PRIu64 " file%s, %.1f MB", path, state->files, state->files == 1 ? "" : "s", (double)state->bytes / 1e6);
	if (d->logged)
		fprintf(stderr, "; extprof has used %.2f %% of a CPU", 100 * (used - d->used) / ((double)(now - d->logged) / 1e9));
	fputs("\n", stderr);
	d->used = used;
	d->logged = now;
}

/* path: the file that is written, before which so many were begun. */
static int look(struct daemon *d, const char *path, uint64_t made, struct extprof_error *e)
{
	struct folder_state state;
	int err = tidy(d, path, &state, e);

	if (err)
		return err;
	if (state.removed)
		fprintf(stderr, "extprof: %" PRIu64 " old files are removed, %.1f MB\n", state.removed, (double)state.removed_bytes / 1e6);
	if (path && made != d->made)
		log_file(d, path, &state);
	d->made = made;
	tell_status(d, path, &state);
	write_metrics(d, facts_of(d), &state);
	return 0;
}

/* -- one recording ---------------------------------------------------------------------------- */

static int prepare(struct run *run, struct extprof_error *e)
{
	struct daemon *d = run->context;
	char path[4096];
	int err;

	if ((size_t)snprintf(path, sizeof(path), "%s/" FOLDER_BASE ".extprof", run->options->files[0]) >= sizeof(path))
		return message__set(e, EXTPROF_USAGE, ENAMETOOLONG, "the path of the folder is too long");
	err = extprof_recording_record_to(run->recording, path, -1, -1, e);
	if (!err)
		err = run__wait_for(run, run->signals.request_fd, e);
	return err ? err : daemon_metrics__watch(&d->metrics, run->recording, e);
}

/* The folder costs something itself: it is looked at seldom, or when there is another file. */
static int tick(struct run *run, struct extprof_error *e)
{
	struct daemon *d = run->context;
	uint64_t interval = notify__interval(), now = clock__now(), made;
	const char *path = current_file(d, &made);
	int err = 0;

	interval = interval && interval < LOOK_INTERVAL ? interval : LOOK_INTERVAL;
	if (now >= d->look_at || made != d->made) {
		d->look_at = now + interval;
		err = look(d, path, made, e);
	}
	if (!err)
		err = daemon_cost__watch(&d->cost, d->run.recording, made, e);
	if (!err)
		d->triggers += daemon_stuck__step(d->stuck, run->recording);
	run->next = d->look_at;
	if (d->stuck && now + SECOND < run->next)
		run->next = now + SECOND;
	if (d->cost.cost.share > 0 && now + d->cost.cost.window / 4 < run->next)
		run->next = now + d->cost.cost.window / 4;
	return err;
}

/* Tell of triggers; SIGUSR1 is one. */
static int stepped(struct run *run, struct extprof_error *e)
{
	struct daemon *d = run->context;
	struct signalfd_siginfo info;
	bool asked = false;
	int err = 0;

	while (signals__next(run->signals.request_fd, &info))
		asked |= info.ssi_signo == SIGUSR1;
	if (asked && !run->over && !run->end)
		err = extprof_recording_trigger(run->recording, "SIGUSR1", e);
	trigger_lines__tell(run->recording, &d->triggers, "");
	return err;
}

/* The modes that are there by themselves are those that this kernel and these rights allow. */
static int create(struct run *run, struct extprof_error *e)
{
	struct options *o = run->options;
	int err = run__create(run, e);

	if (!err || o->values[OPTION_MODE].given || (e->code != EXTPROF_NO_BPF && e->code != EXTPROF_PERMISSION))
		return err;
	extprof_recording_destroy(run->recording);
	run->recording = NULL;
	o->recording.modes = EXTPROF_DAEMON_MODES_OUTSIDE;
	o->recording.alloc_interval = 0;
	err = run__create(run, e);
	if (!err)
		fprintf(stderr, "extprof: allocations are not recorded: only eBPF sees each of them\n");
	return err;
}

static const struct run_ops ops = { .create = create, .prepare = prepare, .stepped = stepped, .tick = tick, .begins_again = true };

/* How long nothing was recorded, if a daemon ran before. */
static int tell_of_gap(struct daemon *d, struct extprof_error *e)
{
	struct folder_state state;
	char from[32];
	time_t now = time(NULL);
	int err = tidy(d, NULL, &state, e);

	if (err || !state.newest || state.newest + GAP_LEAST > now)
		return err;
	print_time(from, sizeof(from), state.newest);
	fprintf(stderr, "extprof: the history of %s ends at %s, %" PRIu64 " s ago\n", d->run.options->files[0], from,
		(uint64_t)(now - state.newest));
	return 0;
}

static int record(struct daemon *d, struct extprof_error *e)
{
	int err = run__begin(&d->run, e);

	if (err)
		return err;
	/* Without eBPF it sees less and costs more: that is said also where nothing else is. */
	run__tell_reader(&d->run);
	notify__send("READY=1");
	daemon_cost__begin(&d->cost, d->run.options);
	err = daemon_stuck__begin(&d->stuck, d->run.options, &d->folder, d->keep_for, e);
	if (err)
		return err;
	d->has_recorded = true;
	d->made = d->triggers = 0;
	d->look_at = 0;
	err = tick(&d->run, e);
	return err ? err : run__go(&d->run, e);
}

/* One has ended for want of room.  Until there may be some. */
static void make_room(struct daemon *d)
{
	uint64_t interval = notify__interval();
	unsigned int step = interval && interval < ROOM_WAIT * SECOND ? (unsigned int)(interval / SECOND) : ROOM_WAIT;

	if (!folder__make_room(&d->folder, NULL)) {
		fprintf(stderr, "extprof: there is no room: the oldest file is removed\n");
		return;
	}
	fprintf(stderr, "extprof: there is no room, and no file to remove: it tries again in %d s\n", ROOM_WAIT);
	/* A signal ends it: nothing is recorded. */
	for (unsigned int waited = 0; waited < ROOM_WAIT; waited += step ? step : 1) {
		notify__send("WATCHDOG=1\nSTATUS=there is no room for a recording");
		sleep(step ? step : 1);
	}
}

static int open_folder(struct daemon *d, const struct options *o)
{
	struct extprof_error e = { .size = sizeof(e) };
	char why[256];
	int err = folder__open(&d->folder, o->files[0], why, sizeof(why));

	if (!err)
		return STATUS_OK;
	message__set(&e, EXTPROF_OUTPUT, -err, "cannot record into the folder %s: %s", o->files[0], why);
	return message__fail(&e);
}

/* The signal that ended the recording, or that came before it began or while it failed; 0: none did. */
static int signal_of(const struct daemon *d)
{
	int number = d->run.signal;
	struct signalfd_siginfo info;

	/* Those that nobody has read would be dropped.  One that ends is more than one that reloads. */
	while (signals__next(d->run.signals.interrupt_fd, &info))
		if (!number || number == SIGHUP)
			number = (int)info.ssi_signo;
	return number;
}

/* Free what recorded, and write the metrics with its last samples: it has removed a file without any. */
static void end_run(struct daemon *d)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct metrics_facts facts;
	struct folder_state state;
	const char *path;
	uint64_t made;
	char *current;

	if (d->run.recording) {
		facts = facts_of(d);
		path = current_file(d, &made);
		current = path ? strdup(path) : NULL;
		extprof_recording_destroy(d->run.recording);
		d->run.recording = NULL;
		if ((current || !path) && !tidy(d, current, &state, &e))
			write_metrics(d, facts, &state);
		free(current);
	}
	run__free(&d->run);
}

/* Later that is no reason to record nothing. */
static int begin_metrics(struct daemon *d, const struct options *o, struct extprof_error *e)
{
	int err = daemon_metrics__begin(&d->metrics, o, e);

	if (!err || !d->has_recorded)
		return err;
	fprintf(stderr, "extprof: %s\n", e->text);
	return 0;
}

/* Record with the options, which are freed.  Does it go on? */
static bool run_once(struct daemon *d, struct options *o, int *status)
{
	struct extprof_error e = { .size = sizeof(e) };
	bool no_room, again;
	uint64_t samples;
	int err, signal;

	run__init(&d->run, o, &ops, d);
	d->run.quiet = true;
	d->keep_for = options__number(o, OPTION_KEEP_FOR, KEEP_FOR) / SECOND;
	d->keep_size = options__number(o, OPTION_KEEP_SIZE, KEEP_SIZE);
	*status = STATUS_OK;
	err = tell_of_gap(d, &e);
	if (!err)
		err = begin_metrics(d, o, &e);
	if (!err)
		err = record(d, &e);
	daemon_stuck__end(d->stuck);
	d->stuck = NULL;
	signal = signal_of(d);
	/* There was no ruby, or a signal came before it looked for one: that is no fault of a daemon. */
	if (err < 0 && signal && (e.code == EXTPROF_NO_PROCESS || e.code == EXTPROF_NOT_READY))
		err = 0;
	else if (err >= 0)
		err = extprof_recording_file_status(d->run.recording, &samples, &e);
	if (err < 0)
		*status = message__fail(&e);
	no_room = (err == -ENOSPC || err == -EDQUOT) && d->has_recorded && (!signal || signal == SIGHUP);
	again = no_room || (err >= 0 && signal == SIGHUP);
	end_run(d);
	if (no_room)
		make_room(d);
	return again;
}

static void ignore(int number)
{
	(void)number;
}

static int run(int argc, char **argv, bool implied)
{
	/* When no recording is made, the configuration is read again in any case, and there is nothing to mark. */
	const struct sigaction ignored = { .sa_handler = ignore };
	struct daemon d = { .line = { argc, argv }, .folder = { -1, -1 } };
	struct config config = { 0 };
	struct options o;
	int status, err = daemon_line__parse(&o, &d.line, &config);

	(void)implied;
	if (err) {
		config__free(&config);
		return err == -ENOMEM ? STATUS_INTERNAL : STATUS_USAGE;
	}
	status = open_folder(&d, &o);
	if (status) {
		options__free(&o);
	} else {
		sigaction(SIGHUP, &ignored, NULL);
		sigaction(SIGUSR1, &ignored, NULL);
	}
	/* A failure after which it goes on is no status. */
	while (!status && run_once(&d, &o, &status))
		status = daemon_line__parse_again(&o, &d.line, &config) ? STATUS_INTERNAL : STATUS_OK;
	folder__close(&d.folder);
	daemon_metrics__free(&d.metrics);
	notify__send("STOPPING=1");
	config__free(&config);
	return status;
}

const struct command command_daemon = {
	.name = "daemon",
	.summary = "record all rubies of this machine all the time",
	.line = &command_line_daemon,
	.run = run,
	.power = POWER_RUN,
};
