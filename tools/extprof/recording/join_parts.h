/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the files of recording/join.h. */
#ifndef EXTPROF_JOIN_PARTS_H
#define EXTPROF_JOIN_PARTS_H

#include "base/map64.h"
#include "base/strings.h"
#include "recording/join.h"

/* The meaning of a column. */
enum meaning {
	STRING, FRAME, STACK,	/* numbers of rows of which equal ones are there once */
	PROCESS, THREAD, ACCOUNT, NUMBERED,	/* of others, which are moved to follow those of the recordings before */
	MODE = NUMBERED, STATE, KIND,	/* numbers that have names */
	TIME,
	KEEP
};
#define EQUAL_ONCE PROCESS

struct joining {
	sqlite3 *db;
	struct deadline *deadline;
	uint64_t since, until;		/* ns since 1970 */
	struct strings rows[STACK];	/* texts, and the rest of rows of frames, each once: their numbers + 1 */
	struct map64 stacks;		/* parent and frame -> number */
	uint32_t counts[EQUAL_ONCE];	/* of them all */
	uint32_t *numbers[EQUAL_ONCE];	/* of this recording: by its number; 0: there is no such row */
	uint32_t sizes[EQUAL_ONCE];	/* of these */
	int64_t moved[NUMBERED];	/* by which others are moved, of this recording ... */
	int64_t largest[NUMBERED];	/* ... and the largest that there is now */
	int64_t names[KIND - MODE + 1][BLOCK_MODES];	/* of this recording: its number here */
	int64_t later;			/* ns that are added to its times */
	int64_t wall;			/* ns since 1970 less its times */
	int64_t first_wall;		/* the same of the recording that began first */
	bool is_first;			/* it is that one */
	bool several;
	uint64_t begin;			/* of what is wanted of it, in the times of the first; ns */
	int64_t blocks;			/* that there are */
	bool left_out[BLOCK_MODES];	/* its modes, by number */
	struct block_codec in, out;
	sqlite3_stmt *put_block;
	struct diag *d;
};

/* The error of a database.  Returns a negative errno. */
int join__fail(struct joining *j, sqlite3 *db, int code);
/* The number or the time that a value of the recording is here. */
int64_t join__moved(struct joining *j, enum meaning what, int64_t value);
/* Is a time of the recording one that is wanted? */
bool join__wants(const struct joining *j, uint64_t time);
/* Put all that it has here but its samples.  0 or negative errno with the error. */
int join__tables(struct joining *j, struct recording_reader *r);

#endif /* EXTPROF_JOIN_PARTS_H */
