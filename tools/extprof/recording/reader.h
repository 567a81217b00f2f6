/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a recording that anybody may have made: every byte of it may be wrong.  Memory and time are bounded, and
 * nothing of the file is run.
 */
#ifndef EXTPROF_RECORDING_READER_H
#define EXTPROF_RECORDING_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "base/diag.h"
#include "recording/block.h"
#include "recording/sqlite.h"
#include "recording/tables.h"

struct recording_reader;

/*
 * Open a file, of which the tables are checked.  `deadline`: SQLite's work ends when it is over; NULL: none.  It
 * belongs to the caller and outlives the reader.
 * 0, or a negative errno with *d: DIAG_RECORDING: it is no recording.
 */
int recording_reader__open(struct recording_reader **reader, const char *path, struct deadline *deadline,
			   struct diag *d);
void recording_reader__close(struct recording_reader *r);

/*
 * One of many has no file open and next to no memory while it sleeps: only its name, version, begin and end are known then.
 * wake: open the file again.  Of one that is still being written only the blocks are given that it had at first.  0, also if
 * it is awake; or negative errno with *d: it is gone, or another file is in its place.
 */
void recording_reader__sleep(struct recording_reader *r);
int recording_reader__wake(struct recording_reader *r, struct diag *d);
bool recording_reader__awake(const struct recording_reader *r);

/* When it began: CLOCK_MONOTONIC, ns, and ns since 1970 by the clock of its machine. */
uint64_t recording_reader__begin(const struct recording_reader *r);
uint64_t recording_reader__wall(const struct recording_reader *r);

/* The path that it was opened by, clean. */
const char *recording_reader__name(const struct recording_reader *r);
/* The name of the machine that it was made on, clean; "": not known. */
const char *recording_reader__host(const struct recording_reader *r);
/* The version of its tables. */
int recording_reader__version(const struct recording_reader *r);
/* Has a sample the trace of a record?  It has to be awake. */
bool recording_reader__has_traces(const struct recording_reader *r);

/* Was that mode recorded?  It has to be awake. */
bool recording_reader__has_mode(const struct recording_reader *r, const char *mode);

/* Read only.  It belongs to the reader. */
sqlite3 *recording_reader__database(struct recording_reader *r);

/* Was it ended well?  If not, *why is what may be missing. */
bool recording_reader__ended(const struct recording_reader *r, const char **why);

/* Everything but samples is read, at one moment of a recording that is being written; 0 or negative errno. */
int recording_reader__load(struct recording_reader *r, struct recording_tables *t, struct diag *d);

/* Numbers and texts of table `meta`.  0 or NULL: it has none.  The text is clean; it is the caller's. */
int64_t recording_reader__number(struct recording_reader *r, const char *key);
double recording_reader__real(struct recording_reader *r, const char *key);
char *recording_reader__text(struct recording_reader *r, const char *key);

/*
 * Give all samples with times from `since` to `until`, both included, a block at a time.  `take` gives 0, or a negative
 * errno that ends it.  0 or negative errno.
 */
int recording_reader__samples(struct recording_reader *r, const struct recording_tables *t, uint64_t since,
			      uint64_t until,
			      int (*take)(void *context, const struct recording_sample *samples, uint32_t count),
			      void *context, struct diag *d);

/* Limit what a file or a statement can make SQLite do, https://www.sqlite.org/security.html.  `deadline` as above.  An SQLite code. */
int recording_reader__harden(sqlite3 *db, struct deadline *deadline);

/* Is the time over that the caller gives? */
bool recording_reader__over(struct recording_reader *r);
/* *d says why work on samples has failed: -ENOMEM or -ETIME.  Returns err. */
int recording_reader__failed(int err, struct diag *d);

struct recording_check {
	uint64_t blocks, samples, bytes;	/* bytes: of the blocks */
	uint64_t first, last;			/* times */
};

/* Is every page, row and block of it right?  0 or negative errno with *d, which says what is wrong first. */
int recording_reader__verify(struct recording_reader *r, struct recording_check *check, struct diag *d);

#endif /* EXTPROF_RECORDING_READER_H */
