/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations for the files recording/writer*.c. */
#ifndef EXTPROF_RECORDING_WRITER_PARTS_H
#define EXTPROF_RECORDING_WRITER_PARTS_H

#include "base/map64.h"
#include "recording/writer.h"

enum statement {
	PUT_META, PUT_MODE, PUT_KIND, PUT_STATE, FIND_STRING, PUT_STRING, PUT_PROCESS, PUT_THREAD, PUT_FRAME, PUT_STACK, PUT_BLOCK,
	PUT_PAUSE, PUT_EVENT, PUT_FIGURE, PUT_HEAP, PUT_THREAD_ACCOUNT, PUT_THREAD_STATE, PUT_ACCOUNT, PUT_SOURCE, BEGIN,
	COMMIT, COUNT_PAGES,
	STATEMENTS
};

struct recording_writer {
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENTS];
	struct block_codec codec;
	struct recording_sample *samples;	/* BLOCK_SAMPLES_MAX; of the next block */
	uint32_t count;
	uint64_t first, last;	/* times of these samples */
	uint64_t period, total;
	bool of_all_times;	/* blocks have samples of any time */
	bool in_transaction;
	uint64_t began;		/* CLOCK_MONOTONIC: the transaction */
	struct map64 stacks;	/* parent << 32 | frame -> id */
	uint32_t stack_count;
	int err;		/* the first one */
	struct diag why;
};

/* The first error is kept: one of SQLite, or that there is no memory.  Returns it. */
int recording_writer__fail(struct recording_writer *w, int code);
int recording_writer__no_memory(struct recording_writer *w);

/* writer_rows.c.  Each gives 0 or the error. */

/* The tables are there: rows can be written from now on. */
int recording_writer__prepare(struct recording_writer *w);
/* Each write is part of a transaction: begin one, if there is none. */
int recording_writer__ready(struct recording_writer *w);
int recording_writer__commit(struct recording_writer *w);
int recording_writer__put_stack(struct recording_writer *w, uint32_t id, uint32_t parent, uint32_t frame);
/* The samples, as the codec has packed them, in so many bytes. */
int recording_writer__put_block(struct recording_writer *w, int size);

#endif /* EXTPROF_RECORDING_WRITER_PARTS_H */
