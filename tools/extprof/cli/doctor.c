/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof doctor: a line for each thing that decides what extprof can do here. */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/environment.h"
#include "cli/messages.h"
#include "cli/recorded.h"
#include "cli/wrap.h"

struct doctor {
	bool color;
	int code;	/* enum extprof_code of the first thing about the machine that is bad */
	bool rubies;	/* one at least can be profiled */
};

/* One that was too long for its buffer ends all the same. */
static void write_line(const char *line)
{
	wrap__write(line, recorded__width(), stdout);
	putchar('\n');
}

static void show(void *context, const struct extprof_check *c)
{
	static const char *const verdicts[] = { "ok", "note", "BAD" };
	static const char *const colors[] = { "\033[32m", "\033[33m", "\033[31m" };
	struct doctor *d = context;
	char line[4096];

	snprintf(line, sizeof(line), "%s%-4s%s  %-14s  %s", d->color ? colors[c->verdict] : "", verdicts[c->verdict],
		 d->color ? "\033[0m" : "", c->name, c->text);
	write_line(line);
	if (c->advice[0]) {
		snprintf(line, sizeof(line), "      %-14s  -> %s", "", c->advice);
		write_line(line);
	}
	if (c->verdict == EXTPROF_CHECK_BAD && !c->pid && !d->code)
		d->code = c->code;
	if (c->verdict == EXTPROF_CHECK_GOOD && c->pid)
		d->rubies = true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	argp_error(state, "it takes no arguments");
	return EINVAL;
}

static int doctor(int argc, char **argv, bool implied)
{
	static const struct argp argp = {
		.parser = parse,
		.doc = "Show what extprof can do on this machine, and which rubies it can profile.\v"
		       "Exit status: 0 if the kernel can sample and a ruby has the interface; 69 if no ruby has "
		       "it; 71 or 77 if the kernel cannot sample, or may not.",
	};
	struct doctor d = { .color = environment__has_color() };
	struct extprof_error e = { .size = sizeof(e) };

	(void)implied;
	argp_err_exit_status = STATUS_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, NULL))
		return STATUS_USAGE;
	if (extprof_doctor(show, &d, &e))
		return message__fail(&e);
	return message__flush(d.code ? (int)message__status(d.code) : d.rubies ? STATUS_OK : STATUS_NO_INTERFACE);
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "show what extprof can do here, and which rubies it can profile",
	.few = few_options_none,
	.run = doctor,
	.power = POWER_PROCESSES,
};
