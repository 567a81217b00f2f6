/* SPDX-License-Identifier: BSD-2-Clause */
/* How a process comes to extprof: its descriptors, and its environment. */
#ifndef EXTPROF_ENVIRONMENT_H
#define EXTPROF_ENVIRONMENT_H

#include <stdbool.h>

/*
 * The first thing in main().  Descriptors 0 to 2 that are closed are opened on /dev/null, so that no file of extprof's
 * gets their numbers; what is written to them still fails.  If extprof has rights that its user does not have (sudo,
 * file capabilities), variables by which a library would choose a file are taken away.  The limit of open files is
 * raised to the hard limit: each process that is profiled takes several.  0 or -errno.
 */
int environment__prepare(void);
/* Is the standard output a terminal that takes colors, and does its user want them? */
bool environment__has_color(void);
/* The whole environment that extprof was started with, for COMMAND. */
extern char **environment__of_command;
/* Give back the limit of open files, in the child that becomes COMMAND. */
void environment__restore_limit(void);

#endif /* EXTPROF_ENVIRONMENT_H */
