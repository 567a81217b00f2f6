/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "cli/dump.h"
#include "cli/messages.h"

enum {
	OPTION_CORE = 0x100,
	OPTION_EXE,
	OPTION_READER,
	OPTION_EVERY,
	OPTION_COUNT,
	OPTION_JSON,
	OPTION_SOURCE,
};

static const char doc[] =
	"Show what all threads and fibers of a running Ruby program do at this moment.\n"
	"\v"
	"Examples:\n"
	"  extprof dump -p 1234                        what does it do?\n"
	"  extprof dump -p 1234 --every 1s --count 3   what does not move?\n"
	"  extprof dump -p 1234 --json | jq .          for programs\n"
	"  extprof dump --core core.1234               what did it do?\n"
	"\n"
	"The program is not stopped, unless --reader stop is given.  No BPF is used: the user of the "
	"program may dump it, as far as /proc/sys/kernel/yama/ptrace_scope allows, and so may CAP_SYS_PTRACE.\n"
	"\n"
	"Exit status: 0; 64 usage, 65 not a ruby, 66 no such process, 69 a ruby without the interface, "
	"70 internal error, 73 output not writable, 75 not ready, or a stack is missing, 76 interface version not "
	"supported, 77 no permission.  See extprof(1).";

const struct argp_option dump_options_table[] = {
	{ NULL, 0, NULL, 0, "What to show:", 1 },
	{ "pid", 'p', "PID", 0, "the process with this pid; 77,78 or -p 77 -p 78 are several", 0 },
	{ "core", OPTION_CORE, "FILE", 0, "the process that this core file was written of", 0 },
	{ "exe", OPTION_EXE, "FILE", 0, "the program of the core file, if it is not found by itself", 0 },
	{ NULL, 0, NULL, 0, "How to read:", 2 },
	{ "reader", OPTION_READER, "READER", 0, "nonblocking, or stop: all threads are stopped for about a "
	  "millisecond (default: nonblocking)", 0 },
	{ "every", OPTION_EVERY, "TIME", 0, "again after each TIME, and mark what has moved: 1, 1s, 500ms", 0 },
	{ "count", OPTION_COUNT, "N", 0, "end after N dumps (default: 1; with --every at Ctrl-C)", 0 },
	{ NULL, 0, NULL, 0, "How to show it:", 3 },
	{ "json", OPTION_JSON, NULL, 0, "for programs: each dump is one JSON object on one line", 0 },
	{ "source", OPTION_SOURCE, NULL, 0, "show the text of each innermost line, too", 0 },
	{ NULL, 0, NULL, 0, "Other:", -1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 }
};

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

static error_t finish(struct dump_options *o, struct argp_state *state)
{
	if (!o->pids.count && !o->core)
		FAIL("what is to be shown? -p PID, or --core FILE");
	if (o->pids.count && o->core)
		FAIL("-p says what to show, and so does --core: leave one of them out");
	if (o->exe && !o->core)
		FAIL("--exe is for --core FILE: a process tells its program itself");
	if (o->core && (o->stop || o->every))
		FAIL("a core file does not change: leave %s out", o->stop ? "--reader" : "--every");
	if (o->count > 1 && !o->every)
		FAIL("how often? --count %lu needs --every TIME", o->count);
	if (!o->every)
		o->count = 1;
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct dump_options *o = state->input;
	const char *wrong = arg;
	int err;

	switch (key) {
	case 'h':
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
		break;
	case 'p':
		err = value__pids(arg, &o->pids, &wrong);
		if (err == -ENOMEM) {
			argp_failure(state, STATUS_INTERNAL, ENOMEM, "cannot keep the options");
			return ENOMEM;
		}
		if (err)
			FAIL("\"%.*s\" is no pid", (int)strcspn(wrong, ","), wrong);
		break;
	case OPTION_CORE:
		o->core = arg;
		break;
	case OPTION_EXE:
		o->exe = arg;
		break;
	case OPTION_READER:
		if (strcmp(arg, "nonblocking") && strcmp(arg, "stop"))
			FAIL("%s is no reader: nonblocking or stop", arg);
		o->stop = !strcmp(arg, "stop");
		break;
	case OPTION_EVERY:
		if (value__duration(arg, &o->every))
			FAIL("%s is no time: seconds, or with s, ms, m or h", arg);
		break;
	case OPTION_COUNT:
		if (value__number(arg, 1000000, &o->count))
			FAIL("%s is no number of dumps: 1 to 1000000", arg);
		break;
	case OPTION_JSON:
		o->json = true;
		break;
	case OPTION_SOURCE:
		o->source = true;
		break;
	case ARGP_KEY_ARG:
		FAIL("\"%s\" is no option; a process is given as -p PID", arg);
	case ARGP_KEY_END:
		return finish(o, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int dump_options__parse(struct dump_options *o, int argc, char **argv)
{
	static const struct argp argp = {
		.options = dump_options_table, .parser = parse_option, .args_doc = "-p PID\n--core FILE", .doc = doc,
	};

	memset(o, 0, sizeof(*o));
	argp_err_exit_status = STATUS_USAGE;
	return -argp_parse(&argp, argc, argv, 0, NULL, o);
}

void dump_options__free(struct dump_options *o)
{
	pid_list__free(&o->pids);
}
