/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes rights away from a command that reads recordings or a core file, since others may have made the files. */
#ifndef EXTPROF_CLI_CONFINED_H
#define EXTPROF_CLI_CONFINED_H

#include <stdbool.h>

#include "cli/options.h"

struct confined {
	const char *const *inputs;	/* files and folders that are read */
	unsigned int input_count;
	const char *const *outputs;	/* files that are written; NULL and "-": stdout */
	unsigned int output_count;
	bool files;			/* files anywhere are read, too, by helpers: source, programs and their debug information */
};

/*
 * For good.  Files are written and made in the folders of the outputs and of the recordings alone: SQLite needs one beside a
 * recording that has not ended.  Where a link of somebody else leads to, nothing is written.  Without `files` they are read there,
 * and where the C library has its own.  A kernel without Landlock or seccomp refuses less.  The exit status; a message was printed.
 */
int confined__enter(const struct confined *c);
/* The same of a command whose inputs and outputs are in the options. */
int confined__by_options(const struct options *o, bool files);

#endif /* EXTPROF_CLI_CONFINED_H */
