/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording/schema.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

const char *const recording_schema[] = {
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID",
	"CREATE TABLE modes(id INTEGER PRIMARY KEY, name TEXT, value_name TEXT, value_unit TEXT, count_name TEXT, "
	"count_unit TEXT, source TEXT)",
	"CREATE TABLE kinds(id INTEGER PRIMARY KEY, name TEXT, code INTEGER)",
	"CREATE TABLE states(id INTEGER PRIMARY KEY, name TEXT)",
	"CREATE TABLE strings(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
	"CREATE TABLE processes(id INTEGER PRIMARY KEY, frame INTEGER, pid INTEGER, parent INTEGER, uid INTEGER, "
	"command INTEGER, ruby INTEGER, cgroup INTEGER, ended INTEGER, flags INTEGER, began_ns INTEGER, "
	"ended_ns INTEGER, cpu_ns INTEGER, cpu_unfollowed_ns INTEGER, cpu_samples INTEGER)",
	"CREATE TABLE threads(id INTEGER PRIMARY KEY, process INTEGER, frame INTEGER)",
	"CREATE TABLE frames(id INTEGER PRIMARY KEY, kind INTEGER, name INTEGER, path INTEGER, line INTEGER, "
	"first_line INTEGER, exact INTEGER, module INTEGER, address INTEGER, key INTEGER, wider INTEGER, "
	"number INTEGER, known INTEGER, role INTEGER, state INTEGER, missing INTEGER, bracketed INTEGER)",
	"CREATE TABLE stacks(id INTEGER PRIMARY KEY, parent INTEGER, frame INTEGER)",
	"CREATE TABLE blocks(id INTEGER PRIMARY KEY, first_ns INTEGER, last_ns INTEGER, samples INTEGER, data BLOB)",
	"CREATE TABLE pauses(id INTEGER PRIMARY KEY, time_ns INTEGER, thread INTEGER, length_ns INTEGER, "
	"waited_ns INTEGER, mark_ns INTEGER, sweep_ns INTEGER, compact_ns INTEGER, major INTEGER, reason INTEGER, cause INTEGER)",
	"CREATE TABLE events(id INTEGER PRIMARY KEY, time_ns INTEGER, process INTEGER, kind INTEGER, text INTEGER, "
	"number INTEGER)",
	"CREATE TABLE thread_accounts(id INTEGER PRIMARY KEY, process INTEGER, tid INTEGER, serial INTEGER, "
	"name INTEGER, comm INTEGER, first_ns INTEGER, until_ns INTEGER, ended INTEGER, voluntary INTEGER, "
	"involuntary INTEGER, threads INTEGER)",
	"CREATE TABLE thread_states(account INTEGER, state INTEGER, ns INTEGER, waits INTEGER, "
	"PRIMARY KEY(account, state)) WITHOUT ROWID",
	"CREATE TABLE sources(id INTEGER PRIMARY KEY, path INTEGER, size INTEGER, time_ns INTEGER, hash INTEGER, length INTEGER, "
	"data BLOB)",
	"CREATE TABLE figures(id INTEGER PRIMARY KEY, time_ns INTEGER, process INTEGER, resident INTEGER)",
	"CREATE TABLE heaps(id INTEGER PRIMARY KEY, time_ns INTEGER, process INTEGER, live_slots INTEGER, slots INTEGER, "
	"bytes INTEGER, malloc_bytes INTEGER)",
	"CREATE TABLE accounts(process INTEGER, mode INTEGER, reason TEXT, samples INTEGER, "
	"PRIMARY KEY(process, mode, reason)) WITHOUT ROWID",
	NULL
};

static bool is_full(int err)
{
	return err == ENOSPC || err == EDQUOT;
}

/* On a full disk SQLite reports a plain error where it grows the memory that users of the file share, and where it makes a file.
 * The errno tells that there was no room. */
static int system_error(sqlite3 *db, int other)
{
	int err = db ? sqlite3_system_errno(db) : 0;

	return is_full(err) ? err : other;
}

int schema__fail(sqlite3 *db, int code, enum diag_code diag, const char *what, struct diag *d)
{
	int err = EBADMSG;

	switch (code & 0xff) {
	case SQLITE_NOMEM: err = ENOMEM; break;
	case SQLITE_FULL: err = ENOSPC; break;
	case SQLITE_IOERR: err = system_error(db, EIO); break;
	case SQLITE_CANTOPEN: err = system_error(db, ENOENT); break;
	case SQLITE_PERM:
	case SQLITE_READONLY: err = EACCES; break;
	case SQLITE_BUSY:
	case SQLITE_PROTOCOL:
	case SQLITE_LOCKED: err = EBUSY; break;
	case SQLITE_INTERRUPT: err = ETIME; break;
	}
	return diag__set(d, diag, err, "%s: %s", what, is_full(err) ? strerror(err) :
			 db && sqlite3_errcode(db) != SQLITE_OK && code != SQLITE_INTERRUPT ? sqlite3_errmsg(db) : sqlite3_errstr(code));
}

/* Which statement makes it?  -1: none of ours. */
static int find_statement(const char *sql)
{
	for (int i = 0; sql && recording_schema[i]; i++)
		if (!strcmp(recording_schema[i], sql))
			return i;
	return -1;
}

/* Is the table newer than that version? */
static bool is_newer(const char *sql, int version)
{
	return (version < 2 && !strncmp(sql, "CREATE TABLE sources(", 21)) ||
	       (version < 5 && !strncmp(sql, "CREATE TABLE figures(", 21)) ||
	       (version < 6 && !strncmp(sql, "CREATE TABLE heaps(", 19));
}

int schema__check(sqlite3 *db, int version, struct diag *d)
{
	sqlite3_stmt *s = NULL;
	uint32_t seen = 0;
	int code, err = 0;

	code = sqlite3_prepare_v2(db, "SELECT type, name, sql FROM sqlite_schema", -1, &s, NULL);
	while (!err && code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		const char *type = (const char *)sqlite3_column_text(s, 0);
		const char *name = (const char *)sqlite3_column_text(s, 1);
		const char *sql = (const char *)sqlite3_column_text(s, 2);
		int number;

		code = SQLITE_OK;
		/* An index without a text is that of a key of a table. */
		if (type && name && !strcmp(type, "index") && !sql && !strncmp(name, "sqlite_autoindex_", 17))
			continue;
		number = type && !strcmp(type, "table") ? find_statement(sql) : -1;
		if (number < 0 || seen & 1u << number || is_newer(sql, version))
			err = diag__set(d, DIAG_RECORDING, EBADMSG, "it is no recording of this extprof: its %s "
					"\"%s\" is not as expected", type ? type : "object", name ? name : "");
		else
			seen |= 1u << number;
	}
	if (!err && code != SQLITE_DONE)
		err = schema__fail(db, code, DIAG_RECORDING, "its tables cannot be read", d);
	sqlite3_finalize(s);
	for (int i = 0; !err && recording_schema[i]; i++)
		if (!(seen & 1u << i) && !is_newer(recording_schema[i], version))
			err = diag__set(d, DIAG_RECORDING, EBADMSG, "it is no whole recording: a table is missing");
	return err;
}
