/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/messages.h"
#include "cli/top.h"
#include "cli/words.h"
#include "options/modes.h"

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

/* Options that say what is shown of a recording. */
static bool is_of_recording(enum option_id id)
{
	switch (id) {
	case OPTION_AT:
	case OPTION_PID:
	case OPTION_MODE:
	case OPTION_INTERVAL:
	case OPTION_COUNT:
	case OPTION_VIEW:
	case OPTION_SORT:
	case OPTION_FILTER:
	case OPTION_THREADS:
	case OPTION_BATCH:
	case OPTION_ROWS:
	case OPTION_IDLE:
	case OPTION_APP:
	case OPTION_FOCUS:
	case OPTION_HIDE:
	case OPTION_COLLAPSE:
		return true;
	default:
		return false;
	}
}

/* With --at: arguments are recordings. */
static error_t finish_at(struct options *o, struct argp_state *state)
{
	for (int i = 0; i < OPTIONS; i++)
		if (o->values[i].given && !is_of_recording((enum option_id)i))
			FAIL("--at shows what was recorded: leave out --%s", option_rows[i].name);
	if (o->recording.pid_count > 1)
		FAIL("--at shows all processes that were recorded, or one of them: -p PID");
	for (char **file = o->command; file && *file; file++) {
		if (**file == '-')
			FAIL("%s: options come before the recordings", *file);
		if (options__add_file(o, *file))
			return ENOMEM;
	}
	o->command = NULL;
	return options__need_files(o, state);
}

/* What nobody runs, and `report` takes in this place. */
static bool is_recorded(const char *path)
{
	struct stat st;

	return options__is_recording(path) || (!stat(path, &st) && S_ISDIR(st.st_mode));
}

static error_t finish(struct options *o, struct argp_state *state)
{
	uint64_t interval = options__number(o, OPTION_INTERVAL, TOP_INTERVAL_DEFAULT);
	struct extprof_error e = { .size = sizeof(e) };
	char implied[OPTION_MODES_SIZE];

	if (interval < TOP_INTERVAL_MIN)
		FAIL("--interval: %s is no time from 0.1 s to 3600 s", o->values[OPTION_INTERVAL].text);
	if (o->values[OPTION_AT].given)
		return finish_at(o, state);
	if (o->command && is_recorded(*o->command))
		FAIL("%s is no program: `extprof top --at TIME %s' shows what was recorded, options come first", *o->command, *o->command);
	if (!o->recording.modes && !option__implied_modes(&o->recording, implied))
		o->recording.modes = TOP_MODES_DEFAULT;
	else if (!o->recording.modes && extprof_options_set(o->chosen, "modes", implied, &e))
		FAIL("%s", e.text);
	if (!o->recording.modes)
		o->recording.modes = extprof_options_get(o->chosen)->modes;
	/* Each thread by itself is its own matter. */
	o->recording.threads = false;
	if (extprof_recording_check(&o->recording, &e))
		FAIL("%s", e.text);
	return 0;
}

int top_options__parse(struct top_options *t, int argc, char **argv, unsigned int flags)
{
	struct options *o = &t->record;
	int err;

	memset(t, 0, sizeof(*t));
	err = options__parse(o, &command_line_top, argc, argv, flags);
	t->modes_chosen = extprof_options_get(o->chosen)->modes;
	t->interval = options__number(o, OPTION_INTERVAL, TOP_INTERVAL_DEFAULT);
	t->count = options__number(o, OPTION_COUNT, 0);
	t->rows = (unsigned int)options__number(o, OPTION_ROWS, EXTPROF_TOP_DEFAULT);
	t->batch = options__has(o, OPTION_BATCH);
	t->choice.filter = o->values[OPTION_FILTER].given ? o->values[OPTION_FILTER].text : "";
	t->choice.all = options__has(o, OPTION_CUMULATIVE);
	t->choice.by_thread = options__has(o, OPTION_THREADS);
	if (o->values[OPTION_VIEW].given)
		top_view__by_name(o->values[OPTION_VIEW].text, &t->choice.view);
	if (o->values[OPTION_SORT].given)
		top_sort__by_name(o->values[OPTION_SORT].text, &t->choice.sort);
	return err;
}

void top_options__free(struct top_options *t)
{
	options__free(&t->record);
}

const struct command_line command_line_top = {
	.command = OPTION_OF_TOP,
	.about = "Show live what Ruby programs do: methods, lines, states, threads and processes.",
	.verb = "observe",
	.arguments = "-p PID\n-a\n[--] COMMAND [ARGUMENT...]\n--at TIME [RECORDING|FOLDER...]",
	.examples =
		"  extprof top -p 1234                     what uses the CPU; m: what waits\n"
		"  extprof top -p 1234 -b --count 3 -i 10  three times ten seconds as text\n"
		"  extprof top -p 1234 -s -m gvl           waits for the GVL, in its subprocesses too\n"
		"  extprof top -a --view process           which ruby of this machine\n"
		"  extprof top --at 03:00                  as it was in the night, by extprof daemon\n",
	.notes =
		"Keys: h shows all of them, q quits.  s and S sort, / filters, v and 1 to 5 change the view, t shows each thread "
		"by itself, m shows the next mode, c all since the last r, p pauses, r resets, + and - change the interval.\n"
		"\n"
		"--at shows a moment of recordings: those of the arguments, or of extprof daemon.  [ and ], or the arrows to the "
		"left and right, step by an interval.  Without a terminal it is text.\n"
		"\n"
		"The share of the GVL is known if one of the modes wall, offcpu and gvl is measured.\n"
		"\n"
		"COMMAND is ended with extprof top.  What it writes to the terminal is not shown, but with --batch.\n"
		"\n"
		"Needs root, or the capabilities CAP_BPF and CAP_PERFMON, and CAP_SYS_PTRACE for processes of other users.\n"
		"\n"
		"Exit status: as of extprof record; 73 also if standard output is no terminal and there is no --batch; "
		"with --at 74 if nothing was recorded then.",
	.finish = finish,
};
