/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that the virtual tables of a recording share. */
#ifndef EXTPROF_RECORDING_VTAB_H
#define EXTPROF_RECORDING_VTAB_H

#include <string.h>

#include "recording/sqlite.h"

/* Declare a table that reads the database of its connection only, so a view may use it.  `size`: of the structure that begins with
 * a sqlite3_vtab, and is zero but for that.  SQLITE_OK, or SQLite's error. */
static inline int vtab__make(sqlite3 *db, const char *declaration, size_t size, sqlite3_vtab **vtab)
{
	int code = sqlite3_declare_vtab(db, declaration);

	if (code != SQLITE_OK)
		return code;
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	*vtab = sqlite3_malloc64(size);
	if (!*vtab)
		return SQLITE_NOMEM;
	memset(*vtab, 0, size);
	return SQLITE_OK;
}

static inline int vtab__disconnect(sqlite3_vtab *vtab)
{
	sqlite3_free(vtab);
	return SQLITE_OK;
}

#endif /* EXTPROF_RECORDING_VTAB_H */
