/* SPDX-License-Identifier: BSD-2-Clause */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "wire/sample.h"

#ifndef EXTPROF_VERSION
#define EXTPROF_VERSION "unknown"
#endif

#define STRING_(x) #x
#define STRING(x) STRING_(x)

const char *argp_program_version = "extprof " EXTPROF_VERSION
	" (debugging interface " STRING(RB_DEBUG_EXT_ABI_MAJOR) "." STRING(RB_DEBUG_EXT_ABI_MINOR) ")";

/* The first one is meant when none is named. */
static const struct command *const commands[] = { &command_record };

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[1], commands[i]->name))
			return commands[i]->run(argc - 1, argv + 1);
	return commands[0]->run(argc, argv);
}
