/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of Ruby threads that have been sampled, by serial.  The walker has found
 * the serial of each sample.  A thread keeps the last name that was read, also after
 * its slot has been reused.
 */
#ifndef EXTPROF_THREADS_H
#define EXTPROF_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "ruby/layout.h"
#include "base/budget.h"
#include "base/map64.h"
#include "process/memory.h"
#include "base/text.h"
#include "frames/frame.h"

/* Bound of the memory for a program that makes threads without end. */
#define THREADS_MAX (32u << 10)
/* So many are kept from one window of a profile to the next, whether they were sampled or not. */
#define THREADS_KEPT 1024u

/* A bit beside the serial of a thread: its parked fibers. */
#define THREAD_FIBERS ((uint64_t)1 << 62)

struct thread {
	uint64_t serial;	/* may have THREAD_FIBERS */
	uint64_t frame;		/* of the profile; for resolve.c */
	uint32_t slot;
	uint32_t tid;		/* 0: it is not known, or it has run on several native threads */
	uint32_t ractor, flags;
	bool known;		/* its name has been read */
	bool gone;		/* its slot is no longer its own */
	bool moved;		/* it has run on several native threads */
	bool sampled;		/* since its name was last read */
	uint8_t looks;		/* of threads__name_young() */
	char name[RB_DEBUG_EXT_THREAD_NAME_MAX];
};

struct threads {
	const struct layout *layout;
	const struct memory *memory;
	struct thread *list;
	uint32_t count;
	uint32_t tidied;	/* so many there were after threads__tidy() */
	size_t room;
	struct map64 map;	/* serial -> number in list */
	bool exited;
	struct budget_share *share;	/* NULL: no other bound than THREADS_MAX */
	const struct threads *parent;	/* of which it is a copy, made by fork; NULL none */
};

void threads__init(struct threads *t, const struct layout *layout, const struct memory *memory);
void threads__free(struct threads *t);

/* *t is the copy of *parent that a fork made: its threads had the same names.  *parent must live as long. */
void threads__inherit(struct threads *t, const struct threads *parent);

/* From now on the memory of the target is gone. */
void threads__set_exited(struct threads *t);

/*
 * Read again the names of threads that were sampled and have none.  A thread is sampled while it starts, names itself
 * when it runs, and another one has its slot soon after its end.  Not for ever: threads without a name are usual.
 * Returns whether there were such threads: then call again soon.
 */
bool threads__name_young(struct threads *t);

/* A sample of the thread with this serial, which was in that slot.  Valid until
 * the next call; NULL: out of memory, or there are too many. */
struct thread *threads__note(struct threads *t, uint64_t serial, uint32_t slot, uint32_t tid);

/* The caller has read that slot: the name in it is that of its thread, if this is known. */
void threads__take(struct threads *t, uint32_t slot, const struct rb_debug_ext_thread *copy);

/* Read again the names of all threads, or of those sampled since their name was read. */
void threads__refresh(struct threads *t, bool all);

/*
 * The profile begins anew: no thread has a frame in it.  If there are many threads, only those stay that had a frame;
 * another thread is read again when a sample of it comes.
 */
void threads__restart(struct threads *t);
/*
 * The profile goes on without an end: forget threads that have ended and have no frame in it, when there are many.  Threads
 * move in the list then.
 */
void threads__tidy(struct threads *t);

/* The frame of the thread.  Its name, clean, is appended to an empty text, and stays there: "worker 1", "main", "#5", "ractor 2 main". */
void thread__frame(const struct thread *thread, struct text *name, struct frame *f);
/* Append "thread NAME (TID)", clean. */
void thread__add_name(const struct thread *thread, struct text *out);
/* The same in brackets. */
void thread__add_label(const struct thread *thread, struct text *out);

#endif /* EXTPROF_THREADS_H */
