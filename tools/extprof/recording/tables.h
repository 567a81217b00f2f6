/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of a recording in memory, checked: each id that a row has is that of a row, and texts are clean. */
#ifndef EXTPROF_RECORDING_TABLES_H
#define EXTPROF_RECORDING_TABLES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "frames/frame.h"
#include "recording/block.h"
#include "recording/sqlite.h"

/* Each list is by id.  An element of which `id` is 0 is no row. */
struct recording_tables {
	char **strings;
	struct mode_row {
		uint32_t id;
		const char *name, *value_name, *value_unit, *count_name, *count_unit, *source;
	} modes[BLOCK_MODES];
	const char *states[BLOCK_STATES];	/* NULL: has no name */
	struct kind_row {
		const char *name;		/* NULL: no row */
		bool code;
	} kinds[256];
	struct process_entry {
		uint32_t id, frame, parent, uid, flags;
		int pid;
		const char *command, *ruby, *cgroup, *ended;	/* texts of rows are never NULL */
		uint64_t began, ended_at, cpu, cpu_unfollowed, cpu_samples;
		char *resource;			/* a list as in base/attributes.h; NULL: nothing */
		char *commit;			/* of that list; NULL: none */
	} *processes;
	struct thread_entry {
		uint32_t id, process, frame;
	} *threads;
	struct frame *frames;
	struct stack_entry {
		uint32_t parent;	/* smaller than the id */
		uint32_t frame;
		uint32_t depth;		/* at most RECORDING_DEPTH_MAX */
	} *stacks;
	char **texts;		/* of frames, as they are shown */
	char host[HOST_NAME_MAX + 1];	/* the machine; "": not known */
	/* The largest id of each kind, + 1. */
	uint32_t string_count, process_count, thread_count, frame_count, stack_count;
};

/* The caller holds a transaction, if others write.  0, -EBADMSG or -ENOMEM with *d. */
int recording_tables__load(struct recording_tables *t, sqlite3 *db, struct diag *d);
void recording_tables__free(struct recording_tables *t);

/*
 * When the wait of a sample began, CLOCK_MONOTONIC, ns.  A wait that stands for others has no begin, and that of a parked
 * fiber is when it was looked at: then, and of what ran, it is the time of the sample.
 */
uint64_t recording_tables__wait_begin(const struct recording_tables *t, const struct recording_sample *s);

/* Are the ids of a sample those of rows?  (0: none for labels and stack.) */
bool recording_tables__has(const struct recording_tables *t, const struct recording_sample *s);

#endif /* EXTPROF_RECORDING_TABLES_H */
