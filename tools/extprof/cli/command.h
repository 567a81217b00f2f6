/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of extprof, each a file in cli/ and a row in main.c.  Only cli/ prints. */
#ifndef EXTPROF_COMMAND_H
#define EXTPROF_COMMAND_H

#include <stdbool.h>

#include "cli/few_options.h"
#include "cli/options.h"
#include "cli/power.h"

struct command {
	const char *name;
	const char *summary;	/* for the list of commands */
	const struct command_line *line;	/* its options; NULL: they are `few` */
	const struct argp_option *few;
	/* argv[0] is how messages call the command.  `implied`: its name was left out. Returns the
	 * exit status. */
	int (*run)(int argc, char **argv, bool implied);
	enum power_time power;	/* 0: as POWER_FILES */
};

extern const struct command command_record, command_dump, command_stat, command_top, command_doctor, command_report, command_sql,
	command_verify, command_redact, command_diff, command_annotate, command_heatmap, command_mcp, command_daemon,
	command_push, command_serve;
/* All, ends with NULL.  The first one is meant when options come first. */
extern const struct command *const commands[];

/* NULL if there is none of that name. */
const struct command *command__by_name(const char *name);
/* The command whose name is nearest to a mistyped one; NULL if none is near. */
const struct command *command__nearest(const char *name);

#endif /* EXTPROF_COMMAND_H */
