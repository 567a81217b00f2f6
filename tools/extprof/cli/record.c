/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof record */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/options.h"
#include "engine/engine.h"

static void show_progress(void *context, const struct progress *p)
{
	(void)context;
	if (p->waiting)
		fprintf(stderr, "\rextprof: waiting for the ruby to start\033[K");
	else
		fprintf(stderr, "\rextprof: %.1f s, %" PRIu64 " samples, %" PRIu64 " lost\033[K",
			p->elapsed, p->samples, p->lost);
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
		diag__set(d, STATUS_INTERNAL, 0,
			  "no sample was taken although process %d used %.2f s of CPU time",
			  m->pid, (double)m->cpu_time / 1e9);
		diag__hint(d, o->timer == TIMER_TICK ?
			   "it never ran when the scheduler's tick came, or the kernel's tick is not what "
			   "extprof takes it for: sample with --timer=clock" :
			   "the timers of this machine do not reach it: a virtual machine "
			   "without cpu-clock events, or a pid namespace that is not its own");
		return command__fail(d);
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
	diag__set(d, STATUS_INTERNAL, 0,
		  "all %" PRIu64 " samples of process %d were lost, %" PRIu64 " of them because: %s (%s)",
		  a->taken, r->meta.pid, a->lost[most], loss__text(most), loss__key(most));
	diag__hint(d, "there is no profile; extprof(1) explains the reasons of loss");
	return command__fail(d);
}

static int write_output(const struct options *o, struct engine *r, struct output_file *file,
			struct diag *d)
{
	struct output_options settings = { .html = o->html, .top = o->top };
	struct report report;
	int err;

	err = engine__report(r, o->format->detail, &report, d);
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
		diag__set(d, STATUS_OUTPUT, -err, "cannot write the tables to %s: %s",
			  apart ? "standard error" : "standard output", strerror(-err));
	return err;
}

static int run(int argc, char **argv)
{
	struct output_file file = { 0 };
	struct report report = { 0 };
	static struct engine r;	/* large */
	struct diag d = { 0 };
	int status = STATUS_OK;
	struct options o;
	bool live, empty;

	if (options__parse(&o, argc, argv, false))
		return STATUS_USAGE;
	/* Before anything is recorded. */
	if (o.file && output__check(o.file, &d))
		return command__fail(&d);
	if (engine__find(&r, &o, &d))
		return command__fail(&d);
	/* Not sooner: a signal during the search would leave half a file. */
	if (o.file && output__open(&file, o.file, &d)) {
		engine__close(&r);
		return command__fail(&d);
	}
	if (engine__open(&r, &d)) {
		output__discard(&file);
		return command__fail(&d);
	}
	live = !o.quiet && isatty(STDERR_FILENO);
	if (live)
		r.on_progress = show_progress;
	if (engine__run(&r, &d)) {
		if (live)
			fprintf(stderr, "\r\033[K");
		status = command__fail(&d);
		goto cleanup;
	}
	if (live)
		fprintf(stderr, "\r\033[K");
	if (engine__report(&r, output_summary.detail, &report, &d)) {
		status = command__fail(&d);
		goto cleanup;
	}
	if (!report.meta.accounting.taken)
		status = explain_nothing(&o, &report, &d);
	empty = report.meta.accounting.taken && !report.samples;
	if (empty)
		status = explain_losses(&report, &d);
	else if (o.file && write_output(&o, &r, &file, &d)) {
		status = command__fail(&d);
		goto cleanup;
	}
	if (!o.quiet && write_summary(&o, &report, o.file && !empty, &d))
		status = command__fail(&d);
	if (!accounting__balanced(&report.meta.accounting) && status == STATUS_OK) {
		fprintf(stderr, "extprof: the sums of samples do not agree; please report this\n");
		status = STATUS_INTERNAL;
	}
	if (o.command) {
		/* What was started by us is ours to wait for. */
		engine__wait(&r);
		if (status == STATUS_OK)
			status = spawn__exit_status(&r.spawn);
	}
cleanup:
	output__discard(&file);
	report__free(&report);
	engine__close(&r);
	return status;
}

const struct command command_record = { .name = "record", .run = run };
