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

#include <stdint.h>

/* An amount in a column of a row.  A negative number, which extprof never writes, becomes 0. */
static inline uint64_t row__amount(sqlite3_stmt *row, int column)
{
	int64_t number = sqlite3_column_int64(row, column);

	return number < 0 ? 0 : (uint64_t)number;
}

#endif /* EXTPROF_RECORDING_SQLITE_H */
