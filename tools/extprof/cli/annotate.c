/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof annotate: a source file with what its lines took. */
#include <errno.h>
#include <string.h>

#include "cli/command.h"
#include "cli/confined.h"
#include "cli/environment.h"
#include "cli/messages.h"
#include "cli/recorded.h"
#include "cli/recorded_files.h"

static const struct recorded_suffix suffixes[] = {
	{ ".html", "html" }, { ".htm", "html" }, { ".txt", "text" }, { NULL, NULL },
};

struct annotating {
	struct recorded_files files;
	struct extprof_annotate_options options;
	const char *what, *format;
};

static int write_to(void *context, FILE *to, struct extprof_error *e)
{
	struct annotating *a = context;

	return extprof_recorded_annotate(a->files.recorded, a->what, a->format, &a->options, to, e);
}

static int prepare(void *context, const struct options *o, const char *file)
{
	struct annotating *a = context;
	bool shown = !file || !strcmp(file, "-");

	a->what = o->files[1];
	a->format = recorded__format(file, o->values[OPTION_PAGE_FORMAT].given ? o->values[OPTION_PAGE_FORMAT].text : NULL,
				     suffixes);
	if (!a->format || recorded__check_output(file, (const char *const *)a->files.paths, a->files.count))
		return STATUS_USAGE;
	a->options = (struct extprof_annotate_options){
		.size = sizeof(a->options), .mode = o->values[OPTION_ONE_MODE].text, .unit = o->values[OPTION_UNIT].text,
		.since_at = a->files.span.since, .until_at = a->files.span.until, .filters = o->filters,
		.filter_count = o->filter_count, .color = shown && !strcmp(a->format, "text") && environment__has_color(),
		.width = shown ? recorded__width() : 0,
		.idle = options__has(o, OPTION_IDLE), .app = o->recording.app, .focus = o->recording.focus, .hide = o->recording.hide,
	};
	return STATUS_OK;
}

static int run(int argc, char **argv, bool implied)
{
	struct annotating a = { .what = NULL };
	struct options o;
	int status = STATUS_OK, err;

	(void)implied;
	err = options__parse(&o, &command_line_annotate, argc, argv, 0);
	if (err)
		status = err == -ENOMEM ? STATUS_INTERNAL : STATUS_USAGE;
	/* The second one is a method or a file that was recorded. */
	if (!status)
		status = confined__by_options(&o, true);
	if (!status)
		status = recorded_files__open(&a.files, &o, o.files, 1);
	if (!status)
		status = recorded_files__status(&a.files, recorded__write_each(&o, prepare, write_to, &a));
	recorded_files__close(&a.files);
	options__free(&o);
	return message__flush(status);
}

const struct command command_annotate = {
	.name = "annotate",
	.summary = "show source with what each line took",
	.line = &command_line_annotate,
	.run = run,
	.power = POWER_FILES,
};
