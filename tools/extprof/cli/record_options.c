/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/options.h"
#include "cli/words.h"
#include "options/modes.h"

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), n = strlen(end);

	return length > n && !strcasecmp(text + length - n, end);
}

/* The format of an output, by its suffix or by --format. */
static error_t choose_format(const struct options *o, struct output_choice *output, struct argp_state *state)
{
	struct extprof_format_info info = { .size = sizeof(info) };
	char known[512], implied[OPTION_MODES_SIZE];
	const char *modes = o->recording.modes ? o->recording.modes : option__implied_modes(&o->recording, implied);

	output->format = o->values[OPTION_FORMAT].text;
	if (!output->format)
		output->format = extprof_format_of_file(output->file);
	if (!output->format) {
		words__formats(false, true, known, sizeof(known));
		FAIL("-o %s: no format has this suffix; known are %s, or say it with --format", output->file, known);
	}
	if (extprof_format_info(output->format, &info)) {
		words__formats(false, false, known, sizeof(known));
		FAIL("%s is no format: %s", output->format, known);
	}
	if (info.of_files)
		FAIL("--format %s shows one sample after the other: record into FILE.extprof, then extprof report FILE.extprof -f %s "
		     "-o %s", output->format, output->format, output->file);
	if (info.one_mode && words__count(modes) > 1)
		FAIL("--format %s has place for one mode: record the modes one after the other, or choose "
		     "another format, such as folded or speedscope", output->format);
	output->html = ends_with(output->file, "html") || ends_with(output->file, ".htm");
	return 0;
}

static error_t choose_outputs(struct options *o, struct argp_state *state)
{
	const char *format = o->values[OPTION_FORMAT].text;
	error_t err = options__check_formats(o, OPTION_FORMAT, state);

	if (!o->output_count && format && strcmp(format, "summary"))
		FAIL("where to? --format %s needs -o FILE", format);
	for (unsigned int i = 0; i < o->output_count && !err; i++) {
		err = choose_format(o, &o->outputs[i], state);
		if (!err && words__add(&o->formats, o->outputs[i].format))
			err = ENOMEM;
	}
	o->recording.formats = o->formats;
	return err;
}

static error_t finish(struct options *o, struct argp_state *state)
{
	struct extprof_error e = { .size = sizeof(e) };
	const char *unit = o->values[OPTION_UNIT].text;
	error_t err = choose_outputs(o, state);

	if (err)
		return err;
	if (o->recording.sources && !o->recording_file && o->output_count)
		FAIL("--sources keeps files in a recording: write one, with -o FILE.extprof");
	if (o->recording.triggers && o->output_count)
		FAIL("--trigger is for a recording alone: leave out -o %s", o->outputs[0].file);
	if (o->recording.rotate && o->output_count)
		FAIL("--rotate is for a recording alone: leave out -o %s", o->outputs[0].file);
	if (extprof_recording_check(&o->recording, &e))
		FAIL("%s", e.text);
	if (unit && extprof_recording_check_unit(&o->recording, unit, &e))
		FAIL("--unit %s: %s", unit, e.text);
	return 0;
}

const struct command_line command_line_record = {
	.command = OPTION_OF_RECORD,
	.about = "Profile running Ruby programs from outside: which methods use the time.",
	.verb = "profile",
	.arguments = "-p PID\n-a\n[--] COMMAND [ARGUMENT...]",
	.examples =
		"  extprof record -p 1234 -d 10 -o app.svg  ten seconds, as a flame graph\n"
		"  extprof record -- ruby app.rb            run a program, profile all of it\n"
		"  extprof record -p 1234                   until Ctrl-C: a recording, and tables\n"
		"  extprof record -p 1234 -s -t             its subprocesses too, by thread\n"
		"  extprof record -a --user www-data        all rubies of a user\n"
		"  extprof record -p 1234 -o a.svg -o a.pb.gz  two files from one recording\n"
		"  extprof record -p 1234 -m wall --trigger 'gvl>80%'  keep what is around that\n"
		"  extprof record -p 1234 -o - | less       stacks in folded form on stdout\n",
	.notes =
		"The programs must be run by a ruby with the external debugging interface.  Nothing runs inside of them, and "
		"they need not be prepared or restarted.\n"
		"\n"
		"Without -o, `extprof record' writes the samples into extprof-PID-TIME.extprof in the current folder; `extprof "
		"-p PID' prints the tables alone.\n"
		"\n"
		"SIGUSR1 has the profile so far written to FILE while the recording goes on.  SIGUSR2 pauses, and goes on: the "
		"time of a pause counts nowhere.  With --trigger SIGUSR1 has the time around it kept.\n"
		"\n"
		"Needs root, or the capabilities CAP_BPF and CAP_PERFMON, and CAP_SYS_PTRACE for "
		"processes of other users.  Without BPF the user of the processes is enough.\n"
		"\n"
		"Exit status: 0, or that of COMMAND; 1 nothing was recorded, 64 usage, 65 not a ruby, 66 no such process, "
		"69 a ruby without the interface, 70 internal error, 71 kernel without BPF or BTF, "
		"73 output not writable, 75 not ready, 76 interface version not supported, "
		"77 no permission, 127 COMMAND cannot be run.  See extprof(1).",
	.finish = finish,
};
