/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

/* The first word of a list that is no mode.  NULL: there is none; the caller frees it. */
static char *wrong_mode(const char *list)
{
	while (list) {
		struct extprof_mode_info info = { .size = sizeof(info) };
		size_t length = strcspn(list, ",");
		char *name = strndup(list, length);

		if (!name || extprof_mode_info(name, &info))
			return name;
		free(name);
		list = list[length] ? list + length + 1 : NULL;
	}
	return NULL;
}

static error_t finish(struct options *o, struct argp_state *state)
{
	char *wrong;

	if (!o->values[OPTION_RECEIVER].given)
		FAIL("where to?  Name the receiver with --to URL");
	wrong = wrong_mode(o->values[OPTION_MODES].text);
	if (wrong)
		argp_error(state, "\"%s\" is no mode", wrong);
	free(wrong);
	if (wrong)
		return EINVAL;
	if (o->values[OPTION_STATE_FILE].given && o->file_count > 1)
		FAIL("--state is of one folder or recording");
	return options__need_files(o, state);
}

const struct command_line command_line_push = {
	.command = OPTION_OF_PUSH,
	.about = "Send recordings to a receiver of profiles, each part of them once.",
	.verb = "send",
	.arguments = "[RECORDING | FOLDER...] --to URL",
	.examples =
		"  extprof push --to http://collector:4318   of the daemon, what was not sent\n"
		"  extprof push --follow --to https://example.com --header-file a.headers\n"
		"  extprof push app.extprof --to http://localhost:4040 --span 10s\n",
	.notes =
		"Recordings that have ended are sent, in the order of their names, in requests of 60 s each.  What was sent is kept in a "
		"file beside them, so that the next push goes on there.  A request that fails is tried again; one that the receiver refuses "
		"is told, counted and left out.  docs/fleet.md has what receivers take.\n"
		"\n"
		"The default folder is the daemon's, " EXTPROF_FOLDER ".  extprof keeps no capability for this: it reads what its user may.\n"
		"\n"
		"Exit status: 0 all was sent, or --follow ended by SIGTERM or Ctrl-C; 64 usage; 68 something was not sent; 70 internal error; "
		"73 what was sent cannot be kept; 74 a recording cannot be read.  See extprof(1).",
	.files_least = 0,
	.files_most = OPTIONS_FILES,
	.finish = finish,
};
