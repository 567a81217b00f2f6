/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of a recording, see docs/recording.md. */
#ifndef EXTPROF_RECORDING_SCHEMA_H
#define EXTPROF_RECORDING_SCHEMA_H

#include "recording/sqlite.h"

#include "base/diag.h"

/* "extp": `file` tells such a database from others by it. */
#define RECORDING_APPLICATION_ID 0x65787470
/* The version of the tables.  A reader knows the tables of its own version and of those before.  2: with `sources`; 3:
 * blocks have fibers; 4: blocks can have traces; 5: with `figures`; 6: with `heaps`, and blocks can have marks of labels. */
#define RECORDING_VERSION 6

/* Limit of texts and blobs: no row has a longer one. */
#define RECORDING_TEXT_MAX 65536
/* Rows of the tables that a reader keeps in memory.  Their ids go from 1 to the number of rows. */
#define RECORDING_STRINGS_MAX (4u << 20)
#define RECORDING_PROCESSES_MAX (256u << 10)
#define RECORDING_THREADS_MAX (1u << 20)
#define RECORDING_FRAMES_MAX (640u << 10)	/* FRAMES_MAX, and room for those that are no code */
#define RECORDING_STACKS_MAX (16u << 20)
/* Frames of a stack. */
#define RECORDING_DEPTH_MAX (16384u + 64u)
/* Bytes of all texts together. */
#define RECORDING_TEXTS_MAX (256u << 20)

/* A key in the table `meta`: the working directory of the process with that id. */
#define RECORDING_CWD_KEY "process.%u.cwd"
/* The same of its program, and of what it says of itself. */
#define RECORDING_EXECUTABLE_KEY "process.%u.executable"
#define RECORDING_RESOURCE_KEY "process.%u.resource"

/* Kinds in the table `events`: a pause, and a trigger that fired. */
#define RECORDING_PAUSED "paused"
#define RECORDING_TRIGGER "trigger"
#define RECORDING_LIVES "heap"

/* The statements that make the tables; ends with NULL. */
extern const char *const recording_schema[];

/* 0, or -EBADMSG: the database has other tables than that version, or more.  *d says which. */
int schema__check(sqlite3 *db, int version, struct diag *d);

/* *d has what SQLite says of the last error, after `what`.  Returns a negative errno. */
int schema__fail(sqlite3 *db, int code, enum diag_code diag, const char *what, struct diag *d);

#endif /* EXTPROF_RECORDING_SCHEMA_H */
