/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/sampling_options.h"
#include "cli/stat.h"

enum {
	OPTION_JSON = 0x100,
	OPTION_SYSCALLS,
	OPTION_TOP,
};

#define STRING_(x) #x
#define STRING(x) STRING_(x)

static const char doc[] =
	"Measure how a running Ruby program does: CPU time, the GVL, garbage collection, allocations, threads.\n"
	"\v"
	"Examples:\n"
	"  extprof stat -p 1234 -d 5            five seconds of a process\n"
	"  extprof stat -p 1234 -I 1s           a line each second, until Ctrl-C\n"
	"  extprof stat -- ruby app.rb          all of a program, as perf stat does\n"
	"  extprof stat -p 1234 -d 5 --json     for programs\n"
	"\n"
	"Nothing runs inside of the programs.  What cannot be known is missing, with its reason.\n"
	"\n"
	"Needs root, or the capabilities CAP_BPF and CAP_PERFMON, and CAP_SYS_PTRACE for "
	"processes of other users.  Without BPF the user of the processes suffices: then some figures are "
	"estimates, and some are not known.\n"
	"\n"
	"Exit status: 0, or that of COMMAND; others as of extprof record.  See extprof(1).";

const struct argp_option stat_options_table[] = {
	{ NULL, 0, NULL, 0, "What to measure:", 1 },
	SELECTION_OPTIONS,
	{ NULL, 0, NULL, 0, "How to measure:", 2 },
	{ "duration", 'd', "TIME", 0, "stop after this time: 10, 10s, 500ms, 2m, 1h "
	  "(default: at Ctrl-C, or when the processes have ended)", 0 },
	READER_OPTIONS,
	{ "syscalls", OPTION_SYSCALLS, NULL, 0, "also the time in system calls; each call becomes slower", 0 },
	{ "rate", 'r', "N", 0, "samples per second and CPU for the table of methods (default: 99)", 0 },
	{ NULL, 'F', "N", 0, "the same as --rate, as in perf", 0 },
	{ NULL, 0, NULL, 0, "What to show:", 3 },
	{ "interval", 'I', "TIME", 0, "also a line after each TIME: 1, 1s, 500ms", 0 },
	{ "json", OPTION_JSON, NULL, 0, "for programs: each interval and the total is one JSON object on one line", 0 },
	{ "top", OPTION_TOP, "N", 0, "rows of each table (default: " STRING(STAT_TOP_DEFAULT) ")", 0 },
	{ "output", 'o', "FILE", 0, "write to FILE (default: standard output; with COMMAND standard error)", 0 },
	{ NULL, 0, NULL, 0, "Other:", -1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 }
};

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

/* An interval takes some ms to be looked at. */
#define INTERVAL_MIN 10000000u

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct stat_options *o = state->input;

	switch (key) {
	case 'h':
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
		break;
	case 'd':
		if (value__duration(arg, &o->duration))
			FAIL("%s is no duration: seconds, or with s, ms, m or h", arg);
		break;
	case 'I':
		if (value__duration(arg, &o->interval) || o->interval < INTERVAL_MIN)
			FAIL("%s is no interval: at least 10 ms; seconds, or with s, ms, m or h", arg);
		break;
	case 'r':
	case 'F':
		if (value__rate(arg, &o->rate))
			FAIL("%s is no rate: 1 to 100000 per second, or with k", arg);
		break;
	case OPTION_SYSCALLS:
		o->syscalls = true;
		break;
	case OPTION_READER:
		o->reader = arg;
		return options__check_word(key, "reader", arg, state);
	case OPTION_NONBLOCKING:
		o->reader = "nonblocking";
		break;
	case OPTION_JSON:
		o->json = true;
		break;
	case OPTION_TOP:
		if (value__number(arg, 100000, &o->top))
			FAIL("%s is no number of rows: 1 to 100000", arg);
		break;
	case 'o':
		o->file = arg;
		break;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		break;
	case ARGP_KEY_END:
		return selection_options__finish(&o->selection, "measure", o->command, state);
	default:
		return selection_options__parse(&o->selection, key, arg, state);
	}
	return 0;
}

int stat_options__parse(struct stat_options *o, int argc, char **argv)
{
	static const struct argp argp = {
		.options = stat_options_table, .parser = parse_option,
		.args_doc = "-p PID\n-a\n[--] COMMAND [ARGUMENT...]", .doc = doc,
		.help_filter = options__text,
	};

	memset(o, 0, sizeof(*o));
	o->top = STAT_TOP_DEFAULT;
	argp_err_exit_status = STATUS_USAGE;
	return -argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, o);
}

void stat_options__free(struct stat_options *o)
{
	selection_options__free(&o->selection);
}
