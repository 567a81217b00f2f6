/* SPDX-License-Identifier: BSD-2-Clause */
/* The subcommands.  They and main print; nothing below them does. */
#ifndef EXTPROF_COMMAND_H
#define EXTPROF_COMMAND_H

struct command {
	const char *name;
	/* argv[0] is how to call it in messages.  Returns the exit status. */
	int (*run)(int argc, char **argv);
};

extern const struct command command_record;

#endif /* EXTPROF_COMMAND_H */
