/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "cli/options.h"

static error_t finish(struct options *o, struct argp_state *state)
{
	if (o->values[OPTION_CALLERS_OF].given && o->values[OPTION_CALLEES_OF].given) {
		argp_error(state, "--callers-of and --callees-of: choose one of them");
		return EINVAL;
	}
	if (options__check_formats(o, OPTION_REPORT_FORMAT, state))
		return EINVAL;
	return options__need_files(o, state);
}

const struct command_line command_line_heatmap = {
	.command = OPTION_OF_REPORT,
	.about = "Write one HTML page: a heat map, and the flame graph of the time selected in it.",
	.verb = "report",
	.arguments = "[RECORDING|FOLDER...]",
	.examples =
		"  extprof heatmap a.extprof -o a.html\n"
		"  extprof heatmap a.extprof -m wall --since 10 --until 20 -o waits.html\n",
	.notes = "The same as extprof report --format=heatmap, with all its options.  Without --output the page goes to standard output, which "
		 "cannot be a terminal then.\n"
		 "\n"
		 "Exit status: that of extprof report.  See extprof(1).",
	.files_least = 0,
	.files_most = OPTIONS_FILES,
	.finish = finish,
};

const struct command_line command_line_report = {
	.command = OPTION_OF_REPORT,
	.about = "Show recordings as the live profile was shown, or write a profile of them.",
	.verb = "report",
	.arguments = "[RECORDING|FOLDER...]",
	.examples =
		"  extprof report a.extprof                              the summary\n"
		"  extprof report a.extprof -o a.svg --since 10 --until 20\n"
		"  extprof report /var/profiles --since 02:50 --until 03:10\n"
		"  extprof report a.extprof --callers-of 'String#gsub'   who calls it\n"
		"  extprof report web1.extprof web2.extprof --group-by recording\n"
		"  extprof report a.extprof --requests --slowest 20\n"
		"  extprof report --since -1d --requests-by controller   which endpoint is slow?\n"
		"  extprof report a.extprof -f folded --filter 'method=PostsController#*'\n",
	.notes =
		"It needs neither the processes nor their files.  Several recordings, of other processes, hosts or times, are shown as "
		"one; their modes have to be the same.  Of a folder those of its files *.extprof are shown that have samples of "
		"the time of --since and --until.  Without an argument the folder is " EXTPROF_FOLDER ", where extprof daemon writes.\n"
		"\n"
		"--invert and --callers-of turn stacks, the tables of methods, lines and gems stay those of the method that ran.\n"
		"\n"
		"Exit status: 0; 64 usage, 70 internal error, 73 output not writable, 74 no recording, one of a folder cannot be read, or there are no such samples.  "
		"See extprof(1).",
	.files_least = 0,
	.files_most = OPTIONS_FILES,
	.finish = finish,
};
