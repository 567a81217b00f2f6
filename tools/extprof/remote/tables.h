/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of threads and of execution contexts (threads' and fibers' stacks) of a VM, read as a whole. */
#ifndef EXTPROF_TABLES_H
#define EXTPROF_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/memory.h"
#include "ruby/debug_external.h"
#include "ruby/layout.h"

/* Slots that are kept.  A hostile process can claim four million of each. */
#define TABLES_THREADS_MAX 65536u
#define TABLES_ECS_MAX 262144u

struct table_thread {
	uint32_t slot;			/* index in the table, from 1 */
	struct rb_debug_ext_thread t;
};

struct table_ec {
	uint32_t slot;
	struct rb_debug_ext_ec e;
};

struct tables {
	struct table_thread *threads;	/* of living threads, by slot */
	struct table_ec *ecs;		/* in use, by slot */
	uint32_t thread_count, ec_count;
	size_t thread_room, ec_room;
	uint32_t torn;			/* slots that were being written each time they were read, chunks that are not mapped */
	uint32_t left_out;		/* slots in use beyond the bounds above */
};

/*
 * Read both tables.  `layout` has been refreshed.  0, -ENOMEM, or -errno of reading the memory: -ESRCH the
 * process is gone, -EINTR the deadline was over.  A chunk that is not mapped is skipped.  The caller frees
 * *t with tables__free() in any case; *t may be used again without that.
 */
int tables__read(struct tables *t, const struct layout *layout, const struct memory *memory);
/* Only the table of threads. */
int tables__read_threads(struct tables *t, const struct layout *layout, const struct memory *memory);
void tables__free(struct tables *t);

/*
 * Is there a living thread, or an EC in use, that one of these takes?  Each chunk is read once, without the sequence locks:
 * half the reads of tables__read(), and a slot that is being written can be missed, or taken wrongly.  For looks that
 * come again and decide nothing but whether to look closer.  1, 0, or -errno as tables__read().
 */
int tables__any(const struct layout *layout, const struct memory *memory,
		bool (*of_thread)(const struct rb_debug_ext_thread *t), bool (*of_ec)(const struct rb_debug_ext_ec *e));

/* Read the slot of one thread again, under its sequence lock.  0, -EAGAIN: it was being written each time,
 * or -errno. */
int tables__read_thread(const struct layout *layout, const struct memory *memory, uint32_t slot,
			struct rb_debug_ext_thread *to);

/* The EC that the thread runs, or ran last.  0 or -errno. */
int tables__current_ec(const struct layout *layout, const struct memory *memory,
		       const struct rb_debug_ext_thread *thread, uint64_t *ec);

#endif /* EXTPROF_TABLES_H */
