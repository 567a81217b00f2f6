/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/text.h"
#include "cli/messages.h"
#include "cli/mode_options.h"
#include "source/mode.h"
#include "source/source.h"

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
	  "(default: " STRING(RATE_DEFAULT) ")", 0 },
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
	{ "threads", 't', NULL, 0, "show the thread as an outermost frame", 0 },
	{ "lines", 'l', NULL, 0, "tell frames apart by the line that runs", 0 },
	{ "top", OPTION_TOP, "N", 0, "rows of each table of the summary "
	  "(default: " STRING(TOP_DEFAULT) ")", 0 },
	{ "quiet", 'q', NULL, 0, "no live line, no summary", 0 },
	{ NULL, 0, NULL, 0, "Other:", -1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 }
};

static const char *format_name(int i)
{
	return output_formats[i] ? output_formats[i]->name : NULL;
}

static const char *timer_name(int i)
{
	return i < TIMER_KINDS ? timer_names[i] : NULL;
}

static const char *group_name(int i)
{
	return i + 1 < GROUP_KEYS ? group_names[i + 1] : i + 1 == GROUP_KEYS ? "none" : NULL;
}

static const char *mode_name(int i)
{
	return modes[i] ? modes[i]->name : NULL;
}

/* The values that an option takes; NULL: any. */
static const char *(*values(int key))(int)
{
	switch (key) {
	case 'f':
		return format_name;
	case OPTION_TIMER:
		return timer_name;
	case OPTION_GROUP_BY:
		return group_name;
	case 'm':
		return mode_name;
	case OPTION_UNIT:
		return unit__name;
	case OPTION_STATE:
		return state__name;
	}
	return NULL;
}

/* "a, b or c" */
static void add_list(struct text *out, const char *(*name)(int))
{
	for (int i = 0; name(i); i++)
		text__addf(out, "%s%s", !i ? "" : name(i + 1) ? ", " : " or ", name(i));
}

char *options__text(int key, const char *text, void *input)
{
	const char *at = text ? strstr(text, "%s") : NULL;
	struct text out = { 0 };
	char *result;

	(void)input;
	if (!at || !values(key))
		return (char *)(uintptr_t)text;
	text__addf(&out, "%.*s", (int)(at - text), text);
	add_list(&out, values(key));
	text__adds(&out, at + 2);
	result = out.failed ? NULL : strdup(out.data);
	text__free(&out);
	return result ? result : (char *)(uintptr_t)text;
}

/* What the parser knows besides the options. */
struct parse {
	struct options *options;
	bool implied;		/* `record` was left out */
	bool grouped;		/* --group-by was given */
	bool threads;
};

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

static error_t not_one_of(int key, const char *what, const char *arg, struct argp_state *state)
{
	struct text list = { 0 };

	add_list(&list, values(key));
	argp_error(state, "%s is no %s: %s", arg, what, list.failed ? "" : list.data);
	text__free(&list);
	return EINVAL;
}

static bool has_mode(const struct settings *s, const struct mode *mode)
{
	for (uint32_t i = 0; i < s->mode_count; i++)
		if (s->modes[i] == mode)
			return true;
	return false;
}

/* All is known.  Do the parts fit together? */
static error_t finish(struct parse *parse, struct argp_state *state)
{
	struct options *o = parse->options;
	struct settings *settings = &o->settings;
	error_t err;

	err = selection_options__finish(&o->selection, "profile", o->command, state);
	if (!err)
		err = mode_options__finish(o, state);
	if (err)
		return err;
	if (!settings->mode_count)
		settings->modes[settings->mode_count++] = &mode_cpu;
	if (settings->alloc_interval && !has_mode(settings, &mode_alloc))
		FAIL("--alloc-interval is for allocations: add --mode alloc");
	if (!settings->alloc_interval)
		settings->alloc_interval = RB_DEBUG_EXT_ALLOC_INTERVAL;
	for (uint32_t i = 0; o->unit && i < settings->mode_count; i++)
		if (!unit__fits(o->unit, settings->modes[i]))
			FAIL("--unit %s: mode %s counts %s", o->unit->name, settings->modes[i]->name,
			     unit__all_of(settings->modes[i]));
	if (!o->format && o->file)
		o->format = output__by_path(o->file);
	if (o->format && o->format->one_mode && settings->mode_count > 1)
		FAIL("--format %s has place for one mode: record the modes one after the other, or choose "
		     "another format, such as folded or speedscope", o->format->name);
	if (!o->file && o->format && o->format != &output_summary)
		FAIL("where to? --format %s needs -o FILE", o->format->name);
	selection_options__fill(&o->selection, &settings->selection);
	settings->group_by_default = !parse->grouped;
	/* Who names the key wants each thread. */
	settings->groups.patterns_allowed = !groups__has(&settings->groups, GROUP_THREAD);
	if (parse->threads && !groups__has(&settings->groups, GROUP_THREAD_PATTERN))
		groups__add(&settings->groups, GROUP_THREAD);
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
		if (value__rate(arg, &o->settings.rate))
			FAIL("%s is no rate: 1 to %u per second, or with k", arg, SOURCE_RATE_MAX);
		break;
	case OPTION_TIMER:
		if (timer__by_name(arg, &o->settings.timer))
			return not_one_of(key, "timer", arg, state);
		break;
	case OPTION_ALLOC_INTERVAL:
		if (value__size(arg, &o->settings.alloc_interval))
			FAIL("%s is no distance of samples: 1k to 1G bytes", arg);
		break;
	case 'd':
		if (value__duration(arg, &o->settings.duration))
			FAIL("%s is no duration: seconds, or with s, ms, m or h", arg);
		break;
	case 'o':
	case OPTION_FILE:
		o->file = arg;
		break;
	case 'f':
		o->format = output__by_name(arg);
		if (!o->format)
			return not_one_of(key, "format", arg, state);
		break;
	case 'm':
		if (modes__parse(arg, o->settings.modes, &o->settings.mode_count))
			return not_one_of(key, "list of different modes", arg, state);
		break;
	case OPTION_UNIT:
		o->unit = unit__by_name(arg);
		if (!o->unit)
			return not_one_of(key, "unit", arg, state);
		break;
	case OPTION_GROUP_BY:
		if (groups__parse(arg, &o->settings.groups))
			return not_one_of(key, "list of different keys", arg, state);
		parse->grouped = true;
		break;
	case 't':
		parse->threads = true;
		break;
	case 'l':
		o->settings.lines = true;
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
	o->settings.size = sizeof(o->settings);
	o->settings.rate = RATE_DEFAULT;
	o->settings.interrupt_fd = -1;
	o->top = TOP_DEFAULT;
	if (flags & OPTIONS_QUIETLY)
		argp_flags |= ARGP_NO_EXIT | ARGP_NO_ERRS;
	argp_err_exit_status = STATUS_USAGE;
	err = argp_parse(&argp, argc, argv, argp_flags, NULL, &parse);
	if (err)
		return -err;
	o->settings.labels = o->format ? o->format->labels : 0;
	length = o->file ? strlen(o->file) : 0;
	o->html = length > 4 && (!strcasecmp(o->file + length - 4, "html") ||
				 !strcasecmp(o->file + length - 4, ".htm"));
	return 0;
}

void options__free(struct options *o)
{
	selection_options__free(&o->selection);
}
