/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/options.h"

static error_t finish(struct options *o, struct argp_state *state)
{
	return options__check_formats(o, OPTION_PAGE_FORMAT, state);
}

const struct command_line command_line_annotate = {
	.command = OPTION_OF_ANNOTATE,
	.about = "Show a source file, or a method, with what each line took.",
	.verb = "annotate",
	.arguments = "RECORDING PATH\nRECORDING METHOD",
	.examples =
		"  extprof annotate a.extprof app/models/post.rb   a file\n"
		"  extprof annotate a.extprof 'Post#render'        a method\n"
		"  extprof annotate a.extprof post.rb -o post.html as a page\n"
		"  extprof annotate a.extprof post.rb -m wall --filter 'thread=puma*'\n",
	.notes =
		"The source is that of the recording, if it was made with --sources, else the file of this machine; it is said if "
		"that is another one than was recorded.  Self is what the line itself took, with the C methods, collections "
		"and waits that it ran into; total is with the Ruby methods that it called.\n"
		"\n"
		"Exit status: 0; 64 usage, or no sample is in such a file or method, 70 internal error, 73 output not writable, "
		"74 no recording, or it has no such samples.  See extprof(1).",
	.files_least = 2,
	.files_most = 2,
	.missing = "it takes a recording, and the path of a source file or the name of a method",
	.finish = finish,
};
