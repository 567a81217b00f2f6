/* SPDX-License-Identifier: BSD-2-Clause */
/* The virtual table `requests` of a recording: see requests.h and docs/requests.md. */
#ifndef EXTPROF_RECORDING_REQUESTS_TABLE_H
#define EXTPROF_RECORDING_REQUESTS_TABLE_H

#include "recording/sqlite.h"

/* On a connection that has a recording open.  An SQLite code. */
int requests_table__register(sqlite3 *db);

#endif /* EXTPROF_RECORDING_REQUESTS_TABLE_H */
