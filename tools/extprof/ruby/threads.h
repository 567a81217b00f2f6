/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Ruby threads of a target that have been sampled, by serial.  The walker
 * finds out whose a sample is; here are only the names.  A thread keeps the
 * last name that was read of it, whatever becomes of its slot.
 */
#ifndef EXTPROF_THREADS_H
#define EXTPROF_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "ruby/layout.h"
#include "base/map64.h"
#include "process/memory.h"
#include "base/text.h"

/* Bound of what a program that makes threads without end can make us keep. */
#define THREADS_MAX (32u << 10)

struct thread {
	uint64_t serial;
	uint64_t frame;		/* of the profile; for resolve.c */
	uint32_t slot;
	uint32_t tid;		/* 0: it has run on several native threads */
	uint32_t ractor, flags;
	bool known;		/* its name has been read */
	bool gone;		/* its slot is no longer its own */
	bool sampled;		/* since its name was last read */
	char name[RB_DEBUG_EXT_THREAD_NAME_MAX];
};

struct threads {
	const struct layout *layout;
	const struct memory *memory;
	struct thread *list;
	uint32_t count;
	size_t room;
	struct map64 map;	/* serial -> number in list */
	bool exited;
	const struct threads *parent;	/* of which it is a copy, made by fork; NULL none */
};

void threads__init(struct threads *t, const struct layout *layout, const struct memory *memory);
void threads__free(struct threads *t);

/* It is the copy of *parent that a fork made: its threads had these names.  *parent must live as long. */
void threads__inherit(struct threads *t, const struct threads *parent);

/* From now on the memory of the target is gone. */
void threads__set_exited(struct threads *t);

/* A sample of the thread with this serial, which was in that slot.  Valid until
 * the next call; NULL: out of memory, or there are too many. */
struct thread *threads__note(struct threads *t, uint64_t serial, uint32_t slot, uint32_t tid);

/* Read the names again, of those sampled since, or of all. */
void threads__refresh(struct threads *t, bool all);

/* Append "[thread NAME (TID)]", clean. */
void thread__add_label(const struct thread *thread, struct text *out);

#endif /* EXTPROF_THREADS_H */
