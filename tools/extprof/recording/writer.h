/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a recording while it is made.  Samples are written a block at a time, each block with all that its samples
 * refer to in one transaction: after a kill or a power cut the file has whole blocks.  The memory of a
 * writer does not grow with the length of the recording.
 *
 * Errors are kept: after the first one each call gives it again and writes nothing.
 */
#ifndef EXTPROF_RECORDING_WRITER_H
#define EXTPROF_RECORDING_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "frames/frame.h"
#include "recording/block.h"
#include "recording/sources.h"

/* A block is written after so much time, or when it is full, or has samples of twice that time. */
#define WRITER_BLOCK_NS (5 * 1000000000ull)

struct recording_writer;

/* Rows, as the tables have them.  Texts are clean; NULL: not known. */
struct recording_mode {
	uint32_t id;
	const char *name, *value_name, *value_unit, *count_name, *count_unit, *source;
};

#define RECORDING_REPLACED 1u	/* see struct process_row */
#define RECORDING_WATCHED 2u

struct recording_process {
	uint32_t id;		/* from 1 */
	uint32_t frame;		/* id of its frame; 0 none */
	uint32_t parent;	/* 0: not in the recording */
	int pid;
	uint32_t uid;
	const char *command, *ruby, *cgroup, *ended;
	const char *cwd, *executable, *resource;	/* in table `meta` */
	uint32_t flags;		/* RECORDING_ */
	uint64_t began, ended_at;	/* CLOCK_MONOTONIC, ns; 0 unknown or not yet */
	uint64_t cpu, cpu_unfollowed;	/* ns */
	uint64_t cpu_samples;
};

struct recording_pause {
	uint64_t time, length, waited, mark, sweep, compact;	/* ns; the time is that of its end */
	uint32_t thread;
	bool major;
	const char *reason;
	uint32_t cause;		/* sample_event::extra */
};

struct recording_event {
	uint64_t time;
	uint32_t process;	/* 0: of no certain one */
	const char *kind;	/* "lost", RECORDING_PAUSED, ... */
	const char *text;
	uint64_t number;	/* of samples; of a pause, ns from its time on */
};

/* How a process was at a time. */
struct recording_figure {
	uint64_t time;
	uint32_t process;
	uint64_t resident;	/* bytes */
};

/* How full the heap of its Ruby was. */
struct recording_heap {
	uint64_t time;
	uint32_t process;
	uint64_t live_slots, slots, bytes, malloc_bytes;	/* as in struct heap_size */
};

struct recording_thread_account {
	uint32_t process, tid;	/* the process as the account has it, no id */
	uint64_t serial;
	const char *name, *comm;
	uint64_t first, until;	/* CLOCK_MONOTONIC, ns */
	bool ended;
	uint64_t voluntary, involuntary;
	uint32_t threads;	/* 0; how many it is of, if it is of those that found no room */
	const uint64_t *time, *waits;	/* by state: STATE_ROOM of them */
	uint32_t states;
};

/*
 * Make a file; there must be none of that name, and it belongs to `uid` and `gid` if they are not -1.
 * `period`: see block__encode().  0 or negative errno with *d.
 */
int recording_writer__create(struct recording_writer **writer, const char *path, uid_t uid, gid_t gid,
			     uint64_t period, struct diag *d);

/* It belongs to the writer.  For who writes all rows into it by himself, before recording_writer__end(). */
sqlite3 *recording_writer__database(struct recording_writer *w);

/* Each gives 0 or a negative errno, see recording_writer__why().  A row with the id of another one takes its place.
 * Ids are given from 1 on, without a gap. */
int recording_writer__set_number(struct recording_writer *w, const char *key, uint64_t number);
int recording_writer__set_real(struct recording_writer *w, const char *key, double number);
int recording_writer__set_text(struct recording_writer *w, const char *key, const char *text);
int recording_writer__mode(struct recording_writer *w, const struct recording_mode *row);
int recording_writer__process(struct recording_writer *w, const struct recording_process *row);
int recording_writer__kind(struct recording_writer *w, uint32_t kind, const char *name, bool code);
int recording_writer__state(struct recording_writer *w, uint32_t state, const char *name);
int recording_writer__thread(struct recording_writer *w, uint32_t id, uint32_t process, uint32_t frame);
int recording_writer__frame(struct recording_writer *w, uint32_t id, const struct frame *f);
int recording_writer__pause(struct recording_writer *w, const struct recording_pause *row);
int recording_writer__event(struct recording_writer *w, const struct recording_event *row);
int recording_writer__figure(struct recording_writer *w, const struct recording_figure *row);
int recording_writer__heap(struct recording_writer *w, const struct recording_heap *row);
int recording_writer__thread_account(struct recording_writer *w, const struct recording_thread_account *row);
int recording_writer__account(struct recording_writer *w, uint32_t process, uint32_t mode, const char *reason,
			      uint64_t samples);

/* Each file once.  The text is compressed. */
int recording_writer__source(struct recording_writer *w, const struct recording_source_file *f);

/* The id of a stack of frames, outermost first.  0: there are none, or an error. */
uint32_t recording_writer__stack(struct recording_writer *w, const uint32_t *frames, uint32_t count);
int recording_writer__sample(struct recording_writer *w, const struct recording_sample *sample);

/* From now on samples are of a state, and have the times of what made it: a block of each time would be many small ones.  0 or a
 * negative errno. */
int recording_writer__take_all_times(struct recording_writer *w);

/* Will a block be written before `count` more samples of that time are taken? */
bool recording_writer__is_full(const struct recording_writer *w, uint64_t time, uint32_t count);
/* Is it time for a block, though it is not full? */
bool recording_writer__is_due(const struct recording_writer *w, uint64_t now);
/* Write what there is. */
int recording_writer__flush(struct recording_writer *w);

/* The recording has ended well: what there is is written, and the file is one that nobody writes. */
int recording_writer__end(struct recording_writer *w);

/* The first error.  Returns its negative errno, or 0.  `d` may be NULL. */
int recording_writer__why(const struct recording_writer *w, struct diag *d);

/* Bytes that the file has without the log beside it, if all that was given so far were in it.  Samples of a block that is
 * not full are estimated. */
uint64_t recording_writer__size(struct recording_writer *w);

/* Samples that were given so far. */
uint64_t recording_writer__samples(const struct recording_writer *w);

/* Without recording_writer__end() before, the file is as after a kill. */
void recording_writer__destroy(struct recording_writer *w);

#endif /* EXTPROF_RECORDING_WRITER_H */
