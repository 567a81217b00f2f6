/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof report, sql and verify: what is done with a recording in a file. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/environment.h"
#include "cli/messages.h"
#include "cli/recorded.h"
#include "cli/words.h"
#include "options/table.h"

#define FILTERS_MAX 16
#define DEFAULT_TOP 20

struct report_options {
	const char *file, *format, *output;
	struct extprof_recorded_options recorded;
	const char *filters[FILTERS_MAX];
	char *app, *focus, *hide, *collapse;	/* with commas between */
	bool requests;		/* a table of them */
};

/* -- report ------------------------------------------------------------------------------------ */

enum key {
	KEY_SINCE = 256, KEY_UNTIL, KEY_FILTER, KEY_GROUP_BY, KEY_UNIT, KEY_ROWS, KEY_APP, KEY_FOCUS, KEY_HIDE, KEY_COLLAPSE,
	KEY_REQUESTS, KEY_SLOWER_THAN, KEY_SLOWEST, KEY_REQUEST_LABEL
};

static const struct argp_option report_rows[] = {
	{ .name = "format", .key = 'f', .arg = "FORMAT", .doc = "What is written: summary, or a format of record; by default "
	  "by the suffix of --output" },
	{ .name = "output", .key = 'o', .arg = "FILE", .doc = "Write it there and not to standard output" },
	{ .name = "mode", .key = 'm', .arg = "MODE", .doc = "Only these modes, of those that were recorded" },
	{ .name = "group-by", .key = KEY_GROUP_BY, .arg = "KEYS", .doc = "The outermost frames, as of record" },
	{ .name = "unit", .key = KEY_UNIT, .arg = "UNIT", .doc = "Count in this unit" },
	{ .name = "since", .key = KEY_SINCE, .arg = "TIME", .doc = "Only samples from so long after the begin: 10, 500ms, 2m" },
	{ .name = "until", .key = KEY_UNTIL, .arg = "TIME", .doc = "Only samples up to then" },
	{ .name = "filter", .key = KEY_FILTER, .arg = "KEY=PATTERN", .doc = "Only samples that match: process, thread, method, "
	  "file, state or label:KEY, with *, ? and [...]; several have to match all" },
	{ .name = "app", .key = KEY_APP, .arg = "DIR", .doc = "Where the application is, as of record" },
	{ .name = "focus", .key = KEY_FOCUS, .arg = "CODE", .doc = "Only stacks through app, gem:NAME, a METHOD or a FILE, from "
	  "there on" },
	{ .name = "hide", .key = KEY_HIDE, .arg = "CODE", .doc = "Without frames of such code; what is in them is in their callers" },
	{ .name = "collapse", .key = KEY_COLLAPSE, .arg = "WHAT", .doc = "One frame for several: gems, recursion" },
	{ .name = "requests", .key = KEY_REQUESTS, .doc = "First a table of the requests: the times in which a fiber has one set "
	  "of labels" },
	{ .name = "slower-than", .key = KEY_SLOWER_THAN, .arg = "TIME", .doc = "Only samples of requests that were seen for so "
	  "long: 500ms" },
	{ .name = "slowest", .key = KEY_SLOWEST, .arg = "N", .doc = "Only samples of the N longest requests" },
	{ .name = "request-label", .key = KEY_REQUEST_LABEL, .arg = "KEY", .doc = "This label alone makes a request, whatever "
	  "others change in it" },
	{ .name = "rows", .key = KEY_ROWS, .arg = "N", .doc = "Rows of each table of the summary, 20" },
	{ 0 }
};

static error_t parse_report(int key, char *arg, struct argp_state *state)
{
	struct report_options *o = state->input;
	uint64_t number = 0;
	char why[256];

	switch (key) {
	case 'f': o->format = arg; return 0;
	case 'o': o->output = arg; return 0;
	case 'm': o->recorded.modes = arg; return 0;
	case KEY_GROUP_BY: o->recorded.groups = arg; return 0;
	case KEY_UNIT: o->recorded.unit = arg; return 0;
	case KEY_SINCE:
	case KEY_UNTIL:
		if (option__parse(&option_rows[OPTION_DURATION], arg, &number, why, sizeof(why)))
			argp_error(state, "--%s: %s", key == KEY_SINCE ? "since" : "until", why);
		*(key == KEY_SINCE ? &o->recorded.since : &o->recorded.until) = number;
		return 0;
	case KEY_FILTER:
		if (o->recorded.filter_count == FILTERS_MAX)
			argp_error(state, "there are more than %d filters", FILTERS_MAX);
		o->filters[o->recorded.filter_count++] = arg;
		return 0;
	case KEY_APP: return words__add(&o->app, arg) ? ENOMEM : 0;
	case KEY_FOCUS: return words__add(&o->focus, arg) ? ENOMEM : 0;
	case KEY_HIDE: return words__add(&o->hide, arg) ? ENOMEM : 0;
	case KEY_COLLAPSE: return words__add(&o->collapse, arg) ? ENOMEM : 0;
	case KEY_REQUESTS: o->requests = true; return 0;
	case KEY_REQUEST_LABEL: o->recorded.request_label = arg; return 0;
	case KEY_SLOWER_THAN:
		if (option__parse(&option_rows[OPTION_DURATION], arg, &o->recorded.slower_than, why, sizeof(why)))
			argp_error(state, "--slower-than: %s", why);
		return 0;
	case KEY_SLOWEST:
		if (option__parse(&option_rows[OPTION_ROWS], arg, &number, why, sizeof(why)))
			argp_error(state, "--slowest: %s", why);
		o->recorded.slowest = (unsigned int)number;
		return 0;
	case KEY_ROWS:
		if (option__parse(&option_rows[OPTION_ROWS], arg, &number, why, sizeof(why)))
			argp_error(state, "%s", why);
		o->recorded.top = (unsigned int)number;
		return 0;
	case ARGP_KEY_ARG:
		if (o->file)
			argp_error(state, "it takes one recording");
		o->file = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->file)
			argp_error(state, "which recording? Name its file");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The format, if it was not named: by the suffix of the output. */
static const char *choose_format(const struct report_options *o)
{
	if (o->format)
		return o->format;
	return o->output && strcmp(o->output, "-") ? extprof_format_of_file(o->output) : "summary";
}

struct writing {
	struct extprof_recorded *recorded;
	struct report_options *o;
	const char *format;
};

static int write_to(void *context, FILE *to, struct extprof_error *e)
{
	struct writing *w = context;
	bool text = !strcmp(w->format, "summary");

	if (w->o->requests) {
		int err = extprof_recorded_requests(w->recorded, text ? "text" : w->format, &w->o->recorded, to, e);

		if (err || !text)
			return err;
		fputs("\n", to);
	}
	return extprof_recorded_write(w->recorded, w->format, &w->o->recorded, to, e);
}

static int write_report(struct extprof_recorded *r, struct report_options *o, struct extprof_error *e)
{
	struct writing w = { .recorded = r, .o = o, .format = choose_format(o) };

	if (!w.format)
		return message__set(e, EXTPROF_USAGE, EINVAL, "no format has the suffix of %s: say which with --format",
				    o->output);
	o->recorded.size = sizeof(o->recorded);
	o->recorded.filters = o->filters;
	o->recorded.html = recorded__is_html(o->output);
	o->recorded.app = o->app;
	o->recorded.focus = o->focus;
	o->recorded.hide = o->hide;
	o->recorded.collapse = o->collapse;
	if (!o->output || !strcmp(o->output, "-")) {
		o->recorded.color = !strcmp(w.format, "summary") && environment__has_color();
		o->recorded.width = recorded__width();
	}
	return recorded__write(o->output, write_to, &w, e);
}

static int report(int argc, char **argv, bool implied)
{
	static const struct argp argp = {
		.options = report_rows, .parser = parse_report, .args_doc = "RECORDING",
		.doc = "Show a recording that extprof record -o FILE.extprof has made, as the live profile was shown.\v"
		       "It needs neither the process nor its files. Examples:\n"
		       "  extprof report a.extprof\n"
		       "  extprof report a.extprof -o a.svg --since 10 --until 20\n"
		       "  extprof report a.extprof -f folded --filter 'method=PostsController#*'\n"
		       "  extprof report a.extprof --requests --slowest 20\n",
	};
	struct report_options o = { 0 };
	struct extprof_error e = { .size = sizeof(e) };
	struct extprof_recorded *r;
	int status;

	(void)implied;
	argp_err_exit_status = STATUS_USAGE;
	o.recorded.top = DEFAULT_TOP;
	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return STATUS_USAGE;
	status = recorded__open(&r, o.file);
	if (status)
		return status;
	if (write_report(r, &o, &e))
		status = message__fail(&e);
	extprof_recorded_close(r);
	free(o.app);
	free(o.focus);
	free(o.hide);
	free(o.collapse);
	return recorded__flush(status);
}

/* -- sql --------------------------------------------------------------------------------------- */

struct sql_options {
	const char *file, *sql;
	const char *separator;
	bool bare;
};

static error_t parse_sql(int key, char *arg, struct argp_state *state)
{
	struct sql_options *o = state->input;

	switch (key) {
	case 'H':
		o->bare = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->sql)
			argp_error(state, "it takes a recording and a statement: is the statement in quotes?");
		*(o->file ? &o->sql : &o->file) = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->sql)
			argp_error(state, "it takes a recording and a statement");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

struct printer {
	bool bare;		/* without names of columns */
	bool named;
};

static int print_row(void *context, int columns, const char *const *values)
{
	struct printer *p = context;
	bool names = !p->named;

	p->named = true;
	if (names && p->bare)
		return 0;
	for (int i = 0; i < columns; i++)
		printf("%s%s", i ? "\t" : "", values[i] ? values[i] : "");
	printf("\n");
	return ferror(stdout) ? -EIO : 0;
}

static int sql(int argc, char **argv, bool implied)
{
	static const struct argp_option rows[] = {
		{ .name = "no-header", .key = 'H', .doc = "Without the names of the columns" },
		{ 0 }
	};
	static const struct argp argp = {
		.options = rows, .parser = parse_sql, .args_doc = "RECORDING STATEMENT",
		.doc = "Ask a recording in SQL, with a tab between columns.\v"
		       "The table `samples` has a row for each sample; docs/recording.md lists its columns, the other tables, "
		       "the table `requests`, and the views top_methods, top_lines, gc_by_method, lock_waits, states_by_thread and idle_threads.\n"
		       "  extprof sql a.extprof 'SELECT * FROM top_methods LIMIT 10'\n",
	};
	struct sql_options o = { 0 };
	struct extprof_error e = { .size = sizeof(e) };
	struct extprof_recorded *r;
	struct printer p = { 0 };
	int status;

	(void)implied;
	argp_err_exit_status = STATUS_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return STATUS_USAGE;
	status = recorded__open(&r, o.file);
	if (status)
		return status;
	p.bare = o.bare;
	if (extprof_recorded_sql(r, o.sql, print_row, &p, &e) && e.text[0])
		status = message__fail(&e);
	extprof_recorded_close(r);
	return recorded__flush(status);
}

/* -- verify ------------------------------------------------------------------------------------ */

static error_t parse_verify(int key, char *arg, struct argp_state *state)
{
	const char **file = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (*file)
			argp_error(state, "it takes one recording");
		*file = arg;
		return 0;
	case ARGP_KEY_END:
		if (!*file)
			argp_error(state, "which recording? Name its file");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int verify(int argc, char **argv, bool implied)
{
	static const struct argp argp = {
		.parser = parse_verify, .args_doc = "RECORDING",
		.doc = "Check each page, row and block of a recording.\v"
		       "Exit status: 0 if all of it is right, 74 if not. A recording that did not end is right if what it has "
		       "is; a message says so.",
	};
	struct extprof_recorded_check check = { .size = sizeof(check) };
	struct extprof_error e = { .size = sizeof(e) };
	struct extprof_recorded *r;
	const char *file = NULL;
	char clean[PATH_MAX];
	int status;

	(void)implied;
	argp_err_exit_status = STATUS_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &file))
		return STATUS_USAGE;
	status = recorded__open(&r, file);
	if (status)
		return status;
	extprof_clean(clean, sizeof(clean), file);
	if (extprof_recorded_verify(r, &check, &e))
		status = message__fail(&e);
	else
		printf("%s: all right: %" PRIu64 " samples of %.1f s in %" PRIu64 " blocks, %.2f bytes each\n", clean,
		       check.samples, (double)check.duration / 1e9, check.blocks,
		       check.samples ? (double)check.bytes / (double)check.samples : 0);
	extprof_recorded_close(r);
	return recorded__flush(status);
}

const struct command command_report = {
	.name = "report",
	.summary = "show a recording, or write a profile of it",
	.run = report,
};

const struct command command_sql = {
	.name = "sql",
	.summary = "ask a recording in SQL",
	.run = sql,
};

const struct command command_verify = {
	.name = "verify",
	.summary = "check that a recording is whole",
	.run = verify,
};
