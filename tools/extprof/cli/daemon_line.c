/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of extprof daemon: those of the command line, and of the configuration those that it does not have. */
#include "cli/daemon_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/messages.h"
#include "daemon/stillness.h"

/* Parse the command line with the options of the configuration that it does not have itself. */
static int parse_with(struct options *o, const struct daemon_line *line, const struct options *given, const struct config *c)
{
	char **argv = calloc((size_t)line->argc + c->count + 1, sizeof(*argv));
	int argc = 0, err;

	if (!argv)
		return -ENOMEM;
	argv[argc++] = line->argv[0];
	for (unsigned int i = 0; i < c->count; i++)
		if (!given->values[c->list[i].id].given)
			argv[argc++] = c->list[i].argument;
	for (int i = 1; i < line->argc; i++)
		argv[argc++] = line->argv[i];
	err = options__parse(o, &command_line_daemon, argc, argv, OPTIONS_STAY);
	free(argv);
	return err;
}

static const char *config_path(const struct options *given)
{
	return given->values[OPTION_CONFIG].given ? given->values[OPTION_CONFIG].text : EXTPROF_CONFIG;
}

/* The options once more, of a configuration that has been read. */
static int repeat(struct options *o, const struct daemon_line *line, const struct config *config)
{
	struct options given;
	int err = options__parse(&given, &command_line_daemon, line->argc, line->argv, 0);

	if (!err)
		err = parse_with(o, line, &given, config);
	/* The command line alone was right. */
	if (err && config->count)
		fprintf(stderr, "extprof: the configuration is %s\n", config_path(&given));
	options__free(&given);
	return err;
}

/* Read the configuration that the command line names. */
static int read_config(struct config *config, const struct options *given)
{
	bool named = given->values[OPTION_CONFIG].given;
	const char *path = config_path(given);
	struct extprof_error e = { .size = sizeof(e) };
	char why[512];
	int err = config__read(config, path, OPTION_OF_DAEMON, why, sizeof(why));

	/* The usual one need not be there. */
	if (!err || (err == -ENOENT && !named))
		return 0;
	message__set(&e, EXTPROF_USAGE, -err, "%s: %s", path, why);
	message__fail(&e);
	return err;
}

/* stuck>TIME is told by what the scheduler counts. */
static int check_machine(struct options *o)
{
	struct extprof_error e = { .size = sizeof(e) };

	if (!*o->stuck || stillness__is_counted("/proc"))
		return 0;
	message__set(&e, EXTPROF_USAGE, ENOTSUP, "--trigger %s: this kernel does not count how long threads run (/proc/self/schedstat): it needs "
		     "CONFIG_SCHED_INFO, and an old one delayacct as an option of its command line", o->stuck);
	message__fail(&e);
	options__free(o);
	return -ENOTSUP;
}

int daemon_line__parse(struct options *o, const struct daemon_line *line, struct config *config)
{
	struct options given;
	int err = options__parse(&given, &command_line_daemon, line->argc, line->argv, 0);

	if (!err)
		err = read_config(config, &given);
	options__free(&given);
	if (!err)
		err = repeat(o, line, config);
	return err ? err : check_machine(o);
}

static bool has_argument(const struct config *c, const char *argument)
{
	for (unsigned int i = 0; i < c->count; i++)
		if (!strcmp(c->list[i].argument, argument))
			return true;
	return false;
}

/* Tell what is in one of them and not in the other; returns how much that is. */
static unsigned int tell_more(const struct options *given, const struct config *in, const struct config *not_in, const char *what)
{
	unsigned int count = 0;
	char text[512];

	for (unsigned int i = 0; i < in->count; i++) {
		if (has_argument(not_in, in->list[i].argument))
			continue;
		extprof_clean(text, sizeof(text), in->list[i].argument);
		fprintf(stderr, "extprof:   %s %s%s\n", what, text,
			given->values[in->list[i].id].given ? " (that of the command line counts)" : "");
		count++;
	}
	return count;
}

static void tell_changes(const struct daemon_line *line, const struct config *before, const struct config *now)
{
	struct options given;

	fprintf(stderr, "extprof: the configuration was read\n");
	if (!options__parse(&given, &command_line_daemon, line->argc, line->argv, 0) &&
	    !(tell_more(&given, before, now, "no longer in it:") + tell_more(&given, now, before, "now in it:")))
		fprintf(stderr, "extprof:   no line is another one\n");
	options__free(&given);
}

int daemon_line__parse_again(struct options *o, const struct daemon_line *line, struct config *config)
{
	struct config old = *config;
	int err;

	*config = (struct config){ 0 };
	err = daemon_line__parse(o, line, config);
	if (!err) {
		tell_changes(line, &old, config);
		config__free(&old);
		return 0;
	}
	config__free(config);
	*config = old;
	fprintf(stderr, "extprof: the configuration stays as it was\n");
	return repeat(o, line, config);
}
