/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "cli/options.h"

static error_t finish(struct options *o, struct argp_state *state)
{
	if (options__check_formats(o, OPTION_DIFF_FORMAT, state))
		return EINVAL;
	if (!o->values[OPTION_WITH].given) {
		if (o->file_count == 2)
			return 0;
		argp_error(state, "it takes two recordings: name their files, or with --with one folder");
		return EINVAL;
	}
	if (o->file_count == 2) {
		argp_error(state, "two recordings are before and after, and --with compares two times of the same recordings: leave out "
			   "--with, or name one file or their folder");
		return EINVAL;
	}
	if (!o->values[OPTION_SINCE].given && !o->values[OPTION_UNTIL].given) {
		argp_error(state, "--with compares the time of --since and --until: say which");
		return EINVAL;
	}
	return options__need_files(o, state);
}

const struct command_line command_line_diff = {
	.command = OPTION_OF_DIFF,
	.about = "Compare two recordings, or two times of one: what has another share than before.",
	.verb = "compare",
	.arguments = "BEFORE AFTER\n[RECORDING|FOLDER...] --since TIME --with TIME",
	.examples =
		"  extprof diff a.extprof b.extprof               tables of what has changed\n"
		"  extprof diff a.extprof b.extprof -o diff.svg   both as one flame graph\n"
		"  extprof diff --since 02:50 --until 03:10 --with -1d -m cpu    with the same time yesterday\n"
		"  extprof diff a.extprof b.extprof -m wall --filter 'label:request=GET *'\n"
		"  extprof diff main.extprof branch.extprof --fail-above 5%         in CI\n"
		"  extprof diff a.extprof b.extprof -f json | jq '.methods[] | select(.self.decided)'\n",
	.notes =
		"Shares are those of each recording, so that recordings of different lengths can be compared.  A change is marked "
		"with ~ if it is smaller than the noise of sampling: 4 standard errors of the difference of two proportions.  "
		"Processes are put together: what is compared is what they run.\n"
		"\n"
		"BEFORE and AFTER can be folders: of each those of its files *.extprof are compared that have samples of the time "
		"of --since and --until.  With --with both times are those of the same recordings, and without an argument they are "
		"in " EXTPROF_FOLDER ", where extprof daemon writes.\n"
		"\n"
		"Exit status: 0 with an answer; 1 with --fail-above, if a method has grown by more; 64 usage, 70 internal error, 73 output not writable, 74 no recording, or it has "
		"no such samples.  See extprof(1).",
	.files_least = 0,
	.files_most = OPTIONS_FILES,
	.finish = finish,
};
