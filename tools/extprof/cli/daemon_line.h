/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options of extprof daemon, from its command line and its configuration.  The options point to texts of both, which
 * therefore stay as long as the options.  Messages about errors are printed here.
 */
#ifndef EXTPROF_CLI_DAEMON_LINE_H
#define EXTPROF_CLI_DAEMON_LINE_H

#include "cli/options.h"
#include "daemon/config.h"

/* The command line as the daemon was started. */
struct daemon_line {
	int argc;
	char **argv;
};

/*
 * Parse the command line, read the configuration into *config, which is empty before, and parse both together.  0: the caller
 * frees *o.  Negative errno: *o is of no use.  The caller frees *config in both cases.
 */
int daemon_line__parse(struct options *o, const struct daemon_line *line, struct config *config);
/*
 * Read the configuration again, print which of its lines are new and which are gone, and parse both into *o.  If the new
 * configuration is wrong, the old one stays in *config and is used.  0 or negative errno as above.
 */
int daemon_line__parse_again(struct options *o, const struct daemon_line *line, struct config *config);

#endif /* EXTPROF_CLI_DAEMON_LINE_H */
