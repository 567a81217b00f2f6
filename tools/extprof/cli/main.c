/* SPDX-License-Identifier: BSD-2-Clause */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/environment.h"
#include "cli/messages.h"
#include "ruby/debug_external.h"

#ifndef EXTPROF_VERSION
#define EXTPROF_VERSION "unknown"
#endif

#define STRING_(x) #x
#define STRING(x) STRING_(x)

const char *argp_program_version = "extprof " EXTPROF_VERSION
	" (debugging interface " STRING(RB_DEBUG_EXT_ABI_MAJOR) "." STRING(RB_DEBUG_EXT_ABI_MINOR) ")";

/* The first one is meant when none is named. */
const struct command *const commands[] = { &command_record, &command_top, &command_dump, &command_stat,
					   &command_doctor, &command_report, &command_diff, &command_annotate, &command_heatmap, &command_sql, &command_verify, &command_redact, &command_mcp,
					   &command_daemon, &command_push, &command_serve, NULL };

/* To be freed never: it is the argv[0] of the rest of the run. */
static char *full_name(const struct command *c)
{
	char *name;

	if (asprintf(&name, "extprof %s", c->name) < 0) {
		fprintf(stderr, "extprof: out of memory\n");
		exit(STATUS_INTERNAL);
	}
	return name;
}

static int help(void)
{
	printf("Usage: extprof COMMAND [OPTION...]\n"
	       "  or:  extprof OPTION...             the same as extprof %s OPTION...\n"
	       "Profile running Ruby programs from outside.\n"
	       "\n"
	       "Commands:\n", commands[0]->name);
	for (int i = 0; commands[i]; i++)
		printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
	printf("  %-10s %s\n"
	       "\n"
	       "Examples:\n"
	       "  extprof -p 1234                 profile a process until Ctrl-C\n"
	       "  extprof record -- ruby app.rb   run a program and profile it\n"
	       "  extprof help %-18s the options of a command\n"
	       "\n"
	       "See extprof(1).\n", "help", "show this, or the options of a command",
	       commands[0]->name);
	return message__flush(STATUS_OK);
}

static int no_command(const char *word, int argc, char **argv)
{
	const struct command *nearest = command__nearest(word);

	fprintf(stderr, "extprof: \"%s\" is no command", word);
	if (nearest)
		fprintf(stderr, ": did you mean `extprof %s'?\n", nearest->name);
	else
		fprintf(stderr, "\nextprof: to run and profile the program %s: "
			"extprof record -- %s%s\n", word, word, argc > 1 && argv ? " ..." : "");
	fprintf(stderr, "Try `extprof --help' for the commands.\n");
	return STATUS_USAGE;
}

static int run(const struct command *c, int argc, char **argv, bool implied)
{
	/* `doctor` tries what the kernel takes. */
	const struct power_needs needs = {
		.processes = c->power == POWER_PROCESSES, .kernel = c == &command_doctor,
		.nothing = c->power == POWER_NONE,
	};

	if (c->power != POWER_RUN)
		power__give_back(&needs);
	argv[0] = full_name(c);
	return c->run(argc, argv, implied);
}

/* For completions: the commands, or the options of one. */
static int list(const char *name)
{
	const struct command *c = name ? command__by_name(name) : NULL;

	if (c && c->line)
		options__list(c->line, stdout);
	else if (c)
		few_options__list(c->few, stdout);
	for (int i = 0; !name && commands[i]; i++)
		printf("%s\t%s\n", commands[i]->name, commands[i]->summary);
	return message__flush(c || !name ? STATUS_OK : STATUS_USAGE);
}

static int help_of(int argc, char **argv)
{
	static char option[] = "--help";
	char *arguments[] = { NULL, option, NULL };
	const struct command *c;

	if (argc < 2)
		return help();
	if (!strcmp(argv[1], "--list"))
		return list(argc > 2 ? argv[2] : NULL);
	c = command__by_name(argv[1]);
	if (!c)
		return strcmp(argv[1], "help") ? no_command(argv[1], 1, NULL) : help();
	return run(c, 2, arguments, false);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	const struct command *c;

	if (environment__prepare()) {
		fprintf(stderr, "extprof: cannot open /dev/null in place of a closed standard input or output\n");
		return STATUS_INTERNAL;
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "-?"))
		return help();
	if (!strcmp(word, "help"))
		return help_of(argc - 1, argv + 1);
	c = command__by_name(word);
	if (c)
		return run(c, argc - 1, argv + 1, false);
	if (*word && *word != '-')
		return no_command(word, argc - 1, argv + 1);
	return run(commands[0], argc, argv, true);
}
