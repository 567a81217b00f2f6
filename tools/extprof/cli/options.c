/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/mode_options.h"
#include "cli/words.h"

enum {
	OPTION_FILE = 0x100,
	OPTION_TOP,
	OPTION_TIMER,
	OPTION_GROUP_BY,
	OPTION_UNIT,
	OPTION_ALLOC_INTERVAL,
};

#define STRING_(x) #x
#define STRING(x) STRING_(x)

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
	"processes of other users.\n"
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
	{ "mode", 'm', "MODE", 0, "what is shown: %s, or several with commas between (default: cpu)", 0 },
	{ "rate", 'r', "N", 0, "samples per second and CPU; 10k or 10khz is 10000 "
	  "(default: " STRING(EXTPROF_RATE_DEFAULT) ")", 0 },
	{ NULL, 'F', "N", 0, "the same as --rate, as in perf", 0 },
	{ "timer", OPTION_TIMER, "TIMER", 0, "what takes the samples, %s: timers of our own, or the "
	  "scheduler's tick, which needs no interrupts of ours (default: clock)", 0 },
	{ "alloc-interval", OPTION_ALLOC_INTERVAL, "SIZE", 0, "with mode alloc: one sample for each SIZE of memory, "
	  "on average: 64k, 1M (default: 512k)", 0 },
	{ "syscall", OPTION_SYSCALL, "CALLS", 0, "the system calls that mode syscall shows, names or numbers "
	  "with commas between: openat,write (default: all)", 0 },
	{ "latency", OPTION_LATENCY, NULL, 0, "how long system calls took, not how many there were", 0 },
	{ "event", 'e', "EVENT", 0, "what mode event shows, -e several times for several: page-faults, "
	  "context-switches, cycles, ...; CATEGORY:NAME, a tracepoint of the kernel; FILE:SYMBOL, a function; "
	  "FILE:PROVIDER:NAME, a probe (USDT)", 0 },
	{ "count", 'c', "N", 0, "a sample for every Nth event (default: each; 1000000 cycles)", 0 },
	{ "waits", OPTION_WAITS, "WHICH", 0, "which waits of the modes wall, offcpu and gvl are samples: each, or as many as the "
	  "rate says (rate), where a short one stands for others (default: rate for wall alone, else each)", 0 },
	{ "duration", 'd', "TIME", 0, "stop after this time: 10, 10s, 500ms, 2m, 1h "
	  "(default: at Ctrl-C, or when the processes have ended)", 0 },
	{ NULL, 0, NULL, 0, "What to show:", 3 },
	{ "output", 'o', "FILE", 0, "write the profile to FILE; - is stdout", 0 },
	{ "file", OPTION_FILE, "FILE", 0, "the same as --output", 0 },
	{ "format", 'f', "FORMAT", 0, "%s (default: by the suffix of FILE)", 0 },
	{ "group-by", OPTION_GROUP_BY, "KEYS", 0, "what the outermost frames are: %s, "
	  "or several with commas between (default: process if there are several)", 0 },
	{ "unit", OPTION_UNIT, "UNIT", 0, "what amounts are counted in: %s (default: by the mode; "
	  "times are in us)", 0 },
	{ "state", OPTION_STATE, "STATES", 0, "what the modes wall and offcpu show: %s, or several with commas between "
	  "(default: all)", 0 },
	{ "fd", OPTION_FD, NULL, 0, "with the modes wall and offcpu: show the file, pipe or socket that input or output waits "
	  "for", 0 },
	{ "holder", OPTION_HOLDER, NULL, 0, "with the modes wall, offcpu and gvl: show who holds the GVL or the Mutex that a "
	  "thread waits for, and in which method", 0 },
	{ "threads", 't', NULL, 0, "show the thread as an outermost frame", 0 },
	{ "lines", 'l', NULL, 0, "tell frames apart by the line that runs", 0 },
	{ "top", OPTION_TOP, "N", 0, "rows of each table of the summary "
	  "(default: " STRING(EXTPROF_TOP_DEFAULT) ")", 0 },
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

static error_t out_of_memory(struct argp_state *state)
{
	argp_failure(state, STATUS_INTERNAL, ENOMEM, "cannot keep the options");
	return ENOMEM;
}

/* Must be one of the words.  Units are told apart by their letters alone. */
static error_t check_word(int key, const char *what, const char *arg, struct argp_state *state)
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
	error_t err;

	err = selection_options__finish(&o->selection, "profile", o->command, state);
	if (!err)
		err = mode_options__finish(o, state);
	if (err)
		return err;
	if (r->alloc_interval && !words__has(o->modes, "alloc"))
		FAIL("--alloc-interval is for allocations: add --mode alloc");
	r->modes = o->modes;
	r->states = o->states;
	r->syscalls = o->syscalls;
	r->events = o->events;
	selection_options__fill(&o->selection, r);
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
	error_t err;

	switch (key) {
	case 'h':
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
		break;
	case 'r':
	case 'F':
		if (value__rate(arg, &o->recording.rate))
			FAIL("%s is no rate: 1 to %u per second, or with k", arg, EXTPROF_RATE_MAX);
		break;
	case OPTION_TIMER:
		o->recording.timer = arg;
		return check_word(key, "timer", arg, state);
	case OPTION_ALLOC_INTERVAL:
		if (value__size(arg, &o->recording.alloc_interval))
			FAIL("%s is no distance of samples: 1k to 1G bytes", arg);
		break;
	case 'd':
		if (value__duration(arg, &o->recording.duration))
			FAIL("%s is no duration: seconds, or with s, ms, m or h", arg);
		break;
	case 'o':
	case OPTION_FILE:
		o->file = arg;
		break;
	case 'f':
		o->format = arg;
		return check_word(key, "format", arg, state);
	case 'm':
		if (words__add(&o->modes, arg))
			return out_of_memory(state);
		break;
	case OPTION_UNIT:
		o->unit = arg;
		return check_word(key, "unit", arg, state);
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
		err = mode_options__parse(o, key, arg, state);
		return err == ARGP_ERR_UNKNOWN ? selection_options__parse(&o->selection, key, arg, state) : err;
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
