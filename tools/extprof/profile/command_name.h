/* SPDX-License-Identifier: BSD-2-Clause */
/* The name of a process, by its command line. */
#ifndef EXTPROF_COMMAND_NAME_H
#define EXTPROF_COMMAND_NAME_H

#include "base/text.h"

/*
 * Append what a user calls a process, from its whole (clean) command line: the file name of the script, or of the
 * program if there is no script.  `bundle exec X` is X.
 */
void command_name__add(const char *line, struct text *out);

#endif /* EXTPROF_COMMAND_NAME_H */
