/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/sampling_options.h"
#include "cli/top.h"
#include "cli/words.h"

enum {
	OPTION_SORT = 0x500,
	OPTION_VIEW,
	OPTION_FILTER,
	OPTION_CUMULATIVE,
	OPTION_ROWS,
};

static const char doc[] =
	"Show live what running Ruby programs do: methods, lines, states, threads and processes, again each second.\n"
	"\v"
	"Examples:\n"
	"  extprof top -p 1234                      what uses the CPU, and what waits (m: the other one)\n"
	"  extprof top -p 1234 -s -m gvl            waits for the GVL, in its subprocesses too\n"
	"  extprof top -a --view process            which ruby of this machine\n"
	"  extprof top -p 1234 -b -n 3 -i 10        three times ten seconds as text\n"
	"\n"
	"Keys: h shows all of them, q quits.  s and S sort, / filters, v and 1 to 5 change the view, t shows each thread by "
	"itself, m shows the next mode, c all since the last r, p pauses, r resets, + and - change the interval.\n"
	"\n"
	"The share of the GVL is known if one of the modes wall, offcpu and gvl is measured.\n"
	"\n"
	"COMMAND is ended with extprof top.  What it writes to the terminal is not shown, but with --batch.\n"
	"\n"
	"Needs root, or the capabilities CAP_BPF and CAP_PERFMON, and CAP_SYS_PTRACE for processes of other users.\n"
	"\n"
	"Exit status: as of extprof record; 73 also if standard output is no terminal and there is no --batch.";

const struct argp_option top_options_table[] = {
	{ NULL, 0, NULL, 0, "What to show:", 1 },
	SELECTION_OPTIONS,
	{ NULL, 0, NULL, 0, "How to sample:", 2 },
	SAMPLING_OPTIONS(TOP_MODES_DEFAULT),
	STATE_OPTION,
	{ NULL, 0, NULL, 0, "How to show it:", 3 },
	{ "interval", 'i', "TIME", 0, "how long a window is: 1, 500ms, 2s, 1m, from 100ms to 1h (default: 1s)", 0 },
	{ "view", OPTION_VIEW, "VIEW", 0, "what rows are: method, line, state, thread or process (default: method)", 0 },
	{ "sort", OPTION_SORT, "KEY", 0, "self, total or name (default: self)", 0 },
	{ "filter", OPTION_FILTER, "TEXT", 0, "only rows with TEXT in name, path or thread", 0 },
	{ "threads", 't', NULL, 0, "each thread by itself", 0 },
	{ "cumulative", OPTION_CUMULATIVE, NULL, 0, "all since the start, not only the last window", 0 },
	{ "batch", 'b', NULL, 0, "print each window as text, for scripts and files; all modes, one after the other", 0 },
	{ "iterations", 'n', "N", 0, "end after N windows (default: at q or Ctrl-C, or when the processes have ended)", 0 },
	{ "rows", OPTION_ROWS, "N", 0, "rows of each window, with --batch (default: 20)", 0 },
	{ NULL, 0, NULL, 0, "Other:", -1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 }
};

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

static error_t finish(struct top_options *t, struct argp_state *state)
{
	struct options *o = &t->record;
	struct extprof_error e = { .size = sizeof(e) };
	error_t err = sampling_options__finish(o, "observe", state);

	if (err)
		return err;
	t->modes_chosen = o->modes;
	if (!o->modes && words__add(&o->modes, TOP_MODES_DEFAULT)) {
		argp_failure(state, STATUS_INTERNAL, ENOMEM, "cannot keep the options");
		return ENOMEM;
	}
	o->recording.modes = o->modes;
	if (extprof_recording_check(&o->recording, &e))
		FAIL("%s", e.text);
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct top_options *t = state->input;
	unsigned long number;

	switch (key) {
	case 'h':
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
		break;
	case 'i':
		if (value__duration(arg, &t->interval) || t->interval < TOP_INTERVAL_MIN || t->interval > TOP_INTERVAL_MAX)
			FAIL("%s is no interval: 100ms to 1h", arg);
		break;
	case OPTION_VIEW:
		if (top_view__by_name(arg, &t->choice.view))
			FAIL("%s is no view: method, line, state, thread or process", arg);
		break;
	case OPTION_SORT:
		if (top_sort__by_name(arg, &t->choice.sort))
			FAIL("%s is no key to sort by: self, total or name", arg);
		break;
	case OPTION_FILTER:
		t->choice.filter = arg;
		break;
	case OPTION_CUMULATIVE:
		t->choice.all = true;
		break;
	case 't':
		t->choice.by_thread = true;
		break;
	case 'b':
		t->batch = true;
		break;
	case 'n':
		if (value__number(arg, 1000000000, &t->count))
			FAIL("%s is no number of windows: 1 to 1000000000", arg);
		break;
	case OPTION_ROWS:
		if (value__number(arg, 100000, &number))
			FAIL("%s is no number of rows: 1 to 100000", arg);
		t->record.top = (unsigned int)number;
		break;
	case ARGP_KEY_ARGS:
		t->record.command = state->argv + state->next;
		break;
	case ARGP_KEY_END:
		return finish(t, state);
	default:
		return sampling_options__parse(&t->record, key, arg, state);
	}
	return 0;
}

int top_options__parse(struct top_options *t, int argc, char **argv, unsigned int flags)
{
	static const struct argp argp = {
		.options = top_options_table,
		.parser = parse_option,
		.args_doc = "-p PID\n-a\n[--] COMMAND [ARGUMENT...]",
		.doc = doc,
		.help_filter = options__text,
	};
	unsigned int argp_flags = ARGP_IN_ORDER;

	memset(t, 0, sizeof(*t));
	t->record.recording.size = sizeof(t->record.recording);
	t->record.top = EXTPROF_TOP_DEFAULT;
	t->interval = TOP_INTERVAL_DEFAULT;
	t->choice.filter = "";
	if (flags & OPTIONS_QUIETLY)
		argp_flags |= ARGP_NO_EXIT | ARGP_NO_ERRS;
	argp_err_exit_status = STATUS_USAGE;
	return -argp_parse(&argp, argc, argv, argp_flags, NULL, t);
}

void top_options__free(struct top_options *t)
{
	options__free(&t->record);
}
