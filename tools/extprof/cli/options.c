/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/options.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "cli/messages.h"
#include "source/session.h"

enum {
	OPTION_FILE = 0x100,
	OPTION_TOP,
	OPTION_KEEP_ROOT,
	OPTION_TIMER,
};

static const char doc[] =
	"Profile a running Ruby program from outside: which methods use the CPU.\n"
	"\v"
	"Examples:\n"
	"  extprof -p 1234                    until Ctrl-C, then tables on the terminal\n"
	"  extprof -p 1234 -d 10 -o app.svg   ten seconds, as a flame graph\n"
	"  extprof record -- ruby app.rb      run a program and profile all of it\n"
	"  extprof -p 1234 -d 5s -o - | less  stacks in folded form on stdout\n"
	"\n"
	"The program must be run by a ruby with the external debugging interface.  "
	"Nothing runs inside of it, and it need not be prepared or restarted.\n"
	"\n"
	"Needs root, or the capabilities CAP_BPF and CAP_PERFMON, and CAP_SYS_PTRACE for "
	"processes of other users.\n"
	"\n"
	"Exit status: 0, or that of COMMAND; 64 usage, 65 not a ruby, 66 no such process, "
	"69 a ruby without the interface, 70 internal error, 71 kernel without BPF or BTF, "
	"73 output not writable, 75 not ready, 76 interface version not supported, "
	"77 no permission, 127 COMMAND cannot be run.  See extprof(1).";

static const struct argp_option option_table[] = {
	{ NULL, 0, NULL, 0, "What to profile:", 1 },
	{ "pid", 'p', "PID", 0, "the process with this pid", 0 },
	{ "rate", 'r', "N", 0, "samples per second and CPU; 10k or 10khz is 10000 (default: 99)", 0 },
	{ NULL, 'F', "N", 0, "the same as --rate, as in perf", 0 },
	{ "timer", OPTION_TIMER, "TIMER", 0, "what takes the samples: clock, timers of our own, or "
	  "tick, the scheduler's tick, which needs no interrupts of ours (default: clock)", 0 },
	{ "duration", 'd', "TIME", 0, "stop after so long: 10, 10s, 500ms, 2m, 1h "
	  "(default: at Ctrl-C, or when the process ends)", 0 },
	{ "keep-root", OPTION_KEEP_ROOT, NULL, 0, "under sudo, run COMMAND as root too; "
	  "without this it runs as the user who called sudo", 0 },
	{ NULL, 0, NULL, 0, "What to show:", 2 },
	{ "output", 'o', "FILE", 0, "write the profile to FILE; - is stdout", 0 },
	{ "file", OPTION_FILE, "FILE", 0, "the same as --output", 0 },
	{ "format", 'f', "FORMAT", 0, "folded, flamegraph or summary (default: by the suffix of "
	  "FILE: .svg and .html flamegraph, else folded)", 0 },
	{ "threads", 't', NULL, 0, "show the thread as the outermost frame", 0 },
	{ "lines", 'l', NULL, 0, "tell frames apart by the line that runs", 0 },
	{ "top", OPTION_TOP, "N", 0, "rows of each table of the summary (default: 20)", 0 },
	{ "quiet", 'q', NULL, 0, "no live line, no summary", 0 },
	{ NULL, 0, NULL, 0, "Other:", -1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 }
};

/* A number and what follows it; NULL if there is no number. */
static const char *number(const char *text, double *value)
{
	char *end;

	/* strtod takes nan, inf and hexadecimal as well: not here. */
	if (!(*text >= '0' && *text <= '9') && *text != '.')
		return NULL;
	errno = 0;
	*value = strtod(text, &end);
	if (end == text || errno || !isfinite(*value) ||
	    strspn(text, "0123456789.") < (size_t)(end - text))
		return NULL;
	while (*end == ' ')
		end++;
	return end;
}

int options__rate(const char *text, uint32_t *rate)
{
	double value;
	const char *unit = number(text, &value);

	if (!unit)
		return -EINVAL;
	if (*unit == 'k' || *unit == 'K') {
		value *= 1000;
		unit++;
	}
	if (*unit && strcasecmp(unit, "hz"))
		return -EINVAL;
	if (value < 1 || value > SESSION_RATE_MAX || value != floor(value))
		return -EINVAL;
	*rate = (uint32_t)value;
	return 0;
}

int options__duration(const char *text, uint64_t *duration)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {
		{ "", 1 }, { "s", 1 }, { "sec", 1 }, { "ms", 1e-3 }, { "m", 60 }, { "min", 60 },
		{ "h", 3600 },
	};
	double value;
	const char *unit = number(text, &value);

	for (size_t i = 0; unit && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].unit))
			continue;
		value *= units[i].seconds;
		/* At least 1 ms, at most a year. */
		if (value < 1e-3 || value > 366 * 86400.0)
			return -EINVAL;
		*duration = (uint64_t)(value * 1e9);
		return 0;
	}
	return -EINVAL;
}

int options__pid(const char *text, pid_t *pid)
{
	unsigned long value;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoul(text, &end, 10);
	/* PID_MAX_LIMIT of the kernel */
	if (errno || *end || value < 1 || value > 4 << 20)
		return -EINVAL;
	*pid = (pid_t)value;
	return 0;
}

/* argp_error() returns if argp may not exit. */
#define FAIL(...) do { argp_error(state, __VA_ARGS__); return EINVAL; } while (0)

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	unsigned long top;
	char *end;

	switch (key) {
	case 'h':
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
		break;
	case 'p':
		if (options__pid(arg, &o->pid))
			FAIL("%s is no pid", arg);
		break;
	case 'r':
	case 'F':
		if (options__rate(arg, &o->rate))
			FAIL("%s is no rate: 1 to %u per second, or with k", arg,
				   SESSION_RATE_MAX);
		break;
	case OPTION_TIMER:
		if (timer__by_name(arg, &o->timer))
			FAIL("%s is no timer: clock or tick", arg);
		break;
	case 'd':
		if (options__duration(arg, &o->duration))
			FAIL("%s is no duration: seconds, or with s, ms, m or h", arg);
		break;
	case 'o':
	case OPTION_FILE:
		o->file = arg;
		break;
	case 'f':
		o->format = output__by_name(arg);
		if (!o->format)
			FAIL("%s is no format: folded, flamegraph or summary", arg);
		break;
	case 't':
		o->threads = true;
		break;
	case 'l':
		o->lines = true;
		break;
	case 'q':
		o->quiet = true;
		break;
	case OPTION_KEEP_ROOT:
		o->keep_root = true;
		break;
	case OPTION_TOP:
		top = strtoul(arg, &end, 10);
		if (*arg < '0' || *arg > '9' || *end || top < 1 || top > 100000)
			FAIL("%s is no number of rows", arg);
		o->top = (unsigned int)top;
		break;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		break;
	case ARGP_KEY_END:
		if (!o->pid && !o->command)
			FAIL("what is to be profiled? -p PID, or -- COMMAND");
		if (o->pid && o->command)
			FAIL("-p PID and a command exclude each other: %s",
				   o->command[0]);
		if (!o->file && o->format && o->format != &output_summary)
			FAIL("where to? --format %s needs -o FILE", o->format->name);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int options__parse(struct options *o, int argc, char **argv, bool quietly)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = parse_option,
		.args_doc = "-p PID\n[record] [--] COMMAND [ARGUMENT...]",
		.doc = doc,
	};
	unsigned int flags = ARGP_IN_ORDER;
	size_t length;
	int err;

	memset(o, 0, sizeof(*o));
	o->rate = RATE_DEFAULT;
	if (quietly)
		flags |= ARGP_NO_EXIT | ARGP_NO_ERRS;
	argp_err_exit_status = STATUS_USAGE;
	err = argp_parse(&argp, argc, argv, flags, NULL, o);
	if (err)
		return -err;
	if (o->file && !o->format)
		o->format = output__by_path(o->file);
	length = o->file ? strlen(o->file) : 0;
	o->html = length > 4 && (!strcasecmp(o->file + length - 4, "html") ||
				 !strcasecmp(o->file + length - 4, ".htm"));
	return 0;
}

void options__settings(const struct options *o, const pid_t *pid, struct settings *s)
{
	memset(s, 0, sizeof(*s));
	s->size = sizeof(*s);
	s->selection.pids = pid;
	s->selection.pid_count = 1;
	s->command = o->command != NULL;
	s->rate = o->rate;
	s->timer = o->timer;
	s->duration = o->duration;
	s->lines = o->lines;
	s->interrupt_fd = -1;
	s->labels = o->format ? o->format->labels : 0;
	s->group_by_default = true;
	s->groups.patterns_allowed = true;
	if (o->threads)
		groups__add(&s->groups, GROUP_THREAD);
}
