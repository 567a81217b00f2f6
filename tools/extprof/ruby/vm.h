/* SPDX-License-Identifier: BSD-2-Clause */
/* One program that one process runs: what its ids and slots mean. */
#ifndef EXTPROF_VM_H
#define EXTPROF_VM_H

#include <stdbool.h>
#include <stdint.h>

#include "process/address_space.h"
#include "process/target.h"
#include "ruby/layout.h"
#include "ruby/symbols.h"
#include "ruby/threads.h"

/* Forks of forks that look into the memory of their parents; a deeper one reads all by itself. */
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
	bool confirmed;			/* samples that name it are of it */
	bool exited;
	bool touched;			/* for the owner: something was looked up in it */
	struct deadline *deadline;	/* of reads of its memory; NULL: none */
};

/*
 * What has the section that was found in the target.  It takes the target's
 * space: section, records and names are of the same memory, or none.  The table
 * must live as long.  -EAGAIN: not yet; other errors as in layout.h, and the
 * target has its space still.
 */
int vm__open(struct vm **vm, struct target *target, struct symbol_table *table, struct diag *d);

/*
 * The copy that fork makes in the process which has `pid` in its own pid namespace.  `records_end`:
 * ids below mean the same in both.  Its memory is not open yet: until vm__bind() names are those
 * of the parent, and others come late.  NULL: out of memory.
 */
struct vm *vm__fork(struct vm *parent, uint32_t pid, uint32_t records_end);
/* This is its memory.  0, or -errno: the space is not that of this VM, and is the caller's. */
int vm__bind(struct vm *vm, struct address_space *space);

/* As if it had not been opened; nothing has been read since.  NULL is fine. */
void vm__drop(struct vm *vm, struct target *target);
/* From now on its memory is gone, or another's.  Its files are closed. */
void vm__set_exited(struct vm *vm);
/* Reads fail when the deadline is over; NULL: never. */
void vm__set_deadline(struct vm *vm, struct deadline *deadline);
/* Its owner does not need it any more: the names of its symbols are settled, and they stay in the
 * table.  NULL is fine. */
void vm__close(struct vm *vm);

#endif /* EXTPROF_VM_H */
