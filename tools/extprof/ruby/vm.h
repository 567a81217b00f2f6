/* SPDX-License-Identifier: BSD-2-Clause */
/* One program that one process runs: what its ids and slots mean. */
#ifndef EXTPROF_VM_H
#define EXTPROF_VM_H

#include <stdbool.h>
#include <stdint.h>

#include "process/address_space.h"
#include "process/remains.h"
#include "process/target.h"
#include "ruby/layout.h"
#include "ruby/symbols.h"
#include "ruby/threads.h"

/* Depth of forks of forks that use symbols of their parents.  A deeper one reads all by itself. */
#define VM_DEPTH_MAX 16u

struct vm {
	struct layout layout;
	struct symbols symbols;
	struct threads threads;
	struct memory memory;		/* what they read: that of `space` */
	struct address_space *space;	/* NULL: not opened (yet) */
	struct vm *parent;		/* of which it is a copy, made by fork; NULL none */
	uint32_t references;		/* of its owner, and of its children */
	uint32_t depth;			/* of forks */
	uint32_t number;		/* target_config::vm */
	uint64_t forked_at;		/* CLOCK_MONOTONIC, ns; 0: it is no copy */
	bool plain;			/* there is no ruby: it has native code alone, and nothing is known of its threads */
	bool confirmed;			/* samples that name it are of it */
	bool exited;
	bool touched;			/* for the owner: something was looked up in it */
	bool stale;			/* ... and its names were not read again since */
	uint64_t updated_at;		/* for the owner: its names were; CLOCK_MONOTONIC, ns */
	uint64_t first_updated_at;	/* the first time; 0: never */
	uint64_t threads_at;		/* for the owner: its table of threads was read with their names; CLOCK_MONOTONIC, ns; 0: never */
	struct vm_marks {		/* for the owner: before the last look of each kind at its memory, see vm__is_due() */
		struct run_mark names, waits, shared, lives;
	} marks;
	bool inherited;			/* for the owner: what its parent had at the fork was taken over, */
	bool table_refused;		/* ... and it was told that it cannot be asked for its table of what lives */
	bool interval_set;		/* its alloc_interval is what the owner wanted ... */
	uint64_t interval_before;	/* ... and was this before; a child has both of its parent */
	struct budget_share frames;	/* of the table of frames, for the owner */
	struct vm_turn {		/* for the owner: what it had of the time of a turn, ... */
		uint64_t turn, spent;
		uint64_t at_end;	/* ... of the end of a recording, ... */
		struct aside_queue *waiting;	/* ... and samples that wait for their turn; NULL: none */
	} turn;
	struct deadline *deadline;	/* of reads of its memory; NULL: none */
	struct remains remains;		/* of its memory, which is gone */
	void (*gone)(void *context);	/* take what is told of its memory; NULL: nothing is told */
	void *gone_context;
};

/* Can what its ruby says be read?  Not of a process that has ended, of none that runs no ruby, and not before its memory is open. */
static inline bool vm__is_readable(const struct vm *vm)
{
	return !vm->exited && !vm->plain && vm->space;
}

/* Is a look at its memory due, if *last was before the last one of this kind?  See process/run_clock.h.  Yes if there is no memory:
 * the look finds that out. */
static inline bool vm__is_due(struct vm *vm, const struct run_mark *last, struct run_mark *now)
{
	*now = (struct run_mark){ 0 };
	return !vm->space || run_clock__is_due(&vm->space->clock, last, now);
}

/* The same for what nobody else can change. */
static inline bool vm__has_run(struct vm *vm, const struct run_mark *last, struct run_mark *now)
{
	*now = (struct run_mark){ 0 };
	return !vm->space || run_clock__has_run(&vm->space->clock, last, now);
}

/*
 * The VM whose section was found in the target.  It takes the target's space, so that
 * section, records and names come from the same memory.  The table must live as long.
 * 0, -EAGAIN: the VM is not ready yet, or another error as in layout.h.  After an
 * error the target still has its space.
 */
int vm__open(struct vm **vm, struct target *target, struct symbol_table *table, struct diag *d);

/* The same for a program that is no ruby: the layout is empty, and there are no symbols.  0 or -ENOMEM. */
int vm__open_plain(struct vm **vm, struct target *target, struct symbol_table *table, struct diag *d);

/*
 * The copy that fork makes in the process which has `pid` in its own pid namespace.  `records_end`:
 * ids below mean the same in both; 0: it could not be read at that `time` (CLOCK_MONOTONIC, ns), and
 * is what is known of the time before.  Its memory is not open yet: until vm__bind() only names that the
 * parent has are known, and others are late.  NULL: out of memory.
 */
struct vm *vm__fork(struct vm *parent, uint32_t pid, uint32_t records_end, uint64_t time);
/* Give the VM its memory.  0, or -errno: the space is not that of this VM, and the caller keeps it. */
int vm__bind(struct vm *vm, struct address_space *space);

/* Undo vm__open() before anything was read: the target gets its space back.  NULL is fine. */
void vm__drop(struct vm *vm, struct target *target);
/* The process has ended or executed another program.  Closes the files of the memory.  Names are read from vm->remains
 * from now on. */
void vm__set_exited(struct vm *vm);
/* A read that finds the memory gone calls this first.  It may add to vm->remains, and changes nothing else. */
void vm__set_gone(struct vm *vm, void (*gone)(void *context), void *context);
/* Reads fail when the deadline is over; NULL: never. */
void vm__set_deadline(struct vm *vm, struct deadline *deadline);
/* The owner does not need the VM any more.  The names of its symbols are settled, and the symbols
 * stay in the table.  NULL is fine. */
void vm__close(struct vm *vm);

#endif /* EXTPROF_VM_H */
