/* SPDX-License-Identifier: BSD-2-Clause */
/* One program that one process runs: what its ids and slots mean. */
#ifndef EXTPROF_SUBJECT_H
#define EXTPROF_SUBJECT_H

#include <stdbool.h>

#include "layout.h"
#include "space.h"
#include "symbols.h"
#include "target.h"
#include "threads.h"

struct subject {
	struct layout layout;
	struct symbols symbols;
	struct threads threads;
	struct space *space;	/* what they read */
	bool confirmed;		/* samples that name it are of it */
};

/*
 * What has the section that was found in the target.  It takes the target's
 * space: section, records and names are of the same memory, or none.  The table
 * must live as long.  -EAGAIN: not yet; other errors as in layout.h, and the
 * target has its space still.
 */
int subject__open(struct subject **subject, struct target *target, struct symbol_table *table,
		  struct diag *d);
/* As if it had not been opened; nothing has been read since.  NULL is fine. */
void subject__drop(struct subject *s, struct target *target);
/* From now on its memory is gone, or another's. */
void subject__set_exited(struct subject *s);
/* Its symbols stay in the table. */
void subject__close(struct subject *s);

#endif /* EXTPROF_SUBJECT_H */
