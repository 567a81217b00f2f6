/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof stat */
#include "cli/stat.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/command.h"
#include "cli/messages.h"
#include "cli/output_file.h"
#include "cli/reader_notice.h"
#include "cli/signals.h"
#include "cli/spawn.h"
#include "cli/sudo.h"

#define MS 1000000ull
#define SECOND 1000000000ull
/* The columns of the intervals are named again after so many lines. */
#define LINES_PER_HEAD 20u

/* The parts of a run, to be cleaned up together. */
struct run {
	struct stat_options options;
	struct spawn spawn;
	struct signals signals;
	struct extprof_recording *recording;
	struct sudo sudo;
	struct output_file file;	/* without a stream: another stream is written to */
	int epoll_fd;		/* signals, recording */
	FILE *to;
	const char *name;	/* of what is written to */
	const char *ended;	/* why; NULL: by itself */
	int interrupts;		/* that were seen */
	uint64_t next;		/* the interval ends, CLOCK_MONOTONIC, ns; 0: no ruby so far */
	unsigned int lines;
};

/* Whether they end the run. */
static bool on_interrupt(struct run *r)
{
	struct signalfd_siginfo info;
	bool end = false;

	while (signals__next(r->signals.interrupt_fd, &info)) {
		r->ended = info.ssi_signo == SIGINT ? "Ctrl-C" : "terminated";
		/* The terminal sends Ctrl-C to the command as well, which may want to end in an orderly way:
		 * measure that too.  The second one ends the run at once. */
		if (r->options.common.command && !r->interrupts) {
			spawn__forward(&r->spawn, &info);
			end |= info.ssi_signo != SIGINT;
		} else {
			end = true;
		}
		r->interrupts++;
	}
	return end;
}

/* -- output ------------------------------------------------------------------------------------ */

/* STATUS_OK, or what was written cannot be read. */
static int flush(struct run *r)
{
	struct extprof_error e = { .size = sizeof(e) };

	/* What is written is seen at once. */
	if (r->file.stream)
		return output_file__publish(&r->file, &e) ? message__fail(&e) : STATUS_OK;
	if (!fflush(r->to) && !ferror(r->to))
		return STATUS_OK;
	fprintf(stderr, "extprof: cannot write to %s: %s\n", r->name, strerror(errno));
	return STATUS_OUTPUT;
}

static int out_of_memory(void)
{
	fprintf(stderr, "extprof: out of memory\n");
	return STATUS_INTERNAL;
}

static int show_interval(struct run *r, const struct extprof_figures *f)
{
	if (r->options.json) {
		if (stat_json__write_interval(f, r->to))
			return out_of_memory();
	} else {
		if (!(r->lines++ % LINES_PER_HEAD))
			stat_text__write_head(r->to);
		stat_text__write_interval(f, r->to);
	}
	return flush(r);
}

static uint64_t own_cpu_time(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * SECOND +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static int show_total(struct run *r, struct extprof_report *report)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct stat_methods methods;
	struct stat_result result = { .methods = &methods, .own_cpu = own_cpu_time(), .ended = r->ended };
	int status = STATUS_OK;

	result.reader = extprof_recording_reader(r->recording, NULL);
	if (extprof_recording_figures(r->recording, &result.figures, &e))
		return message__fail(&e);
	if (!result.ended)
		result.ended = extprof_report_facts(report)->ended;
	if (r->options.interval)
		status = show_interval(r, result.figures->interval);
	if (status == STATUS_OK && stat_methods__count(&methods, report))
		status = out_of_memory();
	if (status == STATUS_OK && r->options.json && stat_json__write_total(&result, r->to))
		status = out_of_memory();
	if (status == STATUS_OK && !r->options.json)
		stat_text__write_total(&result, &r->options, r->to);
	if (status == STATUS_OK)
		status = flush(r);
	stat_methods__free(&methods);
	return status;
}

static int show_result(struct run *r)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct extprof_report *report;
	int status;

	if (extprof_recording_report(r->recording, &report, &e))
		return message__fail(&e);
	status = show_total(r, report);
	extprof_report_destroy(report);
	return status;
}

/* -- the run ------------------------------------------------------------------------------------- */

/* The interval is over. */
static int next_interval(struct run *r)
{
	const struct extprof_figures_result *figures;
	struct extprof_error e = { .size = sizeof(e) };

	if (extprof_recording_figures(r->recording, &figures, &e))
		return message__fail(&e);
	/* What was late makes the next interval shorter, unless it was later than that. */
	r->next += r->options.interval;
	if (r->next < clock__now())
		r->next = clock__now() + r->options.interval;
	return show_interval(r, figures->interval);
}

/* Intervals begin with the first ruby. */
static void begin_intervals(struct run *r)
{
	struct extprof_progress p = { .size = sizeof(p) };

	if (!extprof_recording_progress(r->recording, &p) && !p.waiting)
		r->next = clock__now() - p.elapsed + r->options.interval;
}

static int wait_ms(const struct run *r)
{
	uint64_t wait = extprof_recording_wait(r->recording), at = clock__now();

	if (r->next && r->next < at + wait)
		wait = r->next > at ? r->next - at : 0;
	/* Rounded up: what is too early would be called again at once. */
	wait = (wait + MS - 1) / MS;
	return wait < INT32_MAX ? (int)wait : INT32_MAX;
}

static int measure(struct run *r)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct epoll_event events[4];
	int done = 0, status = STATUS_OK;
	bool end = false;

	while (!end && !done && status == STATUS_OK) {
		epoll_wait(r->epoll_fd, events, 4, wait_ms(r));
		end = on_interrupt(r);
		done = extprof_recording_step(r->recording, &e);
		if (r->options.interval && !r->next)
			begin_intervals(r);
		if (!done && !end && r->next && clock__now() >= r->next)
			status = next_interval(r);
		/* With others the processes do not end with it. */
		if (!done && r->options.common.command && r->options.common.recording.all && spawn__is_over(&r->spawn)) {
			r->ended = "the command ended";
			end = true;
		}
	}
	if (done >= 0 && status == STATUS_OK)
		done = extprof_recording_finish(r->recording, &e);
	if (done < 0)
		status = message__fail(&e);
	/* A command that cannot be measured is of no use to who wants figures. */
	if (done < 0 && r->options.common.command && !spawn__ended(&r->spawn, false))
		kill(r->spawn.pid, SIGTERM);
	return status;
}

static int open_output(struct run *r)
{
	const struct stat_options *o = &r->options;
	struct extprof_error e = { .size = sizeof(e) };

	r->to = o->common.command ? stderr : stdout;
	r->name = o->common.command ? "standard error" : "standard output";
	if (!o->file)
		return STATUS_OK;
	if (sudo__find(&r->sudo, &e) ||
	    output_file__open(&r->file, o->file, r->sudo.found ? &r->sudo.user : NULL, &e))
		return message__fail(&e);
	r->to = r->file.stream;
	r->name = r->file.name;
	return STATUS_OK;
}

static int create(struct run *r)
{
	struct extprof_recording_options options = r->options.common.recording;
	struct extprof_error e = { .size = sizeof(e) };

	options.interrupt_fd = r->signals.interrupt_fd;
	if (r->options.common.command) {
		options.command = true;
		options.pids = &r->spawn.pid;
		options.pid_count = 1;
	}
	return extprof_recording_create(&r->recording, &options, &e) ? message__fail(&e) : STATUS_OK;
}

static int wait_for(const struct run *r, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* All that can fail before the recording. */
static int prepare(struct run *r)
{
	const struct stat_options *o = &r->options;
	struct extprof_error e = { .size = sizeof(e) };
	int status;

	if (signals__open(&r->signals, &e) ||
	    (o->common.command && spawn__prepare(&r->spawn, o->common.command, options__has(&o->common, OPTION_KEEP_ROOT), &r->signals.old_mask, &e)))
		return message__fail(&e);
	/* The search may take long: a signal ends extprof meanwhile, as it ends any program. */
	status = create(r);
	if (status != STATUS_OK)
		return status;
	signals__block(&r->signals);
	status = open_output(r);
	if (status != STATUS_OK)
		return status;
	if (extprof_recording_open(r->recording, &e))
		return message__fail(&e);
	reader_notice__print(r->recording);
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll_fd < 0 || wait_for(r, r->signals.interrupt_fd) || wait_for(r, extprof_recording_fd(r->recording))) {
		fprintf(stderr, "extprof: cannot wait: %s\n", strerror(errno));
		return STATUS_INTERNAL;
	}
	if (o->common.command && spawn__go(&r->spawn, o->common.command, &e))
		return message__fail(&e);
	return extprof_recording_begin(r->recording, &e) ? message__fail(&e) : STATUS_OK;
}

static int run(int argc, char **argv, bool implied)
{
	struct run r = { .epoll_fd = -1 };
	int status, err;

	(void)implied;
	signals__init(&r.signals);
	spawn__init(&r.spawn);
	err = stat_options__parse(&r.options, argc, argv, 0);
	if (err) {
		options__free(&r.options.common);
		return err == -ENOMEM ? STATUS_INTERNAL : STATUS_USAGE;
	}
	status = prepare(&r);
	if (status == STATUS_OK)
		status = measure(&r);
	if (status == STATUS_OK) {
		status = show_result(&r);
		/* What was started by us is ours to wait for. */
		if (r.options.common.command)
			spawn__wait(&r.spawn, r.signals.interrupt_fd);
		if (r.options.common.command && status == STATUS_OK)
			status = spawn__exit_status(&r.spawn);
	}
	extprof_recording_destroy(r.recording);
	spawn__close(&r.spawn);
	signals__close(&r.signals);
	if (r.epoll_fd >= 0)
		close(r.epoll_fd);
	output_file__discard(&r.file);
	sudo__free(&r.sudo);
	options__free(&r.options.common);
	return status;
}

const struct command command_stat = {
	.name = "stat",
	.summary = "measure how programs do: CPU, GVL, garbage collection, allocations",
	.line = &command_line_stat,
	.run = run,
};
