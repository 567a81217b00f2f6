/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A block: the samples of some seconds, column by column, compressed by zlib.  docs/recording.md describes the
 * bytes.  A block that somebody made up is decoded within the same bounds as one of ours, or refused.
 */
#ifndef EXTPROF_RECORDING_BLOCK_H
#define EXTPROF_RECORDING_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/trace.h"

/* A block has the columns of traces only if a sample of it has one, and that of marks of labels the same way: then it is
 * of another format. */
#define BLOCK_FORMAT 2
#define BLOCK_FORMAT_WITH_TRACES 3
#define BLOCK_FORMAT_WITH_MARKS 4
#define BLOCK_FORMAT_WITH_BOTH 5
#define BLOCK_MARKS_MAX ((1ull << 48) - 1)
/* Blocks of this format have no column of fibers: they are decoded, too. */
#define BLOCK_FORMAT_WITHOUT_FIBERS 1
#define BLOCK_SAMPLES_MAX 16384u
/* Bytes of a block before compression, and of the whole block. */
#define BLOCK_RAW_MAX (7u << 18)
#define BLOCK_SIZE_MAX (BLOCK_RAW_MAX + (BLOCK_RAW_MAX >> 8) + 64)
/* Times, values and counts: SQLite's integers have a sign. */
#define BLOCK_NUMBER_MAX INT64_MAX
#define BLOCK_MODES 256u
#define BLOCK_STATES 256u

/* One stack that one mode counts. */
struct recording_sample {
	uint64_t time;		/* CLOCK_MONOTONIC, ns */
	uint64_t value, count;	/* in the two units of the mode */
	uint32_t thread;	/* ids of rows of the tables */
	uint32_t stack;
	uint32_t labels;	/* also of the table `stacks`; 0 none */
	uint32_t fiber;		/* slot of its execution context in its process; 0: not known */
	struct trace_context context;	/* trace and span; all 0: none */
	uint64_t marks;		/* sink_sample::label_marks */
	uint8_t mode;
	uint8_t state;		/* enum thread_state */
};

struct block_stack {
	uint32_t stack;
	uint32_t samples, rank;	/* most samples first */
};

/* Zero-initialise.  It keeps its memory from one block to the next. */
struct block_codec {
	uint8_t *raw;		/* BLOCK_RAW_MAX bytes */
	uint8_t *data;		/* BLOCK_SIZE_MAX bytes */
	struct block_stack *stacks;	/* those of the block */
	struct trace_context *contexts;	/* the same */
	uint64_t (*last)[2];	/* value and count of the last sample, by mode and state */
	struct recording_sample *samples;	/* decoded */
	uint64_t period;	/* that of block__encode(); decoded */
};

/* The format is the first byte of a block. */
static inline bool block_format__has_traces(uint8_t format)
{
	return format == BLOCK_FORMAT_WITH_TRACES || format == BLOCK_FORMAT_WITH_BOTH;
}

/* 0 or -ENOMEM. */
int block_codec__init(struct block_codec *c);
void block_codec__free(struct block_codec *c);

/*
 * The samples are put in the order in which block__decode() gives them: by thread, then by time.
 * `period`: ns between two samples of a thread that runs; 0: not known.  The block is in c->data.
 * Its size, or -EINVAL: there are no samples, or too many, or a number is above BLOCK_NUMBER_MAX.
 */
long block__encode(struct block_codec *c, struct recording_sample *samples, uint32_t count, uint64_t period);

/*
 * The samples are in c->samples, until the next call.  How many there are, at least 1; -EBADMSG: the data is
 * not a block.
 */
long block__decode(struct block_codec *c, const void *data, size_t size);

#endif /* EXTPROF_RECORDING_BLOCK_H */
