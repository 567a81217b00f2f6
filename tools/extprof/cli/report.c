/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof report: recordings as a profile. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/confined.h"
#include "cli/environment.h"
#include "cli/messages.h"
#include "cli/recorded.h"
#include "cli/recorded_files.h"
#include "cli/words.h"

struct writing {
	struct recorded_files files;
	struct extprof_recorded_options options;
	const char *format;
	bool requests;		/* a table of them, or of their times */
	const char *trend;	/* of this method; NULL: a profile */
	char told[640];		/* of lines of native code */
};

/* The format, if it was not named: by the suffix of the output. */
static const char *choose_format(const struct options *o, const char *output)
{
	if (o->values[OPTION_REPORT_FORMAT].given)
		return o->values[OPTION_REPORT_FORMAT].text;
	return output && strcmp(output, "-") ? extprof_format_of_file(output) : "summary";
}

/* The summary has a line of it itself. */
static int write_profile(struct writing *w, bool text, FILE *to, struct extprof_error *e)
{
	int err;

	w->told[0] = '\0';
	err = extprof_recorded_write(w->files.recorded, w->format, &w->options, to, e);
	if (!err && w->told[0] && !text)
		fprintf(stderr, "extprof: lines of native functions: %s\n", w->told);
	return err;
}

static int write_to(void *context, FILE *to, struct extprof_error *e)
{
	struct writing *w = context;
	bool text = !strcmp(w->format, "summary");

	if (w->trend)
		return extprof_recorded_trend(w->files.recorded, w->trend, text ? "text" : w->format, &w->options, to, e);
	if (w->requests) {
		int err = extprof_recorded_requests(w->files.recorded, text ? "text" : w->format, &w->options, to, e);

		if (err || !text)
			return err;
		fputs("\n", to);
	}
	return write_profile(w, text, to, e);
}

static bool is_table(const char *format)
{
	return !strcmp(format, "summary") || !strcmp(format, "table") || !strcmp(format, "json");
}

static void set_options(struct writing *w, const struct options *o, const char *output)
{
	bool shown = !output || !strcmp(output, "-");
	/* In a table they are its rows: what a stack is in stays. */
	bool table = is_table(w->format);
	unsigned int methods = (unsigned int)options__number(o, OPTION_TOP, 0);

	w->options = (struct extprof_recorded_options){
		.size = sizeof(w->options), .modes = o->values[OPTION_MODES].text,
		.since_at = w->files.span.since, .until_at = w->files.span.until, .filters = o->filters,
		.filter_count = o->filter_count, .groups = o->recording.groups, .unit = o->values[OPTION_UNIT].text,
		.html = recorded__is_html(output), .color = shown && !strcmp(w->format, "summary") && environment__has_color(),
		.top = (unsigned int)options__number(o, OPTION_ROWS, table && methods ? methods : EXTPROF_TOP_DEFAULT), .width = shown ? recorded__width() : 0,
		.app = o->recording.app, .focus = o->recording.focus, .hide = o->recording.hide,
		.collapse = o->recording.collapse, .slower_than = options__number(o, OPTION_SLOWER_THAN, 0),
		.slowest = (unsigned int)options__number(o, OPTION_SLOWEST, 0),
		.request_label = o->values[OPTION_REQUEST_LABEL].text, .requests_by = o->values[OPTION_REQUESTS_BY].text, .metric = o->values[OPTION_METRIC].text,
		.callers_of = o->values[OPTION_CALLERS_OF].text, .callees_of = o->values[OPTION_CALLEES_OF].text,
		.methods = table ? 0 : methods, .invert = options__has(o, OPTION_INVERT),
		.idle = options__has(o, OPTION_IDLE), .sources = options__has(o, OPTION_SOURCES), .gzip = recorded__is_gzip(output),
		.native_lines = options__has(o, OPTION_NATIVE_LINES), .inlined = options__has(o, OPTION_INLINE),
		.lines_told = w->told, .lines_told_size = sizeof(w->told),
	};
}

static int prepare(void *context, const struct options *o, const char *output)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct writing *w = context;
	char known[512];

	w->format = choose_format(o, output);
	if (!w->format) {
		words__formats(true, true, known, sizeof(known));
		message__set(&e, EXTPROF_USAGE, EINVAL, "%s: no format has this suffix; known are %s, or say it with --format", output,
			     known);
		return message__fail(&e);
	}
	if (!strcmp(w->format, "heatmap") && (!output || !strcmp(output, "-")) && isatty(STDOUT_FILENO)) {
		message__set(&e, EXTPROF_USAGE, EINVAL, "a page is for a browser: say the file with --output, as a.html");
		return message__fail(&e);
	}
	if (recorded__check_output(output, (const char *const *)w->files.paths, w->files.count))
		return STATUS_USAGE;
	set_options(w, o, output);
	w->trend = o->values[OPTION_TREND].text;
	/* Those that are chosen are shown, too. */
	w->requests = options__has(o, OPTION_REQUESTS) || w->options.requests_by ||
		      (!strcmp(w->format, "summary") && !w->trend && (w->options.slowest || w->options.slower_than));
	if ((w->trend || w->requests) && !is_table(w->format)) {
		message__set(&e, EXTPROF_USAGE, EINVAL, "%s is no format of %s: text, table or json", w->format,
			     w->trend ? "a trend" : "requests");
		return message__fail(&e);
	}
	if (w->trend && w->requests) {
		message__set(&e, EXTPROF_USAGE, EINVAL, "--trend and --requests: choose one of them");
		return message__fail(&e);
	}
	return STATUS_OK;
}

static int run_line(const struct command_line *line, int argc, char **argv)
{
	struct writing w = { .format = NULL };
	struct options o;
	int status = STATUS_OK, err;

	err = options__parse(&o, line, argc, argv, 0);
	if (err)
		status = err == -ENOMEM ? STATUS_INTERNAL : STATUS_USAGE;
	if (!status)
		status = confined__by_options(&o, options__has(&o, OPTION_NATIVE_LINES) || options__has(&o, OPTION_INLINE));
	if (!status)
		status = recorded_files__open(&w.files, &o, o.files, o.file_count);
	if (!status)
		status = recorded_files__status(&w.files, recorded__write_each(&o, prepare, write_to, &w));
	recorded_files__close(&w.files);
	options__free(&o);
	return message__flush(status);
}

static int run(int argc, char **argv, bool implied)
{
	(void)implied;
	return run_line(&command_line_report, argc, argv);
}

/* The page of the format of that name. */
static int run_heatmap(int argc, char **argv, bool implied)
{
	static char format[] = "--format=heatmap";
	char **arguments = calloc((size_t)argc + 2, sizeof(*arguments));
	int status;

	(void)implied;
	if (!arguments) {
		fprintf(stderr, "extprof: out of memory\n");
		return STATUS_INTERNAL;
	}
	arguments[0] = argv[0];
	arguments[1] = format;
	memcpy(arguments + 2, argv + 1, (size_t)argc * sizeof(*argv));
	status = run_line(&command_line_heatmap, argc + 1, arguments);
	free(arguments);
	return status;
}

const struct command command_report = {
	.name = "report",
	.summary = "show a recording, or write a profile of it",
	.line = &command_line_report,
	.run = run,
	.power = POWER_FILES,
};

const struct command command_heatmap = {
	.name = "heatmap",
	.summary = "write a page that shows when it was: a heat map",
	.line = &command_line_heatmap,
	.run = run_heatmap,
	.power = POWER_FILES,
};
