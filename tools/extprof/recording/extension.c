/* SPDX-License-Identifier: BSD-2-Clause */
/* extprof-sqlite.so: "SELECT load_extension('extprof-sqlite')" gives its connection the table `samples`. */
#ifdef EXTPROF_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include "recording/samples_table.h"

/* SQLite derives this name from that of the file. */
__attribute__((visibility("default")))
int sqlite3_extprofsqlite_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);
int sqlite3_extprofsqlite_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
	(void)message;
	SQLITE_EXTENSION_INIT2(api);
	return samples_table__register(db);
}
#endif
