/* SPDX-License-Identifier: BSD-2-Clause */
/* SQLite, as a library, or as the program that has loaded extprof-sqlite.so. */
#ifndef EXTPROF_RECORDING_SQLITE_H
#define EXTPROF_RECORDING_SQLITE_H

#ifdef EXTPROF_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

#endif /* EXTPROF_RECORDING_SQLITE_H */
