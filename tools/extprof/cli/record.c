/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof record */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/command.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/reader_notice.h"
#include "cli/result.h"
#include "cli/signals.h"
#include "cli/spawn.h"
#include "cli/sudo.h"

#define MS 1000000ull
/* How often the live line changes. */
#define PROGRESS_INTERVAL (500 * MS)

static void show_progress(struct extprof_recording *recording)
{
	struct extprof_progress p = { .size = sizeof(p) };

	extprof_recording_progress(recording, &p);
	if (p.waiting)
		fprintf(stderr, "\rextprof: waiting for the ruby to start\033[K");
	else
		fprintf(stderr, "\rextprof: %.1f s, %" PRIu64 " samples, %" PRIu64 " lost\033[K",
			(double)p.elapsed / 1e9, p.samples, p.lost);
	fflush(stderr);
}

/* The parts of a recording, to be cleaned up together. */
struct recording {
	struct options options;
	struct spawn spawn;
	struct signals signals;
	struct output_file files[OPTIONS_OUTPUTS];
	struct sudo sudo;
	const struct output_owner *owner;	/* of new files; NULL: extprof's user */
	struct extprof_recording *recording;
	int epoll_fd;		/* signals, recording */
	bool live;		/* show the live line */
	int interrupts;		/* that were seen */
};

/* Somebody wants the profile so far.  Whether that works is no reason to end. */
static void on_request(struct recording *r)
{
	struct signalfd_siginfo info;
	struct extprof_error e = { .size = sizeof(e) };
	bool wanted = false;

	while (signals__next(r->signals.request_fd, &info))
		wanted = true;
	if (!wanted)
		return;
	if (r->live)
		fprintf(stderr, "\r\033[K");
	if (result__write_so_far(&r->options, r->recording, r->files, r->owner, &e))
		message__fail(&e);
	for (unsigned int i = 0; !e.text[0] && !options__has(&r->options, OPTION_QUIET) && i < r->options.output_count; i++)
		fprintf(stderr, "extprof: the profile so far is in %s\n", r->options.outputs[i].file);
}

/* Whether they end the recording. */
static bool on_interrupt(struct recording *r)
{
	struct signalfd_siginfo info;
	bool end = false;

	while (signals__next(r->signals.interrupt_fd, &info)) {
		extprof_recording_set_ended(r->recording, info.ssi_signo == SIGINT ? "Ctrl-C" : "terminated");
		/* The terminal sends Ctrl-C to the command as well, which may
		 * want to end in an orderly way: record that too.  The second
		 * one ends the recording at once. */
		if (r->options.command && !r->interrupts) {
			spawn__forward(&r->spawn, &info);
			if (info.ssi_signo != SIGINT)
				end = true;
		} else {
			end = true;
		}
		r->interrupts++;
	}
	return end;
}

static int wait_for(int epoll_fd, int fd, struct extprof_error *e)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return message__set(e, EXTPROF_INTERNAL, errno, "cannot wait: %s", strerror(errno));
	return 0;
}

/* Record until the duration, a signal or the end of the processes. */
static int record(struct recording *r, struct extprof_error *e)
{
	uint64_t next_progress = 0;
	bool end = false;
	int done = 0;

	while (!end && !done) {
		struct epoll_event events[4];
		uint64_t now;

		/* Rounded up: what is too early would be called again at once. */
		epoll_wait(r->epoll_fd, events, 4, (int)((extprof_recording_wait(r->recording) + MS - 1) / MS));
		end = on_interrupt(r);
		done = extprof_recording_step(r->recording, e);
		if (!done)
			on_request(r);
		/* With others the processes do not end with it. */
		if (!done && r->options.command && r->options.recording.all &&
		    spawn__is_over(&r->spawn)) {
			extprof_recording_set_ended(r->recording, "the command ended");
			end = true;
		}
		now = clock__now();
		if (r->live && now >= next_progress) {
			show_progress(r->recording);
			next_progress = now + PROGRESS_INTERVAL;
		}
	}
	if (done >= 0)
		done = extprof_recording_finish(r->recording, e);
	if (r->live)
		fprintf(stderr, "\r\033[K");
	/* A command that cannot be profiled is of no use to who wants a profile. */
	if (done < 0 && r->options.command && !spawn__ended(&r->spawn, false))
		kill(r->spawn.pid, SIGTERM);
	return done;
}

/* All that can fail before the recording. */
static int prepare(struct recording *r, struct extprof_error *e)
{
	struct options *o = &r->options;
	int err;

	err = sudo__find(&r->sudo, e);
	if (err)
		return err;
	r->owner = r->sudo.found ? &r->sudo.user : NULL;
	for (unsigned int i = 0; i < o->output_count; i++)
		if ((err = output_file__check(o->outputs[i].file, r->owner, e)))
			return err;
	if ((err = signals__open(&r->signals, e)))
		return err;
	if (o->command && (err = spawn__prepare(&r->spawn, o->command, options__has(o, OPTION_KEEP_ROOT),
						&r->signals.old_mask, e)))
		return err;
	if (o->command) {
		o->recording.command = true;
		o->recording.pids = &r->spawn.pid;
		o->recording.pid_count = 1;
	}
	o->recording.interrupt_fd = r->signals.interrupt_fd;
	/* The search may take long: a signal ends extprof meanwhile, as it ends any program. */
	if ((err = extprof_recording_create(&r->recording, &o->recording, e)))
		return err;
	signals__block(&r->signals);
	/* Not sooner: a signal during the search would leave half a file. */
	for (unsigned int i = 0; i < o->output_count; i++)
		if ((err = output_file__open(&r->files[i], o->outputs[i].file, r->owner, e)))
			return err;
	if ((err = extprof_recording_open(r->recording, e)))
		return err;
	if (!options__has(o, OPTION_QUIET))
		reader_notice__print(r->recording);
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll_fd < 0)
		return message__set(e, EXTPROF_INTERNAL, errno, "cannot wait: %s", strerror(errno));
	if ((err = wait_for(r->epoll_fd, r->signals.interrupt_fd, e)) ||
	    (err = wait_for(r->epoll_fd, r->signals.request_fd, e)) ||
	    (err = wait_for(r->epoll_fd, extprof_recording_fd(r->recording), e)))
		return err;
	if (o->command && (err = spawn__go(&r->spawn, o->command, e)))
		return err;
	return extprof_recording_begin(r->recording, e);
}

static int run(int argc, char **argv, bool implied)
{
	struct recording r = { .epoll_fd = -1 };
	struct extprof_error e = { .size = sizeof(e) };
	int status;

	signals__init(&r.signals);
	spawn__init(&r.spawn);
	if (options__parse(&r.options, &command_line_record, argc, argv, implied ? OPTIONS_IMPLIED : 0)) {
		options__free(&r.options);
		return STATUS_USAGE;
	}
	r.live = !options__has(&r.options, OPTION_QUIET) && isatty(STDERR_FILENO);
	if (prepare(&r, &e) || record(&r, &e)) {
		status = message__fail(&e);
	} else {
		status = result__show(&r.options, r.recording, r.files);
		/* What was started by us is ours to wait for. */
		if (r.options.command)
			spawn__wait(&r.spawn, r.signals.interrupt_fd);
		if (r.options.command && status == STATUS_OK)
			status = spawn__exit_status(&r.spawn);
	}
	for (unsigned int i = 0; i < OPTIONS_OUTPUTS; i++)
		output_file__discard(&r.files[i]);
	extprof_recording_destroy(r.recording);
	spawn__close(&r.spawn);
	signals__close(&r.signals);
	if (r.epoll_fd >= 0)
		close(r.epoll_fd);
	options__free(&r.options);
	sudo__free(&r.sudo);
	return status;
}

const struct command command_record = {
	.name = "record",
	.summary = "sample programs, write a profile (the default)",
	.line = &command_line_record,
	.run = run,
};
