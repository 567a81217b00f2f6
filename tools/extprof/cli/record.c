/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof record */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/deadline.h"
#include "cli/command.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/signals.h"
#include "cli/spawn.h"
#include "engine/engine.h"

#define MS 1000000ull
/* How often the live line changes. */
#define PROGRESS_INTERVAL (500 * MS)

static void show_progress(const struct engine *e)
{
	struct progress p;

	engine__progress(e, &p);
	if (p.waiting)
		fprintf(stderr, "\rextprof: waiting for the ruby to start\033[K");
	else
		fprintf(stderr, "\rextprof: %.1f s, %" PRIu64 " samples, %" PRIu64 " lost\033[K",
			p.elapsed, p.samples, p.lost);
	fflush(stderr);
}

static unsigned int terminal_width(int fd)
{
	struct winsize w;

	return ioctl(fd, TIOCGWINSZ, &w) ? 0 : w.ws_col;
}

/* No sample: is that possible? */
static int explain_nothing(const struct options *o, const struct report *r, struct diag *d)
{
	const struct report_meta *m = &r->meta;
	uint64_t allowed = 100000000 + 20 * m->period;

	if (m->cpu_time > allowed) {
		diag__set(d, DIAG_INTERNAL, 0,
			  "no sample was taken although process %d used %.2f s of CPU time",
			  m->pid, (double)m->cpu_time / 1e9);
		if (o->timer == TIMER_TICK) {
			diag__hint(d, "the process never ran when the scheduler's tick came, or the "
				   "kernel's tick is not what extprof takes it for; try again");
			diag__advise(d, ADVICE_CLOCK, 0);
		} else {
			diag__hint(d, "the timers of this machine do not reach the process: a virtual "
				   "machine without cpu-clock events, or a pid namespace that is not its own");
		}
		return message__fail(d);
	}
	fprintf(stderr, "extprof: no samples: process %d used no CPU time in these %.1f s "
		"(an on-CPU profile shows nothing of a process that waits)\n",
		m->pid, m->duration);
	return STATUS_OK;
}

/* Samples, and none that shows anything. */
static int explain_losses(const struct report *r, struct diag *d)
{
	const struct accounting *a = &r->meta.accounting;
	unsigned int most = 0;

	for (unsigned int i = 0; i < LOSS_MAX; i++)
		if (a->lost[i] > a->lost[most])
			most = i;
	diag__set(d, DIAG_INTERNAL, 0,
		  "all %" PRIu64 " samples of process %d were lost, %" PRIu64 " of them because: %s (%s)",
		  a->taken, r->meta.pid, a->lost[most], loss__text(most), loss__key(most));
	diag__hint(d, "there is no profile; extprof(1) explains the reasons of loss");
	return message__fail(d);
}

static int write_output(const struct options *o, struct engine *e, struct output_file *file,
			struct diag *d)
{
	struct output_options settings = { .html = o->html, .top = o->top };
	struct report report;
	int err;

	err = engine__report(e, o->format->detail, o->format->labels, &report, d);
	if (err)
		return err;
	err = o->format->write(&report, &settings, file->stream);
	report__free(&report);
	if (err) {
		output__failed(file, -err, d);
		output__discard(file);
		return err;
	}
	return output__commit(file, d);
}

static int write_summary(const struct options *o, const struct report *r, bool written,
			 struct diag *d)
{
	/* Not into the profile. */
	bool apart = o->file && !strcmp(o->file, "-");
	FILE *to = apart ? stderr : stdout;
	struct output_options settings = { .top = o->top };
	int fd = fileno(to), err;

	if (isatty(fd)) {
		settings.color = !getenv("NO_COLOR");
		settings.width = terminal_width(fd);
	}
	err = output_summary.write(r, &settings, to);
	if (!err && written && !apart)
		fprintf(to, "%s written to %s\n", o->format->name, o->file);
	if (fflush(to) && !err)
		err = -errno;
	if (err)
		diag__set(d, DIAG_OUTPUT, -err, "cannot write the tables to %s: %s",
			  apart ? "standard error" : "standard output", strerror(-err));
	return err;
}

/* The parts of a recording, to be cleaned up together. */
struct recording {
	struct options options;
	struct settings settings;
	struct spawn spawn;
	struct signals signals;
	struct output_file file;
	struct engine *engine;
	int epoll_fd;		/* signals, engine */
	bool live;		/* show the live line */
	int interrupts;		/* that were seen */
};

/* Whether they end the recording. */
static bool on_interrupt(struct recording *r)
{
	struct signalfd_siginfo info;
	bool end = false;

	while (signals__next(r->signals.interrupt_fd, &info)) {
		engine__set_ended(r->engine, info.ssi_signo == SIGINT ? "Ctrl-C" : "terminated");
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

static int wait_for(int epoll_fd, int fd, struct diag *d)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return diag__set(d, DIAG_INTERNAL, errno, "cannot wait: %s", strerror(errno));
	return 0;
}

/* Record until the duration, a signal or the end of the processes. */
static int record(struct recording *r, struct diag *d)
{
	uint64_t next_progress = 0;
	bool end = false;
	int done = 0;

	while (!end && !done) {
		struct epoll_event events[4];
		uint64_t now;

		/* Rounded up: what is too early would be called again at once. */
		epoll_wait(r->epoll_fd, events, 4, (int)((engine__wait(r->engine) + MS - 1) / MS));
		end = on_interrupt(r);
		done = engine__step(r->engine, d);
		now = deadline__now();
		if (r->live && now >= next_progress) {
			show_progress(r->engine);
			next_progress = now + PROGRESS_INTERVAL;
		}
	}
	if (done >= 0)
		done = engine__finish(r->engine, d);
	if (r->live)
		fprintf(stderr, "\r\033[K");
	/* A command that cannot be profiled is of no use to who wants a profile. */
	if (done < 0 && r->options.command && !spawn__ended(&r->spawn, false))
		kill(r->spawn.pid, SIGTERM);
	return done;
}

/* All that can fail before the recording. */
static int prepare(struct recording *r, struct diag *d)
{
	const struct options *o = &r->options;
	int err;

	if (o->file && (err = output__check(o->file, d)))
		return err;
	if ((err = signals__open(&r->signals, d)))
		return err;
	if (o->command && (err = spawn__prepare(&r->spawn, o->command, o->keep_root, d)))
		return err;
	options__settings(o, o->command ? &r->spawn.pid : &o->pid, &r->settings);
	r->settings.interrupt_fd = r->signals.interrupt_fd;
	/* The search may take long: a signal ends extprof meanwhile, as it ends any program. */
	if ((err = engine__create(&r->engine, &r->settings, d)))
		return err;
	signals__block(&r->signals);
	/* Not sooner: a signal during the search would leave half a file. */
	if (o->file && (err = output__open(&r->file, o->file, d)))
		return err;
	if ((err = engine__open(r->engine, d)))
		return err;
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll_fd < 0)
		return diag__set(d, DIAG_INTERNAL, errno, "cannot wait: %s", strerror(errno));
	if ((err = wait_for(r->epoll_fd, r->signals.interrupt_fd, d)) ||
	    (err = wait_for(r->epoll_fd, engine__fd(r->engine), d)))
		return err;
	if (o->command && (err = spawn__go(&r->spawn, o->command, d)))
		return err;
	return engine__begin(r->engine, d);
}

/* Write what was recorded.  Returns the exit status. */
static int show(struct recording *r, struct diag *d)
{
	const struct options *o = &r->options;
	struct report report = { 0 };
	int status = STATUS_OK;
	bool empty;

	if (engine__report(r->engine, output_summary.detail, 0, &report, d))
		return message__fail(d);
	if (!report.meta.accounting.taken)
		status = explain_nothing(o, &report, d);
	empty = report.meta.accounting.taken && !report.samples;
	if (empty) {
		status = explain_losses(&report, d);
	} else if (o->file && write_output(o, r->engine, &r->file, d)) {
		status = message__fail(d);
		goto cleanup;
	}
	if (!o->quiet && write_summary(o, &report, o->file && !empty, d))
		status = message__fail(d);
	if (!accounting__balanced(&report.meta.accounting) && status == STATUS_OK) {
		fprintf(stderr, "extprof: the sums of samples do not agree; please report this\n");
		status = STATUS_INTERNAL;
	}
	if (o->command) {
		/* What was started by us is ours to wait for. */
		spawn__wait(&r->spawn, r->signals.interrupt_fd);
		if (status == STATUS_OK)
			status = spawn__exit_status(&r->spawn);
	}
cleanup:
	report__free(&report);
	return status;
}

static int run(int argc, char **argv)
{
	struct recording r = { .signals.interrupt_fd = -1, .epoll_fd = -1 };
	struct diag d = { 0 };
	int status;

	spawn__init(&r.spawn);
	if (options__parse(&r.options, argc, argv, false))
		return STATUS_USAGE;
	r.live = !r.options.quiet && isatty(STDERR_FILENO);
	if (prepare(&r, &d) || record(&r, &d))
		status = message__fail(&d);
	else
		status = show(&r, &d);
	output__discard(&r.file);
	engine__destroy(r.engine);
	spawn__close(&r.spawn);
	signals__close(&r.signals);
	if (r.epoll_fd >= 0)
		close(r.epoll_fd);
	return status;
}

const struct command command_record = { .name = "record", .run = run };
