/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/stat.h"

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

static error_t finish(struct options *o, struct argp_state *state)
{
	struct extprof_error e = { .size = sizeof(e) };

	/* An interval takes some ms to be looked at. */
	if (options__number(o, OPTION_INTERVAL, STAT_INTERVAL_MIN) < STAT_INTERVAL_MIN)
		FAIL("--interval: %s is no time from 0.01 s to 3600 s", o->values[OPTION_INTERVAL].text);
	if (o->values[OPTION_COUNT].given && !o->values[OPTION_INTERVAL].given)
		FAIL("how often? --count %s needs --interval TIME", o->values[OPTION_COUNT].text);
	o->recording.groups = "none";
	o->recording.figures = true;
	if (extprof_recording_check(&o->recording, &e))
		FAIL("%s", e.text);
	return 0;
}

int stat_options__parse(struct stat_options *s, int argc, char **argv, unsigned int flags)
{
	struct options *o = &s->common;
	int err;

	memset(s, 0, sizeof(*s));
	err = options__parse(o, &command_line_stat, argc, argv, flags);
	s->file = o->values[OPTION_OUTPUT].text;
	s->json = options__has(o, OPTION_JSON);
	s->top = options__number(o, OPTION_ROWS, STAT_ROWS_DEFAULT);
	s->interval = options__number(o, OPTION_INTERVAL, 0);
	s->count = options__number(o, OPTION_COUNT, 0);
	return err;
}

const struct command_line command_line_stat = {
	.command = OPTION_OF_STAT,
	.about = "Measure how Ruby programs do: CPU, GVL, collector, allocations, threads.",
	.verb = "measure",
	.arguments = "-p PID\n-a\n[--] COMMAND [ARGUMENT...]",
	.examples =
		"  extprof stat -p 1234 -d 5            five seconds of a process\n"
		"  extprof stat -p 1234 -i 1s           a line each second, until Ctrl-C\n"
		"  extprof stat -- ruby app.rb          all of a program, as perf stat does\n"
		"  extprof stat -p 1234 -d 5 --json     for programs\n",
	.notes =
		"Nothing runs inside of the programs.  What cannot be known is missing, with its reason.\n"
		"\n"
		"Needs root, or the capabilities CAP_BPF and CAP_PERFMON, and CAP_SYS_PTRACE for "
		"processes of other users.  Without BPF the user of the processes suffices: then some figures are "
		"estimates, and some are not known.\n"
		"\n"
		"Exit status: 0, or that of COMMAND; others as of extprof record.  See extprof(1).",
	.finish = finish,
};
