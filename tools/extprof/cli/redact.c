/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof redact: a copy of a recording that can be passed on. */
#include <argp.h>
#include <limits.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/confined.h"
#include "cli/messages.h"
#include "cli/output_file.h"
#include "cli/recorded.h"
#include "cli/sudo.h"

struct redact_options {
	const char *file, *to, *what;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct redact_options *o = state->input;

	switch (key) {
	case 'o':
		o->to = arg;
		return 0;
	case 'w':
		o->what = arg;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (!o->to)
			argp_error(state, "where to? Name a new file with -o FILE.extprof");
		return 0;
	default:
		return recorded__take_argument(key, arg, state, &o->file);
	}
}

static int redact(const struct redact_options *o, struct extprof_recorded *r)
{
	struct extprof_error e = { .size = sizeof(e) };
	struct sudo sudo = { 0 };
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;
	int err = sudo__find(&sudo, &e), status = STATUS_OK;
	char clean[PATH_MAX];

	if (!err)
		err = output_file__owner(o->to, sudo.found ? &sudo.user : NULL, &uid, &gid, &e);
	if (!err)
		err = extprof_recorded_redact(r, o->what, o->to, (int)uid, (int)gid, &e);
	extprof_clean(clean, sizeof(clean), o->to);
	if (err)
		status = message__fail(&e);
	else
		fprintf(stderr, "extprof: %s is written.  Names of methods, classes and threads are in it, and keys of labels: look at it "
			"before you pass it on\n", clean);
	return status;
}

static int run(int argc, char **argv, bool implied)
{
	static const struct argp argp = {
		.options = few_options_redact, .parser = parse, .args_doc = "RECORDING -o FILE",
		.doc = "Copy a recording without what others are not to know.\v"
		       "Samples, times and sums stay. paths: folders of source files, but for what is in a gem or the standard library; "
		       "files and sockets that were waited for, cgroups, source files that were kept. argv: command lines, but for the name of "
		       "the program. labels: their values. traces: ids of traces and spans. host: the name of the machine.\n"
		       "  extprof redact app.extprof -o public.extprof\n",
	};
	struct redact_options o = { 0 };
	struct extprof_recorded *r;
	struct confined rights = { .inputs = &o.file, .input_count = 1, .outputs = &o.to, .output_count = 1 };
	int status;

	(void)implied;
	argp_err_exit_status = STATUS_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return STATUS_USAGE;
	status = confined__enter(&rights);
	if (!status)
		status = recorded__open(&r, o.file);
	if (status)
		return status;
	status = redact(&o, r);
	extprof_recorded_close(r);
	return message__flush(status);
}

const struct command command_redact = {
	.name = "redact",
	.summary = "copy a recording without paths, arguments, labels",
	.few = few_options_redact,
	.run = run,
	.power = POWER_FILES,
};
