/* SPDX-License-Identifier: BSD-2-Clause */
/* A sink that writes each sample into a recording.  The rows that samples refer to are written with them. */
#ifndef EXTPROF_RECORDING_SINK_H
#define EXTPROF_RECORDING_SINK_H

#include "profile/sink.h"
#include "recording/writer.h"

/* Access to the parts of the profile that the sink needs; it belongs to the caller. */
struct recording_source {
	const struct frame_table *frames;
	const struct processes *processes;
	/* Give a frame the name that is known now.  0 or a negative errno. */
	int (*name)(void *context, uint32_t number);
	/* Code of this file was seen in the process of that row.  The same file is told again.  NULL: nobody wants that. */
	int (*file)(void *context, uint32_t row, const char *path);
	void *context;
};

struct recording_sink {
	struct sink sink;
	struct recording_source source;
	struct recording_writer *writer;	/* NULL: nothing is recorded */
	uint32_t *ids;		/* by number of the frame: its id; 0 none */
	size_t id_room;
	uint32_t id_count;	/* elements of it that are set */
	struct frame_state {
		uint32_t number;	/* FRAME_STALE: of a profile before a restart */
		uint32_t row;		/* of the process in which it was seen first, or PROCESS_NONE */
		uint64_t hash;		/* of the row as it is in the file; 0: it is not yet */
	} *frames;		/* by id - 1 */
	size_t frame_room;
	uint32_t frame_count, frames_written;
	uint32_t frames_seen;	/* of which source::file was told */
	uint32_t row;		/* of the sample that is taken */
	uint32_t no_room;	/* id of FRAME_NO_ROOM; 0: it has none yet */
	struct map64 threads;	/* id of the process << 32 | frame -> id */
	uint32_t thread_count;
	uint32_t process_base;	/* id of row 0, - 1 */
	uint32_t processes_written;
	uint64_t lost[LOSS_MAX];	/* since the last block */
	uint64_t last_time;	/* of a sample */
	bool ended;		/* the file is closed: nothing more is written */
	uint32_t stack[SINK_FRAMES_MAX + SINK_BELOW_MAX];
};

/* Add it to the sinks of a profile before the first sample.  It owns the writer.  The writer is given the names of
 * modes, kinds and states.  0 or a negative errno, as recording_writer__why() says. */
int recording_sink__init(struct recording_sink *s, struct recording_writer *writer,
			 const struct recording_source *source, const struct mode *const *list, uint32_t mode_count);

/* Tell source::file of frames that are new: to be called often, while the processes are there. */
int recording_sink__look(struct recording_sink *s);

/* Write what there is, if it is time for it: to be called now and then.  0 or a negative errno. */
int recording_sink__tick(struct recording_sink *s, uint64_t now);

/* Nothing was recorded in that time, CLOCK_MONOTONIC, ns.  0 or a negative errno. */
int recording_sink__paused(struct recording_sink *s, uint64_t from, uint64_t until);

struct heap_size;
/* How full the heap of the process of the row was at that time, CLOCK_MONOTONIC, ns.  0 or a negative errno. */
int recording_sink__heap(struct recording_sink *s, uint64_t time, uint32_t row, const struct heap_size *h);
/* The process of the row had so much memory then.  The same. */
int recording_sink__figure(struct recording_sink *s, uint64_t time, uint32_t row, uint64_t resident);

/* Only samples of live objects follow.  Their times are those when the objects were made, however long ago.  0 or a negative
 * errno. */
int recording_sink__begin_state(struct recording_sink *s);
/* At that time, CLOCK_MONOTONIC, ns, the process of the row, or PROCESS_NONE, had so many sampled objects, which are all written.
 * 0 or a negative errno. */
int recording_sink__lives(struct recording_sink *s, uint64_t time, uint32_t row, uint64_t objects);

/* A trigger fired at that time, CLOCK_MONOTONIC, ns, for the process of the row, or PROCESS_NONE. */
void recording_sink__trigger(struct recording_sink *s, uint64_t time, uint32_t row, const char *text);

/* After the last resolve__describe(): write what there is.  The caller goes on with the writer. */
int recording_sink__end(struct recording_sink *s);

void recording_sink__free(struct recording_sink *s);

#endif /* EXTPROF_RECORDING_SINK_H */
