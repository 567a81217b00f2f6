/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/mode_options.h"
#include "cli/sampling_options.h"
#include "cli/words.h"

enum {
	OPTION_FILE = 0x100,
	OPTION_TOP,
	OPTION_GROUP_BY,
	OPTION_UNIT,
};

static const char doc[] =
	"Profile running Ruby programs from outside: which methods use the CPU.\n"
	"\v"
	"Examples:\n"
	"  extprof record -p 1234                   until Ctrl-C, then tables\n"
	"  extprof record -p 1234 -d 10 -o app.svg  ten seconds, as a flame graph\n"
	"  extprof record -p 1234 -s -t             its subprocesses too, by thread\n"
	"  extprof record -a --user www-data        all rubies of a user\n"
	"  extprof record -- ruby app.rb            run a program, profile all of it\n"
	"  extprof record -p 1234 -o - | less       stacks in folded form on stdout\n"
	"\n"
	"The programs must be run by a ruby with the external debugging interface.  "
	"Nothing runs inside of them, and they need not be prepared or restarted.\n"
	"\n"
	"SIGUSR1 has the profile so far written to FILE while the recording goes on.\n"
	"\n"
	"Needs root, or the capabilities CAP_BPF and CAP_PERFMON, and CAP_SYS_PTRACE for "
	"processes of other users.  Without BPF the user of the processes is enough.\n"
	"\n"
	"Exit status: 0, or that of COMMAND; 64 usage, 65 not a ruby, 66 no such process, "
	"69 a ruby without the interface, 70 internal error, 71 kernel without BPF or BTF, "
	"73 output not writable, 75 not ready, 76 interface version not supported, "
	"77 no permission, 127 COMMAND cannot be run.  See extprof(1).";

/* %s: see options__text(). */
const struct argp_option options_table[] = {
	{ NULL, 0, NULL, 0, "What to profile:", 1 },
	SELECTION_OPTIONS,
	{ NULL, 0, NULL, 0, "How to sample:", 2 },
	SAMPLING_OPTIONS("cpu"),
	{ NULL, 0, NULL, 0, "What to show:", 3 },
	{ "output", 'o', "FILE", 0, "write the profile to FILE; - is stdout", 0 },
	{ "file", OPTION_FILE, "FILE", 0, "the same as --output", 0 },
	{ "format", 'f', "FORMAT", 0, "%s (default: by the suffix of FILE)", 0 },
	{ "group-by", OPTION_GROUP_BY, "KEYS", 0, "what the outermost frames are: %s, "
	  "or several with commas between (default: process if there are several)", 0 },
	{ "unit", OPTION_UNIT, "UNIT", 0, "what amounts are counted in: %s (default: by the mode; "
	  "times are in us)", 0 },
	STATE_OPTION,
	{ "fd", OPTION_FD, NULL, 0, "with the modes wall and offcpu: show the file, pipe or socket that input or output waits "
	  "for", 0 },
	{ "holder", OPTION_HOLDER, NULL, 0, "with the modes wall, offcpu and gvl: show who holds the GVL or the Mutex that a "
	  "thread waits for, and in which method", 0 },
	{ "waker", OPTION_WAKER, NULL, 0, "with the modes wall, offcpu and gvl: show which thread ended a wait, and in which "
	  "method", 0 },
	{ "threads", 't', NULL, 0, "show the thread as an outermost frame", 0 },
	{ "lines", 'l', NULL, 0, "tell frames apart by the line that runs", 0 },
	{ "top", OPTION_TOP, "N", 0, "rows of each table of the summary "
	  "(default: " SAMPLING_STRING(EXTPROF_TOP_DEFAULT) ")", 0 },
	{ "quiet", 'q', NULL, 0, "no live line, no summary", 0 },
	{ NULL, 0, NULL, 0, "Other:", -1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 }
};

/* The kind of words that an option takes; -1: any text. */
static int words_of(int key)
{
	switch (key) {
	case 'f':
		return EXTPROF_FORMATS;
	case OPTION_READER:
		return EXTPROF_READERS;
	case OPTION_TIMER:
		return EXTPROF_TIMERS;
	case OPTION_GROUP_BY:
		return EXTPROF_GROUPS;
	case 'm':
		return EXTPROF_MODES;
	case OPTION_UNIT:
		return EXTPROF_UNITS;
	case OPTION_STATE:
		return EXTPROF_STATES;
	}
	return -1;
}

char *options__text(int key, const char *text, void *input)
{
	const char *at = text ? strstr(text, "%s") : NULL;
	char *all, *result;

	(void)input;
	if (!at || words_of(key) < 0)
		return (char *)(uintptr_t)text;
	all = words__all((enum extprof_words)words_of(key));
	if (!all || asprintf(&result, "%.*s%s%s", (int)(at - text), text, all, at + 2) < 0)
		result = NULL;
	free(all);
	return result ? result : (char *)(uintptr_t)text;
}

/* What the parser knows besides the options. */
struct parse {
	struct options *options;
	bool implied;		/* `record` was left out */
};

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

error_t options__check_word(int key, const char *what, const char *arg, struct argp_state *state)
{
	enum extprof_words kind = (enum extprof_words)words_of(key);
	int (*compare)(const char *, const char *) = kind == EXTPROF_UNITS ? strcasecmp : strcmp;
	const char *word;
	char *all;

	for (size_t i = 0; (word = extprof_word(kind, i)); i++)
		if (!compare(arg, word))
			return 0;
	all = words__all(kind);
	argp_error(state, "%s is no %s: %s", arg, what, all ? all : "");
	free(all);
	return EINVAL;
}

static bool is_one_mode(const char *format)
{
	struct extprof_format_info info = { .size = sizeof(info) };

	return !extprof_format_info(format, &info) && info.one_mode;
}

/* What the library says of the options. */
static error_t check(const struct options *o, struct argp_state *state)
{
	struct extprof_error e = { .size = sizeof(e) };

	if (extprof_recording_check(&o->recording, &e))
		FAIL("%s", e.text);
	if (o->unit && extprof_recording_check_unit(&o->recording, o->unit, &e))
		FAIL("--unit %s: %s", o->unit, e.text);
	return 0;
}

/* All is known.  Do the parts fit together? */
static error_t finish(struct parse *parse, struct argp_state *state)
{
	struct options *o = parse->options;
	struct extprof_recording_options *r = &o->recording;
	error_t err = sampling_options__finish(o, "profile", state);

	if (!err)
		err = check(o, state);
	if (err)
		return err;
	if (!o->format && o->file)
		o->format = extprof_format_of_file(o->file);
	if (o->format && is_one_mode(o->format) && words__count(o->modes) > 1)
		FAIL("--format %s has place for one mode: record the modes one after the other, or choose "
		     "another format, such as folded or speedscope", o->format);
	if (!o->file && o->format && strcmp(o->format, "summary"))
		FAIL("where to? --format %s needs -o FILE", o->format);
	r->formats = o->format;
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parse *parse = state->input;
	struct options *o = parse->options;
	unsigned long top;

	switch (key) {
	case 'h':
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
		break;
	case 'o':
	case OPTION_FILE:
		o->file = arg;
		break;
	case 'f':
		o->format = arg;
		return options__check_word(key, "format", arg, state);
	case OPTION_UNIT:
		o->unit = arg;
		return options__check_word(key, "unit", arg, state);
	case OPTION_GROUP_BY:
		o->recording.groups = arg;
		break;
	case 't':
		o->recording.threads = true;
		break;
	case 'l':
		o->recording.lines = true;
		break;
	case 'q':
		o->quiet = true;
		break;
	case OPTION_TOP:
		if (value__number(arg, 100000, &top))
			FAIL("%s is no number of rows: 1 to 100000", arg);
		o->top = (unsigned int)top;
		break;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		if (parse->implied && !state->quoted)
			FAIL("\"%s\" is no option; to run and profile it: extprof record -- %s",
			     o->command[0], o->command[0]);
		break;
	case ARGP_KEY_END:
		return finish(parse, state);
	default:
		return sampling_options__parse(o, key, arg, state);
	}
	return 0;
}

int options__parse(struct options *o, int argc, char **argv, unsigned int flags)
{
	static const struct argp argp = {
		.options = options_table,
		.parser = parse_option,
		.args_doc = "-p PID\n-a\n[--] COMMAND [ARGUMENT...]",
		.doc = doc,
		.help_filter = options__text,
	};
	struct parse parse = { .options = o, .implied = flags & OPTIONS_IMPLIED };
	unsigned int argp_flags = ARGP_IN_ORDER;
	size_t length;
	int err;

	memset(o, 0, sizeof(*o));
	o->recording.size = sizeof(o->recording);
	o->top = EXTPROF_TOP_DEFAULT;
	if (flags & OPTIONS_QUIETLY)
		argp_flags |= ARGP_NO_EXIT | ARGP_NO_ERRS;
	argp_err_exit_status = STATUS_USAGE;
	err = argp_parse(&argp, argc, argv, argp_flags, NULL, &parse);
	if (err)
		return -err;
	length = o->file ? strlen(o->file) : 0;
	o->html = length > 4 && (!strcasecmp(o->file + length - 4, "html") ||
				 !strcasecmp(o->file + length - 4, ".htm"));
	return 0;
}

void options__free(struct options *o)
{
	selection_options__free(&o->selection);
	free(o->modes);
	free(o->states);
	free(o->syscalls);
	o->modes = o->states = o->syscalls = NULL;
}
