/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/result.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/messages.h"

static unsigned int terminal_width(int fd)
{
	struct winsize w;

	return ioctl(fd, TIOCGWINSZ, &w) ? 0 : w.ws_col;
}

static void name_processes(const struct report *r, char *to, size_t size)
{
	uint32_t count = r->processes ? processes__followed(r->processes) : 0;

	if (count > 1)
		snprintf(to, size, "%u processes", count);
	else
		snprintf(to, size, "process %d", r->meta.pid);
}

/* No sample: is that possible? */
static int explain_nothing(const struct options *o, const struct report *r, struct diag *d)
{
	const struct report_meta *m = &r->meta;
	uint64_t allowed = 100000000 + 20 * m->period, children = 0;
	char who[48];

	name_processes(r, who, sizeof(who));
	/* They were not looked for. */
	if (m->not_added) {
		diag__set(d, DIAG_NO_INTERFACE, 0, "no samples: %.600s", m->why_not_added);
		return message__fail(d);
	}
	/* Events need not come; time that is used is sampled. */
	if (!m->period) {
		fprintf(stderr, "extprof: no samples: nothing of mode %s happened in %s in these %.1f s\n",
			m->mode->name, who, m->duration);
		return STATUS_OK;
	}
	if (m->cpu_time > allowed) {
		diag__set(d, DIAG_INTERNAL, 0,
			  "no sample was taken although %s used %.2f s of CPU time",
			  who, (double)m->cpu_time / 1e9);
		if (o->settings.timer == TIMER_TICK) {
			diag__hint(d, "the process never ran when the scheduler's tick came, or the "
				   "kernel's tick is not what extprof takes it for; try again");
			diag__advise(d, ADVICE_CLOCK, 0);
		} else {
			diag__hint(d, "the timers of this machine do not reach the process: a virtual "
				   "machine without cpu-clock events, or a pid namespace that is not its own");
		}
		return message__fail(d);
	}
	fprintf(stderr, "extprof: no samples: %s used no CPU time in these %.1f s "
		"(an on-CPU profile shows nothing of a process that waits)\n",
		who, m->duration);
	for (uint32_t i = 0; r->processes && i < r->processes->count; i++)
		if (r->processes->rows[i].watched)
			children += r->processes->rows[i].cpu_time_unfollowed;
	if (children)
		fprintf(stderr, "extprof: its children used %.2f s of CPU time: --subprocesses profiles them too\n",
			(double)children / 1e9);
	return STATUS_OK;
}

/* Samples, and none that shows anything. */
static int explain_losses(const struct report *r, struct diag *d)
{
	const struct accounting *a = &r->meta.accounting;
	unsigned int most = 0;
	char who[48];

	name_processes(r, who, sizeof(who));
	for (unsigned int i = 0; i < LOSS_MAX; i++)
		if (a->lost[i] > a->lost[most])
			most = i;
	diag__set(d, DIAG_INTERNAL, 0,
		  "all %" PRIu64 " samples of %s were lost, %" PRIu64 " of them because: %s (%s)",
		  a->taken, who, a->lost[most], loss__text(most), loss__key(most));
	diag__hint(d, "there is no profile; extprof(1) explains the reasons of loss");
	return message__fail(d);
}

static int write_output(const struct options *o, struct engine *e, struct output_file *file,
			struct diag *d)
{
	struct output_options settings = { .html = o->html, .top = o->top };
	struct report_request request = {
		.detail = o->format->detail, .labels = o->format->labels,
		.by_value = o->format->by_value, .unit = o->unit,
	};
	struct reports reports;
	int err;

	err = engine__reports(e, &request, &reports, d);
	if (err)
		return err;
	err = o->format->write(reports.list, reports.count, &settings, file->stream);
	reports__free(&reports);
	if (err) {
		output__failed(file, -err, d);
		output__discard(file);
		return err;
	}
	return output__commit(file, d);
}

static int write_summary(const struct options *o, const struct reports *r, bool written,
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
	err = output_summary.write(r->list, r->count, &settings, to);
	if (!err && written && !apart)
		fprintf(to, "%s written to %s\n", o->format->name, o->file);
	if (fflush(to) && !err)
		err = -errno;
	if (err)
		diag__set(d, DIAG_OUTPUT, -err, "cannot write the tables to %s: %s",
			  apart ? "standard error" : "standard output", strerror(-err));
	return err;
}

/* The tables are of these. */
static int make_reports(const struct options *o, struct engine *e, struct reports *reports, struct diag *d)
{
	struct report_request request = { .detail = output_summary.detail, .unit = o->unit };

	return engine__reports(e, &request, reports, d);
}

/* Is there a sample of any mode?  `taken`: also one that was lost. */
static bool has_samples(const struct reports *reports, bool taken)
{
	for (uint32_t i = 0; i < reports->count; i++)
		if (taken ? reports->list[i].meta.accounting.taken : reports->list[i].samples)
			return true;
	return false;
}

/* In a mode that takes a part of the samples, there can be none that were lost. */
static bool has_losses(const struct reports *reports)
{
	for (uint32_t i = 0; i < reports->count; i++)
		if (accounting__lost(&reports->list[i].meta.accounting))
			return true;
	return false;
}

static bool is_balanced(const struct reports *reports)
{
	for (uint32_t i = 0; i < reports->count; i++)
		if (!accounting__balanced(&reports->list[i].meta.accounting))
			return false;
	return true;
}

int result__show(const struct options *o, struct engine *e, struct output_file *file,
		 struct diag *d)
{
	struct reports reports;
	int status = STATUS_OK;
	bool all_lost;

	if (make_reports(o, e, &reports, d))
		return message__fail(d);
	if (!has_samples(&reports, true))
		status = explain_nothing(o, &reports.list[0], d);
	all_lost = has_samples(&reports, true) && !has_samples(&reports, false) && has_losses(&reports);
	if (all_lost) {
		status = explain_losses(&reports.list[0], d);
	} else if (o->file && write_output(o, e, file, d)) {
		status = message__fail(d);
		goto cleanup;
	}
	if (!o->quiet && write_summary(o, &reports, o->file && !all_lost, d))
		status = message__fail(d);
	if (!is_balanced(&reports) && status == STATUS_OK) {
		fprintf(stderr, "extprof: the sums of samples do not agree; please report this\n");
		status = STATUS_INTERNAL;
	}
cleanup:
	reports__free(&reports);
	return status;
}

int result__write_so_far(const struct options *o, struct engine *e, const struct output_file *last,
			 const struct output_owner *owner, struct diag *d)
{
	struct output_file file = { 0 };
	struct reports reports;
	int err;

	err = engine__snapshot(e, d);
	if (err)
		return err;
	if (!o->file) {
		err = make_reports(o, e, &reports, d);
		if (err)
			return err;
		err = write_summary(o, &reports, false, d);
		reports__free(&reports);
		return err;
	}
	/* What reads a pipe would take both profiles for one. */
	if (!last->temporary)
		return diag__set(d, DIAG_OUTPUT, ESPIPE, "the profile so far is not written: %s is "
				 "no file that can be replaced", last->name);
	err = output__open(&file, o->file, owner, d);
	if (err)
		return err;
	err = write_output(o, e, &file, d);
	output__discard(&file);
	return err;
}
