/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording as SQL sees it: a virtual table `samples`, one row a sample with its names, and functions of stacks and
 * labels.  extprof has it built in; extprof-sqlite.so gives it to other programs with SQLite.
 */
#ifndef EXTPROF_RECORDING_SAMPLES_TABLE_H
#define EXTPROF_RECORDING_SAMPLES_TABLE_H

#include "recording/sqlite.h"

/* Add the table and the functions to a connection, and temporary views that answer questions by name.  SQLITE_OK, or
 * what went wrong. */
int samples_table__register(sqlite3 *db);

/* The names and statements of these views; ends with NULL. */
extern const char *const samples_views[][2];

#endif /* EXTPROF_RECORDING_SAMPLES_TABLE_H */
