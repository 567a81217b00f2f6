/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations for the files recording/samples_*.c: samples_table.c reads blocks and goes from sample to sample,
 * samples_columns.c gives the values of one, samples_functions.c has the functions.  Times are CLOCK_MONOTONIC, ns.
 */
#ifndef EXTPROF_RECORDING_SAMPLES_PARTS_H
#define EXTPROF_RECORDING_SAMPLES_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "recording/block.h"
#include "recording/sqlite.h"
#include "recording/tables.h"

/* In the order of the declaration in samples_table.c. */
enum column {
	COLUMN_TIME, COLUMN_SECONDS, COLUMN_MODE, COLUMN_PROCESS, COLUMN_PID, COLUMN_COMMAND, COLUMN_THREAD, COLUMN_TID,
	COLUMN_THREAD_NAME, COLUMN_STATE, COLUMN_METHOD, COLUMN_PATH, COLUMN_LINE, COLUMN_BELOW, COLUMN_VALUE,
	COLUMN_COUNT, COLUMN_STACK, COLUMN_LABELS, COLUMN_FIBER, COLUMN_CGROUP,
	COLUMN_REVISION, COLUMN_RUBY_METHOD, COLUMN_RUBY_PATH, COLUMN_RUBY_LINE, COLUMN_TRACE, COLUMN_SPAN
};

/* Data of a connection about the recording that it has opened.  SQLite frees it with the connection. */
struct samples_module {
	sqlite3 *db;
	struct recording_tables tables;
	bool loaded;
	int64_t version;	/* PRAGMA data_version, when the tables were loaded */
	int64_t begin;		/* time of the begin of the recording */
	uint32_t cursors;	/* that are open: the tables stay */
};

struct samples_vtab {
	sqlite3_vtab base;
	struct samples_module *module;
};

struct samples_cursor {
	sqlite3_vtab_cursor base;
	sqlite3_stmt *blocks;
	struct block_codec codec;
	long count, at;		/* of the block that is decoded */
	int64_t low, high;	/* times that are wanted */
	int64_t rowid;
	bool end;
};

/*
 * Load the tables as they are now, unless they are those that are loaded, or a cursor reads those.  0, or negative errno with
 * *message, which the caller frees by sqlite3_free(); NULL: there was no memory for it.
 */
int samples_module__load(struct samples_module *m, char **message);

/* Give SQLite the value of a column of the sample that the cursor is at; NULL if it has none.  SQLITE_OK. */
int samples_columns__give(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column);
/* Give SQLite a copy of a text; NULL: nothing is given. */
void samples_columns__text(sqlite3_context *to, const char *text);
/* Give SQLite the method, the path or the line (`column` says which) of a frame; of frame 0 nothing is given. */
void samples_columns__code(sqlite3_context *to, const struct recording_tables *t, uint32_t frame, int column);
/* The innermost frame of code of a stack; 0: the stack has none. */
uint32_t samples_columns__code_of(const struct recording_tables *t, uint32_t stack);

/* Add the functions to the connection of *m, which they use as long as it is open.  SQLITE_OK, or what went wrong. */
int samples_functions__register(struct samples_module *m);

#endif /* EXTPROF_RECORDING_SAMPLES_PARTS_H */
