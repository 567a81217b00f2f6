/* SPDX-License-Identifier: BSD-2-Clause */
/* One program that one process runs: what its ids and slots mean. */
#ifndef EXTPROF_VM_H
#define EXTPROF_VM_H

#include <stdbool.h>

#include "ruby/layout.h"
#include "process/address_space.h"
#include "ruby/symbols.h"
#include "process/target.h"
#include "ruby/threads.h"

struct vm {
	struct layout layout;
	struct symbols symbols;
	struct threads threads;
	struct address_space *space;	/* what they read */
	bool confirmed;		/* samples that name it are of it */
	uint32_t process;	/* number of a row of the profile's processes */
};

/*
 * What has the section that was found in the target.  It takes the target's
 * space: section, records and names are of the same memory, or none.  The table
 * must live as long.  -EAGAIN: not yet; other errors as in layout.h, and the
 * target has its space still.
 */
int vm__open(struct vm **vm, struct target *target, struct symbol_table *table,
		  struct diag *d);
/* As if it had not been opened; nothing has been read since.  NULL is fine. */
void vm__drop(struct vm *s, struct target *target);
/* From now on its memory is gone, or another's. */
void vm__set_exited(struct vm *s);
/* Its symbols stay in the table. */
void vm__close(struct vm *s);

#endif /* EXTPROF_VM_H */
