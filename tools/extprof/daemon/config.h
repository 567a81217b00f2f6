/* SPDX-License-Identifier: BSD-2-Clause */
/* Configuration files: the options of a command, a line for each, without the two dashes: "rate = 19". */
#ifndef EXTPROF_DAEMON_CONFIG_H
#define EXTPROF_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "options/table.h"

#define CONFIG_OPTIONS_MAX 100
#define CONFIG_SIZE_MAX 65536

/* Zero-initialise. */
struct config {
	struct config_option {
		enum option_id id;
		char *argument;		/* "--rate=19", for a command line */
	} list[CONFIG_OPTIONS_MAX];
	unsigned int count;
};

/*
 * Read a file.  A line is empty, or begins with #, or is NAME = VALUE; a flag is NAME alone, or NAME = true or false.  Values
 * are checked when the command line is parsed.  `command`: OPTION_OF_..., which has to have the options.
 * For root the file has to be root's, and nobody else may be able to write to it.
 * 0 or negative errno, and `why` says what is wrong: "line 3: ...".  The caller frees in both cases.
 */
int config__read(struct config *c, const char *path, unsigned int command, char *why, size_t size);
void config__free(struct config *c);

#endif /* EXTPROF_DAEMON_CONFIG_H */
