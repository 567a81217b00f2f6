/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "cli/options.h"
#include "serve/listen.h"

static error_t finish(struct options *o, struct argp_state *state)
{
	const char *text = o->values[OPTION_LISTEN].text;
	struct serve_address address;
	char why[160];

	if (text && serve_address__parse(&address, text, why, sizeof(why))) {
		argp_error(state, "--listen %s: %s", text, why);
		return EINVAL;
	}
	return options__need_files(o, state);
}

const struct command_line command_line_serve = {
	.command = OPTION_OF_SERVE,
	.about = "Show recordings in a browser: a timeline, and flame graphs of what is selected.",
	.verb = "show",
	.arguments = "[RECORDING | FOLDER...]",
	.examples =
		"  extprof serve                        the daemon's history\n"
		"  extprof serve app.extprof\n"
		"  extprof serve --listen 127.0.0.1:7777 /var/profiles\n",
	.notes =
		"It prints the address of the first page, which ends with a secret: only who has it sees something.  It only reads, and "
		"only answers this machine; pages load nothing from elsewhere.  Recordings that are added to a folder are shown when a "
		"page is loaded again.  For a machine far away: ssh -L 7777:127.0.0.1:7777 HOST.\n"
		"\n"
		"Without an argument the folder is " EXTPROF_FOLDER ", where extprof daemon writes.  extprof keeps no capability for this: "
		"it reads what its user may.\n"
		"\n"
		"Exit status: 0 after SIGTERM, SIGHUP or Ctrl-C; 64 usage, 70 internal error or no libmicrohttpd, 73 the address or the socket "
		"cannot be used, 74 a recording that is named cannot be read.  See extprof(1).",
	.files_least = 0,
	.files_most = OPTIONS_FILES,
	.finish = finish,
};
