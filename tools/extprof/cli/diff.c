/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof diff: two recordings, or two times of one. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/confined.h"
#include "cli/environment.h"
#include "cli/messages.h"
#include "cli/recorded.h"
#include "cli/recorded_files.h"

struct comparison {
	struct recorded_files files[2];
	char name[PATH_MAX + 32];	/* of all files, if two times of them are compared */
	struct extprof_diff_options options;
	const char *format;
	unsigned int grown;	/* methods that have, by more than they may */
};

static const struct recorded_suffix suffixes[] = {
	{ ".json", "json" }, { ".svg", "flamegraph" }, { ".html", "flamegraph" }, { ".htm", "flamegraph" }, { ".txt", "text" },
	{ NULL, NULL },
};

static int write_to(void *context, FILE *to, struct extprof_error *e)
{
	struct comparison *c = context;

	return extprof_recorded_diff(c->files[0].recorded, c->files[1].recorded, c->format, &c->options, to, e);
}

/* Choose the names of both sides. */
static void set_names(struct comparison *c, const struct options *o)
{
	c->options.names[0] = o->files[0];
	c->options.names[1] = o->files[o->file_count > 1];
	if (!o->values[OPTION_WITH].given || o->file_count == 1)
		return;
	snprintf(c->name, sizeof(c->name), "%s and %u more", o->files[0], o->file_count - 1);
	c->options.names[0] = c->options.names[1] = c->name;
}

static int prepare(void *context, const struct options *o, const char *file)
{
	struct comparison *c = context;
	bool shown = !file || !strcmp(file, "-");

	c->format = recorded__format(file, o->values[OPTION_DIFF_FORMAT].given ? o->values[OPTION_DIFF_FORMAT].text : NULL, suffixes);
	if (!c->format)
		return STATUS_USAGE;
	for (int i = 0; i < 2; i++)
		if (recorded__check_output(file, (const char *const *)c->files[i].paths, c->files[i].count))
			return STATUS_USAGE;
	c->options = (struct extprof_diff_options){
		.size = sizeof(c->options), .mode = o->values[OPTION_ONE_MODE].text, .metric = o->values[OPTION_METRIC].text,
		.since_at = { c->files[0].span.since, c->files[1].span.since },
		.until_at = { c->files[0].span.until, c->files[1].span.until }, .filters = o->filters,
		.filter_count = o->filter_count, .html = file && recorded__is_html(file),
		.color = shown && !strcmp(c->format, "text") && environment__has_color(),
		.top = (unsigned int)options__number(o, OPTION_ROWS, EXTPROF_TOP_DEFAULT), .width = shown ? recorded__width() : 0,
		.idle = options__has(o, OPTION_IDLE), .app = o->recording.app, .focus = o->recording.focus,
		.hide = o->recording.hide, .collapse = o->recording.collapse,
		.above = (double)options__number(o, OPTION_FAIL_ABOVE, 0) / 1e9, .grown = &c->grown,
	};
	set_names(c, o);
	return STATUS_OK;
}

/* Once everything is written. */
static int check_growth(const struct comparison *c, const struct options *o)
{
	if (!c->grown)
		return STATUS_OK;
	fprintf(stderr, "extprof: the share of %u %s has grown by more than %s (--fail-above)\n", c->grown,
		c->grown == 1 ? "method" : "methods", o->values[OPTION_FAIL_ABOVE].text);
	return STATUS_NOTHING;
}

static int run(int argc, char **argv, bool implied)
{
	struct comparison c = { 0 };
	struct options o;
	int status = STATUS_OK, err;
	bool with;

	(void)implied;
	err = options__parse(&o, &command_line_diff, argc, argv, 0);
	if (err)
		status = err == -ENOMEM ? STATUS_INTERNAL : STATUS_USAGE;
	with = o.values[OPTION_WITH].given;
	if (!status)
		status = confined__by_options(&o, false);
	if (!status && with)
		status = recorded_files__open_both(c.files, &o, o.files, o.file_count);
	for (int i = 0; i < 2 && !status && !with; i++)
		status = recorded_files__open(&c.files[i], &o, &o.files[i], 1);
	if (!status)
		status = recorded__write_each(&o, prepare, write_to, &c);
	if (!status)
		status = check_growth(&c, &o);
	for (int i = 0; i < 2; i++) {
		status = recorded_files__status(&c.files[i], status);
		recorded_files__close(&c.files[i]);
	}
	options__free(&o);
	return message__flush(status);
}

const struct command command_diff = {
	.name = "diff",
	.summary = "compare two recordings, or two times: before and after",
	.line = &command_line_diff,
	.run = run,
	.power = POWER_FILES,
};
