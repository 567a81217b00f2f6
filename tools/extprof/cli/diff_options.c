/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/options.h"

static error_t finish(struct options *o, struct argp_state *state)
{
	(void)o;
	(void)state;
	return 0;
}

const struct command_line command_line_diff = {
	.command = OPTION_OF_DIFF,
	.about = "Compare two recordings: which methods, lines and stacks have another share than before.",
	.verb = "compare",
	.arguments = "BEFORE AFTER",
	.examples =
		"  extprof diff a.extprof b.extprof               tables of what has changed\n"
		"  extprof diff a.extprof b.extprof -o diff.svg   both as one flame graph\n"
		"  extprof diff a.extprof b.extprof -m wall --filter 'label:request=GET *'\n"
		"  extprof diff a.extprof b.extprof -f json | jq '.methods[] | select(.self.decided)'\n",
	.notes =
		"Shares are those of each recording, so that recordings of different lengths can be compared.  A change is marked "
		"with ~ if it is smaller than the noise of sampling: 4 standard errors of the difference of two proportions.  "
		"Processes are put together: what is compared is what they run.\n"
		"\n"
		"Exit status: 0 with an answer; 64 usage, 70 internal error, 73 output not writable, 74 no recording, or it has "
		"no such samples.  See extprof(1).",
	.files_least = 2,
	.files_most = 2,
	.missing = "it takes two recordings: name their files",
	.finish = finish,
};
