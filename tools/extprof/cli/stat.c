/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof stat */
#include "cli/stat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/clock.h"
#include "cli/command.h"
#include "cli/messages.h"
#include "cli/output_file.h"
#include "cli/recorded.h"
#include "cli/run.h"
#include "cli/wrap.h"

#define SECOND 1000000000ull
/* The columns of the intervals are named again after so many lines. */
#define LINES_PER_HEAD 20u

struct measuring {
	struct run run;
	struct stat_options options;
	struct output_file file;	/* without a stream: another stream is written to */
	FILE *to;
	unsigned int lines;
	uint64_t taken;			/* intervals */
};

/* -- output ------------------------------------------------------------------------------------ */

/* Show at once what was written. */
static int flush(struct measuring *s, struct extprof_error *e)
{
	if (s->file.stream)
		return output_file__publish(&s->file, e);
	if (!fflush(s->to) && !ferror(s->to))
		return 0;
	return message__set(e, EXTPROF_OUTPUT, errno, "cannot write to standard %s: %s", s->to == stdout ? "output" : "error",
			    strerror(errno));
}

static int out_of_memory(struct extprof_error *e)
{
	return message__set(e, EXTPROF_INTERNAL, ENOMEM, "out of memory");
}

/* The columns of the terminal; 0: it is none. */
static unsigned int width_of(const struct measuring *s)
{
	return s->file.stream ? 0 : recorded__width_of(fileno(s->to));
}

static int show_interval(struct measuring *s, const struct extprof_figures *f, struct extprof_error *e)
{
	if (s->options.json) {
		if (stat_json__write_interval(f, s->to))
			return out_of_memory(e);
	} else {
		if (!(s->lines++ % LINES_PER_HEAD))
			stat_text__write_head(width_of(s), s->to);
		stat_text__write_interval(f, width_of(s), s->to);
	}
	return flush(s, e);
}

static uint64_t own_cpu_time(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * SECOND +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static int write_total(struct measuring *s, const struct stat_result *result, struct extprof_error *e)
{
	char *text = NULL;
	size_t size;
	FILE *whole = open_memstream(&text, &size);
	int err = 0;

	if (!whole)
		return out_of_memory(e);
	stat_text__write_total(result, &s->options, whole);
	if (fclose(whole))
		err = out_of_memory(e);
	else
		wrap__write(text, width_of(s), s->to);
	free(text);
	return err;
}

static int show_total(struct measuring *s, struct extprof_report *report, struct extprof_error *e)
{
	struct stat_result result = { .report = report, .own_cpu = own_cpu_time(), .ended = s->run.why };
	int err = extprof_recording_figures(s->run.recording, &result.figures, e);

	result.reader = extprof_recording_reader(s->run.recording, NULL);
	if (!result.ended)
		result.ended = extprof_report_facts(report)->ended;
	/* With a count the last one is over. */
	if (!err && s->options.interval && (!s->options.count || s->taken < s->options.count))
		err = show_interval(s, result.figures->interval, e);
	if (!err && s->options.json && stat_json__write_total(&result, s->to))
		err = out_of_memory(e);
	if (!err && !s->options.json)
		err = write_total(s, &result, e);
	if (!err)
		err = flush(s, e);
	return err;
}

static int show_result(struct measuring *s, struct extprof_error *e)
{
	struct extprof_report *report;
	int err = extprof_recording_report(s->run.recording, &report, e);

	if (err)
		return err;
	err = show_total(s, report, e);
	extprof_report_destroy(report);
	return err;
}

/* -- the run ------------------------------------------------------------------------------------- */

/* The interval is over. */
static int next_interval(struct run *run, struct extprof_error *e)
{
	const struct extprof_figures_result *figures;
	struct measuring *s = run->context;
	int err = extprof_recording_figures(run->recording, &figures, e);

	if (err)
		return err;
	/* After a late interval the next one is shorter, unless the delay was longer than an interval. */
	run->next += s->options.interval;
	if (run->next < clock__now())
		run->next = clock__now() + s->options.interval;
	run->end |= ++s->taken == s->options.count;
	return show_interval(s, figures->interval, e);
}

/* Intervals begin with the first ruby. */
static int begin_intervals(struct run *run, struct extprof_error *e)
{
	struct extprof_progress p = { .size = sizeof(p) };
	const struct measuring *s = run->context;

	(void)e;
	if (s->options.interval && !run->next && !extprof_recording_progress(run->recording, &p) && !p.waiting)
		run->next = clock__now() - p.elapsed + s->options.interval;
	return 0;
}

static int open_output(struct run *run, struct extprof_error *e)
{
	struct measuring *s = run->context;
	int err;

	s->to = run->options->command ? stderr : stdout;
	if (!s->options.file)
		return 0;
	err = output_file__open(&s->file, s->options.file, run->owner, e);
	s->to = s->file.stream;
	return err;
}

static const struct run_ops ops = { .prepare = open_output, .stepped = begin_intervals, .tick = next_interval };

static int run(int argc, char **argv, bool implied)
{
	struct measuring s = { .taken = 0 };
	struct extprof_error e = { .size = sizeof(e) };
	int status = STATUS_OK, err;
	char hint[128];

	(void)implied;
	err = stat_options__parse(&s.options, argc, argv, 0);
	run__init(&s.run, &s.options.common, &ops, &s);
	if (err) {
		run__free(&s.run);
		return err == -ENOMEM ? STATUS_INTERNAL : STATUS_USAGE;
	}
	err = run__begin(&s.run, &e);
	if (!err)
		err = run__go(&s.run, &e);
	if (!err)
		err = show_result(&s, &e);
	if (!err && run__hint_at_children(&s.run, hint, sizeof(hint)))
		fprintf(stderr, "extprof: %s\n", hint);
	if (err)
		status = message__fail(&e);
	if (err > 0)
		status = STATUS_NOTHING;
	if (!err)
		status = run__command_status(&s.run, status);
	output_file__discard(&s.file);
	run__free(&s.run);
	return status;
}

const struct command command_stat = {
	.name = "stat",
	.summary = "measure how programs do: CPU, GVL, garbage collection, allocations",
	.line = &command_line_stat,
	.run = run,
	.power = POWER_RUN,
};
